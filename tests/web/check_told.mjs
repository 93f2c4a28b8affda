/* What pages say of runs that ended, were copied, started again or lost their server, against the
 * store and the API, over real runs in a real browser.
 *
 * Usage: node check_told.mjs CSENGINE DIST SCREENSHOTS DIRECTORY [CASE...] */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { openBrowser, openTab, write } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { Api, endAll, startServer, succeeded, tellFailure, until } from "./real_server.mjs";

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
    restart_policy: { max_num_restarts: 0 },
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

/* ---- health ---- */

const badges = (scope) =>
  scope
    .locator("[data-says=health]")
    .evaluateAll((all) => all.map((one) => one.dataset.value).sort());

const rowOf = (page, id) =>
  page.locator("tr", { has: page.locator(`a[href*="/jobs/${id}/pulse"]`) });

const kindsOf = (job) => job.health.map((one) => one.kind).sort();

async function saysHealth(checks, api, page, id, wanted) {
  const job = await api.job(id);
  checks.that(
    wanted.every((kind) => kindsOf(job).includes(kind)),
    `${id}: the API says ${wanted}`,
    JSON.stringify(job.health),
  );
  await page.goto(`${api.url}/jobs/${id}/pulse`);
  await page.locator("dl.tiles").waitFor({ timeout: 60_000 });
  await page.locator(".topbar [data-says=health]").first().waitFor({ timeout: 60_000 });
  const said = await badges(page.locator(".topbar"));
  checks.that(isDeepStrictEqual(said, kindsOf(job)), `${id}: the bar says the same`, said.join());
  await page.goto(`${api.url}/jobs`);
  await rowOf(page, id).locator("[data-says=health]").first().waitFor({ timeout: 60_000 });
  const listed = await badges(rowOf(page, id));
  checks.that(isDeepStrictEqual(listed, kindsOf(job)), `${id}: and the list`, listed.join());
  for (const kind of wanted) {
    const found = await api.get(`/jobs?health=${kind}`);
    checks.that(
      found.jobs.some((one) => one.id === id) && found.total === found.jobs.length,
      `${id}: found by its health, ${kind}`,
    );
  }
}

async function diverged(checks, api, page) {
  const id = "diverged";
  await api.submit(id, config({ lr: "100", loop: "num_steps: 8, diverged_factor: 0" }));
  await succeeded(api, id);
  const { progress } = await api.job(id);
  checks.that(progress.loss > 1e6, "the loss has risen, and is finite", progress.loss);
  await saysHealth(checks, api, page, id, ["diverged"]);
  await page.goto(`${api.url}/jobs/${id}/pulse`);
  await page.locator(".findings a >> text=/^diverged: the loss is/").waitFor({ timeout: 30_000 });
  checks.that(true, "a diverged run stands out");
  const healthy = await api.get("/jobs?health=diverged");
  checks.that(
    healthy.jobs.every((one) => one.id === id),
    "a run that trains well has not diverged",
    healthy.jobs.map((one) => one.id).join(),
  );
}

/* ---- numbers ---- */

const LOSS_SCALE =
  "    precision: {fp16_type: float16, loss_scaling_factor: dynamic, " +
  "initial_loss_scale: 100000000, max_loss_scale: 1000000000}\n";

/* The first bad numbers lie further back than the newest statistics. */
async function overflowed(checks, api, page) {
  const id = "overflowed";
  const init = `${LOSS_SCALE}    numerics: {every: 1}\n`;
  await api.submit(id, config({ loop: "num_steps: 300", init }));
  await succeeded(api, id);
  await saysHealth(checks, api, page, id, ["overflowed"]);
  await page.goto(`${api.url}/jobs/${id}/pulse`);
  const first = page.locator(".findings a >> text=/the first in the order of execution/");
  await first.waitFor({ timeout: 30_000 });
  const { records } = await api.get(`/jobs/${id}/numerics?bad=true&limit=1`);
  checks.that(
    records[0].step < 100 && (await first.innerText()).includes(`at step ${records[0].step}`),
    "what stands out names the first step that overflowed",
    await first.innerText(),
  );
  checks.that(
    !/no number overflows/.test(await page.locator(".findings").innerText()),
    "and does not say that none did",
  );
  await page.screenshot({ path: join(shots, "told-overflowed.png") });
}

