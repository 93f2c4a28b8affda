/* A part of a tensor as a picture, which is read by the pointer or by the arrow keys. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import { ApiError } from "@/api/transport";
import { integer, number } from "@/base/format";
import { keyMoves } from "@/base/keys";
import { useResource } from "@/base/resource";
import { query, setQuery } from "@/base/route";
import { themeVersion } from "@/base/theme";
import { Icon } from "@/components/Icon";
import { Choice, Failure, Loading } from "@/components/parts";
import { largestOf, paintCells, type Cells, type Scale } from "@/tensors/heat";
import { cellsOf, indicesOf, windowOf, zoomed, type Part, type Window } from "@/tensors/part";

const MOST = 512;
const MOST_HEIGHT = 520;
const ZOOM = 0.25;

export interface Place {
  job: string;
  step: number;
  tensor: string;
}

/** The address of a part, as a file or as cells. */
export function valuesPath(of: Place, part: Part | null, more: Record<string, string>): string {
  const ask = new URLSearchParams({ tensor: of.tensor, ...more });
  if (part && part.shape.length > 0) {
    ask.set("shape", part.shape.join());
    ask.set("at", part.at.join());
  }
  const path = `/api/v1/jobs/${encodeURIComponent(of.job)}/steps/${of.step}/values`;
  return `${path}?${ask.toString()}`;
}

async function readCells(of: Place, part: Part, w: Window, signal: AbortSignal): Promise<Cells> {
  const { rows, columns } = cellsOf(w, MOST);
  const answer = await fetch(
    valuesPath(of, part, {
      row: String(w.row),
      rows: String(w.rows),
      column: String(w.column),
      columns: String(w.columns),
      most_rows: String(MOST),
      most_columns: String(MOST),
    }),
    { signal, credentials: "same-origin" },
  );
  if (!answer.ok) throw new ApiError(answer.status, await answer.json().catch(() => ({})));
  const view = new DataView(await answer.arrayBuffer());
  const values = new Float32Array(view.byteLength / 4);
  for (let i = 0; i < values.length; i++) values[i] = view.getFloat32(4 * i, true);
  if (values.length !== rows * columns)
    throw new ApiError(0, { detail: `${values.length} cells came, and not ${rows * columns}` });
  return { rows, columns, values };
}

type At = { row: number; column: number };

const span = (first: number, count: number, size: number): string =>
  count === 1
    ? integer(first)
    : `${integer(first)} to ${integer(Math.min(size, first + count) - 1)}`;

/** What stands under the cursor. */
function reading(cells: Cells, w: Window, part: Part, samples: number[], at: At | null): string {
  if (!at) return "Point at a cell, or move with the arrow keys";
  const { high, wide } = cellsOf(w, MOST);
  const value = cells.values[at.row * cells.columns + at.column] ?? NaN;
  const [row, column] = [w.row + at.row * high, w.column + at.column * wide];
  if (high > 1 || wide > 1)
    return (
      `rows ${span(row, high, w.row + w.rows)}, columns ${span(column, wide, w.column + w.columns)}: ` +
      `the largest is ${number(value, 7)}`
    );
  const indices = indicesOf(part, row, column);
  const which = part.dimensions.findIndex((one) => one.name === "sample");
  const sample = which >= 0 ? samples[indices[which] ?? -1] : undefined;
  const of = sample === undefined ? "" : `, sample ${sample}`;
  return `[${indices.join(", ")}]${of}: ${number(value, 7)}`;
}

function Legend({ cells, scale }: { cells: Cells; scale: Scale }) {
  const largest = number(largestOf(cells.values));
  return (
    <p class="heat-legend small soft">
      <i class="heat-negative" /> −{largest}
      <i class="heat-zero" /> 0
      <i class="heat-positive" /> {largest}
      <i class="heat-bad">×</i> NaN or infinite
      {scale === "log" && " · eight decades"}
    </p>
  );
}

const SCALES = [
  ["linear", "linear"],
  ["log", "log"],
] as const;

function zoomTo(w: Window | null): void {
  setQuery({ zoom: w && [w.row, w.rows, w.column, w.columns].join() });
}

