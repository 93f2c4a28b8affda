/* Two columns against each other, and the runs that none other is better than in both. */
import { placeOf, ticksOf, type Axis } from "@/explore/columns";
import { colourClass, html, nameOf, panel, pick, svg } from "@/explore/elements";
import type { State } from "@/explore/main";
import { frontOf, wishOf, type Point, type Wish } from "@/explore/pareto";
import type { Drawing } from "@/explore/parallel";

const HEIGHT = 320;
const LEFT = 64;
const RIGHT = 16;
const TOP = 12;
const BOTTOM = 40;
const RADIUS = 4;
const MOST_NAMED = 20;

interface Frame {
  x: (place: number) => number;
  y: (place: number) => number;
  width: number;
}

function frameOf(width: number): Frame {
  return {
    x: (place) => LEFT + RADIUS * 2 + place * (width - LEFT - RIGHT - RADIUS * 4),
    y: (place) => HEIGHT - BOTTOM - RADIUS * 2 - place * (HEIGHT - TOP - BOTTOM - RADIUS * 4),
    width,
  };
}

function scales(x: Axis, y: Axis, frame: Frame): SVGElement[] {
  const across = ticksOf(x).map(({ place, text }) =>
    svg(
      "text",
      { class: "tick", x: frame.x(place), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" },
      text.slice(0, 12),
    ),
  );
  const up = ticksOf(y).flatMap(({ place, text }) => [
    svg("line", {
      class: "grid",
      x1: LEFT,
      x2: frame.width - RIGHT,
      y1: frame.y(place),
      y2: frame.y(place),
    }),
    svg(
      "text",
      { class: "tick", x: LEFT - 6, y: frame.y(place) + 4, "text-anchor": "end" },
      text.slice(0, 9),
    ),
  ]);
  const title = (axis: Axis) => axis.title + (axis.logarithmic ? " (log)" : "");
  const middle = { x: (LEFT + frame.width) / 2, y: HEIGHT - 4, "text-anchor": "middle" };
  return [...up, ...across, svg("text", { class: "axis-title", ...middle }, title(x))];
}

/* Right angles: between two runs of the front none is better than their corner. */
function frontLine(front: Point[], x: Axis, y: Axis, frame: Frame, wish: Wish): string {
  let path = "";
  let before: Point | undefined;
  const at = (point: { x: number; y: number }) =>
    `${frame.x(placeOf(x, point.x)).toFixed(1)},${frame.y(placeOf(y, point.y)).toFixed(1)}`;
  for (const point of front) {
    if (before === undefined) path = `M${at(point)}`;
    else {
      const isCornerHere = wish > 0;
      const corner = isCornerHere ? { x: before.x, y: point.y } : { x: point.x, y: before.y };
      path += `L${at(corner)}L${at(point)}`;
    }
    before = point;
  }
  return path;
}

function wishBox(label: string, wish: Wish, onChange: (wish: Wish) => void) {
  const box = html("input", {
    type: "checkbox",
    checked: wish > 0,
    change: () => onChange(box.checked ? 1 : -1),
  });
  return html("label", { class: "row nowrap" }, box, label);
}

function frontText(front: Point[], state: State): HTMLElement {
  const links = front.slice(0, MOST_NAMED).flatMap((point, i) => {
    const row = state.rows[point.row];
    if (!row) return [];
    const link = nameOf(row, { "data-front": row.id });
    return i > 0 ? [", ", link] : [link];
  });
  const more = front.length > MOST_NAMED ? `, and ${front.length - MOST_NAMED} more` : "";
  return html("p", { class: "body soft front" }, "No run is better in both than ", ...links, more);
}

const wishFor = (wishes: Record<string, Wish>, name: string): Wish => wishes[name] ?? wishOf(name);

/** Of the runs within the limits; the others stay behind, pale. */
export function scatterOf(
  axes: ReadonlyMap<string, Axis>,
  offered: readonly string[],
  width: number,
  state: State,
): Drawing {
  const [x, y] = [axes.get(state.x), axes.get(state.y)];
  const { wishes } = state;
  const options = offered.map((name) => [name, axes.get(name)?.title ?? name] as const);
  const wishX = wishFor(wishes, state.x);
  const wishY = wishFor(wishes, state.y);
  const beside = [
    pick("across", options, state.x, (name) => state.onChoice({ x: name })),
    pick("up", options, state.y, (name) => state.onChoice({ y: name })),
    wishBox("more is better across", wishX, (one) => state.onWish(state.x, one)),
    wishBox("more is better up", wishY, (one) => state.onWish(state.y, one)),
  ];
  if (!x || !y)
    return {
      element: panel("Scatter", beside, html("p", { class: "body soft" }, "Nothing to draw.")),
      pass: () => undefined,
      highlight: () => undefined,
    };
  const frame = frameOf(Math.max(280, width));
  const points = state.rows.flatMap((_, row): Point[] => {
    const at = { row, x: x.numbers[row] as number, y: y.numbers[row] as number };
    return Number.isFinite(at.x) && Number.isFinite(at.y) ? [at] : [];
  });
  const circles = new Map(
    points.map((point) => [
      point.row,
      svg(
        "circle",
        {
          class: `run ${colourClass(point.row)}`,
          cx: frame.x(placeOf(x, point.x)).toFixed(1),
          cy: frame.y(placeOf(y, point.y)).toFixed(1),
          r: RADIUS,
          "data-run": state.rows[point.row]?.id ?? "",
          pointerenter: () => state.onHover(point.row),
          pointerleave: () => state.onHover(null),
        },
        svg("title", {}, `${state.rows[point.row]?.name}: ${point.x}, ${point.y}`),
      ),
    ]),
  );
  const line = svg("path", { class: "front-line" });
  const text = html("div", {});
  const picture = svg(
    "svg",
    {
      class: "scatter",
      viewBox: `0 0 ${frame.width} ${HEIGHT}`,
      width: frame.width,
      height: HEIGHT,
      role: "img",
      "aria-label": `${y.title} against ${x.title}, of ${points.length} runs`,
    },
    ...scales(x, y, frame),
    line,
    ...circles.values(),
  );
  return {
    element: panel("Scatter", beside, picture, text),
    pass: (passing) => {
      const front = frontOf(
        points.filter((point) => passing.has(point.row)),
        wishX,
        wishY,
      );
      const inFront = new Set(front.map((point) => point.row));
      for (const [row, circle] of circles) {
        circle.classList.toggle("out", !passing.has(row));
        circle.classList.toggle("front", inFront.has(row));
      }
      line.setAttribute("d", frontLine(front, x, y, frame, wishX));
      text.replaceChildren(front.length > 0 ? frontText(front, state) : "");
    },
    highlight: (row) => {
      picture.querySelector("circle.on")?.classList.remove("on");
      if (row !== null) circles.get(row)?.classList.add("on");
    },
  };
}
