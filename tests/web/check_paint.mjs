/* What the step graph is painted by, without a browser: each box has the figure of its own tensors,
 * kernels and layers, nothing is painted that was not recorded, and the precision that is tried from
 * a step changes one setting alone.
 *
 * Usage: node check_paint.mjs MODULES */
import { Checks } from "./checks.mjs";
import { madeUpGraph } from "./made_up_graph.mjs";
import { importSources } from "./sources.mjs";

const {
  StepGraph,
  layerNumbers,
  paintOf,
  limitsOf,
  levelOf,
  lastNorms,
  lastOf,
  gathered,
  changesFor,
  startFor,
  specFor,
  forkFor,
  againFor,
  commandFor,
} = await importSources(process.argv[2], ["graph/fold.ts", "graph/paint.ts", "graph/settings.ts"]);
const checks = new Checks();
const same = (a, b, what) =>
  checks.that(JSON.stringify(a) === JSON.stringify(b), what, JSON.stringify(a));

const NOTHING = {
  times: undefined,
  timesMissing: "no kernel was timed",
  rows: [],
  step: null,
  rowsMissing: "no statistics",
  norms: new Map(),
  normsStep: null,
  ratios: new Map(),
  ratiosStep: null,
};

/* ---- classes ---- */

function classes() {
  const limits = limitsOf([0, 50, 100, null, Infinity], "linear");
  same(
    limits.map((one) => Math.round(one)),
    [0, 5, 15, 35, 65],
    "parts of the largest",
  );
  same(
    [0, 1, 5, 64.9, 65, 100, Infinity].map((one) => levelOf(one, limits)),
    [0, 1, 2, 4, 5, 5, 5],
    "a value is in the last class that it reaches",
  );
  same(
    [0, 1e-9, 1e-4, 0.1, 1].map((one) => levelOf(one, limitsOf([], "shares"))),
    [0, 1, 2, 5, 5],
    "a share has fixed classes: one of a thousand million is not none",
  );
  const ratios = limitsOf([1, 32], "logarithmic");
  checks.that(
    ratios.every((one, i) => Math.abs(one - 2 ** i) < 1e-9),
    "equal ratios",
    ratios.join(),
  );
  same(limitsOf([0, 0], "logarithmic"), [0, 0, 0, 0, 0], "all are zero");
}

/* ---- boxes ---- */

const LAYERS = 4;

/* A gradient and a state of each layer's attention have statistics. */
function observedGraph() {
  const graph = madeUpGraph({ layers: LAYERS });
  graph.tracked = [];
  for (const [i, node] of graph.nodes.entries()) {
    const layer = /layers\.(\d+)\.self_attn/.exec(node.scope ?? "")?.[1];
    const has = (kind) => graph.tracked.some((one) => one.name === `${kind}.${layer}`);
    if (layer && node.op === "partial" && !has("gradient"))
      graph.tracked.push({ name: `gradient.${layer}`, node: i });
    if (layer && node.inserted_cast && !node.backward && !has("cast"))
      graph.tracked.push({ name: `cast.${layer}`, node: i });
  }
  return graph;
}

const row = (name, part) => ({
  tensor: { name },
  record: { count: 1000, nan: 0, inf: 0, saturated: 0, flushed: 0, absorbed: 0, ...part },
});