/* Each NaN counts, however many follow each other. */
async function skipped(checks, api, page) {
  const id = "skipped";
  await api.submit(id, config({ init: LOSS_SCALE }));
  await succeeded(api, id);
  const { series } = await api.get(`/jobs/${id}/metrics?names=skipped_steps`);
  const count = series.at(-1)?.value.at(-1) ?? 0;
  checks.that(count > 3, "the store counts skipped steps", count);
  const norms = (await api.get(`/jobs/${id}/metrics?names=grad_norm`)).series[0].value;
  const bad = norms.filter((one) => one === null).length;
  checks.that(bad === count, "each of them is in the store, though they are all NaN", norms.join());
  await page.goto(`${api.url}/jobs/${id}/pulse`);
  const said = page.locator("[data-says=skipped-steps]");
  await said.waitFor({ timeout: 60_000 });
  checks.that(
    Number(await said.getAttribute("data-value")) === count,
    "the page says how many steps were skipped",
    await said.innerText(),
  );
}

/* ---- time ---- */

const valueOf = async (page, what) =>
  Number(
    await page.locator(`.page [data-says=${what}]`).first().getAttribute("data-value", {
      timeout: 60_000,
    }),
  );

async function wentOn(checks, api, page) {
  const id = "went-on";
  await api.submit(id, config({ loop: "num_steps: 1000000", init: "" }));
  await until("steps", async () => ((await api.job(id)).progress.step ?? 0) > 3000);
  await api.order(id, "cancel");
  await until("the first end", async () => !(await api.job(id)).alive);
  const gap_ms = 4000;
  await new Promise((done) => setTimeout(done, gap_ms));
  await page.goto(`${api.url}/jobs/${id}/pulse`);
  await page.locator("button[data-command=resume]").click();
  const from = page.locator("[data-says=resume-from]");
  const { checkpoints } = await api.get(`/jobs/${id}/checkpoints`);
  const newest = Math.max(...checkpoints.map((one) => one.step));
  await page.locator(`[data-says=resume-from][data-value="${newest}"]`).waitFor();
  checks.that(/goes on from its checkpoint/.test(await from.innerText()), "resume says from where");
  await page.locator("dialog button.primary").click();
  await until("another step", async () => {
    const job = await api.job(id);
    return job.attempt === 2 && job.state === "RUNNING" && job.progress.loss !== null;
  });
  await api.order(id, "cancel");
  await until("the second end", async () => !(await api.job(id)).alive);
  const job = await api.job(id);
  const { attempts } = await api.get(`/jobs/${id}/goodput`);
  const ran = attempts.reduce((sum, one) => sum + one.elapsed_ms, 0);
  checks.that(
    attempts.length === 2 && job.ran_ms === ran && job.ended_ms - job.started_ms > 0,
    "the time that it ran is that of its attempts",
    JSON.stringify([job.ran_ms, attempts.map((one) => one.elapsed_ms)]),
  );
  await page.goto(`${api.url}/jobs/${id}/pulse`);
  checks.that((await valueOf(page, "ran")) === ran, "and the page says that");
  const bins = ["compute", "input", "update", "communication", "save", "idle"];
  const taken = attempts
    .flatMap((one) => one.bins)
    .filter((bin) => bins.includes(bin.name))
    .reduce((sum, bin) => sum + bin.milliseconds, 0);
  const mean = (job.progress.step * 64 * 1000) / taken;
  const said = await valueOf(page, "mean-samples-per-second");
  checks.that(
    Math.abs(said - mean) <= 1e-6 * mean,
    "the rate of an ended run is its mean",
    `${said}, ${mean}`,
  );
  await page.screenshot({ path: join(shots, "told-went-on.png") });
}

/* ---- filters ---- */

/* What `csengine get jobs --where` prints. */
const listedBy = (where) => {
  const words = ["get", "jobs", "--server", join(directory, "root"), "--json", "--where", where];
  const { status, stdout, stderr } = spawnSync(csengine, words, { encoding: "utf8" });
  return status === 0 ? JSON.parse(stdout).jobs.map((one) => one.id) : stderr;
};

