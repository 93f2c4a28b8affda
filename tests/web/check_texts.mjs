/* Runs that differ in an activation, in nothing, and in the library of their model: what
 * the page Compare shows of their C, their plans and their plugins, in a real browser.
 *
 * Usage: node check_texts.mjs CSENGINE DIST SCREENSHOTS DIRECTORY */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Checks } from "./checks.mjs";
import { succeeded } from "./real_server.mjs";
import { inARealTab } from "./real_tab.mjs";

const [csengine, dist, shots, directory] = process.argv.slice(2);
const libraries = join(directory, "libraries");

const FC = (activation) =>
  `{name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4, activation: ${activation}}`;
const OWN = (name) =>
  `{library: ${libraries}/${name}.so, name: softsign_net, input_size: 16, num_classes: 4}`;
const config = (model, compiled = "compiled") => `trainer:
  init:
    backend:
      compile_dir: ${join(directory, compiled)}
      cluster_config: {num_csx: 1, num_workers_per_csx: 1}
    model: ${model}
    optimizer: {SGD: {lr: 0.01}}
    loop: {num_steps: 4}
    seed: 1
  fit:
    train_dataloader:
      data_processor: synthetic
      features: [16]
      classes: 4
      batch_size: 64
      micro_batch_size: 16
      samples: 1024
`;

const RUNS = {
  relu: config(FC("relu")),
  gelu: config(FC("gelu")),
  again: config(FC("relu")),
  gone: config(FC("relu"), "compiled/gone"),
  own: config(OWN("own")),
  other: config(OWN("other")),
  "own-again": config(OWN("own")),
};

const panel = (page) => page.locator("[data-panel=texts]");
const compare = (api, page, runs, text) =>
  page.goto(`${api.url}/compare?runs=${runs.join()}${text ? `&text=${text}` : ""}`);

/* The rows of the table: number and text of both sides; null where a side has no line. */
const rowsOf = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("table.texts tbody tr:not(.begin)")].map((row) => {
      const [leftNumber, left, rightNumber, right] = row.cells;
      const side = (number, code) =>
        number.textContent === ""
          ? null
          : {
              number: Number(number.textContent),
              text: [...code.childNodes]
                .filter((part) => part.nodeType === Node.TEXT_NODE)
                .map((part) => part.data)
                .join(""),
            };
      return {
        differs: row.classList.contains("differs"),
        left: side(leftNumber, left),
        right: side(rightNumber, right),
      };
    }),
  );

const linesOf = async (api, id, part) =>
  (await api.get(`/jobs/${id}/compiled?part=${part}`)).text.split("\n");

/* Each line that is shown is that of its text, and what is not shown is the same in both. */
async function isWhole(checks, api, page, [left, right], part) {
  const rows = await rowsOf(page);
  const texts = [await linesOf(api, left, part), await linesOf(api, right, part)];
  const wrong = rows.filter((row) =>
    [row.left, row.right].some((line, i) => line && texts[i][line.number - 1] !== line.text),
  );
  checks.that(wrong.length === 0, `${part}: the lines are those of the texts`, wrong);
  const differing = rows.filter((row) => row.differs);
  const numbers = ["left", "right"].map(
    (side) => new Set(differing.flatMap((row) => row[side]?.number ?? [])),
  );
  const rest = texts.map((lines, i) => lines.filter((_, n) => !numbers[i].has(n + 1)).join("\n"));
  checks.that(rest[0] === rest[1], `${part}: without them both are the same`);
  return { rows, texts };
}

async function differ(checks, api, page) {
  await compare(api, page, ["relu", "gelu"]);
  await panel(page).waitFor();
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  checks.that((await page.locator("table.texts").count()) === 0, "no text is read by itself");
  await panel(page).getByRole("button", { name: "Generated C" }).click();
  await page.locator("table.texts").waitFor();
  checks.that(
    asked.some((url) => /\/texts\.\w+\.js$/.test(url)),
    "what compares texts is loaded when a text is opened",
    asked.join("\n"),
  );
  while (await panel(page).getByRole("button", { name: "Show more" }).count())
    await panel(page).getByRole("button", { name: "Show more" }).click();
  const { rows, texts } = await isWhole(checks, api, page, ["relu", "gelu"], "source");
  /* The line of the activation, which the text of one run alone has. */
  const number = texts[1].findIndex((line) => /gelu/.test(line) && !texts[0].includes(line)) + 1;
  const named = rows.find((row) => row.right?.number === number);
  checks.that(
    number > 0 && named?.differs === true,
    `line ${number} differs`,
    texts[1][number - 1],
  );
  checks.that(
    rows.length < Math.min(texts[0].length, texts[1].length) / 2,
    "what is the same is left out",
    `${rows.length} of ${texts[0].length} lines`,
  );
  await panel(page).getByRole("button", { name: /^Plan/ }).click();
  await page.locator("table.texts td", { hasText: /gelu/ }).first().waitFor();
  await isWhole(checks, api, page, ["relu", "gelu"], "plan");
}

