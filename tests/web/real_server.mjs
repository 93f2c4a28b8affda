/* A real server over jobs that really run, for the tests of the pages, and what its API says. */
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const WAIT_MS = 120_000;

/** Starts a server over DIRECTORY/root, whose jobs may compile into DIRECTORY/compiled; `more` are
 * further arguments. */
export async function startServer({ csengine, dist, directory, more = [] }) {
  const root = join(directory, "root");
  const compiled = join(directory, "compiled");
  mkdirSync(root, { recursive: true });
  mkdirSync(compiled, { recursive: true });
  const server = spawn(
    csengine,
    // prettier-ignore
    ["serve", "--root", root, "--output_root", compiled, "--listen", "127.0.0.1:0", "--web_dir",
      dist, "--cores", "4", ...more],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const [url, token] = await new Promise((resolve, reject) => {
    let text = "";
    server.stdout.on("data", (part) => {
      text += part;
      const found = /(http:\/\/[^\s/]+)\/\?token=(\S+)\n/.exec(text);
      if (found) resolve(found.slice(1));
    });
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
  });
  return { server, url, token };
}

/* ---- what the API says ---- */

export class Api {
  constructor(url, token) {
    this.url = url;
    this.headers = { Authorization: `Bearer ${token}` };
  }

  async get(path) {
    const answer = await fetch(`${this.url}/api/v1${path}`, { headers: this.headers });
    return answer.ok ? answer.json() : null;
  }

  job(id) {
    return this.get(`/jobs/${id}`);
  }

  async submit(id, text, more = {}) {
    const answer = await fetch(`${this.url}/api/v1/jobs/${id}`, {
      method: "PUT",
      headers: { ...this.headers, "Content-Type": "application/json" },
      body: JSON.stringify({ config: text, ...more }),
    });
    if (answer.status !== 201) throw new Error(`${id}: ${await answer.text()}`);
  }

  async order(id, command) {
    const answer = await fetch(`${this.url}/api/v1/jobs/${id}/${command}`, {
      method: "POST",
      headers: this.headers,
    });
    if (!answer.ok) throw new Error(`${command} ${id}: ${await answer.text()}`);
  }

  async lossScale(id) {
    const metrics = await this.get(`/jobs/${id}/metrics?names=loss_scale&max_points=1000`);
    return metrics?.series.at(-1)?.value.at(-1) ?? null;
  }

  async process(id, name) {
    const answer = await this.get(`/jobs/${id}/topology?samples=1`);
    const processes = answer?.samples.at(-1)?.processes ?? [];
    return processes.find((one) => one.name === name && one.pid > 0)?.pid;
  }
}

export async function until(what, test) {
  const end = Date.now() + WAIT_MS;
  while (Date.now() < end) {
    const found = await test();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`it did not happen within ${WAIT_MS} ms: ${what}`);
}

/** Waits for the end of an attempt that succeeds. */
export const succeeded = (api, id, attempt = 1) =>
  until(`the end of ${id}`, async () => {
    const job = await api.job(id);
    if (job.state === "FAILED") throw new Error(`${id}: ${job.message}`);
    return job.state === "SUCCEEDED" && job.attempt === attempt && !job.alive;
  });

/** Ends every job and the server. */
export async function endAll(api, server) {
  for (const { id, alive } of (await api.get("/jobs"))?.jobs ?? [])
    if (alive) await api.order(id, "kill").catch(() => undefined);
  await until("no job lives", async () =>
    ((await api.get("/jobs"))?.jobs ?? []).every((job) => !job.alive),
  ).catch(() => undefined);
  server.removeAllListeners("exit");
  server.kill("SIGTERM");
  await new Promise((done) => server.once("exit", done));
}

/** What ended a test before its end, with what the page and its console said. */
export async function tellFailure(checks, error, tab) {
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
