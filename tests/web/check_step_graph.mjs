/* Folding of layers and what the drawing says of their precision: layers are drawn as one only
 * where all of their precision is equal, so that folded and unfolded drawings say the same; and
 * what is permitted is never said to be executed.
 *
 * Usage: node check_step_graph.mjs MODULES REAL_GRAPH... */
import { readFileSync } from "node:fs";
import { Checks } from "./checks.mjs";
import { madeUpGraph } from "./made_up_graph.mjs";
import { importSources } from "./sources.mjs";

const [modules, ...realFiles] = process.argv.slice(2);
const { StepGraph } = await importSources(modules, ["graph/fold.ts"]);
const checks = new Checks();

const STEM = "model.transformer_decoder.layers";
const LAYERS = 6;
const CHANGED = 2;
const ofLayer = (node, layer) => node.scope?.startsWith(`${STEM}.${layer}.`) ?? false;
const runText = (runs) => runs.map((run) => `${run.first}-${run.last}`).join(" ");

/* Each changes the precision of one layer in one respect. */
const one = (graph, layer, holds) => {
  const node = graph.nodes.find((each) => ofLayer(each, layer) && holds(each));
  if (!node) throw new Error("the graph has no such node");
  return node;
};
const forward = (graph, layer) => one(graph, layer, (n) => n.op === "matmul" && n.accumulation);
const backward = (graph, layer) => one(graph, layer, (n) => n.op === "matmul" && n.backward);
const partial = (graph, layer) => one(graph, layer, (n) => n.op === "partial");
const weightGradient = (graph, layer) => {
  const cast = graph.nodes[partial(graph, layer).inputs[0]];
  return graph.nodes[cast.inputs[0]];
};
const CHANGES = {
  "format of a forward product": (g, l) => (forward(g, l).dtype = "float16"),
  "format that a forward product reads": (g, l) => {
    const weight = forward(g, l).inputs[1];
    g.nodes[weight].dtype = "cbfloat16";
  },
  "format of a backward product": (g, l) => (backward(g, l).dtype = "float16"),
  "format of a weight gradient": (g, l) => (weightGradient(g, l).dtype = "float32"),
  "format of a sum over the microbatches": (g, l) => (partial(g, l).dtype = "bfloat16"),
  "format of an elementwise op": (g, l) =>
    (one(g, l, (n) => n.op === "add" && !n.backward).dtype = "float32"),
  "format of a norm": (g, l) => (one(g, l, (n) => n.op === "sub").dtype = "bfloat16"),
  "format between tiles": (g, l) => (forward(g, l).accumulation.dtype = "float16"),
  "sum without tiles": (g, l) => delete forward(g, l).accumulation,
  "length of a tile": (g, l) => (forward(g, l).accumulation.tile_length = 32),
  "rounding of a sum": (g, l) => (forward(g, l).accumulation.stochastic = true),
  "emulated sum": (g, l) => (forward(g, l).accumulation.emulated = true),
  "sum of a backward product": (g, l) =>
    (backward(g, l).accumulation = {
      dtype: "bfloat16",
      stochastic: false,
      emulated: false,
      tile_length: 64,
    }),
  "POL of the forward pass": (g, l) => (forward(g, l).pol_forward = 0),
  "POL of the backward pass": (g, l) => (backward(g, l).pol_backward = 2),
  "GraphAMP switched off": (g, l) => (forward(g, l).graphamp_off = true),
  "payload of a reduction": (g, l) => {
    const index = g.nodes.indexOf(partial(g, l));
    g.reductions.find((reduction) => reduction.partial === index).payload = "bfloat16";
  },
};

/* What a box says, without its name. */
const said = (box) =>
  JSON.stringify({
    formats: box.formats,
    sums: box.sums,
    pol: box.pol,
    casts: box.casts,
  });

/* Every layer that a folded box stands for is drawn with the same words when it is drawn alone. */
function saysTheSame(graph, what) {
  const step = new StepGraph(structuredClone(graph));
  const alone = new Map(step.fold(new Set(), false).boxes.map((box) => [box.key, box]));
  let compared = 0;
  for (const box of step.fold(new Set(), true).boxes) {
    const run = /\.\[(\d+)-(\d+)\]/.exec(box.scope);
    if (!run || box.kind !== "module") continue;
    for (let layer = Number(run[1]); layer <= Number(run[2]); layer++) {
      const other = alone.get(box.key.replace(run[0], `.${layer}`));
      compared++;
      if (!other || said(other) !== said(box))
        checks.that(false, `${what}: ${box.key} says what layer ${layer} is`, other && said(other));
    }
  }
  return compared;
}

