/* Every page, light and dark, on a wide window, a small one and a phone, over made-up jobs: it shows
 * what it must, nothing is wider than the window, the console stays silent, no request leaves the
 * origin, axe finds nothing serious, what is touched on a phone is large enough, and the keyboard
 * reaches everything. Each is kept as a picture.
 *
 * Usage: node check_pages.mjs DIST SCREENSHOTS */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab } from "./browser.mjs";
import { startMock } from "./mock.mjs";
import { Checks } from "./checks.mjs";
import { axe, smallTargets, widerThanWindow } from "./looks.mjs";

const [dist, shots] = process.argv.slice(2);
const job = "/jobs/gpt2-live";
/* Address and a text that only the filled page has. */
const PAGES = {
  jobs: ["/jobs", "table.jobs >> text=a million steps"],
  experiments: ["/experiments?runs=resumed", ".experiments >> text=a million steps"],
  baseline: ["/experiments?baseline=resumed&sort=-loss", ".experiments .delta >> text=≠"],
  groups: ["/experiments?group=team", ".experiments >> text=/±/"],
  compare: [
    "/compare?runs=gpt2-live,resumed&smooth=0.8&metrics=loss,gradient_norm",
    ".differences >> text=changes the bits",
  ],
  explore: [
    "/compare?runs=gpt2-live,million,resumed,failed,paused,sweep-0,sweep-1,sweep-2,sweep-3,sweep-4," +
      "sweep-5,sweep-6,sweep-7&limits=trainer.init.optimizer.SGD.lr~0.005~0.02",
    ".explore .importance",
  ],
  "compare-bands": [
    "/compare?runs=gpt2-live,million,resumed,failed&group=~seed&metrics=loss",
    ".chips >> text=lr 0.05",
  ],
  "compare-filter": ["/compare?filter=&group=team&band=range&metrics=loss", ".chip >> text=team"],
  "compare-none": ["/compare", "text=No runs are chosen"],
  pulse: [`${job}/pulse`, "text=What stands out"],
  failed: ["/jobs/failed/pulse", "text=the loss scale is at its floor"],
  queued: ["/jobs/queued/pulse", "text=2 of 2 are used"],
  curves: [`${job}/curves`, "figure >> text=gradient_norm"],
  forked: ["/jobs/resumed/curves", ".history >> text=fork at step 800"],
  notes: ["/jobs/resumed/curves?filter=^loss$", ".notes >> text=<b>data</b> mended"],
  "compare-fork": ["/compare?runs=sweep-0,resumed&metrics=loss", ".explore .importance"],
  compared: [`${job}/curves?runs=resumed&smooth=0.9&x=elapsed`, ".chip >> text=fc resumed"],
  topology: [`${job}/topology`, ".topology >> text=bottleneck"],
  graph: [`${job}/graph`, "svg >> text=48 alike"],
  kernels: [
    `${job}/graph?open=forward|model.transformer_decoder.layers.[0-47].ffn` +
      "&at=forward|model.transformer_decoder.layers.[0-47].self_attn",
    "aside >> text=Parameters",
  ],
  slowest: [`${job}/graph?slowest=1`, "aside >> text=GB/s"],
  timeline: [`${job}/timeline`, "text=Share of the step"],
  machine: [`${job}/machine`, "text=Cores, each"],
  painted: [`${job}/graph?paint=time`, ".node.painted"],
  samples: [`${job}/samples`, "text=7 of these 8 are predicted as labelled"],
  confusion: [`${job}/samples`, '.confusion-count:text("391")'],
  worst: [`${job}/samples`, '.token-5:text("perpetual")'],
  calibration: [`${job}/samples`, 'text="0.0613"'],
  data: [`${job}/data`, "text=pictures/lying/3.png: it is neither JPEG nor PNG"],
  numerics: [`${job}/numerics`, "text=The first to overflow"],
  closures: [`${job}/closures`, "text=Median lag"],
  checkpoints: [`${job}/checkpoints`, "text=start from here"],
  diff: ["/jobs/resumed/checkpoints?diff=1.1600,1.2400", "text=2 of 14 tensors differ"],
  logs: [`${job}/logs`, "text=checkpoint written"],
  config: [`${job}/config`, "text=--num_csx 2"],
  submit: ["/submit", "text=No fault found"],
  cluster: ["/cluster", "text=Disk free"],
  missing: ["/jobs/nobody/pulse", "text=there is no job"],
};

const SIZES = [
  [1440, 900],
  [1024, 768],
  [390, 844],
];
const PHONE = 390;

/* One page on each window, light and dark, without loading it again. */
async function look(checks, page, name) {
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height });
    for (const theme of ["light", "dark"]) {
      const here = `${name}, ${width}, ${theme}`;
      await page.emulateMedia({ colorScheme: theme });
      await page.waitForTimeout(60);
      await page.screenshot({ path: join(shots, `${name}-${width}-${theme}.png`) });
      const found = await axe(page, theme === "dark" ? ["color-contrast"] : null);
      checks.that(found.length === 0, `${here}: nothing serious for axe`, found.join("\n"));
      if (theme === "dark") continue;
      const wide = await page.evaluate(widerThanWindow);
      checks.that(wide === "", `${here}: nothing is wider than the window`, wide);
    }
    if (width !== PHONE) continue;
    const small = await page.evaluate(smallTargets);
    checks.that(small.length === 0, `${name}, ${width}: 40 pixels to touch`, small.join("\n"));
  }
}

