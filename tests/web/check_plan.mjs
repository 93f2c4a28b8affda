/* The page Plan: what is said without a profile, a curve of 64 points for each figure, points that
 * are not known are left out, and a choice asks the server again.
 *
 * Usage: node check_plan.mjs DIST SCREENSHOTS */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab } from "./browser.mjs";
import { startMock } from "./mock.mjs";
import { Checks } from "./checks.mjs";

const [dist, shots] = process.argv.slice(2);
const JOB = "gpt2-live";

async function pages(checks, mock, context) {
  const { page, faults } = await openTab(context, mock.url);
  await page.goto(`${mock.url}/jobs/${JOB}/plan`);
  await page.locator("text=No plan yet").waitFor({ timeout: 30_000 });
  checks.that(
    /--save_profile/.test(await page.locator("main").innerText()),
    "without a profile the page says how to make one",
  );
  mock.jobs.get(JOB).plan = true;
  await page.goto(`${mock.url}/jobs/${JOB}/plan?again`);
  await page.locator(".plan-curve svg").first().waitFor({ timeout: 30_000 });
  const points = () =>
    page.evaluate(() =>
      [...document.querySelectorAll(".plan-curve")].map(
        (one) => one.querySelectorAll("circle").length,
      ),
    );
  const counts = await points();
  checks.that(
    counts.length === 6 && counts.every((n) => n === 64),
    "six curves of 64 hosts",
    counts.join(),
  );
  const title = await page.locator(".plan-curve circle title").first().textContent();
  checks.that(/^1 hosts: 4,?010$/.test(title), "a point says its value", title);
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.locator("select").nth(1).selectOption("100");
  await page.waitForFunction(
    () => document.querySelectorAll(".plan-curve")[3].querySelectorAll("circle").length === 63,
    null,
    { timeout: 10_000 },
  );
  checks.that(
    asked.some((url) => /plan\?.*mtbf=100/.test(url)),
    "a choice asks the server",
    asked.join("\n"),
  );
  for (const [width, theme] of [
    [1440, "light"],
    [1440, "dark"],
    [390, "light"],
  ]) {
    await page.setViewportSize({ width, height: 1100 });
    await page.emulateMedia({ colorScheme: theme });
    await page.waitForTimeout(100);
    const over = await page.evaluate(() => {
      const main = document.querySelector("main");
      return main.scrollWidth - main.clientWidth;
    });
    checks.that(over <= 0, `${width} ${theme}: the page is as wide as the view`, over);
    await page.screenshot({ path: join(shots, `plan-${width}-${theme}.png`) });
  }
  checks.that(faults.length === 0, "silent console", faults.join("\n"));
  await page.close();
}

mkdirSync(shots, { recursive: true });
const checks = new Checks();
const mock = await startMock({ dist });
const { context, close } = await openBrowser({ reducedMotion: "reduce" });
try {
  await pages(checks, mock, context);
} catch (error) {
  checks.that(false, "the test ran to its end", error.stack);
}
await close();
mock.close();
checks.end();
