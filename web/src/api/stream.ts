/* One event stream for the whole tab, whatever is shown: browsers allow six connections to a
 * server, and every page wants events. It says whether it is live, picks up where it was cut, and
 * knows when it is over.
 *
 * The six are shared by all tabs of a browser. So a tab that cannot be seen lets go of its stream
 * and reads on from where it was when it is seen again, and no more than four tabs hold one at a
 * time: further ones ask every two seconds (StreamStatus "polling") until a place is free.
 *
 * The browser reconnects by itself (with Last-Event-ID) after a cut; after an answer other than
 * 200 it gives up, and we ask again with `after`, at growing intervals. */
import { signal } from "@preact/signals";
import type { Event as StreamEvent } from "@generated/client";

export type StreamStatus = "off" | "connecting" | "live" | "reconnecting" | "polling" | "ended";

export const streamStatus = signal<StreamStatus>("off");

const TYPES = [
  "state",
  "metric",
  "closure",
  "checkpoint",
  "log",
  "topology",
  "numerics",
  "phase",
  "gap",
  "end",
];
const LONGEST_WAIT_MS = 10_000;
const PLACES = 4;
const POLL_MS = 2000;
const HIDDEN_MS = 3000;

/* A place among the streams of this browser: its release, or null when all are taken. Browsers that
 * have no locks here (plain HTTP to another machine) are not limited. */
async function takePlace(): Promise<(() => void) | null> {
  if (!navigator.locks) return () => undefined;
  for (let place = 0; place < PLACES; place++) {
    const release = await new Promise<(() => void) | null>((decide) => {
      const hold = (lock: Lock | null) =>
        lock ? new Promise<void>((done) => decide(() => done())) : decide(null);
      void navigator.locks
        .request(`csengine-stream-${place}`, { ifAvailable: true }, hold)
        .catch(() => decide(null));
    });
    if (release) return release;
  }
  return null;
}

export class JobStream {
  private source: EventSource | undefined;
  private timer: number | undefined;
  private wait_ms = 500;
  private closed = false;
  private release: (() => void) | null = null;
  private hiddenTimer: number | undefined;
  private readonly seen = () => this.visibility();

  constructor(
    private readonly job: string,
    private lastId: number,
    private readonly receive: (event: StreamEvent) => void,
    private readonly isOver: () => Promise<boolean>,
  ) {
    streamStatus.value = "connecting";
    document.addEventListener("visibilitychange", this.seen);
    void this.start();
  }

  close(): void {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.seen);
    clearTimeout(this.hiddenTimer);
    this.letGo();
  }

  private letGo(): void {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = undefined;
    this.release?.();
    this.release = null;
  }

  private visibility(): void {
    clearTimeout(this.hiddenTimer);
    if (document.hidden)
      this.hiddenTimer = setTimeout(() => this.letGo(), HIDDEN_MS) as unknown as number;
    else if (!this.source) void this.start();
  }

  private async start(): Promise<void> {
    const release = await takePlace();
    if (this.closed || this.source || (release && document.hidden)) return release?.();
    if (release) {
      this.release = release;
      return this.open();
    }
    streamStatus.value = "polling";
    if (await this.isOver()) return this.end();
    this.timer = setTimeout(() => void this.start(), POLL_MS) as unknown as number;
  }

  private end(): void {
    streamStatus.value = "ended";
    this.close();
  }

  private open(): void {
    const url = `/api/v1/jobs/${encodeURIComponent(this.job)}/events?after=${this.lastId}`;
    const source = new EventSource(url);
    this.source = source;
    source.onopen = () => {
      this.wait_ms = 500;
      streamStatus.value = "live";
    };
    source.onerror = () => this.failed();
    for (const type of TYPES) source.addEventListener(type, (event) => this.take(event));
  }

  private take(message: MessageEvent<string>): void {
    const event = JSON.parse(message.data) as StreamEvent;
    if (event.id > this.lastId) this.lastId = event.id;
    this.receive(event);
    if (event.type === "end") this.end();
  }

  private failed(): void {
    if (this.closed || !this.source) return;
    streamStatus.value = "reconnecting";
    if (this.source?.readyState !== EventSource.CLOSED) return;
    void this.askAgain();
  }

  /* The server refused, or says with 204 that there is nothing more: the job's state tells which.
   */
  private async askAgain(): Promise<void> {
    const over = await this.isOver();
    if (this.closed || !this.source) return;
    if (over) return this.end();
    this.timer = setTimeout(() => this.open(), this.wait_ms) as unknown as number;
    this.wait_ms = Math.min(this.wait_ms * 2, LONGEST_WAIT_MS);
  }
}
