/* A value of a run, by how much it is above the baseline's, and figures of a group. */
import type { ExperimentFigures } from "@generated/client";
import { number } from "@/base/format";

export type Value = number | string | null;

function Delta({ value, from, delta }: { value: Value; from: Value; delta: number | null }) {
  if (delta === 0) return null;
  if (delta !== null)
    return (
      <span class="delta">
        {delta > 0 ? "+" : "−"}
        {number(Math.abs(delta))}
      </span>
    );
  return value !== null && from !== null && value !== from ? (
    <span class="delta" title={`the baseline has ${from}`}>
      ≠
    </span>
  ) : null;
}

export function ValueCell({
  value,
  delta,
  from,
}: {
  value: Value;
  /** Undefined: there is no baseline. */
  delta?: number | null | undefined;
  from?: Value | undefined;
}) {
  const text = typeof value === "string" ? value : number(value);
  return (
    <>
      <span class={value === null ? "ellipsis faint" : "ellipsis"} title={String(value ?? "")}>
        {text}
      </span>
      {delta !== undefined && from !== undefined && (
        <Delta value={value} from={from} delta={delta} />
      )}
    </>
  );
}

export function FiguresCell({ figures }: { figures: ExperimentFigures | null }) {
  if (figures === null) return <span class="faint">–</span>;
  const { mean, deviation, minimum, maximum, count } = figures;
  return (
    <>
      <span
        class="ellipsis"
        title={`mean ${mean}, deviation ${deviation ?? "of one run there is none"}`}
      >
        {number(mean)}
        {deviation !== null && ` ± ${number(deviation, 3)}`}
      </span>
      <span class="delta" title={`least ${minimum}, largest ${maximum}, of ${count} runs`}>
        {number(minimum)} … {number(maximum)} · {count}
      </span>
    </>
  );
}
