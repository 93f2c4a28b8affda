/* The pages of sweeps over a real one, in a real browser: its numbers are those of trials.jsonl,
 * also while it is trained in the queue; sorting, rungs, drawings, links to jobs; what is damaged is
 * told.
 *
 * Usage: node check_sweeps.mjs CSENGINE DIST SCREENSHOTS DIRECTORY */
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { axe, checkLooks, smallTargets, widerThanWindow } from "./looks.mjs";
import { Api, endAll, startServer, tellFailure, until } from "./real_server.mjs";

const [csengine, dist, shots, directory] = process.argv.slice(2);
const root = join(directory, "root");

const CONFIG = `trainer:
  init:
    backend:
      compile_dir: ${join(directory, "compiled")}
      cluster_config: {num_csx: 1, num_workers_per_csx: 1}
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4}
    optimizer: {SGD: {lr: 0.05}}
    loop: {num_steps: 10}
    seed: 1
  fit:
    train_dataloader:
      data_processor: synthetic
      features: [16]
      classes: 4
      batch_size: 64
      samples: 1024
`;

/* The width of one trial's layer is refused. */
const SWEEP = {
  name: "rates.v1",
  config: join(directory, "config.yaml"),
  method: "halving",
  trials: 8,
  seed: 3,
  metric: "loss",
  steps: { min: 10, max: 40, eta: 2 },
  parameters: {
    "optimizer.SGD.lr": { log_uniform: [1e-4, 0.2] },
    "optimizer.SGD.momentum": { uniform: [0, 0.9] },
    "model.hidden_sizes": [[8], [16], [32], [8], [16], [32], [64], [0]],
  },
};

function startSweep(file) {
  const sweep = spawn(csengine, ["sweep", file, "--server", root, "--quiet"], {
    stdio: ["ignore", "ignore", "inherit"],
    cwd: directory,
  });
  sweep.ended = new Promise((done) => sweep.once("exit", done));
  return sweep;
}

/* ---- what the file says ---- */

function lines(name) {
  const text = readFileSync(join(root, "sweeps", name, "trials.jsonl"), "utf8");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .filter((line) => line.trial);
}

/** The table of the command: trial and value, the best first; those that failed last. */
function tableOf(name) {
  const last = new Map(lines(name).map((line) => [line.trial, line]));
  const rank = (line) => (line.failed ? -1 : line.rung);
  return [...last.values()].sort(
    (a, b) => rank(b) - rank(a) || (a.failed ? 0 : a.value - b.value) || a.trial - b.trial,
  );
}

/* The API's numbers have 15 digits. */
const isSame = (shown, value) => Number(shown) === Number(value.toPrecision(15));

const words = (text) => text.split(/\s+/).filter(Boolean).join(" ");

/* ---- what the page says ---- */

const rowsOf = (page) =>
  page.locator(".trials .rows .line").evaluateAll((rows) =>
    rows.map((row) => ({
      trial: Number(row.querySelector("[data-trial]").dataset.trial),
      state: row.querySelector("[data-trial]").dataset.state,
      values: [...row.querySelectorAll("[role=cell]")].map((cell) => cell.dataset.value),
      job: row.querySelector("a")?.getAttribute("href") ?? null,
    })),
  );

const said = (page, what) =>
  page.locator(`[data-says="${what}"]`).first().getAttribute("data-value");

const fatesOf = (page, rung) =>
  page
    .locator(`.rungs [data-rung="${rung}"] [data-trial]`)
    .evaluateAll((all) => all.map((one) => [Number(one.dataset.trial), one.dataset.fate]));

/* ---- the checks ---- */

async function whileItRuns(checks, api, page) {
  await page.goto(`${api.url}/sweeps`);
  const row = page.locator('[data-sweep="rates.v1"]');
  await row.waitFor();
  await row.getByRole("link").click();
  await page.locator('[data-says="sweep state"][data-value="running"]').waitFor();
  checks.that(page.url().endsWith("/sweeps/rates.v1"), "a name with a dot is an address");
  await page.reload();
  await page.locator(".trials .rows .line").first().waitFor();
  await until("a value on the page", async () => (await said(page, "tried")) !== "0");
  const shown = Number(await said(page, "tried"));
  checks.that(shown > 0 && shown <= 8, "it is live", `${shown} tried`);
}

