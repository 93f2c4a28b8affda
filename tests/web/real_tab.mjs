/* A test over a server of the program, in one tab of a real browser. */
import { openBrowser, openTab } from "./browser.mjs";
import { Api, endAll, startServer, tellFailure } from "./real_server.mjs";

/** Starts the server, has `prepare(api)` make jobs, opens a tab that has the token, and has
 * `look(api, page)` check it; ends all, whatever failed, and the checks with it. `more` are further
 * arguments of the server. */
export async function inARealTab({ checks, csengine, dist, directory, more }, prepare, look) {
  const { server, url, token } = await startServer({ csengine, dist, directory, more });
  const api = new Api(url, token);
  const { context, close } = await openBrowser({ reducedMotion: "reduce" });
  let tab;
  try {
    await prepare(api);
    await (await context.newPage()).goto(`${url}/jobs?token=${token}`);
    tab = await openTab(context, url);
    await look(api, tab.page);
    checks.that(tab.faults.length === 0, "silent console", tab.faults.join("\n"));
  } catch (error) {
    await tellFailure(checks, error, tab);
  }
  await close();
  await endAll(api, server);
  checks.end();
}
