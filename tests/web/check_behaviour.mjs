/* What the pages do, over made-up jobs: live points, orders, faults at their lines, a cut stream, a
 * report; and the figures: size, first paint, a million steps, forty-eight layers, latency.
 *
 * Usage: node check_behaviour.mjs DIST SCREENSHOTS */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { openBrowser, openTab } from "./browser.mjs";
import { startMock } from "./mock.mjs";
import { Checks } from "./checks.mjs";
import { graphText, kernelsOf, precisionOf } from "./made_up_jobs.mjs";
import { measureLatency } from "./latency.mjs";

const [dist, shots] = process.argv.slice(2);
const JOB = "/jobs/gpt2-live";

async function orders(checks, mock, context) {
  const { page, faults } = await openTab(context, mock.url);
  await page.goto(`${mock.url}${JOB}/pulse`);
  const state = async (text) => {
    await page.locator(`.topbar .badge >> text=${text}`).waitFor({ timeout: 30_000 });
    checks.that(true, `the state becomes ${text}`);
  };
  await state("running");
  await page.locator("button[data-command=pause]").click();
  await state("paused");
  const step = mock.jobs.get("gpt2-live").step;
  await page.waitForTimeout(200);
  checks.that(mock.jobs.get("gpt2-live").step === step, "a paused job stands still");
  await page.locator("button[data-command=resume]").click();
  await state("running");
  await page.locator("button[data-command=checkpoint]").click();
  await page.locator(".toast >> text=saved at step").waitFor({ timeout: 30_000 });
  await page.locator("button[data-command=scale]").click();
  await page.locator("dialog input[type=number]").fill("3");
  await page.locator("dialog button.primary").click();
  await page.locator(".toast >> text=3 replicas").waitFor({ timeout: 30_000 });
  checks.that(mock.jobs.get("gpt2-live").replicas === 3, "scale sends the number of replicas");
  await page.locator("button[data-command=cancel]").click();
  await page.locator("dialog button.primary").click();
  await state("cancelled");
  await page.locator(".stream-status >> text=ended").waitFor({ timeout: 30_000 });
  checks.that(faults.length === 0, "orders: silent console", faults.join("\n"));
  await page.close();
}

async function submit(checks, mock, context) {
  const { page, faults } = await openTab(context, mock.url);
  await page.goto(`${mock.url}/submit`);
  const field = page.locator(".editor textarea");
  await field.fill("trainer:\n  init:\n    optimizer:\n      lerning_rate: 1\n");
  await page.locator(".edit-line.faulty").waitFor({ timeout: 30_000 });
  const line = await page.locator(".edit-line.faulty").innerText();
  checks.that(
    /lerning_rate/.test(line) && /did you mean/.test(line),
    "the fault stands at its line",
    line,
  );
  await page.locator(".faults >> text=line 4, column 7").waitFor();
  checks.that(
    await page.locator("header button.primary").isDisabled(),
    "a faulty job cannot be sent",
  );
  await page.screenshot({ path: join(shots, "submit-fault.png") });
  await field.fill("trainer:\n  init:\n    seed: 1\n");
  await page.locator(".check.valid").waitFor({ timeout: 30_000 });
  await page.locator("#name").fill("from the test");
  await page.locator("#labels").fill("team=vision");
  await page.locator("header button.primary").click();
  await page.waitForURL(/\/jobs\/job-\d+\/pulse/, { timeout: 30_000 });
  await page.locator(".topbar >> text=from the test").waitFor({ timeout: 30_000 });
  const made = [...mock.jobs.values()].at(-1);
  checks.that(made.labels.team === "vision", "labels travel with the job");
  checks.that(faults.length === 0, "submit: silent console", faults.join("\n"));
  await page.close();
}

/* A full disk stands out, on the job's first page, for as long as it lasts. */
async function fullDisk(checks, mock, context) {
  const { page, faults } = await openTab(context, mock.url);
  const job = mock.jobs.get("gpt2-live");
  job.storeFailure = {
    since_ms: Date.now() - 60_000,
    message: "database or disk is full",
    waiting_rows: 4711,
    lost: { points: 12, logs: 0, closures: 0, samples: 3 },
  };
  await page.goto(`${mock.url}${JOB}/pulse`);
  const line = page.locator(".findings li.bad >> text=run store cannot be written since");
  await line.waitFor({ timeout: 30_000 });
  const text = await line.innerText();
  checks.that(
    /disk is full.*training goes on, 4.?711 records wait.*lost so far: 12 points, 3 samples$/.test(
      text,
    ),
    "a full disk stands out",
    text,
  );
  await page.screenshot({ path: join(shots, "full-disk.png") });
  job.storeFailure = null;
  await line.waitFor({ state: "detached", timeout: 30_000 });
  checks.that(true, "and no more when there is room");
  checks.that(faults.length === 0, "full disk: silent console", faults.join("\n"));
  await page.close();
}

