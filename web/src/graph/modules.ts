/* Which module of the model each node of the step belongs to, and which layers are alike.
 *
 * The scopes of the forward pass are the modules. Everything else is matched by name: the update of
 * "optimizer.layers.0.ffn.linear.weight" belongs to the longest scope that begins its name. Layers
 * (scopes that differ in one number) with the same ops and shapes and the same precision (formats,
 * sums, levels, rounding) in all lanes are one: a model of 48 layers is drawn as one layer, 48
 * times. */
import { PART, type Lane, type RawGraph, type RawNode } from "@/graph/format";
import { precisionWord } from "@/graph/precision";

export interface Place {
  lane: Lane;
  /** Scope of the module: "model.layers.3.attention"; "inputs", "results" and "optimizer" are
   * ours. */
  module: string;
}

const LEAVES = new Set(["state", "constant", "batch_sum"]);
/* Ops that move or repeat values: they differ between equal layers when common parts are shared. */
const PLUMBING = new Set([
  "broadcast_to",
  "reshape",
  "constant",
  "materialize",
  "cast",
  "transpose",
  "slice",
  "state",
  "sqrt",
  "sub",
  "div",
  "mul",
  "add",
  "partial",
  "batch_sum",
  "square",
  "sum",
  "rsqrt",
  "reciprocal",
]);

const ONCE = "~";

export function laneOf(node: RawNode): Lane | null {
  if (node.op === "input") return "forward";
  if (node.part === PART.replica) return node.backward ? "backward" : "forward";
  return node.part === PART.none ? null : "update";
}

function moduleScopes(graph: RawGraph): Set<string> {
  const states = new Set(graph.states.map((state) => state.name));
  const scopes = new Set<string>();
  for (const node of graph.nodes)
    if (node.part === PART.replica && node.scope && !node.inserted_cast && !states.has(node.scope))
      scopes.add(node.scope);
  return scopes;
}

function longestScope(name: string, scopes: Set<string>): string | null {
  for (let end = name.length; end > 0; end = name.lastIndexOf(".", end - 1)) {
    const head = name.slice(0, end);
    if (scopes.has(head)) return head;
  }
  return null;
}

function moduleOf(
  node: RawNode,
  lane: Lane,
  scopes: Set<string>,
  cache: Map<string, string>,
): string {
  if (node.op === "input") return "inputs";
  const scope = node.scope ?? "";
  if (scope === "") return "results";
  const key = `${lane === "update" ? "u" : "m"}${scope}`;
  let found = cache.get(key);
  if (found === undefined) {
    const name = scope.replace(/^optimizer\./, "model.");
    found =
      longestScope(name, scopes) ??
      longestScope(scope, scopes) ??
      (scope.startsWith("optimizer") ? "optimizer" : scope);
    cache.set(key, found);
  }
  return found;
}

/* What repeats a value stands in each kernel that reads it, under the name of where it was first
 * wanted: it belongs to the kernel. */
const REPEATED = new Set(["broadcast_to", "reshape", "materialize"]);

function placeRepeated(graph: RawGraph, places: (Place | null)[]): void {
  for (const { nodes } of graph.groups) {
    const inside = new Set(nodes);
    for (const user of [...nodes].reverse()) {
      const place = places[user];
      for (const i of graph.nodes[user]?.inputs ?? [])
        if (place && places[i] && inside.has(i) && REPEATED.has(graph.nodes[i]?.op ?? ""))
          places[i] = place;
    }
  }
}

/** The place of every node; null for what is only read (weights, constants, sums). */
export function placesOf(graph: RawGraph): (Place | null)[] {
  const scopes = moduleScopes(graph);
  const cache = new Map<string, string>();
  const places = graph.nodes.map((node): Place | null => {
    const lane = laneOf(node);
    if (lane === null || LEAVES.has(node.op)) return null;
    return { lane, module: moduleOf(node, lane, scopes, cache) };
  });
  placeRepeated(graph, places);
  return places;
}

interface LayerPath {
  stem: string;
  index: number;
  rest: string;
}

const paths = new Map<string, LayerPath | null>();

/* A graph asks for each of its few modules tens of thousands of times. */
export function layerPath(module: string): LayerPath | null {
  let path = paths.get(module);
  if (path === undefined) {
    const match = /^(.*?)\.(\d+)(?:\.(.*))?$/.exec(module);
    path = match
      ? { stem: match[1] as string, index: Number(match[2]), rest: match[3] ?? "" }
      : null;
    paths.set(module, path);
  }
  return path;
}

export interface LayerRun {
  stem: string;
  first: number;
  last: number;
}

/* Whether a value depends on a parameter. What does not (masks, positions, constants) is computed
 * once for all layers and stands in the first; the rest each layer has for itself. */
function dependsOnParameters(graph: RawGraph): boolean[] {
  const parameters = new Set(graph.states.filter((one) => one.trainable).map((one) => one.read));
  const depends: boolean[] = [];
  graph.nodes.forEach((node, i) => {
    depends[i] =
      parameters.has(i) ||
      node.op === "batch_sum" ||
      node.inputs.some((input) => depends[input] ?? false);
  });
  return depends;
}

/* What a layer computes and in which numbers, as words. Of an op that equal layers may have in
 * different numbers, since common parts are shared, the word counts once. */
function signatures(graph: RawGraph, places: (Place | null)[]): Map<string, Map<number, string[]>> {
  const stems = new Map<string, Map<number, string[]>>();
  const depends = dependsOnParameters(graph);
  const add = (i: number, make: (rest: string) => string) => {
    const path = layerPath(places[i]?.module ?? "");
    if (!path) return;
    let layers = stems.get(path.stem);
    if (!layers) stems.set(path.stem, (layers = new Map()));
    let words = layers.get(path.index);
    if (!words) layers.set(path.index, (words = []));
    words.push(make(path.rest));
  };
  graph.nodes.forEach((node, i) => {
    const lane = places[i]?.lane;
    const precision = precisionWord(graph, node);
    if (lane !== "update" && !PLUMBING.has(node.op))
      add(i, (rest) => `${lane}|${rest}|${node.op}|${precision}|${node.shape.join("x")}`);
    else if (depends[i]) add(i, (rest) => `${ONCE}${lane}|${rest}|${node.op}|${precision}`);
  });
  for (const { partial, payload } of graph.reductions) {
    const node = graph.nodes[partial] as RawNode;
    const sum = `${node.dtype}|${node.backward}|${payload ?? ""}`;
    add(partial, (rest) => `${ONCE}sum|${rest}|${sum}`);
  }
  return stems;
}

function signatureText(words: string[]): string {
  const counted = words.filter((word) => !word.startsWith(ONCE));
  const once = new Set(words.filter((word) => word.startsWith(ONCE)));
  return [...counted, ...once].sort().join();
}

/** Runs of at least two neighbouring layers that are alike. */
export function layerRuns(graph: RawGraph, places: (Place | null)[]): LayerRun[] {
  const runs: LayerRun[] = [];
  for (const [stem, layers] of signatures(graph, places)) {
    const indices = [...layers.keys()].sort((a, b) => a - b);
    const texts = new Map([...layers].map(([index, words]) => [index, signatureText(words)]));
    let first = indices[0] as number;
    let last = first;
    const close = () => {
      if (last > first) runs.push({ stem, first, last });
    };
    for (const index of indices.slice(1)) {
      if (index === last + 1 && texts.get(index) === texts.get(first)) {
        last = index;
        continue;
      }
      close();
      first = last = index;
    }
    close();
  }
  return runs;
}
