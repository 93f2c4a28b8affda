/* A past step of the job at hand: whether it was done again, how far that is, and what was found. */
import { useState } from "preact/hooks";
import {
  api,
  type StepList,
  type StepReplay,
  type StepTensors,
  type StepTensor,
} from "@generated/client";
import type { ApiError } from "@/api/transport";
import type { Resource } from "@/base/resource";
import type { JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";

const POLL_MS = 400;

/** The checkpoint that a replay begins from; 0: the start of the run. */
export const beginOf = (step: number, checkpoints: number[]): number =>
  Math.max(0, ...checkpoints.filter((one) => one < step));

/** Of the steps that are to be done again. */
export function shareOf(one: StepReplay, checkpoints: number[]): number {
  const from = beginOf(one.step, checkpoints);
  return one.last_step === null ? 0 : (one.last_step - from) / Math.max(1, one.step - from);
}

export interface Replay {
  /** That was asked for, or the run's last one. */
  step: number;
  list: Resource<StepList>;
  /** Of this step. */
  own: StepReplay | undefined;
  /** What runs for other steps. */
  other: StepReplay | undefined;
  answer: Resource<StepTensors | undefined>;
  tensors: StepTensor[];
  /** Why it could not be begun or ended. */
  refusal: ApiError | undefined;
  busy: boolean;
  begin: (pattern: string) => void;
  end: (step: number) => void;
}

export function useReplay(model: JobModel, asked: number | null): Replay {
  const [refusal, setRefusal] = useState<ApiError | undefined>();
  const [busy, setBusy] = useState(false);
  const [isRunning, setRunning] = useState(false);
  const { id } = model;
  const read = async () => {
    const list = await api.listSteps({ id });
    setRunning(list.replays.some((one) => one.state === "running"));
    return list;
  };
  const list = useRecorded(model, read, [], isRunning ? POLL_MS : 0);
  const step = asked ?? list.data?.last_step ?? 0;
  const replays = list.data?.replays ?? [];
  const own = replays.find((one) => one.step === step);
  const other = replays.find((one) => one.step !== step && one.state === "running");
  const isDone = own?.state === "done";
  const answer = useRecorded(
    model,
    () => (isDone ? api.getStepTensors({ id, step }) : Promise.resolve(undefined)),
    [step, isDone, JSON.stringify(own?.options)],
  );
  const attempt = (task: Promise<unknown>) => {
    setBusy(true);
    setRefusal(undefined);
    task
      .catch((error: ApiError) => setRefusal(error))
      .finally(() => {
        setBusy(false);
        list.reload();
      });
  };
  return {
    step,
    list,
    own,
    other,
    answer,
    tensors: answer.data?.step === step ? (answer.data.answer?.tensors ?? []) : [],
    refusal,
    busy,
    begin: (pattern) => {
      const tensor = pattern.trim();
      attempt(api.replayStep({ id, step }, { keep: true, ...(tensor ? { tensor } : {}) }));
    },
    end: (which) => attempt(api.endReplay({ id, step: which })),
  };
}
