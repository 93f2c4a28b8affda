/* "Try another precision from here": a fork of this run with one setting changed, which shares its
 * steps up to any one; or the same job from the beginning. What will happen is said, and the configuration checked, before anything is started. */
import { useEffect, useState } from "preact/hooks";
import { api, type ValidateResult } from "@generated/client";
import type { ApiError } from "@/api/transport";
import { bytes, integer } from "@/base/format";
import { href } from "@/base/route";
import { Pick, Waiting } from "@/components/parts";
import {
  againFor,
  changesFor,
  commandFor,
  forkFor,
  specFor,
  startFor,
  type Change,
} from "@/graph/settings";
import type { JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";

function useCheck(config: string | null | undefined, overrides: Record<string, unknown>) {
  const [check, setCheck] = useState<ValidateResult | string>();
  const key = JSON.stringify(overrides);
  useEffect(() => {
    let dropped = false;
    setCheck(undefined);
    if (!config) return undefined;
    api
      .validateConfig({}, { config, overrides: overrides as Record<string, string>, depth: "step" })
      .then(
        (result) => !dropped && setCheck(result),
        (error: ApiError) => !dropped && setCheck(error.message),
      );
    return () => {
      dropped = true;
    };
  }, [config, key]);
  return check;
}

function CheckText({ check }: { check: ValidateResult | string | undefined }) {
  if (check === undefined) return <p class="soft">The configuration is being checked.</p>;
  if (typeof check === "string") return <p class="bad-text">It could not be checked: {check}</p>;
  if (!check.valid)
    return (
      <p class="bad-text" role="alert">
        {check.diagnostics[0]?.message ?? "The configuration would be refused."}
      </p>
    );
  const { takes } = check;
  return (
    <p>
      The configuration was checked: it is accepted
      {takes?.cores ? `, and takes ${integer(takes.cores)} cores` : ""}
      {takes?.memory_bytes ? ` and ${bytes(takes.memory_bytes)} of memory` : ""}.
    </p>
  );
}

function Started({ job, of }: { job: string; of: string }) {
  return (
    <p role="status">
      <a href={href(`/jobs/${encodeURIComponent(job)}/pulse`)}>{job}</a> was put into the queue.{" "}
      <a href={href(`/compare?runs=${encodeURIComponent(of)},${encodeURIComponent(job)}`)}>
        Compare both
      </a>
      {" or see "}
      <a href={href(`/jobs/${encodeURIComponent(job)}/curves`)}>its history</a>
    </p>
  );
}

export function TryPrecision({
  model,
  scope,
  before,
}: {
  model: JobModel;
  scope: string;
  /** The step of the first overflow, if there was one. */
  before: number | null;
}) {
  const changes = changesFor(scope);
  const [key, setKey] = useState(changes[0]?.key ?? "");
  const [from, setFrom] = useState<string>();
  const [started, setStarted] = useState<string>();
  const [fault, setFault] = useState("");
  const [sending, setSending] = useState(false);
  const stored = useRecorded(model, () => api.getJobConfig({ id: model.id }), []);
  const saved = useRecorded(model, () => api.listCheckpoints({ id: model.id }), [
    model.job.value?.state,
  ]);
  const job = model.job.value;
  const config = stored.data?.submitted ?? stored.data?.yaml;
  const change = (changes.find((one) => one.key === key) ?? changes[0]) as Change;
  const there = (saved.data?.checkpoints ?? []).filter((one) => !one.deleted);
  const last = job?.progress.step ?? 0;
  const proposed = startFor(there, before)?.step ?? Math.min(last, Math.max(0, (before ?? 0) - 1));
  const chosen = from ?? String(proposed);
  const step = Number(chosen);
  const wrong = chosen === "" || !Number.isInteger(step) || step < 0 || step > last;
  const spec = job && config ? specFor(job, stored.data?.spec ?? null, config, change) : null;
  const fork = job && step > 0 ? forkFor(job, stored.data?.spec ?? null, change, step) : null;
  const check = useCheck(config, spec?.overrides ?? {});
  useEffect(() => setStarted(undefined), [key, chosen]);
  if (!job || !spec) return <Waiting for={stored} />;
  const send = () => {
    setSending(true);
    setFault("");
    (fork ? api.forkJob({ id: job.id }, fork) : api.createJob({}, spec))
      .then(
        (made) => setStarted(made.id),
        (error: ApiError) => setFault(error.message),
      )
      .finally(() => setSending(false));
  };
  return (
    <div class="stack try">
      <Pick
        label="change"
        value={change.key}
        options={changes.map((one) => [one.key, one.text] as const)}
        onChange={setKey}
      />
      <label>
        from step{" "}
        <input
          type="number"
          min={0}
          max={last}
          value={chosen}
          list="try-steps"
          aria-describedby="try-from"
          onInput={(event) => setFrom(event.currentTarget.value)}
        />
      </label>
      <datalist id="try-steps">
        {there.map((one) => (
          <option key={one.step} value={one.step} />
        ))}
      </datalist>
      <p class={wrong ? "bad-text" : "small soft"} id="try-from" role={wrong ? "alert" : undefined}>
        {wrong
          ? `Give a step from 1 to ${integer(last)}, or 0 for the beginning.`
          : step > 0
            ? againFor(there, step)
            : "From the beginning."}
      </p>
      <section class="what-happens" aria-label="What will happen">
        <h3>What will happen</h3>
        <p>
          A new job, <strong>{fork?.name ?? spec.name}</strong>, is put into the queue of this
          server. It has the configuration of this run, and{" "}
          <code>{`${change.path}: ${change.value}`}</code>.{" "}
          {fork
            ? `It shares ${step === 1 ? "step 1" : `steps 1 to ${integer(step)}`} with this run, with ${step === 1 ? "its" : "their"} curves and checkpoints; what differs from there on is this setting.`
            : "It begins as this run did, and shares no step with it."}{" "}
          This run is left as it is.
        </p>
        {before !== null && step >= before && (
          <p class="warn-text">The first overflow was at step {integer(before)}, before that.</p>
        )}
        <CheckText check={check} />
      </section>
      {fault && (
        <p class="bad-text" role="alert">
          {fault}
        </p>
      )}
      {started ? (
        <Started job={started} of={model.id} />
      ) : (
        <button
          class="primary"
          disabled={sending || wrong || typeof check !== "object" || !check.valid}
          onClick={send}
        >
          Start it
        </button>
      )}
      {fork && !wrong && (
        <p class="small soft">
          The same in a terminal: <code>{commandFor(job, change, step)}</code>
        </p>
      )}
    </div>
  );
}
