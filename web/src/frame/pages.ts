/* The list of pages, and which of them an address means. */
import { found } from "@generated/pages";
import type { PageEntry } from "@/frame/page";

export type { PageEntry };

export const PAGES: PageEntry[] = found.sort((a, b) => a.order - b.order);

export interface Place {
  page: PageEntry | undefined;
  job: string | null;
}

export function pageOf(parts: string[]): Place {
  const find = (name: string, ofJob: boolean) =>
    PAGES.find((page) => page.name === name && (page.ofJob ?? false) === ofJob);
  if (parts.length === 0) return { page: find("jobs", false), job: null };
  if (parts[0] === "jobs" && parts.length > 1)
    return { page: find(parts[2] ?? "pulse", true), job: parts[1] as string };
  return { page: find(parts[0] as string, false), job: null };
}
