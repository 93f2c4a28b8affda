/* The topology page, over made-up runs of several sizes and in several widths: every process is
 * there, no two labels lie on each other, none leaves the view; a lost process and its successor
 * are seen as it happens.
 *
 * Usage: node check_topology.mjs DIST SCREENSHOTS */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab } from "./browser.mjs";
import { startMock } from "./mock.mjs";
import { Checks } from "./checks.mjs";

const [dist, shots] = process.argv.slice(2);
const JOB = "gpt2-live";
const WIDTHS = [1440, 1024, 390];
const SHAPES = {
  "1x1": { replicas: 1, workers: 1, servers: 0 },
  "4x2": { replicas: 4, workers: 2, servers: 2 },
  "6x1": { replicas: 6, workers: 1, servers: 0, microbatches: 22 },
  "16x4": { replicas: 16, workers: 4, servers: 4 },
};

/* Every piece of text in the drawing with the box that it fills, as the browser laid it out. */
function labels() {
  const drawing = document.querySelector(".topology");
  const walker = document.createTreeWalker(drawing, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.textContent.trim() || node.parentElement.closest("title")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width === 0) continue;
      const holder = node.parentElement.closest("button, .arrow, .stage").getBoundingClientRect();
      found.push({
        text: node.textContent.trim(),
        box: [box.left, box.top, box.right, box.bottom],
        holder: [holder.left, holder.top, holder.right, holder.bottom],
      });
    }
  }
  return {
    found,
    width: document.documentElement.clientWidth,
    main: document.querySelector("main").getBoundingClientRect().right,
    scrolls:
      document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth,
  };
}

const SLACK = 1;
const overlap = (a, b) =>
  Math.min(a[2], b[2]) - Math.max(a[0], b[0]) > SLACK &&
  Math.min(a[3], b[3]) - Math.max(a[1], b[1]) > SLACK;
const isWithin = (box, [left, top, right, bottom]) =>
  box[0] >= left - SLACK &&
  box[1] >= top - SLACK &&
  box[2] <= right + SLACK &&
  box[3] <= bottom + SLACK;

async function readable(checks, page, what) {
  const { found, width, main, scrolls } = await page.evaluate(labels);
  checks.that(found.length > 10, `${what}: there are labels`, found.length);
  const over = [];
  for (let i = 0; i < found.length; i++)
    for (let j = i + 1; j < found.length; j++)
      if (overlap(found[i].box, found[j].box)) over.push(`${found[i].text} | ${found[j].text}`);
  checks.that(over.length === 0, `${what}: no label lies on another`, over.slice(0, 5).join("\n"));
  const outside = found.filter(({ box, holder }) => {
    const view = [0, -Infinity, width, Infinity];
    return !isWithin(box, holder) || !isWithin(box, view);
  });
  checks.that(
    outside.length === 0,
    `${what}: no label leaves its box or the view`,
    outside.map((one) => `${one.text} ${one.box} in ${one.holder}`).join("\n"),
  );
  checks.that(
    scrolls <= 0 && main <= width + SLACK,
    `${what}: the page is as wide as the view`,
    `${main}, ${scrolls} more`,
  );
}

/* Names of the boxes: a group's stands for all its members. */
function processNames() {
  return [...document.querySelectorAll(".topology .process .name")].flatMap((one) => {
    const [, role, first, last] = /^(.*?)s? (\d+)(?:–(\d+))?$/.exec(one.textContent.trim());
    const names = [];
    for (let i = Number(first); i <= Number(last ?? first); i++) names.push(`${role} ${i}`);
    return names;
  });
}

/* Segments of the tree cross where one goes along and the other up through it. */
function treeCrossings() {
  const along = [];
  const up = [];
  for (const path of document.querySelectorAll(".topology .tree path")) {
    const [x, y, end, to] = path
      .getAttribute("d")
      .match(/[\d.]+/g)
      .map(Number);
    along.push([Math.min(x, end), Math.max(x, end), y]);
    if (to !== undefined) up.push([end, Math.min(y, to), Math.max(y, to)]);
  }
  let crossings = 0;
  for (const [left, right, y] of along)
    for (const [x, top, bottom] of up)
      if (x > left + 0.01 && x < right - 0.01 && y > top + 0.01 && y < bottom - 0.01) crossings++;
  return { crossings, joins: document.querySelectorAll(".topology .tree circle").length };
}

