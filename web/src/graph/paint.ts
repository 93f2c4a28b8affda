/* The graph painted by one quantity: a figure for each box, and the class of its colour. Values are
 * never made up: a box of which the run has recorded nothing has no colour. */
import type { Metrics, NumericsRecord } from "@generated/client";
import { bytes, number, percent } from "@/base/format";
import type { PictureNode } from "@/graph/format";
import { nanoseconds, shortTime, type KernelTimes } from "@/job/times";
import type { Row } from "@/job/numerics";

export const QUANTITIES = [
  ["", "nothing"],
  ["time", "time"],
  ["bytes", "bytes"],
  ["overflow", "overflow"],
  ["flushed", "flushed to zero"],
  ["absorbed", "updates rounded away"],
  ["gradient", "gradient norm"],
  ["ratio", "update to weight"],
  ["precision", "precision"],
  ["pol", "POL"],
  ["placement", "placement"],
] as const;
export type Quantity = (typeof QUANTITIES)[number][0];

export const isQuantity = (word: string | null): word is Quantity =>
  QUANTITIES.some(([name]) => name === word);

/** Classes of the scale; 0 is "none of it". */
export const CLASSES = 5;

export interface Shade {
  /** 0 to CLASSES; of kinds, their number. */
  level: number;
  /** What the box says. */
  text: string;
}

export interface Paint {
  shades: Map<string, Shade>;
  /** Of a scale: the least value of each class from 1 on, and how it is written. */
  limits: string[];
  /** In place of a scale: kinds, by their number. */
  kinds: { name: string; token: string }[] | null;
  /** What the figures are of. */
  of: string;
  /** Why there are none, and how to get them. */
  missing: string | null;
}

export interface Known {
  times: KernelTimes | undefined;
  timesMissing: string | null;
  /** Statistics of one step. */
  rows: Row[];
  step: number | null;
  rowsMissing: string | null;
  /** The last norm of each layer's gradient. */
  norms: Map<number, number>;
  normsStep: number | null;
  /** The last norm of each weight's update over that of the weight, by the weight's name. */
  ratios: Map<string, number>;
  ratiosStep: number | null;
}

export const NO_NORMS =
  "the run records no norms of layers: add the callback ComputeNorm to trainer.init.callbacks, " +
  "as in - ComputeNorm: {per_layer_grad_norm: true}";
export const NO_RATIO =
  "the run records no ratio of updates to weights: set numerics in its configuration, as in " +
  "numerics: {every: 100}, and have its weights among the tensors";

type Value = number | null;

/** Figures that every box is measured by: a scale of parts of the largest, of powers of ten of a
 * share, or of equal ratios. */
interface Figures {
  values: Map<string, Value>;
  text: (value: number) => string;
  scale: "linear" | "shares" | "logarithmic";
}

const SHARES = [0, 1e-4, 1e-3, 1e-2, 1e-1];
const OF_LARGEST = [0, 0.05, 0.15, 0.35, 0.65];

/** The least value of each class from 1 on. */
export function limitsOf(values: Iterable<Value>, scale: Figures["scale"]): number[] {
  const there = [...values].filter((one): one is number => one !== null && Number.isFinite(one));
  const most = Math.max(0, ...there);
  if (scale === "shares") return SHARES;
  if (scale === "linear") return OF_LARGEST.map((share) => most * share);
  const least = Math.min(...there.filter((one) => one > 0), most);
  if (!(least > 0)) return Array.from({ length: CLASSES }, () => 0);
  return Array.from({ length: CLASSES }, (_, i) => least * (most / least) ** (i / CLASSES));
}

/** 0 for 0; else the last class whose least value it reaches, from 1 on. */
export function levelOf(value: number, limits: number[]): number {
  if (value === 0) return 0;
  if (!Number.isFinite(value)) return CLASSES;
  let level = 1;
  for (let i = 1; i < limits.length; i++) if (value >= (limits[i] as number)) level = i + 1;
  return level;
}

