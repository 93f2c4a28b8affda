/* Each run a line across the axes. A drag along an axis keeps the runs in its range, a click on it
 * all; the same ranges can be typed below. */
import { numberAt, placeOf, shortNumber, ticksOf, type Axis, type Limits } from "@/explore/columns";
import { colourClass, html, svg } from "@/explore/elements";
import type { State } from "@/explore/main";

const HEIGHT = 300;
const TOP = 44;
const BOTTOM = 14;
const LEAST_WIDTH = 128;
const GRIP = 14;
/* A drag of fewer pixels is a click. */
const LEAST_DRAG = 4;

const yOf = (place: number): number => HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM);
const placeAt = (y: number): number => (HEIGHT - BOTTOM - y) / (HEIGHT - TOP - BOTTOM);

/* A run without a value on an axis has a gap there. */
function lineOf(axes: Axis[], xs: number[], row: number): string {
  let path = "";
  let isOn = false;
  axes.forEach((axis, i) => {
    const place = axis.places[row] as number;
    if (Number.isFinite(place)) path += `${isOn ? "L" : "M"}${xs[i]},${yOf(place).toFixed(1)}`;
    isOn = Number.isFinite(place);
  });
  return path;
}

/* Of texts a range holds the kinds whose places are in it. */
function rangeOf(axis: Axis, a: number, b: number): readonly [number, number] {
  const [low, high] = a < b ? [a, b] : [b, a];
  return [numberAt(axis, low), numberAt(axis, high)];
}

/* What a pointer does on an axis: a new range, or an edge of the one that is there. */
function dragging(
  host: SVGSVGElement,
  axis: Axis,
  state: State,
  set: (range: readonly [number, number] | null, isLast: boolean) => void,
) {
  return (down: PointerEvent) => {
    down.preventDefault();
    const target = down.currentTarget as Element;
    const scale = HEIGHT / host.getBoundingClientRect().height;
    const top = host.getBoundingClientRect().top;
    const at = (event: PointerEvent) => placeAt((event.clientY - top) * scale);
    const range = state.limits[axis.name];
    const ends = range?.map((one) => placeOf(axis, one));
    const near = ends?.map((one) => Math.abs(yOf(one) - yOf(at(down))) < GRIP / 2);
    const from = near?.[0] ? (ends?.[1] ?? 0) : near?.[1] ? (ends?.[0] ?? 0) : at(down);
    const isEdge = near?.some(Boolean) ?? false;
    const move = (event: PointerEvent) => set(rangeOf(axis, from, at(event)), false);
    const up = (event: PointerEvent) => {
      target.removeEventListener("pointermove", move as EventListener);
      const far = Math.abs(event.clientY - down.clientY) >= LEAST_DRAG;
      set(far || isEdge ? rangeOf(axis, from, at(event)) : null, true);
    };
    target.setPointerCapture(down.pointerId);
    target.addEventListener("pointermove", move as EventListener);
    target.addEventListener("pointerup", up as EventListener, { once: true });
  };
}

function axisElement(axis: Axis, x: number, host: SVGSVGElement, state: State) {
  const brush = svg("rect", { class: "brush", x: x - 7, width: 14 });
  const show = (range: readonly [number, number] | null | undefined) => {
    const [a, b] = range ? [yOf(placeOf(axis, range[1])), yOf(placeOf(axis, range[0]))] : [0, 0];
    brush.setAttribute("y", String(Math.max(TOP - 6, a)));
    brush.setAttribute("height", String(range ? Math.max(3, Math.min(HEIGHT, b) - a) : 0));
  };
  show(state.limits[axis.name]);
  const set = (range: readonly [number, number] | null, isLast: boolean) => {
    show(range);
    const { [axis.name]: _, ...others } = state.limits;
    state.onLimits(range ? { ...others, [axis.name]: range } : others, isLast);
  };
  const area = svg("rect", {
    class: "axis-area",
    x: x - GRIP,
    y: TOP - 8,
    width: 2 * GRIP,
    height: HEIGHT - TOP - BOTTOM + 16,
    pointerdown: dragging(host, axis, state, set),
  });
  const title = svg("text", { class: "axis-title", x, y: 16, "text-anchor": "middle" }, axis.title);
  title.append(svg("title", {}, axis.name));
  const scale = axis.logarithmic ? "log" : axis.kinds ? "kinds" : "";
  const ticks = ticksOf(axis).map(({ place, text }) =>
    svg("text", { class: "tick", x: x + 9, y: yOf(place) + 4 }, text.slice(0, 14)),
  );
  return svg(
    "g",
    { class: "axis", "data-axis": axis.name },
    title,
    svg("text", { class: "tick", x, y: 31, "text-anchor": "middle" }, scale),
    svg("line", { x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }),
    ...ticks,
    brush,
    area,
  );
}

