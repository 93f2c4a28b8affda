/* What a new job is asked for with: the fields of the form, and what another job was asked for
 * beside them. A copy of a job carries all of it, so that it is the same run; what no field of the
 * form holds is listed, and can be left out. */
import type { JobSpec, Priority } from "@generated/client";

export interface Form {
  name: string;
  priority: Priority;
  labels: string;
  cores: string;
  restarts: string;
  resumeJob: string;
  resumeStep: string;
}

/** What no field of the form holds. */
export type Carried = Omit<
  JobSpec,
  "config" | "name" | "priority" | "labels" | "restart_policy" | "resume_from"
>;

export const EMPTY_FORM: Form = {
  name: "",
  priority: "p2",
  labels: "",
  cores: "",
  restarts: "",
  resumeJob: "",
  resumeStep: "",
};

const textOf = (value: number | undefined): string => (value === undefined ? "" : String(value));

export const labelsText = (labels: Record<string, string> | undefined): string =>
  Object.entries(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(" ");

export function formOf(spec: JobSpec): Form {
  return {
    name: spec.name ?? "",
    priority: spec.priority ?? "p2",
    labels: labelsText(spec.labels),
    cores: textOf(spec.resources?.cores),
    restarts: textOf(spec.restart_policy?.max_num_restarts),
    resumeJob: spec.resume_from?.job ?? "",
    resumeStep: spec.resume_from?.step === undefined ? "" : String(spec.resume_from.step),
  };
}

export function carriedOf(spec: JobSpec): Carried {
  const rest: Partial<JobSpec> = { ...spec };
  for (const name of ["config", "name", "priority", "labels", "restart_policy", "resume_from"])
    delete rest[name as keyof JobSpec];
  const memory_bytes = spec.resources?.memory_bytes;
  delete rest.resources;
  return { ...rest, ...(memory_bytes ? { resources: { memory_bytes } } : {}) };
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .split(/[\s,]+/)
      .filter(Boolean)
      .map((word) => {
        const [key, ...value] = word.split("=");
        return [key as string, value.join("=")];
      }),
  );
}

export function specOf(config: string, form: Form, carried: Carried): JobSpec {
  const spec: JobSpec = { ...carried, priority: form.priority };
  if (carried.program === undefined) spec.config = config;
  if (form.name.trim()) spec.name = form.name.trim();
  const labels = labelsOf(form.labels);
  if (Object.keys(labels).length > 0) spec.labels = labels;
  if (form.cores) spec.resources = { ...carried.resources, cores: Number(form.cores) };
  if (form.restarts) spec.restart_policy = { max_num_restarts: Number(form.restarts) };
  if (form.resumeJob)
    spec.resume_from = {
      job: form.resumeJob,
      ...(form.resumeStep !== "" ? { step: Number(form.resumeStep) } : {}),
    };
  return spec;
}

export interface Row {
  /** The setting, or the member of the request. */
  name: string;
  value: string;
  /** The rest, when it is left out; null where nothing is left without it. */
  without: Carried | null;
}

const valueText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

/** What is carried, one row for each. */
export function carriedRows(carried: Carried): Row[] {
  const { overrides = {}, ...rest } = carried;
  const settings = Object.entries(overrides).map(([name, value]) => {
    const others = Object.fromEntries(Object.entries(overrides).filter(([key]) => key !== name));
    const without = Object.keys(others).length > 0 ? { ...rest, overrides: others } : rest;
    return { name, value: valueText(value), without };
  });
  const members = Object.entries(rest).map(([name, value]) => {
    const without: Carried = { ...carried };
    delete without[name as keyof Carried];
    return { name, value: valueText(value), without: name === "program" ? null : without };
  });
  return [...settings, ...members];
}