/* The same runs as a table: what differs, and figures over both. */
async function tabled(checks, api) {
  const all = await api.get("/experiments?where=sweep%3Drates");
  const paths = all.columns.filter((name) => name.startsWith("trainer."));
  checks.that(
    all.total === 2 && paths.includes("trainer.init.optimizer.SGD.lr"),
    "a table of runs has the settings that differ",
    all.columns.join(),
  );
  checks.that(
    paths.every((path) => /SGD\.lr$|job_labels/.test(path)),
    "and no others",
    paths.join(),
  );
  const ask = "where=sweep%3Drates&columns=optimizer.SGD.lr,val_loss,fold&group_by=sweep";
  const { rows, groups } = await api.get(`/experiments?${ask}`);
  const rates = rows.map((row) => row.values[0]);
  checks.that(isDeepStrictEqual(rates.sort(), [0.001, 0.5]), "with their values", rates.join());
  const losses = rows.map((row) => row.values[1]);
  const mean = (losses[0] + losses[1]) / 2;
  const deviation = Math.sqrt(losses.reduce((sum, one) => sum + (one - mean) ** 2, 0));
  const { count, key, columns } = groups[0];
  const close = (a, b) => Math.abs(a - b) <= 1e-9 * Math.abs(b);
  checks.that(
    groups.length === 1 &&
      key[0] === "rates" &&
      count === 2 &&
      close(columns[1].mean, mean) &&
      close(columns[1].deviation, deviation) &&
      columns[1].minimum === Math.min(...losses) &&
      columns[1].maximum === Math.max(...losses) &&
      columns[1].count === 2,
    "and mean, deviation, least and largest over a group",
    JSON.stringify(groups),
  );
}

async function filtered(checks, api, page) {
  for (const [id, lr] of Object.entries({ small: "0.001", large: "0.5" })) {
    const asked = { labels: { sweep: "rates", fold: id === "small" ? "1" : "2" } };
    await api.submit(id, config({ lr, validation: 256 }), asked);
    await succeeded(api, id);
  }
  const wanted = {
    "sweep=rates": ["large", "small"],
    "sweep=rates lr<0.01": ["small"],
    "sweep=rates optimizer.SGD.lr>=0.5": ["large"],
    "sweep=rates fold>1": ["large"],
    "sweep=rates state=FAILED": [],
    "sweep=rates (max(val_loss)>0 and val_loss<100)": ["large", "small"],
    "sweep=rates not lr=0.5": ["small"],
  };
  for (const [where, ids] of Object.entries(wanted)) {
    await page.goto(`${api.url}/jobs?filter=${encodeURIComponent(where)}`);
    const shows = `text=/^${ids.length}( of |$)/`;
    await page.locator(`header .soft >> ${shows}`).waitFor({ timeout: 60_000 });
    const rows = await page.locator("table.jobs td.col-name a.strong").allInnerTexts();
    checks.that(isDeepStrictEqual(rows.sort(), ids), `filtered by ${where}`, rows.join());
    const listed = listedBy(where);
    checks.that(
      isDeepStrictEqual([...listed].sort(), ids),
      `and on the command line, ${where}`,
      String(listed),
    );
  }
  await tabled(checks, api);
  await page.goto(`${api.url}/jobs`);
  await page.locator("table.jobs").waitFor();
  const faults = page.locator(".banner.warn");
  await page.locator("input.filter").fill("val_acuracy>0.8");
  await faults.waitFor({ timeout: 60_000 });
  checks.that(
    /no job has "val_acuracy"/.test(await faults.innerText()),
    "a name that no job has is told",
    await faults.innerText(),
  );
  await page.screenshot({ path: join(shots, "told-filter.png") });
  await page.locator("input.filter").fill("");
  await faults.waitFor({ state: "detached", timeout: 60_000 });
  checks.that(/no job has "val_acuracy"/.test(listedBy("val_acuracy>0.8")), "and by the command");
}

