/* The numbers themselves: what overflowed, what was flushed to zero, which updates rounded away,
 * and how the exponents of a tensor move against what its format can hold. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import type { NumericsRecord, Tensor } from "@generated/client";
import { integer, percent } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { colour, themeVersion } from "@/base/theme";
import { Icon } from "@/components/Icon";
import { Chart, type Curve } from "@/components/Chart";
import { MetricChart } from "@/components/MetricChart";
import { Empty, Failure, Filter, Loading, PageHeader } from "@/components/parts";
import { styleOf } from "@/graph/Drawing";
import { current, notYet, type JobModel } from "@/job/model";
import {
  exponentOf,
  histogramOf,
  readObserved,
  readTensor,
  share,
  type Observed,
  type Row,
} from "@/job/numerics";
import { useRecorded } from "@/job/recorded";
import { useRun } from "@/pages/Pulse";
import { canReplay, stepLink } from "@/tensors/link";
import type { PageEntry } from "@/frame/page";

/* Exponents that a format can hold: normal from, largest; below `normal` down to `tiny`:
 * subnormal. */
const RANGES: Record<string, { tiny: number; normal: number; largest: number }> = {
  float32: { tiny: -149, normal: -126, largest: 127 },
  bfloat16: { tiny: -133, normal: -126, largest: 127 },
  float16: { tiny: -24, normal: -14, largest: 15 },
  cbfloat16: { tiny: -39, normal: -30, largest: 31 },
};
const ZERO_EXPONENT = -127;
const INFINITE_BIN = 255;
const MOST_ROWS = 300;
const NAME_LENGTH = 48;

/* Names are shortened at the start: most tensors differ only at the end. */
function tailOf(name: string): string {
  if (name.length <= NAME_LENGTH) return name;
  const cut = name.indexOf(".", name.length - NAME_LENGTH);
  return `…${name.slice(cut < 0 ? name.length - NAME_LENGTH : cut + 1)}`;
}

function FirstBad({ job, found }: { job: string; found: Observed["firstBad"] }) {
  if (!found)
    return (
      <div class="banner good">
        <Icon name="check" />
        <span>No tensor with statistics held a NaN or an infinity, or saturated.</span>
      </div>
    );
  const { tensor, record } = found;
  const where = tensor.file ? ` (${tensor.file}:${tensor.line})` : "";
  const microbatch = record.first_microbatch;
  return (
    <div class="banner bad" role="status">
      <Icon name="warn" />
      <span>
        The first to overflow: <strong>{tensor.name}</strong> at step {integer(record.step)}
        {microbatch !== null && microbatch >= 0 && `, microbatch ${microbatch}`}:{" "}
        {integer(record.nan)} NaN, {integer(record.inf)} infinite, {integer(record.saturated)}{" "}
        saturated; {tensor.op} in {tensor.scope}
        {where}
        {canReplay() && (
          <>
            {" "}
            <a href={stepLink(job, { step: record.step, tensor: tensor.name, begin: true })}>
              See its values
            </a>
          </>
        )}
      </span>
    </div>
  );
}

function ShareCell({ part, record, tone }: { part: number; record: NumericsRecord; tone: string }) {
  const value = share(part, record);
  return (
    <td class="number share-cell">
      <i class={tone} style={{ width: `${Math.min(100, value * 100)}%` }} />
      <span>{part === 0 ? "0" : percent(value)}</span>
    </td>
  );
}

const HEADINGS = ["NaN, inf", "Saturated", "Flushed", "Absorbed", "Max"];

function TensorRow({
  row,
  chosen,
  onChoose,
}: {
  row: Row;
  chosen: boolean;
  onChoose: (id: number) => void;
}) {
  const { tensor, record } = row;
  const nonFinite = record.nan + record.inf;
  const source = tensor.source_dtype;
  return (
    <tr class={chosen ? "selected" : ""}>
      <td>
        <button
          class="link"
          aria-pressed={chosen}
          title={tensor.name}
          onClick={() => onChoose(tensor.id)}
        >
          {tailOf(tensor.name)}
        </button>
        <span class="sub faint">
          {tensor.kind} · {tensor.op}
          {tensor.backward ? " · backward" : ""}
        </span>
      </td>
      <td class="small nowrap">
        {source && source !== tensor.dtype ? `${styleOf(source).short} → ` : ""}
        {styleOf(tensor.dtype ?? "").short}
      </td>
      <td class={`number${nonFinite > 0 ? " bad-text" : ""}`}>{integer(nonFinite)}</td>
      <ShareCell part={record.saturated} record={record} tone="bad" />
      <ShareCell part={record.flushed} record={record} tone="warn" />
      <ShareCell part={record.absorbed} record={record} tone="info" />
      <td class="number nowrap">
        {record.max_exponent === null || record.max_exponent <= ZERO_EXPONENT
          ? "–"
          : `2^${record.max_exponent}`}
      </td>
    </tr>
  );
}

