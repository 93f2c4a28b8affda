/* What is known of a job: one value, made of the answer that was read over REST and of the events
 * since, and what may be said of it. No clock, no network: a page is right after each event.
 *
 * An answer may be older than events that came while it travelled, and events may be older than
 * the answer: a stream begins behind what the store had written. So each part says which is newer.
 * State and phase have the time of their last change, which no two changes of a run share; an
 * event's number says whether it was seen; recoveries and steps only grow. */
import type {
  Event as StreamEvent,
  Job,
  MetricEvent,
  Phase,
  PhaseEvent,
  State,
  StateEvent,
  Transition,
} from "@generated/client";

export interface Latest {
  attempt: number;
  step: number;
  value: number | null;
}

export interface Known {
  readonly job: Job;
  readonly transitions: readonly Transition[];
  /** The newest point of each series. */
  readonly latest: Readonly<Record<string, Latest>>;
  /** The largest number of an event that was taken. */
  readonly lastEvent: number;
  /** The state changed since the job was read: what depends on it (commands) is to be read again. */
  readonly stale: boolean;
}

const FINAL = new Set<State>(["SUCCEEDED", "FAILED", "CANCELLED"]);
export const isFinal = (state: State): boolean => FINAL.has(state);

const PHASE_OF: Partial<Record<State, Phase>> = {
  COMPILING: "compile",
  STARTING: "start",
  PAUSED: "paused",
  RECOVERING: "recover",
};
const ACTIVITIES = new Set<Phase>(["train", "validate", "save", "storage"]);
const ACTING = new Set<State>(["RUNNING", "PAUSING", "CANCELLING"]);

/* The phase that the state has, where the run last reported the job's phase. What is paused, or
 * recovers, with the batches of a validation goes on with that. */
function phaseIn(job: Job): Phase {
  if (!ACTING.has(job.state)) return PHASE_OF[job.state] ?? null;
  if (ACTIVITIES.has(job.phase)) return job.phase;
  return job.phase_steps === null ? "train" : "validate";
}

/* ---- answers ---- */

type Part = Pick<Job, "phase" | "phase_since_ms" | "phase_step" | "phase_steps">;

const since = (time_ms: number | null): number => time_ms ?? 0;

/* The state and what goes with it. */
function newerState(known: Job, read: Job): Partial<Job> {
  if (since(read.state_since_ms) >= since(known.state_since_ms)) return {};
  const { state, state_since_ms, reason, message, attempt, alive, retryable } = known;
  return { state, state_since_ms, reason, message, attempt, alive, retryable };
}

function newerPhase(known: Job, read: Job): Partial<Job> {
  const isOld = since(read.phase_since_ms) < since(known.phase_since_ms);
  const isBehind =
    read.phase_since_ms === known.phase_since_ms &&
    since(read.phase_step) < since(known.phase_step);
  if (!isOld && !isBehind) return {};
  const { phase, phase_since_ms, phase_step, phase_steps } = known;
  return { phase, phase_since_ms, phase_step, phase_steps };
}

/* A phase that the state does not have is not said. */
function agree(job: Job): Job {
  const phase = phaseIn(job);
  if (phase === job.phase) return job;
  const part: Part = {
    phase,
    phase_since_ms: phase === null ? null : job.state_since_ms,
    phase_step: phase === null ? null : job.phase_step,
    phase_steps: phase === null ? null : job.phase_steps,
  };
  return { ...job, ...part };
}

/** `read` over what is known. */
export function takeJob(known: Known | null, read: Job): Known {
  if (known === null)
    return { job: agree(read), transitions: [], latest: {}, lastEvent: 0, stale: false };
  const before = known.job;
  const kept: Partial<Job> = { ...newerState(before, read), ...newerPhase(before, read) };
  if (before.recovery.count > read.recovery.count) kept.recovery = before.recovery;
  return {
    ...known,
    job: agree({ ...read, ...kept }),
    stale: since(read.state_since_ms) < since(before.state_since_ms),
  };
}

const sameChange = (a: Transition, b: Transition): boolean =>
  a.time_ms === b.time_ms && a.to === b.to;

function merge(first: readonly Transition[], second: readonly Transition[]): Transition[] {
  const added = second.filter((one) => !first.some((other) => sameChange(one, other)));
  return [...first, ...added]
    .sort((a, b) => a.time_ms - b.time_ms)
    .map((one, i) => ({ ...one, seq: i + 1 }));
}

export const takeTransitions = (known: Known, read: readonly Transition[]): Known => ({
  ...known,
  transitions: merge(read, known.transitions),
});

export const takeLatest = (known: Known, latest: Record<string, Latest>): Known => ({
  ...known,
  latest: { ...latest, ...known.latest },
});

/* ---- events ---- */

