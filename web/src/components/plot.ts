/* Curves on a canvas, over uPlot: each curve is a line with an optional band between its minimum
 * and maximum. Curves have steps of their own; here they are joined into the common columns that
 * uPlot wants.
 *
 * Drawing and data stay apart from the pages' rendering: a live point costs one setData, no
 * component is rendered again. */
import uPlot from "uplot";
import { colour, withAlpha } from "@/base/theme";
import {
  at as textAt,
  axisRange,
  integerIncrements,
  logRange,
  logSplits,
  secondIncrements,
  tickText,
  valueRange,
  type AxisKind,
} from "@/components/axes";
import { gather } from "@/components/gather";

type Column = (number | null | undefined)[];

export interface Curve {
  label: string;
  /** A design token: "--series-0". */
  colour: string;
  x: number[];
  y: Column;
  minimum?: Column;
  maximum?: Column;
  dash?: number[];
  /** Drawn faintly: a branch that a resumed run left behind. */
  dimmed?: boolean;
  width?: number;
  /** Where values were NaN or infinite, and how many of them stand for each place. */
  notFinite?: { x: number[]; count: number[] };
  /** How many values were NaN or infinite, where it is not known at which places. */
  lost?: number;
}

/** What stands under the cursor: a row a curve, in their order. */
export interface Reading {
  curve: Curve;
  x: number;
  value: number | null;
}

/** Kinds of marks; their symbols and words are in src/marks. */
export type MarkKind =
  "alert" | "process" | "host" | "pause" | "start" | "settings" | "checkpoint" | "note";

/** What happened at a place of the horizontal axis. */
export interface PlotMark {
  kind: MarkKind;
  x: number;
  text: string;
}

/** The marks of one place, in pixels from the left of the chart. */
export interface MarkPlace {
  left: number;
  /** Of the whole chart. */
  width: number;
  marks: PlotMark[];
}

export interface PlotOptions {
  height: number;
  axis: AxisKind;
  logarithmic?: boolean;
  /** Charts with the same word move their cursors together. */
  sync?: string;
  title: string;
  onRange?: (from: number, to: number) => void;
  unit?: string;
  /** Of the values, where they cannot lie elsewhere: shares. */
  bounds?: [number, number];
  fill?: boolean;
  compactAxes?: boolean;
  /** Where the marks are, each time that changes. */
  onMarks?: (places: MarkPlace[]) => void;
}

function columnsOf(curves: Curve[], logarithmic: boolean): uPlot.AlignedData {
  const shown = (column: Column) => (logarithmic ? positive(column) : column);
  const tables = curves.map((curve) => {
    const empty: Column = new Array(curve.x.length).fill(undefined) as Column;
    const { x, y, minimum, maximum } = curve;
    const edges = [minimum, maximum].map((edge) => (edge ? shown(edge) : empty));
    return [x, shown(y), ...edges] as uPlot.AlignedData;
  });
  if (tables.length === 0) return [[]] as unknown as uPlot.AlignedData;
  const [first] = tables as [uPlot.AlignedData];
  /* A thousand curves over the same steps need no search for common ones. */
  if (curves.every((curve) => curve.x === curves[0]?.x))
    return [first[0], ...tables.flatMap((table) => table.slice(1))] as uPlot.AlignedData;
  return uPlot.join(tables);
}

/* A change of these needs another plot; anything else is only new data. */
const shapeOf = (curves: Curve[]): string =>
  curves.map((c) => [c.label, c.colour, c.dimmed, c.dash, !!c.minimum].join()).join(";");

/* Above a plot with marks there is room for their symbols. */
const MARKS_PX = 20;
/* Symbols that would touch stand at one place. */
const GATHER_PX = 19;

/* Curves with no more points than this have each of them marked. */
const FEW_POINTS = 24;
/* The cursor reads a curve's point when it is this near, as a share of the width. */
const REACH = 0.02;

/* Indices of the points in [from, to] to be marked: all, when they are few; else those that no line
 * reaches, because their neighbours are missing. `undefined` is no gap: another curve has a point
 * there. */
function marked(column: Column, from: number, to: number): number[] {
  const own: number[] = [];
  for (let i = from; i <= to; i++) if (column[i] !== undefined) own.push(i);
  const points = own.filter((i) => column[i] !== null);
  if (points.length <= FEW_POINTS) return points;
  const isGap = (k: number) => column[own[k] ?? -1] == null;
  return own.filter((_, k) => !isGap(k) && isGap(k - 1) && isGap(k + 1));
}