function TensorTable({
  rows,
  chosen,
  onChoose,
}: {
  rows: Row[];
  chosen: number | null;
  onChoose: (id: number) => void;
}) {
  return (
    <section
      class="panel scroll tensor-table"
      tabIndex={0}
      role="region"
      aria-label="Observed tensors"
    >
      <table>
        <thead>
          <tr>
            <th scope="col">Tensor</th>
            <th scope="col">Format</th>
            {HEADINGS.map((text) => (
              <th key={text} scope="col" class="number">
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row) => (
            <TensorRow
              key={row.tensor.id}
              row={row}
              chosen={row.tensor.id === chosen}
              onChoose={onChoose}
            />
          ))}
        </tbody>
      </table>
      {rows.length > MOST_ROWS && (
        <p class="more faint">{rows.length - MOST_ROWS} more: narrow the filter</p>
      )}
    </section>
  );
}

interface Heat {
  records: NumericsRecord[];
  bins: number[][];
  low: number;
  high: number;
}

function heatOf(records: NumericsRecord[], dtype: string | null): Heat | null {
  const kept = records.filter((r) => r.histogram).sort((a, b) => a.step - b.step);
  if (kept.length === 0) return null;
  const bins = kept.map(histogramOf);
  let low = INFINITE_BIN;
  let high = -INFINITE_BIN;
  for (const one of bins)
    one.forEach((count, bin) => {
      if (count === 0 || bin === 0 || bin >= INFINITE_BIN) return;
      low = Math.min(low, exponentOf(bin));
      high = Math.max(high, exponentOf(bin));
    });
  const range = RANGES[dtype ?? ""];
  const near = (edge: number) => edge >= low - 30 && edge <= high + 30;
  for (const edge of range ? [range.tiny, range.normal, range.largest] : [])
    if (near(edge)) {
      low = Math.min(low, edge);
      high = Math.max(high, edge);
    }
  return low > high ? null : { records: kept, bins, low: low - 2, high: high + 2 };
}

const LEFT = 46;
const BELOW = 22;

function paintHeat(canvas: HTMLCanvasElement, heat: Heat, dtype: string | null): void {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  const c = canvas.getContext("2d") as CanvasRenderingContext2D;
  c.scale(devicePixelRatio, devicePixelRatio);
  c.font = "11px system-ui, sans-serif";
  const rows = heat.high - heat.low + 1;
  const cell = { w: (width - LEFT - 130) / heat.bins.length, h: (height - BELOW) / rows };
  const yOf = (exponent: number) => (heat.high - exponent) * cell.h;
  c.fillStyle = colour("--sunken");
  c.fillRect(LEFT, 0, cell.w * heat.bins.length, height - BELOW);
  c.fillStyle = colour("--series-0");
  heat.bins.forEach((bins, i) => {
    const most = Math.log1p(heat.records[i]?.count ?? 1);
    bins.forEach((count, bin) => {
      const exponent = exponentOf(bin);
      if (count === 0 || bin === 0 || bin >= INFINITE_BIN || exponent < heat.low) return;
      c.globalAlpha = 0.12 + 0.88 * (Math.log1p(count) / most);
      c.fillRect(LEFT + i * cell.w, yOf(exponent), Math.max(1, cell.w - 0.5), Math.max(1, cell.h));
    });
  });
  c.globalAlpha = 1;
  const range = RANGES[dtype ?? ""];
  const right = LEFT + cell.w * heat.bins.length;
  const edges: [number, string][] = range
    ? [
        [range.largest + 1, `largest of ${dtype}`],
        [range.normal, "subnormal below"],
        [range.tiny, "zero below"],
      ]
    : [];
  for (const [exponent, text] of edges) {
    if (exponent < heat.low || exponent > heat.high + 1) continue;
    const y = yOf(exponent) + (exponent === range?.largest ? 0 : cell.h);
    c.strokeStyle = c.fillStyle = colour("--bad");
    c.setLineDash([5, 3]);
    c.beginPath();
    c.moveTo(LEFT, y);
    c.lineTo(right, y);
    c.stroke();
    c.fillText(text, right + 6, Math.min(height - BELOW, Math.max(10, y + 4)));
  }
  c.setLineDash([]);
  c.fillStyle = colour("--text-faint");
  const every = Math.max(1, Math.ceil(rows / Math.max(1, (height - BELOW) / 26)));
  for (let e = Math.ceil(heat.low / every) * every; e <= heat.high; e += every)
    c.fillText(`2^${e}`, 4, yOf(e) + cell.h / 2 + 4);
  const first = heat.records[0]?.step ?? 0;
  const last = heat.records[heat.records.length - 1]?.step ?? 0;
  c.fillText(`step ${integer(first)}`, LEFT, height - 6);
  c.textAlign = "right";
  c.fillText(integer(last), right, height - 6);
  c.textAlign = "left";
}

function HeatMap({ heat, tensor }: { heat: Heat; tensor: Tensor }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const draw = () => canvas.current && paintHeat(canvas.current, heat, tensor.dtype);
  useEffect(() => {
    draw();
    const observer = new ResizeObserver(() => draw());
    if (canvas.current) observer.observe(canvas.current);
    return () => observer.disconnect();
  }, [heat]);
  useSignalEffect(() => {
    if (themeVersion.value > 0) draw();
  });
  return (
    <canvas
      class="heat"
      ref={canvas}
      role="img"
      tabIndex={0}
      aria-label={
        `Exponents of ${tensor.name} over ${heat.records.length} steps, from 2^${heat.low} ` +
        `to 2^${heat.high}`
      }
    />
  );
}

