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

/* One at a time: a browser has few connections to a server, and one that does not answer would
 * take them all. */
let probing = false;

async function probe(): Promise<void> {
  const quiet_ms = Date.now() - lastAnswer_ms;
  if (probing || document.hidden) return;
  if (quiet_ms < PROBE_MS && silentSince.peek() === null) return;
  probing = true;
  try {
    await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(2 * PROBE_MS) });
    noteAnswer();
  } catch {
    noteSilence();
  }
  probing = false;
}

export function watchServer(): void {
  setInterval(() => void probe(), PROBE_MS / 2);
}
