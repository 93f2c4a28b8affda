/* Every page of the table in docs/dashboard.md, for runs of all kinds, and every dialog: axe finds
 * nothing, light and dark, on a wide window and on a phone; nothing scrolls sideways; what can be
 * clicked has the focus where the keyboard goes, and it is seen there.
 *
 * One browser and one server of made-up jobs; an address is opened once and looked at in each size.
 *
 * Usage: node check_axe.mjs DIST DASHBOARD.md */
import { readFileSync } from "node:fs";
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { axe, widerThanWindow } from "./looks.mjs";
import { startMock } from "./mock.mjs";

const [dist, manual] = process.argv.slice(2);
const WIDE = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const WAIT_MS = 60_000;

/* Of each kind the first job of the made-up ones, but for the one that is looked at most. */
const MAIN = "gpt2-live";
const KINDS = ["resumed", "failed", "queued", "paused", "cancelled", "odd"];

/* The names of the pages, as addresses have them: the table of the server, and that of a job. */
function pagesOf(text) {
  const tables = text.split("| Page | Key |").slice(1, 3);
  return tables.map((table) =>
    [...table.matchAll(/^\| ([A-Z][A-Za-z ]+?) \| `g` `/gm)].map(([, title]) =>
      title === "Step graph" ? "graph" : title.toLowerCase(),
    ),
  );
}

/* In the page: what answers a click and can have no focus, and what shows none when it has it. The
 * options of a list are chosen by the arrow keys of the field that has the focus. */
function unreachable() {
  const focusable =
    "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]";
  const seen = (one) =>
    one.checkVisibility({ visibilityProperty: true }) && !one.closest("[inert]");
  const name = (one) =>
    `${one.tagName.toLowerCase()}.${one.getAttribute("class") ?? ""} ${(
      one.getAttribute("aria-label") ??
      one.textContent ??
      ""
    )
      .trim()
      .slice(0, 40)}`;
  const look = (one) => {
    const shown = (style) =>
      [style.outlineStyle, style.outlineWidth, style.boxShadow, style.borderColor, style.stroke]
        .concat(style.strokeWidth)
        .join();
    const inner = one.querySelector("rect, circle, path");
    return shown(getComputedStyle(one)) + (inner ? shown(getComputedStyle(inner)) : "");
  };
  const faults = [];
  const root = document.querySelector("dialog[open]") ?? document;
  for (const one of root.querySelectorAll("*")) {
    if (getComputedStyle(one).cursor !== "pointer" || !seen(one)) continue;
    if (
      one.closest(focusable) ||
      one.closest("label")?.control ||
      one.closest("svg, canvas, [role=option]")
    )
      continue;
    faults.push(`clicked, without focus: ${name(one)}`);
  }
  const before = document.activeElement;
  for (const one of root.querySelectorAll(focusable)) {
    if (!seen(one) || one.disabled || one.getAttribute("tabindex") === "-1") continue;
    one.blur();
    const idle = look(one);
    one.focus({ focusVisible: true, preventScroll: true });
    if (document.activeElement !== one) faults.push(`takes no focus: ${name(one)}`);
    else if (look(one) === idle && !one.matches(".cm-content, .cm-editor *"))
      faults.push(`shows no focus: ${name(one)}`);
  }
  before?.focus?.({ preventScroll: true });
  return [...new Set(faults)].slice(0, 12);
}

/* In the page: nothing is read any more. */
const isStill = () =>
  document.querySelector("main") !== null &&
  document.querySelector("main [aria-busy=true], main .loading") === null;

async function settle(page) {
  await page.waitForFunction(isStill, null, { timeout: WAIT_MS }).catch(() => {});
  await page.waitForTimeout(120);
}

async function look(checks, page, name, views) {
  for (const [size, theme] of views) {
    const here = `${name}, ${size.width}, ${theme}`;
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: theme });
    await page.waitForTimeout(80);
    const found = await axe(page, null, true);
    checks.that(found.length === 0, `${here}: nothing for axe`, found.join("\n"));
    const wide = await page.evaluate(widerThanWindow);
    checks.that(wide === "", `${here}: nothing scrolls sideways`, wide);
    if (theme === "dark") continue;
    const faults = await page.evaluate(unreachable);
    checks.that(faults.length === 0, `${here}: the keyboard reaches it`, faults.join("\n"));
  }
}

const ALL = [
  [WIDE, "light"],
  [WIDE, "dark"],
  [PHONE, "light"],
  [PHONE, "dark"],
];
const ONE = [[PHONE, "dark"]];

async function pages(checks, mock, page) {
  const [ofServer, ofJob] = pagesOf(readFileSync(manual, "utf8"));
  checks.that(
    ofServer.length >= 6 && ofJob.length >= 15,
    "the table names the pages",
    ofJob.join(),
  );
  await page.goto(`${mock.url}/jobs`);
  /* As a link does: the program is loaded once. */
  const visit = async (address, views) => {
    await page.evaluate((to) => {
      history.pushState(null, "", to);
      dispatchEvent(new PopStateEvent("popstate"));
    }, address);
    await settle(page);
    await look(checks, page, address, views);
  };
  for (const name of ofServer) await visit(`/${name}`, ALL);
  for (const address of [
    "/experiments?group=team",
    "/experiments?baseline=resumed&sort=-loss",
    "/compare?runs=gpt2-live,million,resumed,failed,sweep-0,sweep-1,sweep-2",
    `/jobs/${MAIN}/graph?slowest=1`,
    "/jobs/resumed/checkpoints?diff=1.1600,1.2400",
    "/jobs/nobody/pulse",
    "/sweeps/rates",
  ])
    await visit(address, ALL);
  for (const name of ofJob) await visit(`/jobs/${MAIN}/${name}`, ALL);
  for (const id of KINDS) for (const name of ofJob) await visit(`/jobs/${id}/${name}`, ONE);
}

/* Each dialog: where it is, and how it is opened. */
const press = (name) => (page) => page.getByRole("button", { name, exact: false }).first().click();
const DIALOGS = {
  keys: [`/jobs/${MAIN}/pulse`, (page) => page.keyboard.press("?")],
  palette: [`/jobs/${MAIN}/pulse`, (page) => page.keyboard.press("Control+k")],
  scale: [`/jobs/${MAIN}/pulse`, press("Scale")],
  cancel: [`/jobs/${MAIN}/pulse`, press("Cancel")],
  kill: [`/jobs/${MAIN}/pulse`, press("Kill")],
  edit: [`/jobs/${MAIN}/pulse`, press("Edit name")],
  delete: ["/jobs/failed/pulse", press("Delete the job")],
  resume: ["/jobs/failed/pulse", press("Resume")],
  overlay: [`/jobs/${MAIN}/curves`, press("Compare")],
  series: ["/compare?runs=gpt2-live,resumed", press("Series")],
  columns: ["/experiments", press("Columns")],
};

async function dialogs(checks, mock, page) {
  for (const [name, [address, open]] of Object.entries(DIALOGS)) {
    await page.setViewportSize(WIDE);
    await page.goto(mock.url + address);
    await settle(page);
    await open(page);
    const there = await page
      .locator("dialog[open]")
      .first()
      .waitFor({ timeout: WAIT_MS })
      .then(
        () => true,
        () => false,
      );
    checks.that(there, `the dialog ${name} opens`);
    if (!there) continue;
    await look(checks, page, `dialog ${name}`, ALL);
    await page.keyboard.press("Escape");
    await page.waitForTimeout(60);
    checks.that(
      (await page.locator("dialog[open]").count()) === 0,
      `Escape closes the dialog ${name}`,
    );
  }
}

const checks = new Checks();
const mock = await startMock({ dist });
const { context, close } = await openBrowser({ reducedMotion: "reduce" });
try {
  const { page, faults } = await openTab(context, mock.url);
  page.setDefaultTimeout(WAIT_MS);
  mock.jobs.get("resumed").plan = true;
  await pages(checks, mock, page);
  await dialogs(checks, mock, page);
  const told = faults.filter((one) => !/status of 404/.test(one));
  checks.that(told.length === 0, "the console is silent", told.slice(0, 5).join("\n"));
} catch (error) {
  checks.that(false, "the test ran to its end", error.stack);
}
await close();
mock.close();
checks.end();