function Canvas({
  cells,
  scale,
  label,
  at,
  onAt,
  onZoom,
}: {
  cells: Cells;
  scale: Scale;
  label: string;
  at: At | null;
  onAt: (at: At | null) => void;
  onZoom: (at: At | null, factor: number) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const draw = () => canvas.current && paintCells(canvas.current, cells, scale, at);
  useEffect(() => {
    draw();
    const observer = new ResizeObserver(() => draw());
    if (canvas.current) observer.observe(canvas.current);
    return () => observer.disconnect();
  }, [cells, scale, at]);
  useSignalEffect(() => {
    if (themeVersion.value > 0) draw();
  });
  const under = (event: MouseEvent): At => {
    const box = (canvas.current as HTMLCanvasElement).getBoundingClientRect();
    const share = (part: number, size: number, count: number) =>
      Math.min(count - 1, Math.max(0, Math.floor((part / size) * count)));
    return {
      row: share(event.clientY - box.top, box.height, cells.rows),
      column: share(event.clientX - box.left, box.width, cells.columns),
    };
  };
  const move = (rows: number, columns: number) => {
    const from = at ?? { row: -rows, column: -columns };
    onAt({
      row: Math.min(cells.rows - 1, Math.max(0, from.row + rows)),
      column: Math.min(cells.columns - 1, Math.max(0, from.column + columns)),
    });
  };
  const keys = keyMoves({
    ArrowLeft: () => move(0, -1),
    ArrowRight: () => move(0, 1),
    ArrowUp: () => move(-1, 0),
    ArrowDown: () => move(1, 0),
    "+": () => onZoom(at, ZOOM),
    "-": () => onZoom(at, 1 / ZOOM),
    "0": () => onZoom(null, 1),
  });
  /* As high as its rows ask for, and not higher than the window. */
  const height = Math.min(MOST_HEIGHT, Math.max(40, cells.rows * Math.max(2, 640 / cells.columns)));
  return (
    <canvas
      class="cells"
      ref={canvas}
      role="img"
      tabIndex={0}
      aria-label={label}
      style={{ height: `${height}px` }}
      onKeyDown={keys}
      onMouseMove={(event) => onAt(under(event))}
      onClick={(event) => onAt(under(event))}
      onDblClick={(event) => onZoom(under(event), ZOOM)}
    />
  );
}

export function HeatMap({ of, part, samples }: { of: Place; part: Part; samples: number[] }) {
  const w = windowOf(query.value.get("zoom"), part);
  const scale: Scale = query.value.get("scale") === "log" ? "log" : "linear";
  const [at, setAt] = useState<At | null>(null);
  const key = [of.job, of.step, of.tensor, part.shape.join(), part.at.join()].join("/");
  const place = Object.values(w).join();
  const { data, error } = useResource((signal) => readCells(of, part, w, signal), [key, place]);
  useEffect(() => setAt(null), [key, place]);
  const isWhole = w.rows === part.rows && w.columns === part.columns;
  const zoom = (to: At | null, factor: number) => {
    if (!to && factor === 1) return zoomTo(null);
    const { high, wide } = cellsOf(w, MOST);
    const row = to ? w.row + to.row * high : w.row + w.rows / 2;
    const column = to ? w.column + to.column * wide : w.column + w.columns / 2;
    const next = zoomed(w, part, row, column, factor);
    return zoomTo(next.rows === part.rows && next.columns === part.columns ? null : next);
  };
  const now = data && data.values.length > 0 ? data : undefined;
  return (
    <section class="panel" aria-label="Heat map">
      <div class="head">
        <h2>
          {integer(w.rows)} × {integer(w.columns)}
          {!isWhole && (
            <span class="faint"> of {`${integer(part.rows)} × ${integer(part.columns)}`}</span>
          )}
        </h2>
        <span class="spacer" />
        <Choice
          label="Scale of the colours"
          value={scale}
          options={SCALES}
          onChange={(value) => setQuery({ scale: value === "log" ? "log" : null })}
        />
        <button aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoom(at, ZOOM)}>
          +
        </button>
        <button disabled={isWhole} title="Show all (0)" onClick={() => zoom(null, 1)}>
          <Icon name="fit" />
          all
        </button>
      </div>
      <div class="body">
        {error && <Failure error={error} />}
        {!data && !error && <Loading />}
        {data && !now && <p class="soft">This part has no elements.</p>}
        {now && (
          <>
            <p class="reading number" role="status" data-part="reading">
              {reading(now, w, part, samples, at)}
            </p>
            <Canvas
              cells={now}
              scale={scale}
              label={
                `${of.tensor}, step ${of.step}: ${w.rows} rows, ${w.columns} columns. Arrow keys ` +
                "move the cursor, plus and minus scale, zero shows all."
              }
              at={at && at.row < now.rows && at.column < now.columns ? at : null}
              onAt={setAt}
              onZoom={zoom}
            />
            <Legend cells={now} scale={scale} />
          </>
        )}
      </div>
    </section>
  );
}
