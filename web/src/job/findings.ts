/* The three findings with the highest priority: where the time goes, which
 * numbers are in trouble, what is not recorded. Each names its cause and the page that shows more.
 */
import type { GapEvent, Job, TopologyProcess, TopologySample } from "@generated/client";
import { integer, percent, time } from "@/base/format";
import type { Statistics } from "@/job/numerics";
import { firstOf } from "@/job/order";
import { ROLE, averagesOf, feedersOf, isAway, type Averages, type Shares } from "@/job/topology";

export interface Finding {
  weight: number;
  tone: "bad" | "warn" | "info" | "good";
  text: string;
  page: string;
  /** What it is about: its values can be looked at. */
  values?: { tensor: string; step: number };
}

/* Averages over less are too short to find a cause in. */
const LEAST_SECONDS = 3;

const names = (processes: TopologyProcess[]): string => processes.map((p) => p.name).join(", ");

/* Why a replica has no input: an input worker that feeds it is away, or has no time left. */
function starvation(averages: Averages, replica: TopologyProcess, wait: number): string {
  const feeders = feedersOf(averages.newest, replica);
  const waits = `${replica.name} waits ${percent(wait)} of the last ${seconds(averages)} for input`;
  const feeds = (some: TopologyProcess[]) =>
    `${names(some)}, which ${some.length > 1 ? "feed" : "feeds"} ${replica.name}`;
  const away = feeders.filter(isAway);
  if (away.length > 0) return `${feeds(away)}, was lost and is being replaced: ${waits}`;
  const shareOf = (p: TopologyProcess) => averages.shares.get(p.name)?.busy ?? 0;
  const busy = feeders.filter((p) => shareOf(p) > 0.9);
  if (busy.length === 0) return waits;
  const least = Math.min(...busy.map(shareOf));
  return `${feeds(busy)}, ${busy.length > 1 ? "are" : "is"} busy ${percent(least)}: ${waits}`;
}

const seconds = (averages: Averages): string => `${Math.round(averages.seconds)} s`;

function replicaFindings(averages: Averages, replica: TopologyProcess, of: Shares): Finding[] {
  const wait = of.inputWait ?? of.idle;
  const others = of.inputWait === null ? 0 : of.idle - of.inputWait;
  const tone = (share: number) => (share > 0.5 ? "bad" : "warn");
  const found: Finding[] = [];
  if (wait > 0.3)
    found.push({
      weight: 40 * wait,
      tone: tone(wait),
      page: "topology",
      text: starvation(averages, replica, wait),
    });
  if (others > 0.3)
    found.push({
      weight: 30 * others,
      tone: "warn",
      page: "topology",
      text:
        `${replica.name} waits ${percent(others)} of the last ${seconds(averages)} for the ` +
        "other processes of its step",
    });
  return found;
}

/* Replicas that never wait for input say that the input is fast enough. */
function ringFinding(averages: Averages): Finding[] {
  const replicas = (averages.newest.processes ?? []).filter((p) => p.role === ROLE.replica);
  const fed = replicas.every((p) => (averages.shares.get(p.name)?.inputWait ?? 0) < 0.05);
  if (averages.ringFilled === null || averages.ringFilled < 0.9 || !fed) return [];
  return [
    {
      weight: 5,
      tone: "good",
      page: "topology",
      text:
        `the input ring is full (${percent(averages.ringFilled)} on average over the last ` +
        `${seconds(averages)}): samples are read faster than they are computed`,
    },
  ];
}

function timeFindings(samples: TopologySample[]): Finding[] {
  const averages = averagesOf(samples);
  if (!averages || averages.seconds < LEAST_SECONDS) return [];
  const found = ringFinding(averages);
  for (const process of averages.newest.processes ?? []) {
    const of = averages.shares.get(process.name);
    if (!of || isAway(process)) continue;
    if (process.role === ROLE.replica) found.push(...replicaFindings(averages, process, of));
    if (of.pressed > 0.5 && process.role !== ROLE.input)
      found.push({
        weight: 35 * of.pressed,
        tone: "warn",
        page: "topology",
        text:
          `${process.name} is back-pressured ${percent(of.pressed)} of the last ` +
          seconds(averages),
      });
  }
  return found;
}

const FIRST_BAD = 90; /* its weight: less than that of what follows from it */

/* Of the tensors that are not finite only the first is a cause. */
function firstBadFinding(numerics: Statistics): Finding[] {
  const first = firstOf(numerics.tensors, numerics.records, (r) => r.nan + r.inf > 0);
  if (!first) return [];
  const { tensor, record } = first;
  const microbatch =
    record.first_microbatch === null ? "" : `, microbatch ${record.first_microbatch}`;
  return [
    {
      weight: FIRST_BAD,
      tone: "bad",
      page: "numerics",
      text:
        `${tensor.name}: ${record.nan + record.inf} values are NaN or infinite at step ` +
        `${record.step}${microbatch}, the first in the order of execution`,
      values: { tensor: tensor.name, step: record.step },
    },
  ];
}

