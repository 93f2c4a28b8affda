/* Timeline of one step: a lane for each process, a bar for each span. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import { api, type Job, type Trace } from "@generated/client";
import { integer, percent } from "@/base/format";
import { keyMoves } from "@/base/keys";
import { query, setQuery } from "@/base/route";
import { colour, themeVersion } from "@/base/theme";
import { Icon } from "@/components/Icon";
import { Empty, PageHeader, Pick, Waiting } from "@/components/parts";
import { current, isFinal, notYet, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import {
  lanesOfStep,
  stragglersOf,
  textOfTime,
  waitsOf,
  type Lane,
  type Span,
  type Wait,
} from "@/timeline/waits";

/* Kinds as the engine names them: colour and pattern. */
const KINDS: Record<
  string,
  { token: string; text: string; pattern: "plain" | "stripes" | "dots" }
> = {
  compute: { token: "--series-1", text: "compute", pattern: "plain" },
  reduce: { token: "--series-0", text: "reduce", pattern: "plain" },
  weights: { token: "--series-4", text: "weights", pattern: "stripes" },
  update: { token: "--series-2", text: "update", pattern: "plain" },
  fill: { token: "--series-5", text: "fill", pattern: "stripes" },
  save: { token: "--series-3", text: "save", pattern: "stripes" },
  wait: { token: "--line-strong", text: "wait", pattern: "dots" },
};
const UNKNOWN = { token: "--series-7", text: "other", pattern: "plain" as const };
const LANE_HEIGHT = 34;
const LEFT = 130;
const AXIS = 24;
/* Pixels of a wait below which it has no arrow. */
const LEAST_ARROW = 6;

const kindOf = (kind: string) => KINDS[kind] ?? { ...UNKNOWN, text: kind };

declare const IS_REPORT: boolean;

interface Extent {
  from: number;
  to: number;
}

function extentOf(lanes: Lane[]): Extent {
  const spans = lanes.flatMap((lane) => lane.spans);
  return spans.reduce(
    (all, s) => ({ from: Math.min(all.from, s.start_us), to: Math.max(all.to, s.end_us) }),
    { from: Infinity, to: -Infinity },
  );
}

function total(spans: Span[], test: (span: Span) => boolean): number {
  return spans.reduce((all, s) => all + (test(s) ? s.end_us - s.start_us : 0), 0);
}

/* Share of the time in which at least two lanes work. */
function overlapOf(lanes: Lane[], extent: Extent): number {
  const turns = lanes.flatMap((lane) =>
    lane.spans
      .filter((s) => s.kind !== "wait")
      .flatMap(
        (s) =>
          [
            [s.start_us, 1],
            [s.end_us, -1],
          ] as [number, number][],
      ),
  );
  turns.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let active = 0;
  let last = extent.from;
  let overlapped = 0;
  for (const [at, by] of turns) {
    if (active >= 2) overlapped += at - last;
    active += by;
    last = at;
  }
  return overlapped / Math.max(1, extent.to - extent.from);
}

function patternOf(context: CanvasRenderingContext2D, kind: string): string | CanvasPattern {
  const { token, pattern } = kindOf(kind);
  const ink = colour(token);
  if (pattern === "plain") return ink;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const c = tile.getContext("2d") as CanvasRenderingContext2D;
  c.fillStyle = ink;
  if (pattern === "stripes") {
    c.fillRect(0, 0, 6, 6);
    c.strokeStyle = colour("--panel");
    c.globalAlpha = 0.45;
    c.beginPath();
    c.moveTo(-1, 7);
    c.lineTo(7, -1);
    c.stroke();
  } else c.fillRect(2, 2, 1.6, 1.6);
  return context.createPattern(tile, "repeat") ?? ink;
}

/* A tick a hundred pixels, at most six. */
function tickOf(span: number, width: number): number {
  const raw = span / Math.min(6, Math.max(2, Math.floor(width / 100)));
  const power = 10 ** Math.floor(Math.log10(raw));
  return ([1, 2, 5, 10].find((m) => m * power >= raw) ?? 10) * power;
}

