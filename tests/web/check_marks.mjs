/* The marks on the curves, of a real run, in a real browser: each thing that happened stands at its
 * step, with its text under the pointer and by the keyboard; kinds are hidden by the address.
 *
 * Usage: node check_marks.mjs CSENGINE DIST SCREENSHOTS DIRECTORY MODULES */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { checkLooks } from "./looks.mjs";
import { Api, endAll, startServer, succeeded, tellFailure, until } from "./real_server.mjs";
import { importSources } from "./sources.mjs";

const [csengine, dist, shots, directory, modules] = process.argv.slice(2);
const { gather, marksOf, placeOf } = await importSources(modules, [
  "marks/marks.ts",
  "components/gather.ts",
]);
const LOW = "loss < 0.9 * max(loss)";
const REST = 300; /* steps of the second start */

const config = (steps, alerts, every) => `trainer:
  init:
    backend:
      compile_dir: ${join(directory, "compiled")}
      cluster_config: {num_csx: 1, num_workers_per_csx: 1}
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4}
    optimizer: {SGD: {lr: 0.01}}
    loop: {num_steps: ${steps}}
    checkpoint: {steps: ${every}}
    seed: 1
    alerts: {when: ${JSON.stringify(alerts)}}
  fit:
    train_dataloader:
      data_processor: synthetic
      features: [16]
      classes: 4
      batch_size: 64
      samples: 1024
`;

/* ---- without a browser ---- */

function whatIsMarked(checks) {
  const happened = {
    alerts: [
      { condition: "loss > 3", values: "loss 4", begins: true, step: 9, time_ms: 900 },
      { condition: "loss > 3", values: "loss 2", begins: false, step: 11, time_ms: 1100 },
    ],
    checkpoints: [{ step: 5, time_ms: 500, deleted: true }],
    membership: [
      {
        what: "host",
        name: "b",
        change: "left",
        step: 7,
        time_ms: 700,
        milliseconds: null,
        reason: "silent",
      },
      {
        what: "process",
        name: "replica 1",
        change: "replaced",
        step: null,
        time_ms: 1,
        milliseconds: 2,
        reason: "x",
      },
    ],
    transitions: [
      {
        from: "RUNNING",
        to: "PAUSED",
        step: 6,
        time_ms: 600,
        message: "lunch",
        attempt: 1,
        origin: "run",
      },
      {
        from: "PAUSED",
        to: "RUNNING",
        step: 6,
        time_ms: 650,
        message: "",
        attempt: 1,
        origin: "run",
      },
      {
        from: null,
        to: "COMPILING",
        step: null,
        time_ms: 1,
        message: "",
        attempt: 1,
        origin: "run",
      },
      {
        from: null,
        to: "COMPILING",
        step: 12,
        time_ms: 1300,
        message: "",
        attempt: 2,
        origin: "run",
      },
      {
        from: null,
        to: "COMPILING",
        step: 14,
        time_ms: 1900,
        message: "settings changed: a: 1 -> 2",
        attempt: 3,
        origin: "run",
      },
    ],
    notes: [
      { id: 1, step: 8, time_ms: 2000, text: "mended", author: null },
      { id: 2, step: null, time_ms: 2000, text: "of the whole", author: null },
    ],
  };
  const found = marksOf(happened).map((one) => `${one.step} ${one.kind} ${one.text}`);
  const wanted = [
    "5 checkpoint checkpoint, removed since",
    "6 pause paused: lunch",
    "6 pause goes on",
    "7 host host b left: silent",
    "8 note mended",
    "9 alert alert: loss > 3 (loss 4)",
    "12 start start 2",
    "14 settings start 3, settings changed: a: 1 -> 2",
  ];
  checks.that(found.join("\n") === wanted.join("\n"), "what is marked", found.join("\n"));
  const attempt_times = [
    { attempt: 1, start_ms: 1000, end_ms: 3000 },
    { attempt: 2, start_ms: 9000, end_ms: 12000 },
  ];
  const run = { batchSize: 8, metrics: { attempt_times, series: [] } };
  const places = (time_ms) =>
    ["step", "samples", "time", "elapsed"].map((axis) =>
      placeOf({ kind: "pause", step: 6, time_ms, text: "" }, axis, run),
    );
  const at = (time_ms, elapsed, what) =>
    checks.that(places(time_ms).join() === [6, 48, time_ms, elapsed].join(), what, places(time_ms));
  at(2000, 1, "in the first attempt");
  at(5000, 2, "between two attempts");
  at(10_000, 3, "in the second one");
  const gathered = JSON.stringify(gather([0, 5, 9, 30, 42], 10));
  checks.that(gathered === "[[0,1,2],[3],[4]]", "what is near stands together", gathered);
}

/* ---- a run with a history ---- */

