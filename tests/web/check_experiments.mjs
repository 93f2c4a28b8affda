/* The pages Experiments and Compare over a root of a thousand runs, in a real browser: what they
 * show against the API and against the stores, and how long they take.
 *
 * Usage: node check_experiments.mjs CSENGINE DIST SCREENSHOTS DIRECTORY MANY_RUNS */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { Api, endAll, startServer, succeeded, tellFailure } from "./real_server.mjs";

const [csengine, dist, shots, directory, manyRuns] = process.argv.slice(2);
const COUNT = 1000;
const SEEDS = 5;
const STEPS = 200;
const LR = "trainer.init.optimizer.SGD.lr";

const CONFIG = `trainer:
  init:
    backend:
      compile_dir: ${join(directory, "compiled")}
      cluster_config: {num_csx: 1, num_workers_per_csx: 1}
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4}
    optimizer:
      SGD:
        lr: 0.02
    loop: {num_steps: ${STEPS}, eval_frequency: 50}
    seed: 1
  fit:
    train_dataloader:
      data_processor: synthetic
      features: [16]
      classes: 4
      batch_size: 64
      micro_batch_size: 16
      samples: 1024
    val_dataloader:
      data_processor: synthetic
      features: [16]
      classes: 4
      batch_size: 64
      micro_batch_size: 16
      samples: 128
`;

/* One run is trained; the others are made of it while no server has the root. */
async function makeRoot() {
  const first = await startServer({ csengine, dist, directory });
  const api = new Api(first.url, first.token);
  await api.submit("trained", CONFIG, { labels: { sweep: "none" } });
  await succeeded(api, "trained");
  await endAll(api, first.server);
  const words = [manyRuns, join(directory, "root"), "trained", String(COUNT)];
  const { status, stderr } = spawnSync(process.env.PYTHON ?? "python3", words);
  if (status !== 0) throw new Error(`many_runs.py: ${stderr}`);
}

/* The API writes 15 digits of some numbers. */
const alike = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b));

const table = ".experiments .virtual";
const rows = (page) => page.locator(`${table} .rows .line`);
const names = (page) => page.locator(`${table} .rows .run-head a`).allInnerTexts();
const note = (page) => page.locator(".page header > .soft").innerText();
const parameter = (page, name) => new URL(page.url()).searchParams.get(name);

const shows = (page, text) =>
  page.locator(".page header > .soft", { hasText: text }).waitFor({ timeout: 60_000 });

/* ---- time ---- */

/* From the last byte of the answer until the rows are painted. */
async function paintedAfter(page, url, name, selector) {
  await page.addInitScript(
    ([wanted]) => {
      const since = new MutationObserver(() => {
        if (!document.querySelector(wanted)) return;
        since.disconnect();
        requestAnimationFrame(() => setTimeout(() => (window.paintedAt = performance.now())));
      });
      since.observe(document, { childList: true, subtree: true });
    },
    [selector],
  );
  await page.goto(url);
  await page.waitForFunction(() => window.paintedAt, null, { timeout: 60_000 });
  return page.evaluate((part) => {
    const entries = performance.getEntriesByType("resource");
    const data = entries.filter(
      (one) => one.name.includes(part) && one.responseEnd <= window.paintedAt,
    );
    const answer = Math.max(...data.map((one) => one.responseEnd));
    const took = Math.max(...data.map((one) => one.responseEnd - one.startTime));
    return { after: window.paintedAt - answer, took, all: window.paintedAt };
  }, name);
}

