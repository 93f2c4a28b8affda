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

export class LivePoints {
  private readonly series = new Map<string, LiveSeries[]>();
  private readonly listeners = new Set<(names: Set<string>) => void>();
  private changed = new Set<string>();
  private frame = 0;

  add(event: MetricEvent, time_ms: number): void {
    for (const point of event.points) {
      const live = this.of(point.series, event.attempt);
      const last = live.step[live.step.length - 1];
      if (last !== undefined && point.step <= last) continue;
      live.step.push(point.step);
      live.time_ms.push(point.time_ms ?? time_ms);
      live.value.push(point.value);
      if (live.step.length > KEPT_POINTS * 2)
        for (const column of [live.step, live.time_ms, live.value])
          column.splice(0, KEPT_POINTS);
      this.changed.add(point.series);
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