function statistics(graph) {
  const step = new StepGraph(graph);
  for (const fold of [true, false]) {
    const { boxes } = step.fold(new Set(), fold);
    const names = boxes.flatMap((box) => box.tracked);
    same(names.length, graph.tracked.length, `fold ${fold}: each tensor is in one box`);
    for (const box of boxes)
      for (const name of box.tracked) {
        const layer = name.split(".")[1];
        const folded = /\.\[(\d+)-(\d+)\]/.exec(box.scope);
        const within = folded
          ? Number(layer) >= Number(folded[1]) && Number(layer) <= Number(folded[2])
          : box.scope.includes(`layers.${layer}.`);
        checks.that(within, `fold ${fold}: ${name} is in the box of its layer`, box.scope);
      }
    const rows = [row("gradient.2", { inf: 100, saturated: 100 }), row("cast.1", { flushed: 1 })];
    const known = { ...NOTHING, rows, step: 7 };
    const over = paintOf("overflow", boxes, known);
    const holder = boxes.find((box) => box.tracked.includes("gradient.2"));
    same(
      over.shades.get(holder.key),
      { level: 5, text: "10 %" },
      "infinite and saturated are one count",
    );
    const quiet = boxes.find((box) => box.tracked.includes("cast.1"));
    same(over.shades.get(quiet.key), { level: 0, text: "0" }, "recorded, and none");
    same(
      paintOf("flushed", boxes, known).shades.get(quiet.key),
      { level: 3, text: "0.1 %" },
      "flushed",
    );
    const recorded = new Set([holder.key, quiet.key]);
    checks.that(
      boxes.every((box) => over.shades.has(box.key) === recorded.has(box.key)),
      "what has no record is not painted",
    );
    same(paintOf("absorbed", boxes, known).missing, "no statistics", "updates were not recorded");
  }
}

function updates(graph) {
  const { boxes } = new StepGraph(graph).fold(new Set(), true);
  checks.that(/numerics/.test(paintOf("ratio", boxes, NOTHING).missing), "how to get ratios");
  const series = [{ name: "update_ratio/gradient.0", step: [4, 8], value: [1, 1e-3] }];
  const { values: ratios, step } = lastOf({ series }, "update_ratio");
  const moved = paintOf("ratio", boxes, { ...NOTHING, ratios, ratiosStep: step });
  const box = boxes.find((one) => one.tracked.includes("gradient.0"));
  same(moved.shades.get(box.key)?.text, "0.001", "the last ratio of a weight");
  same(moved.shades.size, 1, "others have none");
  checks.that(/step 8/.test(moved.of), "and its step", moved.of);
  const rows = [row("gradient.0", {}), row("gradient.0.update", { absorbed: 500 })];
  const paint = paintOf("absorbed", boxes, { ...NOTHING, rows, step: 1 });
  same(
    [...paint.shades.values()],
    [{ level: 5, text: "50 %" }],
    "an update has a record of its own",
  );
}

function timesAndPlaces(graph) {
  const { boxes } = new StepGraph(graph).fold(new Set(), true);
  const box = boxes.find((one) => one.groups.length > 1);
  const of = new Map([
    [box.groups[0], { total_ns: 3000, processes: [1] }],
    [box.groups[1], { total_ns: 1000, processes: [0] }],
  ]);
  const times = { step: 9, processes: ["replica 0", "replica 1"], total_ns: 4000, of };
  const known = { ...NOTHING, times, timesMissing: null };
  const timed = paintOf("time", boxes, known);
  same([...timed.shades], [[box.key, { level: 5, text: "4 µs" }]], "time of its kernels");
  same(
    paintOf("placement", boxes, known).shades.get(box.key).text,
    "replica 0, 1",
    "the processes that ran it",
  );
  same(gathered(["replica 10", "replica 2", "coordinator"]), "coordinator; replica 2, 10", "names");
  const none = paintOf("time", boxes, NOTHING);
  same([none.missing, none.shades.size], ["no kernel was timed", 0], "nothing was timed");
}