/* Draws an arrow from the end of the work to the end of the wait for it. */
function paintWaits(
  c: CanvasRenderingContext2D,
  lanes: Lane[],
  waits: Wait[],
  at: (us: number) => number,
): void {
  const rows = new Map(lanes.map((lane, i) => [lane.name, AXIS + i * LANE_HEIGHT + 17]));
  c.strokeStyle = c.fillStyle = colour("--text");
  for (const wait of waits) {
    const [from, to] = [rows.get(wait.whom ?? ""), rows.get(wait.who)];
    if (from === undefined || to === undefined) continue;
    const [x, tip] = [at(wait.done_us), at(wait.end_us)];
    const edge = to > from ? to - 11 : to + 11;
    const back = to > from ? -5 : 5;
    c.beginPath();
    c.moveTo(x, to > from ? from + 11 : from - 11);
    c.lineTo(tip, edge);
    c.stroke();
    c.beginPath();
    c.moveTo(tip, edge);
    c.lineTo(tip - 3, edge + back);
    c.lineTo(tip + 3, edge + back);
    c.fill();
  }
}

function paint(canvas: HTMLCanvasElement, lanes: Lane[], view: Extent, origin: number): void {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const ratio = devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const c = canvas.getContext("2d") as CanvasRenderingContext2D;
  c.scale(ratio, ratio);
  c.font = "12px system-ui, sans-serif";
  const scale = (width - LEFT - 12) / Math.max(1e-6, view.to - view.from);
  const at = (us: number) => LEFT + (us - view.from) * scale;
  const tick = tickOf(view.to - view.from, width - LEFT);
  c.strokeStyle = colour("--line");
  for (let t = Math.ceil((view.from - origin) / tick) * tick; t <= view.to - origin; t += tick) {
    const x = Math.round(at(t + origin)) + 0.5;
    c.beginPath();
    c.moveTo(x, AXIS - 4);
    c.lineTo(x, height);
    c.stroke();
    c.fillStyle = colour("--text-faint");
    c.fillText(textOfTime(t), x + 4, 14);
  }
  const patterns = new Map<string, string | CanvasPattern>();
  c.save();
  c.beginPath();
  c.rect(LEFT, AXIS, width - LEFT, height);
  c.clip();
  lanes.forEach((lane, i) => {
    const y = AXIS + i * LANE_HEIGHT + 6;
    for (const span of lane.spans) {
      if (span.end_us < view.from || span.start_us > view.to) continue;
      if (!patterns.has(span.kind)) patterns.set(span.kind, patternOf(c, span.kind));
      c.fillStyle = patterns.get(span.kind) as string;
      const x = at(span.start_us);
      const w = Math.max(0.75, (span.end_us - span.start_us) * scale - 0.5);
      c.fillRect(x, y, w, LANE_HEIGHT - 12);
      if (w > 56 && span.kind !== "wait") {
        c.fillStyle = colour("--panel");
        c.fillText(kindOf(span.kind).text, x + 6, y + 15);
      }
    }
  });
  const shown = (wait: Wait) =>
    wait.us * scale >= LEAST_ARROW && wait.end_us >= view.from && wait.done_us <= view.to;
  paintWaits(c, lanes, waitsOf(lanes).filter(shown), at);
  c.restore();
  lanes.forEach((lane, i) => {
    c.fillStyle = colour("--text");
    c.fillText(lane.name, 12, AXIS + i * LANE_HEIGHT + 21, LEFT - 20);
  });
}

/* The visible time range; panning and zooming stay within the recorded range. */
function useView(extent: Extent) {
  const [view, setView] = useState<Extent>(extent);
  useEffect(() => setView(extent), [extent]);
  const zoom = (factor: number, about = (view.from + view.to) / 2) =>
    setView({
      from: Math.max(extent.from, about - (about - view.from) * factor),
      to: Math.min(extent.to, about + (view.to - about) * factor),
    });
  const move = (share: number) => {
    const width = view.to - view.from;
    const from = Math.min(Math.max(extent.from, view.from + share * width), extent.to - width);
    setView({ from, to: from + width });
  };
  return { view, zoom, move, showAll: () => setView(extent) };
}

