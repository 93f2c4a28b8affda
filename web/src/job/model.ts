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
  type Metrics,
  type TopologySample,
  type Transition,
} from "@generated/client";
import { ApiError } from "@/api/transport";
import { JobStream, streamStatus } from "@/api/stream";
import { LivePoints } from "@/job/live";
import { isRecorded } from "@/job/recorded";
import {
  isFinal,
  said,
  takeEvent,
  takeJob,
  takeLatest,
  takeTransitions,
  type Known,
  type Latest,
  type Said,
} from "@/job/state";

export { isFinal } from "@/job/state";

declare const IS_REPORT: boolean;

const KEPT_CLOSURES = 2000;
const KEPT_LOGS = 20_000;
const KEPT_SAMPLES = 240;
const REFRESH_MS = 2000;
const STALE_MS = 150;
const STALE_TRIES = 20; /* then with the other answers, every REFRESH_MS */
const SAID_MS = 200;
/* What is said of a job beside its state: the newest points are read once, then events bring them. */
const SAID_NAMES = ["loss", "loss_scale", "skipped_steps", "samples_per_second"];

/* A row published before the database assigned its id sorts after all rows that have one. */
const NO_ID_YET = 1e12;
const withId = (event: StreamEvent): object => ({
  id: NO_ID_YET + event.id,
  ...(event.payload as object),
});

/* The last point of each series. */
function latestOf(metrics: Metrics): Record<string, Latest> {
  const latest: Record<string, Latest> = {};
  for (const series of metrics.series) {
    const step = (series.last_step ?? series.step).at(-1);
    const other = latest[series.name];
    if (step === undefined || (other && other.attempt > series.attempt)) continue;
    const value = series.value.at(-1) ?? null;
    latest[series.name] = { attempt: series.attempt, step, value };
  }
  return latest;
}

export class JobModel {
  readonly job = signal<Job | null>(null);
  readonly error = signal<ApiError | null>(null);
  readonly transitions = signal<readonly Transition[]>([]);
  /** What pages say of the job: new with each change of its state, and a few times a second. */
  readonly said = signal<Said | null>(null);
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
  private known: Known | null = null;
  private saidTimer: number | undefined;
  private refreshTimer: number | undefined;
  private staleTimer: number | undefined;
  private staleTries = 0;
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
    clearTimeout(this.staleTimer);
    clearTimeout(this.saidTimer);
    streamStatus.value = "off";
  }

  private async start(): Promise<void> {
    await this.refresh();
    if (this.closed || !this.job.peek()) return;
    let lastEventId = 0;
    try {
      /* A queued job has no metrics yet; they arrive over the stream. */
      if (isRecorded(this.job.peek())) {
        const metrics = await api.getMetrics({ id: this.id, names: SAID_NAMES, max_points: 1 });
        this.names.value = metrics.names;
        lastEventId = metrics.last_event_id;
        if (this.known) this.become(takeLatest(this.known, latestOf(metrics)));
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

  /** Reads the job again; its transitions at first, and where events may have been missed. */
  async refresh(): Promise<void> {
    try {
      const read = await api.getJob({ id: this.id });
      const before = this.known;
      this.become(takeJob(before, read));
      this.error.value = null;
      const now = this.job.peek();
      if (before === null || before.job.state_since_ms !== now?.state_since_ms) {
        const { transitions } = await api.listTransitions({ id: this.id });
        if (this.known) this.become(takeTransitions(this.known, transitions));
      }
    } catch (error) {
      if (error instanceof ApiError) this.error.value = error;
    }
    if (this.known?.stale) this.refreshSoon();
    else this.staleTries = 0;
  }

  /* The server reads a change from the run store, which is written a moment after the event. */
  private refreshSoon(): void {
    if (this.staleTimer !== undefined || this.closed || this.staleTries++ > STALE_TRIES) return;
    this.staleTimer = setTimeout(() => {
      this.staleTimer = undefined;
      void this.refresh();
    }, STALE_MS) as unknown as number;
  }

  /* Pages are told of a change of state at once, of steps a few times a second. */
  private become(known: Known): void {
    const before = this.known;
    this.known = known;
    batch(() => {
      this.job.value = known.job;
      this.transitions.value = known.transitions;
      if (before?.job !== known.job) this.say();
    });
    if (before?.latest !== known.latest && this.saidTimer === undefined)
      this.saidTimer = setTimeout(() => this.say(), SAID_MS) as unknown as number;
  }

  private say(): void {
    clearTimeout(this.saidTimer);
    this.saidTimer = undefined;
    if (this.known) this.said.value = said(this.known);
  }

  private take(event: StreamEvent): void {
    if (this.known) this.become(takeEvent(this.known, event));
    switch (event.type) {
      case "metric":
        this.takeMetrics(event.payload as MetricEvent);
        break;
      case "state":
        void this.refresh();
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

/** "No samples yet", or of a run that is over "No samples". */
export function notYet(text: string): string {
  const job = current.value?.job.value;
  return job && isFinal(job.state) ? text : `${text} yet`;
}

export function openJob(id: string | null): void {
  const model = current.peek();
  if (model?.id === id) return;
  model?.close();
  current.value = id === null ? null : new JobModel(id);
}
