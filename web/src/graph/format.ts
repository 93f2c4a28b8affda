/* The step graph as the engine writes it (engine/graph/json.c), and the picture that the worker
 * makes of it. */
export interface RawNode {
  op: string;
  dtype: string;
  shape: number[];
  inputs: number[];
  backward: boolean;
  part: number;
  group: number;
  space: number;
  scope?: string;
  text?: string;
  inserted_cast?: boolean;
  graphamp_off?: boolean;
  pol_forward?: number;
  pol_backward?: number;
  /** How its long sum may be rounded; only an emulated one is rounded so. */
  accumulation?: { dtype: string; stochastic: boolean; emulated: boolean; tile_length: number };
}

export interface RawState {
  name: string;
  shape: number[];
  dtype: string;
  trainable: boolean;
  read: number;
  next: number;
}

export interface RawGroup {
  kind: number;
  part: number;
  nodes: number[];
}

export interface RawGraph {
  version: number;
  microbatch_count: number;
  micro_batch_size: number;
  nodes: RawNode[];
  states: RawState[];
  /** The sums over the microbatches. `payload`: the format in which partial sums travel, where the
   * file says it; a gradient's may be rounded, a loss's is float32. */
  reductions: { partial: number; sum: number; payload?: string }[];
  groups: RawGroup[];
  /** Tensors with statistics: the node that each is of. */
  tracked?: { name: string; node: number }[];
}

/** How the long sums of some nodes are carried. */
export interface Sums {
  /** Distinct, as this machine computes them. */
  executed: string[];
  /** Distinct, as the policy permits them; empty where it permits nothing but float32. */
  permitted: string[];
  /** Both in one short line; "" where nothing but float32 is permitted. */
  line: string;
}

/** cse_part: who runs a node, and how often. */
export const PART = { none: 0, replica: 1, weights: 2, update: 3 } as const;

export type Lane = "forward" | "backward" | "update";
export const LANES: readonly Lane[] = ["forward", "backward", "update"];

export interface PictureNode {
  key: string;
  lane: Lane;
  kind: "module" | "kernel" | "inputs";
  title: string;
  subtitle: string;
  scope: string;
  /** Of its products; without any, of most of what it computes. */
  formats: string[];
  casts: number;
  /** POL levels that were set for it itself. */
  pol: number[];
  sums: Sums;
  /** Gradients in it that are summed over the microbatches. */
  gradients: number;
  /** Read and written in one run of it. */
  bytes: number;
  kernels: number;
  /** Kernels of all layers that it stands for, as indices of the graph's groups. */
  groups: number[];
  /** Names of the tensors with statistics in it, of all layers that it stands for. */
  tracked: string[];
  /** Layers as the callback ComputeNorm numbers them, whose gradients and weights are in it. */
  layers: number[];
  canExpand: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface PictureEdge {
  from: string;
  to: string;
  dtype: string;
  /** Differs from dtype where a cast stands on the edge. */
  castTo: string | null;
  bytes: number;
  values: number;
  crosses: boolean;
  points: [number, number][];
}

export interface Frame {
  key: string;
  label: string;
  /** Layers that one stands for; 0 for a module that was opened. */
  layers: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Picture {
  nodes: PictureNode[];
  edges: PictureEdge[];
  frames: Frame[];
  lanes: { lane: Lane; x: number; width: number }[];
  width: number;
  height: number;
}

export interface Summary {
  nodes: number;
  kernels: number;
  parameters: number;
  parameterBytes: number;
  casts: number;
  microbatches: number;
  microBatchSize: number;
  dtypes: Record<string, number>;
  foldedLayers: number;
}

export interface KernelRow {
  id: number;
  kind: string;
  part: string;
  operations: string;
  inputTypes: string;
  outputType: string;
  sums: Sums;
  readBytes: number;
  writtenBytes: number;
  shape: string;
  scope: string;
  /** The box it is drawn in; "" when it is in none. */
  box: string;
  /** The kernels of equal layers that it stands for, itself included. */
  alike: number[];
}

export interface Detail {
  key: string;
  kernels: KernelRow[];
  parameters: { name: string; shape: string; dtype: string; bytes: number }[];
}

export type Order =
  | { kind: "load"; id: number; url?: string; graph?: RawGraph }
  | { kind: "layout"; id: number; expanded: string[]; fold: boolean }
  | { kind: "detail"; id: number; key: string; expanded: string[]; fold: boolean }
  | { kind: "rows"; id: number; expanded: string[]; fold: boolean };

export type Answer =
  | { kind: "loaded"; id: number; summary: Summary; milliseconds: number }
  | { kind: "picture"; id: number; picture: Picture; milliseconds: number }
  | { kind: "detail"; id: number; detail: Detail }
  | { kind: "rows"; id: number; rows: KernelRow[] }
  | { kind: "failed"; id: number; status: number; message: string };

const BYTES: Record<string, number> = {
  float32: 4,
  int32: 4,
  uint32: 4,
  bfloat16: 2,
  float16: 2,
  cbfloat16: 2,
  bool: 1,
  int64: 8,
  uint8: 1,
};

export function bytesOf(value: { shape: number[]; dtype: string }): number {
  return value.shape.reduce((all, size) => all * size, 1) * (BYTES[value.dtype] ?? 4);
}