/* ---- an address shows what it showed ---- */

async function zoomed(checks, api, page) {
  const id = "zoomed";
  await api.submit(id, config({ loop: "num_steps: 200" }));
  await succeeded(api, id);
  await page.goto(`${api.url}/jobs/${id}/curves`);
  const over = (name) =>
    page.locator("figure", { has: page.locator(`.title >> text="${name}"`) }).locator(".u-over");
  await over("lr/0").waitFor({ timeout: 60_000 });
  await page.waitForTimeout(500);
  const box = await over("loss").boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 40, { steps: 8 });
  await page.mouse.up();
  await page.waitForURL(/zoom=/, { timeout: 30_000 });
  const [from, to] = new URL(page.url()).searchParams.get("zoom").split("~").map(Number);
  checks.that(from > 30 && to < 120 && to > from, "the zoom is in the address", page.url());
  const all = page.locator("figure >> text=show all");
  await all.nth(1).waitFor({ timeout: 30_000 });
  checks.that((await all.count()) > 1, "and all charts have it", await all.count());
  await page.reload();
  await all.nth(1).waitFor({ timeout: 60_000 });
  await page.waitForTimeout(600);
  const kept = new URL(page.url()).searchParams.get("zoom").split("~").map(Number);
  checks.that(
    kept[0] === from && kept[1] === to,
    "which opens as it was left",
    `${kept} for ${[from, to]}`,
  );
  await page.screenshot({ path: join(shots, "told-zoom.png") });
  await all.first().click();
  await page.waitForURL((url) => !url.searchParams.has("zoom"), { timeout: 30_000 });
  checks.that(true, "and all is shown again");
}

/* ---- small truths ---- */

/* A run that failed at a step that is not finite: what was done is what is said to be saved. */
async function failed(checks, api, page) {
  const id = "failed";
  await api.submit(id, config({ lr: "1000000", loop: "num_steps: 300" }));
  await until("its end", async () => (await api.job(id)).state === "FAILED");
  const job = await api.job(id);
  const saved = Number(/all (\d+) steps that were done are saved/.exec(job.message)?.[1]);
  checks.that(saved === job.progress.step, "the last step is the last that was saved", job.message);
  const { series } = await api.get(`/jobs/${id}/metrics?names=loss&max_points=1000`);
  checks.that(
    series[0].step.at(-1) === saved && series[0].value.includes(null),
    "and its loss is in the store, though it is no number",
    series[0].step.join(),
  );
  await saysHealth(checks, api, page, id, ["diverged"]);
  await page.goto(`${api.url}/jobs/${id}/closures`);
  const { closures } = await api.get(`/jobs/${id}/closures?limit=1000`);
  const recorded = page.locator(".tile", { hasText: "Recorded" }).locator(".value");
  await recorded.waitFor({ timeout: 60_000 });
  checks.that(
    Number(await recorded.innerText()) === closures.length,
    "each closure that was recorded is counted, and called that",
    `${await recorded.innerText()} of ${closures.length}`,
  );
  for (const name of ["samples", "data", "checkpoints", "numerics", "timeline", "topology"]) {
    await page.goto(`${api.url}/jobs/${id}/${name}`);
    await page.locator(".page header h1").waitFor({ timeout: 60_000 });
    await page.waitForTimeout(500);
    const shown = await page.locator(".page").innerText();
    checks.that(!/ yet\b/.test(shown), `${name}: nothing of an ended run is still to come`, shown);
  }
}

const MISSING_DATA = `trainer:
  init:
    backend: {compile_dir: ${join(directory, "compiled")}}
    model: {name: fc_mnist, input_size: 784, hidden_sizes: [32], num_classes: 10}
    optimizer: {SGD: {lr: 0.01}}
    loop: {num_epochs: 8}
  fit:
    train_dataloader:
      data_processor: idx_images
      data_dir: ${join(directory, "root", "nowhere")}
      batch_size: 64
      micro_batch_size: 16
`;

