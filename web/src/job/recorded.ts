/* Reading what a run recorded. Before its first process has made the run store there is nothing to
 * ask for: the pages then say so themselves, instead of collecting refusals. */
import { ApiError } from "@/api/transport";
import { useResource, type Resource } from "@/base/resource";
import type { JobModel } from "@/job/model";
import { isFinal } from "@/job/state";
import type { Job } from "@generated/client";

/** The model's name is the first thing that a run writes down. */
export const isRecorded = (job: Job | null): boolean =>
  job !== null && job.model !== null && !job.folder_gone;

/* Why there is nothing to ask for. */
function whyNot(job: Job | null): string {
  if (job?.folder_gone)
    return `its folder was removed, ${job.model_dir}: what the run recorded was in it`;
  if (job && isFinal(job.state)) return "the job has ended before it recorded anything";
  if (job?.waiting_for) return `the job has not started: it waits for ${job.waiting_for}`;
  return "the job has not started yet";
}

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
    return Promise.reject(new ApiError(404, { detail: whyNot(job) }));
  };
  return useResource(guarded, [model.id, recorded, ...keys], every_ms);
}