/* As run/callbacks/compute_norm.c numbers them. */
function norms(graph) {
  const state = (name) => ({ name, trainable: true });
  const numbers = layerNumbers({
    states: [
      state("model.embed.weight"),
      state("model.layers.0.ffn.2.weight"),
      { name: "optimizer.x", trainable: false },
      state("model.layers.1.ffn.0.weight"),
      state("model.layers.0.norm.weight"),
      state("model.head.weight"),
    ],
  });
  same(
    [...numbers.values()],
    [0, 1, 2, 1, 3],
    "a layer ends with the first number of a name; without one it is the module",
  );
  const found = lastNorms({
    series: [
      { name: "per_layer_grad_norm/layer_1", step: [1], last_step: [40], value: [2.5] },
      { name: "per_layer_grad_norm/layer_2", step: [41], value: [null] },
      { name: "model_wise_grad_norm", step: [41], value: [9] },
    ],
  });
  same(
    [...found.norms, found.step],
    [[1, 2.5], [2, null], 41],
    "the last norms, and which are not finite; not those of the model",
  );
  const { boxes } = new StepGraph(graph).fold(new Set(), true);
  const layers = boxes.filter((box) => box.layers.length > 0);
  checks.that(
    layers.some((box) => box.lane === "update"),
    "updates have layers",
  );
  const of = layers[0].layers[0];
  const paint = paintOf("gradient", boxes, { ...NOTHING, norms: new Map([[of, 2.5]]) });
  checks.that(
    boxes.every((box) => paint.shades.has(box.key) === box.layers.includes(of)),
    "boxes of the layer are painted, and no others",
  );
  checks.that(
    /ComputeNorm/.test(paintOf("gradient", boxes, NOTHING).missing),
    "without norms it says how to get them",
  );
  const ratio = paintOf("ratio", boxes, NOTHING);
  checks.that(ratio.shades.size === 0 && ratio.missing.length > 40, "no ratio is made up");
}

function kinds(graph) {
  const { boxes } = new StepGraph(graph).fold(new Set(), true);
  const paint = paintOf("precision", boxes, NOTHING);
  for (const box of boxes) {
    const shade = paint.shades.get(box.key);
    if (box.kind === "inputs") checks.that(!shade, "inputs compute nothing");
    else same(paint.kinds[shade.level].name, box.formats.join("+"), `${box.key}: its formats`);
  }
  checks.that(paintOf("", boxes, NOTHING) === null, "painted by nothing");
}

/* ---- another precision ---- */

function changes() {
  const job = { id: "run-1", name: "run", model_dir: "/runs/run-1" };
  const spec = {
    config: "old",
    labels: { team: "a" },
    priority: "p1",
    resume_from: { job: "x" },
    overrides: { "trainer.init.seed": 3 },
  };
  for (const change of changesFor("model.layers.[0-3].ffn")) {
    const next = specFor(job, spec, "text", change);
    const fork = forkFor(job, spec, change, 40);
    same(
      [fork.step, fork.overrides, fork.priority, fork.labels],
      [40, { [change.path]: change.value }, "p1", { team: "a", fork_of: "run-1" }],
      `${change.key}: a fork at the step, with one setting changed`,
    );
    same(
      next.overrides,
      { "trainer.init.seed": 3, [change.path]: change.value },
      `${change.key}: one setting more`,
    );
    same(
      [next.config, next.priority, next.labels],
      ["text", "p1", { team: "a", fork_of: "run-1" }],
      "the rest is the run's",
    );
    checks.that(commandFor(job, change, 40).includes("--at 40"), "the command names the step");
  }
  const first = specFor(job, { ...spec, fork_from: { job: "y" } }, "text", changesFor("")[0]);
  checks.that(
    !("resume_from" in first) && !("fork_from" in first),
    "from the beginning nothing is loaded",
  );
  checks.that(
    changesFor("model.layers.[0-3].ffn")[0].value === '["model.layers.*.ffn*"]',
    "a folded box means all of its layers",
  );
  checks.that(
    changesFor("optimizer").every((one) => !one.key.startsWith("own")),
    "what is no module of the model cannot be changed alone",
  );
  const saved = [10, 30, 20].map((step) => ({ step, deleted: step === 20 }));
  same(startFor(saved, 30).step, 10, "the newest before the step that is not deleted");
  same(startFor(saved, null).step, 30, "the newest");
  same(startFor(saved, 10), null, "none is before the first");
  same(againFor(saved, 30), "There is a checkpoint of it.", "nothing is done again");
  checks.that(/steps 11 to 25 are done again/.test(againFor(saved, 25)), "from the one before");
  checks.that(/: step 1 is done again/.test(againFor([], 1)), "from the run's start");
}

classes();
const graph = observedGraph();
statistics(graph);
updates(graph);
timesAndPlaces(graph);
norms(graph);
kinds(graph);
changes();
checks.end();
