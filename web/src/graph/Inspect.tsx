/* Of the part that was chosen: its tensors over time, the C of its kernels, and how close they come
 * to what the machine can do. */
import { useState } from "preact/hooks";
import { api, type KernelDetail } from "@generated/client";
import { bytes, integer, number, percent } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { Empty, Pick, Waiting } from "@/components/parts";
import type { KernelRow, PictureNode } from "@/graph/format";
import { badPart } from "@/graph/paint";
import { shortTime, timeOf, type KernelTime, type KernelTimes } from "@/job/kernels";
import { notYet, type JobModel } from "@/job/model";
import type { Row } from "@/job/numerics";
import { useRecorded } from "@/job/recorded";
import { TensorView } from "@/pages/Numerics";
import { canReplay } from "@/tensors/link";

/* ---- tensors ---- */

const NO_NUMERICS =
  "The run has no statistics of it. Set numerics in the configuration, as in numerics: " +
  "{every: 100, tensors: [NAME*]}; those that are rounded to 16 bits, gradients and states always " +
  "have them then.";

/* Worst first. */
function ownRows(node: PictureNode, rows: Row[]): Row[] {
  const names = new Set(node.tracked.flatMap((name) => [name, `${name}.update`]));
  return rows.filter((row) => names.has(row.tensor.name)).sort((a, b) => b.trouble - a.trouble);
}

function troubleText({ tensor, record }: Row): string {
  const share = (count: number) => percent(count / Math.max(1, record.count));
  if (badPart(record) > 0) return `${tensor.name}: ${share(badPart(record))} overflow`;
  if (record.flushed > 0) return `${tensor.name}: ${share(record.flushed)} flushed`;
  if (record.absorbed > 0) return `${tensor.name}: ${share(record.absorbed)} rounded away`;
  return tensor.name;
}

export function Tensors({
  model,
  node,
  rows,
  missing,
}: {
  model: JobModel;
  node: PictureNode;
  rows: Row[];
  missing: string | null;
}) {
  const own = ownRows(node, rows);
  const wanted = query.value.get("tensor");
  const row = own.find((one) => one.tensor.name === wanted) ?? own[0];
  if (!row)
    return (
      <Empty
        title={node.tracked.length > 0 ? notYet("No statistics") : "No statistics"}
        icon="numerics"
      >
        {node.tracked.length > 0 ? missing : (missing ?? NO_NUMERICS)}
      </Empty>
    );
  return (
    <div class="stack">
      <Pick
        label="tensor"
        value={row.tensor.name}
        options={own.map((one) => [one.tensor.name, troubleText(one)] as const)}
        onChange={(tensor) => setQuery({ tensor })}
      />
      <TensorView key={row.tensor.id} model={model} tensor={row.tensor} />
    </div>
  );
}

/* ---- kernels ---- */

/* The slowest of them unless one is chosen. */
function chosenRow(rows: KernelRow[], times: KernelTimes | undefined): KernelRow | undefined {
  const wanted = query.value.get("kernel");
  const known = rows.find((row) => String(row.id) === wanted);
  const cost = (row: KernelRow) => timeOf(times, row)?.total_ns ?? 0;
  return known ?? [...rows].sort((a, b) => cost(b) - cost(a))[0];
}

function KernelPick({
  rows,
  row,
  times,
}: {
  rows: KernelRow[];
  row: KernelRow;
  times: KernelTimes | undefined;
}) {
  const text = (one: KernelRow) => {
    const time = timeOf(times, one);
    return `${one.id}: ${one.operations}${time ? `, ${shortTime(time.total_ns)}` : ""}`;
  };
  return (
    <Pick
      label="kernel"
      value={String(row.id)}
      options={rows.map((one) => [String(one.id), text(one)] as const)}
      onChange={(kernel) => setQuery({ kernel })}
    />
  );
}

