/* Where the time of a run went: each attempt as a bar of the shares of its bins, which add up to the
 * time that has passed, with the seconds of each beside it. */
import { api, type Goodput as Account } from "@generated/client";
import { duration, percent } from "@/base/format";
import type { JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import { isFinal } from "@/job/state";

type Attempt = Account["attempts"][number];
type Bin = Attempt["bins"][number];

const REFRESH_MS = 1000;

const BINS: Record<Bin["name"], { text: string; title: string }> = {
  starting: { text: "starting", title: "The step is traced and compiled, processes start" },
  compute: { text: "compute", title: "Gradients are computed: the goodput" },
  input: { text: "input", title: "Replicas wait for input, by the mean of the replicas" },
  update: { text: "update", title: "Partial sums are joined, states are updated" },
  communication: {
    text: "communication",
    title: "Own sums are complete, those of other hosts are awaited",
  },
  save: { text: "save", title: "Steps wait for a snapshot or a checkpoint" },
  validation: { text: "validation", title: "The model is evaluated" },
  recovery: {
    text: "recovery",
    title: "From the loss of a process to its successor, and steps that are done again",
  },
  paused: { text: "paused", title: "Stands still on request" },
  idle: { text: "idle", title: "Anything else" },
};

function Bar({ attempt }: { attempt: Attempt }) {
  const shown = attempt.bins.filter((bin) => bin.milliseconds > 0);
  return (
    <div class="goodput-attempt">
      <div class="row">
        <span class="soft">
          {`attempt ${attempt.attempt}, ${duration(attempt.elapsed_ms / 1000)}`}
        </span>
        <span class="spacer" />
        <span class="number">{percent(attempt.goodput)}</span>
      </div>
      <div class="goodput-bar" aria-hidden="true">
        {shown.map((bin) => (
          <i key={bin.name} class={`bin-${bin.name}`} style={{ width: `${bin.share * 100}%` }} />
        ))}
      </div>
      <ul class="goodput-bins">
        {shown.map((bin) => (
          <li key={bin.name} title={BINS[bin.name].title}>
            <i class={`bin-${bin.name}`} aria-hidden="true" />
            <span>{BINS[bin.name].text}</span>
            <span class="number soft">{duration(bin.milliseconds / 1000)}</span>
            <span class="number faint">{percent(bin.share)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function Goodput({ model }: { model: JobModel }) {
  const job = model.job.value;
  const isOver = job === null || isFinal(job.state);
  const { data } = useRecorded(
    model,
    () => api.getGoodput({ id: model.id }),
    [job?.attempt, job?.state],
    isOver ? 0 : REFRESH_MS,
  );
  if (!data || data.attempts.length === 0) return null;
  return (
    <section class="panel">
      <div class="head">
        <h2>Where the time went</h2>
        <span class="spacer" />
        <span class="soft">{`goodput ${percent(data.goodput)}`}</span>
      </div>
      {[...data.attempts]
        .reverse()
        .slice(0, 4)
        .map((attempt) => (
          <Bar key={attempt.attempt} attempt={attempt} />
        ))}
    </section>
  );
}
