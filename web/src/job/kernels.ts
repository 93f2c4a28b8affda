/* How long the kernels of the step took, in the newest sampled step. */
import { useMemo } from "preact/hooks";
import { api, type Kernels } from "@generated/client";
import type { JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import type { KernelTimes } from "@/job/times";

export * from "@/job/times";

export interface Timing {
  times: KernelTimes | undefined;
  /** Why there are none. */
  missing: string | null;
}

const REFRESH_MS = 10_000;

function read(answer: Kernels): KernelTimes | undefined {
  if (answer.step === null) return undefined;
  return {
    step: answer.step,
    processes: answer.processes,
    total_ns: answer.kernels.reduce((all, one) => all + one.total_ns, 0),
    of: new Map(answer.kernels.map((one) => [one.kernel, one])),
  };
}

export function useKernels(model: JobModel, ready: boolean, hash: string): Timing {
  const none = { attempt: 0, step: null, processes: [], kernels: [], missing: null };
  const answer = useRecorded<Kernels>(
    model,
    () => (ready ? api.getKernels({ id: model.id }) : Promise.resolve(none)),
    [hash, ready],
    ready && model.job.value?.state === "RUNNING" ? REFRESH_MS : 0,
  );
  const { data, error } = answer;
  /* The object is kept while the sample is the same, so that the drawing is not rebuilt. */
  const times = useMemo(() => data && read(data), [data?.attempt, data?.step]);
  return { times, missing: data?.missing ?? error?.message ?? null };
}