export function Code({
  model,
  rows,
  times,
}: {
  model: JobModel;
  rows: KernelRow[];
  times: KernelTimes | undefined;
}) {
  const row = chosenRow(rows, times);
  const kernel = row?.id ?? 0;
  const read = useRecorded(model, () => api.getKernel({ id: model.id, kernel }), [kernel]);
  if (!row) return <Empty title="No kernel computes it" icon="graph" />;
  return (
    <div class="stack">
      <KernelPick rows={rows} row={row} times={times} />
      <Waiting for={read} />
      {read.data && read.data.source === null && (
        <Empty title="No C to show" icon="graph">
          {read.data.source_missing}
        </Empty>
      )}
      {read.data?.source && (
        <>
          <p class="small soft">
            Function {integer(read.data.function)} of the generated C; kernels that are equal but
            for where their values lie share it.
          </p>
          <pre class="kernel-source" tabIndex={0} role="region" aria-label="Generated C">
            {read.data.source}
          </pre>
        </>
      )}
    </div>
  );
}

/* ---- roofline ---- */

export interface Position {
  /** Operations of a call, and of a byte. */
  flop: number;
  intensity: number;
  /** Measured, of a call. */
  ns: number;
  gflops: number;
  gbytes: number;
  /** Of the limit; null: not measured. */
  share: number | null;
}

/** Where a kernel stands. The calls of an update are ranges of lines that together are one run. */
export function positionOf(detail: KernelDetail, time: KernelTime, alike: number): Position {
  const { work, limit } = detail;
  const runs = detail.part === "update" ? alike : time.calls;
  const ns = time.total_ns / Math.max(1, runs);
  const flop = work.product_flop + work.other_flop;
  return {
    flop,
    intensity: work.bytes > 0 ? flop / work.bytes : 0,
    ns,
    gflops: flop / ns,
    gbytes: work.bytes / ns,
    share: limit && ns > 0 ? limit.nanoseconds / ns : null,
  };
}

const WIDTH = 380;
const HEIGHT = 220;
const EDGE = { left: 46, right: 14, top: 14, bottom: 32 };

/* Both axes are logarithmic, over whole powers of ten. */
function powers(values: number[]): [number, number] {
  const logs = values.filter((one) => one > 0).map(Math.log10);
  const low = Math.floor(Math.min(...logs));
  return [low, Math.max(low + 1, Math.ceil(Math.max(...logs)))];
}

function Roof({ detail, at }: { detail: KernelDetail; at: Position }) {
  const limit = detail.limit as NonNullable<KernelDetail["limit"]>;
  const ridge = limit.gflop_per_second / limit.gb_per_second;
  const xs = powers([at.intensity, ridge / 30, ridge * 10]);
  const ys = powers([at.gflops, limit.gflop_per_second, limit.gb_per_second * 10 ** xs[0]]);
  const x = (value: number) =>
    EDGE.left + ((Math.log10(value) - xs[0]) / (xs[1] - xs[0])) * (WIDTH - EDGE.left - EDGE.right);
  const y = (value: number) =>
    HEIGHT -
    EDGE.bottom -
    ((Math.log10(value) - ys[0]) / (ys[1] - ys[0])) * (HEIGHT - EDGE.top - EDGE.bottom);
  const low = 10 ** xs[0];
  const roof = `M${x(low)} ${y(limit.gb_per_second * low)}L${x(ridge)} ${y(limit.gflop_per_second)}H${x(10 ** xs[1])}`;
  const ticks = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const text =
    `Roofline: ${number(at.gflops, 3)} GFLOP/s at ${number(at.intensity, 3)} operations a byte; ` +
    `the limit there is ${number(at.gflops / (at.share ?? 1), 3)}`;
  return (
    <svg class="roofline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={text}>
      {ticks(xs[0], xs[1]).map((p) => (
        <g key={`x${p}`}>
          <line
            class="grid"
            x1={x(10 ** p)}
            x2={x(10 ** p)}
            y1={EDGE.top}
            y2={HEIGHT - EDGE.bottom}
          />
          <text x={x(10 ** p)} y={HEIGHT - EDGE.bottom + 14} text-anchor="middle">
            {number(10 ** p)}
          </text>
        </g>
      ))}
      {ticks(ys[0], ys[1]).map((p) => (
        <g key={`y${p}`}>
          <line
            class="grid"
            x1={EDGE.left}
            x2={WIDTH - EDGE.right}
            y1={y(10 ** p)}
            y2={y(10 ** p)}
          />
          <text x={EDGE.left - 5} y={y(10 ** p) + 4} text-anchor="end">
            {number(10 ** p)}
          </text>
        </g>
      ))}
      <path class="roof" d={roof} />
      <line
        class="gap"
        x1={x(at.intensity)}
        x2={x(at.intensity)}
        y1={y(at.gflops)}
        y2={y(Math.min(limit.gflop_per_second, limit.gb_per_second * at.intensity))}
      />
      <circle cx={x(at.intensity)} cy={y(at.gflops)} r={5} />
      <text x={WIDTH - EDGE.right} y={HEIGHT - 4} text-anchor="end">
        operations a byte
      </text>
      <text x={4} y={11}>
        GFLOP/s
      </text>
    </svg>
  );
}