async function timed(checks, api, context) {
  const list = `${api.url}/experiments`;
  const chosen = Array.from({ length: 10 }, (_, i) => `run-${String(1 + 50 * i).padStart(4, "0")}`);
  const cases = {
    "1,000 runs as a table": [list, "/experiments", `${table} .rows .line`, 200],
    "1,000 runs in groups": [`${list}?group=${LR}`, "/experiments", `${table} .rows .line`, 200],
    "10 runs over each other": [
      `${api.url}/compare?runs=${chosen.join()}&smooth=0.9`,
      "/metrics",
      ".chart canvas",
      1000,
    ],
    "1,000 runs over each other": [
      `${api.url}/compare?filter=sweep%3Drates`,
      "/curves",
      ".chart canvas",
      1000,
    ],
    "means over seeds of 1,000 runs": [
      `${api.url}/compare?filter=sweep%3Drates&group=~seed`,
      "/curves",
      ".chart canvas",
      1000,
    ],
    "the list of jobs": [`${api.url}/jobs`, "/jobs", "table.jobs tbody tr", 1000],
  };
  for (const [what, [url, part, selector, most]] of Object.entries(cases)) {
    let took = 0;
    const measure = async () => {
      const { page } = await openTab(context, api.url);
      const found = await paintedAfter(page, url, part, selector);
      await page.close();
      took = found.took;
      return found.after;
    };
    await checks.timed(`${what}: painted after its data`, measure, { most });
    console.log(`    the answer took ${Math.round(took)} ms`);
  }
}

/* ---- the table ---- */

async function listed(checks, api, page) {
  await page.goto(`${api.url}/experiments`);
  await shows(page, `${COUNT + 1} runs`);
  const drawn = await rows(page).count();
  checks.that(drawn > 5 && drawn < 80, "only the rows in view are in the document", drawn);
  const heads = await page.locator(`${table} .heads .cell`).allInnerTexts();
  const text = heads.join(" ");
  checks.that(
    /SGD\.lr/.test(text) && /seed/.test(text) && !/hidden_sizes/.test(text),
    "columns are at first what differs",
    text,
  );
  await page.screenshot({ path: join(shots, "experiments-thousand.png") });
  await page.locator(table).evaluate((one) => (one.scrollTop = one.scrollHeight));
  await page.locator(`${table} .run-head >> text=trained`).waitFor({ timeout: 30_000 });
  checks.that(true, "the last run is reached by scrolling");
}

async function sorted(checks, api, page) {
  await page.goto(`${api.url}/experiments?columns=${LR},min(loss)`);
  const head = page.locator(`${table} .heads button.sort`, { hasText: "loss" });
  await head.waitFor({ timeout: 60_000 });
  const asked = await api.get("/experiments?columns=min(loss)&sort=min(loss)");
  await head.click();
  await page.locator(`${table} .heads [aria-sort=ascending]`).waitFor();
  await page.locator(`${table} .rows a >> text="${asked.rows[0].name}"`).waitFor();
  const values = asked.rows.map((row) => row.values[0]);
  checks.that(
    values.every((value, i) => i === 0 || value >= values[i - 1]),
    "the route orders by a figure",
    values.slice(0, 5).join(),
  );
  const shown = await names(page);
  checks.that(
    shown.every((name, i) => name === asked.rows[i].name),
    "and the page shows its order",
    shown.slice(0, 5).join(),
  );
  await head.click();
  await page.locator(`${table} .heads [aria-sort=descending]`).waitFor();
  checks.that(parameter(page, "sort") === "-min(loss)", "the order is in the address", page.url());
}

async function filtered(checks, api, page) {
  await page.goto(`${api.url}/experiments`);
  await shows(page, "runs");
  const field = page.locator("input.filter");
  const wanted = await api.get("/experiments?where=seed%3D2%20team%3Dvision%20lr%3E0.01");
  await field.fill("seed=2 team=vision lr>0.01");
  await shows(page, `${wanted.total} runs`);
  checks.that(
    wanted.total > 10 && wanted.total < COUNT / SEEDS,
    "the filter is the one language of conditions",
    wanted.total,
  );
  await field.fill("seeed=2");
  const fault = page.locator(".banner.warn");
  await fault.waitFor({ timeout: 60_000 });
  const [below, above] = [await fault.boundingBox(), await field.boundingBox()];
  checks.that(
    /no job has "seeed"/.test(await fault.innerText()) && below.y > above.y,
    "an error of the filter is told under it",
    await fault.innerText(),
  );
  await page.screenshot({ path: join(shots, "experiments-fault.png") });
  await field.fill("team=nobody");
  await page.locator("text=No run matches the filter").waitFor({ timeout: 60_000 });
  checks.that(true, "a filter that no run passes is told");
}

