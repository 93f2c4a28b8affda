/* Curves on a canvas, over uPlot: each curve is a line with an optional band between its minimum
 * and maximum. Curves have steps of their own; here they are joined into the common columns that
 * uPlot wants.
 *
 * Drawing and data stay apart from the pages' rendering: a live point costs one setData, no
 * component is rendered again. */
import uPlot from "uplot";
import { colour, withAlpha } from "@/base/theme";
import { compact, duration, number, time } from "@/base/format";

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
  points?: boolean;
}

export interface PlotOptions {
  height: number;
  axis: "step" | "samples" | "time" | "elapsed";
  logarithmic?: boolean;
  /** Charts with the same word move their cursors together. */
  sync?: string;
  title: string;
  onRange?: (from: number, to: number) => void;
  unit?: string;
  fill?: boolean;
  compactAxes?: boolean;
}

function columnsOf(curves: Curve[]): uPlot.AlignedData {
  const tables = curves.map((curve) => {
    const empty: Column = new Array(curve.x.length).fill(undefined) as Column;
    return [curve.x, curve.y, curve.minimum ?? empty, curve.maximum ?? empty] as uPlot.AlignedData;
  });
  if (tables.length === 0) return [[]] as unknown as uPlot.AlignedData;
  return tables.length === 1 ? (tables[0] as uPlot.AlignedData) : uPlot.join(tables);
}

/* A change of these needs another plot; anything else is only new data. */
const shapeOf = (curves: Curve[]): string =>
  curves.map((c) => [c.label, c.colour, c.dimmed, c.dash, !!c.minimum, c.points].join()).join(";");

export class Plot {
  private plot: uPlot | undefined;
  private shape = "";
  private curves: Curve[] = [];
  /** Null: all of the data is shown and followed. */
  private window: [number, number] | null = null;
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
    const data = columnsOf(curves);
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

  /** Shows [from, to] of the x axis; null follows the data again. */
  show(window: [number, number] | null, tell = true): void {
    this.window = window;
    if (!this.plot) return;
    if (window) this.plot.setScale("x", { min: window[0], max: window[1] });
    else this.plot.setData(this.plot.data, true);
    const { min, max } = this.plot.scales.x ?? {};
    if (tell && min != null && max != null) this.options.onRange?.(min, max);
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
    const { unit } = this.options;
    const shown = (_: uPlot, value: number | null) =>
      value == null ? "–" : number(value) + (unit ? ` ${unit}` : "");
    return this.curves.flatMap((curve): uPlot.Series[] => {
      const line = withAlpha(colour(curve.colour), curve.dimmed ? 0.38 : 1);
      const own: uPlot.Series = {
        label: curve.label,
        stroke: line,
        width: curve.width ?? 1.5,
        value: shown,
        spanGaps: true,
        points: { show: curve.points ?? false, size: 5 },
      };
      if (curve.dash) own.dash = curve.dash;
      if (this.options.fill) own.fill = withAlpha(colour(curve.colour), 0.1);
      const edge: uPlot.Series = {
        stroke: "transparent",
        width: 0,
        points: { show: false },
        spanGaps: true,
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
    const { axis, compactAxes } = this.options;
    const font = "11px system-ui, sans-serif";
    const base: uPlot.Axis = {
      stroke: colour("--text-faint"),
      font,
      ticks: { show: false },
      grid: { stroke: withAlpha(colour("--line"), 0.9), width: 1 },
    };
    const texts = {
      step: compact,
      samples: compact,
      elapsed: (v: number) => duration(v),
      time: (v: number) => time(v),
    };
    return [
      {
        ...base,
        size: 26,
        gap: 4,
        space: compactAxes ? 46 : 62,
        values: (_, values) => values.map((v) => (v == null ? "" : texts[axis](v))),
      },
      {
        ...base,
        size: 54,
        gap: 4,
        space: 28,
        values: (_, values) => values.map((v) => (v == null ? "" : tickText(v))),
      },
    ];
  }

  private uplotOptions(): uPlot.Options {
    const { height, logarithmic, sync, onRange } = this.options;
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
      scales: {
        x: { time: false },
        y: logarithmic ? { distr: 3 } : { range: (_, low, high) => padded(low, high) },
      },
      hooks: {
        setSelect: [
          (u) => {
            if (u.select.width < 4) return;
            const from = u.posToVal(u.select.left, "x");
            const to = u.posToVal(u.select.left + u.select.width, "x");
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            this.show([from, to]);
          },
        ],
        ready: [(u) => this.listen(u, onRange !== undefined)],
      },
    };
  }

  /* Shift and drag moves, the wheel with a modifier key scales, a double click shows all again. */
  private listen(u: uPlot, canRange: boolean): void {
    const over = u.over;
    over.addEventListener("dblclick", () => this.show(null));
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

  /** The values under the cursor, for the legend. */
  onCursor(listener: (x: number | null, values: (number | null)[]) => void): void {
    const plot = this.plot;
    if (!plot) return;
    plot.hooks.setCursor = [
      (u) => {
        const at = u.cursor.idx;
        if (at == null) return listener(null, []);
        const values = this.curves.map((_, i) => nearest(u.data[3 * i + 1] as Column, at));
        return listener(u.data[0][at] ?? null, values);
      },
    ];
  }
}

/* Joined columns have holes where another curve has its points: look a little to the left. */
function nearest(column: Column | undefined, at: number): number | null {
  for (let i = at; column && i >= Math.max(0, at - 50); i--)
    if (column[i] != null) return column[i] as number;
  return null;
}

function tickText(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return value.toExponential(1).replace(".0e", "e");
  return Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 4 });
}

function padded(low: number | null, high: number | null): [number | null, number | null] {
  if (low == null || high == null) return [0, 1];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}
