/* How much a figure of the runs depends on each of their settings: a random forest is fitted to the
 * runs, and for each setting its values are shuffled among the runs that a tree has not seen. By how
 * much the trees then err more is the setting's importance. The same runs give the same result: the
 * random numbers have a fixed seed. */

export interface Feature {
  name: string;
  /** Numbers, or texts as numbers of their kind; NaN: the run has none. */
  values: Float64Array;
}

export interface Importance {
  name: string;
  /** Of the figure's variance: what the trees explain less without the setting. */
  share: number;
  /** Its standard error over the trees. */
  error: number;
}

export interface Forest {
  importances: Importance[];
  /** Of the figure's variance, each run predicted by the trees that have not seen it; at most 1,
   * below 0 where they know nothing. */
  explained: number;
}

/** Fewer runs say nothing; fewer than FEW_RUNS little. */
export const LEAST_RUNS = 10;
export const FEW_RUNS = 30;
/** Of more, as many are taken, evenly. */
export const MOST_RUNS = 500;
export const TREES = 100;
const LEAST_IN_LEAF = 2;
const DEEPEST = 12;
const SHUFFLES = 3;
const SEED = 1;

/* Mulberry32: 32 bits of state are enough for some thousand draws. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Leaf {
  mean: number;
}

interface Branch {
  feature: number;
  limit: number;
  below: Node;
  above: Node;
}

type Node = Leaf | Branch;

interface Data {
  features: Feature[];
  target: Float64Array;
}

const valueOf = (data: Data, feature: number, row: number): number => {
  const value = (data.features[feature] as Feature).values[row] as number;
  return Number.isNaN(value) ? -Infinity : value;
};

function meanOf(data: Data, rows: number[]): number {
  let sum = 0;
  for (const row of rows) sum += data.target[row] as number;
  return sum / rows.length;
}

interface Split {
  feature: number;
  limit: number;
  gain: number;
}

/* Between which two neighbours in the order of a feature the squared errors fall the most. */
function bestOf(data: Data, rows: number[], feature: number): Split | null {
  const order = rows
    .map((row) => [valueOf(data, feature, row), data.target[row] as number] as const)
    .sort((a, b) => (a[0] === b[0] ? 0 : a[0] < b[0] ? -1 : 1));
  const all = order.reduce((sum, one) => sum + one[1], 0);
  const count = order.length;
  let left = 0;
  let best: Split | null = null;
  for (let i = 0; i + 1 < count; i++) {
    const [value, target] = order[i] as readonly [number, number];
    const next = (order[i + 1] as readonly [number, number])[0];
    left += target;
    const below = i + 1;
    if (value === next || below < LEAST_IN_LEAF || count - below < LEAST_IN_LEAF) continue;
    const right = all - left;
    const gain = (left * left) / below + (right * right) / (count - below) - (all * all) / count;
    const limit = value === -Infinity ? next - 1e-300 - Math.abs(next) * 1e-12 : (value + next) / 2;
    if (gain > 1e-12 && (best === null || gain > best.gain)) best = { feature, limit, gain };
  }
  return best;
}

/* `count` of the features, without repetition. */
function someOf(all: number, count: number, random: () => number): number[] {
  const names = Array.from({ length: all }, (_, i) => i);
  for (let i = 0; i < count; i++) {
    const at = i + Math.floor(random() * (all - i));
    [names[i], names[at]] = [names[at] as number, names[i] as number];
  }
  return names.slice(0, count);
}

function grow(data: Data, rows: number[], depth: number, random: () => number): Node {
  const features = data.features.length;
  const tried = someOf(features, Math.max(1, Math.ceil(features / 3)), random);
  const splits = depth < DEEPEST && rows.length >= 2 * LEAST_IN_LEAF ? tried : [];
  let best: Split | null = null;
  for (const feature of splits) {
    const one = bestOf(data, rows, feature);
    if (one && (best === null || one.gain > best.gain)) best = one;
  }
  if (best === null) return { mean: meanOf(data, rows) };
  const { feature, limit } = best;
  const isBelow = (row: number) => valueOf(data, feature, row) <= limit;
  return {
    feature,
    limit,
    below: grow(data, rows.filter(isBelow), depth + 1, random),
    above: grow(
      data,
      rows.filter((row) => !isBelow(row)),
      depth + 1,
      random,
    ),
  };
}

