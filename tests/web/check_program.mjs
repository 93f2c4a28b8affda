/* A program in C, seen live in the browser: submitted to a queue with `csengine submit`, and run
 * beside a server with `csengine execute`. While it runs its step and loss move on the pages without
 * a reload, its closures arrive under the names of their functions with their values and what they
 * printed, its curves grow, its checkpoint and its step graph are there; and the pages say how it
 * ended.
 *
 * Usage: node check_program.mjs CSENGINE DIST SCREENSHOTS DIRECTORY LIBRARIES */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";

const [csengine, dist, shots, directory, libraries] = process.argv.slice(2);
const program = join(directory, "programs", "trainer");
const WAIT_MS = 60_000;
const ENDLESS = "100000000";

async function until(what, test) {
  const end = Date.now() + WAIT_MS;
  while (Date.now() < end) {
    const found = await test();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`it did not happen within ${WAIT_MS} ms: ${what}`);
}

function startServer(...arguments_) {
  const server = spawn(
    csengine,
    ["serve", "--listen", "127.0.0.1:0", "--web_dir", dist, ...arguments_],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  return new Promise((resolve, reject) => {
    let text = "";
    server.stdout.on("data", (part) => {
      text += part;
      const found = /(http:\/\/[^\s/]+)\/\?token=(\S+)\n/.exec(text);
      if (found) resolve({ server, url: found[1], token: found[2] });
    });
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
  });
}

async function ask({ url, token }, path, method = "GET") {
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/api/v1${path}`, { method, headers });
  return answer.ok ? answer.json() : null;
}

const saidStep = async (page) =>
  Number(await page.locator("[data-says=step]").first().getAttribute("data-value"));

/** `look` gives a number, which rises while the page stays open. */
async function rises(checks, what, look) {
  const first = await until(`${what}: a number`, look);
  const later = await until(`${what}: a later one`, async () => {
    const now = await look();
    return now > first && now;
  });
  checks.that(later > first, what, `${first}, ${later}`);
}

/* The rows of the closures' page; lines that hold no closure are its head. */
const closureRows = (page) =>
  page.$$eval(".closures .line:not(.heads)", (all) =>
    all.map((one) => ({
      name: one.querySelector(".c-name")?.textContent ?? "",
      values: one.querySelector(".c-values")?.textContent ?? "",
      step: Number((one.querySelector(".c-step")?.textContent ?? "").replace(/\D/g, "")),
    })),
  );

async function seesClosures(checks, page, base, about) {
  await page.goto(`${base}/closures`);
  const newest = async () => (await closureRows(page)).at(-1)?.step ?? 0;
  await rises(checks, `${about}: closures arrive while the page is open`, newest);
  const rows = await closureRows(page);
  checks.that(
    rows.every((one) => one.name === "tell"),
    `${about}: a closure has the name of its function`,
    JSON.stringify(rows.at(-1)),
  );
  checks.that(
    rows.every((one) => one.values.includes(`seen ${one.step}`)),
    `${about}: with what it printed`,
    JSON.stringify(rows.at(-1)),
  );
  checks.that(
    rows.every((one) => /\d\.\d+/.test(one.values.replace(`seen ${one.step}`, ""))),
    `${about}: and with its value`,
    JSON.stringify(rows.at(-1)),
  );
  await page.screenshot({ path: join(shots, `program-closures-${about}.png`) });
}

async function seesRun(checks, page, base, about) {
  await page.goto(`${base}/pulse`);
  await page.locator("dl.tiles").waitFor({ timeout: WAIT_MS });
  await rises(checks, `${about}: the step moves on`, () => saidStep(page));
  const loss = page.locator("[data-says=loss]").first();
  const value = await until("a loss", () => loss.getAttribute("data-value"));
  checks.that(Number(value) >= 0, `${about}: its loss is shown`, value);
  await page.goto(`${base}/curves`);
  const names = await until("the curves", async () => {
    const text = await page.locator("main").innerText();
    return /loss/.test(text) && text;
  });
  checks.that(/loss/.test(names), `${about}: its curves are there`, names);
  await page.goto(`${base}/graph`);
  await page.locator("g.node").first().waitFor({ timeout: WAIT_MS });
  checks.that((await page.locator("g.node").count()) > 3, `${about}: its step graph is there`);
}

/* Ends it by the button, and looks for what it saved then. */
async function cancelled(checks, page, place, id, about) {
  await page.locator("button[data-command=cancel]").click();
  await page.locator("dialog button.primary").click();
  const state = page.locator("[data-says=state]").first();
  await until("the page says so", async () =>
    /CANCELLED/.test(await state.getAttribute("data-value")),
  );
  const { checkpoints } = await until("its checkpoint", async () => {
    const found = await ask(place, `/jobs/${id}/checkpoints`);
    return found?.checkpoints.length > 0 && found;
  });
  await page.goto(`${place.url}/jobs/${id}/checkpoints`);
  const step = checkpoints[0].step.toLocaleString("en-US");
  const row = page.locator("main tr", { hasText: step }).first();
  await row.waitFor({ timeout: WAIT_MS });
  checks.that(true, `${about}: cancelled, with its checkpoint on the page`);
}

async function submitted(checks, context) {
  const root = join(directory, "root");
  mkdirSync(root);
  const place = await startServer(
    "--root",
    root,
    ...["--allow_program", join(directory, "programs"), "--allow_program", libraries],
  );
  const tab = await openTab(context, place.url);
  const { page } = tab;
  try {
    await page.goto(`${place.url}/jobs?token=${place.token}`);
    const words = ["submit", "--server", root, "--id", "mine"];
    await promisify(execFile)(csengine, [...words, program, "--", ENDLESS]);
    const row = page.locator("tr", { has: page.locator('a[href*="/jobs/mine/"]') });
    await row.first().waitFor({ timeout: WAIT_MS });
    /* Known when the program has come so far. */
    const listed = row.filter({ hasText: "fc_mnist · SGD" }).first();
    await listed.waitFor({ timeout: WAIT_MS }).catch(() => undefined);
    checks.that((await listed.count()) > 0, "submitted: listed with what it trains");
    const base = `${place.url}/jobs/mine`;
    await until("running", async () => (await ask(place, "/jobs/mine"))?.state === "RUNNING");
    await seesRun(checks, page, base, "submitted");
    await seesClosures(checks, page, base, "submitted");
    await cancelled(checks, page, place, "mine", "submitted");
    checks.that(existsSync(join(root, "mine", "own.mdl")), "submitted: and where it wrote it");
    checks.that(tab.faults.length === 0, "submitted: no page has a fault", tab.faults.join("\n"));
  } finally {
    await ask(place, "/jobs/mine/kill", "POST");
    await until("no process", async () => !(await ask(place, "/jobs/mine"))?.alive);
    place.server.kill("SIGTERM");
  }
}

async function executed(checks, context) {
  const folder = join(directory, "executed");
  const running = spawn(csengine, ["execute", "--model_dir", folder, program, "--", ENDLESS], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = new Promise((resolve) => running.once("exit", resolve));
  let place;
  try {
    await until("the record", () => existsSync(join(folder, "run.db")));
    /* It is refused while the record is being made. */
    place = await until("a server", () => startServer("--run", folder).catch(() => null));
    const { jobs } = await until("the run", () => ask(place, "/jobs"));
    const base = `${place.url}/jobs/${jobs[0].id}`;
    const tab = await openTab(context, place.url);
    const { page } = tab;
    await page.goto(`${place.url}/jobs?token=${place.token}`);
    await seesRun(checks, page, base, "executed");
    await seesClosures(checks, page, base, "executed");
    await cancelled(checks, page, place, jobs[0].id, "executed");
    checks.that((await ended) === 0, "executed: the program ends by itself");
    checks.that(tab.faults.length === 0, "executed: no page has a fault", tab.faults.join("\n"));
  } finally {
    running.kill("SIGTERM");
    await ended;
    place?.server.kill("SIGTERM");
  }
}

const checks = new Checks();
const { context, close } = await openBrowser();
try {
  await submitted(checks, context);
  await executed(checks, context);
} finally {
  await close();
}
checks.end();