async function whole(checks, page) {
  await page.locator('[data-says="sweep state"][data-value="complete"]').waitFor();
  const table = tableOf("rates.v1");
  const rows = await rowsOf(page);
  const numbers = (list) => JSON.stringify(list);
  checks.that(
    numbers(rows.map((row) => row.trial)) === numbers(table.map((line) => line.trial)),
    "the order is that of the file",
    `${numbers(rows)}\n${numbers(table)}`,
  );
  checks.that(
    rows.every((row, i) => {
      const { failed, value } = table[i];
      return failed ? row.values[0] === "" : isSame(row.values[0], value);
    }),
    "the values are those of the file",
    `${numbers(rows)}\n${numbers(table)}`,
  );
  checks.that(
    rows.every((row, i) => (row.state === "failed") === table[i].failed),
    "who failed",
    numbers(rows),
  );
  const best = await said(page, "best value");
  checks.that(isSame(best, table[0].value), "the best value", `${best} and ${table[0].value}`);
  const failed = table.filter((line) => line.failed);
  checks.that(failed.length > 0, "a trial of the sweep fails");
  for (const { trial, message } of failed) {
    const reason = page.locator(`[data-says="failure"][data-value="${trial}"]`);
    checks.that(words(await reason.innerText()) === words(message), `why trial ${trial} failed`);
  }
}

async function rungs(checks, page) {
  const all = lines("rates.v1");
  for (const rung of [0, 1]) {
    const next = new Set(all.filter((line) => line.rung === rung + 1).map((line) => line.trial));
    const here = all.filter((line) => line.rung === rung);
    const wanted = new Map(
      here.map(({ trial, failed }) => [
        trial,
        failed ? "failed" : next.has(trial) ? "on" : "stopped",
      ]),
    );
    const fates = await fatesOf(page, rung);
    checks.that(
      fates.length === here.length && fates.every(([trial, fate]) => wanted.get(trial) === fate),
      `who went on from rung ${rung}`,
      JSON.stringify([fates, [...wanted]]),
    );
  }
  const last = await fatesOf(page, 2);
  checks.that(last.length === 2 && last.every(([, fate]) => fate === "last"), "the last rung");
}

async function sorting(checks, page) {
  const head = page.locator(".trials [role=columnheader]").filter({ hasText: "SGD.lr" });
  await head.getByRole("button").click();
  const column = (await rowsOf(page)).map((row) => Number(row.values[2]));
  checks.that(
    column.length === 8 && column.every((value, i) => i === 0 || column[i - 1] <= value),
    "a click on a head sorts",
    column.join(),
  );
  checks.that(page.url().includes("sort="), "the address has the order");
  checks.that((await head.getAttribute("aria-sort")) === "ascending", "the head says so");
  await head.getByRole("button").press("Enter");
  await head.getByRole("button").press("Enter");
  checks.that(!page.url().includes("sort="), "by the keyboard, back to the best first");
}

async function drawings(checks, page) {
  const wanted = tableOf("rates.v1").filter((line) => !line.failed);
  await page.locator(".explore svg.scatter").waitFor();
  const points = await page
    .locator(".explore circle.run")
    .evaluateAll((all) => all.map((one) => one.dataset.run));
  checks.that(
    JSON.stringify(points.sort()) ===
      JSON.stringify(wanted.map(({ trial }) => String(trial)).sort()),
    "the scatter has the trials with a value",
    points.join(),
  );
  await page.locator(".explore .importance li, .explore .importance p").first().waitFor();
  checks.that((await page.locator("figure.chart canvas").count()) > 0, "the course is drawn");
}

async function jobLink(checks, page) {
  const [first] = await rowsOf(page);
  const job = `rates.v1-${String(first.trial).padStart(4, "0")}-2`;
  checks.that(first.job === `/jobs/${job}/pulse`, "a trial leads to its job", String(first.job));
  await page.locator(".trials .rows a").first().click();
  await page.locator(".topbar", { hasText: job }).waitFor();
  await page.goBack();
  await page.locator(".trials .rows .line").first().waitFor();
}

async function damaged(checks, api, page) {
  const folder = join(root, "sweeps", "damaged");
  mkdirSync(folder);
  writeFileSync(join(folder, "trials.jsonl"), "<img src=x onerror=alert(1)>\n");
  await page.goto(`${api.url}/sweeps`);
  await page.locator("section", { hasText: "Not readable" }).getByText("names no sweep").waitFor();
  checks.that((await page.locator("main img").count()) === 0, "a text is no markup");
  checks.that(true, "a damaged sweep is told");
}

