/* One event stream for the whole tab, whatever is shown: browsers allow six connections to a server,
 * and every page wants events. It says whether it is live, picks up where it was cut, and knows when
 * it is over.
 *
 * The browser reconnects by itself (with Last-Event-ID) after a cut; after an answer other than 200
 * it gives up, and we ask again with `after`, at growing intervals. */
import { signal } from "@preact/signals";
import type { Event as StreamEvent } from "@generated/client";

export type StreamStatus = "off" | "connecting" | "live" | "reconnecting" | "ended";

export const streamStatus = signal<StreamStatus>("off");

const TYPES = [
  "state", "metric", "closure", "checkpoint", "log", "topology", "numerics", "gap", "end",
];
const LONGEST_WAIT_MS = 10_000;

export class JobStream {
  private source: EventSource | undefined;
  private timer: number | undefined;
  private wait_ms = 500;
  private closed = false;

  constructor(
    private readonly job: string,
    private lastId: number,
    private readonly receive: (event: StreamEvent) => void,
    private readonly isOver: () => Promise<boolean>,
  ) {
    streamStatus.value = "connecting";
    this.open();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.source?.close();
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
    if (event.type === "end") {
      streamStatus.value = "ended";
      this.close();
    }
  }

  private failed(): void {
    if (this.closed) return;
    streamStatus.value = "reconnecting";
    if (this.source?.readyState !== EventSource.CLOSED) return;
    void this.askAgain();
  }

  /* The server refused, or says with 204 that there is nothing more: the job's state tells which. */
  private async askAgain(): Promise<void> {
    const over = await this.isOver();
    if (this.closed) return;
    if (over) {
      streamStatus.value = "ended";
      this.close();
      return;
    }
    this.timer = setTimeout(() => this.open(), this.wait_ms) as unknown as number;
    this.wait_ms = Math.min(this.wait_ms * 2, LONGEST_WAIT_MS);
  }
}
