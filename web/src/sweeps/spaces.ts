/* Values and ranges of a setting, as they are typed and as a sweep takes them. */
import type { YamlLine } from "@/base/yaml";

export const KINDS = [
  ["list", "values"],
  ["uniform", "uniform"],
  ["log_uniform", "log uniform"],
  ["int", "whole numbers"],
] as const;

export type Kind = (typeof KINDS)[number][0];

export interface Space {
  kind: Kind;
  /** Values, or low and high, with commas between them. */
  text: string;
}

export type Parameter = unknown[] | Record<string, [number, number]>;

/* Settings of where a run happens are the last that somebody looks for. */
const isOfBackend = (path: string): boolean => path.startsWith("trainer.init.backend.");

/** Settings with a value on their line, by path; entries of lists are none. */
export function settingsOf(lines: readonly YamlLine[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { text, path } of lines) {
    const value = /: +(\S.*)$/.exec(text)?.[1];
    if (path !== null && value !== undefined && !path.includes("[")) found.set(path, value);
  }
  const all = [...found];
  return new Map([
    ...all.filter(([path]) => !isOfBackend(path)),
    ...all.filter(([path]) => isOfBackend(path)),
  ]);
}

/** Around the value that it has. */
export function suggest(value: string): Space {
  const number = Number(value);
  if (!Number.isFinite(number) || number <= 0) return { kind: "list", text: value };
  if (Number.isInteger(number) && /^\d+$/.test(value))
    return { kind: "list", text: [number, 2 * number].join(", ") };
  const around = [number / 10, number * 10].map((one) => Number(one.toPrecision(3)));
  return { kind: "log_uniform", text: around.join(", ") };
}

function listOf(text: string): unknown[] | null {
  try {
    return JSON.parse(`[${text}]`) as unknown[];
  } catch {
    /* Words of YAML stand without quotes; with brackets a comma may be within one of them. */
    return /[[\]{}"']/.test(text) ? null : text.split(",").map((one) => one.trim());
  }
}

/** A text says what is wrong. */
export function readSpace({ kind, text }: Space): Parameter | string {
  if (kind === "list") {
    const list = listOf(text);
    if (list === null) return "values with commas between them; lists as [1, 2]";
    return list.length > 0 && !list.includes("") ? list : "at least one value";
  }
  const ends = text.split(",").map((one) => (one.trim() === "" ? NaN : Number(one)));
  const [low, high] = ends;
  if (ends.length !== 2 || !ends.every(Number.isFinite) || (low as number) >= (high as number))
    return "low, high";
  return { [kind]: [low as number, high as number] };
}