async function makeHistory(api) {
  await api.submit("plain", config(200, [], 1_000_000));
  await api.submit("eventful", config(5_000_000, [LOW], 20_000));
  await until("a replica", () => api.process("eventful", "replica 0"));
  process.kill(await api.process("eventful", "replica 0"), "SIGKILL");
  await until(
    "a replaced process",
    async () => (await api.get("/jobs/eventful/membership")).total === 1,
  );
  const inState = (state) => until(state, async () => (await api.job("eventful")).state === state);
  await inState("RUNNING");
  await until("a checkpoint", async () => {
    const { checkpoints } = await api.get("/jobs/eventful/checkpoints");
    return checkpoints.length > 1;
  });
  await api.order("eventful", "pause");
  await inState("PAUSED");
  await api.order("eventful", "resume");
  await inState("RUNNING");
  await api.order("eventful", "cancel");
  await inState("CANCELLED");
  await until("its end", async () => !(await api.job("eventful")).alive);
  const { model_dir, progress } = await api.job("eventful");
  const words = ["start", join(model_dir, "submitted.yaml"), "--model_dir", model_dir];
  const set = [
    `trainer.init.loop.num_steps=${progress.step + REST}`,
    "trainer.init.optimizer.SGD.lr=0.02",
  ];
  const started = spawnSync(csengine, [...words, ...set.flatMap((one) => ["--set", one])]);
  if (started.status !== 0) throw new Error(`start: ${started.stderr}`);
  await succeeded(api, "plain");
}

const legendOf = async (page) => {
  const texts = await page.locator(".marks-legend button").allInnerTexts();
  return Object.fromEntries(
    texts.map((text) => {
      const [, words, count] = /^\s*(.*?)\s*(\d+)\s*$/s.exec(text) ?? [];
      return [words, Number(count)];
    }),
  );
};

const NOTE = "<b>bold?</b> the data & so on";

/* A note is written by the form, is text, stands as a mark, and goes again. */
async function aNoteIsAMark(checks, api, page) {
  await page.goto(`${api.url}/jobs/plain/curves`);
  const form = page.locator(".notes form");
  await form.waitFor({ timeout: 30_000 });
  await form.getByLabel("Text of the note").fill(NOTE);
  await form.getByLabel("Step of the note; empty: the whole run").fill("50");
  await form.locator("button").click();
  const line = page.locator(".notes li");
  await line.waitFor();
  const { notes } = await api.get("/jobs/plain/notes");
  checks.that(
    notes.length === 1 && notes[0].text === NOTE && notes[0].step === 50,
    "a note of the page is in the API",
    JSON.stringify(notes),
  );
  const shown = await line.locator(".note-text").innerText();
  checks.that(shown === NOTE && (await line.locator("b").count()) === 0, "it is text", shown);
  await page.locator(".marks-legend button", { hasText: "notes" }).first().waitFor();
  const marks = page.locator(".marks [role=option][aria-label*='bold?']");
  await marks.first().waitFor();
  const label = await marks.first().getAttribute("aria-label");
  checks.that(label.includes(`step 50: ${NOTE}`), "it is a mark at its step", label);
  await page.screenshot({ path: join(shots, "notes.png"), fullPage: true });
  await line.getByLabel("Remove note 1").click();
  await line.waitFor({ state: "detached" });
  checks.that((await api.get("/jobs/plain/notes")).notes.length === 0, "and it is removed");
}

async function theLegendCounts(checks, api, page) {
  const get = async (what) => (await api.get(`/jobs/eventful/${what}`))[what];
  const transitions = await get("transitions");
  const is = (test) => transitions.filter(test).length;
  const wanted = {
    alerts: (await get("alerts")).filter((one) => one.begins).length,
    "processes lost": (await get("membership")).length,
    pauses: is((t) => t.to === "PAUSED" || (t.from === "PAUSED" && t.to === "RUNNING")),
    "settings changed": 1,
    checkpoints: (await get("checkpoints")).length,
  };
  await page.goto(`${api.url}/jobs/eventful/curves`);
  await page.locator(".marks [role=option]").first().waitFor();
  const found = await legendOf(page);
  const same = JSON.stringify(found) === JSON.stringify(wanted);
  checks.that(
    same,
    "the legend counts what the API lists",
    `${JSON.stringify(found)}\n${JSON.stringify(wanted)}`,
  );
  checks.that(
    wanted.alerts > 0 && wanted.checkpoints > 1,
    "there are some",
    JSON.stringify(wanted),
  );
}

const strip = (page) => page.locator("figure", { hasText: "loss" }).first().locator(".marks");

async function theKeyboardReads(checks, page) {
  const list = strip(page);
  const all = await list
    .locator("[role=option]")
    .evaluateAll((some) => some.map((one) => one.ariaLabel));
  await list.focus();
  const heard = [];
  for (let i = 0; i < all.length; i++) {
    heard.push(
      await list.evaluate(
        (one) => document.getElementById(one.getAttribute("aria-activedescendant"))?.ariaLabel,
      ),
    );
    const tip = await page.locator(".mark-tip").innerText();
    checks.that(tip.length > 0, "its text is shown");
    await page.keyboard.press("ArrowRight");
  }
  checks.that(
    heard.join("|") === all.join("|"),
    "arrow keys go from mark to mark",
    `${heard}\n${all}`,
  );
  const text = all.join(". ");
  for (const sign of [
    /replica 0 .*; replaced after/,
    /paused/,
    /alert: loss < 0\.9/,
    /settings changed: .*0\.01 -> 0\.02/,
    /checkpoint/,
  ])
    checks.that(sign.test(text), `the marks say ${sign}`, text);
  await page.keyboard.press("Escape");
  checks.that((await page.locator(".mark-tip").count()) === 0, "Escape closes the text");
}

