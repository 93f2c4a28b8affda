/* Runs by their settings and figures: parallel coordinates, two columns against each other, and
 * which settings a figure depends on. In a file of its own that only the pages Compare and
 * Sweeps load.
 *
 * The page gives the rows and what its address says; what is chosen here goes back to the address. */
import { axisOf, passes, type Axis, type Limits, type Row } from "@/explore/columns";
import { colourClass, html, nameOf, panel } from "@/explore/elements";
import { importanceOf } from "@/explore/importance";
import { parallelOf, rangesOf, type Drawing } from "@/explore/parallel";
import type { Wish } from "@/explore/pareto";
import { scatterOf } from "@/explore/scatter";

export { readLimits, writeLimits } from "@/explore/columns";

export interface Choice {
  x: string;
  y: string;
  target: string;
}

export interface ExploreProps extends Choice {
  rows: readonly Row[];
  /** Of the values of the rows. */
  columns: readonly string[];
  /** Those of them that are drawn as axes. */
  axes: readonly string[];
  /** Settings that differ; figures of series. */
  settings: readonly string[];
  figures: readonly string[];
  limits: Limits;
  wishes: Record<string, Wish>;
  onLimits: (limits: Limits) => void;
  onChoice: (choice: Partial<Choice>) => void;
  onAxes: (axes: string[]) => void;
  onWish: (name: string, wish: Wish) => void;
  /** The runs within the limits; null: all are. */
  onPassing: (ids: string[] | null) => void;
}

/** The properties, with limits that follow a drag before the address has them. */
export interface State extends Omit<ExploreProps, "onLimits"> {
  onHover: (row: number | null) => void;
  onLimits: (limits: Limits, isLast: boolean) => void;
}

export interface ExploreHandle {
  update: (props: ExploreProps) => void;
  destroy: () => void;
}

const MOST_LISTED = 100;

/* ---- the table ---- */

function cellText(value: number | string | null): string {
  if (value === null) return "–";
  return typeof value === "string" ? value : String(Number(value.toPrecision(5)));
}

function tableOf(shown: Axis[], state: State): Drawing {
  const places = shown.map((axis) => state.columns.indexOf(axis.name));
  const body = html("tbody", {});
  const note = html("p", { class: "body soft" });
  const rowOf = (i: number) => {
    const row = state.rows[i];
    if (!row) return null;
    return html(
      "tr",
      {
        "data-row": i,
        pointerenter: () => state.onHover(i),
        pointerleave: () => state.onHover(null),
      },
      html(
        "th",
        { scope: "row" },
        html("i", { class: `swatch ${colourClass(i)}`, "aria-hidden": "true" }),
        nameOf(row),
      ),
      ...places.map((place) =>
        html("td", { class: "number" }, cellText(row.values[place] ?? null)),
      ),
    );
  };
  const table = html(
    "table",
    { class: "passing" },
    html(
      "thead",
      {},
      html(
        "tr",
        {},
        html("th", { scope: "col" }, "Run"),
        ...shown.map((axis) => html("th", { scope: "col", title: axis.name }, axis.title)),
      ),
    ),
    body,
  );
  return {
    element: html(
      "div",
      {},
      html(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Runs in range" },
        table,
      ),
      note,
    ),
    pass: (passing) => {
      const first = [...passing].sort((a, b) => a - b).slice(0, MOST_LISTED);
      body.replaceChildren(...first.flatMap((i) => rowOf(i) ?? []));
      note.textContent =
        passing.size > MOST_LISTED ? `The first ${MOST_LISTED} of ${passing.size} runs.` : "";
      note.hidden = passing.size <= MOST_LISTED;
    },
    highlight: (row) => {
      body.querySelector(".on")?.classList.remove("on");
      if (row !== null) body.querySelector(`[data-row="${row}"]`)?.classList.add("on");
    },
  };
}

/* ---- which axes ---- */