/* ---- columns, groups, baseline ---- */

async function columned(checks, api, page) {
  await page.goto(`${api.url}/experiments?filter=run-0001&step=50`);
  await shows(page, "1 run");
  await page.locator("button", { hasText: "Columns" }).click();
  const dialog = page.locator("dialog[open]");
  const offered = await dialog.locator(".column-names").allInnerTexts();
  checks.that(!/hidden_sizes/.test(offered.join()), "what is alike is not offered at first");
  await dialog.locator("label", { hasText: "only what differs" }).click();
  await dialog.locator("label", { hasText: "model.hidden_sizes" }).first().click();
  const loss = dialog.locator(".column-series [aria-label=loss]");
  await loss.locator("button", { hasText: "least" }).click();
  await loss.locator("button", { hasText: "at 50" }).click();
  await page.screenshot({ path: join(shots, "experiments-columns.png") });
  await page.keyboard.press("Escape");
  const columns = (parameter(page, "columns") ?? "").split(",");
  checks.that(
    columns.includes("min(loss)") &&
      columns.includes("at(loss)") &&
      columns.includes("trainer.init.model.hidden_sizes"),
    "columns that are chosen are in the address",
    columns.join(),
  );
  const at = await api.get("/experiments?where=run-0001&columns=at(loss),loss&at_step=50");
  const { series } = await api.get("/jobs/run-0001/metrics?names=loss&from=50&to=50");
  const [value] = at.rows[0].values;
  checks.that(
    alike(value, series[0].value[0]) && series[0].step[0] === 50,
    "at(loss) is the value of its step",
    `${value}, ${JSON.stringify(series)}`,
  );
  const between = await api.get("/experiments?where=run-0001&columns=at(val_loss)&at_step=120");
  const validated = await api.get("/jobs/run-0001/metrics?names=val_loss&from=1&to=120");
  checks.that(
    alike(between.rows[0].values[0], validated.series[0].value.at(-1)),
    "a series without a value of the step has the newest before it",
    JSON.stringify([between.rows, validated.series]),
  );
  const late = await api.get(`/experiments?columns=at(loss)&at_step=${STEPS + 1}`);
  checks.that(
    late.rows.every((row) => row.values[0] === null),
    "a run that has not come so far has none",
  );
  const refused = await fetch(`${api.url}/api/v1/experiments?columns=at(loss)`, api);
  const { detail } = await refused.json();
  checks.that(
    refused.status === 400 && /at_step/.test(detail),
    "at() without a step is refused",
    detail,
  );
}

async function grouped(checks, api, page) {
  await page.goto(`${api.url}/experiments?filter=sweep%3Drates&columns=loss,seed`);
  await shows(page, `${COUNT} runs`);
  await page.locator("label", { hasText: "group by" }).locator("select").selectOption(LR);
  await shows(page, `${COUNT / SEEDS} groups`);
  const { groups } = await api.get(`/experiments?where=sweep%3Drates&columns=loss&group_by=${LR}`);
  const { columns, count, key } = groups[0];
  const own = await api.get(`/experiments?columns=loss&where=${LR}%3D${key[0]}`);
  const values = own.rows.map((row) => row.values[0]);
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  checks.that(
    count === SEEDS &&
      values.length === SEEDS &&
      Math.abs(columns[0].mean - mean) < 1e-9 &&
      columns[0].minimum === Math.min(...values) &&
      columns[0].maximum === Math.max(...values) &&
      columns[0].deviation > 0,
    "a group has mean, deviation, least, largest and count",
    JSON.stringify([groups[0], values]),
  );
  const first = await rows(page).first().innerText();
  checks.that(/±/.test(first) && /…/.test(first) && /5 runs/.test(first), "and shows them", first);
  await page.screenshot({ path: join(shots, "experiments-groups.png") });
  await rows(page).first().locator("button.link").click();
  await shows(page, `${SEEDS} runs`);
  checks.that(parameter(page, "group") === null, "a group opens to its runs", page.url());
}

