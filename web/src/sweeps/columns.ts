/* What the API says of a sweep, as columns of its trials and as curves. */
import type { Sweep, SweepTrial } from "@generated/client";
import type { Value } from "@/experiments/cells";
import type { Explored } from "@/experiments/Explore";

/** Of a trial's rung, where halving has several. */
export const STEPS = "steps";

export const hasRungs = (sweep: Sweep): boolean => sweep.method === "halving";

/* A text of YAML that is a number is shown as one. */
function valueOf(text: string | undefined): Value {
  if (text === undefined) return null;
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) ? number : text;
}

/** The parameters in which trials differ, by their place. */
export const differing = (sweep: Sweep): number[] =>
  sweep.parameters.flatMap((_, p) => {
    const first = sweep.trials[0]?.settings[p];
    return sweep.trials.some((trial) => trial.settings[p] !== first) ? [p] : [];
  });

export interface Table {
  columns: string[];
  valuesOf: (trial: SweepTrial) => Value[];
}

/** The metric, the steps where they differ, and the settings that differ. */
export function tableOf(sweep: Sweep): Table {
  const places = differing(sweep);
  const rungs = hasRungs(sweep);
  return {
    columns: [
      sweep.metric,
      ...(rungs ? [STEPS] : []),
      ...places.map((p) => sweep.parameters[p]?.path ?? ""),
    ],
    valuesOf: (trial) => [
      trial.value,
      ...(rungs ? [trial.steps] : []),
      ...places.map((p) => valueOf(trial.settings[p])),
    ],
  };
}

function compare(a: Value, b: Value): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** In the server's order, the best first, or by a column; trials without a value are last. */
export function sorted(sweep: Sweep, { columns, valuesOf }: Table, sort: string): SweepTrial[] {
  const down = sort.startsWith("-");
  const column = columns.indexOf(down ? sort.slice(1) : sort);
  if (column < 0) return sweep.trials;
  const rows = sweep.trials.map((trial) => ({ trial, value: valuesOf(trial)[column] ?? null }));
  rows.sort((a, b) => {
    if (a.value === null || b.value === null)
      return Number(a.value === null) - Number(b.value === null);
    return down ? compare(b.value, a.value) : compare(a.value, b.value);
  });
  return rows.map(({ trial }) => trial);
}

export const nameOf = (trial: number): string => `trial ${trial}`;

export const jobAddress = (job: string): string => `/jobs/${encodeURIComponent(job)}/pulse`;

const MOST_AXES = 7;

/** Those that have a value, for the drawings of runs. */
export function exploredOf(sweep: Sweep, { columns, valuesOf }: Table): Explored {
  const settings = columns.filter((name) => name !== sweep.metric && name !== STEPS);
  return {
    rows: sweep.trials
      .filter((trial) => trial.value !== null && trial.state !== "failed")
      .map((trial) => ({
        id: String(trial.trial),
        name: nameOf(trial.trial),
        values: valuesOf(trial),
        href: trial.job === null ? null : jobAddress(trial.job),
      })),
    columns,
    settings,
    figures: [sweep.metric],
    results: [sweep.metric],
    axes: [...settings.slice(0, MOST_AXES - 1), sweep.metric],
    wishes: { [sweep.metric]: sweep.goal === "max" ? 1 : -1 },
  };
}

export interface Course {
  /** From 1, of the results in their order. */
  x: number[];
  value: (number | null)[];
  /** The value that the best trial had then. */
  best: (number | null)[];
}

export function courseOf(sweep: Sweep): Course {
  const known = new Map<number, number | null>();
  const course: Course = { x: [], value: [], best: [] };
  sweep.history.forEach((point, i) => {
    const value = point.failed ? null : point.value;
    known.set(point.trial, value);
    course.x.push(i + 1);
    course.value.push(value);
    course.best.push(point.best === null ? null : (known.get(point.best) ?? null));
  });
  return course;
}

/** The value of each trial at a rung. */
export function valuesAt(sweep: Sweep, rung: number): Map<number, number | null> {
  const values = new Map<number, number | null>();
  for (const point of sweep.history)
    if (point.rung === rung) values.set(point.trial, point.failed ? null : point.value);
  return values;
}
