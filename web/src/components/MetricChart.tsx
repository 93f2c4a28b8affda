/* The chart of one or more series of one or more runs: what the server has in buckets, continued by
 * what arrives; zooming asks the server for finer buckets of what is in view. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { api, type Metrics } from "@generated/client";
import { debounce } from "@/base/resource";
import { Chart, type ChartProps, type Curve, type View } from "@/components/Chart";
import { integer } from "@/base/format";
import { canReplay, stepLink } from "@/tensors/link";
import type { PlotMark } from "@/components/plot";
import type { LivePoints } from "@/job/live";
import { curvesOf, pastsOf, type XAxis } from "@/job/series";

export interface Run {
  id: string;
  label: string;
  batchSize: number;
  metrics: Metrics | undefined;
  live?: LivePoints | undefined;
  /** Keeps its colour, and is not drawn. */
  hidden?: boolean;
}

export interface MetricChartProps {
  title: string;
  names: string[];
  runs: Run[];
  axis: XAxis;
  smoothing: number;
  /** What was smoothed stands behind the line, in place of the band between its extremes. */
  raw?: boolean;
  logarithmic?: boolean;
  height: number;
  sync?: string;
  view?: View | null;
  onView?: (view: View | null) => void;
  actions?: ComponentChildren;
  bare?: boolean;
  unit?: string;
  fill?: boolean;
  legend?: boolean;
  /** Steps that a later start did again are not drawn. */
  hidesReplaced?: boolean;
  marks?: PlotMark[];
  markStrip?: ChartProps["markStrip"];
}

const SERIES_COLOURS = 8;
const REFINE_MS = 140;
/* Around the window in view as much again is read on each side, so that a drag shows data at once.
 */
const MARGIN = 1;

export const colourOf = (index: number): string => `--series-${index % SERIES_COLOURS}`;

function compose(props: MetricChartProps, finer: ReadonlyMap<string, Metrics>): Curve[] {
  const many = props.runs.length > 1;
  const drawsPast = pastsOf(props.runs);
  return props.runs.flatMap((run, r) =>
    props.names.flatMap((name, n) => {
      if (run.hidden) return [];
      const of = (smoothing: number) =>
        curvesOf(name, finer.get(run.id) ?? run.metrics, run.live, {
          drawsPast: drawsPast(run),
          hidesReplaced: props.hidesReplaced ?? false,
          axis: props.axis,
          smoothing,
          batchSize: run.batchSize,
          label: many ? (props.names.length > 1 ? `${run.label} ${name}` : run.label) : name,
          colour: colourOf(many ? r : n),
          /* Where colours begin again, and for a run's further series. */
          ...(many && n > 0 ? { dash: [6, 3] } : r >= SERIES_COLOURS ? { dash: [2, 2] } : {}),
        });
      const lines = of(props.smoothing);
      return props.raw && props.smoothing > 0 ? [...of(0).map(behind), ...lines.map(bare)] : lines;
    }),
  );
}

function bare(curve: Curve): Curve {
  const { minimum: _, maximum: __, ...line } = curve;
  return line;
}

const behind = (curve: Curve): Curve => ({ ...bare(curve), dimmed: true, width: 1 });

function stepsOf(range: [number, number], axis: XAxis, run: Run): [number, number] | null {
  if (axis === "step") return range;
  if (axis === "samples") return [range[0] / run.batchSize, range[1] / run.batchSize];
  return null;
}

/* A point's step in the past of the first run that is shown; times tell no step. */
function openStep(props: MetricChartProps) {
  const run = props.runs.find((one) => !one.hidden);
  if (!run || !canReplay() || stepsOf([0, 0], props.axis, run) === null) return undefined;
  return (x: number) => {
    const step = Math.round(stepsOf([x, x], props.axis, run)?.[0] ?? 0);
    const of = props.runs.length > 1 ? ` of ${run.label}` : "";
    return { to: stepLink(run.id, { step }), text: `open step ${integer(step)}${of}` };
  };
}

async function refine(props: MetricChartProps, from: number, to: number) {
  const finer = new Map<string, Metrics>();
  const width = (to - from) * MARGIN;
  await Promise.all(
    props.runs.map(async (run) => {
      const steps = stepsOf([from - width, to + width], props.axis, run);
      if (!steps) return;
      const range = {
        from: Math.max(0, Math.floor(steps[0])),
        to: Math.max(0, Math.ceil(steps[1])),
      };
      const ask = { id: run.id, names: props.names, max_points: 3000, history: true, ...range };
      finer.set(run.id, await api.getMetrics(ask));
    }),
  );
  return finer;
}

export function MetricChart(props: MetricChartProps) {
  const [finer, setFiner] = useState<ReadonlyMap<string, Metrics>>(new Map());
  const latest = useRef({ props, finer });
  latest.current = { props, finer };
  const asked = useRef(0);

  const refineSoon = useMemo(
    () =>
      debounce((from: number, to: number) => {
        const turn = ++asked.current;
        refine(latest.current.props, from, to)
          .then((found) => turn === asked.current && setFiner(found))
          .catch(() => undefined);
      }, REFINE_MS),
    [],
  );
  const key = props.runs.map((run) => run.id).join();
  useEffect(() => setFiner(new Map()), [key, props.axis]);

  const curves = useMemo(
    () => compose(props, finer),
    [
      props.runs,
      props.names.join(),
      props.axis,
      props.smoothing,
      props.raw,
      props.hidesReplaced,
      finer,
    ],
  );
  const subscribe = useCallback(
    (draw: (curves: Curve[]) => void) => {
      const stops = latest.current.props.runs.map((run) =>
        run.live?.listen((names) => {
          const now = latest.current;
          if (now.props.names.some((name) => names.has(name))) draw(compose(now.props, now.finer));
        }),
      );
      return () => stops.forEach((stop) => stop?.());
    },
    [key],
  );

  return (
    <Chart
      title={props.title}
      curves={curves}
      height={props.height}
      axis={props.axis}
      logarithmic={props.logarithmic ?? false}
      subscribe={subscribe}
      actions={props.actions}
      bare={props.bare ?? false}
      legend={props.legend ?? true}
      unit={props.unit ?? ""}
      fill={props.fill ?? false}
      onRange={refineSoon}
      pointLink={openStep(props)}
      {...(props.marks ? { marks: props.marks, markStrip: props.markStrip } : {})}
      {...(props.sync ? { sync: props.sync } : {})}
      {...(props.view !== undefined ? { view: props.view } : {})}
      {...(props.onView ? { onView: props.onView } : {})}
    />
  );
}
