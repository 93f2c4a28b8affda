/* Step closures as they are delivered: step, delay and values. */
import { useMemo, useState } from "preact/hooks";
import { api, type Closure } from "@generated/client";
import { integer, timeWithMilliseconds } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { Chart, type Curve } from "@/components/Chart";
import { Empty, PageHeader, Pick, Tile, Waiting } from "@/components/parts";
import { VirtualList } from "@/components/VirtualList";
import { current, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import { payloadText } from "@/job/payload";

const ROW = 30;
const TAIL = 1000;

const lag = (one: Closure): number => one.delivered_ms - one.issued_ms;

function quantile(sorted: number[], share: number): number | null {
  return sorted.length === 0
    ? null
    : (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number);
}

function Row({ one }: { one: Closure }) {
  return (
    <>
      <span class="number soft c-time">{timeWithMilliseconds(one.delivered_ms)}</span>
      <span class="number c-step">{integer(one.step)}</span>
      <span class="c-name">{one.name}</span>
      <span class={`number c-lag${lag(one) > 100 ? " late" : ""}`}>{lag(one)} ms</span>
      <code class="ellipsis grow">{payloadText(one.payload)}</code>
    </>
  );
}

function lagCurves(rows: Closure[]): Curve[] {
  return [{ label: "lag", colour: "--series-0", x: rows.map((r) => r.step), y: rows.map(lag) }];
}

function ratePerSecond(rows: Closure[]): number {
  const first = rows[0];
  const last = rows[rows.length - 1];
  if (!first || !last || last.delivered_ms <= first.delivered_ms) return 0;
  return ((rows.length - 1) * 1000) / (last.delivered_ms - first.delivered_ms);
}

/* Live rows follow the stored ones; rows that are in both are shown once. */
function merged(stored: Closure[], live: Closure[]): Closure[] {
  const last = stored[stored.length - 1]?.id ?? -1;
  return [...stored, ...live.filter((one) => one.id > last)];
}

function Figures({ rows, newest }: { rows: Closure[]; newest: number | null }) {
  const sorted = rows.map(lag).sort((a, b) => a - b);
  const last = rows[rows.length - 1];
  return (
    <dl class="tiles">
      <Tile
        label="Delivered"
        value={integer(rows.length)}
        note={rows.length >= TAIL ? "newest" : ""}
      />
      <Tile label="Rate" value={ratePerSecond(rows.slice(-200)).toFixed(1)} unit="/s" />
      <Tile label="Median lag" value={integer(quantile(sorted, 0.5))} unit="ms" />
      <Tile label="99 % within" value={integer(quantile(sorted, 0.99))} unit="ms" />
      <Tile
        label="Newest step delivered"
        value={integer(last?.step)}
        note={
          newest !== null && last ? `${integer(Math.max(0, newest - last.step))} steps behind` : ""
        }
      />
    </dl>
  );
}

function Delivered({ rows, newest }: { rows: Closure[]; newest: number | null }) {
  const [follow, setFollow] = useState(true);
  const curves = useMemo(() => lagCurves(rows), [rows]);
  return (
    <>
      <Figures rows={rows} newest={newest} />
      <div class="after-tiles">
        <Chart
          title="Lag from commit to delivery, ms"
          curves={curves}
          axis="step"
          height={110}
          actions={
            <button class="small" aria-pressed={follow} onClick={() => setFollow(!follow)}>
              follow
            </button>
          }
        />
      </div>
      <section class="panel grow list-panel">
        <VirtualList
          rows={rows}
          rowHeight={ROW}
          keyOf={(one) => one.id}
          label="Closures"
          follow={follow}
          onFollow={setFollow}
          render={(one) => <Row one={one} />}
        />
      </section>
    </>
  );
}

export function Closures() {
  const model = current.value as JobModel;
  const stored = useRecorded(
    model,
    () => api.listClosures({ id: model.id, tail: TAIL, limit: TAIL }),
    [],
  );
  const name = query.value.get("name") ?? "";
  const all = useMemo(
    () => merged(stored.data?.closures ?? [], model.closures.value),
    [stored.data, model.closures.value],
  );
  const names = [...new Set(all.map((one) => one.name))];
  const rows = useMemo(() => (name ? all.filter((one) => one.name === name) : all), [all, name]);
  return (
    <>
      <PageHeader title="Closures">
        {names.length > 1 && (
          <Pick
            label="name"
            value={name}
            onChange={(value) => setQuery({ name: value })}
            options={[["", "all"], ...names.map((one) => [one, one] as const)]}
          />
        )}
      </PageHeader>
      <Waiting for={stored} />
      {stored.data && rows.length === 0 && (
        <section class="panel">
          <Empty title="No closure was delivered yet" icon="closures">
            A step closure runs after its step was committed, with the values that it asked for.
          </Empty>
        </section>
      )}
      {rows.length > 0 && <Delivered rows={rows} newest={model.job.value?.progress.step ?? null} />}
    </>
  );
}