async function sizes(checks, mock, context) {
  const job = mock.jobs.get(JOB);
  const { page, faults } = await openTab(context, mock.url);
  for (const [name, shape] of Object.entries(SHAPES)) {
    job.shape = shape;
    await page.goto(`${mock.url}/jobs/${JOB}/topology`);
    await page.locator(".topology .process").first().waitFor({ timeout: 30_000 });
    const expected = shape.replicas + shape.replicas * shape.workers + shape.servers;
    const names = await page.evaluate(processNames);
    checks.that(
      names.length === expected && new Set(names).size === expected,
      `${name}: each of the ${expected} processes is drawn once`,
      names.join(),
    );
    const { crossings, joins } = await page.evaluate(treeCrossings);
    checks.that(crossings === 0, `${name}: no line of the tree crosses another`, crossings);
    const least = shape.replicas - 1;
    checks.that(joins >= least, `${name}: ${joins} joins of ${shape.replicas} replicas`);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 2600 }); /* all of it in one picture */
      for (const theme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: theme });
        await page.waitForTimeout(100);
        await readable(checks, page, `${name}, ${width} wide, ${theme}`);
        await page.locator(".topology").screenshot({
          path: join(shots, `topology-${name}-${width}-${theme}.png`),
        });
      }
    }
  }
  checks.that(faults.length === 0, "sizes: silent console", faults.join("\n"));
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.close();
}

/* What the drawing says beside names: shard, file, position, microbatch, payload. */
async function statements(checks, mock, context) {
  mock.jobs.get(JOB).shape = SHAPES["4x2"];
  const { page } = await openTab(context, mock.url);
  await page.goto(`${mock.url}/jobs/${JOB}/topology`);
  await page.locator(".topology .process").first().waitFor({ timeout: 30_000 });
  const text = (await page.locator(".topology").innerText()).replace(/\s+/g, " ");
  for (const [what, sign] of Object.entries({
    "a worker's shard and position": /input worker 3 .*?shard 3 of 8 · epoch \d+, sample [\d,]+/,
    "the file": /train-images-idx3-ubyte\.gz, 60,000 samples/,
    "a replica's microbatch": /replica 2 .*?step [\d,]+, microbatch 2/,
    "how full the ring is": /2 of 8 microbatches are filled, 6 being filled/,
    "the payload of partial sums": /bf16, stochastic partial sums/,
    "the payload of weights": /fp32 weights go back to the replicas/,
    "the payload of microbatches": /images fp32, labels int32 are taken/,
    "the bottleneck": /input worker \d bottleneck/,
  }))
    checks.that(sign.test(text), `the drawing says ${what}`, text);
  const note = await page.locator("header, .page-header").allInnerTexts();
  checks.that(
    /averages of the last 30 s/.test(note.join(" ")),
    "the page says of which time the shares are",
    note.join(" | "),
  );
  await page.close();
}

/* Hosts are boxes with what is in them and lines between them, no box on another one; who is slow,
 * lost, and when it is tried again is said; links have their figures. */