function eachChangeUnfolds() {
  const plain = madeUpGraph({ layers: LAYERS });
  checks.that(
    runText(new StepGraph(plain).runs) === `0-${LAYERS - 1}`,
    "equal layers are drawn as one",
  );
  checks.that(saysTheSame(plain, "equal layers") > LAYERS * 8, "layers are compared");
  for (const [what, change] of Object.entries(CHANGES)) {
    const graph = madeUpGraph({ layers: LAYERS });
    change(graph, CHANGED);
    const { runs } = new StepGraph(structuredClone(graph));
    checks.that(
      runText(runs) === `0-${CHANGED - 1} ${CHANGED + 1}-${LAYERS - 1}`,
      `${what}: the layer is drawn by itself`,
      runText(runs),
    );
    saysTheSame(graph, what);
  }
}

/* An independent account of a layer's precision: everything but names and places, node by node. */
function account(graph, layer) {
  const payloads = new Map(graph.reductions.map((one) => [one.partial, one.payload]));
  const rows = graph.nodes.flatMap((n, i) =>
    ofLayer(n, layer)
      ? [
          [
            n.op,
            n.dtype,
            n.inputs.map((input) => graph.nodes[input].dtype),
            n.backward,
            n.accumulation,
            n.pol_forward,
            n.pol_backward,
            n.graphamp_off,
            payloads.get(i),
          ],
        ]
      : [],
  );
  return JSON.stringify(rows);
}

/* A generator of our own, so that a failure can be repeated. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function foldingNeverJoinsUnequalLayers() {
  const changes = Object.values(CHANGES);
  let joined = 0;
  for (let seed = 1; seed <= 150; seed++) {
    const next = random(seed);
    const graph = madeUpGraph({ layers: LAYERS, hidden: 8, tokens: 4 });
    for (let i = next(4); i >= 0; i--) {
      const change = changes[next(changes.length)];
      const from = next(LAYERS);
      /* A stretch of equal layers, so that there is something to join. */
      for (let layer = from; layer <= from + next(3) && layer < LAYERS; layer++)
        try {
          change(graph, layer);
        } catch {
          /* an earlier change took away what this one changes */
        }
    }
    const { runs } = new StepGraph(structuredClone(graph));
    for (const run of runs)
      for (let layer = run.first + 1; layer <= run.last; layer++, joined++)
        if (account(graph, layer) !== account(graph, run.first))
          checks.that(false, `seed ${seed}: layers ${run.first} and ${layer} are not alike`);
    saysTheSame(graph, `seed ${seed}`);
  }
  checks.that(joined > 100, "random graphs: equal layers were joined", String(joined));
}

const boxOf = (graph, key) =>
  new StepGraph(graph).fold(new Set(), true).boxes.find((box) => box.key === key);

function permittedIsNotExecuted() {
  const key = `forward|${STEM}.[0-1].ffn`;
  const graph = madeUpGraph({ layers: 2 });
  const permitted = boxOf(structuredClone(graph), key).sums;
  checks.that(
    permitted.executed.join() === "float32" &&
      permitted.permitted.join() === "bfloat16 every 64 terms, to nearest" &&
      permitted.line === "Σ fp32 executed, bf16/64 permitted",
    "a sum that is only permitted to be rounded is executed in float32",
    JSON.stringify(permitted),
  );
  for (const node of graph.nodes) if (node.accumulation) node.accumulation.emulated = true;
  const emulated = boxOf(graph, key).sums;
  checks.that(
    emulated.executed.join() === "bfloat16 every 64 terms, to nearest" &&
      emulated.line === "Σ bf16/64 executed",
    "an emulated sum is executed as it is permitted",
    JSON.stringify(emulated),
  );
}

/* Graphs that the engine compiled: one whose sums are permitted, one where they are emulated. */
function realGraphs() {
  const [permitted, emulated] = realFiles.map((file) => JSON.parse(readFileSync(file, "utf8")));
  for (const [graph, is] of [
    [permitted, false],
    [emulated, true],
  ]) {
    const what = is ? "emulated" : "permitted";
    const sums = graph.nodes.flatMap((node) => node.accumulation ?? []);
    checks.that(
      sums.length > 0 && sums.every((sum) => sum.emulated === is),
      `the compiled graph has sums that are ${what}`,
    );
    checks.that(saysTheSame(graph, `compiled, ${what}`) > 0, `compiled, ${what}: layers are alike`);
    const boxes = new StepGraph(graph).fold(new Set(), true).boxes;
    const rounded = boxes.filter((box) => /Σ.*(bf16|fp16|cb16)[^,]* executed/.test(box.sums.line));
    checks.that(
      is ? rounded.length > 0 : rounded.length === 0,
      `compiled, ${what}: the drawing says what is executed`,
      rounded.map((box) => box.sums.line).join("; "),
    );
  }
}

eachChangeUnfolds();
foldingNeverJoinsUnequalLayers();
permittedIsNotExecuted();
realGraphs();
checks.end();
