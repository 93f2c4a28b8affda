/* Since when the server has been silent: what pages show is of its last answer, and they say so.
 *
 * Pages that ask by themselves find it out; where none does (a job that is over, a form), somebody
 * asks now and then whether the server is there. */
import { signal } from "@preact/signals";

const PROBE_MS = 4000;

let lastAnswer_ms = Date.now();

/** When the server answered last, while it does not; null while it does. */
export const silentSince = signal<number | null>(null);

export function noteAnswer(): void {
  lastAnswer_ms = Date.now();
  if (silentSince.peek() !== null) silentSince.value = null;
}

export function noteSilence(): void {
  if (silentSince.peek() === null) silentSince.value = lastAnswer_ms;
}

async function probe(): Promise<void> {
  const quiet_ms = Date.now() - lastAnswer_ms;
  if (document.hidden || (quiet_ms < PROBE_MS && silentSince.peek() === null)) return;
  try {
    await fetch("/healthz", { cache: "no-store" });
    noteAnswer();
  } catch {
    noteSilence();
  }
}

export function watchServer(): void {
  setInterval(() => void probe(), PROBE_MS / 2);
}
