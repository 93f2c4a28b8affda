/* A chart with title, legend and keyboard. It exists only while it is in view: a page of a hundred
 * charts costs what can be seen of them. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { themeVersion } from "@/base/theme";
import { compact, number } from "@/base/format";
import { keyMoves } from "@/base/keys";
import { Plot, type Curve, type PlotOptions } from "@/components/plot";
import { Icon } from "@/components/Icon";

export type { Curve } from "@/components/plot";

export interface ChartProps extends Omit<PlotOptions, "onRange"> {
  curves: Curve[];
  /** Calls `draw` with new curves whenever points arrive; returns how to stop. */
  subscribe?: (draw: (curves: Curve[]) => void) => () => void;
  onRange?: (from: number, to: number) => void;
  actions?: ComponentChildren;
  note?: ComponentChildren;
  legend?: boolean;
  bare?: boolean;
}

function useInView(margin: string) {
  const host = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => setSeen(entries.some((entry) => entry.isIntersecting)),
      { rootMargin: margin },
    );
    if (host.current) observer.observe(host.current);
    return () => observer.disconnect();
  }, [margin]);
  return { host, seen };
}

const swatch = (curve: Curve) => (
  <i
    class={curve.dimmed ? "swatch dimmed" : "swatch"}
    style={{ borderColor: `var(${curve.colour})`, borderStyle: curve.dash ? "dashed" : "solid" }}
  />
);

function lastValue(curve: Curve): number | null {
  for (let i = curve.y.length - 1; i >= 0; i--) if (curve.y[i] != null) return curve.y[i] as number;
  return null;
}

/* Branches and attempts of one run share its label. */
function distinct(curves: Curve[]): Curve[] {
  const seen = new Set<string>();
  return curves.filter((c) => !c.dimmed && !seen.has(c.label) && seen.add(c.label));
}

function describe(title: string, curves: Curve[]): string {
  const parts = curves
    .filter((curve) => !curve.dimmed)
    .map((curve) => `${curve.label}: last value ${number(lastValue(curve))}`);
  return (
    `${title}. ${parts.join(". ") || "No points yet"}. ` +
    "Arrow keys move, plus and minus scale, zero shows all."
  );
}

function Legend({ curves }: { curves: Curve[] }) {
  return (
    <div class="legend">
      {distinct(curves).map((c) => (
        <span key={c.label}>
          {swatch(c)}
          {c.label}
        </span>
      ))}
    </div>
  );
}

/* The plot lives while the chart is in view; its curves come from the properties and, between two
 * renderings, from the subscription. */
function usePlot(props: ChartProps, seen: boolean) {
  const canvas = useRef<HTMLDivElement>(null);
  const cursor = useRef<HTMLSpanElement>(null);
  const plot = useRef<Plot | null>(null);
  const latest = useRef(props);
  const [zoomed, setZoomed] = useState(false);
  latest.current = props;
  const options = (): PlotOptions => ({
    ...latest.current,
    onRange: (from, to) => {
      setZoomed(!(plot.current?.isFollowing ?? true));
      latest.current.onRange?.(from, to);
    },
  });
  const draw = (curves: Curve[]) => {
    plot.current?.set(curves);
    plot.current?.onCursor((x, values) => {
      if (cursor.current)
        cursor.current.textContent =
          x === null
            ? ""
            : `${latest.current.axis} ${compact(x)}  ${values.map((v) => number(v)).join("  ")}`;
    });
  };
  useEffect(() => {
    if (!seen || !canvas.current) return undefined;
    plot.current = new Plot(canvas.current, options());
    draw(latest.current.curves);
    return () => {
      plot.current?.destroy();
      plot.current = null;
    };
  }, [seen]);
  useEffect(() => plot.current?.configure(options()), [props.axis, props.logarithmic]);
  useEffect(() => draw(props.curves), [props.curves, seen]);
  useEffect(() => (seen ? props.subscribe?.(draw) : undefined), [props.subscribe, seen]);
  useSignalEffect(() => {
    if (themeVersion.value > 0) plot.current?.rebuild();
  });
  return { canvas, cursor, plot, zoomed };
}

export function Chart(props: ChartProps) {
  const { host, seen } = useInView("250px");
  const { canvas, cursor, plot, zoomed } = usePlot(props, seen);
  const keys = keyMoves({
    ArrowLeft: () => plot.current?.move(-0.15),
    ArrowRight: () => plot.current?.move(0.15),
    "+": () => plot.current?.move(0, 0.7),
    "-": () => plot.current?.move(0, 1.4),
    "0": () => plot.current?.show(null),
  });
  return (
    <figure class={props.bare ? "chart bare" : "chart panel"} ref={host}>
      <figcaption>
        <span class="title ellipsis" title={props.title}>
          {props.title}
        </span>
        <span class="cursor number faint" ref={cursor} />
        {zoomed && (
          <button class="plain small" onClick={() => plot.current?.show(null)}>
            <Icon name="fit" />
            show all
          </button>
        )}
        {props.actions}
      </figcaption>
      {props.legend !== false && distinct(props.curves).length > 1 && (
        <Legend curves={props.curves} />
      )}
      <div
        class="canvas"
        ref={canvas}
        tabIndex={0}
        role="img"
        onKeyDown={keys}
        aria-label={describe(props.title, props.curves)}
        style={{ height: `${props.height}px` }}
      />
      {props.note}
    </figure>
  );
}
