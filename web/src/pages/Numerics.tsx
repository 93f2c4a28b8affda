/* The numbers themselves: what overflowed, what was flushed to zero, which updates rounded away,
 * and how the exponents of a tensor move against what its format can hold. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import { api, type Numerics as Answer, type NumericsRecord, type Tensor } from "@generated/client";
import { integer, number, percent } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { colour, themeVersion } from "@/base/theme";
import { Icon } from "@/components/Icon";
import { Chart, type Curve } from "@/components/Chart";
import { MetricChart } from "@/components/MetricChart";
import { Empty, Failure, Loading, PageHeader } from "@/components/parts";
import { styleOf } from "@/graph/Drawing";
import { current, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import { useRun } from "@/pages/Pulse";

/* Exponents that a format can hold: normal from, largest; below `normal` down to `tiny`:
 * subnormal. */
const RANGES: Record<string, { tiny: number; normal: number; largest: number }> = {
  float32: { tiny: -149, normal: -126, largest: 127 },
  bfloat16: { tiny: -133, normal: -126, largest: 127 },
  float16: { tiny: -24, normal: -14, largest: 15 },
  cbfloat16: { tiny: -39, normal: -30, largest: 31 },
};
const BIAS = 127;
const INFINITE_BIN = 255;
const MOST_RECORDS = 20_000;

/** Counts by biased exponent, as stored: unsigned 64-bit, the least byte first, base64. */
export function histogramOf(record: NumericsRecord): number[] {
  if (!record.histogram) return [];
  const text = atob(record.histogram);
  const bins: number[] = [];
  for (let at = 0; at + 8 <= text.length; at += 8) {
    let count = 0;
    for (let i = 7; i >= 0; i--) count = count * 256 + text.charCodeAt(at + i);
    bins.push(count);
  }
  return bins;
}

async function readAll(id: string, tensor?: string): Promise<Answer> {
  let answer: Answer | undefined;
  let token: string | null = null;
  do {
    const next: Answer = await api.getNumerics({
      id,
      limit: 1000,
      ...(tensor ? { tensor } : {}),
      ...(token ? { page_token: token } : {}),
    });
    token = next.next_page_token;
    answer = answer
      ? {
          ...next,
          tensors: [...answer.tensors, ...next.tensors],
          records: [...answer.records, ...next.records],
        }
      : next;
  } while (token && answer.records.length < MOST_RECORDS);
  const seen = new Set<number>();
  return { ...answer, tensors: answer.tensors.filter((t) => !seen.has(t.id) && seen.add(t.id)) };
}

interface Row {
  tensor: Tensor;
  last: NumericsRecord;
  firstBad: NumericsRecord | null;
  trouble: number;
}

const badOf = (r: NumericsRecord): number => r.nan + r.inf + r.saturated;
const share = (part: number, record: NumericsRecord): number => part / Math.max(1, record.count);

function rowsOf(data: Answer): Row[] {
  const byTensor = new Map<number, NumericsRecord[]>();
  for (const record of data.records) {
    const own = byTensor.get(record.tensor) ?? [];
    own.push(record);
    byTensor.set(record.tensor, own);
  }
  return data.tensors
    .flatMap((tensor): Row[] => {
      const records = (byTensor.get(tensor.id) ?? []).sort((a, b) => a.step - b.step);
      const last = records[records.length - 1];
      if (!last) return [];
      const firstBad = records.find((r) => badOf(r) > 0) ?? null;
      const trouble =
        (firstBad ? 10 : 0) +
        share(badOf(last), last) * 100 +
        share(last.flushed, last) * 3 +
        share(last.absorbed, last);
      return [{ tensor, last, firstBad, trouble }];
    })
    .sort((a, b) => b.trouble - a.trouble || a.tensor.name.localeCompare(b.tensor.name));
}

/* What all names begin with says nothing: it is left out of the table. */
function commonScope(rows: Row[]): number {
  const names = rows.map((row) => row.tensor.name);
  const first = names[0] ?? "";
  for (let end = first.lastIndexOf("."); end > 0; end = first.lastIndexOf(".", end - 1))
    if (names.every((name) => name.startsWith(first.slice(0, end + 1)))) return end + 1;
  return 0;
}

