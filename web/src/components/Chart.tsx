/* A chart with title, legend and keyboard. It exists only while it is in view: a page of a hundred
 * charts costs what can be seen of them. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { themeVersion } from "@/base/theme";
import { integer, number } from "@/base/format";
import { keyMoves } from "@/base/keys";
import { at as textAt, type AxisKind } from "@/components/axes";
import {
  Plot,
  type Curve,
  type MarkPlace,
  type PlotMark,
  type PlotOptions,
  type Reading,
} from "@/components/plot";
import { Icon } from "@/components/Icon";

export type { Curve } from "@/components/plot";

export type View = readonly [from: number, to: number];

export interface ChartProps extends Omit<PlotOptions, "onRange" | "onMarks"> {
  curves: Curve[];
  marks?: PlotMark[];
  /** What shows their symbols above the plot. */
  markStrip?: ComponentType<{ title: string; places: MarkPlace[] }> | undefined;
  /** Calls `draw` with new curves whenever points arrive; returns how to stop. */
  subscribe?: (draw: (curves: Curve[]) => void) => () => void;
  onRange?: (from: number, to: number) => void;
  /** What is shown of the horizontal axis, where somebody else keeps it; null: all. */
  view?: View | null;
  onView?: (view: View | null) => void;
  /** Where a point of the curves leads: its address and words. A click, or Enter, offers it. */
  pointLink?: ((x: number) => { to: string; text: string } | null) | undefined;
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

/* The description of a chart, and what is read at its cursor, name at most so many curves. */
const MOST_ROWS = 16;

function lastValue(curve: Curve): number | null {
  for (let i = curve.y.length - 1; i >= 0; i--) if (curve.y[i] != null) return curve.y[i] as number;
  return null;
}

/* Axes of nothing would be made up. */
const isEmpty = (curves: Curve[]): boolean => curves.every((curve) => lastValue(curve) === null);

/* Branches and attempts of one run share its label. */
function distinct(curves: Curve[]): Curve[] {
  const seen = new Set<string>();
  return curves.filter((c) => !c.dimmed && !seen.has(c.label) && seen.add(c.label));
}

