/* Each statement that a page makes about a job (elements with data-says) against the API, over real
 * runs: a pause during a validation, a killed input worker and a killed replica, a dynamic loss
 * scale that is halved at step 1, a finished job, which is not resumed, one whose directory is gone, and
 * precision levels of single layers, emulated and not.
 *
 * Usage: node check_truth.mjs CSENGINE DIST SCREENSHOTS DIRECTORY */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { Api, endAll, startServer, succeeded, tellFailure, until } from "./real_server.mjs";

const [csengine, dist, shots, directory] = process.argv.slice(2);
const WAIT_MS = 120_000;

const DATA = `
      data_processor: synthetic
      features: [16]
      classes: 4
      batch_size: 64
      micro_batch_size: 16
`;
const config = ({ init = "", steps = 20, validation = 0, hidden = "32" }) => `trainer:
  init:
    backend:
      compile_dir: ${join(directory, "compiled")}
      cluster_config: {num_csx: 2, num_workers_per_csx: 1}
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [${hidden}], num_classes: 4}
    optimizer: {SGD: {lr: 0.01}}
    loop: {num_steps: ${steps}}
    seed: 1
${init}  fit:
    train_dataloader:${DATA}      samples: 1024
${validation ? `    val_dataloader:${DATA}      samples: ${validation}\n` : ""}`;

/* A step of a long job takes about a millisecond: jobs that wake each other's processes a hundred
 * thousand times a second leave a browser on the same processors no time. */
const WIDE = "512, 512";

/* One layer keeps its sums in float32, whatever the others are permitted. */
const levels = (emulated) =>
  config({
    hidden: "32, 32",
    init:
      "    precision: {fp16_type: bfloat16, tile_length: 4, " +
      `emulate_accumulation: ${emulated}, pol: [{scope: model.fc_layers.0*, level: 0}]}\n`,
  });

const JOBS = {
  emulated: levels(true),
  permitted: levels(false),
  validated: config({ validation: 100_000_000, hidden: WIDE }),
  repaired: config({ steps: 1_000_000_000, hidden: WIDE }),
  halved: config({
    init:
      "    precision: {fp16_type: float16, loss_scaling_factor: dynamic, " +
      "initial_loss_scale: 100000000, max_loss_scale: 1000000000}\n    numerics: {every: 5}\n",
  }),
  resumed: config({}),
  gone: config({}),
};

/* They use every processor until they are ended: submitted when their turn comes. */
const LONG = new Set(["validated", "repaired"]);

const STEPPING = new Set(["train", "save"]);
const text = (value) => (value === null || value === undefined ? "" : String(value));

/* Of each statement what it is to be, by the API: a text, or a test of the text. */
async function wantedOf(api, job) {
  const steps = STEPPING.has(job.phase);
  /* Of a run whose folder is gone the job's own figures are known, and no series. */
  const isUnknown = job.phase === "compile" || job.phase === "start" || job.folder_gone;
  const scale = await api.lossScale(job.id);
  const rate = (said) => (steps ? Number(said) > 0 : said === "");
  const close = (a, b) => Math.abs(a - b) <= 1e-6 * Math.abs(b);
  return {
    state: job.state,
    phase: text(job.phase),
    step: text(job.progress.step),
    loss: (said) =>
      job.progress.loss === null ? said === "" : close(Number(said), job.progress.loss),
    "loss-scale": isUnknown ? "unknown" : text(scale) || (job.progress.step ? "off" : "unknown"),
    "steps-per-second": rate,
    "samples-per-second": rate,
    left: rate,
    recoveries: text(job.recovery.count),
    "recovery-milliseconds": text(job.recovery.milliseconds),
    replicas: text(job.num_csx),
    "numbers-observed": text(job.numerics_every),
  };
}

/* ---- what the page says ---- */

const statements = (page) =>
  page.$$eval("[data-says]", (all) =>
    all.map((one) => ({
      what: one.dataset.says,
      value: one.dataset.value,
      text: one.textContent.trim(),
    })),
  );

/* What is said otherwise than it is, and what is not said though it must be. */
async function faultsOf(api, page, id, needed) {
  const job = await api.job(id);
  const wanted = await wantedOf(api, job);
  const said = await statements(page);
  const faults = needed
    .filter((what) => !said.some((one) => one.what === what))
    .map((what) => `${what}: not said`);
  for (const { what, value, text: shown } of said) {
    const want = wanted[what];
    const holds = typeof want === "function" ? want(value) : want === undefined || want === value;
    if (!holds || shown === "")
      faults.push(`${what}: says "${value}" (${shown}), the API "${String(want)}"`);
  }
  return faults;
}

/** Waits until the page and the API agree; a page that keeps to something else fails. */
async function agrees(checks, api, page, id, about, needed) {
  let faults = [];
  const end = Date.now() + 60_000;
  do {
    faults = await faultsOf(api, page, id, needed);
    if (faults.length > 0) await new Promise((done) => setTimeout(done, 100));
  } while (faults.length > 0 && Date.now() < end);
  checks.that(faults.length === 0, `${about}: the page says what the API says`, faults.join("\n"));
}

