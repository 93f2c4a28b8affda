/* Points as they arrive, by series and attempt, ready to be drawn behind what the server gave in
 * buckets. Bounded: a tab that stays open for days keeps the newest; the page asks the server for
 * the older ones again. */
import type { MetricEvent } from "@generated/client";

const KEPT_POINTS = 8192;

export interface LiveSeries {
  attempt: number;
  step: number[];
  time_ms: number[];
  value: (number | null)[];
}

function push(live: LiveSeries, step: number, time_ms: number, value: number | null): void {
  const last = live.step[live.step.length - 1];
  if (last !== undefined && step <= last) return;
  live.step.push(step);
  live.time_ms.push(time_ms);
  live.value.push(value);
  if (live.step.length <= KEPT_POINTS * 2) return;
  for (const column of [live.step, live.time_ms, live.value]) column.splice(0, KEPT_POINTS);
}

export class LivePoints {
  private readonly series = new Map<string, LiveSeries[]>();
  private readonly listeners = new Set<(names: Set<string>) => void>();
  private changed = new Set<string>();
  private frame = 0;

  add(event: MetricEvent): void {
    for (const [name, points] of Object.entries(event.series)) {
      const live = this.of(name, event.attempt ?? 1);
      for (const [step, time_ms, value] of points)
        push(live, Number(step), Number(time_ms), typeof value === "number" ? value : null);
      this.changed.add(name);
    }
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.tell());
  }

  get(name: string): LiveSeries[] {
    return this.series.get(name) ?? [];
  }

  last(name: string): { step: number; value: number | null } | undefined {
    const attempts = this.series.get(name);
    const live = attempts?.[attempts.length - 1];
    if (!live || live.step.length === 0) return undefined;
    const at = live.step.length - 1;
    return { step: live.step[at] as number, value: live.value[at] ?? null };
  }

  names(): string[] {
    return [...this.series.keys()];
  }

  /** Calls back once a frame with the names of the series that have new points. */
  listen(listener: (names: Set<string>) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private of(name: string, attempt: number): LiveSeries {
    let attempts = this.series.get(name);
    if (!attempts) this.series.set(name, (attempts = []));
    let live = attempts.find((one) => one.attempt === attempt);
    if (!live) attempts.push((live = { attempt, step: [], time_ms: [], value: [] }));
    return live;
  }

  private tell(): void {
    this.frame = 0;
    const names = this.changed;
    this.changed = new Set();
    for (const listener of this.listeners) listener(names);
  }
}
