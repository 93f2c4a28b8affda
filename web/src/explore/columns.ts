/* Columns of the table of runs as axes: numbers along a line, texts side by side. */
import { logSplits, niceSteps, tickText } from "@/components/axes";
import { columnTitle, shortPath } from "@/experiments/names";
import type { Value } from "@/experiments/cells";

export interface Row {
  id: string;
  name: string;
  values: readonly Value[];
  /** Where its name leads; null: nowhere; absent: to the page of the job with its id. */
  href?: string | null;
}

export interface Axis {
  name: string;
  title: string;
  /** Of each row from 0 to 1; NaN: it has no value. */
  places: Float64Array;
  /** Of each row as a number: a text's is that of its kind. */
  numbers: Float64Array;
  /** In rising order; null: the values are numbers. */
  kinds: string[] | null;
  logarithmic: boolean;
  low: number;
  high: number;
}

/** A range of numbers of an axis: from, to. */
export type Limits = Record<string, readonly [number, number]>;

/** Numbers that span more than this are shown by their logarithm. */
const WIDE = 50;

export function titleOf(name: string): string {
  const { text, figure } = columnTitle(name);
  return figure ? `${shortPath(text)}, ${figure}` : shortPath(text);
}

const isNumbers = (values: Value[]): boolean =>
  values.every((value) => value === null || typeof value === "number");

function numbersOf(values: Value[], kinds: string[] | null): Float64Array {
  const places = new Map(kinds?.map((kind, i) => [kind, i]));
  return Float64Array.from(values, (value) =>
    value === null ? NaN : kinds ? (places.get(String(value)) ?? NaN) : (value as number),
  );
}

export function axisOf(name: string, rows: readonly Row[], column: number): Axis {
  const values = rows.map((row) => row.values[column] ?? null);
  const texts = values.flatMap((value) => (value === null ? [] : [String(value)]));
  const kinds = isNumbers(values) ? null : [...new Set(texts)].sort();
  const numbers = numbersOf(values, kinds);
  const known = numbers.filter((value) => Number.isFinite(value));
  const low = known.length > 0 ? known.reduce((a, b) => Math.min(a, b)) : 0;
  const high = known.length > 0 ? known.reduce((a, b) => Math.max(a, b)) : 1;
  const logarithmic = kinds === null && low > 0 && high / low > WIDE;
  const axis = { name, title: titleOf(name), places: numbers, numbers, kinds, logarithmic };
  const whole = { ...axis, low, high };
  return { ...whole, places: numbers.map((value) => placeOf(whole, value)) };
}

type Scale = Pick<Axis, "low" | "high" | "logarithmic">;

/** Where a number stands; one that is the only one in the middle. */
export function placeOf({ low, high, logarithmic }: Scale, value: number): number {
  if (high === low) return value === low ? 0.5 : value < low ? 0 : 1;
  return logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

export function numberAt({ low, high, logarithmic }: Scale, place: number): number {
  const inside = Math.min(1, Math.max(0, place));
  return logarithmic ? low * (high / low) ** inside : low + (high - low) * inside;
}

export interface Tick {
  place: number;
  text: string;
}

const NUMBER_TICKS = 6;
const MOST_KINDS = 12;

export function ticksOf(axis: Axis): Tick[] {
  if (axis.kinds) {
    const each = Math.ceil(axis.kinds.length / MOST_KINDS);
    return axis.kinds.flatMap((text, i) =>
      i % each === 0 ? [{ place: placeOf(axis, i), text }] : [],
    );
  }
  if (axis.high === axis.low) return [{ place: 0.5, text: shortNumber(axis.low) }];
  const split = axis.logarithmic ? logSplits : niceSteps;
  const numbers = split(axis.low, axis.high, NUMBER_TICKS);
  return numbers.map((value) => ({ place: placeOf(axis, value), text: shortNumber(value) }));
}

/** Three digits, without blanks. */
export const shortNumber = (value: number): string =>
  tickText(Number(value.toPrecision(3)), 0, Math.abs(value));

/** Whether a row is within all limits; where it has no value it is not. */
export const passes = (row: number, axes: ReadonlyMap<string, Axis>, limits: Limits): boolean =>
  Object.entries(limits).every(([name, [from, to]]) => {
    const axis = axes.get(name);
    const value = axis?.numbers[row] ?? NaN;
    return axis === undefined || (value >= from && value <= to);
  });

/* ---- limits in the address: NAME~FROM~TO;... ---- */

export function readLimits(text: string): Limits {
  const limits: Record<string, readonly [number, number]> = {};
  for (const part of text.split(";")) {
    const [name, from, to] = part.split("~");
    const range = [Number(from), Number(to)] as const;
    if (name && to !== undefined && range.every(Number.isFinite)) limits[name] = range;
  }
  return limits;
}

export const writeLimits = (limits: Limits): string =>
  Object.entries(limits)
    .map(
      ([name, [from, to]]) => `${name}~${Number(from.toPrecision(6))}~${Number(to.toPrecision(6))}`,
    )
    .join(";");
