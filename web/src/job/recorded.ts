/* Reading what a run recorded. Before its first process has made the run store there is nothing to
 * ask for: the pages then say so themselves, instead of collecting refusals. */
import { ApiError } from "@/api/transport";
import { useResource, type Resource } from "@/base/resource";
import type { JobModel } from "@/job/model";
import type { Job } from "@generated/client";

/** The model's name is the first thing that a run writes down. */
export const isRecorded = (job: Job | null): boolean => job !== null && job.model !== null;

export function useRecorded<T>(
  model: JobModel,
  read: () => Promise<T>,
  keys: readonly unknown[],
  every_ms = 0,
): Resource<T> {
  const job = model.job.value;
  const recorded = isRecorded(job);
  const guarded = () => {
    if (recorded) return read();
    const detail = job?.waiting_for
      ? `the job has not started: it waits for ${job.waiting_for}`
      : "the job has not started yet";
    return Promise.reject(new ApiError(404, { detail }));
  };
  return useResource(guarded, [model.id, recorded, ...keys], every_ms);
}
