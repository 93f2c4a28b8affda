/* The page Tensors over real runs, in a real browser: from an overflow that is found, a point of a
 * curve and a part of the step graph to the values of a step; what is shown against the API; the
 * progress of a replay, its end, and why it cannot be.
 *
 * Usage: node check_tensors.mjs CSENGINE DIST SCREENSHOTS DIRECTORY */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openTab } from "./browser.mjs";
import { Checks } from "./checks.mjs";
import { checkLooks } from "./looks.mjs";
import { Api, endAll, startServer, succeeded, tellFailure } from "./real_server.mjs";

const [csengine, dist, shots, directory] = process.argv.slice(2);
const STEPS = 60;
const LONG = 60_000;
const SLOW_MS = 120_000;
const RELU = "model.fc_layers.0.relu";

const config = ({ steps, init = "" }) => `trainer:
  init:
    backend:
      compile_dir: ${join(directory, "compiled")}
      cluster_config: {num_csx: 1, num_workers_per_csx: 1}
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4}
    optimizer: {SGD: {lr: 0.01}}
    loop: {num_steps: ${steps}}
    checkpoint: {steps: 20}
    seed: 1
${init}  fit:
    train_dataloader:
      data_processor: synthetic
      features: [16]
      classes: 4
      batch_size: 64
      micro_batch_size: 16
      samples: 1024
`;

const JOBS = {
  /* Its scale is too large at first. */
  halved: config({
    steps: STEPS,
    init:
      "    precision: {fp16_type: float16, loss_scaling_factor: dynamic, " +
      "initial_loss_scale: 100000000, max_loss_scale: 1000000000}\n    numerics: {every: 1}\n",
  }),
  long: config({ steps: LONG }).replace("{steps: 20}", `{steps: ${LONG}}`),
};

const canvas = (page) => page.locator("canvas.cells");
const reading = (page) => page.locator("[data-part=reading]").innerText();
const address = (page) => new URL(page.url());

async function valuesOf(api, job, step, tensor, more = "") {
  const path = `/api/v1/jobs/${job}/steps/${step}/values?tensor=${encodeURIComponent(tensor)}${more}`;
  const answer = await fetch(api.url + path, api);
  return new Float32Array(await answer.arrayBuffer());
}

/* ---- one click from an overflow ---- */

async function fromOverflow(checks, api, page) {
  await page.goto(`${api.url}/jobs/halved/numerics`);
  const banner = page.locator(".banner", { hasText: "The first to overflow" });
  await banner.waitFor({ timeout: SLOW_MS });
  const name = await banner.locator("strong").innerText();
  const began = Date.now();
  await banner.locator("a", { hasText: "See its values" }).click();
  await canvas(page).waitFor({ timeout: SLOW_MS });
  console.log(`first answer of a step, from the click: ${Date.now() - began} ms`);
  const shown = await page.locator("[data-part=name]").innerText();
  checks.that(shown === name, "the tensor that overflowed is shown", `${shown}, not ${name}`);
  const step = Number(address(page).searchParams.get("step"));
  const answer = await api.get(`/jobs/halved/steps/${step}/tensors`);
  const tensor = answer.answer.tensors.find((one) => one.name === name);
  checks.that(tensor.nan + tensor.inf > 0, "and is not finite", JSON.stringify(tensor));
  const figures = await page.locator("[data-part=figures]").innerText();
  checks.that(
    figures.includes(`${tensor.nan}, ${tensor.inf}`),
    "so do its figures say",
    `${figures}: ${tensor.nan}, ${tensor.inf}`,
  );
  checks.that(
    answer.answer.bits === "same" && (await page.locator('[data-bits="same"]').count()) === 1,
    "these are the run's bits",
    answer.answer.words,
  );
  checks.that(!address(page).searchParams.has("begin"), "the address asks for nothing", page.url());
  await page.screenshot({ path: join(shots, "tensors-overflow.png") });
  await page.goto(`${api.url}/jobs/halved/pulse`);
  const finding = page.locator(".findings a", { hasText: "its values" });
  await finding.waitFor({ timeout: SLOW_MS });
  await finding.click();
  const path = () => `${address(page).pathname} ${address(page).searchParams.get("tensor")}`;
  await page.waitForURL(/tensors\?/);
  checks.that(path() === `/jobs/halved/tensors ${name}`, "the pulse leads there, too", path());
}

/* ---- from a curve ---- */

