/* "Try another precision from here": a new job with one setting changed, from a checkpoint of this
 * run. What will happen is said, and the configuration checked, before anything is started. */
import { useEffect, useState } from "preact/hooks";
import { api, type ValidateResult } from "@generated/client";
import type { ApiError } from "@/api/transport";
import { bytes, integer } from "@/base/format";
import { href } from "@/base/route";
import { Pick, Waiting } from "@/components/parts";
import { changesFor, commandFor, specFor, startFor, type Change } from "@/graph/settings";
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
  const proposed = startFor(there, before)?.step;
  const chosen = from ?? (proposed === undefined ? "" : String(proposed));
  const step = chosen === "" ? null : Number(chosen);
  const spec = job && config ? specFor(job, stored.data?.spec ?? null, config, change, step) : null;
  const check = useCheck(config, spec?.overrides ?? {});
  useEffect(() => setStarted(undefined), [key, chosen]);
  if (!job || !spec) return <Waiting for={stored} />;
  const send = () => {
    setSending(true);
    setFault("");
    api
      .createJob({}, spec)
      .then(
        (made) => setStarted(made.id),
        (error: ApiError) => setFault(error.message),
      )
      .finally(() => setSending(false));
  };
  const at = step ?? Math.max(1, (before ?? job.progress.step ?? 1) - 1);
  return (
    <div class="stack try">
      <Pick
        label="change"
        value={change.key}
        options={changes.map((one) => [one.key, one.text] as const)}
        onChange={setKey}
      />
      <Pick
        label="from"
        value={chosen}
        options={[
          ...there.map((one) => [String(one.step), `the states after step ${one.step}`] as const),
          ["", "the beginning"] as const,
        ]}
        onChange={setFrom}
      />
      <section class="what-happens" aria-label="What will happen">
        <h3>What will happen</h3>
        <p>
          A new job, <strong>{spec.name}</strong>, is put into the queue of this server. It has the
          configuration of this run, and <code>{`${change.path}: ${change.value}`}</code>.{" "}
          {step === null
            ? "It begins as this run did, and shares no step with it."
            : `It begins with the states that this run had after step ${integer(step)}; what differs from there on is this setting.`}{" "}
          This run is left as it is.
        </p>
        {before !== null && step !== null && step >= before && (
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
          disabled={sending || typeof check !== "object" || !check.valid}
          onClick={send}
        >
          Start it
        </button>
      )}
      <p class="small soft">
        From any step, with a checkpoint or without, in a terminal:{" "}
        <code>{commandFor(job, change, at)}</code>
      </p>
    </div>
  );
}
