/* The list of pages: name in the address, title, icon, key of the shortcut, component. Adding a
 * page is one line here. */
import type { ComponentType } from "preact";
import type { IconName } from "@/components/Icon";
import { Checkpoints } from "@/pages/Checkpoints";
import { Closures } from "@/pages/Closures";
import { Cluster } from "@/pages/Cluster";
import { Config } from "@/pages/Config";
import { Curves } from "@/pages/Curves";
import { Data } from "@/pages/Data";
import { Jobs } from "@/pages/Jobs";
import { Logs } from "@/pages/Logs";
import { Numerics } from "@/pages/Numerics";
import { Plan } from "@/pages/Plan";
import { Pulse } from "@/pages/Pulse";
import { Samples } from "@/pages/Samples";
import { StepGraph } from "@/pages/StepGraph";
import { Submit } from "@/pages/Submit";
import { Timeline } from "@/pages/Timeline";
import { Topology } from "@/pages/Topology";

export interface PageEntry {
  name: string;
  title: string;
  icon: IconName;
  key: string;
  view: ComponentType;
  ofJob?: boolean;
  /** Fills the window and scrolls inside. */
  fill?: boolean;
  /** Needs a server: not in a report. */
  live?: boolean;
}

export const PAGES: PageEntry[] = [
  { name: "jobs", title: "Jobs", icon: "jobs", key: "j", view: Jobs },
  {
    name: "submit",
    title: "Submit",
    icon: "submit",
    key: "s",
    view: Submit,
    fill: true,
    live: true,
  },
  { name: "cluster", title: "Cluster", icon: "cluster", key: "u", view: Cluster, live: true },
  { name: "pulse", title: "Pulse", icon: "pulse", key: "p", view: Pulse, ofJob: true },
  { name: "curves", title: "Curves", icon: "curves", key: "c", view: Curves, ofJob: true },
  { name: "topology", title: "Topology", icon: "topology", key: "t", view: Topology, ofJob: true },
  {
    name: "graph",
    title: "Step graph",
    icon: "graph",
    key: "g",
    view: StepGraph,
    ofJob: true,
    fill: true,
  },
  { name: "timeline", title: "Timeline", icon: "timeline", key: "m", view: Timeline, ofJob: true },
  { name: "samples", title: "Samples", icon: "samples", key: "e", view: Samples, ofJob: true },
  { name: "data", title: "Data", icon: "data", key: "d", view: Data, ofJob: true },
  { name: "numerics", title: "Numerics", icon: "numerics", key: "n", view: Numerics, ofJob: true },
  {
    name: "plan",
    title: "Plan",
    icon: "cluster",
    key: "h",
    view: Plan,
    ofJob: true,
    live: true,
  },
  {
    name: "closures",
    title: "Closures",
    icon: "closures",
    key: "l",
    view: Closures,
    ofJob: true,
    fill: true,
  },
  {
    name: "checkpoints",
    title: "Checkpoints",
    icon: "checkpoints",
    key: "k",
    view: Checkpoints,
    ofJob: true,
  },
  { name: "logs", title: "Logs", icon: "logs", key: "o", view: Logs, ofJob: true, fill: true },
  {
    name: "config",
    title: "Config",
    icon: "config",
    key: "f",
    view: Config,
    ofJob: true,
    fill: true,
  },
];

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