async function compared(checks, api, page) {
  await page.goto(`${api.url}/experiments?filter=sweep%3Drates&columns=${LR},seed,loss,team`);
  await shows(page, `${COUNT} runs`);
  const pinned = await names(page);
  await rows(page).nth(2).locator("button.icon").click();
  await page.locator(`${table} .baseline`).waitFor({ timeout: 30_000 });
  checks.that(parameter(page, "baseline") === pinned[2], "a baseline is in the address");
  const asked = await api.get(`/experiments?columns=loss&baseline=${pinned[2]}&where=${pinned[0]}`);
  const [row] = asked.rows;
  checks.that(
    alike(row.deltas[0], row.values[0] - asked.baseline.values[0]) && row.deltas[0] !== 0,
    "deltas are of the baseline",
    JSON.stringify(asked),
  );
  const deltas = await rows(page).first().locator(".delta").allInnerTexts();
  checks.that(/[+−]\d/.test(deltas.join()), "and stand below the values", deltas.join());
  for (const i of [0, 1, 5]) await rows(page).nth(i).locator("input[type=checkbox]").click();
  await page.locator(".bulk >> text=3 selected").waitFor();
  await page.screenshot({ path: join(shots, "experiments-baseline.png") });
  const address = page.url();
  await page.reload();
  await page.locator(".bulk >> text=3 selected").waitFor({ timeout: 60_000 });
  checks.that(page.url() === address, "an address shows what it showed");
  await page.locator(".bulk a", { hasText: "compare" }).click();
  await page.waitForURL(/\/compare\?runs=/);
  await page.locator(".chart canvas").first().waitFor({ timeout: 60_000 });
  const chips = await page.locator(".chip").count();
  checks.that(chips === 3, "the runs that are ticked are compared", chips);
}

async function saved(checks, api, page) {
  await page.goto(`${api.url}/experiments?filter=sweep%3Drates&columns=${LR},loss&sort=loss`);
  await shows(page, `${COUNT} runs`);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator("a[download]").click(),
  ]);
  const text = await (await import("node:fs/promises")).readFile(await download.path(), "utf8");
  const lines = text.trimEnd().split("\r\n");
  const { rows: wanted } = await api.get(
    `/experiments?where=sweep%3Drates&columns=${LR},loss&sort=loss`,
  );
  const first = lines[1].split(",");
  checks.that(
    lines.length === COUNT + 1 && lines[0] === `id,name,state,${LR},loss`,
    "the table is saved with all its rows",
    `${lines.length}: ${lines[0]}`,
  );
  checks.that(
    first[0] === wanted[0].id && alike(Number(first[4]), wanted[0].values[1]),
    "in the order and with the digits of the API",
    lines[1],
  );
  const groups = await fetch(
    `${api.url}/api/v1/experiments?columns=loss&group_by=team&format=csv&where=sweep%3Drates`,
    api,
  );
  const [head, ...others] = (await groups.text()).trimEnd().split("\r\n");
  checks.that(
    /^runs,team,mean of loss,deviation of loss/.test(head) && others.length === 3,
    "groups are saved with their figures",
    [head, ...others].join("\n"),
  );
}

/* ---- runs beside each other ---- */

async function besides(checks, api, page) {
  const ids = ["trained", "run-0008", "run-0150"];
  const answer = await api.get(`/comparison?runs=${ids.join()}`);
  const [first, early, late] = answer.runs;
  checks.that(
    first.bits === null &&
      early.bits.same_to === 8 &&
      early.bits.differs_at === 9 &&
      early.bits.differs_in === "states" &&
      late.bits.same_to === 150 &&
      late.bits.differs_at === 151,
    "the step up to which bits are the same",
    JSON.stringify(answer.runs),
  );
  const lr = answer.settings.find((one) => one.path === LR);
  const labels = answer.settings.find((one) => /job_labels/.test(one.path));
  checks.that(
    lr?.changes_bits && lr.values.length === 3 && !(labels?.changes_bits ?? false),
    "the learning rate can change the bits, labels cannot",
    JSON.stringify(answer.settings),
  );
  const itself = await api.get("/comparison?runs=trained,trained");
  checks.that(
    itself.runs[1].bits.same_to === STEPS && itself.settings.length === 0,
    "a run is the same as itself",
    JSON.stringify(itself),
  );
  await page.goto(`${api.url}/compare?runs=${ids.join()}`);
  await page.locator(`.differences [data-path="${LR}"] .effect`).waitFor({ timeout: 60_000 });
  const effect = page.locator(`.differences [data-path="${LR}"] .effect`);
  checks.that(/changes the bits/.test(await effect.innerText()), "the page says so");
  const bits = await page.locator('.bits [data-run="run-0150"]').innerText();
  checks.that(
    /same bits to step 150; step 151 differs, with the same samples/.test(bits),
    "and up to which step",
    bits,
  );
  await curved(checks, page);
}