function limitText(limit: NonNullable<KernelDetail["limit"]>): string {
  return limit.by_operations
    ? `${shortTime(limit.nanoseconds)}: ${limit.peak} at ${number(limit.gflop_per_second, 3)} GFLOP/s`
    : `${shortTime(limit.nanoseconds)}: bytes by ${limit.level} at ${number(limit.gb_per_second, 3)} GB/s`;
}

export function Roofline({
  model,
  rows,
  times,
  missing,
}: {
  model: JobModel;
  rows: KernelRow[];
  times: KernelTimes | undefined;
  missing: string | null;
}) {
  const [measuring, setMeasuring] = useState(false);
  const row = chosenRow(rows, times);
  const kernel = row?.id ?? 0;
  const read = useRecorded(model, () => api.getKernel({ id: model.id, kernel }), [kernel]);
  const measure = () => {
    setMeasuring(true);
    void api
      .getKernel({ id: model.id, kernel, measure: true })
      .then(read.reload, read.reload)
      .finally(() => setMeasuring(false));
  };
  if (!row) return <Empty title="No kernel computes it" icon="graph" />;
  const time = timeOf(times, row);
  const detail = read.data;
  const at = detail && time ? positionOf(detail, time, row.alike.length) : null;
  const facts: [string, string][] = detail
    ? [
        ["Operations of a call", number(detail.work.product_flop + detail.work.other_flop)],
        ["Bytes of a call", bytes(detail.work.bytes)],
        [
          "Product",
          [detail.work.sizes, detail.work.implementation].filter(Boolean).join(", ") || "none",
        ],
        ["Measured, a call", at ? shortTime(at.ns) : (missing ?? "not timed")],
        ["Reached", at ? `${number(at.gflops, 3)} GFLOP/s, ${number(at.gbytes, 3)} GB/s` : "–"],
        ["Least time of this machine", detail.limit ? limitText(detail.limit) : "not measured"],
        ["Share of the limit", at?.share != null ? percent(at.share) : "–"],
      ]
    : [];
  return (
    <div class="stack">
      <KernelPick rows={rows} row={row} times={times} />
      <Waiting for={read} />
      {detail?.limit && at && at.flop > 0 && <Roof detail={detail} at={at} />}
      {detail?.limit && at && at.flop === 0 && (
        <p class="soft">It computes nothing: it moves bytes, and is measured against their rate.</p>
      )}
      <dl class="facts" data-part="roofline">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd title={value}>{value}</dd>
          </div>
        ))}
      </dl>
      {detail && !detail.limit && (
        <div class="row wrap">
          <p class="soft">No limit: {detail.limit_missing}.</p>
          {canReplay() && !detail.limit_missing?.includes("another host") && (
            <button disabled={measuring} onClick={measure}>
              {measuring ? "Measuring" : "Measure this machine"}
            </button>
          )}
        </div>
      )}
    </div>
  );
}