function painted({ values, text, scale }: Figures, of: string, missing: string | null): Paint {
  const limits = limitsOf(values.values(), scale);
  const shades = new Map<string, Shade>();
  for (const [key, value] of values)
    if (value !== null) shades.set(key, { level: levelOf(value, limits), text: text(value) });
  return {
    shades,
    limits: limits.map((one, i) => (i === 0 ? `above ${text(one)}` : `from ${text(one)}`)),
    kinds: null,
    of,
    missing: shades.size > 0 ? null : (missing ?? "no part of the graph has a figure"),
  };
}

/* ---- what a box has ---- */

type Part = (record: NumericsRecord) => number;

/** Values that rounding made infinite are counted as saturated as well. */
export const badPart: Part = (r) => r.nan + Math.max(r.inf, r.saturated);

/* Of a box's tensors, the one with the largest share; updates have a row of their own. */
function worst(node: PictureNode, rows: Map<string, Row>, part: Part, update: boolean): Value {
  let most: Value = null;
  for (const name of node.tracked) {
    const row = rows.get(update ? `${name}.update` : name);
    if (!row || row.record.count === 0) continue;
    const share = part(row.record) / row.record.count;
    if (most === null || share > most) most = share;
  }
  return most;
}

/* As percent(), and small shares in full. */
const shareText = (value: number): string =>
  value === 0 ? "0" : value < 1e-3 ? `${number(100 * value, 2)} %` : percent(value);

function statistics(nodes: PictureNode[], known: Known, part: Part, update = false): Paint {
  const rows = new Map(known.rows.map((row) => [row.tensor.name, row]));
  const values = new Map(nodes.map((node) => [node.key, worst(node, rows, part, update)]));
  const of = `largest share of a tensor's values, step ${known.step ?? "–"}`;
  return painted({ values, text: shareText, scale: "shares" }, of, known.rowsMissing);
}

function norms(nodes: PictureNode[], known: Known): Paint {
  const values = new Map<string, Value>();
  for (const node of nodes) {
    const there = node.layers.flatMap((layer) => known.norms.get(layer) ?? []);
    values.set(node.key, there.length > 0 ? Math.max(...there) : null);
  }
  const text = (value: number) => (Number.isFinite(value) ? number(value, 3) : "not finite");
  const of = `norm of the layer's gradient, the largest of its layers, step ${known.normsStep ?? "–"}`;
  return painted({ values, text, scale: "logarithmic" }, of, NO_NORMS);
}

function ratios(nodes: PictureNode[], known: Known): Paint {
  const values = new Map<string, Value>();
  for (const node of nodes) {
    const there = node.tracked.flatMap((name) => known.ratios.get(name) ?? []);
    const bad = there.some((one) => !Number.isFinite(one));
    values.set(node.key, there.length === 0 ? null : bad ? NaN : Math.max(...there));
  }
  const text = (value: number) => (Number.isFinite(value) ? number(value, 3) : "not finite");
  const of = `norm of the update over that of the weight, the largest of its weights, step ${known.ratiosStep ?? "–"}`;
  return painted({ values, text, scale: "logarithmic" }, of, NO_RATIO);
}

function timed(nodes: PictureNode[], { times, timesMissing }: Known): Paint {
  const values = new Map<string, Value>();
  for (const node of nodes) {
    const ns = times && node.groups.length > 0 ? nanoseconds(times, node.groups) : 0;
    values.set(node.key, ns > 0 ? ns : null);
  }
  const of = times ? `time of its kernels in step ${times.step}, over all processes` : "time";
  return painted({ values, text: shortTime, scale: "linear" }, of, timesMissing);
}

/* ---- kinds ---- */

const TOKENS = Array.from({ length: 8 }, (_, i) => `--series-${i}`);
const FORMATS: Record<string, string> = {
  float32: "--float32",
  bfloat16: "--bfloat16",
  float16: "--float16",
  cbfloat16: "--cbfloat16",
};

/* Distinct words in their order, each a kind. */
function kindsOf(words: Map<string, string | null>, of: string, missing: string | null): Paint {
  const names = [...new Set([...words.values()].filter((word): word is string => !!word))].sort();
  const shades = new Map<string, Shade>();
  for (const [key, word] of words)
    if (word) shades.set(key, { level: names.indexOf(word), text: word });
  const kinds = names.map((name, i) => ({
    name,
    token: FORMATS[name] ?? (TOKENS[i % TOKENS.length] as string),
  }));
  return { shades, limits: [], kinds, of, missing: shades.size > 0 ? null : missing };
}