async function fromCurve(checks, api, page) {
  await page.goto(`${api.url}/jobs/halved/curves?filter=^loss$`);
  const over = page.locator(".chart .u-over").first();
  await over.waitFor({ timeout: SLOW_MS });
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width * 0.55, box.y + box.height / 2);
  await page.mouse.click(box.x + box.width * 0.55, box.y + box.height / 2);
  const link = page.locator(".point-link").first();
  await link.waitFor({ timeout: 30_000 });
  const step = Number((await link.innerText()).replace(/\D/g, ""));
  checks.that(step > 25 && step < 45, "a click on a curve offers the step under it", step);
  await page.screenshot({ path: join(shots, "tensors-curve.png") });
  await page.locator(".chart .canvas").first().focus();
  await page.mouse.move(0, 0);
  await page.keyboard.press("Enter");
  checks.that((await link.count()) === 1, "and so does Enter");
  await page.mouse.click(box.x + box.width * 0.55, box.y + box.height / 2);
  await link.click();
  await page.waitForURL(/tensors\?step=/);
  const begin = page.locator("button.primary", { hasText: /Do step/ });
  await begin.waitFor({ timeout: SLOW_MS });
  checks.that(
    /from the checkpoint of step 20/.test(await page.locator(".begin").innerText()),
    "it says what a replay does",
    await page.locator(".begin").innerText(),
  );
  await page.screenshot({ path: join(shots, "tensors-begin.png") });
  const began = Date.now();
  await begin.click();
  await canvas(page).waitFor({ timeout: SLOW_MS });
  console.log(`first answer of step ${step}: ${Date.now() - began} ms`);
  return step;
}

/* ---- the values ---- */

async function looked(checks, api, page, step) {
  await page.locator("input.filter").fill("relu");
  await page.locator(`tr[data-tensor="${RELU}"]`).waitFor();
  const rows = await page.locator(".step-tensors tbody tr").count();
  checks.that(rows > 0 && rows < 5, "the filter narrows the list", rows);
  const began = Date.now();
  await page.locator(`tr[data-tensor="${RELU}"] button`).click();
  await page.locator(`canvas.cells[aria-label^="${RELU}"]`).waitFor({ timeout: SLOW_MS });
  console.log(`second question of the same step: ${Date.now() - began} ms`);
  const all = await valuesOf(api, "halved", step, RELU);
  await canvas(page).focus();
  for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown"])
    await page.keyboard.press(key);
  const { answer } = await api.get(`/jobs/halved/steps/${step}/tensors`);
  const said = await reading(page);
  /* Seven digits, with separators of thousands. */
  const close = (text, value) =>
    Math.abs(Number(text.split(": ").pop().replaceAll(",", "")) - value) <=
    1e-5 * Math.abs(value) + 1e-6;
  checks.that(
    said.includes(`sample ${answer.samples[2]}`) && close(said, all[2 * 32 + 2]),
    "the value under the cursor, with its sample",
    `${said}: ${all[2 * 32 + 2]} of ${answer.samples[2]}`,
  );
  await page.locator("[data-cut=sample] select").selectOption("9");
  await page.locator("h2", { hasText: /^1 × 32/ }).waitFor();
  await page.locator("[data-cut=sample] select").selectOption("-1");
  await page.getByLabel("Number of heads").fill("4");
  await page.getByLabel("Number of heads").press("Enter");
  await page.locator("h2", { hasText: /^64 × 8/ }).waitFor();
  await page.locator("[data-cut=head] button[aria-label='head after']").click();
  await page.locator("[data-cut=head] button[aria-label='head after']").click();
  await page.waitForURL(/at=-1%2C2%2C-1/);
  await page.waitForTimeout(300);
  const box = await canvas(page).boundingBox();
  await page.mouse.move(box.x + box.width * (5.5 / 8), box.y + box.height * (7.5 / 64));
  const by = await reading(page);
  checks.that(
    by.startsWith("[7, 2, 5]") && close(by, all[7 * 32 + 16 + 5]),
    "by head: the value under the pointer",
    `${by}: ${all[7 * 32 + 16 + 5]}`,
  );
  await shared(checks, page, by);
  await saved(checks, api, page, step);
}

async function shared(checks, page, by) {
  const at = page.url();
  await page.reload();
  await canvas(page).waitFor({ timeout: SLOW_MS });
  const box = await canvas(page).boundingBox();
  await page.mouse.move(box.x + box.width * (5.5 / 8), box.y + box.height * (7.5 / 64));
  checks.that(
    page.url() === at && (await reading(page)) === by,
    "the address shows the same part again",
    `${page.url()}: ${await reading(page)}`,
  );
  await page.keyboard.press("Escape");
  await canvas(page).dblclick();
  await page.waitForURL(/zoom=/);
  await canvas(page).focus();
  await page.keyboard.press("0");
  await page.waitForFunction(() => !location.search.includes("zoom="));
  checks.that(true, "a double click looks closer, and zero shows all");
}

async function saved(checks, api, page, step) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator("a[download]", { hasText: "part.npy" }).click(),
  ]);
  const bytes = readFileSync(await download.path());
  const values = await valuesOf(api, "halved", step, RELU, "&shape=64,4,8&at=-1,2,-1");
  checks.that(
    bytes.subarray(1, 6).toString() === "NUMPY" &&
      bytes.subarray(-values.byteLength).equals(Buffer.from(values.buffer)),
    "the part is saved as an array of NumPy",
    bytes.length,
  );
}