/* With the value of feature `shuffled` of another row, `from`. */
function predict(data: Data, tree: Node, row: number, shuffled: number, from: number): number {
  let node = tree;
  while ("feature" in node) {
    const value = valueOf(data, node.feature, node.feature === shuffled ? from : row);
    node = value <= node.limit ? node.below : node.above;
  }
  return node.mean;
}

function errorOf(data: Data, tree: Node, rows: number[], shuffled = -1, order = rows): number {
  let sum = 0;
  rows.forEach((row, i) => {
    const miss = predict(data, tree, row, shuffled, order[i] as number) - (data.target[row] ?? 0);
    sum += miss * miss;
  });
  return sum / rows.length;
}

function shuffledOf(rows: number[], random: () => number): number[] {
  const order = [...rows];
  for (let i = order.length - 1; i > 0; i--) {
    const at = Math.floor(random() * (i + 1));
    [order[i], order[at]] = [order[at] as number, order[i] as number];
  }
  return order;
}

function varianceOf(values: Float64Array): number {
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  return values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length;
}

const takeRows = (values: Float64Array, rows: number[]): Float64Array =>
  Float64Array.from(rows, (row) => values[row] as number);

/* The runs that have the figure, of many an even choice. */
function usable(all: Data): Data {
  const known = [...all.target.keys()].filter((row) => Number.isFinite(all.target[row]));
  const step = Math.max(1, known.length / MOST_RUNS);
  const rows = Array.from(
    { length: Math.min(known.length, MOST_RUNS) },
    (_, i) => known[Math.floor(i * step)] as number,
  );
  return {
    features: all.features.map(({ name, values }) => ({ name, values: takeRows(values, rows) })),
    target: takeRows(all.target, rows),
  };
}

/** Null: too few runs have the figure, it is the same in all, or nothing differs between them. */
export function forestOf(features: Feature[], target: Float64Array): Forest | null {
  const data = usable({ features, target });
  const count = data.target.length;
  const variance = count > 0 ? varianceOf(data.target) : 0;
  if (count < LEAST_RUNS || features.length === 0 || !(variance > 0)) return null;
  const random = randomOf(SEED);
  const losses = features.map(() => [] as number[]);
  const predicted = new Float64Array(count);
  const predictions = new Int32Array(count);
  for (let t = 0; t < TREES; t++) {
    const drawn = Array.from({ length: count }, () => Math.floor(random() * count));
    const seen = new Set(drawn);
    const unseen = [...data.target.keys()].filter((row) => !seen.has(row));
    const tree = grow(data, drawn, 0, random);
    if (unseen.length < 2) continue;
    const error = errorOf(data, tree, unseen);
    for (const row of unseen) {
      predicted[row] = (predicted[row] as number) + predict(data, tree, row, -1, row);
      predictions[row] = (predictions[row] as number) + 1;
    }
    features.forEach((_, f) => {
      let more = 0;
      for (let s = 0; s < SHUFFLES; s++)
        more += errorOf(data, tree, unseen, f, shuffledOf(unseen, random)) - error;
      losses[f]?.push(more / SHUFFLES / variance);
    });
  }
  const importances = features.map(({ name }, f) => importanceOf(name, losses[f] ?? []));
  importances.sort((a, b) => b.share - a.share);
  const misses = [...data.target.keys()].flatMap((row) => {
    const trees = predictions[row] as number;
    const miss = (predicted[row] as number) / trees - (data.target[row] as number);
    return trees > 0 ? [miss * miss] : [];
  });
  const missed = misses.reduce((sum, one) => sum + one, 0) / misses.length;
  return { importances, explained: 1 - missed / variance };
}

function importanceOf(name: string, losses: number[]): Importance {
  const values = Float64Array.from(losses);
  const share = values.reduce((sum, one) => sum + one, 0) / values.length;
  return { name, share, error: Math.sqrt(varianceOf(values) / values.length) };
}