async function looks(checks, api, page) {
  for (const [name, address] of [
    ["sweeps", "/sweeps"],
    ["sweep", "/sweeps/rates.v1"],
  ])
    await checkLooks(checks, page, {
      name,
      shots,
      show: async () => {
        await page.goto(`${api.url}${address}`);
        await page.locator("main .badge").first().waitFor();
      },
      more: async (here) => {
        for (const part of name === "sweep" ? [".trials", ".rungs", ".scatter", ".space"] : []) {
          await page.locator(part).evaluate((one) => one.scrollIntoView({ block: "start" }));
          await page.screenshot({ path: join(shots, `${here}${part}.png`) });
        }
        const below = await page.evaluate(
          () => document.documentElement.scrollHeight - window.innerHeight,
        );
        checks.that(below <= 1, `${here}: the page scrolls inside of its frame`, `${below} pixels`);
      },
    });
  await page.setViewportSize({ width: 1440, height: 900 });
}

/* A sweep from the page of a run's configuration: what is typed is what the server gets. */
async function started(checks, api, page) {
  const job = `rates.v1-${String(tableOf("rates.v1")[0].trial).padStart(4, "0")}-0`;
  await page.goto(`${api.url}/jobs/${job}/config`);
  await page.getByRole("link", { name: "sweep", exact: true }).click();
  const lr = "trainer.init.optimizer.SGD.lr";
  await page.getByLabel("Find settings").fill("SGD.lr");
  const offered = page.locator(".spaces li");
  await until("the search", async () => (await offered.count()) === 1);
  await offered.getByRole("checkbox").click();
  const values = page.getByLabel("Values of SGD.lr");
  await values.fill("0.1, 0.1");
  checks.that(await page.getByText("Start the sweep").isDisabled(), "a range that is none");
  await values.fill("0.01, 0.1");
  await page.getByLabel("name", { exact: true }).fill("bad name");
  await page.getByLabel("trials", { exact: true }).fill("3");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.screenshot({ path: join(shots, "sweep-form-390.png") });
  const wide = await page.evaluate(widerThanWindow);
  checks.that(wide === "", "the form: nothing is wider than the window", wide);
  const small = await page.evaluate(smallTargets);
  checks.that(small.length === 0, "the form: 40 pixels to touch", small.join("\n"));
  await page.setViewportSize({ width: 1440, height: 900 });
  const found = await axe(page, null);
  checks.that(found.length === 0, "the form: nothing serious for axe", found.join("\n"));
  await page.screenshot({ path: join(shots, "sweep-form-1440.png") });
  await page.getByText("Start the sweep").click();
  await page.getByRole("alert").waitFor();
  checks.that(true, "what the server refuses is told");
  await page.getByLabel("name", { exact: true }).fill("second");
  await page.getByText("Start the sweep").click();
  await page.locator("h1", { hasText: "second" }).waitFor();
  await page.locator('[data-says="sweep state"][data-value="complete"]').waitFor();
  const { sweep } = JSON.parse(
    readFileSync(join(root, "sweeps", "second", "trials.jsonl"), "utf8").split("\n")[0],
  );
  checks.that(
    sweep.includes(`${lr}: {log_uniform: [0.01`) && sweep.includes("trials: 3"),
    "the document is what was typed",
    sweep,
  );
  checks.that(
    lines("second").every((line) => !line.failed),
    "its trials are trained",
  );
}

mkdirSync(shots, { recursive: true });
writeFileSync(SWEEP.config, CONFIG);
writeFileSync(join(directory, "sweep.yaml"), JSON.stringify(SWEEP));
const checks = new Checks();
const { server, url, token } = await startServer({ csengine, dist, directory });
const api = new Api(url, token);
const { context, close } = await openBrowser();
let tab;
try {
  await (await context.newPage()).goto(`${url}/jobs?token=${token}`);
  tab = await openTab(context, url);
  const { page } = tab;
  await page.goto(`${url}/sweeps`);
  await page.getByText("No sweeps yet").waitFor();
  const sweep = startSweep(join(directory, "sweep.yaml"));
  await whileItRuns(checks, api, page);
  checks.that((await sweep.ended) === 0, "the sweep has ended well");
  await whole(checks, page);
  await rungs(checks, page);
  await sorting(checks, page);
  await drawings(checks, page);
  await jobLink(checks, page);
  await looks(checks, api, page);
  await damaged(checks, api, page);
  checks.that(tab.faults.length === 0, "silent console", tab.faults.join("\n"));
  await started(checks, api, page);
} catch (error) {
  await tellFailure(checks, error, tab);
}
await close();
await endAll(api, server);
checks.end();
