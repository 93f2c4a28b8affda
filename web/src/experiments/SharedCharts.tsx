/* Charts of many runs, or of groups of runs, and the chips of their lines. */
import { useMemo } from "preact/hooks";
import type { SharedCurves } from "@generated/client";
import { integer } from "@/base/format";
import { setQuery } from "@/base/route";
import { Chart } from "@/components/Chart";
import { curveView, keepZoom } from "@/components/CurveControls";
import { Pick } from "@/components/parts";
import { columnTitle } from "@/experiments/names";
import { sharedCurves, type Band, type Grouping, type Line } from "@/experiments/shared";

const MOST_CHIPS = 40;

/** What makes groups, and what their band is. */
export function GroupControls({
  grouping,
  band,
  names,
}: {
  grouping: Grouping;
  band: Band;
  names: string[];
}) {
  const now = grouping && !grouping.startsWith("~") && !names.includes(grouping) ? [grouping] : [];
  return (
    <>
      <Pick
        label="group by"
        value={grouping}
        options={[
          ["", "nothing"],
          ["~seed", "all but the seed"],
          ...[...now, ...names].map((name) => [name, columnTitle(name).text] as const),
        ]}
        onChange={(group) => setQuery({ group, hidden: null })}
      />
      {grouping && (
        <Pick
          label="band"
          value={band}
          options={[
            ["deviation", "± deviation"],
            ["range", "least to largest"],
          ]}
          onChange={(value) => setQuery({ band: value === "deviation" ? null : value })}
        />
      )}
    </>
  );
}

export function LineChips({ lines, hidden }: { lines: Line[]; hidden: string[] }) {
  if (lines.length > MOST_CHIPS) return null;
  const idOf = (line: Line) => line.runs[0] ?? "";
  const turn = (id: string) =>
    setQuery({
      hidden: (hidden.includes(id) ? hidden.filter((one) => one !== id) : [...hidden, id]).join(),
    });
  return (
    <div class="chips" role="group" aria-label="Lines">
      {lines.map((line) => (
        <span class={line.hidden ? "chip off" : "chip"} key={idOf(line)}>
          <button
            class="plain"
            aria-pressed={!line.hidden}
            title={line.hidden ? "Show its curves" : "Hide its curves"}
            onClick={() => turn(idOf(line))}
          >
            <i class="swatch" style={{ borderColor: `var(${line.colour})` }} />
            <span class="ellipsis">{line.label}</span>
            {line.runs.length > 1 && <span class="faint number">{line.runs.length}</span>}
          </button>
        </span>
      ))}
    </div>
  );
}

const BAND_WORDS = {
  deviation: "the band is one deviation of these means to each side (of a sample; none of one run)",
  range: "the band goes from the least to the largest of these means",
};

/* What is computed, in words. */
function wordsOf(
  data: SharedCurves,
  band: Band,
  { isTimes, isSmooth }: { isTimes: boolean; isSmooth: boolean },
): string {
  const steps = data.width === 1 ? "each step" : `each range of ${integer(data.width)} steps`;
  const more =
    data.total > data.runs.length
      ? ` The newest ${data.runs.length} of ${integer(data.total)}.`
      : "";
  const axis = isTimes ? " Drawn over steps: many runs have no common clock." : "";
  if (!data.by) return `Of ${steps} the mean of a run's points.${axis}${more}`;
  return (
    `Of ${steps} a run counts once, with the mean of its points; the line is the mean over runs, ` +
    `${BAND_WORDS[band]}${isSmooth ? ", smoothed as the line is" : ""}.${axis}${more}`
  );
}

export function SharedCharts({
  data,
  shown,
  lines,
  band,
  pairOf,
}: {
  data: SharedCurves;
  shown: string[];
  lines: Line[];
  band: Band;
  pairOf: (name: string) => string;
}) {
  const { axis, smoothing, logarithmic, zoom } = curveView();
  const isSamples = axis === "samples";
  const charts = useMemo(
    () =>
      shown.map((name) => {
        const names = data.names.includes(pairOf(name)) ? [name, pairOf(name)] : [name];
        return { names, curves: sharedCurves(data, names, lines, { band, smoothing, isSamples }) };
      }),
    [data, shown.join(), lines, band, smoothing, isSamples],
  );
  return (
    <>
      <p class="small soft" data-says="computed">
        {wordsOf(data, band, {
          isTimes: axis !== "step" && !isSamples,
          isSmooth: smoothing > 0,
        })}
      </p>
      <div class={shown.length > 1 ? "chart-grid some" : "chart-grid one"}>
        {charts.map(({ names, curves }) => (
          <Chart
            key={names[0]}
            title={names.length > 1 ? `${names[0]}, and of validation (dashed)` : (names[0] ?? "")}
            curves={curves}
            height={shown.length > 1 ? 240 : 320}
            axis={isSamples ? "samples" : "step"}
            logarithmic={logarithmic}
            sync="compare"
            view={zoom}
            onView={keepZoom}
            legend={false}
          />
        ))}
      </div>
    </>
  );
}
