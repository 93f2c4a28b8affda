/* From what the server stores to what a chart draws: attempts become branches of one curve, live
 * points continue what came in buckets, smoothing keeps the band between minimum and maximum.
 *
 * When attempt 2 starts again at step 400, attempt 1's points from there on belong to a branch that
 * was left: they are drawn faintly, not overwritten. Steps that the run shares with the one it was
 * forked from are a curve of their own, to which the run's is joined. */
import type { Metrics, MetricSeries, SharedPast } from "@generated/client";
import { integer } from "@/base/format";
import type { Curve } from "@/components/plot";
import type { LivePoints, LiveSeries } from "@/job/live";

export type XAxis = "step" | "samples" | "time" | "elapsed";

export interface CurveOptions {
  axis: XAxis;
  /** Weight of the past in the exponential mean, 0 to 0.99. */
  smoothing: number;
  label: string;
  colour: string;
  batchSize: number;
  dash?: number[];
  /** Whether to draw a part of its past; absent: yes. */
  drawsPast?: (past: SharedPast) => boolean;
  /** Steps that a later start did again are not drawn. */
  hidesReplaced?: boolean;
}

type Column = (number | null)[];

interface Columns {
  step: number[];
  time_ms: (number | null)[];
  value: Column;
  minimum: Column | null;
  maximum: Column | null;
  /** How many values of each entry were NaN or infinite. */
  notFinite: number[];
}

/* A value that is not finite is sent as null. */
const oneWhereNull = (value: number | null): number => (value === null ? 1 : 0);

function columnsOf(series: MetricSeries, live: LiveSeries | undefined): Columns {
  const bucketed = series.level > 0;
  const columns: Columns = {
    step: bucketed ? [...(series.last_step ?? series.step)] : [...series.step],
    time_ms: series.time_ms ? [...series.time_ms] : series.step.map(() => null),
    value: [...(bucketed && series.mean ? series.mean : series.value)],
    minimum: bucketed && series.minimum ? [...series.minimum] : null,
    maximum: bucketed && series.maximum ? [...series.maximum] : null,
    notFinite: [...(series.not_finite ?? series.value.map(oneWhereNull))],
  };
  if (live) appendLive(columns, live);
  return columns;
}

function appendLive(columns: Columns, live: LiveSeries): void {
  const end = columns.step[columns.step.length - 1] ?? -1;
  let from = live.step.length;
  while (from > 0 && (live.step[from - 1] as number) > end) from--;
  for (let i = from; i < live.step.length; i++) {
    const value = live.value[i] ?? null;
    columns.step.push(live.step[i] as number);
    columns.time_ms.push(live.time_ms[i] ?? null);
    columns.value.push(value);
    columns.minimum?.push(value);
    columns.maximum?.push(value);
    columns.notFinite.push(oneWhereNull(value));
  }
}

function exponentialMean(values: Column, weight: number): Column {
  let sum = 0;
  let norm = 0;
  return values.map((value) => {
    if (value === null) return null;
    sum = sum * weight + value;
    norm = norm * weight + 1;
    return sum / norm;
  });
}

/* Minimum and maximum of the points that the smoothed value at each point averages. */
function extremes(values: Column, reach: number, pick: (a: number, b: number) => number): Column {
  return values.map((_, at) => {
    let found: number | null = null;
    for (let i = Math.max(0, at - reach); i <= at; i++) {
      const value = values[i] ?? null;
      if (value !== null) found = found === null ? value : pick(found, value);
    }
    return found;
  });
}

function smooth(columns: Columns, weight: number): void {
  if (weight <= 0) return;
  if (!columns.minimum || !columns.maximum) {
    const reach = Math.min(64, Math.ceil(2 / (1 - weight)));
    columns.minimum = extremes(columns.value, reach, Math.min);
    columns.maximum = extremes(columns.value, reach, Math.max);
  }
  columns.value = exponentialMean(columns.value, weight);
}

/* What is taken off the time of a point of an attempt, so that the time that the run ran remains:
 * since its start, without the time between its attempts. */
function zeroOf(attempt: number, metrics: Metrics | undefined, first_ms: number | null): number {
  const times = metrics?.attempt_times ?? [];
  const own = times.find((one) => one.attempt === attempt);
  if (!own) return first_ms ?? 0;
  return times
    .filter((one) => one.attempt < attempt)
    .reduce((zero, one) => zero - (one.end_ms - one.start_ms), own.start_ms);
}

function xOf(columns: Columns, options: CurveOptions, zero_ms: number): number[] {
  if (options.axis === "step") return columns.step;
  if (options.axis === "samples") return columns.step.map((s) => s * (options.batchSize || 1));
  const times = columns.time_ms.map((time) => time ?? 0);
  return options.axis === "time" ? times : times.map((t) => (t - zero_ms) / 1000);
}

interface Branch {
  columns: Columns;
  zero_ms: number;
}

function curveOf(
  { columns, zero_ms }: Branch,
  options: CurveOptions,
  from: number,
  to: number,
): Curve {
  const cut = <T>(column: T[]): T[] => column.slice(from, to);
  const part: Columns = {
    step: cut(columns.step),
    time_ms: cut(columns.time_ms),
    value: cut(columns.value),
    minimum: columns.minimum && cut(columns.minimum),
    maximum: columns.maximum && cut(columns.maximum),
    notFinite: cut(columns.notFinite),
  };
  const x = xOf(part, options, zero_ms);
  const curve: Curve = { label: options.label, colour: options.colour, x, y: part.value };
  const bad = part.notFinite.flatMap((count, i) => (count > 0 ? [i] : []));
  if (bad.length > 0)
    curve.notFinite = {
      x: bad.map((i) => x[i] as number),
      count: bad.map((i) => part.notFinite[i] as number),
    };
  if (part.minimum && part.maximum) {
    curve.minimum = part.minimum;
    curve.maximum = part.maximum;
  }
  if (options.dash) curve.dash = options.dash;
  return curve;
}

