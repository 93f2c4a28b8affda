/* The pictures of docs/dashboard.md, of made-up jobs at a time that stands still: the same pictures
 * from the same pages. Colours are reduced to the 256 that a small PNG has.
 *
 * Usage: node pictures.mjs DIST FOLDER [NAME...] */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab } from "./browser.mjs";
import { reduced } from "./palette_png.mjs";

const [dist, folder, ...wanted] = process.argv.slice(2);
const NOW = Date.UTC(2026, 10, 30, 12);
const WAIT_MS = 60_000;
const WIDE = { width: 1200, height: 760 };
const PHONE = { width: 390, height: 780 };

/* Name of the file, address, a text that only the filled page has, window and theme. */
const job = "/jobs/gpt2-live";
const PICTURES = [
  ["pulse", `${job}/pulse`, "text=What stands out", WIDE, "light"],
  ["experiments", "/experiments?baseline=resumed&sort=-loss", ".experiments .delta", WIDE, "dark"],
  ["compare", "/compare?runs=gpt2-live,resumed&smooth=0.8", "figure canvas", WIDE, "light"],
  ["graph", `${job}/graph`, "svg >> text=48 alike", WIDE, "dark"],
  ["samples", `${job}/samples`, '.token-5:text("perpetual")', WIDE, "light"],
  ["probabilities", `${job}/samples`, 'text="0.0613"', WIDE, "light"],
  ["phone_pulse", `${job}/pulse`, "text=What stands out", PHONE, "light"],
  ["phone_curves", `${job}/curves`, "figure canvas", PHONE, "dark"],
];

/* What is shown is below the first window. */
const SCROLLED = { probabilities: ".share-panels" };

/* Before the made-up jobs are made, which are as old as they say. */
Date.now = () => NOW;
const { startMock } = await import("./mock.mjs");
mkdirSync(folder, { recursive: true });
const mock = await startMock({ dist });
for (const timer of mock.timers) clearInterval(timer);
const { context, close } = await openBrowser({ reducedMotion: "reduce" });
let missing = 0;
try {
  const { page } = await openTab(context, mock.url);
  await page.clock.setFixedTime(NOW);
  for (const [name, address, sign, size, theme] of PICTURES) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: theme });
    await page.goto(mock.url + address);
    await page.locator(sign).first().waitFor({ timeout: WAIT_MS });
    if (SCROLLED[name])
      await page.locator(SCROLLED[name]).evaluate((one) => one.scrollIntoView({ block: "end" }));
    await page.waitForFunction(() => !document.querySelector("main .loading"));
    await page.waitForTimeout(600);
    const png = reduced(await page.screenshot());
    const file = name === "pulse" ? "dashboard.png" : `dashboard_${name}.png`;
    writeFileSync(join(folder, file), png);
    console.log(`${file}: ${png.length} bytes`);
  }
} catch (error) {
  console.log(error.stack);
  missing = 1;
}
await close();
mock.close();
process.exit(missing);