function numberFindings(numerics: Statistics | undefined): Finding[] {
  if (!numerics) return [];
  const known = new Map(numerics.tensors.map((t) => [t.id, t]));
  const found: Finding[] = firstBadFinding(numerics);
  for (const record of numerics.records) {
    const tensor = known.get(record.tensor);
    if (!tensor || record.count === 0) continue;
    const flushed = record.flushed / record.count;
    if (flushed > 0.05)
      found.push({
        weight: 50 * flushed,
        tone: "warn",
        page: "numerics",
        text: `${tensor.name}: ${percent(flushed)} flushed to zero at step ${record.step}`,
      });
    const absorbed = record.absorbed / record.count;
    if (absorbed > 0.2)
      found.push({
        weight: 30 * absorbed,
        tone: "info",
        page: "numerics",
        text: `${tensor.name}: ${percent(absorbed)} of the updates round away`,
      });
  }
  return found;
}

/* Either ids that the server no longer has, or the number of events that the run dropped. */
export function gapText(gap: GapEvent): string {
  if (gap.reason) return gap.reason;
  return (
    Object.entries(gap)
      .filter(([, count]) => typeof count === "number" && count > 0)
      .map(([what, count]) => `${String(count)} ${what}`)
      .join(", ") || "the run's queue was full"
  );
}

/* Training continues, but the API serves nothing newer than the failure. */
function storeFinding(failure: Job["store_failure"]): Finding[] {
  if (!failure) return [];
  const lost = Object.entries(failure.lost)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${integer(count)} ${what}`)
    .join(", ");
  return [
    {
      weight: 95,
      tone: "bad",
      page: "logs",
      text:
        `run store cannot be written since ${time(failure.since_ms)} (${failure.message}); ` +
        `training goes on, ${integer(failure.waiting_rows)} records wait for room` +
        (lost ? `, lost so far: ${lost}` : ""),
    },
  ];
}

function folderFinding(job: Job): Finding[] {
  if (!job.folder_gone) return [];
  return [
    {
      weight: 98,
      tone: "warn",
      page: "config",
      text:
        `its folder was removed, ${job.model_dir}: curves, logs and checkpoints are gone; what is ` +
        "shown is what the server knew",
    },
  ];
}

/* What the server finds in the store, of the whole run. Tensors that overflowed are told by the
 * statistics themselves, where they were read. */
const HEALTH: Record<Job["health"][number]["kind"], Omit<Finding, "text">> = {
  diverged: { weight: 92, tone: "bad", page: "curves" },
  overflowed: { weight: 89, tone: "bad", page: "numerics" },
  skipping: { weight: 60, tone: "warn", page: "curves" },
  starving: { weight: 45, tone: "warn", page: "topology" },
  plateau: { weight: 15, tone: "info", page: "curves" },
};

function healthFindings(health: Job["health"], toldByNumbers: boolean): Finding[] {
  return health
    .filter(({ kind }) => kind !== "overflowed" || !toldByNumbers)
    .map(({ kind, message }) => ({ ...HEALTH[kind], text: `${kind}: ${message}` }));
}

export interface Known {
  job: Job;
  /** Oldest first. */
  samples: TopologySample[];
  numerics: Statistics | undefined;
  gaps: GapEvent[];
}

/* In other phases processes wait for another reason. */
const TRAINING = new Set<Job["phase"]>(["train", "recover"]);

export function findingsOf({ job, samples, numerics, gaps }: Known): Finding[] {
  const numbers = numberFindings(numerics);
  const found = [
    ...storeFinding(job.store_failure),
    ...folderFinding(job),
    ...(TRAINING.has(job.phase) ? timeFindings(samples) : []),
    ...numbers,
    ...healthFindings(
      job.health,
      numbers.some((one) => one.weight === FIRST_BAD),
    ),
  ];
  if (job.state === "FAILED")
    found.push({
      weight: 100,
      tone: "bad",
      page: "logs",
      text: `failed (${job.reason ?? "unknown"}): ${job.message}`,
    });
  const gap = gaps[gaps.length - 1];
  if (gap)
    found.push({
      weight: 70,
      tone: "warn",
      page: "logs",
      text: `some records are missing: ${gapText(gap)}`,
    });
  if (job.restarts > 0)
    found.push({
      weight: 20,
      tone: "info",
      page: "logs",
      text: `started again ${job.restarts} times after a failure`,
    });
  /* One finding per tensor or process: the newest. */
  const seen = new Set<string>();
  const about = (one: Finding) => one.text.split(/[ :]/)[0] + one.page;
  return found
    .reverse()
    .sort((a, b) => b.weight - a.weight)
    .filter((one) => !seen.has(about(one)) && seen.add(about(one)))
    .slice(0, 3);
}
