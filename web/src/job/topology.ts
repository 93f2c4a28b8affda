/* What the samples of a run's processes say together: shares of time as averages over a window (one
 * sample is half a second, in which a process may happen to wait), which process holds up the
 * others, and which processes were lost and replaced. Functions of the samples alone. */
import type { TopologyProcess, TopologySample } from "@generated/client";

export const WINDOW_MS = 30_000;
const INTERVAL_MS = 500;
const RECENT_MS = 30_000;

export const ROLE = {
  replica: "replica",
  input: "input_worker",
  weights: "weight_server",
} as const;

export interface Shares {
  busy: number;
  idle: number;
  pressed: number;
  /** The part of `idle` in which input was missing; null where it is not recorded. */
  inputWait: number | null;
}

export interface Averages {
  newest: TopologySample;
  /** The time that the averages are of. */
  seconds: number;
  shares: Map<string, Shares>;
  /** How full the input ring was, of 1; null where it is not recorded. */
  ringFilled: number | null;
}

/** Stored samples and those that the stream brought since, each once, oldest first. */
export function joinSamples(stored: TopologySample[], live: TopologySample[]): TopologySample[] {
  const last = stored[stored.length - 1]?.time_ms ?? -Infinity;
  return [...stored, ...live.filter((sample) => sample.time_ms > last)];
}

const weightOf = (sample: TopologySample): number => sample.interval_ms ?? INTERVAL_MS;

/* Of the samples in which the process was the same one. */
function sharesOf(samples: TopologySample[], process: TopologyProcess): Shares {
  const sums = { busy: 0, idle: 0, pressed: 0, inputWait: 0 };
  let weights = 0;
  for (const sample of samples) {
    const one = sample.processes?.find((p) => p.name === process.name);
    if (!one || one.incarnation !== process.incarnation) continue;
    const weight = weightOf(sample);
    weights += weight;
    sums.busy += weight * (one.busy ?? 0);
    sums.idle += weight * (one.idle ?? 0);
    sums.pressed += weight * (one.back_pressured ?? 0);
    sums.inputWait += weight * (one.input_wait ?? 0);
  }
  const mean = (sum: number) => (weights > 0 ? sum / weights : 0);
  const isKnown = process.input_wait !== undefined && process.input_wait !== null;
  return {
    busy: mean(sums.busy),
    idle: mean(sums.idle),
    pressed: mean(sums.pressed),
    inputWait: isKnown ? mean(sums.inputWait) : null,
  };
}

/** Averages over the last `window_ms` of the samples, oldest first; null without samples. */
export function averagesOf(samples: TopologySample[], window_ms = WINDOW_MS): Averages | null {
  const newest = samples[samples.length - 1];
  if (!newest) return null;
  const within = samples.filter((one) => one.time_ms > newest.time_ms - window_ms);
  let weights = 0;
  let filled = 0;
  for (const { ring, ...sample } of within)
    if (ring && ring.capacity > 0) {
      weights += weightOf(sample);
      filled += (weightOf(sample) * ring.filled) / ring.capacity;
    }
  return {
    newest,
    seconds: within.reduce((sum, one) => sum + weightOf(one), 0) / 1000,
    shares: new Map((newest.processes ?? []).map((p) => [p.name, sharesOf(within, p)])),
    ringFilled: weights > 0 ? filled / weights : null,
  };
}

/** The processes that are busy while others wait: of one role, since equals share its load. */
export function bottlenecksOf({ newest, shares }: Averages): Set<string> {
  const all = (newest.processes ?? []).flatMap((process) => {
    const of = shares.get(process.name);
    return of ? [{ process, of }] : [];
  });
  const others = all.some(({ of }) => of.idle > 0.3 || of.pressed > 0.3);
  const busiest = [...all].sort((a, b) => b.of.busy - a.of.busy)[0];
  if (!others || !busiest || busiest.of.busy <= 0.8) return new Set();
  return new Set(
    all
      .filter(({ process }) => process.role === busiest.process.role)
      .filter(({ of }) => of.busy > 0.8 && of.busy > busiest.of.busy - 0.1)
      .map(({ process }) => process.name),
  );
}

/** The input workers whose places of the ring are the replica's. */
export function feedersOf(sample: TopologySample, replica: TopologyProcess): TopologyProcess[] {
  const ranks = new Set(replica.fed_by ?? []);
  return (sample.processes ?? []).filter((p) => p.role === ROLE.input && ranks.has(p.rank));
}

export const isAway = (p: TopologyProcess): boolean => p.state === "lost" || p.state === "starting";

/** What has become of a process, in a few words: "lost, is replaced", "process 2 since 4 s"; ""
 * where nothing has. */
export function fateOf(samples: TopologySample[], process: TopologyProcess): string {
  const number = process.incarnation ?? 1;
  if (process.state === "lost") return "lost, is replaced";
  if (process.state === "left") return "has left";
  if (process.state === "starting") return number > 1 ? `process ${number} starts` : "starts";
  if (number <= 1) return "";
  const newest = samples[samples.length - 1]?.time_ms ?? 0;
  const first = samples.find((sample) =>
    sample.processes?.some(
      (p) => p.name === process.name && p.incarnation === number && p.state !== "starting",
    ),
  );
  const age = newest - (first?.time_ms ?? newest);
  const isSeen = first !== undefined && first !== samples[0] && age < RECENT_MS;
  return `process ${number}${isSeen ? ` since ${Math.round(age / 1000)} s` : ""}`;
}

/* ---- the reduction tree ---- */

/** Microbatches [first, end). */
export interface Range {
  first: number;
  end: number;
}

/** The share of a replica (workers/hosts/reduction_tree.c). */
export function replicaShare(microbatches: number, replicas: number, replica: number): Range {
  return {
    first: Math.floor((replica * microbatches) / replicas),
    end: Math.floor(((replica + 1) * microbatches) / replicas),
  };
}

/** A node of the reduction tree: a partial sum that one row makes by itself, or a join of two. */
export interface TreeNode extends Range {
  /** Index of the row that makes the partial sum; -1 for a join. */
  row: number;
  children: TreeNode[];
}

function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** The tree over [0, microbatches), down to the largest nodes within one row's microbatches. */
export function reductionTree(microbatches: number, rows: Range[]): TreeNode | null {
  const make = (first: number, end: number): TreeNode => {
    const row = rows.findIndex((one) => one.first <= first && end <= one.end);
    if (row >= 0 || end - first <= 1) return { first, end, row, children: [] };
    const middle = first + splitOf(end - first);
    return { first, end, row: -1, children: [make(first, middle), make(middle, end)] };
  };
  return microbatches > 0 && rows.length > 0 ? make(0, microbatches) : null;
}
