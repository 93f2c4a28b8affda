/* What the page Compare computes of runs (web/src/explore): importance by a forest against functions
 * that are known, the front of two figures against its definition, axes and ranges.
 *
 * Usage: node check_explore.mjs MODULES */
import { Checks } from "./checks.mjs";
import { importSources } from "./sources.mjs";

const { LEAST_RUNS, axisOf, forestOf, frontOf, passes, placeOf, numberAt, readLimits, ticksOf } =
  await importSources(process.argv[2], [
    "explore/columns.ts",
    "explore/forest.ts",
    "explore/pareto.ts",
  ]);
const { writeLimits } = await importSources(process.argv[2], ["explore/columns.ts"]);
const checks = new Checks();

let state = 7;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;

/* ---- importance ---- */

const COUNT = 200;
const numbers = (of) => Float64Array.from({ length: COUNT }, (_, i) => of(i));
const strong = numbers(random);
const weak = numbers(random);
const none = numbers(random);
const kind = numbers((i) => i % 3);
const figure = numbers((i) => 4 * strong[i] + weak[i] + (kind[i] === 1 ? 2 : 0));
const features = [
  { name: "none", values: none },
  { name: "weak", values: weak },
  { name: "kind", values: kind },
  { name: "strong", values: strong },
];
const forest = forestOf(features, figure);
const share = (found, name) => found.importances.find((one) => one.name === name).share;
checks.that(
  forest.importances[0].name === "strong" && share(forest, "strong") > 0.5,
  "what a figure depends on most comes first",
  JSON.stringify(forest),
);
checks.that(
  share(forest, "kind") > share(forest, "weak") && share(forest, "weak") > share(forest, "none"),
  "then in the order of their parts of the variance",
  JSON.stringify(forest),
);
checks.that(Math.abs(share(forest, "none")) < 0.02, "what has no part has about none");
checks.that(forest.explained > 0.8, "a function of the settings is learnt", forest.explained);
checks.that(
  JSON.stringify(forestOf(features, figure)) === JSON.stringify(forest),
  "the same runs give the same result",
);
const noise = forestOf([{ name: "none", values: none }], numbers(random));
checks.that(noise.explained < 0.1, "noise is not explained", noise.explained);

const few = (count) =>
  forestOf([{ name: "strong", values: strong.slice(0, count) }], figure.slice(0, count));
checks.that(few(LEAST_RUNS - 1) === null && few(LEAST_RUNS) !== null, "too few runs give nothing");
checks.that(forestOf([], figure) === null, "and so do runs that do not differ");
checks.that(
  forestOf(
    features,
    numbers(() => 3),
  ) === null,
  "and a figure that is the same in all",
);
const holes = numbers((i) => (i % 4 === 0 ? NaN : strong[i]));
const withHoles = forestOf([{ name: "strong", values: holes }, features[0]], figure);
checks.that(
  withHoles.importances[0].name === "strong",
  "a setting that some runs lack",
  JSON.stringify(withHoles),
);
const unknown = figure.map((value, i) => (i < COUNT - LEAST_RUNS + 1 ? NaN : value));
checks.that(forestOf(features, unknown) === null, "runs without the figure do not count");

/* ---- the front ---- */

const points = Array.from({ length: 300 }, (_, row) => ({
  row,
  x: Math.floor(random() * 40),
  y: Math.floor(random() * 40),
}));
for (const wishX of [1, -1])
  for (const wishY of [1, -1]) {
    const isBetter = (a, b) =>
      wishX * a.x >= wishX * b.x && wishY * a.y >= wishY * b.y && (a.x !== b.x || a.y !== b.y);
    const wanted = points.filter((one) => !points.some((other) => isBetter(other, one)));
    const rows = (list) =>
      list
        .map((one) => one.row)
        .sort((a, b) => a - b)
        .join();
    const found = frontOf(points, wishX, wishY);
    checks.that(
      rows(found) === rows(wanted) && wanted.length > 0,
      `the front, wishes ${wishX} and ${wishY}`,
      `${rows(found)}\n${rows(wanted)}`,
    );
    checks.that(
      found.every((one, i) => i === 0 || found[i - 1].x <= one.x),
      "by rising x",
    );
  }

/* ---- axes and ranges ---- */

const rows = [
  { id: "a", name: "a", values: [0.001, "adam", 3] },
  { id: "b", name: "b", values: [0.1, "sgd", null] },
  { id: "c", name: "c", values: [0.01, "adam", 5] },
];
const axes = new Map(["lr", "optimizer", "loss"].map((name, i) => [name, axisOf(name, rows, i)]));
const lr = axes.get("lr");
checks.that(
  lr.logarithmic && Math.abs(lr.places[2] - 0.5) < 1e-9,
  "numbers of several decades stand by their logarithm",
  JSON.stringify(lr),
);
checks.that(
  axes.get("optimizer").kinds.join() === "adam,sgd" && ticksOf(axes.get("optimizer")).length === 2,
  "texts stand side by side",
);
checks.that(Number.isNaN(axes.get("loss").places[1]), "a run without a value has no place");
checks.that(Math.abs(numberAt(lr, placeOf(lr, 0.05)) - 0.05) < 1e-12, "a place is of its number");
const passing = (limits) => [0, 1, 2].filter((row) => passes(row, axes, limits)).join();
checks.that(passing({ lr: [0.005, 0.2] }) === "1,2", "a range of numbers");
checks.that(passing({ optimizer: [-0.5, 0.5] }) === "0,2", "a range of texts");
checks.that(passing({ loss: [0, 10] }) === "0,2", "a run without a value is out of range");
checks.that(passing({ lr: [0.005, 0.2], loss: [0, 10] }) === "2", "all ranges hold together");
const limits = { "trainer.init.optimizer.SGD.lr": [0.005, 0.2], "min(loss)": [-1, 3] };
checks.that(
  JSON.stringify(readLimits(writeLimits(limits))) === JSON.stringify(limits),
  "ranges in an address",
  writeLimits(limits),
);
checks.that(JSON.stringify(readLimits("lr~x~2;nothing;~1~2")) === "{}", "a faulty one is none");
checks.end();