function axesPicker(axes: ReadonlyMap<string, Axis>, state: State): HTMLElement {
  const boxes = state.columns.map((name) => {
    const box = html("input", {
      type: "checkbox",
      checked: state.axes.includes(name),
      change: () =>
        state.onAxes(
          box.checked ? [...state.axes, name] : state.axes.filter((one) => one !== name),
        ),
    });
    const title = html("span", { class: "ellipsis" }, axes.get(name)?.title ?? name);
    return html("label", { title: name }, box, title);
  });
  return html(
    "details",
    { class: "body" },
    html("summary", {}, "Axes"),
    html("div", { class: "column-names" }, ...boxes),
  );
}

/* ---- all of it ---- */

function passingOf(axes: ReadonlyMap<string, Axis>, props: ExploreProps, limits: Limits) {
  const all = props.rows.map((_, i) => i);
  return new Set(all.filter((i) => passes(i, axes, limits)));
}

export function mount(host: HTMLElement, first: ExploreProps): ExploreHandle {
  let props = first;
  let key = "";
  let said = "";
  let width = 0;
  let redraw: ReturnType<typeof setTimeout> | undefined;

  /* Tells the page once for each set. */
  function tell(passing: ReadonlySet<number>, all: number): void {
    const ids = passing.size === all ? null : [...passing].map((i) => props.rows[i]?.id ?? "");
    const text = ids === null ? "all" : ids.join();
    if (text === said) return;
    said = text;
    props.onPassing(ids);
  }

  function draw(): void {
    const axes = new Map(props.columns.map((name, i) => [name, axisOf(name, props.rows, i)]));
    const shown = props.axes.flatMap((name) => axes.get(name) ?? []);
    const count = html("span", { class: "soft", role: "status" });
    const parts: Pick<Drawing, "pass">[] = [];
    const drawings: Drawing[] = [];
    const follow = (limits: Limits) => {
      const passing = passingOf(axes, props, limits);
      count.textContent = `${passing.size} of ${props.rows.length} runs in range`;
      parts.forEach((part) => part.pass(passing));
      tell(passing, props.rows.length);
    };
    const state: State = {
      ...props,
      onHover: (row) => drawings.forEach((one) => one.highlight(row)),
      onLimits: (limits, isLast) => {
        if (isLast) props.onLimits(limits);
        else follow(limits);
      },
    };
    const clear = html("button", { click: () => props.onLimits({}) }, "All runs");
    clear.disabled = Object.keys(props.limits).length === 0;
    const inner = Math.max(240, width - 4);
    const parallel = parallelOf(shown, inner, state);
    const table = tableOf(shown, state);
    const scatter = scatterOf(axes, props.columns, inner, state);
    const importance = importanceOf(axes, state);
    drawings.push(parallel, table, scatter);
    parts.push(parallel, table, scatter, importance);
    const open = [...host.querySelectorAll("details")].map((one) => one.open);
    host.replaceChildren(
      panel(
        "Settings and figures",
        [count, clear],
        parallel.element,
        rangesOf(shown, state),
        axesPicker(axes, state),
        table.element,
      ),
      scatter.element,
      importance.element,
    );
    [...host.querySelectorAll("details")].forEach((one, i) => (one.open = open[i] ?? false));
    follow(props.limits);
  }

  function keyOf(next: ExploreProps): string {
    return JSON.stringify([
      next.rows,
      next.columns,
      next.axes,
      next.limits,
      next.wishes,
      next.x,
      next.y,
      next.target,
    ]);
  }

  const watch = new ResizeObserver((entries) => {
    const now = Math.round(entries[0]?.contentRect.width ?? 0);
    if (now === width) return;
    width = now;
    clearTimeout(redraw);
    redraw = setTimeout(draw, 50);
  });
  width = Math.round(host.getBoundingClientRect().width);
  key = keyOf(props);
  draw();
  watch.observe(host);
  return {
    update: (next) => {
      const asked = keyOf(next);
      props = next;
      if (asked === key) return;
      key = asked;
      const focused = document.activeElement?.getAttribute("aria-label");
      draw();
      if (focused)
        host.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
    },
    destroy: () => {
      watch.disconnect();
      clearTimeout(redraw);
      host.replaceChildren();
    },
  };
}
