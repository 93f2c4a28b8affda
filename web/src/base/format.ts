/* Formatting of numbers, times and sizes, the same on every page. */

const NOTHING = "–";

/** Four significant digits; very large and very small ones with an exponent. */
export function number(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined) return NOTHING;
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(digits - 2);
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size || 1)));
  return value.toLocaleString("en-US", {
    maximumFractionDigits: Math.min(6, places),
    minimumFractionDigits: Math.min(2, places),
  });
}

export function integer(value: number | null | undefined): string {
  return value === null || value === undefined
    ? NOTHING
    : Math.round(value).toLocaleString("en-US");
}

/** Short: 12.3k, 4.5M. */
export function compact(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  const size = Math.abs(value);
  for (const [limit, unit] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const)
    if (size >= limit * 0.9995) return `${trim(value / limit)}${unit}`;
  return size >= 100 || Number.isInteger(value) ? String(Math.round(value)) : trim(value);
}

/* Rounding may reach the next unit (999,999 is 1000 k): three digits are shown then, too. */
const trim = (value: number): string => String(Number(value.toPrecision(3)));

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  for (const [limit, unit] of [
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
  ] as const)
    if (value >= limit) return `${(value / limit).toFixed(value / limit < 10 ? 2 : 1)} ${unit}`;
  return `${value} B`;
}

export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined) return NOTHING;
  const value = share * 100;
  if (value > 0 && value < 0.1) return "<0.1 %";
  return `${value < 10 && value !== 0 ? value.toFixed(1) : Math.round(value)} %`;
}

/** 2 h 03 min, 4 min 12 s, 38 s, 12 ms. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NOTHING;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const s = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, "0");
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

/** How long ago, coarse: for tables. */
export function ago(time_ms: number | null | undefined, now = Date.now()): string {
  if (time_ms === null || time_ms === undefined) return NOTHING;
  const s = Math.max(0, (now - time_ms) / 1000);
  if (s < 60) return "just now";
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86400)} d ago`;
}

const clock = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const day = new Intl.DateTimeFormat("en-GB", { day: "2-digit", month: "short" });
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

export const time = (ms: number | null | undefined): string => (ms ? clock.format(ms) : NOTHING);

export function timeWithMilliseconds(ms: number): string {
  return `${clock.format(ms)}.${String(ms % 1000).padStart(3, "0")}`;
}

export const date = (ms: number | null | undefined): string => (ms ? whole.format(ms) : NOTHING);
export const shortDate = (ms: number): string => `${day.format(ms)} ${clock.format(ms)}`;
