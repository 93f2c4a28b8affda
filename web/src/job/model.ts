/* What is known of the job that the tab looks at: read once over REST, then kept up to date by the
 * stream. Pages read its signals; only what changed is drawn again. A page that wants more (graph,
 * buckets, old logs) asks for it itself. */
import { batch, signal } from "@preact/signals";
import {
  api,
  type Closure,
  type Event as StreamEvent,
  type GapEvent,
  type Job,
  type LogLine,
  type MetricEvent,
  type State,
  type StateEvent,
  type TopologySample,
  type Transition,
} from "@generated/client";
import { ApiError } from "@/api/transport";
import { JobStream, streamStatus } from "@/api/stream";
import { LivePoints } from "@/job/live";
import { isRecorded } from "@/job/recorded";

declare const IS_REPORT: boolean;

const KEPT_CLOSURES = 2000;
const KEPT_LOGS = 20_000;
const KEPT_SAMPLES = 240;
const REFRESH_MS = 2000;

const FINAL = new Set<State>(["SUCCEEDED", "FAILED", "CANCELLED"]);
export const isFinal = (state: State): boolean => FINAL.has(state);

/* A row published before the database assigned its id sorts after all rows that have one. */
const NO_ID_YET = 1e12;
const withId = (event: StreamEvent): object => ({
  id: NO_ID_YET + event.id,
  ...(event.payload as object),
});

export class JobModel {
  readonly job = signal<Job | null>(null);
  readonly error = signal<ApiError | null>(null);
  readonly transitions = signal<Transition[]>([]);
  readonly names = signal<string[]>([]);
  readonly live = new LivePoints();
  readonly closures = signal<Closure[]>([]);
  readonly logs = signal<LogLine[]>([]);
  readonly topology = signal<TopologySample[]>([]);
  readonly gaps = signal<GapEvent[]>([]);
  /** Count changes: pages that show such things read them again. */
  readonly checkpointsVersion = signal(0);
  readonly numericsVersion = signal(0);

  private stream: JobStream | undefined;
  private refreshTimer: number | undefined;
  private closed = false;
  private newClosures: Closure[] = [];
  private newLogs: LogLine[] = [];
  private flushTimer: number | undefined;

  constructor(readonly id: string) {
    void this.start();
  }

  close(): void {
    this.closed = true;
    this.stream?.close();
    clearInterval(this.refreshTimer);
    clearTimeout(this.flushTimer);
    streamStatus.value = "off";
  }

  private async start(): Promise<void> {
    await this.refresh();
    if (this.closed || !this.job.peek()) return;
    let lastEventId = 0;
    try {
      /* A queued job has no metrics yet; they arrive over the stream. */
      if (isRecorded(this.job.peek())) {
        const metrics = await api.getMetrics({ id: this.id, names: ["loss"], max_points: 1 });
        this.names.value = metrics.names;
        lastEventId = metrics.last_event_id;
      }
    } catch {
      /* As above: the run store is just being created. */
    }
    if (this.closed) return;
    if (IS_REPORT) {
      streamStatus.value = "ended";
      return;
    }
    this.stream = new JobStream(
      this.id,
      lastEventId,
      (event) => this.take(event),
      async () => {
        await this.refresh();
        const job = this.job.peek();
        return job !== null && isFinal(job.state) && !job.alive;
      },
    );
    this.refreshTimer = setInterval(() => void this.refresh(), REFRESH_MS) as unknown as number;
  }

  /** Reads the job and its transitions again. */
  async refresh(): Promise<void> {
    try {
      const job = await api.getJob({ id: this.id });
      const before = this.job.peek();
      const isNew = before?.state !== job.state || before?.attempt !== job.attempt;
      batch(() => {
        this.job.value = job;
        this.error.value = null;
      });
      if (isNew || this.transitions.peek().length === 0)
        this.transitions.value = (await api.listTransitions({ id: this.id })).transitions;
    } catch (error) {
      if (error instanceof ApiError) this.error.value = error;
    }
  }

  private take(event: StreamEvent): void {
    switch (event.type) {
      case "metric":
        this.takeMetrics(event.payload as MetricEvent);
        break;
      case "state":
        this.takeState(event.payload as StateEvent);
        break;
      case "closure":
        this.newClosures.push(withId(event) as Closure);
        this.flushSoon();
        break;
      case "log":
        this.newLogs.push(withId(event) as LogLine);
        this.flushSoon();
        break;
      case "topology":
        this.topology.value = [
          ...this.topology.peek(),
          { time_ms: event.time_ms, ...(event.payload as object) } as TopologySample,
        ].slice(-KEPT_SAMPLES);
        break;
      case "checkpoint":
        this.checkpointsVersion.value++;
        break;
      case "numerics":
        this.numericsVersion.value++;
        break;
      case "gap":
        this.gaps.value = [...this.gaps.peek(), event.payload as GapEvent].slice(-20);
        break;
      case "end":
        void this.refresh();
        break;
    }
  }

  private takeMetrics(event: MetricEvent): void {
    this.live.add(event);
    const known = new Set(this.names.peek());
    const added = Object.keys(event.series).filter((name) => !known.has(name));
    if (added.length > 0) this.names.value = [...known, ...added];
  }

  private takeState(event: StateEvent): void {
    const job = this.job.peek();
    if (job)
      this.job.value = { ...job, state: event.to_state, attempt: event.attempt ?? job.attempt };
    void this.refresh();
  }

  /* Frequent closures and log lines are batched: one rendering per frame at most. */
  private flushSoon(): void {
    if (this.flushTimer !== undefined) return;
    this.flushTimer = setTimeout(() => {
      this.flushTimer = undefined;
      batch(() => {
        if (this.newClosures.length > 0)
          this.closures.value = [...this.closures.peek(), ...this.newClosures].slice(
            -KEPT_CLOSURES,
          );
        if (this.newLogs.length > 0)
          this.logs.value = [...this.logs.peek(), ...this.newLogs].slice(-KEPT_LOGS);
      });
      this.newClosures = [];
      this.newLogs = [];
    }, 60) as unknown as number;
  }
}

/** The one job of this tab; null on pages that belong to none. */
export const current = signal<JobModel | null>(null);

export function openJob(id: string | null): void {
  const model = current.peek();
  if (model?.id === id) return;
  model?.close();
  current.value = id === null ? null : new JobModel(id);
}