/* Draws when the lanes, the view, the size or the theme change. */
function usePaint(lanes: Lane[], view: Extent, origin: number) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const draw = () => canvas.current && paint(canvas.current, lanes, view, origin);
  useEffect(() => {
    const observer = new ResizeObserver(() => draw());
    if (canvas.current) observer.observe(canvas.current);
    draw();
    return () => observer.disconnect();
  }, [lanes, view]);
  useSignalEffect(() => {
    if (themeVersion.value > 0) draw();
  });
  return canvas;
}

function spanText(lane: Lane | undefined, at: number, origin: number): string {
  const span = lane?.spans.find((s) => s.start_us <= at && s.end_us >= at);
  if (!span) return "";
  return (
    `${lane?.name}: ${span.kind}, ${textOfTime(span.end_us - span.start_us)}, ` +
    `from ${textOfTime(span.start_us - origin)}`
  );
}

function Gantt({ lanes }: { lanes: Lane[] }) {
  const extent = useMemo(() => extentOf(lanes), [lanes]);
  const { view, zoom, move, showAll } = useView(extent);
  const canvas = usePaint(lanes, view, extent.from);
  const [tip, setTip] = useState("");
  const width = () => (canvas.current?.clientWidth ?? 1) - LEFT - 12;
  const timeAt = (x: number) => view.from + ((x - LEFT) / width()) * (view.to - view.from);
  const hover = (event: MouseEvent) => {
    const lane = lanes[Math.floor((event.offsetY - AXIS) / LANE_HEIGHT)];
    setTip(spanText(lane, timeAt(event.offsetX), extent.from));
    if (event.buttons === 1) move(-event.movementX / width());
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.offsetX));
  };
  const keys = keyMoves({
    ArrowLeft: () => move(-0.15),
    ArrowRight: () => move(0.15),
    "+": () => zoom(0.7),
    "-": () => zoom(1.4),
    "0": showAll,
  });
  return (
    <>
      <canvas
        class="gantt"
        ref={canvas}
        tabIndex={0}
        role="img"
        onMouseMove={hover}
        onKeyDown={keys}
        onWheel={wheel}
        onDblClick={showAll}
        style={{ height: `${AXIS + lanes.length * LANE_HEIGHT + 8}px` }}
        aria-label={
          `Timeline of ${lanes.length} processes over ` +
          `${textOfTime(extent.to - extent.from)}; the table below has the same as figures`
        }
      />
      <p class="tip small soft">
        {tip || "Drag moves, Ctrl and the wheel scale, 0 shows all. An arrow: who waited for whom."}
      </p>
    </>
  );
}

