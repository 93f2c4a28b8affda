/* What is drawn of a host: its figures as curves over the time. A figure that the host does not tell
 * stays without a curve. */
import type { MachineHost } from "@generated/client";
import type { Curve } from "@/components/plot";

type Figure = keyof MachineHost["figures"];

export interface Part {
  /** As the API names what is not readable. */
  name: string;
  title: string;
  /** Why it is not readable, where it is not. */
  from: string;
  unit?: string;
  bounds?: [number, number];
  figures: readonly (readonly [Figure, string, token: string, factor: number])[];
}

export const PARTS: readonly Part[] = [
  {
    name: "cores",
    title: "Cores, busy share of all",
    from: "/proc/stat does not tell it",
    bounds: [0, 1],
    figures: [["busy", "busy", "--series-1", 1]],
  },
  {
    name: "clock",
    title: "Clock, GHz",
    from: "neither cpufreq nor /proc/cpuinfo tells it",
    figures: [
      ["clock_mhz", "mean", "--series-0", 1e-3],
      ["clock_least_mhz", "least", "--series-3", 1e-3],
    ],
  },
  {
    name: "memory",
    title: "Memory that is free, GiB",
    from: "/proc/meminfo does not tell it",
    figures: [["memory_free_bytes", "free", "--series-2", 2 ** -30]],
  },
  {
    name: "disk",
    title: "Disk, MB/s",
    from: "/proc/diskstats does not tell it",
    figures: [
      ["disk_read_mb_per_second", "read", "--series-0", 1],
      ["disk_written_mb_per_second", "written", "--series-1", 1],
    ],
  },
  {
    name: "network",
    title: "Network, MB/s",
    from: "/proc/net/dev shows the run no device that leaves the host, as where jobs are confined",
    figures: [
      ["network_received_mb_per_second", "received", "--series-0", 1],
      ["network_sent_mb_per_second", "sent", "--series-1", 1],
    ],
  },
  {
    name: "temperature",
    title: "Temperature, °C",
    from: "there is no sensor in hwmon, and no thermal zone",
    figures: [["temperature_celsius", "hottest sensor", "--series-6", 1]],
  },
];

export function curvesOf(part: Part, host: MachineHost): Curve[] {
  return part.figures.map(([figure, label, token, factor]) => ({
    label,
    colour: token,
    x: host.time_ms,
    y: host.figures[figure].map((value) => (value === null ? null : value * factor)),
  }));
}

/** A row for each core, a share for each time; none where the host tells of no core. */
export function coresOf(host: MachineHost): (number | null)[][] {
  const times = host.cores as (number[] | null)[];
  const most = Math.max(0, ...times.map((one) => one?.length ?? 0));
  return Array.from({ length: most }, (_, core) => times.map((one) => one?.[core] ?? null));
}
