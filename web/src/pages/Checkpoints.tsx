/* What was saved: sizes, digests, downloads; a new start from any of them; two side by side. */
import { useState } from "preact/hooks";
import { api, type Checkpoint, type Job, type Metrics } from "@generated/client";
import { bytes, date, integer, number } from "@/base/format";
import { useResource } from "@/base/resource";
import { href, query, setQuery } from "@/base/route";
import { Icon } from "@/components/Icon";
import { Badge, Empty, PageHeader, Waiting } from "@/components/parts";
import { Confirm } from "@/components/JobDialogs";
import { act } from "@/job/actions";
import { removeCheckpoints } from "@/job/manage";
import { current, notYet, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import { TensorDiff } from "@/pages/TensorDiff";
import type { PageEntry } from "@/frame/page";

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
      <td class="number strong s-step">{integer(one.step)}</td>
      <td class="number s-more">{one.attempt}</td>
      <td class="nowrap s-time">{date(one.time_ms)}</td>
      <td class="number s-size">{bytes(one.bytes)}</td>
      <td class="number s-more">{one.write_ms === null ? "–" : `${integer(one.write_ms)} ms`}</td>
      <td class="s-more">
        <code title={one.digest ?? ""}>{one.digest ? one.digest.slice(0, 12) : "–"}</code>
      </td>
      <td class="s-state">
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

type Compared = [name: string, first: string, second: string, change: string];

function comparedFacts(a: Checkpoint, b: Checkpoint): Compared[] {
  const same = (equal: boolean, text = "same") => (equal ? text : "differs");
  const digest = (one: Checkpoint) => one.digest?.slice(0, 16) ?? "–";
  return [
    ["step", integer(a.step), integer(b.step), integer(b.step - a.step)],
    ["attempt", String(a.attempt), String(b.attempt), same(a.attempt === b.attempt)],
    ["bytes", bytes(a.bytes), bytes(b.bytes), same(a.bytes === b.bytes)],
    ["digest", digest(a), digest(b), same(a.digest === b.digest, "same bits")],
  ];
}

function comparedMetrics(a: Metrics | undefined, b: Metrics | undefined): Compared[] {
  const names = [...new Set([...(a?.names ?? []), ...(b?.names ?? [])])].sort();
  return names.map((name) => {
    const x = valueAt(a, name);
    const y = valueAt(b, name);
    return [name, number(x), number(y), x !== null && y !== null ? number(y - x) : "–"];
  });
}

/* How many of the tensors with statistics at both steps have different bits. */
function useDigests(job: string, a: number, b: number): string {
  const read = (step: number) => api.getNumerics({ id: job, step, limit: 1000, histograms: false });
  const first = useResource(() => read(a), [job, a]);
  const second = useResource(() => read(b), [job, b]);
  const digests = new Map(first.data?.records.map((r) => [r.tensor, r.digest]) ?? []);
  const both = second.data?.records.filter((r) => digests.has(r.tensor)) ?? [];
  const differing = both.filter((r) => digests.get(r.tensor) !== r.digest);
  return both.length > 0
    ? `${differing.length} of ${both.length} tensors with statistics differ in their bits`
    : "no tensor digests were recorded at both steps (numerics)";
}

function Diff({ job, a, b }: { job: string; a: Checkpoint; b: Checkpoint }) {
  const left = useStepMetrics(job, a.step);
  const right = useStepMetrics(job, b.step);
  const digests = useDigests(job, a.step, b.step);
  const rows = [...comparedFacts(a, b), ...comparedMetrics(left.data, right.data)];
  return (
    <section
      class="panel scroll"
      tabIndex={0}
      role="region"
      aria-label="Comparison of two checkpoints"
    >
      <div class="head">
        <h2>
          Step {integer(a.step)} and step {integer(b.step)}
        </h2>
        <span class="spacer" />
        <span class="soft small">{digests}</span>
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden-text">What</span>
            </th>
            {["first", "second", "change"].map((text) => (
              <th key={text} scope="col" class="number">
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, ...values]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {values.map((value, i) => (
                <td key={i} class="number">
                  {value}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const keyOf = (one: Checkpoint): string => `${one.attempt}.${one.step}`;

function choose(one: Checkpoint, on: boolean): void {
  const chosen = (query.peek().get("diff") ?? "").split(",").filter(Boolean);
  const others = chosen.filter((key) => key !== keyOf(one));
  setQuery({ diff: (on ? [...others, keyOf(one)] : others).join(",") });
}

const COLUMNS: readonly [string, string][] = [
  ["Step", "number"],
  ["Attempt", "number s-more"],
  ["Written", ""],
  ["Size", "number"],
  ["Took", "number s-more"],
  ["Digest", "s-more"],
  ["State", ""],
];

function CheckpointTable({
  rows,
  job,
  chosen,
}: {
  rows: Checkpoint[];
  job: string;
  chosen: string[];
}) {
  return (
    <section class="panel scroll" tabIndex={0} role="region" aria-label="Table of checkpoints">
      <table class="saved">
        <thead>
          <tr>
            <th class="tick">
              <span class="hidden-text">Compare</span>
            </th>
            {COLUMNS.map(([text, kind]) => (
              <th key={text} scope="col" class={kind}>
                {text}
              </th>
            ))}
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
              job={job}
              chosen={chosen.includes(keyOf(one))}
              onChoose={(on) => choose(one, on)}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function SaveButton({ job }: { job: Job }) {
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    await act(job, "checkpoint");
    setBusy(false);
  };
  if (IS_REPORT || !job.capabilities.includes("checkpoint")) return null;
  return (
    <button disabled={busy} onClick={() => void save()}>
      <Icon name="save" />
      Save one now
    </button>
  );
}

function DeleteButton({
  job,
  chosen,
  onDone,
}: {
  job: Job;
  chosen: Checkpoint[];
  onDone: () => void;
}) {
  const [asking, setAsking] = useState(false);
  if (IS_REPORT || chosen.length === 0) return null;
  const what = chosen.length === 1 ? `step ${integer(chosen[0]?.step)}` : `${chosen.length}`;
  const size = bytes(chosen.reduce((sum, one) => sum + one.bytes, 0));
  const steps = chosen.map((one) => integer(one.step)).join("; ");
  const remove = async () => {
    await removeCheckpoints(job, chosen);
    setQuery({ diff: null });
    onDone();
  };
  return (
    <>
      <button class="danger" data-command="delete-checkpoints" onClick={() => setAsking(true)}>
        <Icon name="bin" />
        Delete {what}
      </button>
      {asking && (
        <Confirm
          title={`Delete ${chosen.length === 1 ? "the checkpoint" : `${what} checkpoints`}?`}
          jobs={[]}
          yes="Delete"
          no="Keep"
          danger
          onYes={() => void remove()}
          onClose={() => setAsking(false)}
        >
          <p>
            Of {job.name}: step {steps}; {size}. Nothing can be started from them any more. This
            cannot be undone.
          </p>
        </Confirm>
      )}
    </>
  );
}

export function Checkpoints() {
  const model = current.value as JobModel;
  const job = model.job.value;
  const stored = useRecorded(model, () => api.listCheckpoints({ id: model.id }), [
    model.checkpointsVersion.value,
    job?.state,
  ]);
  const rows = [...(stored.data?.checkpoints ?? [])].sort(
    (a, b) => b.step - a.step || b.attempt - a.attempt,
  );
  const chosen = (query.value.get("diff") ?? "").split(",").filter(Boolean);
  const ticked = rows.filter((one) => chosen.includes(keyOf(one)));
  const [b, a] = ticked.length === 2 ? ticked : [];
  const total = rows.reduce((sum, one) => sum + (one.deleted ? 0 : one.bytes), 0);
  return (
    <>
      <PageHeader title="Checkpoints" note={rows.length > 0 && `${rows.length}, ${bytes(total)}`}>
        {rows.length > 1 && <span class="faint small">tick two to compare them</span>}
        {job && (
          <DeleteButton
            job={job}
            chosen={ticked.filter((one) => !one.deleted)}
            onDone={stored.reload}
          />
        )}
        {job && <SaveButton job={job} />}
      </PageHeader>
      <Waiting for={stored} />
      {stored.data && rows.length === 0 && (
        <section class="panel">
          <Empty title={notYet("Nothing was saved")} icon="checkpoints">
            Checkpoints are written as the configuration says, and whenever one is asked for.
          </Empty>
        </section>
      )}
      <div class="stack">
        {a && b && <Diff job={model.id} a={a} b={b} />}
        {a && b && !IS_REPORT && !a.deleted && !b.deleted && a.step !== b.step && (
          <TensorDiff job={model.id} a={a.step} b={b.step} />
        )}
        {rows.length > 0 && <CheckpointTable rows={rows} job={model.id} chosen={chosen} />}
      </div>
    </>
  );
}

export const page: PageEntry = {
  name: "checkpoints",
  order: 140,
  title: "Checkpoints",
  icon: "checkpoints",
  key: "k",
  view: Checkpoints,
  ofJob: true,
};
