/* What was saved: sizes, digests, downloads; a new start from any of them; two side by side. */
import { useState } from "preact/hooks";
import { api, type Checkpoint, type Metrics } from "@generated/client";
import { bytes, date, integer, number } from "@/base/format";
import { useResource } from "@/base/resource";
import { href, query, setQuery } from "@/base/route";
import { Icon } from "@/components/Icon";
import { Badge, Empty, Failure, Loading, PageHeader } from "@/components/parts";
import { act } from "@/job/actions";
import { current, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";

declare const IS_REPORT: boolean;

function FileLink({ job, step, format }: { job: string; step: number; format: string }) {
  const path = `/api/v1/jobs/${encodeURIComponent(job)}/checkpoints/${step}/file?format=${format}`;
  return (
    <a class="button" href={path} download>
      <Icon name="download" />
      {format}
    </a>
  );
}

function startFrom(job: string, step: number): string {
  return href(`/submit?from=${encodeURIComponent(job)}&step=${step}`);
}

function Row({
  one,
  job,
  chosen,
  onChoose,
}: {
  one: Checkpoint;
  job: string;
  chosen: boolean;
  onChoose: (on: boolean) => void;
}) {
  return (
    <tr class={chosen ? "selected" : ""}>
      <td class="tick">
        <input
          type="checkbox"
          checked={chosen}
          disabled={one.deleted}
          aria-label={`Choose step ${one.step}`}
          onChange={(e) => onChoose(e.currentTarget.checked)}
        />
      </td>
      <td class="number strong">{integer(one.step)}</td>
      <td class="number">{one.attempt}</td>
      <td class="nowrap">{date(one.time_ms)}</td>
      <td class="number">{bytes(one.bytes)}</td>
      <td class="number">{one.write_ms === null ? "–" : `${integer(one.write_ms)} ms`}</td>
      <td>
        <code title={one.digest ?? ""}>{one.digest ? one.digest.slice(0, 12) : "–"}</code>
      </td>
      <td>
        {one.deleted ? (
          <Badge tone="calm" icon="close">
            deleted
          </Badge>
        ) : one.verified ? (
          <Badge tone="good" icon="check">
            verified
          </Badge>
        ) : (
          <Badge tone="warn" icon="warn">
            not verified
          </Badge>
        )}
      </td>
      <td class="actions">
        {!one.deleted && !IS_REPORT && (
          <>
            <FileLink job={job} step={one.step} format="h5" />
            <a class="button" href={startFrom(job, one.step)}>
              <Icon name="fork" />
              start from here
            </a>
          </>
        )}
      </td>
    </tr>
  );
}

function valueAt(metrics: Metrics | undefined, name: string): number | null {
  const found = metrics?.series.filter((one) => one.name === name) ?? [];
  const last = found[found.length - 1];
  return last?.value[last.value.length - 1] ?? null;
}

/* The metrics of a step: the last values at it, or shortly before. */
function useStepMetrics(job: string, step: number) {
  return useResource(
    () => api.getMetrics({ id: job, from: Math.max(0, step - 100), to: step, max_points: 200 }),
    [job, step],
  );
}

function Diff({ job, a, b }: { job: string; a: Checkpoint; b: Checkpoint }) {
  const left = useStepMetrics(job, a.step);
  const right = useStepMetrics(job, b.step);
  const numericsA = useResource(
    () => api.getNumerics({ id: job, step: a.step, limit: 1000 }),
    [a.step],
  );
  const numericsB = useResource(
    () => api.getNumerics({ id: job, step: b.step, limit: 1000 }),
    [b.step],
  );
  const names = [...new Set([...(left.data?.names ?? []), ...(right.data?.names ?? [])])].sort();
  const digests = new Map(numericsA.data?.records.map((r) => [r.tensor, r.digest]) ?? []);
  const both = numericsB.data?.records.filter((r) => digests.has(r.tensor)) ?? [];
  const differing = both.filter((r) => digests.get(r.tensor) !== r.digest);
  const rows: [string, string, string, string][] = [
    ["step", integer(a.step), integer(b.step), integer(b.step - a.step)],
    ["attempt", String(a.attempt), String(b.attempt), a.attempt === b.attempt ? "same" : "differs"],
    ["bytes", bytes(a.bytes), bytes(b.bytes), a.bytes === b.bytes ? "same" : "differs"],
    [
      "digest",
      a.digest?.slice(0, 16) ?? "–",
      b.digest?.slice(0, 16) ?? "–",
      a.digest === b.digest ? "same bits" : "differs",
    ],
    ...names.map((name): [string, string, string, string] => {
      const x = valueAt(left.data, name);
      const y = valueAt(right.data, name);
      return [name, number(x), number(y), x !== null && y !== null ? number(y - x) : "–"];
    }),
  ];
  return (
    <section class="panel scroll">
      <div class="head">
        <h2>
          Step {integer(a.step)} and step {integer(b.step)}
        </h2>
        <span class="spacer" />
        <span class="soft small">
          {both.length > 0
            ? `${differing.length} of ${both.length} observed tensors differ in their bits`
            : "no tensor digests were recorded at both steps (numerics)"}
        </span>
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col" />
            <th scope="col" class="number">
              first
            </th>
            <th scope="col" class="number">
              second
            </th>
            <th scope="col" class="number">
              change
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, x, y, d]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{x}</td>
              <td class="number">{y}</td>
              <td class="number">{d}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Checkpoints() {
  const model = current.value as JobModel;
  const job = model.job.value;
  const { data, error, loading } = useRecorded(model, () => api.listCheckpoints({ id: model.id }), [
    model.checkpointsVersion.value,
    job?.state,
  ]);
  const [busy, setBusy] = useState(false);
  const rows = [...(data?.checkpoints ?? [])].sort(
    (a, b) => b.step - a.step || b.attempt - a.attempt,
  );
  const chosen = (query.value.get("diff") ?? "").split(",").filter(Boolean);
  const keyOf = (one: Checkpoint) => `${one.attempt}.${one.step}`;
  const choose = (one: Checkpoint, on: boolean) => {
    const next = on
      ? [...chosen, keyOf(one)].slice(-2)
      : chosen.filter((key) => key !== keyOf(one));
    setQuery({ diff: next.join(",") });
  };
  const pair = rows.filter((one) => chosen.includes(keyOf(one))).reverse();
  const save = async () => {
    if (!job) return;
    setBusy(true);
    await act(job, "checkpoint");
    setBusy(false);
  };
  return (
    <>
      <PageHeader
        title="Checkpoints"
        note={rows.length > 0 && `${rows.length}, ${bytes(rows.reduce((s, c) => s + c.bytes, 0))}`}
      >
        {rows.length > 1 && <span class="faint small">tick two to compare them</span>}
        {job?.capabilities.includes("checkpoint") && !IS_REPORT && (
          <button disabled={busy} onClick={() => void save()}>
            <Icon name="save" />
            Save one now
          </button>
        )}
      </PageHeader>
      {error && !data && <Failure error={error} />}
      {loading && !data && <Loading />}
      {data && rows.length === 0 && (
        <section class="panel">
          <Empty title="Nothing was saved yet" icon="checkpoints">
            Checkpoints are written as the configuration says, and whenever one is asked for.
          </Empty>
        </section>
      )}
      {rows.length > 0 && (
        <div class="stack">
          {pair.length === 2 && pair[0] && pair[1] && (
            <Diff job={model.id} a={pair[0]} b={pair[1]} />
          )}
          <section
            class="panel scroll"
            tabIndex={0}
            role="region"
            aria-label="Table of checkpoints"
          >
            <table>
              <thead>
                <tr>
                  <th class="tick">
                    <span class="hidden-text">Compare</span>
                  </th>
                  <th scope="col" class="number">
                    Step
                  </th>
                  <th scope="col" class="number">
                    Attempt
                  </th>
                  <th scope="col">Written</th>
                  <th scope="col" class="number">
                    Size
                  </th>
                  <th scope="col" class="number">
                    Took
                  </th>
                  <th scope="col">Digest</th>
                  <th scope="col">State</th>
                  <th scope="col">
                    <span class="hidden-text">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {rows.map((one) => (
                  <Row
                    key={keyOf(one)}
                    one={one}
                    job={model.id}
                    chosen={chosen.includes(keyOf(one))}
                    onChoose={(on) => choose(one, on)}
                  />
                ))}
              </tbody>
            </table>
          </section>
        </div>
      )}
    </>
  );
}
