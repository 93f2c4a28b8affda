/* What is kept about jobs: name, labels, priority; and their removal. Each change names the revision
 * that the page showed, so that nobody else's is overwritten. */
import { api, type Checkpoint, type Job, type JobPatch } from "@generated/client";
import type { ApiError } from "@/api/transport";
import { tell } from "@/job/actions";
import { current } from "@/job/model";

const tagOf = (job: Job): string => `"v${job.revision}"`;

export const isRemovable = (job: Job): boolean =>
  ["SUCCEEDED", "FAILED", "CANCELLED"].includes(job.state) && !job.alive;

async function attempt(who: string, what: string, task: () => Promise<unknown>): Promise<boolean> {
  try {
    await task();
    return true;
  } catch (error) {
    tell("bad", `${who}: ${what} was refused: ${(error as ApiError).message}`);
    return false;
  }
}

/** Changes each job; says what was done. */
export async function changeJobs(
  jobs: Job[],
  patchOf: (job: Job) => JobPatch | null,
): Promise<boolean> {
  const done = await Promise.all(
    jobs.map((job) => {
      const patch = patchOf(job);
      if (!patch) return true;
      return attempt(job.name, "the change", () =>
        api.patchJob({ id: job.id, "If-Match": tagOf(job) }, patch),
      );
    }),
  );
  const count = done.filter(Boolean).length;
  if (count > 0) tell("good", count === 1 ? "1 job was changed" : `${count} jobs were changed`);
  void current.peek()?.refresh();
  return count === jobs.length;
}

/** Removes ended jobs with all of their files. */
export async function removeJobs(jobs: Job[]): Promise<boolean> {
  const done = await Promise.all(
    jobs.map((job) =>
      attempt(job.name, "the removal", () => api.deleteJob({ id: job.id, "If-Match": tagOf(job) })),
    ),
  );
  const count = done.filter(Boolean).length;
  if (count > 0) tell("good", count === 1 ? "1 job was deleted" : `${count} jobs were deleted`);
  return count === jobs.length;
}

export async function removeCheckpoints(job: Job, checkpoints: Checkpoint[]): Promise<void> {
  const done = await Promise.all(
    checkpoints.map(({ step }) =>
      attempt(`step ${step}`, "the removal", () => api.deleteCheckpoint({ id: job.id, step })),
    ),
  );
  const count = done.filter(Boolean).length;
  if (count > 0)
    tell("good", count === 1 ? "1 checkpoint was deleted" : `${count} checkpoints were deleted`);
}

const WORD = /^([^=\s]+)=(\S*)$/;

/** "team=vision purpose=test" as labels; null when a word is none. */
export function labelsOf(text: string): Record<string, string> | null {
  const labels: Record<string, string> = {};
  for (const word of text.split(/[\s,]+/).filter(Boolean)) {
    const match = WORD.exec(word);
    if (!match) return null;
    labels[match[1] as string] = match[2] as string;
  }
  return labels;
}

export const labelsText = (labels: Record<string, string>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(" ");
