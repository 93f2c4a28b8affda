/* The contract of a page: its file in src/pages ends with `export const page`. */
import type { ComponentType } from "preact";
import type { IconName } from "@/components/Icon";

export interface PageEntry {
  /** In the address: #/NAME, or #/jobs/ID/NAME for a page of a job. */
  name: string;
  /** Pages stand by rising order. */
  order: number;
  title: string;
  icon: IconName;
  /** Of the shortcut: g, then this. */
  key: string;
  view: ComponentType;
  ofJob?: boolean;
  /** Fills the window and scrolls inside. */
  fill?: boolean;
  /** Needs a server: not in a report. */
  live?: boolean;
}

/** Of a dialog of the frame; the pages are given to it, since it is loaded later. */
export interface AskedProps {
  pages: PageEntry[];
  job: string | null;
  onClose: () => void;
}
