/* Pages that were away: a network that was cut for an hour, a server that was killed and started
 * again, two tabs. They say since when they know what they show, and catch up: all steps, in order, none
 * twice. And the list of a thousand jobs asks for its small curves at once.
 *
 * Usage: node check_away.mjs DIST */
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { MadeUpJob } from "./made_up_jobs.mjs";
import { startMock } from "./mock.mjs";

const [dist] = process.argv.slice(2);
const ID = "gpt2-live";
const HOUR = "01:00:00";
const WAIT_MS = 60_000;

/* In the page: where each line that was drawn went, from left to right. */
function recordLines() {
  window.lines = [];
  const { lineTo } = Path2D.prototype;
  Path2D.prototype.lineTo = function (x, y) {
    if (!this.across) window.lines.push((this.across = []));
    this.across.push(x);
    return lineTo.call(this, x, y);
  };
}

/* In the page: the most often that a line changes its direction. The edge of a band goes to the right
 * and back; a history that is there twice begins again at the left. */
function mostTurns() {
  const turns = window.lines.map((across) => {
    let [count, way] = [0, 1];
    for (let i = 1; i < across.length; i++) {
      const next = Math.sign(across[i] - across[i - 1]);
      if (Math.abs(across[i] - across[i - 1]) < 2 || next === way) continue;
      [count, way] = [count + 1, next];
    }
    return count;
  });
  return Math.max(0, ...turns);
}

const shown = (page) =>
  page
    .locator('.tile:has(dt:text-is("Steps")) .note')
    .innerText()
    .then((text) => Number(text.split(" ")[0].replaceAll(",", "")));

async function shows(page, step) {
  for (let waited = 0; waited < WAIT_MS; waited += 100) {
    if ((await shown(page)) === step) return true;
    await page.waitForTimeout(100);
  }
  return false;
}

async function open(context, mock, path) {
  const { page } = await openTab(context, mock.url);
  await page.addInitScript(recordLines);
  await page.goto(mock.url + path);
  return page;
}

/* The lid is closed for an hour; the job goes on. */
async function hourAway(checks, mock, context) {
  const job = mock.jobs.get(ID);
  const { page } = await openTab(context, mock.url);
  await page.addInitScript(recordLines);
  await page.clock.install();
  await page.goto(`${mock.url}/jobs/${ID}/pulse`);
  await page.locator(".stream-status.live").waitFor({ timeout: WAIT_MS });
  await page.locator("figure canvas").first().waitFor({ timeout: WAIT_MS });
  mock.forward(job, 60);
  checks.that(await shows(page, job.step), "steps are shown as they come");
  await context.setOffline(true);
  mock.cut();
  mock.forward(job, 3600);
  await page.clock.fastForward(HOUR);
  await page.locator(".stale").waitFor({ timeout: WAIT_MS });
  const said = await page.locator(".stale").innerText();
  checks.that(/is of .*, .* ago/.test(said), "without a network: since when it is known", said);
  const before = mock.asked.length;
  await context.setOffline(false);
  await page.clock.fastForward(30_000);
  const there = await shows(page, job.step);
  checks.that(there, "an hour later all steps are there", `${await shown(page)} of ${job.step}`);
  await page.locator(".stale").waitFor({ state: "detached", timeout: WAIT_MS });
  checks.that(true, "the line goes when the server answers");
  checks.that(
    mock.asked.slice(before).every((after) => after > 0),
    "the stream goes on behind the last event",
    mock.asked.slice(before).join(),
  );
  await page.evaluate(() => (window.lines = []));
  mock.forward(job, 5);
  await shows(page, job.step);
  await page.waitForTimeout(300);
  const [turns, lines] = await page
    .evaluate(`[(${mostTurns})(), window.lines.length]`)
    .then((all) => all);
  checks.that(lines > 0 && turns <= 1, "no curve has a point twice", `${turns} turns in ${lines}`);
  await page.close();
}

/* Two tabs, one of a run and one of the list; the server dies, the job's process goes on. */
async function killed(checks, mock, context) {
  const job = mock.jobs.get(ID);
  const one = await open(context, mock, `/jobs/${ID}/pulse`);
  const other = await open(context, mock, "/jobs");
  await one.locator(".stream-status").first().waitFor({ timeout: WAIT_MS });
  await other.locator("table.jobs").waitFor({ timeout: WAIT_MS });
  const again = mock.kill();
  mock.forward(job, 700);
  for (const [page, name] of [
    [one, "the run"],
    [other, "the list"],
  ]) {
    const told = await page
      .locator(".stale")
      .waitFor({ timeout: WAIT_MS })
      .then(
        () => true,
        () => false,
      );
    checks.that(told, `a server that was killed: ${name} says since when it is known`);
  }
  await again();
  checks.that(await shows(one, job.step), "started again: the run's tab has all steps");
  for (const page of [one, other])
    await page.locator(".stale").waitFor({ state: "detached", timeout: WAIT_MS });
  checks.that(true, "both tabs say that they know it all");
  checks.that((await one.evaluate(mostTurns)) <= 1, "no curve has a point twice");
  await one.close();
  await other.close();
}

function addJobs(mock, count) {
  for (let i = mock.jobs.size; i < count; i++) {
    const id = `small-${i}`;
    const attempts = [{ first: 1, last: 40, start_ms: Date.now() - 60_000 }];
    mock.jobs.set(id, new MadeUpJob({ id, name: id, state: "SUCCEEDED", attempts }));
  }
}

async function thousandJobs(checks, mock, context) {
  addJobs(mock, 1000);
  const { page } = await openTab(context, mock.url);
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(`${mock.url}/jobs`);
  await page.locator("table.jobs .sparkline").nth(90).waitFor({ timeout: WAIT_MS });
  const small = asked.filter((path) => path === "/api/v1/small-curves").length;
  const each = asked.filter((path) => /\/metrics$/.test(path)).length;
  checks.that(
    small >= 1 && small <= 2,
    "1,000 jobs: the curves of the list are one request",
    small,
  );
  checks.that(each === 0, "1,000 jobs: none is asked for alone", each);
  await page.close();
}

const checks = new Checks();
const mock = await startMock({ dist });
mock.hold();
const { context, close } = await openBrowser({ reducedMotion: "reduce" });
try {
  await hourAway(checks, mock, context);
  await killed(checks, mock, context);
  await thousandJobs(checks, mock, context);
} catch (error) {
  checks.that(false, "the test ran to its end", error.stack);
}
await close();
mock.close();
checks.end();