/* The server drops every stream: the tab says so, comes back, and has missed nothing. */
async function cut(checks, mock, context) {
  const { page } = await openTab(context, mock.url);
  mock.asked.length = 0;
  await page.goto(`${mock.url}${JOB}/pulse`);
  await page.locator(".stream-status.live").waitFor({ timeout: 30_000 });
  await page.waitForTimeout(300);
  mock.cut();
  await page.locator(".stream-status.reconnecting").waitFor({ timeout: 30_000 });
  await page.locator(".stream-status.live").waitFor({ timeout: 30_000 });
  checks.that(
    mock.asked.length >= 2 && mock.asked.at(-1) > mock.asked[0],
    "after a cut the stream goes on behind the last event",
    mock.asked.join(),
  );
  await page.close();
}

async function firstPaint(context, mock) {
  const { page } = await openTab(context, mock.url);
  const paints = [];
  for (let i = 0; i < 5; i++) {
    await page.goto(`${mock.url}/jobs`);
    await page.locator("table.jobs").waitFor();
    paints.push(
      await page.evaluate(
        () =>
          performance.getEntriesByName("first-contentful-paint")[0]?.startTime ??
          performance.getEntriesByName("csengine-first-render")[0].startTime,
      ),
    );
  }
  await page.close();
  return paints.sort((a, b) => a - b)[2];
}

async function openMillion(context, mock) {
  const { page } = await openTab(context, mock.url);
  await page.goto(`${mock.url}/jobs/million/curves`);
  await page.locator("figure canvas").nth(3).waitFor();
  const opened = await page.evaluate(() => performance.now());
  return { page, opened };
}

/* Frames a second while a window of 1,000,000 steps is dragged to and fro. */
async function pan(context, mock) {
  const { page } = await openMillion(context, mock);
  const rate = await page.evaluate(async () => {
    const over = document.querySelector("figure .u-over");
    const box = over.getBoundingClientRect();
    const fire = (type, x, target) =>
      target.dispatchEvent(
        new MouseEvent(type, {
          clientX: x,
          clientY: box.y + 40,
          bubbles: true,
          shiftKey: true,
          cancelable: true,
        }),
      );
    const next = () => new Promise((done) => requestAnimationFrame(done));
    const canvas = over.closest("figure").querySelector("[role=img]");
    for (let i = 0; i < 4; i++)
      canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
    await next();
    fire("mousedown", box.x + 200, over);
    const start = performance.now();
    for (let i = 0; i < 90; i++) {
      fire("mousemove", box.x + 200 + (i % 60) * 3, window);
      await next();
    }
    const frames = 90_000 / (performance.now() - start);
    fire("mouseup", box.x + 200, window);
    return frames;
  });
  await page.close();
  return rate;
}

function watchTasks() {
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      window.longest = Math.max(window.longest, entry.duration);
  }).observe({ type: "longtask", buffered: true });
}

async function openGraph(context, mock) {
  const { page } = await openTab(context, mock.url);
  await page.addInitScript(watchTasks);
  await page.goto(`${mock.url}${JOB}/graph`);
  await page.locator("svg >> text=48 alike").first().waitFor();
  const opened = await page.evaluate(() => performance.now());
  return { page, opened };
}

/* Every one of the 48 layers drawn, from the click on. */
async function unfold(context, mock) {
  const { page } = await openGraph(context, mock);
  const start = Date.now();
  await page.locator("button >> text=every layer").click();
  await page.locator(".node >> nth=300").waitFor({ timeout: 30_000 });
  const took = Date.now() - start;
  await page.screenshot({ path: join(shots, "graph-every-layer.png") });
  const longest = await page.evaluate(() => window.longest);
  await page.close();
  return { took, longest };
}

async function figures(checks, mock, context) {
  const closing = async ({ page, opened }) => {
    await page.close();
    return opened;
  };
  await checks.timed("first paint, median of 5", () => firstPaint(context, mock), { most: 300 });
  await fetch(`${mock.url}/api/v1/jobs/million/metrics?max_points=1000`).then((r) => r.text());
  await checks.timed(
    "1,000,000 steps, 20 series: open until drawn",
    async () => closing(await openMillion(context, mock)),
    { most: 1000 },
  );
  await checks.timed("panning in 1,000,000 steps", () => pan(context, mock), {
    least: 50,
    unit: "frames/s",
  });
  await checks.timed(
    "48 layers, folded: open until drawn",
    async () => closing(await openGraph(context, mock)),
    { most: 1000 },
  );
  let longest = 0;
  await checks.timed(
    "48 layers, each of them: laid out and drawn",
    async () => {
      const { took, longest: task } = await unfold(context, mock);
      longest = task;
      return took;
    },
    { most: 1000 },
  );
  await checks.timed("longest task of the page meanwhile", async () => longest, {
    most: 200,
    tries: 1,
  });
  let latency;
  await checks.timed(
    "step to pixel at 50 steps/s, 20 tabs: median",
    async () => {
      latency = await measureLatency(context, `${mock.url}${JOB}/pulse`, {
        samples: 200,
        others: 19,
      });
      return latency.median;
    },
    { most: 100 },
  );
  await checks.timed("step to pixel at 50 steps/s, 20 tabs: 99 %", async () => latency.p99, {
    most: 250,
    tries: 1,
  });
}

