/* The filter of the list of jobs: words are looked for in name, id and model; team=vision wants a
 * label; loss<0.5 compares a figure; state:running wants a state. All must hold. */
import type { Job } from "@generated/client";

type Test = (job: Job) => boolean;

const FIGURES: Record<string, (job: Job) => number | null> = {
  loss: (job) => job.progress.loss,
  min_loss: (job) => job.progress.minimum_loss,
  step: (job) => job.progress.step,
  rate: (job) => job.progress.samples_per_second,
  batch_size: (job) => job.batch_size,
  num_csx: (job) => job.num_csx,
  seed: (job) => job.seed,
  attempt: (job) => job.attempt,
};

function comparison(word: string): Test | null {
  const match = /^(\w+)(<=|>=|<|>)(-?[\d.]+(?:e-?\d+)?)$/i.exec(word);
  const figure = match && FIGURES[match[1] ?? ""];
  if (!match || !figure) return null;
  const limit = Number(match[3]);
  const compare = (value: number): boolean => {
    switch (match[2]) {
      case "<":
        return value < limit;
      case ">":
        return value > limit;
      case "<=":
        return value <= limit;
      default:
        return value >= limit;
    }
  };
  return (job) => {
    const value = figure(job);
    return value !== null && compare(value);
  };
}

function testOf(word: string): Test {
  const compare = comparison(word);
  if (compare) return compare;
  const lower = word.toLowerCase();
  if (lower.startsWith("state:")) return (job) => job.state.toLowerCase() === lower.slice(6);
  const [key, value] = word.split("=");
  if (value !== undefined) return (job) => job.labels[key ?? ""] === value;
  return (job) =>
    [
      job.name,
      job.id,
      job.model ?? "",
      job.optimizer ?? "",
      job.state,
      ...Object.keys(job.labels),
    ].some((text) => text.toLowerCase().includes(lower));
}

export function filterJobs(jobs: Job[], text: string): Job[] {
  const tests = text.trim().split(/\s+/).filter(Boolean).map(testOf);
  return jobs.filter((job) => tests.every((test) => test(job)));
}
