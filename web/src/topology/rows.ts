/* What the drawing shows of the processes: one box for each, or above some number one box for
 * several neighbours. Places in the drawing follow from the numbers alone, so that it stays still
 * while the figures change. */
import type { TopologyProcess, TopologySample } from "@generated/client";
import { integer, percent } from "@/base/format";
import {
  replicaShare,
  type Averages,
  type Range,
  type Shares,
  type TreeNode,
} from "@/job/topology";

const MOST_WORKERS = 16;
const MOST_ROWS = 16;

/** Neighbours of one role that one box stands for. */
export interface Group {
  key: string;
  name: string;
  members: TopologyProcess[];
}

function nameOf(members: TopologyProcess[]): string {
  const [first, last] = [members[0], members[members.length - 1]];
  if (!first || !last || first === last) return first?.name ?? "";
  return `${first.name.replace(/ \d+$/, "s")} ${first.rank}–${last.rank}`;
}

function inGroups(processes: TopologyProcess[], count: number): Group[] {
  const groups: Group[] = [];
  for (let i = 0; i < count; i++) {
    const members = processes.slice(
      Math.floor((i * processes.length) / count),
      Math.floor(((i + 1) * processes.length) / count),
    );
    if (members.length > 0)
      groups.push({ key: members.map((p) => p.name).join(), name: nameOf(members), members });
  }
  return groups;
}

export function processesOf(sample: TopologySample, role: string): TopologyProcess[] {
  return (sample.processes ?? []).filter((p) => p.role === role).sort((a, b) => a.rank - b.rank);
}

/** As many groups as there are replicas, where there are too many input workers to draw each. */
export function workerGroups(workers: TopologyProcess[], replicas: number): Group[] {
  const most = Math.max(1, Math.min(MOST_WORKERS, replicas));
  return inGroups(workers, workers.length > MOST_WORKERS ? most : workers.length);
}

export function rowGroups(processes: TopologyProcess[]): Group[] {
  return inGroups(processes, Math.min(processes.length, MOST_ROWS));
}

/** The microbatches of a group of replicas; of those that do not share the step, none. */
export function microbatchesOf(sample: TopologySample, group: Group): Range {
  const [microbatches, replicas] = [sample.microbatches ?? 0, sample.replicas ?? 0];
  const ranks = group.members.map((p) => p.rank).filter((rank) => rank < replicas);
  if (ranks.length === 0) return { first: 0, end: 0 };
  return {
    first: replicaShare(microbatches, replicas, Math.min(...ranks)).first,
    end: replicaShare(microbatches, replicas, Math.max(...ranks)).end,
  };
}

/** The mean of a group's members. */
export function meanShares(averages: Averages, group: Group): Shares {
  const all = group.members.flatMap((p) => averages.shares.get(p.name) ?? []);
  const mean = (of: (shares: Shares) => number) =>
    all.reduce((sum, one) => sum + of(one), 0) / Math.max(1, all.length);
  return {
    busy: mean((one) => one.busy),
    idle: mean((one) => one.idle),
    pressed: mean((one) => one.pressed),
    inputWait: null,
  };
}

export function sharesText(shares: Shares): string {
  return (
    `${percent(shares.busy)} busy · ${percent(shares.idle)} idle · ` +
    `${percent(shares.pressed)} pressed`
  );
}

/** "shard 3 of 8 · epoch 2, sample 59,904" */
export function workerText(group: Group, workers: number): string {
  const [one] = group.members;
  if (!one) return "";
  if (group.members.length > 1) {
    const last = group.members[group.members.length - 1] as TopologyProcess;
    return `${group.members.length} processes, shards ${one.rank}–${last.rank} of ${workers}`;
  }
  const shard = `shard ${one.rank} of ${workers}`;
  if (one.epoch === undefined || one.sample === undefined) return shard;
  return `${shard} · epoch ${integer(one.epoch)}, sample ${integer(one.sample)}`;
}

/** "step 1,201, microbatch 3" */
export function replicaText(group: Group, { first, end }: Range, isValidation = false): string {
  const [one] = group.members;
  const share = end - first > 1 ? `microbatches ${first}–${end - 1}` : `microbatch ${first}`;
  if (!one || end <= first) return "takes no part in the step";
  if (group.members.length > 1) return `${group.members.length} replicas, ${share}`;
  if (one.step === undefined || one.microbatch === undefined) return share;
  const place = isValidation ? "batch" : "step";
  return `${place} ${integer(one.step)}, microbatch ${one.microbatch}`;
}

/* ---- the reduction tree, beside the rows of the replicas ---- */

export interface TreePoint {
  x: number;
  y: number;
  title: string;
}

export interface TreeDrawing {
  /** From each child to its join: along, then up or down. */
  lines: string[];
  joins: TreePoint[];
  width: number;
  height: number;
}

const LEVEL = 15;
const END = 10;

/** Rows have one height and one distance. Each row's partial sums leave it one below the other; a
 * join stands in the middle of what it joins, so that no line crosses another. */
export function drawTree(tree: TreeNode, rows: number, row: { height: number; gap: number }) {
  const counts = new Map<number, number>();
  const walk = (node: TreeNode, visit: (leaf: TreeNode) => void): void =>
    node.children.length > 0 ? node.children.forEach((one) => walk(one, visit)) : visit(node);
  walk(tree, (leaf) => counts.set(leaf.row, (counts.get(leaf.row) ?? 0) + 1));
  const used = new Map<number, number>();
  const drawing: TreeDrawing = {
    lines: [],
    joins: [],
    width: 0,
    height: rows * (row.height + row.gap) - row.gap,
  };
  const place = (node: TreeNode): { x: number; y: number; level: number } => {
    if (node.children.length === 0) {
      const at = (used.get(node.row) ?? 0) + 1;
      used.set(node.row, at);
      const share = at / ((counts.get(node.row) ?? 0) + 1);
      return { x: 0, y: node.row * (row.height + row.gap) + share * row.height, level: 0 };
    }
    const children = node.children.map(place);
    const level = Math.max(...children.map((one) => one.level)) + 1;
    const x = level * LEVEL;
    const y = children.reduce((sum, one) => sum + one.y, 0) / children.length;
    for (const child of children) drawing.lines.push(`M${child.x} ${child.y}H${x}V${y}`);
    drawing.joins.push({ x, y, title: `the sum of microbatches ${node.first}–${node.end - 1}` });
    return { x, y, level };
  };
  const root = place(tree);
  drawing.width = root.x + LEVEL + END;
  drawing.lines.push(`M${root.x} ${root.y}H${drawing.width - 6}`);
  return drawing;
}
