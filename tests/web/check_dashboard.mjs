/* The pages over the real server and a real training run: a configuration with a fault and then a
 * good one are submitted, live points arrive, pause, resume, checkpoint and cancel are clicked and
 * take effect in the run, and every page then shows what the ended run left.
 *
 * Usage: node check_dashboard.mjs CSENGINE DIST SCREENSHOTS DIRECTORY */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { measureLatency } from "./latency.mjs";

const [csengine, dist, shots, directory] = process.argv.slice(2);

const config = (setting) => `trainer:
  init:
    backend:
      cluster_config: {num_csx: 2, num_workers_per_csx: 1}
    model: {name: fc_mnist, input_size: 256, hidden_sizes: [256], num_classes: 4}
    optimizer:
      SGD: {lr: 0.01}
    loop: {${setting}: 1000000}
    logging: {log_steps: 50}
    seed: 1
  fit:
    train_dataloader:
      data_processor: synthetic
      features: [256]
      classes: 4
      samples: 4096
      batch_size: 256
      micro_batch_size: 32
`;

function startServer() {
  const root = join(directory, "root");
  mkdirSync(root, { recursive: true });
  const server = spawn(
    csengine,
    ["serve", "--root", root, "--listen", "127.0.0.1:0", "--cores", "4", "--web_dir", dist],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const url = new Promise((resolve, reject) => {
    let text = "";
    server.stdout.on("data", (part) => {
      text += part;
      const found = /(http:\/\/\S+)/.exec(text);
      if (found) resolve(found[1].replace(/\/$/, ""));
    });
    server.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
  });
  return { server, url };
}

const ask = async (url, path) => (await fetch(`${url}/api/v1${path}`)).json();

async function until(what, test, wait_ms = 30_000) {
  const end = Date.now() + wait_ms;
  let last;
  while (Date.now() < end) {
    last = await test();
    if (last) return last;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`it did not happen within ${wait_ms} ms: ${what}`);
}

async function submit(checks, page, url) {
  await page.goto(`${url}/submit`);
  const field = page.locator(".editor textarea");
  await field.fill(config("num_stepz"));
  await page.locator(".edit-line.faulty").waitFor({ timeout: 30_000 });
  const line = await page.locator(".edit-line.faulty").innerText();
  checks.that(/num_stepz/.test(line), "the fault stands at the line that has it", line);
  checks.that(
    /line 8, column \d+/.test(await page.locator(".faults").innerText()),
    "the list of faults names line and column",
  );
  await page.screenshot({ path: join(shots, "real-submit-fault.png") });
  await field.fill(config("num_steps"));
  await page.locator(".check.valid").waitFor({ timeout: 30_000 });
  await page.locator("#name").fill("from the browser");
  await page.locator("#labels").fill("team=test");
  await page.locator("header button.primary").click();
  await page.waitForURL(/\/jobs\/[^/]+\/pulse/, { timeout: 30_000 });
  return /\/jobs\/([^/]+)\/pulse/.exec(page.url())[1];
}

const badge = (page, text) =>
  page.locator(`.topbar .badge >> text=${text}`).waitFor({ timeout: 60_000 });

async function orders(checks, page, url, id) {
  const job = () => ask(url, `/jobs/${id}`);
  await badge(page, "running");
  checks.that(true, "the submitted job runs");
  await page.locator("figure canvas").first().waitFor();
  const shown = () => page.locator(".topbar .progress .number").innerText();
  const before = await shown();
  await until("the step shown goes up", async () => (await shown()) !== before);
  checks.that(true, "steps go up on the page");
  await page.screenshot({ path: join(shots, "real-pulse.png") });
  await page.locator("button[data-verb=checkpoint]").click();
  const saved = await until(
    "a checkpoint",
    async () => (await ask(url, `/jobs/${id}/checkpoints`)).checkpoints[0],
  );
  checks.that(
    saved.step > 0 &&
      existsSync(
        saved.path.startsWith("/") ? saved.path : join((await job()).model_dir, saved.path),
      ),
    "the checkpoint that was asked for is a file",
  );
  await page.locator("button[data-verb=pause]").click();
  await badge(page, "paused");
  const step = await until("the run stands", async () => {
    const a = (await job()).progress.step;
    await new Promise((done) => setTimeout(done, 300));
    return a === (await job()).progress.step && a;
  });
  checks.that(step > 0, "paused: the step stands still");
  await page.locator("button[data-verb=resume]").click();
  await badge(page, "running");
  await until("the run goes on", async () => (await job()).progress.step > step);
  checks.that(true, "resumed: the step goes on");
}

async function cancel(checks, page, url, id) {
  await page.goto(`${url}/jobs/${id}/pulse`);
  await page.locator("button[data-verb=cancel]").click();
  await page.locator("dialog button.primary").click();
  await badge(page, "cancelled");
  const job = await until("the job ended", async () => {
    const now = await ask(url, `/jobs/${id}`);
    return !now.alive && now;
  });
  checks.that(job.state === "CANCELLED", "cancelled: the job ended", JSON.stringify(job.state));
  await page.locator(".stream-status >> text=ended").waitFor({ timeout: 30_000 });
  checks.that(true, "the page says that the stream is over");
}

/* What each page shows of an ended run. */
const ENDED = {
  pulse: "text=What stands out",
  curves: "figure >> text=loss",
  topology: "svg.topology",
  graph: "svg >> text=Forward",
  "graph?slowest=1": "aside >> text=GB/s",
  timeline: "text=Share of the step",
  numerics: "h1 >> text=Numerics",
  closures: "h1 >> text=Closures",
  checkpoints: "text=verified",
  logs: ".logs .line",
  config: "text=hidden_sizes",
};

async function everyPage(checks, page, url, id, faults) {
  for (const [name, sign] of Object.entries(ENDED)) {
    await page.goto(`${url}/jobs/${id}/${name}`);
    const there = await page
      .locator(sign)
      .first()
      .waitFor({ timeout: 30_000 })
      .then(
        () => true,
        () => false,
      );
    checks.that(there, `ended run: ${name} shows "${sign}"`);
    await page.waitForTimeout(150);
    await page.screenshot({ path: join(shots, `real-${name.replace(/[?=]/g, "-")}.png`) });
  }
  for (const [name, sign] of Object.entries({
    jobs: "text=from the browser",
    cluster: "text=Disk free",
  })) {
    await page.goto(`${url}/${name}`);
    checks.that(
      await page
        .locator(sign)
        .first()
        .waitFor({ timeout: 30_000 })
        .then(
          () => true,
          () => false,
        ),
      `${name} shows "${sign}"`,
    );
    await page.screenshot({ path: join(shots, `real-${name}.png`) });
  }
  checks.that(
    faults.length === 0,
    "silent console, no request elsewhere",
    [...new Set(faults)].join("\n"),
  );
}

const checks = new Checks();
const { server, url: starting } = startServer();
const url = await starting;
const { context, close } = await openBrowser();
let id;
try {
  const { page, faults } = await openTab(context, url);
  id = await submit(checks, page, url);
  await orders(checks, page, url, id);
  let latency;
  await checks.timed(
    "real run, step to pixel with 20 tabs: median",
    async () => {
      latency = await measureLatency(context, `${url}/jobs/${id}/pulse`, {
        samples: 100,
        others: 19,
      });
      return latency.median;
    },
    { most: 100 },
  );
  await checks.timed("real run, step to pixel with 20 tabs: 99 %", async () => latency.p99, {
    most: 250,
    tries: 1,
  });
  await cancel(checks, page, url, id);
  await everyPage(checks, page, url, id, faults);
} catch (error) {
  checks.that(false, "the test ran to its end", error.stack);
  if (id) await fetch(`${url}/api/v1/jobs/${id}/kill`, { method: "POST" }).catch(() => undefined);
}
await close();
if (id) writeFileSync(join(directory, "job"), (await ask(url, `/jobs/${id}`)).model_dir ?? "");
server.removeAllListeners("exit");
server.kill("SIGTERM");
await new Promise((done) => server.once("exit", done));
checks.end();