async function missing(checks, api, page) {
  await page.goto(`${api.url}/jobs/no-such-job/pulse`);
  await page.locator(".page >> text=there is no job").waitFor({ timeout: 60_000 });
  const links = await page.locator('.rail a[href*="no-such-job"]').count();
  checks.that(links === 0, "a job that is not there has no links to its pages", links);
  const answer = await fetch(`${api.url}/api/v1/config:validate`, {
    method: "POST",
    headers: { ...api.headers, "Content-Type": "application/json" },
    body: JSON.stringify({ config: MISSING_DATA }),
  });
  const { diagnostics, warnings } = await answer.json();
  const told = [...diagnostics, ...warnings].map((one) => one.message).join("\n");
  checks.that(
    !/2147483647/.test(told) && /nowhere/.test(told),
    "data that are missing are said to be missing",
    told,
  );
  await page.goto(`${api.url}/submit`);
  await write(page, MISSING_DATA);
  const faults = page.locator("#diagnostics >> text=/nowhere/");
  const shown = await faults.waitFor({ timeout: 30_000 }).then(
    () => true,
    () => false,
  );
  checks.that(shown, "and the page says so");
  await page.goto(`${api.url}/cluster`);
  await page.locator("h2 >> text=Orders").waitFor({ timeout: 60_000 });
  const orders = await page.locator("section", { hasText: "Orders" }).last().innerText();
  checks.that(!/\/api\/v1/.test(orders), "orders are said in words", orders);
}

/* ---- a server that is gone ---- */

async function silent(checks, api, page) {
  const place = join(directory, "gone");
  const other = await startServer({ csengine, dist, directory: place });
  const its = new Api(other.url, other.token);
  await its.submit("ended", config({}).replaceAll(directory, place));
  await succeeded(its, "ended");
  const signsIn = await page.context().newPage();
  await signsIn.goto(`${other.url}/jobs?token=${other.token}`);
  const pages = [
    "jobs",
    "cluster",
    "submit",
    "jobs/ended/pulse",
    "jobs/ended/config",
    "experiments",
    "compare?runs=ended",
  ];
  const tabs = [];
  await signsIn.close();
  for (const path of pages) {
    const tab = await page.context().newPage();
    await tab.goto(`${other.url}/${path}`);
    await tab.locator("header h1, .tiles").first().waitFor({ timeout: 60_000 });
    tabs.push(tab);
  }
  const shown = await tabs[0].locator("[data-says=known-since]").count();
  checks.that(shown === 0, "a server that answers is not said to be silent");
  const killed_ms = Date.now();
  other.server.removeAllListeners("exit");
  other.server.kill("SIGKILL");
  for (const [i, tab] of tabs.entries()) {
    await tab.bringToFront();
    const said = tab.locator("[data-says=known-since]");
    const there = await said.waitFor({ timeout: 30_000 }).then(
      () => true,
      () => false,
    );
    const since_ms = there ? Number(await said.getAttribute("data-value")) : NaN;
    checks.that(
      since_ms <= killed_ms + 1000 && since_ms > killed_ms - 15_000,
      `${pages[i]}: says since when it knows`,
      `${since_ms}, killed at ${killed_ms}`,
    );
  }
  const [line, table] = [
    await tabs[0].locator(".stale").boundingBox(),
    await tabs[0].locator("table.jobs").boundingBox(),
  ];
  checks.that(
    line.height < 100 && table.width > 500 && table.y < 250,
    "the line leaves the page its room",
    JSON.stringify([line, table]),
  );
  await tabs[0].screenshot({ path: join(shots, "told-silent.png") });
  for (const tab of tabs) await tab.close();
}

const CASES = {
  cloned,
  diverged,
  overflowed,
  skipped,
  wentOn,
  filtered,
  zoomed,
  failed,
  missing,
  silent,
};

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
  /* A refused filter and a missing job are answers that the browser notes as well. */
  const faults = tab.faults.filter(
    (one) =>
      !/status of 400.*where=|status of 404.*(no-such-job|\/(samples|confusion|validation)\))/.test(
        one,
      ),
  );
  checks.that(faults.length === 0, "silent console", faults.join("\n"));
} catch (error) {
  await tellFailure(checks, error, tab);
}
await close();
await endAll(api, server);
checks.end();
