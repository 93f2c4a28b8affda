/* Names of columns, as the API and conditions take them, and as a head shows them. */

/** Which figure of a series a column is of. */
export const FINAL_FIGURE = { last: "last", min: "least", max: "largest", at: "at step" } as const;

export type Figure = keyof typeof FINAL_FIGURE;

export interface Title {
  text: string;
  /** "least", "largest", "at step"; null: the last value, or no series. */
  figure: string | null;
}

/** The last two names of a path: what tells settings apart where there is little room. */
export const shortPath = (text: string): string => text.split(".").slice(-2).join(".");

const PREFIX = /^trainer\.(init|fit|validate)\./;

export function columnTitle(name: string): Title {
  const [, figure, series] = /^(last|min|max|at)\((.+)\)$/.exec(name) ?? [];
  if (series !== undefined && figure !== "last")
    return { text: series, figure: FINAL_FIGURE[figure as Figure] };
  return { text: (series ?? name).replace(PREFIX, ""), figure: null };
}

export const columnName = (series: string, figure: Figure): string =>
  figure === "last" ? series : `${figure}(${series})`;

/* Fields of jobs that are worth a column, or a group. */
const FIELDS = [
  "model",
  "optimizer",
  "seed",
  "batch_size",
  "num_csx",
  "state",
  "health",
  "step",
  "rate",
  "min_loss",
  "ran_ms",
  "host",
  "note",
] as const;

/** Those of them that no setting or label has the name of. */
export function fieldsBeside(names: string[]): string[] {
  const titles = new Set(names.map((name) => columnTitle(name).text));
  return FIELDS.filter((name) => !titles.has(name));
}
