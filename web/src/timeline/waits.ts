/* Who waits for whom, of the spans of sampled steps. A wait ends when somebody has finished what was
 * wanted: it is put down to the process whose work ended last within it. That an input worker waits
 * means that its samples are not wanted yet, and holds nobody up. */
import type { Trace } from "@generated/client";

export interface Span {
  kind: string;
  start_us: number;
  end_us: number;
}

export interface Lane {
  name: string;
  spans: Span[];
}

/** Lanes of processes, by name. */
export function lanesOf(trace: Trace): Lane[] {
  const names = new Map<string, string>();
  const lanes = new Map<string, Lane>();
  const keyOf = (event: Trace["traceEvents"][number]) => `${event.pid}/${event.tid}`;
  for (const event of trace.traceEvents) {
    const name = (event.args as { name?: string } | undefined)?.name;
    if (event.ph === "M" && event.name === "thread_name" && name) names.set(keyOf(event), name);
    if (event.ph === "M" && event.name === "process_name" && name && !names.has(keyOf(event)))
      names.set(`${event.pid}`, name);
  }
  for (const event of trace.traceEvents) {
    if (event.ph !== "X" || event.ts === undefined) continue;
    const key = keyOf(event);
    let lane = lanes.get(key);
    if (!lane) {
      const name = names.get(key) ?? names.get(`${event.pid}`) ?? `process ${event.tid}`;
      lanes.set(key, (lane = { name, spans: [] }));
    }
    lane.spans.push({ kind: event.name, start_us: event.ts, end_us: event.ts + (event.dur ?? 0) });
  }
  return [...lanes.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** The spans of one step of what was sampled. */
export function lanesOfStep(trace: Trace | undefined, step: number | undefined): Lane[] {
  const events = (trace?.traceEvents ?? []).filter((event) => {
    const at = (event.args as { step?: number } | undefined)?.step;
    return at === undefined || step === undefined || at === step;
  });
  return lanesOf({ ...(trace as Trace), traceEvents: events });
}

export interface Wait {
  who: string;
  /** null: nobody's work ended within it that was sampled. */
  whom: string | null;
  /** What that process did. */
  kind: string;
  /** When the work ended, and the wait. */
  done_us: number;
  end_us: number;
  us: number;
}

const isWaiting = (lane: Lane): boolean => !/^input worker/.test(lane.name);

export function waitsOf(lanes: Lane[]): Wait[] {
  const work = lanes.flatMap((lane) =>
    lane.spans.filter((s) => s.kind !== "wait").map((span) => ({ lane, span })),
  );
  return lanes.filter(isWaiting).flatMap((lane) =>
    lane.spans
      .filter((s) => s.kind === "wait")
      .map((wait): Wait => {
        let last: (typeof work)[number] | undefined;
        for (const one of work) {
          const { end_us } = one.span;
          if (one.lane === lane || end_us <= wait.start_us || end_us > wait.end_us) continue;
          if (!last || end_us > last.span.end_us) last = one;
        }
        return {
          who: lane.name,
          whom: last?.lane.name ?? null,
          kind: last?.span.kind ?? "",
          done_us: last?.span.end_us ?? wait.start_us,
          end_us: wait.end_us,
          us: wait.end_us - wait.start_us,
        };
      }),
  );
}

export interface Straggler {
  name: string;
  /** How long others waited for it, and in how many of the steps. */
  us: number;
  steps: number;
  /** What they waited for most. */
  kind: string;
}

/** The processes that others waited for, most first; `steps` are the lanes of each sampled step. */
export function stragglersOf(steps: Lane[][]): Straggler[] {
  const found = new Map<string, { us: number; steps: Set<number>; kinds: Map<string, number> }>();
  steps.forEach((lanes, at) => {
    for (const { whom, us, kind } of waitsOf(lanes)) {
      if (whom === null) continue;
      const one = found.get(whom) ?? { us: 0, steps: new Set<number>(), kinds: new Map() };
      one.us += us;
      one.steps.add(at);
      one.kinds.set(kind, (one.kinds.get(kind) ?? 0) + us);
      found.set(whom, one);
    }
  });
  return [...found]
    .map(([name, { us, steps: of, kinds }]) => ({
      name,
      us,
      steps: of.size,
      kind: [...kinds].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "",
    }))
    .sort((a, b) => b.us - a.us || a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** 12.3 ms, 456 µs. */
export const textOfTime = (us: number): string =>
  us >= 1e6
    ? `${(us / 1e6).toFixed(2)} s`
    : us >= 1000
      ? `${(us / 1000).toFixed(us >= 1e4 ? 1 : 2)} ms`
      : `${us.toFixed(us < 10 ? 1 : 0)} µs`;
