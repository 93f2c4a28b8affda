/* The command palette, over made-up jobs, in a real browser: pages, jobs and actions are found by
 * letters in their order, and taken by the keyboard or the pointer; the focus stays inside, and
 * comes back.
 *
 * Usage: node check_palette.mjs DIST SCREENSHOTS MODULES */
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { checkLooks } from "./looks.mjs";
import { startMock } from "./mock.mjs";
import { importSources } from "./sources.mjs";

const [dist, shots, modules] = process.argv.slice(2);
const { rankOf } = await importSources(modules, ["frame/rank.ts"]);
const JOB = "/jobs/gpt2-live";
const SLOW_MS = 30_000;

function ranks(checks) {
  const order = (typed, ...texts) => {
    const found = texts.map((text) => rankOf(text, typed));
    const rising = found.every((rank, i) => rank !== null && (i === 0 || rank >= found[i - 1]));
    checks.that(rising, `"${typed}" finds ${texts.join(", ")} in this order`, found.join());
  };
  order("cur", "Curves", "recur", "c_u_r");
  order("tr", "a train", "Alter trap", "tensor");
  order("", "any");
  for (const [text, typed] of [
    ["Curves", "cx"],
    ["abc", "acb"],
    ["a", "aa"],
  ])
    checks.that(rankOf(text, typed) === null, `"${typed}" is not in "${text}"`);
  checks.that(rankOf("GPT-2 live", "gpt2l") !== null, "capitals and gaps do not matter");
}

const box = (page) => page.locator("dialog[open] [role=combobox]");

async function open(page) {
  await page.keyboard.press("Control+k");
  await box(page).waitFor({ timeout: SLOW_MS });
}

/* What the list says is chosen is what the field refers to. */
const chosen = (page) =>
  box(page).evaluate((one) => {
    const option = document.getElementById(one.getAttribute("aria-activedescendant"));
    const list = document.getElementById(one.getAttribute("aria-controls"));
    const selected = [...list.querySelectorAll("[aria-selected=true]")];
    return selected.length === 1 && selected[0] === option && option.role === "option"
      ? option.innerText.replace(/\s+/g, " ").trim()
      : `${selected.length} selected`;
  });

async function leadsTo(checks, page, url, what) {
  const there = await page.waitForURL(url, { timeout: SLOW_MS }).then(
    () => true,
    () => false,
  );
  checks.that(there, what, page.url());
  checks.that((await page.locator("dialog[open]").count()) === 0, `${what}: it is closed`);
}

async function goes(checks, mock, page) {
  await page.goto(`${mock.url}${JOB}/pulse`);
  await page.locator("text=What stands out").first().waitFor({ timeout: SLOW_MS });
  await open(page);
  await page.keyboard.type("crv");
  checks.that(
    /^Curves page, g c$/.test(await chosen(page)),
    "a page by letters",
    await chosen(page),
  );
  await page.keyboard.press("Enter");
  await leadsTo(checks, page, `${mock.url}${JOB}/curves`, "Enter opens the page");
  await open(page);
  await page.keyboard.type("resumed");
  await page
    .locator("dialog[open] [role=option]", { hasText: "fc resumed" })
    .waitFor({ timeout: SLOW_MS });
  checks.that(/resumed job,/.test(await chosen(page)), "a job by its id", await chosen(page));
  await page.keyboard.press("Enter");
  await leadsTo(checks, page, `${mock.url}/jobs/resumed/pulse`, "Enter opens the job");
  await open(page);
  await page.keyboard.type("a million");
  await page
    .locator("dialog[open] [role=option]", { hasText: "a million steps" })
    .click({ timeout: SLOW_MS });
  await leadsTo(
    checks,
    page,
    `${mock.url}/jobs/million/pulse`,
    "a click opens the job, by its name",
  );
}

