/* Commands on jobs; the answer is shown as a notification. */
import { signal } from "@preact/signals";
import { api, type Job } from "@generated/client";
import { ApiError } from "@/api/transport";
import { current } from "@/job/model";

export interface Note {
  id: number;
  kind: "good" | "bad" | "info";
  text: string;
}

export const notes = signal<Note[]>([]);
let nextNote = 1;

export function tell(kind: Note["kind"], text: string): void {
  const note = { id: nextNote++, kind, text };
  notes.value = [...notes.peek(), note].slice(-4);
  setTimeout(() => dismiss(note.id), kind === "bad" ? 12_000 : 5000);
}

export function dismiss(id: number): void {
  notes.value = notes.peek().filter((note) => note.id !== id);
}

export type Command = "pause" | "resume" | "checkpoint" | "cancel" | "kill" | "scale";

const calls = {
  pause: (id: string) => api.pauseJob({ id }, {}),
  resume: (id: string) => api.resumeJob({ id }, {}),
  checkpoint: (id: string) => api.checkpointJob({ id }, {}),
  cancel: (id: string, save: boolean) => api.cancelJob({ id }, { save }),
  kill: (id: string) => api.killJob({ id }, {}),
};

export interface VerbOptions {
  save?: boolean;
  num_csx?: number;
}

export async function act(job: Job, command: Command, options: VerbOptions = {}): Promise<boolean> {
  try {
    const answer =
      command === "scale"
        ? await api.scaleJob({ id: job.id }, { num_csx: options.num_csx ?? 1 })
        : await calls[command](job.id, options.save ?? true);
    tell("good", `${job.name}: ${answer.detail}`);
    if (current.peek()?.id === job.id) void current.peek()?.refresh();
    return true;
  } catch (error) {
    tell("bad", `${job.name}: ${command} was refused: ${(error as ApiError).message}`);
    return false;
  }
}