async function same(checks, api, page) {
  for (const [part, title] of [
    ["source", "Generated C"],
    ["plan", "Plan"],
  ]) {
    await compare(api, page, ["relu", "again"], part);
    const words = panel(page).locator("[role=status]", { hasText: "the same in both" });
    await words.waitFor();
    checks.that((await words.innerText()).startsWith(title), `equal ${part}: it is said`);
    checks.that((await page.locator("table.texts").count()) === 0, `equal ${part}: no table`);
  }
}

async function missing(checks, api, page) {
  const folder = join(directory, "compiled/gone");
  checks.that(existsSync(folder) && readdirSync(folder).length > 0, "it was compiled there");
  rmSync(folder, { recursive: true });
  await compare(api, page, ["relu", "gone"], "source");
  await panel(page).locator("text=Nothing to compare").waitFor();
  const text = await panel(page).innerText();
  checks.that(
    text.includes(folder) && /gone: .*No such file/.test(text),
    "a run without C says why",
    text,
  );
}

async function plugins(checks, api, page) {
  await compare(api, page, ["own", "other", "relu"]);
  const rows = page.locator("[data-panel=plugins] tbody tr");
  await rows.first().waitFor();
  const { runs } = await api.get("/comparison?runs=own,other,relu");
  const model = runs.map(({ plugins: all }) => all?.find((one) => one.name === "softsign_net"));
  checks.that(
    /^[0-9a-f]{64}$/.test(model[0]?.digest) && model[0].digest !== model[1]?.digest,
    "two libraries have two digests",
    JSON.stringify(model),
  );
  checks.that(runs[2].plugins?.length === 0, "a run without plugins says that it has none");
  const row = page.locator('[data-plugin="model softsign_net"]');
  const text = await row.innerText();
  checks.that(
    text.includes("different") &&
      model.slice(0, 2).every((one) => text.includes(one.digest.slice(0, 16))),
    "another library is another plugin",
    text,
  );
  await compare(api, page, ["own", "own-again"]);
  await rows.first().waitFor();
  const tones = await rows.locator(".effect").allInnerTexts();
  checks.that(
    tones.every((tone) => tone.trim() === "same"),
    "the same library is the same",
    tones.join(),
  );
  await compare(api, page, ["relu", "gelu"]);
  await page.locator("[data-panel=plugins] >> text=None: no library was loaded.").waitFor();
}

async function looks(checks, api, page) {
  await compare(api, page, ["relu", "gelu"], "plan");
  for (const [width, theme] of [
    [1440, "dark"],
    [390, "dark"],
  ]) {
    await page.setViewportSize({ width, height: 1000 });
    await page.emulateMedia({ colorScheme: theme });
    await page.locator("table.texts").waitFor();
    await panel(page).scrollIntoViewIfNeeded();
    const over = await page.evaluate(() => {
      const main = document.querySelector("main");
      return main.scrollWidth - main.clientWidth;
    });
    checks.that(over <= 0, `${width}: the page is as wide as the view`, over);
    await panel(page).screenshot({ path: join(shots, `texts-${width}-${theme}.png`) });
  }
}

const checks = new Checks();
await inARealTab(
  { checks, csengine, dist, directory, more: ["--allow_library", libraries] },
  async (api) => {
    for (const [id, text] of Object.entries(RUNS)) {
      await api.submit(id, text);
      await succeeded(api, id);
    }
  },
  async (api, page) => {
    await differ(checks, api, page);
    await same(checks, api, page);
    await missing(checks, api, page);
    await plugins(checks, api, page);
    await looks(checks, api, page);
  },
);
