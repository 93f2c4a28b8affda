/* The head of a table of runs: its columns, by each of which it can be ordered. */
import type { ComponentChildren } from "preact";
import { columnTitle, shortPath } from "@/experiments/names";
import { turnSort, type View } from "@/experiments/view";

/** Its height in pixels. */
export const HEAD = 40;

export function Title({ name, step }: { name: string; step: number | null }) {
  const { text, figure } = columnTitle(name);
  return (
    <>
      <span class="ellipsis">{shortPath(text)}</span>
      {figure && <span class="faint">{figure === "at step" ? `at step ${step}` : figure}</span>}
    </>
  );
}

function SortButton({ name, view }: { name: string; view: Pick<View, "sort" | "step"> }) {
  const mark = view.sort === name ? "↑" : view.sort === `-${name}` ? "↓" : "";
  return (
    <button class="sort" title={name} onClick={() => turnSort(name)}>
      <Title name={name} step={view.step} />
      <i aria-hidden="true">{mark}</i>
    </button>
  );
}

const sortedBy = (name: string, view: Pick<View, "sort" | "step">) =>
  view.sort === name ? "ascending" : view.sort === `-${name}` ? "descending" : undefined;

export function Heads({
  first,
  columns,
  isNumber,
  view,
}: {
  first: ComponentChildren;
  columns: string[];
  isNumber: (column: number) => boolean;
  view: Pick<View, "sort" | "step">;
}) {
  return (
    <div class="line heads" role="row" style={{ height: `${HEAD}px` }}>
      {first}
      {columns.map((name, c) => (
        <div
          key={name}
          class={isNumber(c) ? "cell number" : "cell"}
          role="columnheader"
          aria-sort={sortedBy(name, view)}
        >
          <SortButton name={name} view={view} />
        </div>
      ))}
    </div>
  );
}
