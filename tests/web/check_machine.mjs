/* The pages Machine and Timeline over a real run of two replicas, in a real browser: figures are
 * those of the API, what the host does not tell is said, who was waited for is listed, and the trace
 * that is offered for Perfetto is there.
 *
 * Usage: node check_machine.mjs CSENGINE DIST SCREENSHOTS DIRECTORY */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Checks } from "./checks.mjs";
import { checkLooks } from "./looks.mjs";
import { until } from "./real_server.mjs";
import { inARealTab } from "./real_tab.mjs";

const [csengine, dist, shots, directory] = process.argv.slice(2);
const JOB = "steps";

/* It takes steps until it is cancelled. */
const CONFIG = `trainer:
  init:
    backend:
      compile_dir: ${join(directory, "compiled")}
      cluster_config: {num_csx: 2, num_workers_per_csx: 1}
    model: {name: fc_mnist, input_size: 256, hidden_sizes: [256, 256], num_classes: 4}
    optimizer: {SGD: {lr: 0.01}}
    loop: {num_steps: 100000000}
    seed: 1
  fit:
    train_dataloader:
      data_processor: synthetic
      features: [256]
      classes: 4
      batch_size: 96
      micro_batch_size: 32
      samples: 1024
`;

async function machine(checks, api, page) {
  const told = await api.get(`/jobs/${JOB}/machine`);
  const host = told.hosts[0];
  await page.goto(`${api.url}/jobs/${JOB}/machine`);
  await page.locator("[data-part=cores]").waitFor();
  const head = await page.locator("main header, main .page-head, main").first().innerText();
  checks.that(head.includes(host.name), "the host has its name");
  for (const part of ["cores", "clock", "memory", "disk", "network", "temperature"]) {
    const shown = page.locator(`[data-part=${part}]`).first();
    const says = /Not readable on this host/.test(await shown.innerText());
    const drawn = (await shown.locator("canvas, svg, .uplot").count()) > 0;
    const missing = host.not_readable.includes(part);
    checks.that(says === missing && drawn !== missing, `${part}: drawn, or said why not`);
  }
  if (host.cores.at(-1)) {
    const label = await page.locator(".cores svg").getAttribute("aria-label");
    checks.that(label.includes(`${host.cores.at(-1).length} cores`), "each core has a row", label);
  }
  await page.getByText("Loss, in these minutes").waitFor();
}

async function waited(checks, api, page) {
  await page.locator(".stragglers tbody tr").first().waitFor();
  const names = await page.locator(".stragglers tbody td:first-child").allInnerTexts();
  checks.that(
    names.every((name) => /^(replica|input worker|coordinator)/.test(name)),
    "who is waited for is a process",
    names.join(),
  );
  await page.goto(`${api.url}/jobs/${JOB}/timeline`);
  await page.locator("canvas.gantt").waitFor();
  const pairs = await page
    .locator("section[aria-label='Who waits for whom'] tbody tr")
    .evaluateAll((rows) => rows.map((row) => [...row.cells].slice(0, 2).map((c) => c.innerText)));
  checks.that(
    pairs.every(([who, whom]) => who !== whom),
    "nobody waits for itself",
    JSON.stringify(pairs),
  );
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "all steps for Perfetto" }).click(),
  ]);
  const trace = JSON.parse(readFileSync(await download.path(), "utf8"));
  const spans = trace.traceEvents.filter((one) => one.ph === "X");
  checks.that(spans.length > 0 && spans.every((one) => one.dur >= 0), "a trace is downloaded");
}

async function looks(checks, api, page) {
  for (const name of ["machine", "timeline"]) {
    await page.goto(`${api.url}/jobs/${JOB}/${name}`);
    await page.locator("section[aria-label=Stragglers] tbody tr").first().waitFor();
    await checkLooks(checks, page, { name, shots });
  }
}

mkdirSync(shots, { recursive: true });
const checks = new Checks();
await inARealTab(
  { checks, csengine, dist, directory },
  async (api) => {
    await api.submit(JOB, CONFIG);
    await until("samples of the host", async () => {
      const told = await api.get(`/jobs/${JOB}/machine`);
      return told?.hosts[0]?.time_ms.length >= 2;
    });
    await until(
      "a sampled step",
      async () => (await api.get(`/jobs/${JOB}/trace`)).steps.length > 5,
    );
    await api.order(JOB, "cancel");
    await until("the end", async () => !(await api.job(JOB)).alive);
  },
  async (api, page) => {
    await machine(checks, api, page);
    await waited(checks, api, page);
    await looks(checks, api, page);
  },
);