/* ---- settings and figures as axes ---- */

const placed = (page, selector) => page.locator(`.explore ${selector}`);

/* A drag along an axis, from one share of its height to another, from below. */
async function drag(page, axis, from, to) {
  const area = placed(page, `[data-axis="${axis}"] .axis-area`);
  await area.scrollIntoViewIfNeeded();
  const box = await area.boundingBox();
  const y = (share) => box.y + 8 + (box.height - 16) * (1 - share);
  await page.mouse.move(box.x + box.width / 2, y(from));
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, y((from + to) / 2), { steps: 4 });
  await page.mouse.move(box.x + box.width / 2, y(to), { steps: 4 });
  await page.mouse.up();
}

const passing = (page, text) =>
  page.locator(".explore [role=status]", { hasText: text }).waitFor({ timeout: 30_000 });

async function explored(checks, api, page) {
  const ids = Array.from({ length: 40 }, (_, i) => `run-${String(1 + 25 * i).padStart(4, "0")}`);
  const columns = [LR, "min(val_loss)"];
  const { rows: wanted } = await api.get(`/experiments?runs=${ids.join()}&columns=${columns}`);
  checks.that(wanted.length === ids.length, "runs are asked for by their ids", wanted.length);
  const missing = await fetch(`${api.url}/api/v1/experiments?runs=nobody`, api);
  checks.that(missing.status === 404, "a run that is not there is told", missing.status);
  await page.goto(`${api.url}/compare?runs=${ids.join()}`);
  await placed(page, "svg.parallel path.run").first().waitFor({ timeout: 60_000 });
  await passing(page, "40 of 40");
  const lines = await placed(page, "path.run").count();
  checks.that(lines === ids.length, "each run is a line across the axes", lines);
  await placed(page, ".importance li").first().waitFor({ timeout: 60_000 });
  const first = await placed(page, ".importance li").first().getAttribute("data-setting");
  checks.that(first === LR, "the loss depends on the learning rate first", first);
  const text = await placed(page, ".importance").innerText();
  checks.that(
    /random forest/.test(text) && /fixed seed/.test(text),
    "the method is in words",
    text,
  );
  await fronted(checks, page, wanted);
  await brushed(checks, page, wanted);
}

/* No run is below and to the left of one of the front. */
async function fronted(checks, page, wanted) {
  const better = (a, b) => a[0] <= b[0] && a[1] <= b[1] && (a[0] < b[0] || a[1] < b[1]);
  const front = wanted
    .filter((one) => !wanted.some((other) => better(other.values, one.values)))
    .map((one) => one.id);
  const shown = await placed(page, "circle.front").evaluateAll((all) =>
    all.map((one) => one.dataset.run),
  );
  checks.that(
    shown.sort().join() === front.sort().join(),
    "the front of learning rate and loss",
    `${shown}\n${front}`,
  );
}