/* The last mark but the checkpoint at the end: at the end of the first start. */
async function marksStandAtTheirSteps(checks, api, page) {
  const { transitions } = await api.get("/jobs/eventful/transitions");
  const { step } = transitions.find((one) => one.message.startsWith("settings changed"));
  for (const axis of ["", "x=samples&", "x=elapsed&", "x=time&"]) {
    await page.goto(
      `${api.url}/jobs/eventful/curves?${axis}unmarked=checkpoint,alert,process,pause`,
    );
    const one = strip(page).locator("[role=option]");
    await one.waitFor();
    checks.that((await one.count()) === 1, `one mark is left${axis && `, ${axis}`}`);
    const share = await one.evaluate((mark) => {
      const over = mark.closest("figure").querySelector(".u-over").getBoundingClientRect();
      const box = mark.getBoundingClientRect();
      return ((box.left + box.right) / 2 - over.left) / over.width;
    });
    /* The axis of steps is a little wider than the steps. */
    const wanted = step / (step + REST);
    const holds =
      axis === "" || axis === "x=samples&"
        ? Math.abs(share - wanted) < 0.03
        : share > 0 && share < 1;
    checks.that(holds, `it stands at its place${axis && `, ${axis}`}`, `${share} ${wanted}`);
  }
}

async function kindsAreHidden(checks, api, page) {
  await page.goto(`${api.url}/jobs/eventful/curves`);
  await page.locator(".marks [role=option]").first().waitFor();
  const button = page.locator(".marks-legend button", { hasText: "checkpoints" });
  await button.click();
  checks.that(
    page.url().includes("unmarked=checkpoint"),
    "the address says what is hidden",
    page.url(),
  );
  checks.that((await button.getAttribute("aria-pressed")) === "false", "the legend too");
  const labels = () =>
    strip(page)
      .locator("[role=option]")
      .evaluateAll((some) => some.map((one) => one.ariaLabel).join());
  await page.waitForFunction(
    () => !/: checkpoint/.test(document.querySelector(".marks").innerHTML),
  );
  checks.that(!/: checkpoint/.test(await labels()), "they are hidden");
  await page.reload();
  await page.locator(".marks [role=option]").first().waitFor();
  checks.that(!/: checkpoint/.test(await labels()), "they stay hidden");
  await page.locator(".marks-legend button", { hasText: "checkpoints" }).click();
  checks.that(!page.url().includes("unmarked"), "a second click shows them", page.url());
}

async function thePointerReads(checks, page) {
  const one = strip(page).locator("[role=option]").first();
  await one.hover({ force: true });
  await page.locator(".mark-tip").waitFor();
  checks.that((await page.locator(".mark-tip").count()) === 1, "the text is under the pointer");
  await page.mouse.move(2, 2);
  await page.locator(".mark-tip").waitFor({ state: "detached" });
  /* The marks came after the curves, and the plot was made anew for them. */
  const figure = page.locator("figure", { hasText: "loss" }).first();
  await figure.locator(".u-over").hover();
  await figure.locator(".chart-tip:not(.mark-tip) b").first().waitFor();
  checks.that(true, "values are under the pointer, too");
}

async function noMarks(checks, api, page) {
  await page.goto(`${api.url}/jobs/plain/curves?zoom=10~100`);
  await page.locator("figure canvas").first().waitFor();
  await page.waitForTimeout(500);
  checks.that(
    (await page.locator(".marks, .mark-tip").count()) === 0,
    "a part without marks has none",
  );
}

async function looks(checks, api, page) {
  await checkLooks(checks, page, {
    name: "marks",
    shots,
    show: async () => {
      await page.goto(`${api.url}/jobs/eventful/curves`);
      await page.locator(".marks [role=option]").first().waitFor();
      await strip(page).focus();
    },
  });
}

mkdirSync(shots, { recursive: true });
const checks = new Checks();
whatIsMarked(checks);
const { server, url, token } = await startServer({ csengine, dist, directory });
const api = new Api(url, token);
const { context, close } = await openBrowser();
let tab;
try {
  await makeHistory(api);
  await (await context.newPage()).goto(`${url}/jobs?token=${token}`);
  tab = await openTab(context, url);
  const { page } = tab;
  await aNoteIsAMark(checks, api, page);
  await theLegendCounts(checks, api, page);
  await theKeyboardReads(checks, page);
  await thePointerReads(checks, page);
  await kindsAreHidden(checks, api, page);
  await marksStandAtTheirSteps(checks, api, page);
  await noMarks(checks, api, page);
  await looks(checks, api, page);
  checks.that(tab.faults.length === 0, "silent console", tab.faults.join("\n"));
} catch (error) {
  await tellFailure(checks, error, tab);
}
await close();
await endAll(api, server);
checks.end();