const PULSE = ["state", "step", "loss", "loss-scale", "steps-per-second", "replicas"];
const PAGES = ["curves", "topology", "graph", "timeline", "numerics", "closures", "logs", "config"];

async function everyPage(checks, api, page, id, about) {
  for (const name of PAGES) {
    await page.goto(`${api.url}/jobs/${id}/${name}`);
    await agrees(checks, api, page, id, `${about}, ${name}`, ["state", "step"]);
  }
}

const openPulse = async (api, page, id) => {
  await page.goto(`${api.url}/jobs/${id}/pulse`);
  await page.locator("dl.tiles").waitFor({ timeout: WAIT_MS });
};

const tile = async (page, label) =>
  (await page.locator(".tile", { hasText: label }).first().innerText()).replace(/\s+/g, " ");

/* ---- the cases ---- */

async function pausedValidation(checks, api, page) {
  const id = "validated";
  await api.submit(id, JOBS[id]);
  await openPulse(api, page, id);
  await until("the validation", async () => (await api.job(id)).phase_steps);
  await agrees(checks, api, page, id, "a validation", [...PULSE, "phase"]);
  const says = page.locator(".topbar [data-says=phase]");
  checks.that(/^validating, batch/.test(await says.innerText()), "a validation is called that");
  await page.locator("button[data-command=pause]").click();
  await until("the pause", async () => (await api.job(id)).state === "PAUSED");
  await agrees(checks, api, page, id, "a paused validation", [...PULSE, "phase", "left"]);
  const rail = page.locator(".state-rail .now");
  checks.that(/^paused.*in a validation, batch/s.test(await rail.innerText()), "the rail: paused");
  checks.that(/paused/.test(await tile(page, "Left")), "no time is left while it is paused");
  checks.that(/before/.test(await tile(page, "Samples")), "the last rate is said to be the last");
  await page.screenshot({ path: join(shots, "truth-paused.png") });
  await everyPage(checks, api, page, id, "a paused validation");
  await page.goto(`${api.url}/jobs`);
  const row = page.locator("tr", { has: page.locator(`a[href*="/jobs/${id}/"]`) });
  const listed = await row.locator("[data-says=state]").first().getAttribute("data-value");
  checks.that(listed === "PAUSED", "the list of jobs: paused", listed);
  await openPulse(api, page, id);
  await page.locator("button[data-command=resume]").click();
  await until("going on", async () => (await api.job(id)).state === "RUNNING");
  await agrees(checks, api, page, id, "a validation that goes on", [...PULSE, "phase"]);
  await api.order(id, "cancel");
  await until("the end", async () => !(await api.job(id)).alive);
  await agrees(checks, api, page, id, "a cancelled validation", PULSE);
}

async function repaired(checks, api, page) {
  const id = "repaired";
  await api.submit(id, JOBS[id]);
  await openPulse(api, page, id);
  const names = ["input worker 0", "replica 1"];
  for (const [i, name] of names.entries()) {
    await until("running", async () => (await api.job(id)).state === "RUNNING");
    const pid = await until(name, () => api.process(id, name));
    process.kill(pid, "SIGKILL");
    await until("the recovery", async () => (await api.job(id)).recovery.count === i + 1);
  }
  const needed = [...PULSE, "recoveries", "recovery-milliseconds"];
  await until("running again", async () => (await api.job(id)).state === "RUNNING");
  await api.order(id, "pause");
  await until("the pause", async () => (await api.job(id)).state === "PAUSED");
  await agrees(checks, api, page, id, "two killed processes", needed);
  const past = await page.locator(".state-rail li").allInnerTexts();
  const lost = past.filter((one) => /^recovering/.test(one));
  checks.that(
    lost.length === 2 && names.every((name, i) => lost[i].includes(name)),
    "the rail names both that were lost",
    past.join(" | "),
  );
  checks.that(/replica 1/.test(await tile(page, "Recoveries")), "and the tile the last one");
  await page.screenshot({ path: join(shots, "truth-repaired.png") });
  await page.reload();
  await agrees(checks, api, page, id, "two killed processes, read again", needed);
  await api.order(id, "kill");
  await until("the end", async () => !(await api.job(id)).alive);
  await agrees(checks, api, page, id, "a killed job", needed);
}

async function halved(checks, api, page) {
  const id = "halved";
  await succeeded(api, id);
  await openPulse(api, page, id);
  await agrees(checks, api, page, id, "a halved loss scale", PULSE);
  const scale = Number(await page.locator("[data-says=loss-scale]").getAttribute("data-value"));
  checks.that(scale > 0 && scale < 100_000_000, "the scale that is shown is the last one", scale);
  const observed = page.locator("[data-says=numbers-observed]");
  if ((await observed.count()) > 0)
    checks.that(
      /on the observed steps \(every 5\)/.test(await observed.innerText()),
      "no more is said of numbers than was observed",
      await observed.innerText(),
    );
  await everyPage(checks, api, page, id, "a halved loss scale");
}

