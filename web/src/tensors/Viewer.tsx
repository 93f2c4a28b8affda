/* Any past step, and all of its tensors: the step is done again on the server, and its values are
 * looked at. Step, tensor and part are in the address. */
import { useEffect, useState } from "preact/hooks";
import { api } from "@generated/client";
import { bytes, integer, percent } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { Icon } from "@/components/Icon";
import { Prose } from "@/components/Prose";
import { Empty, Filter, Loading, Meter, PageHeader, Pick, Waiting } from "@/components/parts";
import { current, notYet, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import { StepPicker } from "@/tensors/StepPicker";
import { TensorList, matches } from "@/tensors/TensorList";
import { TensorView } from "@/tensors/TensorView";
import { beginOf, shareOf, useReplay, type Replay } from "@/tensors/replay";

const stepText = (from: number): string =>
  from > 0 ? `the checkpoint of step ${integer(from)}` : "the start of the run";

function Running({ replay, checkpoints }: { replay: Replay; checkpoints: number[] }) {
  const one = replay.own?.state === "running" ? replay.own : replay.other;
  if (!one || one.state !== "running") return null;
  const share = shareOf(one, checkpoints);
  return (
    <section class="panel replaying" aria-label="Replay" data-replay="running">
      <p role="status">
        {one.last_step === null
          ? `Step ${integer(one.step)}: it starts from ${stepText(beginOf(one.step, checkpoints))}`
          : `Step ${integer(one.step)}: ${integer(one.last_step)} is done again, ${percent(share)}`}
      </p>
      <Meter share={share} label={`Replay of step ${one.step}`} />
      <button disabled={replay.busy} onClick={() => replay.end(one.step)}>
        <Icon name="stop" />
        Cancel
      </button>
    </section>
  );
}

/* What can be done where nothing is there. */
function Begin({
  replay,
  step,
  checkpoints,
}: {
  replay: Replay;
  step: number;
  checkpoints: number[];
}) {
  const [pattern, setPattern] = useState("");
  const from = beginOf(step, checkpoints);
  const failed = replay.own?.state === "failed" ? replay.own.message : null;
  const refusal = replay.refusal?.message;
  const other = replay.own?.state === "done" && replay.own.kept === null;
  return (
    <section class="panel begin" aria-label="Do the step again">
      {(failed ?? refusal) && (
        <div class="banner bad" role="alert">
          <Icon name="warn" />
          <Prose text={failed ?? refusal ?? ""} />
        </div>
      )}
      <Empty
        title={
          other ? "The values of this step were not kept" : `Step ${integer(step)} is not there yet`
        }
        icon="clock"
      >
        The server does {integer(step - from)} {step - from === 1 ? "step" : "steps"} again, from{" "}
        {stepText(from)}, and compares the digests of each with those of the run.
      </Empty>
      <form
        class="row wrap"
        onSubmit={(event) => {
          event.preventDefault();
          replay.begin(pattern);
        }}
      >
        <input
          type="text"
          value={pattern}
          placeholder="All tensors, or a pattern of their names"
          aria-label="Tensors to keep: a name, its end, or a regular expression"
          onInput={(e) => setPattern(e.currentTarget.value)}
        />
        <button class="primary" disabled={replay.busy || replay.other !== undefined}>
          <Icon name="play" />
          Do step {integer(step)} again
        </button>
      </form>
    </section>
  );
}

function Verdict({ replay }: { replay: Replay }) {
  const answer = replay.answer.data?.answer;
  if (!answer) return null;
  const same = answer.bits === "same";
  return (
    <div class={`banner ${same ? "good" : answer.bits === "other" ? "bad" : "warn"}`}>
      <Icon name={same ? "check" : "warn"} />
      <span data-bits={answer.bits}>
        <Prose text={answer.words} />
        <span class="faint small"> · {bytes(replay.own?.kept)} kept</span>
      </span>
    </div>
  );
}

function Found({ model, replay, step }: { model: JobModel; replay: Replay; step: number }) {
  const filter = query.value.get("filter") ?? "";
  const role = query.value.get("role") ?? "";
  const wanted = query.value.get("tensor");
  const { tensors } = replay;
  const answer = replay.answer.data?.answer;
  const roles = [...new Set(tensors.map((one) => one.role))];
  const shown = tensors.filter((one) => matches(one, filter, role));
  const exact = tensors.find((one) => one.name === wanted);
  const chosen = exact ?? (wanted ? undefined : shown[0]);
  const choose = (name: string) =>
    setQuery({ tensor: name, at: null, heads: null, of: null, zoom: null });
  return (
    <>
      <Verdict replay={replay} />
      {wanted && !exact && (
        <div class="banner warn" role="status">
          <Icon name="warn" />
          <span>
            The step has no tensor {wanted}, or it was not kept: a value that exists only inside of
            a kernel is not there.
          </span>
        </div>
      )}
      <div class="row wrap" role="search">
        <Filter label="Filter tensors" placeholder="Filter: module, op, bfloat16" />
        <Pick
          label="role"
          value={role}
          options={[["", "all"], ...roles.map((one) => [one, one] as const)]}
          onChange={(value) => setQuery({ role: value })}
        />
        <span class="faint small">
          {integer(shown.length)} of {integer(tensors.length)} tensors
        </span>
      </div>
      <div class="columns main-side even">
        <TensorList tensors={shown} chosen={chosen?.name ?? null} onChoose={choose} />
        {chosen && (
          <TensorView
            key={chosen.name}
            job={model.id}
            step={step}
            tensor={chosen}
            batch={{ samples: answer?.samples ?? [], microbatches: answer?.microbatches ?? 0 }}
            kept={replay.own?.kept ?? null}
          />
        )}
      </div>
    </>
  );
}

/* A link of another page asks for the step at once; the address that remains does not. */
function useBegin(replay: Replay, ready: boolean): void {
  const asks = query.value.get("begin") === "1";
  useEffect(() => {
    if (!asks || !ready) return;
    setQuery({ begin: null });
    if (!replay.own || replay.own.state === "failed" || replay.own.kept === null) replay.begin("");
  }, [asks, ready]);
}

export function Viewer() {
  const model = current.value as JobModel;
  const saved = useRecorded(model, () => api.listCheckpoints({ id: model.id }), [
    model.job.value?.state,
  ]);
  const asked = query.value.get("step");
  const replay = useReplay(model, /^\d{1,9}$/.test(asked ?? "") ? Number(asked) : null);
  const { step } = replay;
  const known = replay.list.data !== undefined;
  useBegin(replay, known && saved.data !== undefined);
  const end = Math.max(step, replay.list.data?.last_step ?? 0);
  const checkpoints = (saved.data?.checkpoints ?? [])
    .filter((one) => !one.deleted)
    .map((one) => one.step);
  const kept = (replay.list.data?.replays ?? [])
    .filter((one) => one.kept !== null)
    .map((one) => one.step);
  const isThere = replay.own?.state === "done" && replay.own.kept !== null;
  const isRunning = replay.own?.state === "running";
  return (
    <>
      <PageHeader title="Tensors" note={known && `of step ${integer(step)}`} />
      <Waiting for={replay.list} />
      {known && end === 0 && (
        <section class="panel">
          <Empty title={notYet("No step")} icon="tensors">
            Its tensors can be looked at as soon as the first step is done.
          </Empty>
        </section>
      )}
      {known && end > 0 && (
        <div class="stack">
          <StepPicker
            step={step}
            last={end}
            marks={{ checkpoints, kept }}
            onStep={(to) => setQuery({ step: String(to) })}
          />
          <Running replay={replay} checkpoints={checkpoints} />
          {!isThere && !isRunning && (
            <Begin replay={replay} step={step} checkpoints={checkpoints} />
          )}
          {isThere && replay.tensors.length === 0 && !replay.answer.error && <Loading />}
          {isThere && replay.answer.error && <Waiting for={replay.answer} />}
          {isThere && replay.tensors.length > 0 && (
            <Found model={model} replay={replay} step={step} />
          )}
        </div>
      )}
    </>
  );
}
