/* The number formats of a node, and how its long sum is carried. What the precision policy allows
 * is *permitted*; what this machine does in this run is *executed*. A sum that the policy permits
 * to be rounded between its tiles is rounded only where that is emulated: else it is executed in
 * float32. */
import type { RawGraph, RawNode, Sums } from "@/graph/format";

type Accumulation = NonNullable<RawNode["accumulation"]>;

const SHORT: Record<string, string> = {
  float32: "fp32",
  bfloat16: "bf16",
  float16: "fp16",
  cbfloat16: "cb16",
};
export const shortType = (dtype: string): string => SHORT[dtype] ?? dtype;

const FULL = "float32";
const isProduct = (op: string): boolean => /matmul|conv2d|attention/.test(op);

/** "float32", or "bfloat16 every 64 terms, to nearest". */
export function sumText(sum: Accumulation | null): string {
  if (!sum || sum.dtype === FULL) return FULL;
  const how = sum.stochastic ? "stochastically" : "to nearest";
  return `${sum.dtype} every ${sum.tile_length} terms, ${how}`;
}

/** "fp32", or "bf16/64", or "bf16sr/64". */
function shortSum(sum: Accumulation | null): string {
  if (!sum || sum.dtype === FULL) return shortType(FULL);
  return `${shortType(sum.dtype)}${sum.stochastic ? "sr" : ""}/${sum.tile_length}`;
}

const executedOf = (node: RawNode): Accumulation | null =>
  node.accumulation?.emulated ? node.accumulation : null;

const distinct = (texts: string[]): string[] => [...new Set(texts)].sort();

/** Of all long sums in these nodes: products, and whatever else has a rounded sum. */
export function sumsOf(nodes: RawNode[]): Sums {
  const summing = nodes.filter((node) => node.accumulation || isProduct(node.op));
  const narrow = summing.filter((node) => node.accumulation);
  const executed = distinct(summing.map((node) => sumText(executedOf(node))));
  const permitted = distinct(narrow.map((node) => sumText(node.accumulation ?? null)));
  const short = (sums: (Accumulation | null)[]) => distinct(sums.map(shortSum)).join(", ");
  const waits = narrow.filter((node) => !node.accumulation?.emulated);
  const line =
    narrow.length === 0
      ? ""
      : `Σ ${short(summing.map(executedOf))} executed` +
        (waits.length > 0
          ? `, ${short(waits.map((node) => node.accumulation ?? null))} permitted`
          : "");
  return { executed: executed.length > 0 ? executed : [FULL], permitted, line };
}

/** The formats of its products; without any, the one that most bytes have. */
export function formatsOf(nodes: RawNode[], bytes: Map<string, number>): string[] {
  const products = nodes.filter((node) => isProduct(node.op));
  if (products.length > 0) return distinct(products.map((node) => node.dtype));
  const most = [...bytes].sort((a, b) => b[1] - a[1])[0];
  return [most?.[0] ?? FULL];
}

/** The levels that were set for these nodes themselves; elsewhere the model's holds. */
export function levelsOf(nodes: RawNode[]): number[] {
  const levels = nodes.map((node) => (node.backward ? node.pol_backward : node.pol_forward));
  return [...new Set(levels.filter((level) => level !== undefined))].sort();
}

/** All that says in which numbers a node computes, as one word: nodes with equal words compute
 * alike. What it reads counts too: a product of 16-bit values may give float32. */
export function precisionWord(graph: RawGraph, node: RawNode): string {
  const sum = node.accumulation;
  return [
    node.dtype,
    node.inputs.map((input) => graph.nodes[input]?.dtype ?? "").join("+"),
    node.inserted_cast ? "cast" : "",
    node.graphamp_off ? "off" : "",
    `f${node.pol_forward ?? ""}b${node.pol_backward ?? ""}`,
    sum ? `${sum.dtype}/${sum.tile_length}/${sum.stochastic}/${sum.emulated}` : "",
  ].join(":");
}
