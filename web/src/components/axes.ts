/* Ranges and ticks of a chart's axes. */
import { compact, duration, time } from "@/base/format";

export type AxisKind = "step" | "samples" | "time" | "elapsed";

/* Differences below this share of a value come from rounding to float32. */
const SAME = 1e-6;

const TEXTS: Record<AxisKind, (value: number) => string> = {
  step: compact,
  samples: compact,
  elapsed: (value) => duration(value),
  time: (value) => time(value),
};

/** A place on the horizontal axis, as text. */
export const at = (axis: AxisKind, value: number): string => TEXTS[axis](value);

const powers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => Number(`1e${from + i}`));

/** Steps and samples are whole numbers. */
export const integerIncrements = powers(0, 15).flatMap((power) => [power, 2 * power, 5 * power]);

export const secondIncrements = [
  ...powers(-3, -1).flatMap((power) => [power, 2 * power, 5 * power]),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800],
  ...[1, 2, 3, 6, 12, 24, 48, 120, 240].map((hours) => hours * 3600),
];

/** The horizontal axis; a point that is alone stands in its middle. */
export function axisRange(
  axis: AxisKind,
  low: number | null,
  high: number | null,
  alone?: number,
): [number | null, number | null] {
  if (low == null || high == null) return [0, 1];
  const middle = alone ?? low;
  if (high > low && alone === undefined) return [low, high];
  const room = axis === "time" ? 30_000 : Math.max(1, Math.abs(middle) / 10);
  return [middle - room, middle + room];
}

const isConstant = (low: number, high: number): boolean =>
  high - low <= SAME * Math.max(Math.abs(low), Math.abs(high));

/** The vertical axis; a constant stands in its middle. */
export function valueRange(
  low: number | null,
  high: number | null,
): [number | null, number | null] {
  if (low == null || high == null) return [0, 1];
  if (isConstant(low, high)) {
    const room = Math.abs(high) / 2 || 1;
    return [low - room, high + room];
  }
  const room = (high - low) * 0.06;
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

/** The same of a logarithmic axis; the values are positive. */
export function logRange(low: number | null, high: number | null): [number | null, number | null] {
  if (low == null || high == null || !(low > 0) || !(high > 0)) return [0.1, 10];
  if (isConstant(low, high)) return [low / 2, high * 2];
  const room = (high / low) ** 0.06;
  return [low / room, high * room];
}

/** Round numbers from `low` to `high`, about `most` of them. */
export function niceSteps(low: number, high: number, most: number): number[] {
  const raw = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((m) => m * power >= raw) ?? 10) * power;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => (first + i) * step);
}

/** Ticks of a logarithmic axis: powers of ten, or 1, 2, 5 of each; below half a decade, even ones.
 */
export function logSplits(low: number, high: number, most: number): number[] {
  if (!(low > 0) || !(high > low)) return [low];
  const from = Math.floor(Math.log10(low));
  const to = Math.ceil(Math.log10(high));
  const within = (ticks: number[]) => ticks.filter((t) => t >= low && t <= high);
  const fine = within(powers(from, to).flatMap((power) => [power, 2 * power, 5 * power]));
  if (fine.length < 3) return niceSteps(low, high, Math.max(3, most / 1.5));
  if (fine.length <= most) return fine;
  const each = Math.max(1, Math.ceil((to - from) / most));
  return within(powers(from, to).filter((_, i) => i % each === 0));
}

/* Digits behind the point that an increment of 10, 2.5 or 0.002 needs. */
function placesOf(increment: number): number {
  const power = Math.floor(Math.log10(increment) + 1e-9);
  const first = increment / 10 ** power;
  return Math.max(0, -power + (Math.abs(first - Math.round(first)) > 1e-6 ? 1 : 0));
}

/** A tick's text, with as many digits as tell it from its neighbours; 0: no increment. Neighbours
 * are written alike: small numbers with an exponent where the `largest` of the axis is small. */
export function tickText(value: number, increment: number, largest = Math.abs(value)): string {
  const size = Math.abs(value);
  const isSmall = size > 0 && (increment === 0 ? size < 1e-3 : largest < 1e-3 && increment < 1e-4);
  if (size < 1e6 && !isSmall)
    return value.toLocaleString("en-US", {
      maximumFractionDigits: increment > 0 ? Math.min(12, placesOf(increment)) : 4,
    });
  const exponent = Math.floor(Math.log10(size) + 1e-9);
  const behind = increment > 0 ? placesOf(increment / 10 ** exponent) : 1;
  return value
    .toExponential(Math.min(6, behind))
    .replace(/\.?0+e/, "e")
    .replace("e+", "e");
}
