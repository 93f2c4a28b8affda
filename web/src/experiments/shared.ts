/* Curves of many runs over the same ranges of steps, in one answer: each run's own, or of groups of
 * runs the mean with a band. */
import { api, type CurveLine, type LineValues, type SharedCurves } from "@generated/client";
import { useResource, type Resource } from "@/base/resource";
import type { Curve, View } from "@/components/Chart";
import { colourOf } from "@/components/MetricChart";
import { columnTitle, shortPath } from "@/experiments/names";

/** The runs that are compared: by their ids, or all for which a condition holds. */
export interface Source {
  runs?: string[];
  where?: string;
}

/** How runs become lines: "": each is one; "~seed": alike in all but that; else alike in a name. */
export type Grouping = string;
export type Band = "deviation" | "range";

const RELOAD_MS = 30_000;
const MAX_POINTS = 250;
/* Lines of many runs are thin, and have no pattern of their own. */
const MANY = 16;
const COLOURS = 8;

const groupingOf = (grouping: Grouping) => {
  if (!grouping) return {};
  return grouping.startsWith("~") ? { but: [grouping.slice(1)] } : { group_by: [grouping] };
};

/* As much again on each side of what is in view. */
function rangeOf(view: View | null) {
  if (!view) return {};
  const width = view[1] - view[0];
  const [from, to] = [Math.floor(view[0] - width), Math.ceil(view[1] + width)];
  return { from: Math.max(1, from), to: Math.max(1, to) };
}

/** Not asked while `source` is null. `view`: steps. */
export function useShared(
  source: Source | null,
  names: string[],
  grouping: Grouping,
  view: View | null,
): Resource<SharedCurves | null> {
  const ask = { ...source, names, max_points: MAX_POINTS, ...groupingOf(grouping) };
  return useResource<SharedCurves | null>(
    () => (source ? api.getCurves({ ...ask, ...rangeOf(view) }) : Promise.resolve(null)),
    [source && JSON.stringify(ask), view?.join()],
    source ? RELOAD_MS : 0,
  );
}

/* ---- lines ---- */

export interface Line {
  /** Its place in the answer. */
  index: number;
  label: string;
  colour: string;
  runs: string[];
  hidden: boolean;
}

const valueText = (value: number | string | null | undefined): string =>
  value === null || value === undefined ? "none" : String(value);

function labelOf({ key, runs }: CurveLine, { by, runs: all }: SharedCurves): string {
  if (!key) {
    const run = all.find((one) => one.id === runs[0]);
    const many = all.filter((one) => one.name === run?.name).length > 1;
    return many ? `${run?.name} (${runs[0]})` : (run?.name ?? "");
  }
  const parts = key.map((value, i) => {
    const name = shortPath(columnTitle(by?.[i] ?? "").text);
    return `${name} ${valueText(value)}`;
  });
  return parts.join(", ") || "all";
}

type Key = CurveLine["key"];

function compareKeys(a: Key, b: Key): number {
  for (let i = 0; i < (a?.length ?? 0); i++) {
    const [x, y] = [a?.[i] ?? null, b?.[i] ?? null];
    if (x === y) continue;
    if (typeof x === "number" && typeof y === "number") return x - y;
    return valueText(x) < valueText(y) ? -1 : 1;
  }
  return 0;
}

/** In the order of their keys; those of runs as they were asked for. */
export function linesOf(data: SharedCurves, ids: string[], out: (line: Line) => boolean): Line[] {
  const place = (one: CurveLine) => ids.indexOf(one.runs[0] ?? "");
  return data.lines
    .map((one, index) => ({ one, index }))
    .sort((a, b) => compareKeys(a.one.key, b.one.key) || place(a.one) - place(b.one))
    .map(({ one, index }, at) => {
      const label = labelOf(one, data);
      const line: Line = { index, label, colour: colourOf(at), runs: one.runs, hidden: false };
      return { ...line, hidden: out(line) };
    });
}

/* ---- curves ---- */

/** "5 runs", or "3 to 5 runs" where not all have points of each range. */
export function countText(values: LineValues): string {
  const counts = (values.count ?? []).filter((count) => count > 0);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (counts.length === 0) return "no run";
  const runs = `${most} ${most === 1 ? "run" : "runs"}`;
  return least < most ? `${least} to ${runs}` : runs;
}

function edgesOf(values: LineValues, band: Band): [Curve["y"], Curve["y"]] {
  if (band === "range") return [values.minimum ?? [], values.maximum ?? []];
  const edge = (sign: number) =>
    values.mean.map((mean, i) => {
      const deviation = values.deviation?.[i] ?? null;
      return mean === null || deviation === null ? null : mean + sign * deviation;
    });
  return [edge(-1), edge(1)];
}

function smoothed(values: Curve["y"], weight: number): Curve["y"] {
  let sum = 0;
  let norm = 0;
  if (weight <= 0) return values;
  return values.map((value) => {
    if (value === null || value === undefined) return value;
    sum = sum * weight + value;
    norm = norm * weight + 1;
    return sum / norm;
  });
}

/* A range in which a run has no point is no gap of its line. */
const spanned = (values: Curve["y"]): Curve["y"] => values.map((value) => value ?? undefined);

export interface Drawn {
  band: Band;
  smoothing: number;
  isSamples: boolean;
}

/** One chart: these series of all lines that are shown. A line's further series are dashed. */
export function sharedCurves(
  data: SharedCurves,
  names: string[],
  lines: Line[],
  { band, smoothing, isSamples }: Drawn,
): Curve[] {
  const shown = lines.filter((line) => !line.hidden);
  const isMany = shown.length > MANY;
  return names.flatMap((name, n) => {
    const series = data.series.find((one) => one.name === name);
    if (!series) return [];
    return shown.flatMap((line): Curve[] => {
      const values = series.lines[line.index];
      const batch = data.lines[line.index]?.batch_size ?? 1;
      if (!values || values.runs === 0) return [];
      const x = isSamples ? series.last_step.map((step) => step * batch) : series.last_step;
      const text = names.length > 1 && n > 0 ? `${line.label} ${name}` : line.label;
      const label = data.by ? `${text} (${countText(values)})` : text;
      const y = spanned(smoothed(values.mean, smoothing));
      const curve: Curve = { label, colour: line.colour, x, y };
      if (values.not_finite > 0) curve.lost = values.not_finite;
      if (isMany) curve.width = 1;
      if (n > 0) curve.dash = [6, 3];
      else if (!isMany && lines.indexOf(line) >= COLOURS) curve.dash = [2, 2];
      if (!data.by) return [curve];
      const [minimum, maximum] = edgesOf(values, band).map((edge) => smoothed(edge, smoothing));
      return [{ ...curve, minimum: spanned(minimum ?? []), maximum: spanned(maximum ?? []) }];
    });
  });
}