/* A logarithm has no place for zero and below: a gap. */
const positive = (column: Column): Column =>
  column.map((value) => (value != null && value <= 0 ? null : value));

type CursorListener = (
  x: number,
  readings: Reading[],
  place: { left: number; isOwn: boolean; y: number },
) => void;

export class Plot {
  private plot: uPlot | undefined;
  private shape = "";
  private curves: Curve[] = [];
  /** Null: all of the data is shown and followed. */
  private window: [number, number] | null = null;
  private isPressed = false;
  /* By x. */
  private marks: PlotMark[] = [];
  private places: MarkPlace[] = [];
  private listener: CursorListener | undefined;
  private readonly observer: ResizeObserver;

  constructor(
    private readonly host: HTMLElement,
    private options: PlotOptions,
  ) {
    this.observer = new ResizeObserver(() => {
      const width = host.clientWidth;
      if (width > 0) this.plot?.setSize({ width, height: this.options.height });
    });
    this.observer.observe(host);
  }

  destroy(): void {
    this.observer.disconnect();
    this.plot?.destroy();
    this.plot = undefined;
  }

  configure(options: PlotOptions): void {
    const old = this.options;
    this.options = options;
    if (old.axis !== options.axis) this.window = null;
    if (old.axis !== options.axis || old.logarithmic !== options.logarithmic) this.rebuild();
  }

  /** Colours come from the theme: build anew after it changed. */
  rebuild(): void {
    this.shape = "";
    this.set(this.curves);
  }

  set(curves: Curve[]): void {
    this.curves = curves;
    const shape = shapeOf(curves);
    const data = columnsOf(curves, this.options.logarithmic ?? false);
    if (this.plot && shape === this.shape) {
      this.plot.batch(() => {
        this.plot?.setData(data, this.window === null);
        if (this.window) this.plot?.setScale("x", { min: this.window[0], max: this.window[1] });
      });
      return;
    }
    this.shape = shape;
    this.plot?.destroy();
    this.plot = new uPlot(this.uplotOptions(), data, this.host);
    if (this.window) this.plot.setScale("x", { min: this.window[0], max: this.window[1] });
    this.host.querySelector("canvas")?.setAttribute("aria-hidden", "true");
  }

  /** Lines where something happened; their symbols are drawn by who listens to `onMarks`. */
  setMarks(marks: PlotMark[]): void {
    const had = this.marks.length > 0;
    this.marks = [...marks].sort((a, b) => a.x - b.x);
    if (had !== marks.length > 0) this.rebuild();
    else this.plot?.redraw(false);
  }

  /** Shows [from, to] of the x axis; null follows the data again. */
  show(window: [number, number] | null, tell = true): void {
    this.window = window;
    if (!this.plot) return;
    if (window) this.plot.setScale("x", { min: window[0], max: window[1] });
    else this.plot.setData(this.plot.data, true);
    /* The scale itself changes only with the next drawing. */
    const range = window ?? this.range;
    if (tell && range) this.options.onRange?.(range[0], range[1]);
  }

  /** Moves by a share of the width, or scales about the middle. */
  move(share: number, factor = 1, about = 0.5): void {
    const { min, max } = this.plot?.scales.x ?? {};
    if (min == null || max == null) return;
    const width = max - min;
    const pivot = min + width * about;
    const from = pivot - width * about * factor + width * share;
    this.show([from, from + width * factor]);
  }

  get range(): [number, number] | null {
    const { min, max } = this.plot?.scales.x ?? {};
    return min != null && max != null ? [min, max] : null;
  }

  get isFollowing(): boolean {
    return this.window === null;
  }

  private series(): uPlot.Series[] {
    return this.curves.flatMap((curve): uPlot.Series[] => {
      const line = withAlpha(colour(curve.colour), curve.dimmed ? 0.38 : 1);
      const own: uPlot.Series = {
        label: curve.label,
        stroke: line,
        width: curve.width ?? 1.5,
        points: {
          show: false,
          size: 6,
          fill: line,
          filter: (u, index) => {
            const [from, to] = u.series[0]?.idxs ?? [0, 0];
            return marked(u.data[index] as Column, from, to);
          },
        },
      };
      if (curve.dash) own.dash = curve.dash;
      if (this.options.fill) own.fill = withAlpha(colour(curve.colour), 0.1);
      const edge: uPlot.Series = {
        stroke: "transparent",
        width: 0,
        points: { show: false },
        show: true,
        label: "",
      };
      return [own, edge, { ...edge }];
    });
  }

