/* The step graph as a cockpit, over a real run whose gradients overflow, in a real browser: painted by
 * what the run has recorded, what broke first on top and chosen, the C and the roofline of a kernel
 * as the API has them, and another precision that is tried from a checkpoint.
 *
 * Usage: node check_cockpit.mjs CSENGINE DIST SCREENSHOTS DIRECTORY */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Checks } from "./checks.mjs";
import { checkLooks } from "./looks.mjs";
import { succeeded } from "./real_server.mjs";
import { inARealTab } from "./real_tab.mjs";

const [csengine, dist, shots, directory] = process.argv.slice(2);
const JOB = "overflows";

/* A loss scale at which gradients are beyond the largest value of float16. */
const CONFIG = `trainer:
  init:
    backend:
      compile_dir: ${join(directory, "compiled")}
      cluster_config: {num_csx: 1, num_workers_per_csx: 1}
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [32, 32], num_classes: 4}
    optimizer: {SGD: {lr: 0.05}}
    precision: {fp16_type: float16, loss_scaling_factor: 67108864.0}
    callbacks: [{ComputeNorm: {}}]
    loop: {num_steps: 41}
    checkpoint: {steps: 10}
    numerics: {every: 2}
    seed: 1
  fit:
    train_dataloader:
      data_processor: synthetic
      features: [16]
      classes: 4
      batch_size: 64
      samples: 1024
`;

const graphPage = (more = "") => `/jobs/${JOB}/graph${more}`;
const aside = (page) => page.locator("aside[aria-label='Chosen part']");

async function culprit(checks, api, page) {
  await page.goto(`${api.url}${graphPage("?paint=overflow")}`);
  await page.locator(".culprit").waitFor({ timeout: 30_000 });
  const { records } = await api.get(`/jobs/${JOB}/numerics?bad=true&histograms=false&limit=1000`);
  const { tensors } = await api.get(`/jobs/${JOB}/tensors`);
  const step = Math.min(...records.map((one) => one.step));
  const named = await page.locator(".culprit strong").innerText();
  const tensor = tensors.find((one) => one.name === named);
  checks.that(
    records.some((one) => one.tensor === tensor?.id && one.step === step),
    "what is named has a bad record of the first bad step",
    named,
  );
  const banner = await page.locator(".culprit").innerText();
  checks.that(banner.includes(`step ${step}`), "with its step", banner);
  await page.locator(".node.chosen").waitFor();
  checks.that(/[?&]at=/.test(page.url()), "it is chosen, and the address has it", page.url());
  const shade = await page.locator(".node.chosen").getAttribute("data-level");
  checks.that(Number(shade) > 0, "its box has the colour of a share", shade);
  await aside(page).locator("canvas.heat").waitFor();
  const link = await aside(page)
    .locator("a", { hasText: /values at step/ })
    .getAttribute("href");
  checks.that(/tensors\?.*step=\d+.*begin=1/.test(link), "its values are a click away", link);
  await page.locator(".node.chosen").focus();
  await page.keyboard.press("Enter");
  await aside(page).waitFor({ state: "detached" });
  checks.that(!/[?&]at=/.test(page.url()), "who closes it is not shown it again", page.url());
}

/* The figures of the boxes are those of the API. */
async function painted(checks, api, page) {
  const { kernels, processes, step } = await api.get(`/jobs/${JOB}/kernels`);
  checks.that(
    kernels.every((one) => one.processes.every((at) => processes[at])),
    "each kernel says which processes ran it",
  );
  await page.goto(`${api.url}${graphPage("?paint=time")}`);
  await page.locator(".node.painted").first().waitFor();
  const scale = await page.locator(".scale").innerText();
  checks.that(scale.includes(`step ${step}`), "the scale says of which step times are", scale);
  const pick = page.getByLabel("paint by");
  await pick.selectOption("gradient");
  await page.locator(".node.painted").first().waitFor();
  const { series } = await api.get(
    `/jobs/${JOB}/metrics?names=per_layer_grad_norm/layer_0&max_points=1000`,
  );
  checks.that(series.length > 0, "the run has norms of layers");
  checks.that(page.url().includes("paint=gradient"), "the address has the choice", page.url());
  await pick.selectOption("placement");
  await page.locator(".node.painted .figure", { hasText: "replica 0" }).first().waitFor();
  await pick.selectOption("ratio");
  await page.locator(".node.painted").first().waitFor();
  const ratio = await page.locator(".scale").innerText();
  checks.that(/norm of the update over that of the weight/.test(ratio), "updates", ratio);
  for (const quantity of ["bytes", "flushed", "absorbed", "precision", "pol"]) {
    await pick.selectOption(quantity);
    await page.locator(".node.painted").first().waitFor();
  }
  await pick.selectOption("");
  await page.locator(".scale").waitFor({ state: "detached" });
}

