/* How curves are shown, on each page that has them: the horizontal axis, logarithms, smoothing and
 * the part in view. All of it is in the address. */
import type { Metrics } from "@generated/client";
import { debounce } from "@/base/resource";
import { path, query, setQuery } from "@/base/route";
import type { View } from "@/components/Chart";
import { Choice } from "@/components/parts";
import type { XAxis } from "@/job/series";

const AXES = [
  ["step", "step"],
  ["samples", "samples"],
  ["elapsed", "time"],
  ["time", "clock"],
] as const;

export interface CurveView {
  axis: XAxis;
  smoothing: number;
  logarithmic: boolean;
  zoom: View | null;
}

/* What all charts show of their horizontal axis, "120~480". */
function zoomOf(text: string | null): View | null {
  const [from, to] = (text ?? "").split("~").map(Number);
  return from !== undefined && to !== undefined && from < to ? [from, to] : null;
}

const zoomText = (view: View | null): string | null =>
  view && view.map((value) => Number(value.toPrecision(9))).join("~");

export const curveView = (): CurveView => ({
  axis: (query.value.get("x") ?? "step") as XAxis,
  smoothing: Math.min(0.98, Number(query.value.get("smooth") ?? 0) || 0),
  logarithmic: query.value.get("log") === "1",
  zoom: zoomOf(query.value.get("zoom")),
});

const ZOOM_MS = 150;

/* Not into the address of the page that one has gone to meanwhile. */
const keepZoomOf = debounce((page: string, view: View | null) => {
  if (path.peek() === page) setQuery({ zoom: zoomText(view) });
}, ZOOM_MS);

export const keepZoom = (view: View | null): void => keepZoomOf(path.peek(), view);

/** Whether steps that a later start did again are hidden. */
export const hidesReplaced = (): boolean => query.value.get("replaced") === "0";

/** There only where a run has such steps. */
export function ReplacedSteps({ runs }: { runs: { metrics: Metrics | undefined }[] }) {
  if (!runs.some((run) => run.metrics?.series.some((one) => one.replaced))) return null;
  return (
    <button
      aria-pressed={!hidesReplaced()}
      title="Steps that a later start did again, in grey: no figure has them"
      onClick={() => setQuery({ replaced: hidesReplaced() ? null : "0" })}
    >
      replaced steps
    </button>
  );
}

export function CurveControls({ axis, smoothing, logarithmic }: CurveView) {
  return (
    <>
      <Choice
        label="Horizontal axis"
        value={axis}
        options={AXES}
        onChange={(value) => setQuery({ x: value === "step" ? null : value, zoom: null })}
      />
      <button
        aria-pressed={logarithmic}
        onClick={() => setQuery({ log: logarithmic ? null : "1" })}
      >
        log
      </button>
      <label class="row nowrap">
        smooth
        <input
          type="range"
          min={0}
          max={0.98}
          step={0.02}
          value={smoothing}
          aria-valuetext={`weight of the past ${smoothing}`}
          onInput={(e) =>
            setQuery({ smooth: e.currentTarget.value === "0" ? null : e.currentTarget.value })
          }
        />
        <span class="number fixed">{smoothing.toFixed(2)}</span>
      </label>
    </>
  );
}