async function visit(checks, mock, context) {
  const { page, faults } = await openTab(context, mock.url);
  for (const [name, [address, sign]] of Object.entries(PAGES)) {
    faults.length = 0;
    const [width, height] = SIZES[0];
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(mock.url + address);
    const there = await page
      .locator(sign)
      .first()
      .waitFor({ timeout: 30_000 })
      .then(
        () => true,
        () => false,
      );
    checks.that(there, `${name}: shows "${sign}"`);
    await look(checks, page, name);
    const expected = name === "missing" ? faults.filter((f) => !/404/.test(f)) : faults;
    checks.that(expected.length === 0, `${name}: silent console`, expected.join("\n"));
  }
  await page.close();
}

/* On a wide window the table of jobs needs no scrolling; on a phone each job is a card. */
async function jobsFit(checks, mock, context) {
  const { page } = await openTab(context, mock.url);
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height });
    await page.goto(`${mock.url}/jobs`);
    const table = page.locator(".panel:has(table.jobs)");
    await table.waitFor();
    const [inner, outer] = await table.evaluate((one) => [one.scrollWidth, one.clientWidth]);
    checks.that(inner <= outer, `jobs, ${width}: the table fits`, `${inner} in ${outer}`);
  }
  await page.close();
}

/* Tab from the top: where the focus has been. */
async function walk(page, steps) {
  const seen = new Set();
  for (let i = 0; i < steps; i++) {
    await page.keyboard.press("Tab");
    seen.add(
      await page.evaluate(() => {
        const e = document.activeElement;
        return (e.getAttribute("aria-label") ?? e.textContent ?? "").trim().slice(0, 60);
      }),
    );
  }
  return seen;
}

/* Keys as fast as a hand presses them: none waits until the page has taken the one before. */
const type = (page, keys) => Promise.all([...keys].map((key) => page.keyboard.press(key)));

async function keyboard(checks, mock, context) {
  const { page, faults } = await openTab(context, mock.url);
  await page.goto(`${mock.url}${job}/topology`);
  await page.locator(".topology .process").first().waitFor();
  const seen = await walk(page, 45);
  for (const name of [
    "Skip to the page",
    "Curves",
    "Config",
    "Pause",
    "Kill",
    "Keyboard shortcuts",
  ])
    checks.that(seen.has(name), `the Tab key reaches "${name}"`);
  checks.that(
    [...seen].some((text) => /^replica 0 /.test(text)),
    "the Tab key reaches a process",
  );
  await page.keyboard.press("Escape");
  await page.evaluate(() => document.activeElement.blur());
  await type(page, "gc");
  await page.waitForURL(`${mock.url}${job}/curves`);
  const chart = page.locator("figure .canvas").first();
  await chart.waitFor();
  await page.locator("figure canvas").first().waitFor();
  await chart.focus();
  await page.keyboard.press("+");
  await page.locator("figure >> text=show all").first().waitFor({ timeout: 30_000 });
  checks.that(true, "a chart is scaled by the keyboard");
  await page.keyboard.press("0");
  await page.keyboard.press("?");
  await page.locator("dialog[open] >> text=Keyboard").first().waitFor();
  await page.keyboard.press("Escape");
  checks.that(
    (await page.locator("dialog[open]").count()) === 0,
    "Escape closes the list of shortcuts",
  );
  await type(page, "gj");
  await page.waitForURL(`${mock.url}/jobs`);
  await page.locator("table.jobs").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("team=vision loss<3");
  const row = page.locator("table.jobs tbody tr");
  await page.waitForFunction(() => document.querySelectorAll("table.jobs tbody tr").length === 1);
  const rows = await row.allInnerTexts();
  checks.that(
    rows.length === 1 && /fc resumed/.test(rows[0]),
    "the filter of jobs takes labels and figures",
    rows.join("|"),
  );
  await page.goBack();
  const back = await page.waitForURL(`${mock.url}${job}/curves`, { timeout: 30_000 }).then(
    () => true,
    () => false,
  );
  checks.that(back, "back goes to the page before", page.url());
  checks.that(faults.length === 0, "silent console while typing", faults.join("\n"));
  await page.close();
}

/* The bars of the account of the time fill their row, and each bin stands in words beside it. */
async function timeAccount(checks, mock, context) {
  const { page, faults } = await openTab(context, mock.url);
  await page.goto(`${mock.url}/jobs/resumed/pulse`);
  await page.locator(".goodput-attempt").first().waitFor();
  const attempts = await page.locator(".goodput-attempt").count();
  checks.that(attempts === 2, "each attempt has an account of its time", String(attempts));
  const [bar, part] = await page
    .locator(".goodput-bar")
    .first()
    .evaluate((e) => [
      e.getBoundingClientRect().width,
      [...e.children].reduce((sum, one) => sum + one.getBoundingClientRect().width, 0),
    ]);
  checks.that(Math.abs(bar - part) < 1, "the bins fill the bar", `${part} of ${bar} pixels`);
  const words = await page.locator(".goodput-bins").first().innerText();
  checks.that(/compute[\s\S]*70 %/.test(words), "compute has its share", words);
  checks.that(!/validation/.test(words), "a bin without time is left out", words);
  checks.that(faults.length === 0, "silent console at the account", faults.join("\n"));
  await page.close();
}

mkdirSync(shots, { recursive: true });
const checks = new Checks();
const mock = await startMock({ dist });
const { context, close } = await openBrowser({ reducedMotion: "reduce" });
try {
  await visit(checks, mock, context);
  await jobsFit(checks, mock, context);
  await keyboard(checks, mock, context);
  await timeAccount(checks, mock, context);
} catch (error) {
  checks.that(false, "the test ran to its end", error.stack);
}
await close();
mock.close();
checks.end();
