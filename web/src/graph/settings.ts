/* Other precisions to try from a step of a run: which setting each changes, and the job that does. */
import type { Checkpoint, ForkRequest, Job, JobSpec } from "@generated/client";
import { integer } from "@/base/format";

export interface Change {
  key: string;
  /** For people. */
  text: string;
  /** Dotted path of the setting, and its value. */
  path: string;
  value: string | number;
}

const SECTION = "trainer.init.precision";

/** What can be tried for a module; its list of settings is replaced as a whole. */
export function changesFor(scope: string): Change[] {
  const pattern = scope.replace(/\[\d+-\d+\]/, "*");
  const own = pattern && pattern !== "inputs" && pattern !== "results" && pattern !== "optimizer";
  return [
    ...(own
      ? [
          {
            key: "own-float32",
            text: "this module as it is written, without 16-bit formats",
            path: `${SECTION}.disable_graphamp`,
            value: `["${pattern}*"]`,
          },
          {
            key: "own-pol0",
            text: "this module at POL 0",
            path: `${SECTION}.pol`,
            value: `[{scope: "${pattern}*", level: 0}]`,
          },
        ]
      : []),
    ...[0, 1, 2].map((level) => ({
      key: `pol${level}`,
      text: `the model at POL ${level}`,
      path: `${SECTION}.precision_opt_level`,
      value: level,
    })),
    ...["bfloat16", "float16", "cbfloat16"].map((format) => ({
      key: format,
      text: `the model's 16-bit format ${format}`,
      path: `${SECTION}.fp16_type`,
      value: format,
    })),
  ];
}

/** The newest checkpoint before a step; of all, where no step is named; null: there is none. */
export function startFor(checkpoints: Checkpoint[], before: number | null): Checkpoint | null {
  const there = checkpoints
    .filter((one) => !one.deleted && (before === null || one.step < before))
    .sort((a, b) => b.step - a.step);
  return there[0] ?? null;
}

const MOST_NAME = 200;
const LABEL = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;

const labelsFor = (job: Job, spec: JobSpec | null): Record<string, string> => ({
  ...spec?.labels,
  ...(LABEL.test(job.id) ? { fork_of: job.id } : {}),
});

/** The same job but for one setting, from the beginning. */
export function specFor(job: Job, spec: JobSpec | null, config: string, change: Change): JobSpec {
  const base: JobSpec = spec?.program === undefined ? { ...spec, config } : { ...spec };
  const next: JobSpec = {
    ...base,
    name: `${job.name} ${change.key}`.slice(0, MOST_NAME),
    labels: labelsFor(job, spec),
    overrides: { ...base.overrides, [change.path]: change.value },
  };
  delete next.resume_from;
  delete next.fork_from;
  return next;
}

/** A fork with one setting changed: the server has the run's configuration, as it was resolved. */
export function forkFor(job: Job, spec: JobSpec | null, change: Change, step: number): ForkRequest {
  const { priority, resources, restart_policy } = spec ?? {};
  return {
    step,
    name: `${job.name} ${change.key} from ${step}`.slice(0, MOST_NAME),
    labels: labelsFor(job, spec),
    overrides: { [change.path]: change.value },
    ...(priority ? { priority } : {}),
    ...(resources ? { resources } : {}),
    ...(restart_policy ? { restart_policy } : {}),
  };
}

/** What a fork at a step takes before it goes on, in words. */
export function againFor(checkpoints: Checkpoint[], step: number): string {
  const before = startFor(checkpoints, step + 1)?.step ?? 0;
  if (before === step) return "There is a checkpoint of it.";
  const [first, last] = [integer(before + 1), integer(step)];
  return first === last
    ? `There is no checkpoint of it: step ${last} is done again first, and compared by its digest.`
    : `There is no checkpoint of it: steps ${first} to ${last} are done again first, and compared by their digests.`;
}

/** The command that makes the same fork. */
export function commandFor(job: Job, change: Change, step: number): string {
  const value = typeof change.value === "number" ? String(change.value) : change.value;
  return (
    `csengine fork ${job.model_dir} --at ${step} --model_dir NEW_FOLDER ` +
    `--set '${change.path}=${value}'`
  );
}