function FirstBad({ rows }: { rows: Row[] }) {
  const bad = rows
    .filter((row) => row.firstBad !== null)
    .sort(
      (a, b) =>
        (a.firstBad?.step ?? 0) - (b.firstBad?.step ?? 0) ||
        Number(a.tensor.backward) - Number(b.tensor.backward) ||
        a.tensor.id - b.tensor.id,
    )[0];
  if (!bad?.firstBad)
    return (
      <div class="banner good">
        <Icon name="check" />
        <span>No observed tensor held a NaN or an infinity.</span>
      </div>
    );
  const { tensor, firstBad } = bad;
  const where = tensor.file ? ` (${tensor.file}:${tensor.line})` : "";
  return (
    <div class="banner bad" role="status">
      <Icon name="warn" />
      <span>
        The first to overflow: <strong>{tensor.name}</strong> at step {integer(firstBad.step)}
        {firstBad.first_microbatch !== null &&
          firstBad.first_microbatch >= 0 &&
          `, microbatch ${firstBad.first_microbatch}`}
        : {integer(firstBad.nan)} NaN, {integer(firstBad.inf)} infinite,{" "}
        {integer(firstBad.saturated)} saturated; {tensor.op} in {tensor.scope}
        {where}
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

function TensorTable({
  rows,
  chosen,
  onChoose,
}: {
  rows: Row[];
  chosen: number | null;
  onChoose: (id: number) => void;
}) {
  const common = commonScope(rows);
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
            <th scope="col" class="number">
              NaN, inf
            </th>
            <th scope="col" class="number">
              Saturated
            </th>
            <th scope="col" class="number">
              Flushed
            </th>
            <th scope="col" class="number">
              Absorbed
            </th>
            <th scope="col" class="number">
              Zeros
            </th>
            <th scope="col" class="number">
              Max
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ tensor, last, firstBad }) => (
            <tr key={tensor.id} class={tensor.id === chosen ? "selected" : ""}>
              <td>
                <button
                  class="link"
                  aria-pressed={tensor.id === chosen}
                  title={tensor.name}
                  onClick={() => onChoose(tensor.id)}
                >
                  {tensor.name.slice(common)}
                </button>
                <span class="sub faint">
                  {tensor.kind} · {tensor.op}
                  {tensor.backward ? " · backward" : ""}
                  {firstBad && <span class="bad-text"> · bad at step {firstBad.step}</span>}
                </span>
              </td>
              <td class="small nowrap">
                {tensor.source_dtype && tensor.source_dtype !== tensor.dtype
                  ? `${styleOf(tensor.source_dtype).short} → `
                  : ""}
                {styleOf(tensor.dtype ?? "").short}
              </td>
              <td class={`number${last.nan + last.inf > 0 ? " bad-text" : ""}`}>
                {integer(last.nan + last.inf)}
              </td>
              <ShareCell part={last.saturated} record={last} tone="bad" />
              <ShareCell part={last.flushed} record={last} tone="warn" />
              <ShareCell part={last.absorbed} record={last} tone="info" />
              <ShareCell part={last.zeros} record={last} tone="calm" />
              <td class="number nowrap">
                {last.max_exponent === null || last.max_exponent <= -BIAS
                  ? "–"
                  : `2^${last.max_exponent}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
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
  let high = 0;
  for (const one of bins)
    one.forEach((count, bin) => {
      if (count === 0 || bin === 0 || bin >= INFINITE_BIN) return;
      low = Math.min(low, bin - BIAS);
      high = Math.max(high, bin - BIAS);
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
      const exponent = bin - BIAS;
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

function TensorView({ model, tensor }: { model: JobModel; tensor: Tensor }) {
  const { data } = useRecorded(model, () => readAll(model.id, String(tensor.id)), [
    tensor.id,
    model.numericsVersion.value,
  ]);
  const records = useMemo(
    () => (data?.records ?? []).filter((r) => r.tensor === tensor.id),
    [data, tensor.id],
  );
  const heat = useMemo(() => heatOf(records, tensor.dtype), [records, tensor.dtype]);
  const curves = useMemo(() => shareCurves(records), [records]);
  const last = records[records.length - 1];
  return (
    <div class="stack">
      <section class="panel">
        <div class="head">
          <h2 class="ellipsis" title={tensor.name}>
            {tensor.name}
          </h2>
          <span class="spacer" />
          <span class="faint small nowrap">
            {last && `${integer(last.count)} values · digest ${last.digest?.slice(0, 8) ?? "–"}`}
          </span>
        </div>
        <div class="body">
          {heat ? (
            <HeatMap heat={heat} tensor={tensor} />
          ) : (
            <Empty title="No histogram was kept">Exponents are kept of casts and gradients.</Empty>
          )}
        </div>
      </section>
      <Chart title="Shares of the values" curves={curves} axis="step" height={140} />
    </div>
  );
}

export function Numerics() {
  const model = current.value as JobModel;
  const { data, error, loading } = useRecorded(model, () => readAll(model.id), [
    Math.floor(model.numericsVersion.value / 5),
  ]);
  const { run } = useRun(model, ["loss_scale", "gradient_norm", "grad_norm"]);
  const filter = query.value.get("filter") ?? "";
  const rows = useMemo(() => (data ? rowsOf(data) : []), [data]);
  const shown = rows.filter(({ tensor }) =>
    `${tensor.name} ${tensor.kind} ${tensor.op} ${tensor.dtype}`.includes(filter),
  );
  const wanted = Number(query.value.get("tensor") ?? NaN);
  const chosen = rows.find((row) => row.tensor.id === wanted) ?? shown[0];
  const names = ["loss_scale", "gradient_norm", "grad_norm"].filter((n) =>
    model.names.value.includes(n),
  );
  return (
    <>
      <PageHeader title="Numerics" note={rows.length > 0 && `${rows.length} observed tensors`}>
        <input
          type="search"
          class="filter"
          placeholder="Filter: name, cast, gradient, bfloat16"
          value={filter}
          aria-label="Filter tensors"
          onInput={(e) => setQuery({ filter: e.currentTarget.value })}
        />
      </PageHeader>
      {error && !data && <Failure error={error} />}
      {loading && !data && <Loading />}
      {data && rows.length === 0 && (
        <section class="panel">
          <Empty title="Nothing was observed" icon="numerics">
            {data.missing ?? "Ask for it in the configuration: numerics: {every: 100}."}
          </Empty>
        </section>
      )}
      <div class="stack">
        {rows.length > 0 && <FirstBad rows={rows} />}
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
        {names.length > 0 && (
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
        )}
        {data?.next_page_token && (
          <p class="faint small">
            Only the first {number(data.records.length)} records are counted here.
          </p>
        )}
      </div>
    </>
  );
}