function Shares({ lanes }: { lanes: Lane[] }) {
  const kinds = [...new Set(lanes.flatMap((lane) => lane.spans.map((s) => s.kind)))].sort(
    (a, b) => Object.keys(KINDS).indexOf(a) - Object.keys(KINDS).indexOf(b),
  );
  const extent = extentOf(lanes);
  const length = Math.max(1, extent.to - extent.from);
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Process</th>
          {kinds.map((kind) => (
            <th key={kind} scope="col" class="number">
              {kindOf(kind).text}
            </th>
          ))}
          <th scope="col" class="number">
            spans
          </th>
        </tr>
      </thead>
      <tbody>
        {lanes.map((lane) => (
          <tr key={lane.name}>
            <td>{lane.name}</td>
            {kinds.map((kind) => {
              const us = total(lane.spans, (s) => s.kind === kind);
              return (
                <td key={kind} class="number" title={textOfTime(us)}>
                  {percent(us / length)}
                </td>
              );
            })}
            <td class="number">{integer(lane.spans.length)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Waits({ lanes }: { lanes: Lane[] }) {
  const waits = waitsOf(lanes).filter((wait) => wait.whom !== null);
  const rows = new Map<string, { first: Wait; us: number; count: number }>();
  for (const wait of waits) {
    const key = `${wait.who}/${wait.whom}/${wait.kind}`;
    const row = rows.get(key) ?? { first: wait, us: 0, count: 0 };
    rows.set(key, { first: row.first, us: row.us + wait.us, count: row.count + 1 });
  }
  if (rows.size === 0) return <p class="soft body">In this step nobody waited for another.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Waits</th>
          <th scope="col">For</th>
          <th scope="col">Its</th>
          <th scope="col" class="number">
            Times
          </th>
          <th scope="col" class="number">
            Together
          </th>
        </tr>
      </thead>
      <tbody>
        {[...rows.values()]
          .sort((a, b) => b.us - a.us)
          .map(({ first, us, count }) => (
            <tr key={`${first.who}/${first.whom}/${first.kind}`}>
              <td>{first.who}</td>
              <td>{first.whom}</td>
              <td>{kindOf(first.kind).text}</td>
              <td class="number">{integer(count)}</td>
              <td class="number">{textOfTime(us)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

/** Of all sampled steps: whom others waited for. */
export function Stragglers({ trace }: { trace: Trace | undefined }) {
  const steps = useMemo(
    () => (trace?.steps ?? []).map((step) => lanesOfStep(trace, step)),
    [trace],
  );
  const rows = useMemo(() => stragglersOf(steps), [steps]);
  if (rows.length === 0)
    return <p class="soft body">In no sampled step did anybody wait for another.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Waited for</th>
          <th scope="col">Mostly its</th>
          <th scope="col" class="number">
            In steps
          </th>
          <th scope="col" class="number">
            Others waited
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <td>{row.name}</td>
            <td>{kindOf(row.kind).text}</td>
            <td class="number">
              {integer(row.steps)} of {integer(steps.length)}
            </td>
            <td class="number">{textOfTime(row.us)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function download(trace: Trace, name: string): void {
  const blob = new Blob([JSON.stringify(trace)], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function Legend({ lanes }: { lanes: Lane[] }) {
  const kinds = new Set(lanes.flatMap((lane) => lane.spans.map((s) => s.kind)));
  return (
    <div class="legend">
      {[...kinds].map((kind) => (
        <span key={kind}>
          <i
            class={`block ${kindOf(kind).pattern}`}
            style={{ "--ink": `var(${kindOf(kind).token})` }}
          />
          {kindOf(kind).text}
        </span>
      ))}
    </div>
  );
}

const REREAD_MS = 3000;

/* What each sampled step has spans of. */
function kindsByStep(trace: Trace | undefined): Map<number, Set<string>> {
  const kinds = new Map<number, Set<string>>((trace?.steps ?? []).map((one) => [one, new Set()]));
  for (const event of trace?.traceEvents ?? []) {
    const at = (event.args as { step?: number } | undefined)?.step;
    if (event.ph === "X" && at !== undefined) kinds.get(at)?.add(event.name);
  }
  return kinds;
}

/* A training step computes and updates; a validation's batch only computes, a save at the end of a
 * run does neither. */
const isWhole = (kinds: Set<string> | undefined): boolean =>
  kinds !== undefined && kinds.has("compute") && kinds.has("update");

/** The step to open on: the last whole training step, or the last one of what there is. */
function lastWhole(kinds: Map<number, Set<string>>): number | undefined {
  const steps = [...kinds.keys()].sort((a, b) => a - b);
  return steps.filter((one) => isWhole(kinds.get(one))).pop() ?? steps.pop();
}

function stepText(step: number, kinds: Map<number, Set<string>>): string {
  const own = kinds.get(step);
  if (!own || isWhole(own)) return integer(step);
  const words = [...own].filter((one) => one !== "wait").map((one) => kindOf(one).text);
  return `${integer(step)}: only ${words.join(", ") || "wait"}`;
}

/* What the lanes have in common is said of a step of which nothing is missing. */
function noteOf(
  step: number | undefined,
  lanes: Lane[],
  whole: boolean,
  replicas: number,
  job: Job | null,
): string {
  const all = job?.num_csx ?? replicas;
  const at = `step ${integer(step)}`;
  if (!whole) return `${at} · not all of it was recorded`;
  if (replicas < all) return `${at} · spans of ${replicas} of ${all} replicas were recorded`;
  const share = percent(overlapOf(lanes, extentOf(lanes)));
  return `${at} · ${share} of the time at least two processes work`;
}

export function Timeline() {
  const model = current.value as JobModel;
  const job = model.job.value;
  const wanted = query.value.get("step");
  const every = job && !isFinal(job.state) && wanted === null ? REREAD_MS : 0;
  const range = wanted === null ? {} : { from: Number(wanted), to: Number(wanted) };
  const read = () => api.getTrace({ id: model.id, ...range });
  const stored = useRecorded(model, read, [wanted], every);
  const all = useRecorded(model, () => api.getTrace({ id: model.id }), []);
  const { data } = stored;
  const kinds = useMemo(
    () => new Map([...kindsByStep(all.data), ...kindsByStep(data)]),
    [all.data, data],
  );
  const step = wanted === null ? lastWhole(kindsByStep(data)) : Number(wanted);
  const known = [...kinds.keys()].sort((a, b) => a - b);
  const lanes = useMemo(() => lanesOfStep(data, step), [data, step]);
  const replicas = lanes.filter((lane) => /^replica/.test(lane.name)).length;
  const note =
    lanes.length > 0 ? noteOf(step, lanes, isWhole(kinds.get(step ?? -1)), replicas, job) : "";
  return (
    <>
      <PageHeader title="Timeline" note={note}>
        {known.length > 0 && (
          <Pick
            label="step"
            value={String(step ?? "")}
            onChange={(v) => setQuery({ step: v })}
            options={known.map((one) => [String(one), stepText(one, kinds)] as const)}
          />
        )}
        {wanted !== null && (
          <button onClick={() => setQuery({ step: null })}>last whole step</button>
        )}
        {data && lanes.length > 0 && (
          <button onClick={() => download(data, `${model.id}-step-${step}.trace.json`)}>
            <Icon name="download" />
            Chrome trace
          </button>
        )}
        {!IS_REPORT && lanes.length > 0 && (
          <a
            class="button"
            href={`/api/v1/jobs/${encodeURIComponent(model.id)}/trace`}
            download={`${model.id}.trace.json`}
            title="All sampled steps in Chrome's trace event format, which ui.perfetto.dev and chrome://tracing open"
          >
            <Icon name="download" />
            all steps for Perfetto
          </a>
        )}
      </PageHeader>
      <Waiting for={stored} />
      {data && lanes.length === 0 && (
        <section class="panel">
          <Empty title={notYet("No step was sampled")} icon="timeline">
            {data.missing ?? "One step in a hundred is recorded, at most one a second."}
          </Empty>
        </section>
      )}
      {lanes.length > 0 && (
        <div class="stack">
          <section class="panel">
            <div class="head">
              <Legend lanes={lanes} />
            </div>
            <div class="body">
              <Gantt lanes={lanes} />
            </div>
          </section>
          <section
            class="panel scroll"
            tabIndex={0}
            role="region"
            aria-label="Share of the step by process"
          >
            <h2>Share of the step</h2>
            <Shares lanes={lanes} />
          </section>
          <div class="columns halves">
            <section
              class="panel scroll"
              tabIndex={0}
              role="region"
              aria-label="Who waits for whom"
            >
              <h2>Who waits for whom, step {integer(step)}</h2>
              <Waits lanes={lanes} />
            </section>
            <section class="panel scroll" tabIndex={0} role="region" aria-label="Stragglers">
              <h2>Waited for, all sampled steps</h2>
              <Stragglers trace={all.data} />
            </section>
          </div>
        </div>
      )}
    </>
  );
}
