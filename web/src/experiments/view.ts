/* What the page Experiments shows is in its address: a link shows the same table. */
import { query, setQuery } from "@/base/route";
import { FINAL_FIGURE, columnTitle } from "@/experiments/names";

export interface View {
  where: string;
  /** Null: what differs between the runs, and their series. */
  columns: string[] | null;
  /** A name, with "-" before it the largest first; "": newest first. */
  sort: string;
  group: string[];
  baseline: string;
  /** Of at(SERIES); null: none. */
  step: number | null;
  /** The runs that are ticked. */
  runs: string[];
}

export const listOf = (name: string): string[] =>
  (query.value.get(name) ?? "").split(",").filter(Boolean);

const wholeNumber = (text: string | null): number | null =>
  text !== null && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null;

export function viewOf(): View {
  return {
    where: (query.value.get("filter") ?? "").trim(),
    columns: query.value.has("columns") ? listOf("columns") : null,
    sort: query.value.get("sort") ?? "",
    group: listOf("group"),
    baseline: query.value.get("baseline") ?? "",
    step: wholeNumber(query.value.get("step")),
    runs: listOf("runs"),
  };
}

/** The parameters of the API that a view means. */
export function askOf(view: View) {
  const { where, columns, sort, group, baseline, step } = view;
  return {
    ...(where ? { where } : {}),
    ...(columns ? { columns } : {}),
    ...(sort ? { sort } : {}),
    ...(group.length > 0 ? { group_by: group } : {}),
    ...(baseline ? { baseline } : {}),
    ...(step !== null ? { at_step: step } : {}),
  };
}

/** The address of the same table as comma-separated values. */
export function csvAddress(view: View): string {
  const parameters = new URLSearchParams({ format: "csv" });
  for (const [name, value] of Object.entries(askOf(view))) parameters.set(name, String(value));
  return `/api/v1/experiments?${parameters}`;
}

export const setColumns = (columns: string[] | null): void =>
  setQuery({ columns: columns === null ? null : columns.join(",") });

export const setRuns = (runs: string[]): void => setQuery({ runs: runs.join(",") });

/** Rising, then falling, then newest first. */
export function turnSort(name: string): void {
  const sort = query.peek().get("sort");
  setQuery({ sort: sort === name ? `-${name}` : sort === `-${name}` ? null : name });
}

/** A condition that a value of a name fulfils. */
export const conditionOf = (name: string, value: string | number): string =>
  `${name}=${/[\s()=!<>~]/.test(String(value)) ? `"${value}"` : value}`;

/** Columns without those of a step. */
export const withoutStep = (columns: string[] | null): string[] | null =>
  columns && columns.filter((name) => FINAL_FIGURE.at !== columnTitle(name).figure);
