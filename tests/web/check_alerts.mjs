/* The page Alerts over a real run, in a real browser: what was told is shown as the API has it, a
 * condition is tried, and what is wrong with one is said.
 *
 * Usage: node check_alerts.mjs CSENGINE DIST SCREENSHOTS DIRECTORY */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { checkLooks } from "./looks.mjs";
import { Api, endAll, startServer, succeeded, tellFailure } from "./real_server.mjs";

const [csengine, dist, shots, directory] = process.argv.slice(2);
const LOW = "loss < 0.5 * max(loss)";
const JUMP = "loss > 1.1 * median(loss, 20)";

const config = (alerts) => `trainer:
  init:
    backend:
      compile_dir: ${join(directory, "compiled")}
      cluster_config: {num_csx: 1, num_workers_per_csx: 1}
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4}
    optimizer: {SGD: {lr: 0.05}}
    loop: {num_steps: 500}
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

const JOBS = { watched: config([LOW]), silent: config([]) };

/* The rows of a section's table: condition, step, whether it begins. */
const rowsOf = (section) =>
  section.locator("tbody tr").evaluateAll((rows) =>
    rows.map((row) => {
      const cells = [...row.querySelectorAll("td")].map((cell) => cell.innerText.trim());
      return [cells[2], Number(cells[0].replaceAll(/\D/g, "")), cells[1] === "begins"];
    }),
  );

const asRows = (alerts) => alerts.map((one) => [one.condition, one.step, one.begins]);

async function sameRows(checks, section, alerts, what) {
  await section.locator("tbody tr").first().waitFor();
  const shown = JSON.stringify(await rowsOf(section));
  const wanted = JSON.stringify(asRows(alerts));
  checks.that(alerts.length > 0 && shown === wanted, what, `${shown}\n${wanted}`);
}

async function told(checks, api, page) {
  await page.goto(`${api.url}/jobs/watched/alerts`);
  const { alerts } = await api.get("/jobs/watched/alerts");
  const section = page.locator("section", { hasText: "Given by this run" });
  await sameRows(checks, section, alerts, "what was told is shown");
  await page.goto(`${api.url}/jobs/silent/alerts`);
  await page.locator("text=/No condition .* has held/").waitFor();
  checks.that(true, "a run without alerts says so");
}

async function tried(checks, api, page) {
  await page.goto(`${api.url}/jobs/silent/alerts`);
  const field = page.getByLabel("Condition");
  await field.fill(JUMP);
  await field.press("Enter");
  const section = page.locator("section", { hasText: "Try a condition" });
  const path = `/jobs/silent/alerts?condition=${encodeURIComponent(JUMP)}`;
  await sameRows(checks, section, (await api.get(path)).alerts, "a trial is shown");
  const address = page.url();
  checks.that(address.includes("condition="), "the address has the condition", address);
  await field.fill("loss > 1e9");
  await field.press("Enter");
  await section.locator("text=It would never have been given").waitFor();
  for (const [text, message] of [
    ["los > 3", /has no value of los; it has:.* loss/],
    ["loss >", /ends too early/],
    ["loss > <img src=x>", /expected/],
  ]) {
    await field.fill(text);
    await field.press("Enter");
    const alert = section.locator("[role=alert]", { hasText: message });
    await alert.waitFor({ timeout: 10_000 }).catch(() => undefined);
    checks.that((await alert.count()) === 1, `what is wrong with "${text}"`);
  }
  checks.that((await section.locator("img").count()) === 0, "a text is no markup");
}

async function looks(checks, api, page) {
  await page.goto(`${api.url}/jobs/watched/alerts?condition=${encodeURIComponent(JUMP)}`);
  await page
    .locator("section", { hasText: "Try a condition" })
    .locator("tbody tr")
    .first()
    .waitFor();
  await checkLooks(checks, page, { name: "alerts", shots });
}

mkdirSync(shots, { recursive: true });
const checks = new Checks();
const { server, url, token } = await startServer({ csengine, dist, directory });
const api = new Api(url, token);
const { context, close } = await openBrowser();
let tab;
try {
  for (const [id, text] of Object.entries(JOBS)) await api.submit(id, text);
  for (const id of Object.keys(JOBS)) await succeeded(api, id);
  await (await context.newPage()).goto(`${url}/jobs?token=${token}`);
  tab = await openTab(context, url);
  const { page } = tab;
  await told(checks, api, page);
  await looks(checks, api, page);
  const quiet = tab.faults.length;
  checks.that(quiet === 0, "silent console", tab.faults.join("\n"));
  await tried(checks, api, page);
} catch (error) {
  await tellFailure(checks, error, tab);
}
await close();
await endAll(api, server);
checks.end();