  private bands(): uPlot.Band[] {
    return this.curves.flatMap((curve, i): uPlot.Band[] =>
      curve.minimum
        ? [
            {
              series: [3 * i + 3, 3 * i + 2],
              fill: withAlpha(colour(curve.colour), curve.dimmed ? 0.06 : 0.18),
            },
          ]
        : [],
    );
  }

  private axes(): uPlot.Axis[] {
    const { axis, compactAxes, logarithmic } = this.options;
    const font = "11px system-ui, sans-serif";
    const base: uPlot.Axis = {
      stroke: colour("--text-faint"),
      font,
      ticks: { show: false },
      grid: { stroke: withAlpha(colour("--line"), 0.9), width: 1 },
    };
    const incrs = {
      step: integerIncrements,
      samples: integerIncrements,
      elapsed: secondIncrements,
      time: secondIncrements.map((one) => one * 1000),
    }[axis];
    return [
      {
        ...base,
        size: 26,
        gap: 4,
        space: compactAxes ? 46 : 62,
        incrs,
        values: (_, values) => values.map((v) => (v == null ? "" : textAt(axis, v))),
      },
      {
        ...base,
        size: 54,
        gap: 4,
        space: this.options.height < 150 ? 18 : 28,
        ...(logarithmic
          ? {
              splits: (_: uPlot, __: number, low: number, high: number) =>
                logSplits(low, high, this.options.height / 26),
              filter: (_: uPlot, splits: number[]) => splits,
            }
          : {}),
        values: (_, values, __, ___, increment) => {
          const largest = Math.max(...values.map((v) => Math.abs(v ?? 0)));
          return values.map((v) =>
            v == null ? "" : tickText(v, logarithmic ? 0 : increment, largest),
          );
        },
      },
    ];
  }

  private uplotOptions(): uPlot.Options {
    const { height, logarithmic, sync, onRange, axis, bounds } = this.options;
    const cursor: uPlot.Cursor = {
      drag: { x: true, y: false, setScale: false },
      points: { size: 6 },
      focus: { prox: 24 },
    };
    if (sync) cursor.sync = { key: sync, setSeries: false };
    return {
      width: Math.max(60, this.host.clientWidth),
      height,
      cursor,
      series: [{}, ...this.series()],
      bands: this.bands(),
      axes: this.axes(),
      legend: { show: false },
      ...(this.marks.length > 0 ? { padding: [MARKS_PX, null, null, null] } : {}),
      scales: {
        x: {
          time: false,
          range: (u, low, high) =>
            axisRange(axis, low, high, u.data[0].length === 1 ? u.data[0][0] : undefined),
        },
        y: logarithmic
          ? { distr: 3, range: (_, low, high) => logRange(low, high) }
          : { range: (_, low, high) => bounds ?? valueRange(low, high) },
      },
      hooks: {
        setSelect: [
          (u) => {
            if (u.select.width < 4) return;
            const from = u.posToVal(u.select.left, "x");
            const to = u.posToVal(u.select.left + u.select.width, "x");
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            /* A selection that follows another chart's is a place of its own axis. */
            if (this.isPressed) this.show([from, to]);
            this.isPressed = false;
          },
        ],
        ready: [(u) => this.listen(u, onRange !== undefined)],
        drawAxes: [(u) => this.drawMarks(u)],
        draw: [(u) => this.drawNotFinite(u)],
        setCursor: [(u) => this.readCursor(u)],
      },
    };
  }

