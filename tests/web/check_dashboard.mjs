/* The pages over the real server and a real training run: a configuration with faults and then a
 * good one are submitted, live points arrive, pause, resume, checkpoint and cancel are clicked and
 * take effect in the run, and every page then shows what the ended run left. A checkpoint is
 * downloaded, and another job started from it; two are compared. A second server wants a token.
 *
 * Usage: node check_dashboard.mjs CSENGINE DIST SCREENSHOTS DIRECTORY */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab, write } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { measureLatency } from "./latency.mjs";

const [csengine, dist, shots, directory] = process.argv.slice(2);

const config = (setting, rate = "lr: 0.01") => `trainer:
  init:
    backend:
      cluster_config: {num_csx: 2, num_workers_per_csx: 1}
    model: {name: fc_mnist, input_size: 256, hidden_sizes: [256], num_classes: 4}
    optimizer:
      SGD: {${rate}}
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

let token = ""; // of the server that has made one

function startServer(name, ...more) {
  const root = join(directory, name);
  mkdirSync(root, { recursive: true });
  const server = spawn(
    csengine,
    ["serve", "--root", root, "--listen", "127.0.0.1:0", "--web_dir", dist, ...more],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const url = new Promise((resolve, reject) => {
    let text = "";
    server.stdout.on("data", (part) => {
      text += part;
      const found = /(http:\/\/[^\s/]+)(?:\/\?token=(\S+))?\n/.exec(text);
      if (found?.[2]) token = found[2];
      if (found) resolve(found[1]);
    });
    server.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
  });
  return { server, url };
}

const authorization = () => ({ Authorization: `Bearer ${token}` });

const ask = async (url, path) =>
  (await fetch(`${url}/api/v1${path}`, { headers: authorization() })).json();

const order = (url, id, command) =>
  fetch(`${url}/api/v1/jobs/${id}/${command}`, { method: "POST", headers: authorization() });

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

/* Every shipped configuration passes the check, and what is completed is what the tables have. */
async function templates(checks, page, url) {
  const { templates: all } = await ask(url, "/templates");
  const pick = page.locator("main header select");
  await page.locator(".editor .cm-content").waitFor({ timeout: 30_000 });
  checks.that(all.length >= 5, "the shipped configurations are templates", all.length);
  for (const { name } of all) {
    await pick.selectOption(name);
    await page.waitForResponse((answer) => answer.url().endsWith("config:validate"));
    const state = page.locator(".check.valid, .check.faulty");
    await state.waitFor({ timeout: 30_000 });
    const text = await page.locator(".faults, .banner").innerText();
    checks.that(/No fault/.test(text), `the template ${name} passes the check`, text);
  }
  await write(page, "trainer:\n  init:\n    optimizer:\n      ");
  await page.keyboard.press("Control+Space");
  const list = page.locator(".cm-tooltip-autocomplete li");
  await list.first().waitFor({ timeout: 30_000 });
  const names = (await list.allInnerTexts()).join(" ");
  checks.that(/AdamW/.test(names) && /SGD/.test(names), "optimizers are completed", names);
  await page.screenshot({ path: join(shots, "real-completion.png") });
  await page.keyboard.press("Escape");
}

async function submit(checks, page, url) {
  await page.goto(`${url}/submit`);
  await templates(checks, page, url);
  await write(page, config("num_stepz"));
  const faulty = page.locator(".cm-faulty", { hasText: "num_stepz" });
  await faulty.waitFor({ timeout: 30_000 });
  const line = await faulty.innerText();
  checks.that(/num_stepz/.test(line), "the fault stands at the line that has it", line);
  checks.that(
    /line 8, column \d+/.test(await page.locator(".faults").innerText()),
    "the list of faults names line and column",
  );
  await page.screenshot({ path: join(shots, "real-submit-fault.png") });
  await write(page, config("num_stepz", "lr: much, momentom: 0"));
  const marked = page.locator(".cm-faulty");
  await until("both lines are marked", async () => (await marked.count()) === 2);
  checks.that(
    /much/.test(await marked.nth(0).innerText()) &&
      /num_stepz/.test(await marked.nth(1).innerText()),
    "every line with a fault is marked",
  );
  checks.that(
    (await page.locator(".faults").innerText()).match(/line \d+, column \d+/g).length === 3,
    "each fault is in the list, two of one line as well",
  );
  await write(page, config("num_steps"));
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
  await page.locator("button[data-command=checkpoint]").click();
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
  await page.locator("button[data-command=pause]").click();
  await badge(page, "paused");
  const step = await until("the run stands", async () => {
    const a = (await job()).progress.step;
    await new Promise((done) => setTimeout(done, 300));
    return a === (await job()).progress.step && a;
  });
  checks.that(step > 0, "paused: the step stands still");
  await page.locator("button[data-command=resume]").click();
  await badge(page, "running");
  await until("the run goes on", async () => (await job()).progress.step > step);
  checks.that(true, "resumed: the step goes on");
}

async function download(checks, page, url, id) {
  const [one] = (await ask(url, `/jobs/${id}/checkpoints`)).checkpoints;
  const { model_dir } = await ask(url, `/jobs/${id}`);
  const path = one.path.startsWith("/") ? one.path : join(model_dir, one.path);
  await page.goto(`${url}/jobs/${id}/checkpoints`);
  const link = page.locator(`a[download][href*="/checkpoints/${one.step}/file"]`);
  await link.waitFor({ timeout: 30_000 });
  const arriving = page.waitForEvent("download", { timeout: 60_000 });
  await link.click();
  const file = await (await arriving).path();
  checks.that(
    readFileSync(file).equals(readFileSync(path)),
    "a downloaded checkpoint has the bytes of the file",
  );
  return one.step;
}

/* The new job takes its first step behind the checkpoint, and stands beside the old one. */
async function startFromHere(checks, page, url, id, step) {
  await page.goto(`${url}/jobs/${id}/checkpoints`);
  await page.locator(`a[href*="step=${step}"]`, { hasText: "start from here" }).click();
  await page.locator(".check.valid").waitFor({ timeout: 60_000 });
  await page.locator("#name").fill("a fork");
  await page.locator("header button.primary").click();
  await page.waitForURL(/\/jobs\/[^/]+\/pulse/, { timeout: 30_000 });
  const fork = /\/jobs\/([^/]+)\/pulse/.exec(page.url())[1];
  checks.that(fork !== id, "a job of its own", fork);
  await badge(page, "running");
  const loss = await until("points of the fork", async () => {
    const { series } = await ask(url, `/jobs/${fork}/metrics?names=loss&max_points=20000`);
    return series?.[0]?.step.length > 0 && series[0];
  });
  checks.that(loss.step[0] === step + 1, "it goes on behind the checkpoint", loss.step[0]);
  await page.goto(`${url}/jobs/${fork}/curves?runs=${id}`);
  await page.locator("figure canvas").first().waitFor({ timeout: 30_000 });
  const chips = page.locator(".chips .chip");
  await until("both runs are shown", async () => (await chips.count()) === 2);
  const names = await chips.allInnerTexts();
  checks.that(
    names.some((name) => /a fork/.test(name)) &&
      names.some((name) => /from the browser/.test(name)),
    "curves: the fork and where it began",
    names.join(),
  );
  await page.screenshot({ path: join(shots, "real-fork.png") });
  await order(url, fork, "cancel");
  await until("the fork ended", async () => !(await ask(url, `/jobs/${fork}`)).alive, 60_000);
}

/* The values of two checkpoints, out of their files. */
async function compare(checks, page, url, id) {
  const steps = (await ask(url, `/jobs/${id}/checkpoints`)).checkpoints;
  const keys = [steps[0], steps.at(-1)].map((one) => `${one.attempt}.${one.step}`);
  await page.goto(`${url}/jobs/${id}/checkpoints?diff=${keys.join(",")}`);
  const row = page.locator("table[data-part=tensors] tr", {
    has: page.locator("code", { hasText: "model.last_layer.weight" }),
  });
  await row.waitFor({ timeout: 30_000 });
  const cells = await row.locator("td.number").allInnerTexts();
  checks.that(
    /%/.test(cells[0]) && Number(cells[1]) > 0 && Number(cells[2]) > 0,
    "the values of two checkpoints are compared",
    cells.join(),
  );
  await page.screenshot({ path: join(shots, "real-diff.png") });
}

const stop = async (server) => {
  server.removeAllListeners("exit");
  server.kill("SIGTERM");
  await new Promise((done) => server.once("exit", done));
};

/* The printed address lets in, and loses its token on the way. */
async function enterByAddress(checks, context, url) {
  const page = await context.newPage();
  await page.goto(`${url}/jobs?token=${token}`);
  await page.locator("h1", { hasText: "Jobs" }).waitFor({ timeout: 30_000 });
  checks.that(page.url() === `${url}/jobs`, "the token has left the address", page.url());
  await page.close();
}

/* A server with a token: refused with a word, let in, and out again. */
async function signIn(checks, context) {
  const file = join(directory, "token");
  writeFileSync(file, "the-right-token-of-this-test\n", { mode: 0o600 });
  const guarded = startServer("guarded", "--token_file", file);
  const url = await guarded.url;
  const page = await context.newPage();
  await page.goto(`${url}/jobs`);
  const field = page.locator(".sign-in #token");
  const enter = async (token) => {
    await field.fill(token);
    await page.locator(".sign-in button.primary").click();
  };
  await field.waitFor({ timeout: 30_000 });
  const cookie = async () =>
    (await context.cookies(url)).find(
      (one) => one.name === `csengine_session_${new URL(url).port}`,
    );
  await enter("a-wrong-token");
  await page
    .locator("#sign-in-error", { hasText: "this is not the token" })
    .waitFor({ timeout: 30_000 });
  checks.that(!(await cookie()), "a wrong token: refused, no cookie");
  await page.screenshot({ path: join(shots, "real-sign-in.png") });
  await enter("the-right-token-of-this-test");
  const inside = page.locator("h1", { hasText: "Jobs" });
  await inside.waitFor({ timeout: 30_000 });
  const given = await cookie();
  checks.that(
    given?.httpOnly && given.sameSite === "Strict",
    "the right token: let in, with a cookie that scripts cannot read",
    JSON.stringify(given),
  );
  await page.reload();
  await inside.waitFor({ timeout: 30_000 });
  checks.that(true, "still in after a reload");
  await page.locator("button[data-command=sign-out]").click();
  await field.waitFor({ timeout: 30_000 });
  checks.that(!(await cookie()), "signed out: the token is wanted again");
  await page.close();
  await stop(guarded.server);
}

async function cancel(checks, page, url, id) {
  await page.goto(`${url}/jobs/${id}/pulse`);
  await page.locator("button[data-command=cancel]").click();
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
  topology: ".topology .process",
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
    await page.screenshot({
      path: join(shots, `real-${name.replace(/[?=]/g, "-")}.png`),
    });
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
const { server, url: starting } = startServer("root", "--cores", "4");
const url = await starting;
const { context, close } = await openBrowser();
let id;
try {
  await enterByAddress(checks, context, url);
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
  const step = await download(checks, page, url, id);
  await startFromHere(checks, page, url, id, step);
  await compare(checks, page, url, id);
  await everyPage(checks, page, url, id, faults);
  await signIn(checks, context);
} catch (error) {
  checks.that(false, "the test ran to its end", error.stack);
  const { jobs } = await ask(url, "/jobs").catch(() => ({ jobs: [] }));
  for (const job of jobs) await order(url, job.id, "kill").catch(() => undefined);
}
await close();
if (id) writeFileSync(join(directory, "job"), (await ask(url, `/jobs/${id}`)).model_dir ?? "");
await stop(server);
checks.end();