function takeState(known: Known, event: StateEvent): Known {
  const { job } = known;
  const change: Transition = {
    seq: 0,
    time_ms: event.time_ms,
    step: stepOf(known),
    from: event.from_state ?? null,
    to: event.to_state,
    reason: event.reason || null,
    message: event.message ?? "",
    attempt: event.attempt ?? job.attempt,
    origin: event.seq === undefined ? "server" : "run",
  };
  const transitions = merge(known.transitions, [change]);
  if (event.time_ms <= since(job.state_since_ms)) return { ...known, transitions };
  const changed = agree({
    ...job,
    state: change.to,
    state_since_ms: change.time_ms,
    reason: change.to === "FAILED" ? (change.reason as Job["reason"]) : null,
    message: change.message,
    attempt: change.attempt,
    alive: change.to !== "QUEUED" && !isFinal(change.to),
  });
  return { ...known, job: changed, transitions, stale: true };
}

function takePhase(known: Known, event: PhaseEvent): Known {
  const { job } = known;
  const recovery = event.recovery.count >= job.recovery.count ? event.recovery : job.recovery;
  if (event.since_ms < since(job.phase_since_ms)) return { ...known, job: { ...job, recovery } };
  const part: Part = {
    phase: event.phase,
    phase_since_ms: event.phase === null ? null : event.since_ms,
    phase_step: event.step,
    phase_steps: event.steps,
  };
  return { ...known, job: agree({ ...job, ...part, recovery }) };
}

const numberOf = (value: unknown): number | null =>
  value === null || value === undefined ? null : Number(value);

function takeMetrics(known: Known, event: MetricEvent): Known {
  const latest: Record<string, Latest> = { ...known.latest };
  for (const [name, points] of Object.entries(event.series)) {
    const last = points[points.length - 1];
    const before = latest[name];
    if (!last) continue;
    const step = Number(last[0]);
    if (
      before &&
      (before.attempt > event.attempt || (before.attempt === event.attempt && before.step > step))
    )
      continue;
    latest[name] = { attempt: event.attempt, step, value: numberOf(last[2]) };
  }
  return { ...known, latest };
}

/** What is known after an event. One that is older than the last, as when a stream is taken up
 * again, changes nothing; a change of the server's has the number of the event before it. */
export function takeEvent(known: Known, event: StreamEvent): Known {
  if (event.id < known.lastEvent) return known;
  const next = { ...known, lastEvent: event.id };
  switch (event.type) {
    case "state":
      return takeState(next, event.payload as StateEvent);
    case "phase":
      return takePhase(next, event.payload as PhaseEvent);
    case "metric":
      return takeMetrics(next, event.payload as MetricEvent);
    default:
      return next;
  }
}

/* ---- what may be said ---- */

export type LossScale = { kind: "unknown" | "off" } | { kind: "scale"; value: number };

export interface Said {
  state: State;
  since_ms: number | null;
  phase: Phase;
  /** The phase in words, where the state does not say it: "validating, batch 3 of 390". */
  doing: string | null;
  step: number | null;
  lastStep: number | null;
  loss: number | null;
  lossScale: LossScale;
  /** Steps whose gradients were not finite; null: none is known. */
  skipped: number | null;
  /** Whether the rates are those of now; else they are the last that were measured. */
  ratesAreNow: boolean;
  samplesPerSecond: number | null;
  stepsPerSecond: number | null;
  /** Seconds; null where no steps are taken. */
  left: number | null;
}

function doing(job: Job): string | null {
  const batches =
    job.phase_steps === null ? "" : `, batch ${job.phase_step ?? 0} of ${job.phase_steps}`;
  if (job.phase === "validate") return `validating${batches}`;
  if (job.phase === "paused" && job.phase_steps !== null) return `in a validation${batches}`;
  if (job.phase === "save") return "writing a checkpoint";
  if (job.phase === "storage") return "waiting for room for its last checkpoint";
  return null;
}

function lossScale({ job, latest }: Known): LossScale {
  if (job.phase === "compile" || job.phase === "start") return { kind: "unknown" };
  const scale = latest["loss_scale"]?.value;
  if (scale !== undefined && scale !== null) return { kind: "scale", value: scale };
  return { kind: latest["loss"] ? "off" : "unknown" };
}

/* The newest step: of the points that came, or of the answer. A run that starts again from a
 * checkpoint goes back, with the next answer. */
function stepOf({ job, latest }: Known): number | null {
  const read = job.progress.step;
  const loss = latest["loss"];
  return loss && (read === null || loss.step > read) ? loss.step : read;
}

export function said(known: Known): Said {
  const { job, latest } = known;
  const { progress } = job;
  const step = stepOf(known);
  const ratesAreNow = job.phase === "train" || job.phase === "save";
  const samples = latest["samples_per_second"]?.value ?? progress.samples_per_second;
  const steps = samples !== null && job.batch_size ? samples / job.batch_size : null;
  const rest = progress.last_step !== null && step !== null ? progress.last_step - step : null;
  return {
    state: job.state,
    since_ms: job.state_since_ms,
    phase: job.phase,
    doing: doing(job),
    step,
    lastStep: progress.last_step,
    loss: latest["loss"] ? latest["loss"].value : progress.loss,
    lossScale: lossScale(known),
    skipped: latest["skipped_steps"]?.value ?? null,
    ratesAreNow,
    samplesPerSecond: samples,
    stepsPerSecond: steps,
    left: ratesAreNow && rest !== null && rest >= 0 && steps ? rest / steps : null,
  };
}
