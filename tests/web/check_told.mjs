/* What pages say of runs that ended, were copied, started again or lost their server, against the
 * store and the API, over real runs in a real browser.
 *
 * Usage: node check_told.mjs CSENGINE DIST SCREENSHOTS DIRECTORY [CASE...] */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { Api, endAll, startServer, succeeded, until } from "./real_server.mjs";

const [csengine, dist, shots, directory, ...only] = process.argv.slice(2);

const DATA = `
      data_processor: synthetic
      features: [16]
      classes: 4
      batch_size: 64
      micro_batch_size: 16
`;
const config = ({ init = "", loop = "num_steps: 20", lr = "0.01", validation = 0 }) => `trainer:
  init:
    backend:
      compile_dir: ${join(directory, "compiled")}
      cluster_config: {num_csx: 1, num_workers_per_csx: 1}
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4}
    optimizer: {SGD: {lr: ${lr}}}
    loop: {${loop}}
    seed: 1
${init}  fit:
    train_dataloader:${DATA}      samples: 1024
${validation ? `    val_dataloader:${DATA}      samples: ${validation}\n` : ""}`;

/* ---- a copy is the same run ---- */

const NOT_IN_A_COPY = /model_dir|compile_dir|job_/;

/* The resolved configuration without what names the job's own folder. */
const settingsOf = (yaml) =>
  yaml
    .split("\n")
    .filter((line) => !NOT_IN_A_COPY.test(line))
    .join("\n");

async function cloned(checks, api, page) {
  const id = "original";
  const asked = {
    name: "the original",
    labels: { team: "vision", purpose: "test" },
    priority: "p1",
    overrides: { "optimizer.SGD.lr": 0.1, "loop.num_steps": 7 },
    restart_policy: { max_num_restarts: 2 },
    resources: { cores: 2, memory_bytes: 2 ** 32 },
  };
  await api.submit(id, config({}), asked);
  await succeeded(api, id);
  await page.goto(`${api.url}/jobs/${id}/config`);
  await page.locator("a >> text=use for a new job").click();
  await page.locator(".check.valid").waitFor({ timeout: 60_000 });
  const carried = await page.locator(".carried li").allInnerTexts();
  checks.that(
    /optimizer.SGD.lr: 0.1/.test(carried.join()) && /loop.num_steps: 7/.test(carried.join()),
    "a copy shows the settings that hold over the configuration",
    carried.join(" | "),
  );
  await page.screenshot({ path: join(shots, "told-copy.png") });
  await page.locator("header button.primary").click();
  await page.waitForURL((url) => /\/jobs\/(?!original)[^/]+\/pulse/.test(url.pathname), {
    timeout: 60_000,
  });
  const copy = /\/jobs\/([^/]+)\//.exec(page.url())[1];
  await succeeded(api, copy);
  const [first, second] = [
    await api.get(`/jobs/${id}/config`),
    await api.get(`/jobs/${copy}/config`),
  ];
  checks.that(
    isDeepStrictEqual(first.spec, second.spec) && first.submitted === second.submitted,
    "a copy is asked for as the original was",
    JSON.stringify([first.spec, second.spec]),
  );
  checks.that(
    settingsOf(first.yaml) === settingsOf(second.yaml),
    "a copy runs with the settings of the original",
    second.yaml,
  );
  const [one, other] = [await api.job(id), await api.job(copy)];
  checks.that(
    one.progress.step === other.progress.step && one.progress.loss === other.progress.loss,
    "a copy ends with the original's loss",
    JSON.stringify([one.progress, other.progress]),
  );
}

const CASES = { cloned };

const checks = new Checks();
const { server, url, token } = await startServer({ csengine, dist, directory });
const api = new Api(url, token);
const { context, close } = await openBrowser();
let tab;
try {
  await (await context.newPage()).goto(`${url}/jobs?token=${token}`);
  tab = await openTab(context, url);
  for (const [name, one] of Object.entries(CASES)) {
    if (only.length > 0 && !only.includes(name)) continue;
    const begin = Date.now();
    await one(checks, api, tab.page);
    console.log(`${name}: ${Date.now() - begin} ms`);
  }
  checks.that(tab.faults.length === 0, "silent console", tab.faults.join("\n"));
} catch (error) {
  const shown = await tab?.page
    .locator("body")
    .innerText()
    .catch(() => "");
  checks.that(
    false,
    "the test ran to its end",
    [error.stack, ...(tab?.faults ?? []), String(shown).slice(0, 1500)].join("\n"),
  );
}
await close();
await endAll(api, server);
checks.end();
