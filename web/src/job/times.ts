/* Times of kernels in a sampled step, and what follows from them. */
import type { Kernels } from "@generated/client";
import { number } from "@/base/format";
import type { KernelRow } from "@/graph/format";

export type KernelTime = Kernels["kernels"][number];

export interface KernelTimes {
  step: number;
  processes: string[];
  /** Of all kernels, over all processes. */
  total_ns: number;
  of: Map<number, KernelTime>;
}

/** Of the time of all kernels; null where none was timed. */
export function shareOf(times: KernelTimes | undefined, kernels: Iterable<number>): number | null {
  if (!times || times.total_ns === 0) return null;
  return nanoseconds(times, kernels) / times.total_ns;
}

export function nanoseconds(times: KernelTimes, kernels: Iterable<number>): number {
  let sum = 0;
  for (const kernel of kernels) sum += times.of.get(kernel)?.total_ns ?? 0;
  return sum;
}

/** Of the kernel and those of equal layers that it stands for; undefined: not timed. */
export function timeOf(times: KernelTimes | undefined, row: KernelRow): KernelTime | undefined {
  let sum: KernelTime | undefined;
  for (const id of row.alike) {
    const one = times?.of.get(id);
    if (one && !sum) sum = { ...one };
    else if (one && sum) {
      const calls = sum.calls + one.calls;
      sum.median_ns = (sum.median_ns * sum.calls + one.median_ns * one.calls) / calls;
      sum.calls = calls;
      sum.total_ns += one.total_ns;
      sum.min_ns = Math.min(sum.min_ns, one.min_ns);
    }
  }
  return sum;
}

/** Bytes read and written in one second of the kernel's time. An update's calls are line ranges that together move the kernel's bytes once; the others move them in each call. */
export function bytesPerSecond(row: KernelRow, time: KernelTime | undefined): number | null {
  if (!time || time.total_ns === 0) return null;
  const times = row.part === "update" ? row.alike.length : time.calls;
  return ((row.readBytes + row.writtenBytes) * times * 1e9) / time.total_ns;
}

/** 12.3 ms, 456 µs, 78 ns. */
export function shortTime(ns: number): string {
  if (ns >= 1e9) return `${number(ns / 1e9, 3)} s`;
  if (ns >= 1e6) return `${number(ns / 1e6, 3)} ms`;
  return ns >= 1e3 ? `${number(ns / 1e3, 3)} µs` : `${Math.round(ns)} ns`;
}

export function gigabytes(perSecond: number | null): string {
  if (perSecond === null) return "–";
  return `${number(perSecond / 1e9, 3)} GB/s`;
}