async function brushed(checks, page, wanted) {
  await page.screenshot({ path: join(shots, "compare-explore.png"), fullPage: true });
  await drag(page, "min(val_loss)", -0.02, 0.4);
  await page.waitForURL(/limits=/);
  const rows = await placed(page, ".passing tbody tr").count();
  const losses = wanted.map((one) => one.values[1]).sort((a, b) => a - b);
  const limit = losses[0] + 0.4 * (losses.at(-1) - losses[0]);
  const below = losses.filter((one) => one < limit).length;
  checks.that(
    rows > 0 && rows < wanted.length && Math.abs(rows - below) <= 2,
    "a range keeps the runs in it in the table",
    `${rows} rows, about ${below} below ${limit}`,
  );
  const out = await placed(page, "path.run.out").count();
  checks.that(out === wanted.length - rows, "and their lines", out);
  await page.waitForFunction(
    (count) =>
      document.querySelectorAll(".chips .chip.off").length === count &&
      document.querySelector(".chart .canvas"),
    out,
    { timeout: 30_000 },
  );
  checks.that(true, "and their curves");
  const address = page.url();
  await page.reload();
  await passing(page, `${rows} of ${wanted.length}`);
  checks.that(page.url() === address, "a range is in the address");
  await placed(page, "summary", { hasText: "Ranges" }).first().click();
  const field = page.getByLabel("val_loss, least: to");
  await field.fill("");
  await field.press("Tab");
  await passing(page, `${wanted.length} of ${wanted.length}`);
  checks.that(true, "a range that is emptied by the keyboard is no range");
}

async function curved(checks, page) {
  const canvas = page.locator(".chart .canvas").first();
  await page.locator(".chart canvas").first().waitFor({ timeout: 60_000 });
  const label = () => canvas.getAttribute("aria-label");
  checks.that(/run-0008 val_loss/.test(await label()), "validation is in the chart", await label());
  await page.locator(".chip button", { hasText: "run-0008" }).click();
  await page.waitForURL(/hidden=run-0008/);
  await page.waitForFunction(
    () => !/run-0008/.test(document.querySelector(".chart .canvas").getAttribute("aria-label")),
  );
  checks.that(true, "a run is hidden by a click");
  await page.locator(".chip button", { hasText: "run-0008" }).click();
  await page.locator("button", { hasText: "Series" }).click();
  await page.locator("dialog label", { hasText: /^val_accuracy$/ }).click();
  await page.keyboard.press("Escape");
  await page.locator(".chart .title >> text=val_accuracy").waitFor({ timeout: 60_000 });
  await page.locator("button", { hasText: /^log$/ }).click();
  await page.locator("button", { hasText: /^samples$/ }).click();
  await page.locator("input[type=range]").focus();
  for (let i = 0; i < 20; i++) await page.keyboard.press("ArrowRight");
  await page.waitForURL(/smooth=0\.4/);
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(shots, "compare-smooth.png") });
  const box = await page.locator(".chart .u-over").first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 60);
  await page.waitForTimeout(300);
  const captions = await page.locator(".chart .cursor").allInnerTexts();
  checks.that(/samples /.test(captions[1] ?? ""), "cursors move together", captions.join(" | "));
  await page.screenshot({ path: join(shots, "compare-curves.png") });
  await page.locator(".bits").scrollIntoViewIfNeeded();
  await page.screenshot({ path: join(shots, "compare-bits.png") });
}