function describe(title: string, curves: Curve[]): string {
  const own = curves.filter((curve) => !curve.dimmed);
  const parts = own
    .slice(0, MOST_ROWS)
    .map((curve) => `${curve.label}: last value ${number(lastValue(curve))}`);
  if (own.length > MOST_ROWS) parts.push(`And ${own.length - MOST_ROWS} more curves`);
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

/* Values that a curve cannot show: where they are, and how many. */
function missingText(curves: Curve[], axis: AxisKind, logarithmic: boolean): string[] {
  const many = distinct(curves).length > 1;
  return curves.flatMap((curve) => {
    const texts: string[] = [];
    const of = many ? `${curve.label}: ` : "";
    if (curve.notFinite) {
      const { x, count } = curve.notFinite;
      const total = count.reduce((sum, one) => sum + one, 0);
      const [first, last] = [x[0] as number, x[x.length - 1] as number];
      const where =
        first === last ? textAt(axis, first) : `${textAt(axis, first)} to ${textAt(axis, last)}`;
      const what = total === 1 ? "value is" : "values are";
      texts.push(`${of}${integer(total)} ${what} NaN or infinite, ${axis} ${where}`);
    }
    if (curve.lost) texts.push(`${of}${integer(curve.lost)} values are NaN or infinite`);
    const low = logarithmic ? curve.y.filter((value) => value != null && value <= 0).length : 0;
    if (low > 0)
      texts.push(`${of}${integer(low)} of ${integer(curve.y.length)} points are zero or negative`);
    return texts;
  });
}

function Missing({ curves, axis, logarithmic }: ChartProps) {
  const texts = missingText(curves, axis, logarithmic ?? false);
  if (texts.length === 0) return null;
  return (
    <ul class="missing small">
      {texts.slice(0, 4).map((text) => (
        <li key={text}>
          <Icon name="warn" />
          {text}
        </li>
      ))}
    </ul>
  );
}

/* The readings of one place: a line a run; a branch that was left only where nothing else is. Of many
 * those that are nearest to the cursor's height. */
function rowsOf(readings: Reading[], y: number): Reading[] {
  const rows = new Map<string, Reading>();
  for (const one of readings) {
    const known = rows.get(one.curve.label);
    if (!known || (known.curve.dimmed && !one.curve.dimmed)) rows.set(one.curve.label, one);
  }
  const all = [...rows.values()];
  if (all.length <= MOST_ROWS) return all;
  const far = (one: Reading) => (one.value === null ? Infinity : Math.abs(one.value - y));
  return all.sort((a, b) => far(a) - far(b)).slice(0, MOST_ROWS);
}

function tipRow({ curve, value }: Reading): HTMLElement {
  const row = document.createElement("div");
  const mark = document.createElement("i");
  const name = document.createElement("span");
  const figure = document.createElement("b");
  mark.className = "swatch";
  mark.style.borderColor = `var(${curve.colour})`;
  mark.style.borderStyle = curve.dash ? "dashed" : "solid";
  name.textContent = curve.label;
  figure.textContent = value === null ? "not finite" : number(value);
  row.append(mark, name, figure);
  return row;
}

/* Beside the cursor in the chart that the pointer is in; in its caption in those that follow it. */
function showReadings(
  tip: HTMLElement,
  caption: HTMLElement,
  head: string,
  readings: Reading[],
  place: { left: number; isOwn: boolean; y: number; width: number },
): void {
  const rows = rowsOf(readings, place.y);
  tip.hidden = !place.isOwn || rows.length === 0;
  caption.textContent =
    rows.length === 0 || place.isOwn
      ? ""
      : `${head}  ${rows.map((r) => number(r.value)).join("  ")}`;
  if (tip.hidden) return;
  const title = document.createElement("div");
  title.className = "faint";
  title.textContent = head;
  tip.replaceChildren(title, ...rows.map(tipRow));
  const isRight = place.left > place.width / 2;
  tip.classList.toggle("at-left", isRight);
  tip.style.left = isRight ? "" : `${place.left + 70}px`;
  tip.style.right = isRight ? `${place.width - place.left + 16}px` : "";
}

/* The plot lives while the chart is in view; its curves come from the properties and, between two
 * renderings, from the subscription. */
function usePlot(props: ChartProps, seen: boolean) {
  const canvas = useRef<HTMLDivElement>(null);
  const cursor = useRef<HTMLSpanElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const latest = useRef(props);
  const under = useRef<number | null>(null);
  const [zoomed, setZoomed] = useState(false);
  const [places, setPlaces] = useState<MarkPlace[]>([]);
  const isLooking = useRef(false);
  latest.current = props;
  const options = (): PlotOptions => ({
    ...latest.current,
    onMarks: setPlaces,
    onRange: (from, to) => {
      const follows = plot.current?.isFollowing ?? true;
      setZoomed(!follows);
      latest.current.onRange?.(from, to);
      if (!isLooking.current) latest.current.onView?.(follows ? null : [from, to]);
    },
  });
  const draw = (curves: Curve[]) => {
    plot.current?.set(curves);
    canvas.current?.classList.toggle("empty-canvas", isEmpty(curves));
    plot.current?.onCursor((x, readings, place) => {
      if (!cursor.current || !tip.current || !canvas.current) return;
      const { axis } = latest.current;
      under.current = readings[0]?.x ?? null;
      const at =
        axis === "step" || axis === "samples" ? integer(readings[0]?.x ?? x) : textAt(axis, x);
      const width = canvas.current.clientWidth;
      showReadings(tip.current, cursor.current, `${axis} ${at}`, readings, { ...place, width });
    });
  };
  /* As the keeper of the view says, who is told of what the user does here. */
  const look = () => {
    const { view } = latest.current;
    if (view === undefined || (view === null && plot.current?.isFollowing)) return;
    isLooking.current = true;
    plot.current?.show(view && [view[0], view[1]]);
    isLooking.current = false;
  };
  useEffect(look, [props.view?.join()]);
  useEffect(() => {
    if (!seen || !canvas.current) return undefined;
    plot.current = new Plot(canvas.current, options());
    plot.current.setMarks(latest.current.marks ?? []);
    draw(latest.current.curves);
    look();
    return () => {
      plot.current?.destroy();
      plot.current = null;
    };
  }, [seen]);
  useEffect(() => plot.current?.configure(options()), [props.axis, props.logarithmic]);
  useEffect(() => draw(props.curves), [props.curves, seen]);
  useEffect(() => plot.current?.setMarks(props.marks ?? []), [props.marks]);
  useEffect(() => (seen ? props.subscribe?.(draw) : undefined), [props.subscribe, seen]);
  useSignalEffect(() => {
    if (themeVersion.value > 0) plot.current?.rebuild();
  });
  return { canvas, cursor, tip, plot, zoomed, under, places };
}

const DRAG_PX = 4;

/* A click that drags nothing takes the point under the pointer; Enter, or else the last one. */
function usePoint(props: ChartProps, under: { current: number | null }) {
  const [point, setPoint] = useState<number | null>(null);
  const start = useRef(0);
  const lastX = () => Math.max(...props.curves.map((curve) => curve.x[curve.x.length - 1] ?? -1));
  const take = (x: number | null) => props.pointLink && x !== null && x >= 0 && setPoint(x);
  return {
    link: point !== null ? (props.pointLink?.(point) ?? null) : null,
    onDown: (event: MouseEvent) => (start.current = event.clientX),
    onUp: (event: MouseEvent) =>
      event.button === 0 &&
      !event.shiftKey &&
      Math.abs(event.clientX - start.current) < DRAG_PX &&
      take(under.current),
    onEnter: () => take(under.current ?? lastX()),
  };
}

export function Chart(props: ChartProps) {
  const { host, seen } = useInView("250px");
  const { canvas, cursor, tip, plot, zoomed, under, places } = usePlot(props, seen);
  const point = usePoint(props, under);
  const Strip = props.markStrip;
  const keys = keyMoves({
    ArrowLeft: () => plot.current?.move(-0.15),
    ArrowRight: () => plot.current?.move(0.15),
    "+": () => plot.current?.move(0, 0.7),
    "-": () => plot.current?.move(0, 1.4),
    "0": () => plot.current?.show(null),
    ...(props.pointLink ? { Enter: point.onEnter } : {}),
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
        {point.link && (
          <a class="point-link small" href={point.link.to}>
            {point.link.text}
          </a>
        )}
        {props.actions}
      </figcaption>
      {props.legend !== false && distinct(props.curves).length > 1 && (
        <Legend curves={props.curves} />
      )}
      <div class="plot">
        <div
          class="canvas"
          ref={canvas}
          tabIndex={0}
          role="img"
          onKeyDown={keys}
          onMouseDownCapture={point.onDown}
          onMouseUpCapture={point.onUp}
          aria-label={
            describe(props.title, props.curves) +
            (props.pointLink ? " Enter offers the step of a point." : "")
          }
          style={{ height: `${props.height}px` }}
        />
        <p class="no-points faint small">no point to show</p>
        {Strip && (props.marks?.length ?? 0) > 0 && <Strip title={props.title} places={places} />}
      </div>
      <div class="chart-tip number" ref={tip} aria-hidden="true" hidden />
      <Missing {...props} />
      {props.note}
    </figure>
  );
}