function shareCurves(records: NumericsRecord[]): Curve[] {
  const sorted = [...records].sort((a, b) => a.step - b.step);
  const x = sorted.map((r) => r.step);
  const of = (label: string, token: string, pick: (r: NumericsRecord) => number): Curve => ({
    label,
    colour: token,
    x,
    y: sorted.map((r) => share(pick(r), r)),
  });
  return [
    of("flushed to zero", "--series-1", (r) => r.flushed),
    of("saturated", "--series-6", (r) => r.saturated),
    of("update rounded away", "--series-0", (r) => r.absorbed),
  ];
}

/** A tensor's exponents over the steps, against what its format holds, and the shares of lost values. */
export function TensorView({ model, tensor }: { model: JobModel; tensor: Tensor }) {
  const { data } = useRecorded(model, () => readTensor(model.id, tensor), [
    tensor.id,
    model.numericsVersion.value,
  ]);
  const records = data ?? [];
  const heat = useMemo(() => heatOf(records, tensor.dtype), [data, tensor.dtype]);
  const curves = useMemo(() => shareCurves(records), [data]);
  const last = records[records.length - 1];
  return (
    <div class="stack">
      <section class="panel">
        <div class="head">
          <h2 class="ellipsis" title={tensor.name}>
            {tailOf(tensor.name)}
          </h2>
          <span class="spacer" />
          {last && canReplay() && (
            <a
              class="small nowrap"
              href={stepLink(model.id, { step: last.step, tensor: tensor.name, begin: true })}
            >
              values at step {integer(last.step)}
            </a>
          )}
          <span class="faint small nowrap">
            {last && `${integer(last.count)} values · digest ${last.digest?.slice(0, 8) ?? "–"}`}
          </span>
        </div>
        <div class="body">
          {heat ? (
            <HeatMap heat={heat} tensor={tensor} />
          ) : !data ? (
            <Loading />
          ) : (
            <Empty title="No histogram was kept">Exponents are kept of casts and gradients.</Empty>
          )}
        </div>
      </section>
      <Chart title="Shares of the values" curves={curves} axis="step" height={140} />
    </div>
  );
}

const CURVES = ["loss_scale", "gradient_norm", "grad_norm"];

function Curves({ model }: { model: JobModel }) {
  const { run } = useRun(model, CURVES);
  const names = CURVES.filter((name) => model.names.value.includes(name));
  if (names.length === 0) return null;
  return (
    <div class="columns halves">
      {names.map((name) => (
        <MetricChart
          key={name}
          title={name}
          names={[name]}
          runs={[run]}
          axis="step"
          smoothing={0}
          height={130}
        />
      ))}
    </div>
  );
}

/* Each step with statistics sends an event; the table reloads after several. */
const STEPS_A_READ = 3;

export function Numerics() {
  const model = current.value as JobModel;
  const job = model.job.value;
  const { data, error, loading } = useRecorded(
    model,
    () => readObserved(model.id, job?.attempt ?? 1, job?.progress.step ?? 0),
    [job?.attempt, job?.state, Math.floor(model.numericsVersion.value / STEPS_A_READ)],
  );
  const filter = query.value.get("filter") ?? "";
  const rows = data?.rows ?? [];
  const shown = rows.filter(({ tensor }) =>
    `${tensor.name} ${tensor.kind} ${tensor.op} ${tensor.dtype}`.includes(filter),
  );
  const wanted = Number(query.value.get("tensor") ?? NaN);
  const chosen = rows.find((row) => row.tensor.id === wanted) ?? shown[0];
  const note = rows.length > 0 && `${rows.length} tensors, as of step ${integer(data?.step)}`;
  return (
    <>
      <PageHeader title="Numerics" note={note}>
        <Filter label="Filter tensors" placeholder="Filter: name, cast, gradient, bfloat16" />
      </PageHeader>
      {error && !data && <Failure error={error} />}
      {loading && !data && <Loading />}
      <div class="stack">
        {data && rows.length === 0 && (
          <section class="panel">
            <Empty title="No tensor statistics" icon="numerics">
              {data.missing ?? `${notYet("No step with tensor statistics has been committed")}.`}
            </Empty>
          </section>
        )}
        {data && rows.length > 0 && <FirstBad job={model.id} found={data.firstBad} />}
        {chosen && (
          <div class="columns main-side even">
            <TensorTable
              rows={shown}
              chosen={chosen.tensor.id}
              onChoose={(id) => setQuery({ tensor: String(id) })}
            />
            <TensorView key={chosen.tensor.id} model={model} tensor={chosen.tensor} />
          </div>
        )}
        <Curves model={model} />
      </div>
    </>
  );
}

export const page: PageEntry = {
  name: "numerics",
  order: 110,
  title: "Numerics",
  icon: "numerics",
  key: "n",
  view: Numerics,
  ofJob: true,
};