/* From the table in groups to their means as curves: each against the runs' own points. */
async function banded(checks, api, page) {
  await page.goto(`${api.url}/experiments?filter=sweep%3Drates&group=${LR}&columns=loss`);
  await shows(page, `${COUNT / SEEDS} groups`);
  await page.locator("header a.button", { hasText: "Compare" }).click();
  await page.waitForURL(/\/compare\?filter=.*group=/);
  await page.locator(".chart canvas").first().waitFor({ timeout: 60_000 });
  const said = await note(page);
  checks.that(/200 groups of 1,?000 runs/.test(said), "all runs of the filter, in groups", said);
  const ask = `/curves?where=sweep%3Drates&names=loss&group_by=${LR}`;
  const { lines, series, width } = await api.get(ask);
  const [first] = lines;
  const own = await Promise.all(
    first.runs.map((id) => api.get(`/jobs/${id}/metrics?names=loss&max_points=1000`)),
  );
  const at = 1;
  const [from, to] = [at * width + 1, (at + 1) * width];
  const means = own.map(({ series: [{ step, value }] }) => {
    const inside = value.filter((_, i) => step[i] >= from && step[i] <= to);
    return inside.reduce((sum, one) => sum + one, 0) / inside.length;
  });
  const mean = means.reduce((sum, one) => sum + one, 0) / means.length;
  const squares = means.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / (means.length - 1));
  const found = series[0].lines[0];
  checks.that(
    first.runs.length === SEEDS &&
      Math.abs(found.mean[at] - mean) < 1e-9 &&
      Math.abs(found.deviation[at] - deviation) < 1e-9 &&
      found.count[at] === SEEDS,
    "a line is the mean over its runs, with their deviation",
    JSON.stringify([found.mean[at], mean, found.deviation[at], deviation]),
  );
  await page.goto(`${api.url}/compare?runs=run-0001,run-0002,run-0003,run-0006&group=~seed`);
  await page.locator(".chips .chip").first().waitFor({ timeout: 60_000 });
  const chips = await page.locator(".chips .chip").allInnerTexts();
  checks.that(chips.length === 2, "all but the seed: two learning rates", chips.join(" | "));
  const label = await page.locator(".chart .canvas").first().getAttribute("aria-label");
  checks.that(/\(3 runs\)/.test(label) && /\(1 run\)/.test(label), "n is said", label);
  await page.screenshot({ path: join(shots, "compare-seeds.png") });
}

async function phone(checks, api, context) {
  const { page } = await openTab(context, api.url);
  await page.setViewportSize({ width: 390, height: 844 });
  for (const [name, path] of Object.entries({
    experiments: "experiments?columns=loss,seed,team&baseline=run-0003",
    groups: `experiments?group=${LR}&columns=loss,val_loss`,
    compare: "compare?runs=trained,run-0008,run-0150",
  })) {
    await page.goto(`${api.url}/${path}`);
    await page.locator(`${table} .rows .line, .differences tbody tr`).first().waitFor();
    await page.waitForTimeout(300);
    const wide = await page.evaluate(() => {
      const all = [document.documentElement, ...document.querySelectorAll("main, .virtual")];
      return all.map((one) => one.scrollWidth - one.clientWidth).join();
    });
    checks.that(/^(0|,)*$/.test(wide), `${name}: nothing scrolls sideways on a phone`, wide);
    await page.screenshot({ path: join(shots, `${name}-thousand-390.png`) });
  }
  await page.close();
}

/* Tab reaches what the table and the curves are used with. */
async function keyboard(checks, api, page) {
  await page.goto(`${api.url}/experiments?columns=loss`);
  await shows(page, "runs");
  const seen = new Set();
  for (let i = 0; i < 45; i++) {
    await page.keyboard.press("Tab");
    seen.add(
      await page.evaluate(() => {
        const one = document.activeElement;
        return one.getAttribute("aria-label") ?? one.textContent.trim();
      }),
    );
  }
  const all = [...seen].join(" | ");
  for (const one of [/Filter runs/, /Columns/, /comma-separated/, /loss/, /Select run-1000/])
    checks.that(one.test(all), `the Tab key reaches ${one}`, all);
}

mkdirSync(shots, { recursive: true });
const checks = new Checks();
const began = Date.now();
await makeRoot();
console.log(`a root of ${COUNT} runs: made in ${Date.now() - began} ms`);
const { server, url, token } = await startServer({ csengine, dist, directory });
const api = new Api(url, token);
const { context, close } = await openBrowser({ acceptDownloads: true });
let tab;
try {
  await (await context.newPage()).goto(`${url}/jobs?token=${token}`);
  tab = await openTab(context, url);
  for (const one of [
    listed,
    sorted,
    filtered,
    columned,
    grouped,
    compared,
    saved,
    besides,
    explored,
    banded,
    keyboard,
  ])
    await one(checks, api, tab.page);
  await phone(checks, api, context);
  await timed(checks, api, context);
  const faults = tab.faults.filter((one) => !/status of 400.*where=/.test(one));
  checks.that(faults.length === 0, "silent console", faults.join("\n"));
} catch (error) {
  await tellFailure(checks, error, tab);
}
await close();
await endAll(api, server);
checks.end();