async function resumed(checks, api, page) {
  const id = "resumed";
  await succeeded(api, id);
  await openPulse(api, page, id);
  await agrees(checks, api, page, id, "a finished job", PULSE);
  const refused = await api.order(id, "resume").catch((error) => String(error));
  checks.that(/all 20 steps are done/.test(refused), "a finished job is not resumed", refused);
  const offered = await page.locator("button[data-command=resume]").count();
  checks.that(offered === 0, "and its page does not offer it");
  await page.reload();
  await agrees(checks, api, page, id, "a finished job, read again", PULSE);
}

async function gone(checks, api, page) {
  const id = "gone";
  await succeeded(api, id);
  await openPulse(api, page, id);
  await agrees(checks, api, page, id, "before its directory is gone", PULSE);
  rmSync((await api.job(id)).model_dir, { recursive: true });
  await page.reload();
  await agrees(checks, api, page, id, "its directory is gone", ["state", "step"]);
}

/* ---- precision ---- */

const FULL = "float32";
const PRODUCT = /matmul|conv2d|attention/;

const sumText = ({ dtype, stochastic, tile_length }) =>
  `${dtype} every ${tile_length} terms, ${stochastic ? "stochastically" : "to nearest"}`;

const distinct = (texts) => [...new Set(texts)].sort().join("; ");

/* What the precision report says of the sums in a scope, in the words of the step graph. */
function sumsOf(ops, scope, backward) {
  const inside = ops.filter(
    (op) => op.backward === backward && (op.scope === scope || op.scope.startsWith(`${scope}.`)),
  );
  const narrow = inside.filter((op) => op.accumulation.dtype !== FULL);
  const summing = inside.filter((op) => narrow.includes(op) || PRODUCT.test(op.op));
  return {
    permitted: distinct(narrow.map((op) => sumText(op.accumulation))),
    executed: distinct(
      summing.map((op) =>
        narrow.includes(op) && op.accumulation.emulated ? sumText(op.accumulation) : FULL,
      ),
    ),
  };
}

/* Each part of the step graph says what is executed and, where it differs, what is permitted. */
async function precision(checks, api, page, id) {
  await succeeded(api, id);
  await page.goto(`${api.url}/jobs/${id}/graph?fold=0`);
  await page.locator("g.node").first().waitFor({ timeout: WAIT_MS });
  const { ops } = await api.get(`/jobs/${id}/precision`);
  const titles = await page.$$eval("g.node > title", (all) => all.map((one) => one.textContent));
  const faults = [];
  const said = { narrow: 0, full: 0 };
  for (const title of titles) {
    const [, lane, scope] = /^(\w+): (.*)/.exec(title);
    if (lane === "update") continue;
    const want = sumsOf(ops, scope, lane === "backward");
    const permitted = /sums permitted: (.*)/.exec(title)?.[1] ?? "";
    const executed = /sums executed: (.*)/.exec(title)?.[1] ?? FULL;
    said[permitted ? "narrow" : "full"]++;
    if (permitted !== want.permitted || (permitted && executed !== want.executed))
      faults.push(`${title}\n the report: ${JSON.stringify(want)}`);
  }
  checks.that(
    faults.length === 0 && said.narrow > 0 && said.full > 0,
    `${id}: the step graph says of sums what the precision report says`,
    [JSON.stringify(said), ...faults].join("\n"),
  );
  const lines = await page.locator("g.node text.sums").allTextContents();
  const holds = (line) =>
    id === "emulated"
      ? /bf16\/4 executed|bf16\/4, fp32 executed/.test(line) && !/permitted/.test(line)
      : /^Σ fp32 executed, .*bf16\/4 permitted/.test(line);
  checks.that(
    lines.length > 0 && lines.every(holds),
    `${id}: and the drawing says which of the two it is`,
    lines.join("\n"),
  );
  await agrees(checks, api, page, id, id, ["state", "step"]);
}

const emulated = (checks, api, page) => precision(checks, api, page, "emulated");
const permitted = (checks, api, page) => precision(checks, api, page, "permitted");

const CASES = { halved, resumed, gone, emulated, permitted, repaired, pausedValidation };

const checks = new Checks();
const { server, url, token } = await startServer({ csengine, dist, directory });
const api = new Api(url, token);
const { context, close } = await openBrowser();
let tab;
try {
  for (const [id, one] of Object.entries(JOBS)) if (!LONG.has(id)) await api.submit(id, one);
  await (await context.newPage()).goto(`${url}/jobs?token=${token}`);
  tab = await openTab(context, url);
  const { page } = tab;
  for (const [name, one] of Object.entries(CASES)) {
    const begin = Date.now();
    await one(checks, api, page);
    console.log(`${name}: ${Date.now() - begin} ms`);
  }
} catch (error) {
  await tellFailure(checks, error, tab);
}
await close();
await endAll(api, server);
checks.end();
