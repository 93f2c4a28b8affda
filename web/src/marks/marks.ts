/* What happened to a run beside its curves, each at its step: alerts, checkpoints, lost processes and
 * hosts, pauses, further starts and their other settings. All of it is in what the API lists. */
import type {
  Alert,
  Checkpoint,
  MembershipChange,
  Metrics,
  Note,
  Transition,
} from "@generated/client";
import { duration, integer } from "@/base/format";
import type { Run } from "@/components/MetricChart";
import type { MarkKind, PlotMark } from "@/components/plot";
import type { XAxis } from "@/job/series";

/** In this order. */
export const MARK_WORDS: Record<MarkKind, string> = {
  alert: "alerts",
  process: "processes lost",
  host: "hosts",
  pause: "pauses",
  start: "further starts",
  settings: "settings changed",
  checkpoint: "checkpoints",
  note: "notes",
};

export interface Mark {
  kind: MarkKind;
  step: number;
  time_ms: number;
  text: string;
}

/** What the marks of a run are made from. */
export interface Happened {
  alerts: readonly Alert[];
  checkpoints: readonly Checkpoint[];
  membership: readonly MembershipChange[];
  transitions: readonly Transition[];
  notes: readonly Note[];
}

const why = (text: string): string => (text ? `: ${text}` : "");

function ofChange({
  what,
  name,
  change,
  step,
  time_ms,
  milliseconds,
  reason,
}: MembershipChange): Mark[] {
  if (step === null) return [];
  if (what === "host")
    return [{ kind: "host", step, time_ms, text: `host ${name} ${change}${why(reason)}` }];
  const cost = milliseconds === null ? "" : ` after ${duration(milliseconds / 1000)}`;
  return [{ kind: "process", step, time_ms, text: `${name} ${reason}; replaced${cost}` }];
}

function ofTransition(one: Transition): Mark[] {
  const { step, time_ms, message, attempt } = one;
  if (step === null) return [];
  const mark = (kind: MarkKind, text: string): Mark[] => [{ kind, step, time_ms, text }];
  if (one.to === "PAUSED") return mark("pause", `paused${why(message)}`);
  if (one.from === "PAUSED") return one.to === "RUNNING" ? mark("pause", "goes on") : [];
  if (one.origin !== "run" || one.to !== "COMPILING" || attempt < 2) return [];
  return message.startsWith("settings changed")
    ? mark("settings", `start ${attempt}, ${message}`)
    : mark("start", `start ${attempt}${why(message)}`);
}

/** By step. */
export function marksOf({ alerts, checkpoints, membership, transitions, notes }: Happened): Mark[] {
  const found: Mark[] = [
    ...alerts
      .filter((one) => one.begins)
      .map(({ step, time_ms, condition, values }): Mark => {
        return { kind: "alert", step, time_ms, text: `alert: ${condition} (${values})` };
      }),
    ...membership.flatMap(ofChange),
    ...transitions.flatMap(ofTransition),
    ...checkpoints.map(({ step, time_ms, deleted }): Mark => {
      const since = deleted ? ", removed since" : "";
      return { kind: "checkpoint", step, time_ms, text: `checkpoint${since}` };
    }),
  ];
  for (const { step, time_ms, text } of notes)
    if (step !== null) found.push({ kind: "note", step, time_ms, text });
  return found.sort((a, b) => a.step - b.step || a.time_ms - b.time_ms);
}

/* Seconds that the run had run then: without the time between its attempts, in which it had not. */
function elapsedAt(time_ms: number, metrics: Metrics): number | null {
  let before = 0;
  let found: number | null = null;
  for (const { start_ms, end_ms } of metrics.attempt_times) {
    if (start_ms <= time_ms) found = before + Math.min(time_ms, end_ms) - start_ms;
    before += end_ms - start_ms;
  }
  if (metrics.attempt_times.length > 0) return found === null ? null : found / 1000;
  const first = metrics.series[0]?.time_ms?.[0];
  return first === undefined || first === null ? null : Math.max(0, time_ms - first) / 1000;
}

/** Its place on the horizontal axis; null: it has none there. */
export function placeOf(
  mark: Mark,
  axis: XAxis,
  run: { batchSize: number; metrics: Metrics | undefined },
): number | null {
  if (axis === "step") return mark.step;
  if (axis === "samples") return mark.step * run.batchSize;
  if (axis === "time") return mark.time_ms;
  return run.metrics ? elapsedAt(mark.time_ms, run.metrics) : null;
}

/** A mark in words; `of`: its run, where several are shown. */
const markText = (mark: Mark, of: string): string =>
  `${of ? `${of}, ` : ""}step ${integer(mark.step)}: ${mark.text}`;

export type OfRun = Map<string, Mark[]>;

/** The marks of all runs that are shown, at their places. */
export function placeMarks(of: OfRun, runs: readonly Run[], axis: XAxis): PlotMark[] {
  return runs.flatMap((run) =>
    (of.get(run.id) ?? []).flatMap((mark): PlotMark[] => {
      const x = placeOf(mark, axis, run);
      const text = markText(mark, runs.length > 1 ? run.label : "");
      return x === null ? [] : [{ kind: mark.kind, x, text }];
    }),
  );
}
