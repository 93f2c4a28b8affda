/* Chromium for the tests: Debian's, headless, with a profile of its own, and nothing that talks to
 * anyone but the page's server. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const modules =
  process.env.CSE_WEB_TEST_MODULES ?? new URL("./node_modules", import.meta.url).pathname;
const require = createRequire(join(modules, "x.js"));
const { chromium } = require("playwright-core");
export const axeSource = require("axe-core").source;

export const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];

export async function openBrowser(options = {}) {
  const profile = mkdtempSync(join(tmpdir(), "cse-web-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: ARGUMENTS,
    viewport: { width: 1440, height: 900 },
    ...options,
  });
  return {
    context,
    close: async () => {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** A tab that collects what it should not have: errors on the console, requests to other origins.
 */
export async function openTab(context, origin) {
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      faults.push(`${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => faults.push(String(error.stack ?? error)));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(data|blob|about):/.test(url)) faults.push(`leaves: ${url}`);
  });
  return { page, faults };
}

/** Replaces the text of the editor. */
export async function write(page, text) {
  await page.locator(".editor .cm-content").click({ timeout: 30_000 });
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}
