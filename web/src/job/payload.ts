/* What a step closure was called with: names and values, the loop it belongs to, how long it took.
 * A run writes the members below; the rest of a payload is shown as it is. */
import type { Closure } from "@generated/client";
import { number } from "@/base/format";

export interface ClosureFacts {
  /** "training" or "validation": whose step, or batch, it was called for. */
  loop: string;
  isTraining: boolean;
  values: [name: string, value: string][];
  /** Microseconds that the closure took; null: not known. */
  call_us: number | null;
  /** Calls since the one before that are not in the list: it holds 20 a second at most. */
  unlisted: number;
}

interface Payload {
  training?: boolean;
  names?: string[];
  values?: unknown[];
  call_us?: number;
  unlisted?: number;
}

const OWN = new Set(["training", "names", "values", "call_us", "unlisted", "steps_done"]);

function valueText(value: unknown): string {
  if (typeof value === "number") return number(value, 6);
  return value === null ? "not finite" : typeof value === "string" ? value : JSON.stringify(value);
}

export function factsOf(one: Closure): ClosureFacts {
  const isObject = one.payload !== null && typeof one.payload === "object";
  const payload = (isObject ? one.payload : { value: one.payload }) as Payload;
  const own = (payload.values ?? []).map((value, i): [string, string] => [
    payload.names?.[i] ?? `value ${i}`,
    valueText(value),
  ]);
  const others = Object.entries(payload)
    .filter(([key]) => !OWN.has(key))
    .map(([key, value]): [string, string] => [key, valueText(value)]);
  const isTraining = payload.training !== false;
  return {
    loop: isTraining ? "training" : "validation",
    isTraining,
    values: [...own, ...others],
    call_us: payload.call_us ?? null,
    unlisted: payload.unlisted ?? 0,
  };
}

/** "step 400" of training, "batch 40" of a validation. */
export function placeText(one: Closure): string {
  const step = one.step.toLocaleString("en-US");
  return factsOf(one).isTraining ? `step ${step}` : `batch ${step}`;
}

/** The values as one line. */
export function payloadText(one: Closure): string {
  return factsOf(one)
    .values.map(([name, value]) => `${name} ${value}`)
    .join("   ");
}