  /* Shift and drag moves, the wheel with a modifier key scales, a double click shows all again. */
  private listen(u: uPlot, canRange: boolean): void {
    const over = u.over;
    over.addEventListener("dblclick", () => this.show(null));
    over.addEventListener("mousedown", () => (this.isPressed = true), { capture: true });
    over.addEventListener("mousemove", (event) => {
      if (event.buttons === 0) this.isPressed = false;
    });
    if (!canRange) return;
    over.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey && !event.altKey) return;
        event.preventDefault();
        const about = event.offsetX / over.clientWidth;
        this.move(0, event.deltaY > 0 ? 1.25 : 0.8, about);
      },
      { passive: false },
    );
    over.addEventListener(
      "mousedown",
      (event) => {
        if (!event.shiftKey && event.button !== 1) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        this.drag(over, event.clientX);
      },
      { capture: true },
    );
  }

  private drag(over: HTMLElement, start: number): void {
    const range = this.range;
    if (!range) return;
    const perPixel = (range[1] - range[0]) / over.clientWidth;
    const move = (event: MouseEvent) => {
      const by = (start - event.clientX) * perPixel;
      this.show([range[0] + by, range[1] + by]);
    };
    const up = () => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", up);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", up);
  }

  private placesIn(u: uPlot): MarkPlace[] {
    const left = u.bbox.left / devicePixelRatio;
    const width = u.bbox.width / devicePixelRatio;
    const inside = this.marks
      .map((mark) => ({ mark, at: u.valToPos(mark.x, "x") }))
      .filter(({ at }) => at >= 0 && at <= width);
    return gather(
      inside.map(({ at }) => at),
      GATHER_PX,
    ).map((indices) => {
      const some = indices.map((i) => inside[i] as { mark: PlotMark; at: number });
      const first = (some[0] as { at: number }).at;
      return { left: left + first, width: u.width, marks: some.map(({ mark }) => mark) };
    });
  }

  /* Behind the curves. Marks of several kinds at one place have the colour of none. */
  private drawMarks(u: uPlot): void {
    const places = this.placesIn(u);
    const { ctx, bbox } = u;
    ctx.save();
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const place of places) {
      const kinds = new Set(place.marks.map((one) => one.kind));
      const [kind] = kinds;
      const x = Math.round(place.left * devicePixelRatio) + 0.5;
      ctx.strokeStyle = withAlpha(
        colour(kinds.size === 1 ? `--mark-${kind}` : "--text-faint"),
        0.6,
      );
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
    if (JSON.stringify(places) === JSON.stringify(this.places)) return;
    this.places = places;
    this.options.onMarks?.(places);
  }

  /* A cross at the upper edge wherever a value was NaN or infinite. */
  private drawNotFinite(u: uPlot): void {
    const { ctx, bbox } = u;
    const size = 3.5 * devicePixelRatio;
    const y = bbox.top + 2 * size;
    ctx.save();
    ctx.lineWidth = 1.5 * devicePixelRatio;
    for (const curve of this.curves) {
      if (!curve.notFinite) continue;
      ctx.strokeStyle = colour("--bad");
      ctx.beginPath();
      let last = -Infinity;
      for (const at of curve.notFinite.x) {
        const x = u.valToPos(at, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width || x - last < size) continue;
        last = x;
        ctx.moveTo(x - size, y - size);
        ctx.lineTo(x + size, y + size);
        ctx.moveTo(x - size, y + size);
        ctx.lineTo(x + size, y - size);
      }
      ctx.stroke();
    }
    ctx.restore();
  }

  /** What is under the cursor, and where the cursor is; no readings when it has left. */
  onCursor(listener: CursorListener): void {
    this.listener = listener;
  }

  private readCursor(u: uPlot): void {
    const { left, top } = u.cursor;
    const range = this.range;
    if (left == null || left < 0 || !range)
      return this.listener?.(0, [], { left: 0, isOwn: false, y: 0 });
    const x = u.posToVal(left, "x");
    const reach = (range[1] - range[0]) * REACH;
    const readings = this.curves.flatMap((curve): Reading[] => {
      const found = nearest(curve, x);
      return found && Math.abs(found.x - x) <= Math.max(reach, found.gap) ? [found] : [];
    });
    const y = u.posToVal(top ?? 0, "y");
    return this.listener?.(x, readings, { left, isOwn: u.over.matches(":hover"), y });
  }
}

/* The point of a curve that is nearest to x, and how far its own points are apart there. */
function nearest(curve: Curve, x: number): (Reading & { gap: number }) | null {
  const { x: xs, y } = curve;
  if (xs.length === 0) return null;
  let low = 0;
  let high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) <= x) low = middle;
    else high = middle;
  }
  const [a, b] = [xs[low] as number, xs[high] as number];
  const at = Math.abs(a - x) <= Math.abs(b - x) ? low : high;
  const inside = x >= (xs[0] as number) && x <= (xs[xs.length - 1] as number);
  return { curve, x: xs[at] as number, value: y[at] ?? null, gap: inside ? b - a : 0 };
}