/** "replica 0, 1, 2" of names in any order. */
export function gathered(names: string[]): string {
  const ranks = new Map<string, string[]>();
  for (const name of [...names].sort((a, b) => a.localeCompare(b, "en", { numeric: true }))) {
    const [, role = name, rank = ""] = /^(.*?)(?: (\d+))?$/.exec(name) ?? [];
    ranks.set(role, [...(ranks.get(role) ?? []), rank]);
  }
  return [...ranks].map(([role, all]) => `${role} ${all.join(", ")}`.trim()).join("; ");
}

function placed(nodes: PictureNode[], { times, timesMissing }: Known): Paint {
  const words = new Map<string, string | null>();
  for (const node of nodes) {
    const ran = new Set<string>();
    for (const group of node.groups)
      for (const at of times?.of.get(group)?.processes ?? []) ran.add(times?.processes[at] ?? "");
    words.set(node.key, ran.size > 0 ? gathered([...ran]) : null);
  }
  const of = times ? `processes that computed it in step ${times.step}` : "processes";
  return kindsOf(words, of, timesMissing ?? "no kernel was timed");
}

const precision = (nodes: PictureNode[]): Paint =>
  kindsOf(
    new Map(
      nodes.map((node) => [node.key, node.kind === "inputs" ? null : node.formats.join("+")]),
    ),
    "format of its products; without any, of most of its bytes",
    "the graph has no formats",
  );

function levels(nodes: PictureNode[]): Paint {
  const word = ({ lane, kind, pol }: PictureNode): string | null =>
    lane === "update" || kind === "inputs"
      ? null
      : pol.length > 0
        ? `POL ${pol.join()}`
        : "the model's";
  return kindsOf(
    new Map(nodes.map((node) => [node.key, word(node)])),
    "precision level that was asked for",
    "none",
  );
}

/** The paint of a picture; null for the quantity "nothing". */
export function paintOf(quantity: Quantity, nodes: PictureNode[], known: Known): Paint | null {
  switch (quantity) {
    case "":
      return null;
    case "time":
      return timed(nodes, known);
    case "bytes": {
      const values = new Map(nodes.map((node) => [node.key, node.bytes > 0 ? node.bytes : null]));
      return painted(
        { values, text: (n) => bytes(Math.round(n)), scale: "linear" },
        "read and written in one run of it",
        null,
      );
    }
    case "overflow":
      return statistics(nodes, known, badPart);
    case "flushed":
      return statistics(nodes, known, (r) => r.flushed);
    case "absorbed":
      return statistics(nodes, known, (r) => r.absorbed, true);
    case "gradient":
      return norms(nodes, known);
    case "ratio":
      return ratios(nodes, known);
    case "precision":
      return precision(nodes);
    case "pol":
      return levels(nodes);
    case "placement":
      return placed(nodes, known);
  }
}

/** The last value of each series PREFIX/NAME (NaN: not finite) by NAME, and its step. */
export function lastOf(
  metrics: Metrics | undefined,
  prefix: string,
): { values: Map<string, number>; step: number | null } {
  const values = new Map<string, number>();
  let last: number | null = null;
  for (const series of metrics?.series ?? []) {
    const at = series.step.length - 1;
    const value = series.value[at];
    if (!series.name.startsWith(`${prefix}/`) || value === undefined) continue;
    values.set(series.name.slice(prefix.length + 1), value ?? NaN);
    last = Math.max(last ?? 0, series.last_step?.[at] ?? series.step[at] ?? 0);
  }
  return { values, step: last };
}

/** The same of the norms of layers, by their numbers. */
export function lastNorms(metrics: Metrics | undefined): {
  norms: Map<number, number>;
  step: number | null;
} {
  const { values, step } = lastOf(metrics, "per_layer_grad_norm");
  const norms = new Map<number, number>();
  for (const [name, value] of values) {
    const layer = /^layer_(\d+)$/.exec(name)?.[1];
    if (layer !== undefined) norms.set(Number(layer), value);
  }
  return { norms, step };
}
