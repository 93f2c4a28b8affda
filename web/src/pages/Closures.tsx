/* Step closures as they are delivered: step, delay and values. */
import { useMemo, useState } from "preact/hooks";
import { api, type Closure } from "@generated/client";
import { integer, timeWithMilliseconds } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { Chart, type Curve } from "@/components/Chart";
import { Empty, PageHeader, Pick, Tile, Waiting } from "@/components/parts";
import { VirtualList } from "@/components/VirtualList";
import { current, notYet, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import { factsOf, payloadText, placeText } from "@/job/payload";
import type { PageEntry } from "@/frame/page";

const ROW = 30;
/* On a narrow page the values stand below the rest. */
const NARROW = 640;
const linesOf = (_: Closure, width: number): number => (width < NARROW ? 1.8 : 1);
const TAIL = 1000;

const lag = (one: Closure): number => one.delivered_ms - one.issued_ms;

function quantile(sorted: number[], share: number): number | null {
  return sorted.length === 0
    ? null
    : (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number);
}

const callText = (us: number | null): string =>
  us === null ? "–" : us < 1000 ? `${us} µs` : `${(us / 1000).toFixed(us < 1e4 ? 1 : 0)} ms`;

function Row({ one }: { one: Closure }) {
  const facts = factsOf(one);
  return (
    <>
      <span class="number soft c-time">{timeWithMilliseconds(one.delivered_ms)}</span>
      <span class="c-loop soft">{facts.loop}</span>
      <span class="number c-step">{placeText(one)}</span>
      <span class="c-name" title={one.name}>
        {one.name}
      </span>
      <code class="ellipsis grow c-values" title={payloadText(one)}>
        {facts.values.length > 0 ? (
          facts.values.map(([name, value]) => (
            <span key={name}>
              <span class="soft">{name}</span> {value}
            </span>
          ))
        ) : (
          <span class="faint">no values</span>
        )}
      </code>
      {facts.unlisted > 0 && (
        <span class="faint small c-more">{integer(facts.unlisted)} calls before not listed</span>
      )}
      <span class="number c-lag soft" title="time that the closure took">
        {callText(facts.call_us)}
      </span>
      <span class={`number c-lag${lag(one) > 100 ? " late" : ""}`} title="after the commit">
        {lag(one)} ms
      </span>
    </>
  );
}

const HEADS: readonly (readonly [string, string])[] = [
  ["Delivered", "c-time"],
  ["Loop", "c-loop"],
  ["At", "c-step"],
  ["Closure", "c-name"],
  ["Values", "grow"],
  ["Took", "c-lag"],
  ["Lag", "c-lag"],
];

function Heads() {
  return (
    <div class="line heads" aria-hidden="true">
      {HEADS.map(([text, kind]) => (
        <span key={text} class={kind}>
          {text}
        </span>
      ))}
    </div>
  );
}

function lagCurves(rows: Closure[]): Curve[] {
  const training = rows.filter((one) => factsOf(one).isTraining);
  return [
    { label: "lag", colour: "--series-0", x: training.map((r) => r.step), y: training.map(lag) },
  ];
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
  const last = rows.filter((one) => factsOf(one).isTraining).pop();
  return (
    <dl class="tiles">
      <Tile
        label="Recorded"
        value={integer(rows.length)}
        note={rows.length >= TAIL ? "the newest" : "of each at most 20 a second"}
      />
      <Tile label="Rate" value={ratePerSecond(rows.slice(-200)).toFixed(1)} unit="/s" />
      <Tile label="Median lag" value={integer(quantile(sorted, 0.5))} unit="ms" />
      <Tile label="99 % within" value={integer(quantile(sorted, 0.99))} unit="ms" />
      <Tile
        label="Newest training step"
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
      <section class="panel grow list-panel closures">
        <Heads />
        <VirtualList
          rows={rows}
          rowHeight={ROW}
          linesOf={linesOf}
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

const LOOPS = [
  ["", "both"],
  ["training", "training"],
  ["validation", "validation"],
] as const;

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
  const loop = query.value.get("loop") ?? "";
  const rows = useMemo(
    () =>
      all.filter((one) => (!name || one.name === name) && (!loop || factsOf(one).loop === loop)),
    [all, name, loop],
  );
  return (
    <>
      <PageHeader title="Closures">
        <Pick
          label="loop"
          value={loop}
          onChange={(value) => setQuery({ loop: value })}
          options={LOOPS}
        />
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
          <Empty title={notYet("No closure was delivered")} icon="closures">
            A step closure runs after its step was committed, with the values that it asked for.
          </Empty>
        </section>
      )}
      {rows.length > 0 && <Delivered rows={rows} newest={model.job.value?.progress.step ?? null} />}
    </>
  );
}

export const page: PageEntry = {
  name: "closures",
  order: 130,
  title: "Closures",
  icon: "closures",
  key: "l",
  view: Closures,
  ofJob: true,
  fill: true,
};
