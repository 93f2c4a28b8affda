/* The three findings with the highest priority: where the time goes, which
 * numbers are in trouble, what is not recorded. Each names its cause and the page that shows more.
 */
import type { GapEvent, Job, Numerics, TopologySample } from "@generated/client";
import { integer, percent, time } from "@/base/format";

export interface Finding {
  weight: number;
  tone: "bad" | "warn" | "info";
  text: string;
  page: string;
}

function timeFindings(sample: TopologySample | undefined): Finding[] {
  const processes = sample?.processes ?? [];
  const found: Finding[] = [];
  const replicas = processes.filter((p) => /replica|csx/.test(p.role));
  const inputs = processes.filter((p) => /input/.test(p.role));
  for (const replica of replicas) {
    const idle = replica.idle ?? 0;
    const feeder = inputs.find((p) => (p.busy ?? 0) > 0.9);
    if (idle > 0.3)
      found.push({
        weight: 40 * idle,
        tone: idle > 0.5 ? "bad" : "warn",
        page: "topology",
        text: feeder
          ? `${feeder.name} is busy ${percent(feeder.busy)} and starves ${replica.name}, which ` +
            `waits ${percent(idle)} of its time`
          : `${replica.name} waits ${percent(idle)} of its time`,
      });
  }
  for (const process of processes) {
    const pressed = process.back_pressured ?? 0;
    if (pressed > 0.5 && !/input/.test(process.role))
      found.push({
        weight: 35 * pressed,
        tone: "warn",
        page: "topology",
        text: `${process.name} is back-pressured ${percent(pressed)} of its time`,
      });
  }
  return found;
}

function numberFindings(numerics: Numerics | undefined): Finding[] {
  if (!numerics) return [];
  const names = new Map(numerics.tensors.map((t) => [t.id, t]));
  const found: Finding[] = [];
  for (const record of numerics.records) {
    const tensor = names.get(record.tensor);
    if (!tensor || record.count === 0) continue;
    const bad = record.nan + record.inf;
    if (bad > 0)
      found.push({
        weight: 90,
        tone: "bad",
        page: "numerics",
        text: `${tensor.name}: ${bad} values are NaN or infinite at step ${record.step}`,
      });
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

export interface Known {
  job: Job;
  sample: TopologySample | undefined;
  numerics: Numerics | undefined;
  gaps: GapEvent[];
}

export function findingsOf({ job, sample, numerics, gaps }: Known): Finding[] {
  const found = [
    ...storeFinding(job.store_failure),
    ...(job.alive ? timeFindings(sample) : []),
    ...numberFindings(numerics),
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