const PAST_COLOUR = "--text-soft";
const REPLACED_COLOUR = "--text-faint";

/** Whose steps they are: a job, or else a folder. */
const pastOf = ({ job, model_dir }: SharedPast): string => job ?? model_dir ?? "";

/* Along its own elapsed time a run has no place for steps that another run did. */
const hasPast = ({ axis }: CurveOptions): boolean => axis !== "elapsed";

function branchOf(one: MetricSeries, { smoothing }: CurveOptions): Branch {
  const columns = columnsOf(one, undefined);
  smooth(columns, smoothing);
  return { columns, zero_ms: 0 };
}

/* A run's own line begins where the past ends. */
function join(columns: Columns, past: Columns): void {
  const at = past.step.length - 1;
  const value = past.value[at] ?? null;
  columns.step.unshift(past.step[at] as number);
  columns.time_ms.unshift(past.time_ms[at] ?? null);
  columns.value.unshift(value);
  columns.minimum?.unshift(value);
  columns.maximum?.unshift(value);
  columns.notFinite.unshift(0);
}

function pastCurve(one: MetricSeries, branch: Branch, options: CurveOptions): Curve[] {
  if (!one.past || options.drawsPast?.(one.past) === false) return [];
  const folder = pastOf(one.past).split("/").filter(Boolean).pop() ?? "";
  const label = `${folder}, shared to step ${integer(one.past.last)}`;
  const { dash: _, ...own } = options;
  return [curveOf(branch, { ...own, label, colour: PAST_COLOUR }, 0, branch.columns.step.length)];
}

function replacedCurve(one: MetricSeries, options: CurveOptions, zero_ms: number): Curve {
  const branch = { ...branchOf(one, options), zero_ms };
  const curve = curveOf(branch, options, 0, branch.columns.step.length);
  const { notFinite: _, ...line } = curve;
  return { ...line, colour: REPLACED_COLOUR, dimmed: true, dash: [3, 3] };
}

/** The curves of one series of one run: one for each attempt, and one for each branch left. */
export function curvesOf(
  name: string,
  metrics: Metrics | undefined,
  live: LivePoints | undefined,
  options: CurveOptions,
): Curve[] {
  const all = metrics?.series.filter((one) => one.name === name) ?? [];
  const stored = all.filter((one) => !one.past && !one.replaced);
  const shared = hasPast(options) ? all.filter((one) => one.past) : [];
  const pasts = shared.map((one) => ({ one, branch: branchOf(one, options) }));
  const lively = live?.get(name) ?? [];
  const attempts = new Set([...stored, ...lively].map((one) => one.attempt));
  const branches = [...attempts]
    .sort((a, b) => a - b)
    .map((attempt) => {
      const base = stored.find((one) => one.attempt === attempt) ?? {
        name,
        attempt,
        level: 0,
        count: 0,
        step: [],
        value: [],
      };
      const columns = columnsOf(
        base,
        lively.find((one) => one.attempt === attempt),
      );
      smooth(columns, options.smoothing);
      return { columns, zero_ms: zeroOf(attempt, metrics, columns.time_ms[0] ?? null) };
    })
    .filter(({ columns }) => columns.step.length > 0);
  const past = pasts[pasts.length - 1]?.branch.columns;
  if (past && past.step.length > 0 && branches[0]) join(branches[0].columns, past);
  const curves: Curve[] = [];
  let fork = Infinity;
  for (const branch of branches.reverse()) {
    const { columns } = branch;
    const cut = columns.step.findIndex((step) => step >= fork);
    const end = cut < 0 ? columns.step.length : cut;
    if (end < columns.step.length)
      curves.unshift({
        ...curveOf(branch, options, Math.max(0, end - 1), columns.step.length),
        dimmed: true,
        dash: [3, 3],
      });
    if (end > 0) curves.push(curveOf(branch, options, 0, end));
    fork = Math.min(fork, columns.step[0] ?? fork);
  }
  const replaced = options.hidesReplaced ? [] : all.filter((one) => one.replaced);
  return [
    ...replaced.map((one) => replacedCurve(one, options, zeroOf(one.attempt, metrics, null))),
    ...pasts.flatMap(({ one, branch }) => pastCurve(one, branch, options)),
    ...curves,
  ];
}

interface Shown {
  id: string;
  metrics: Metrics | undefined;
  hidden?: boolean;
}

/** A past that several runs share is drawn once: by the run whose past it is, where that is shown, else
 * by the one that left it last. */
export function pastsOf(runs: Shown[]): (run: Shown) => (past: SharedPast) => boolean {
  const last = new Map<string, { run: string; step: number }>();
  const shown = runs.filter((run) => !run.hidden);
  for (const run of shown)
    for (const { past } of run.metrics?.series ?? [])
      if (past && past.last > (last.get(pastOf(past))?.step ?? 0))
        last.set(pastOf(past), { run: run.id, step: past.last });
  return (run) => (past) =>
    !shown.some((one) => one.id === past.job) && last.get(pastOf(past))?.run === run.id;
}

/** The last value of a series, over all attempts. */
export function lastOf(name: string, metrics: Metrics | undefined): number | null {
  const stored =
    metrics?.series.filter((one) => one.name === name && !one.past && !one.replaced) ?? [];
  const newest = stored.sort((a, b) => a.attempt - b.attempt)[stored.length - 1];
  return newest?.value[newest.value.length - 1] ?? null;
}