function reportOf(mock) {
  const job = mock.jobs.get("resumed");
  const base = `/api/v1/jobs/${job.id}`;
  return {
    "/api/v1/jobs": { jobs: [job.job()], next_page_token: null, total: 1 },
    [base]: job.job(),
    [`${base}/transitions`]: { transitions: job.transitions },
    [`${base}/metrics`]: job.metrics({ max_points: 2000 }),
    [`${base}/closures`]: { closures: job.closures(), next_after: null },
    [`${base}/checkpoints`]: { checkpoints: job.checkpoints() },
    [`${base}/logs`]: job
      .logs()
      .map((line) => JSON.stringify(line))
      .join("\n"),
    [`${base}/config`]: { yaml: job.config, submitted: null, origins: {} },
    [`${base}/graph`]: JSON.parse(graphText(job.layers)),
    [`${base}/precision`]: precisionOf(job.layers),
    [`${base}/topology`]: { samples: [job.topology()], missing: null },
    [`${base}/numerics`]: job.numerics({}),
    [`${base}/trace`]: job.trace({}),
    [`${base}/kernels`]: kernelsOf(job),
  };
}

async function report(checks, mock, context) {
  const template = readFileSync(join(dist, "report.html"), "utf8");
  checks.that(
    template.split("@CSENGINE_REPORT_DATA@").length === 2,
    "the report has one place for its data",
  );
  const data = JSON.stringify(reportOf(mock)).replaceAll("<", "\\u003c");
  const file = join(shots, "report.html");
  writeFileSync(
    file,
    template.replace("@CSENGINE_REPORT_DATA@", () => data),
  );
  const url = pathToFileURL(file).href;
  const { page, faults } = await openTab(context, url);
  await page.goto(url);
  await page.locator("text=What stands out").waitFor({ timeout: 30_000 });
  const signs = {
    curves: "figure canvas",
    topology: "svg.topology",
    graph: "svg >> text=alike",
    timeline: "text=Share of the step",
    numerics: "text=tensors, as of step",
    closures: "text=Median lag",
    checkpoints: "text=verified",
    logs: "text=checkpoint written",
    config: "text=num_layers",
  };
  for (const [name, sign] of Object.entries(signs)) {
    await page.locator(`nav a[href$="/${name}"]`).click();
    checks.that(
      await page
        .locator(sign)
        .first()
        .waitFor({ timeout: 30_000 })
        .then(
          () => true,
          () => false,
        ),
      `report: ${name} shows "${sign}"`,
    );
  }
  await page.locator('nav a[href$="/graph"]').click();
  await page.locator("button >> text=Slowest kernels").click();
  const rate = page.locator("aside table >> text=GB/s").first();
  checks.that(
    await rate.waitFor({ timeout: 30_000 }).then(
      () => true,
      () => false,
    ),
    "report: the slowest kernels have their rates",
  );
  const times = await page.locator("aside tbody tr td:nth-child(3)").allInnerTexts();
  const scale = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };
  const ns = times.map((text) => text.split(/\s+/)).map(([value, unit]) => value * scale[unit]);
  checks.that(
    ns.length > 5 && ns.every((value, i) => i === 0 || value <= ns[i - 1]),
    "report: the slowest kernel is first",
    times.join(", "),
  );
  await page.locator("aside tbody button").first().click();
  checks.that(
    await page
      .locator("aside dt >> text=Time")
      .waitFor({ timeout: 30_000 })
      .then(
        () => true,
        () => false,
      ),
    "report: a kernel of the list leads to its box",
  );
  await page.screenshot({ path: join(shots, "report.png") });
  checks.that(faults.length === 0, "report: silent console, no request", faults.join("\n"));
  await page.close();
}

mkdirSync(shots, { recursive: true });
const checks = new Checks();
const mock = await startMock({ dist });
const { context, close } = await openBrowser();
const served = ["index.html", ...readdirSync(join(dist, "assets")).map((name) => `assets/${name}`)];
const bundle = served.reduce(
  (sum, name) => sum + gzipSync(readFileSync(join(dist, name)), { level: 9 }).length,
  0,
);
try {
  checks.figure("bundle, gzipped", bundle / 1024, 120, "KiB");
  await figures(checks, mock, context);
  await cut(checks, mock, context);
  await fullDisk(checks, mock, context);
  await submit(checks, mock, context);
  await report(checks, mock, context);
  await orders(checks, mock, context);
} catch (error) {
  checks.that(false, "the test ran to its end", error.stack);
}
await close();
mock.close();
checks.end();