/* ---- steps ---- */

async function stepped(checks, api, page, step) {
  await page.goto(`${api.url}/jobs/halved/tensors?step=${step}`);
  await canvas(page).waitFor({ timeout: SLOW_MS });
  const marks = await page.locator(".step-marks .checkpoint").count();
  checks.that(marks >= 3, "checkpoints are marked", marks);
  await page.locator(".step-slider input").focus();
  await page.keyboard.press("ArrowRight");
  await page.locator("button.primary", { hasText: `Do step ${step + 1} again` }).waitFor();
  const field = page.locator(".step-picker input[type=number]");
  await field.fill(String(step));
  await field.press("Enter");
  await canvas(page).waitFor({ timeout: SLOW_MS });
  checks.that(true, "a step that was done is there at once when one comes back");
  await page.goto(`${api.url}/jobs/halved/tensors?step=7`);
  await page.getByLabel("Tensors to keep").fill("nothing");
  await page.locator("button.primary").click();
  const alert = page.locator("[role=alert]");
  await alert.waitFor({ timeout: SLOW_MS });
  checks.that(/nothing/.test(await alert.innerText()), "why it cannot be", await alert.innerText());
  await page.screenshot({ path: join(shots, "tensors-failed.png") });
}

async function ended(checks, api, page) {
  await page.goto(`${api.url}/jobs/long/tensors?step=${LONG - 1}&begin=1`);
  const running = page.locator("[data-replay=running]");
  await running.locator("text=/is done again/").waitFor({ timeout: SLOW_MS });
  const value = await running.locator("[role=meter]").getAttribute("aria-valuenow");
  checks.that(Number(value) >= 0 && Number(value) < 100, "progress while it is done", value);
  await page.screenshot({ path: join(shots, "tensors-running.png") });
  await page.goto(`${api.url}/jobs/halved/tensors?step=3`);
  await page.goto(`${api.url}/jobs/long/tensors?step=${LONG - 1}`);
  await running.locator("button", { hasText: "Cancel" }).click();
  await page.locator("button.primary", { hasText: /Do step/ }).waitFor({ timeout: SLOW_MS });
  const { replays } = await api.get("/jobs/long/steps");
  checks.that(replays.length === 0, "it is ended", JSON.stringify(replays));
}

async function fromGraph(checks, api, page) {
  await page.goto(`${api.url}/jobs/halved/graph`);
  const node = page.locator("svg [role=button], svg g.node").first();
  await node.waitFor({ timeout: SLOW_MS });
  await node.click();
  await page.locator("aside a", { hasText: "Its tensors" }).click();
  await page.waitForURL(/tensors\?filter=/);
  checks.that(true, "a part of the step graph leads to its tensors");
}

/* ---- looks ---- */

async function looks(checks, api, page, step) {
  const part = encodeURIComponent(RELU);
  for (const [name, path] of Object.entries({
    tensors: `tensors?step=${step}&tensor=${part}&heads=4&at=-1%2C-1%2C-1`,
    "tensors-log": `tensors?step=${step}&tensor=model.last_layer.weight.gradient&scale=log&bins=value`,
    "tensors-none": "tensors?step=5",
  })) {
    await page.goto(`${api.url}/jobs/halved/${path}`);
    await page.locator("canvas.cells, .begin").first().waitFor({ timeout: SLOW_MS });
    await checkLooks(checks, page, {
      name,
      shots,
      more: async (here) => {
        const histogram = page.locator("section[aria-label=Histogram]");
        if ((await histogram.count()) === 0) return;
        await histogram.scrollIntoViewIfNeeded();
        await page.screenshot({ path: join(shots, `${here}-histogram.png`) });
        await page.locator("main").evaluate((main) => main.scrollTo(0, 0));
      },
    });
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

mkdirSync(shots, { recursive: true });
const checks = new Checks();
const { server, url, token } = await startServer({ csengine, dist, directory });
const api = new Api(url, token);
const { context, close } = await openBrowser({ acceptDownloads: true });
let tab;
try {
  for (const [id, text] of Object.entries(JOBS)) await api.submit(id, text);
  for (const id of Object.keys(JOBS)) await succeeded(api, id);
  await (await context.newPage()).goto(`${url}/jobs?token=${token}`);
  tab = await openTab(context, url);
  const { page } = tab;
  await fromOverflow(checks, api, page);
  const step = await fromCurve(checks, api, page);
  await looked(checks, api, page, step);
  await stepped(checks, api, page, step);
  await fromGraph(checks, api, page);
  await looks(checks, api, page, step);
  await ended(checks, api, page);
  checks.that(tab.faults.length === 0, "silent console", tab.faults.join("\n"));
} catch (error) {
  await tellFailure(checks, error, tab);
}
await close();
await endAll(api, server);
checks.end();