async function kernel(checks, api, page) {
  await page.goto(`${api.url}${graphPage("?paint=time")}`);
  await page.locator(".node.painted").first().click();
  await aside(page).getByRole("button", { name: "C", exact: true }).click();
  await page.locator(".kernel-source").waitFor();
  const id = await aside(page).getByLabel("kernel").inputValue();
  const { source } = await api.get(`/jobs/${JOB}/kernels/${id}`);
  const shown = await page.locator(".kernel-source").textContent();
  checks.that(shown === source && source.includes("static void"), "the C is the kernel's", shown);
  await aside(page).getByRole("button", { name: "roofline" }).click();
  await aside(page).getByRole("button", { name: "Measure this machine" }).click();
  await aside(page).locator("dd", { hasText: / %$/ }).waitFor();
  const { limit } = await api.get(`/jobs/${JOB}/kernels/${id}`);
  checks.that(limit !== null, "the machine was measured");
  const facts = await aside(page).locator("[data-part=roofline]").innerText();
  checks.that(/Share of the limit\s+[\d.<]+ ?[\d.]* %/.test(facts), "a share of the limit", facts);
}

async function another(checks, api, page) {
  await page.goto(`${api.url}${graphPage("?paint=overflow")}`);
  await page.locator(".node.chosen").waitFor();
  await aside(page).getByRole("button", { name: "try a precision" }).click();
  const panel = aside(page);
  await panel.getByLabel("change").selectOption("bfloat16");
  const from = panel.getByLabel("from step");
  await from.fill("100000");
  await panel.locator("[role=alert]", { hasText: /Give a step from 1 to/ }).waitFor();
  checks.that(await panel.getByRole("button", { name: "Start it" }).isDisabled(), "no such step");
  await from.fill("12");
  await panel.locator("text=/steps 11 to 12 are done again first/").waitFor();
  const words = panel.locator(".what-happens");
  await words.locator("text=/it is accepted, and takes \\d+ cores?/").waitFor({ timeout: 60_000 });
  const text = await words.innerText();
  checks.that(
    /A new job/.test(text) &&
      /shares steps 1 to 12 with/.test(text) &&
      /fp16_type: bfloat16/.test(text),
    "what will happen is said before",
    text,
  );
  checks.that((await api.get("/jobs")).jobs.length === 1, "nothing is started by looking");
  await panel.getByRole("button", { name: "Start it" }).click();
  const link = panel.locator("[role=status] a").first();
  await link.waitFor();
  const id = await link.innerText();
  await succeeded(api, id);
  const { spec } = await api.get(`/jobs/${id}/config`);
  checks.that(
    JSON.stringify(spec.fork_from) === JSON.stringify({ job: JOB, step: 12 }) &&
      JSON.stringify(spec.overrides) === '{"trainer.init.precision.fp16_type":"bfloat16"}',
    "it is this run with one setting changed, from that step",
    JSON.stringify(spec),
  );
  const bad = await api.get(`/jobs/${id}/numerics?bad=true&histograms=false`);
  const all = await api.get(`/jobs/${id}/numerics?histograms=false&limit=1000`);
  checks.that(
    bad.records.every((r) => r.step <= 12) && all.records.some((r) => r.step > 12),
    "in bfloat16 nothing overflows, from step 13 on",
    JSON.stringify(bad.records.at(-1)),
  );
  const { runs } = await api.get(`/jobs/${id}/history`);
  const branch = runs.find((run) => run.id === id);
  checks.that(
    branch?.from === JOB && branch.at === 12 && branch.depth === 1,
    "it is a branch of this run's history",
    JSON.stringify(runs),
  );
  const loss = await api.get(`/jobs/${id}/metrics?names=loss&history=true`);
  checks.that(loss.series[0]?.past?.job === JOB, "with its shared curve");
}

async function looks(checks, api, page) {
  await page.goto(`${api.url}${graphPage("?paint=overflow")}`);
  await page.locator(".node.chosen").waitFor();
  await page.locator("canvas.heat").waitFor();
  await checkLooks(checks, page, { name: "cockpit", shots });
  for (const side of ["code", "roofline", "try"]) {
    await page.goto(`${page.url().replace(/&side=\w+/, "")}&side=${side}`);
    await aside(page).locator("pre, [data-part=roofline] dd, .what-happens").first().waitFor();
    await checkLooks(checks, page, { name: `cockpit-${side}`, shots });
  }
}

mkdirSync(shots, { recursive: true });
const checks = new Checks();
await inARealTab(
  { checks, csengine, dist, directory },
  async (api) => {
    await api.submit(JOB, CONFIG);
    await succeeded(api, JOB);
  },
  async (api, page) => {
    await culprit(checks, api, page);
    await painted(checks, api, page);
    await kernel(checks, api, page);
    await another(checks, api, page);
    await looks(checks, api, page);
  },
);