async function moves(checks, mock, page) {
  await page.goto(`${mock.url}${JOB}/pulse`);
  await page.locator("text=What stands out").first().waitFor({ timeout: SLOW_MS });
  const before = page.locator(".topbar button[data-command]").first();
  await before.focus();
  await open(page);
  const all = await page.locator("dialog[open] [role=option]").count();
  checks.that(all > 10, "all is listed before anything is typed", all);
  const first = await chosen(page);
  await page.keyboard.press("ArrowDown");
  const second = await chosen(page);
  checks.that(
    second !== first && !/selected/.test(second),
    "an arrow moves on",
    `${first}, ${second}`,
  );
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  const last = await chosen(page);
  checks.that(last !== first && last !== second, "the first is followed by the last", last);
  for (let i = 0; i < 4; i++) {
    await page.keyboard.press("Tab");
    const inside = await page.evaluate(
      () => document.activeElement === document.body || !!document.activeElement.closest("dialog"),
    );
    checks.that(inside, "the focus stays inside");
  }
  await box(page).focus();
  await page.keyboard.type("zzzz");
  await page.locator("dialog[open] >> text=Nothing matches").waitFor({ timeout: SLOW_MS });
  await page.keyboard.press("Enter");
  checks.that((await page.locator("dialog[open]").count()) === 1, "Enter on nothing does nothing");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  const back = await before.evaluate((one) => document.activeElement === one);
  checks.that(back, "Escape gives the focus back");
}

async function acts(checks, mock, page) {
  await page.goto(`${mock.url}/jobs/failed/pulse`);
  await page.locator(".topbar [data-command=delete]").waitFor({ timeout: SLOW_MS });
  await open(page);
  await page.keyboard.type("delete");
  checks.that(
    /^Delete the job this job$/.test(await chosen(page)),
    "an action",
    await chosen(page),
  );
  await page.keyboard.press("Enter");
  await page.locator("dialog[open] >> text=/Delete/").first().waitFor({ timeout: SLOW_MS });
  checks.that((await box(page).count()) === 0, "what is to be confirmed is asked");
  await page.keyboard.press("Escape");
  checks.that((await fetch(`${mock.url}/api/v1/jobs/failed`)).ok, "nothing is deleted unasked");
  await page.keyboard.press("?");
  await page.locator("dialog[open] >> text=Ctrl").first().waitFor({ timeout: SLOW_MS });
  await page.keyboard.press("Control+k");
  checks.that((await box(page).count()) === 0, "not over another dialog");
  await page.keyboard.press("Escape");
  await page.goto(`${mock.url}/jobs`);
  const filter = page.locator("main input[type=search]").first();
  await filter.focus();
  await open(page);
  checks.that((await box(page).count()) === 1, "while one types in a field, too");
  await page.keyboard.type("pulse");
  await page.waitForTimeout(200);
  const texts = await page.locator("dialog[open] [role=option]").allInnerTexts();
  checks.that(
    !texts.some((text) => /g p/.test(text)),
    "without a job its pages are not there",
    texts.join(),
  );
  await page.keyboard.press("Escape");
}

async function looks(checks, mock, page) {
  await checkLooks(checks, page, {
    name: "palette",
    shots,
    show: async () => {
      await page.goto(`${mock.url}${JOB}/logs`);
      await page.locator(".topbar").waitFor({ timeout: SLOW_MS });
      await open(page);
      await page.keyboard.type("s");
    },
  });
}

const checks = new Checks();
ranks(checks);
const mock = await startMock({ dist });
const { context, close } = await openBrowser();
try {
  const { page, faults } = await openTab(context, mock.url);
  await goes(checks, mock, page);
  await moves(checks, mock, page);
  await acts(checks, mock, page);
  await looks(checks, mock, page);
  checks.that(faults.length === 0, "silent console", faults.join("\n"));
} catch (error) {
  checks.that(false, "the test ran to its end", error.stack);
}
await close();
mock.close();
checks.end();