export interface Drawing {
  element: Element;
  /** After the runs that pass changed. */
  pass: (passing: ReadonlySet<number>) => void;
  highlight: (row: number | null) => void;
}

function linesOf(axes: Axis[], xs: number[], state: State): SVGPathElement[] {
  return state.rows.map((row, i) =>
    svg(
      "path",
      {
        class: `run ${colourClass(i)}`,
        d: lineOf(axes, xs, i),
        "data-run": row.id,
        pointerenter: () => state.onHover(i),
        pointerleave: () => state.onHover(null),
      },
      svg("title", {}, row.name),
    ),
  );
}

export function parallelOf(axes: Axis[], width: number, state: State): Drawing {
  const whole = Math.max(width, LEAST_WIDTH * axes.length);
  const each = whole / axes.length;
  const xs = axes.map((_, i) => Math.round(each * (i + 0.5)));
  const lines = linesOf(axes, xs, state);
  const group = svg("g", { class: state.rows.length > 100 ? "runs many" : "runs" }, ...lines);
  const host = svg("svg", {
    class: "parallel",
    viewBox: `0 0 ${whole} ${HEIGHT}`,
    width: whole,
    height: HEIGHT,
    role: "img",
    "aria-label": `Parallel coordinates of ${state.rows.length} runs: ${axes.map((one) => one.title).join(", ")}`,
  });
  host.append(group, ...axes.map((axis, i) => axisElement(axis, xs[i] as number, host, state)));
  return {
    element: html(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Parallel coordinates" },
      host,
    ),
    pass: (passing) => lines.forEach((line, i) => line.classList.toggle("out", !passing.has(i))),
    highlight: (row) => {
      group.querySelector(".on")?.classList.remove("on");
      if (row === null) return;
      lines[row]?.classList.add("on");
    },
  };
}

/* ---- the same by keyboard ---- */

function field(label: string, value: number | undefined, set: (value: number | null) => void) {
  const input = html("input", {
    type: "number",
    step: "any",
    "aria-label": label,
    value: value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(6)),
    change: () => set(input.value === "" ? null : Number(input.value)),
  });
  return input;
}

function kindPick(axis: Axis, limits: Limits, set: (range: [number, number] | null) => void) {
  const range = limits[axis.name];
  const kinds = axis.kinds ?? [];
  const shown = kinds.findIndex((_, i) => range && i >= range[0] && i <= range[1]);
  const select = html(
    "select",
    {
      "aria-label": `${axis.title}: only`,
      change: () =>
        set(select.value === "" ? null : [Number(select.value) - 0.5, Number(select.value) + 0.5]),
    },
    html("option", { value: "" }, "all"),
    ...kinds.map((kind, i) => html("option", { value: i, selected: i === shown }, kind)),
  );
  return select;
}

/** Ranges as fields. */
export function rangesOf(axes: Axis[], state: State): HTMLElement {
  const rows = axes.map((axis) => {
    const range = state.limits[axis.name];
    const set = (next: readonly [number, number] | null) => {
      const { [axis.name]: _, ...others } = state.limits;
      state.onLimits(next ? { ...others, [axis.name]: next } : others, true);
    };
    const end = (which: 0 | 1) => (value: number | null) => {
      const now: [number, number] = [range?.[0] ?? axis.low, range?.[1] ?? axis.high];
      now[which] = value ?? (which === 0 ? axis.low : axis.high);
      set(now[0] <= axis.low && now[1] >= axis.high ? null : now);
    };
    return html(
      "div",
      { class: "row wrap range" },
      html("span", { class: "ellipsis", title: axis.name }, axis.title),
      ...(axis.kinds
        ? [kindPick(axis, state.limits, set)]
        : [
            field(`${axis.title}: from`, range?.[0], end(0)),
            "to",
            field(`${axis.title}: to`, range?.[1], end(1)),
            html(
              "span",
              { class: "faint" },
              `${shortNumber(axis.low)} … ${shortNumber(axis.high)}`,
            ),
          ]),
    );
  });
  return html("details", { class: "body" }, html("summary", {}, "Ranges as numbers"), ...rows);
}