async function hosts(checks, mock, context) {
  const job = mock.jobs.get(JOB);
  const { page, faults } = await openTab(context, mock.url);
  const returns_ms = Date.now() + 60_000;
  for (let count = 2; count <= 8; count++) {
    const list = Array.from({ length: count }, () => ({}));
    list[1] = { slowest: true, exposed: 0.02 };
    if (count > 2) list[2] = { state: "lost", connected: false, exposed: null, returns_ms };
    job.shape = { ...SHAPES["1x1"], hosts: list };
    await page.goto(`${mock.url}/jobs/${JOB}/topology`);
    await page.locator(".hosts .host").first().waitFor({ timeout: 30_000 });
    const { boxes, spilt, lines } = await page.evaluate(() => {
      const all = [...document.querySelectorAll(".hosts .host")];
      const rows = all.map((e) => e.getBoundingClientRect());
      return {
        boxes: rows.map((r) => [r.left, r.top, r.right, r.bottom]),
        spilt: all.filter((e) => e.scrollHeight > e.parentElement.clientHeight + 1).length,
        lines: document.querySelectorAll(".hosts .link line").length,
      };
    });
    const what = `${count} hosts`;
    checks.that(boxes.length === count, `${what}: a box for each`, boxes.length);
    checks.that(lines === (count * (count - 1)) / 2, `${what}: a line for each pair`, lines);
    checks.that(spilt === 0, `${what}: a box holds its text`, spilt);
    checks.that(
      boxes.every((a, i) => boxes.slice(i + 1).every((b) => !overlap(a, b))),
      `${what}: no box lies on another`,
    );
    for (const theme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: theme });
      await page.waitForTimeout(100);
      await page
        .locator(".hosts")
        .screenshot({ path: join(shots, `topology-hosts-${count}-${theme}.png`) });
    }
    const text = (await page.locator(".hosts").innerText()).replace(/\s+/g, " ");
    for (const [sign, says] of [
      [/n1 leads/, "who leads"],
      [/n2 slowest: others wait for it/, "who is slow"],
      [/2 replicas \d+ %/, "what is in a host"],
      [/waits for others: 30 %/, "exposed communication"],
      [/n1 – n2 17 18 130 2 0 0/, "the figures of a link"],
      ...(count > 2 ? [[/n3 lost, is tried again at \d/, "when a lost host is tried again"]] : []),
    ])
      checks.that(sign.test(text), `${what}: the drawing says ${says}`, text);
  }
  const many = Array.from({ length: 20 }, () => ({ links: [{ to: null, mb_sent_per_second: 9 }] }));
  job.shape = { ...SHAPES["1x1"], hosts: many };
  await page.goto(`${mock.url}/jobs/${JOB}/topology`);
  await page.locator(".hosts .host").first().waitFor({ timeout: 30_000 });
  checks.that((await page.locator(".hosts .host").count()) === 20, "20 hosts: a box for each");
  checks.that(/9 MB\/s out/.test(await page.locator(".hosts").innerText()), "20 hosts: their sums");
  checks.that(faults.length === 0, "hosts: silent console", faults.join("\n"));
  await page.close();
}

/* A process is lost, started again and runs: each is said in its box as it happens. */
async function recovery(checks, mock, context) {
  const job = mock.jobs.get(JOB);
  job.shape = SHAPES["4x2"];
  const { page } = await openTab(context, mock.url);
  await page.goto(`${mock.url}/jobs/${JOB}/topology`);
  const box = page.locator(".topology .process", { hasText: "replica 1" });
  await box.waitFor({ timeout: 30_000 });
  checks.that(!/process \d/.test(await box.innerText()), "a first process has no number");
  const turn = async (fate, sign, what) => {
    job.shape = { ...SHAPES["4x2"], fates: { "replica 1": fate } };
    const there = await box
      .locator(`text=${sign}`)
      .waitFor({ timeout: 30_000 })
      .then(
        () => true,
        () => false,
      );
    checks.that(there, what, await box.innerText());
    await readable(checks, page, what);
  };
  await turn({ state: "lost" }, "lost, is replaced", "a lost process is seen");
  checks.that(await box.evaluate((e) => e.classList.contains("away")), "its box is marked");
  await page.locator(".topology").screenshot({ path: join(shots, "topology-lost.png") });
  await turn({ state: "starting", incarnation: 2 }, "process 2 starts", "its successor is seen");
  await turn({ incarnation: 2 }, "process 2 since", "the successor has its number");
  await page.close();
}

mkdirSync(shots, { recursive: true });
const checks = new Checks();
const mock = await startMock({ dist });
const { context, close } = await openBrowser({ reducedMotion: "reduce" });
try {
  await sizes(checks, mock, context);
  await statements(checks, mock, context);
  await hosts(checks, mock, context);
  await recovery(checks, mock, context);
} catch (error) {
  checks.that(false, "the test ran to its end", error.stack);
}
await close();
mock.close();
checks.end();
