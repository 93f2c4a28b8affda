/* Links from other pages to a step of the past and its tensors. */
import { href } from "@/base/route";

declare const IS_REPORT: boolean;

/** A report has no server that could do a step again. */
export const canReplay = (): boolean => !IS_REPORT;

/** The tensors of a step; with `begin`, the step is done again at once where nobody has asked. */
export function stepLink(
  job: string,
  what: { step?: number; tensor?: string; filter?: string; begin?: boolean },
): string {
  const query = new URLSearchParams();
  if (what.step !== undefined) query.set("step", String(what.step));
  if (what.tensor) query.set("tensor", what.tensor);
  if (what.filter) query.set("filter", what.filter);
  if (what.begin) query.set("begin", "1");
  return href(`/jobs/${encodeURIComponent(job)}/tensors?${query.toString()}`);
}
