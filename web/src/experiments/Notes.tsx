/* What users have written about a run, and the form of a new note. Texts are text: never markup. */
import { useState } from "preact/hooks";
import { api, type Note } from "@generated/client";
import type { ApiError } from "@/api/transport";
import { date, integer } from "@/base/format";
import { useResource } from "@/base/resource";
import { Icon } from "@/components/Icon";

declare const IS_REPORT: boolean;

const RELOAD_MS = 20_000;
const MOST_BYTES = 2000;

function Form({ id, onDone }: { id: string; onDone: () => void }) {
  const [text, setText] = useState("");
  const [step, setStep] = useState("");
  const [fault, setFault] = useState("");
  const add = (event: Event) => {
    event.preventDefault();
    const at = step.trim();
    api.addNote({ id }, { text, ...(at ? { step: Number(at) } : {}) }).then(
      () => {
        setText("");
        setStep("");
        setFault("");
        onDone();
      },
      (error: ApiError) => setFault(error.message),
    );
  };
  return (
    <form class="row body wrap" onSubmit={add}>
      <input
        type="text"
        class="filter"
        value={text}
        maxLength={MOST_BYTES}
        required
        placeholder="A note"
        aria-label="Text of the note"
        onInput={(e) => setText(e.currentTarget.value)}
      />
      <label class="row nowrap">
        at step
        <input
          class="step-field"
          type="number"
          min={0}
          value={step}
          placeholder="all"
          aria-label="Step of the note; empty: the whole run"
          onInput={(e) => setStep(e.currentTarget.value)}
        />
      </label>
      <button type="submit">Add</button>
      {fault && (
        <span class="small" role="alert">
          {fault}
        </span>
      )}
    </form>
  );
}

function Line({ id, note, onDone }: { id: string; note: Note; onDone: () => void }) {
  const [fault, setFault] = useState("");
  const remove = () =>
    api
      .removeNote({ id, note: note.id })
      .then(onDone, (error: ApiError) => setFault(error.message));
  return (
    <li data-note={note.id}>
      <span class="soft nowrap">{note.step === null ? "run" : `step ${integer(note.step)}`}</span>
      <span class="note-text">{note.text}</span>
      <span class="faint small nowrap">
        {[note.author, date(note.time_ms)].filter(Boolean).join(", ")}
      </span>
      {fault && (
        <span class="small" role="alert">
          {fault}
        </span>
      )}
      {!IS_REPORT && (
        <button class="plain icon" aria-label={`Remove note ${note.id}`} onClick={remove}>
          <Icon name="close" />
        </button>
      )}
    </li>
  );
}

export function Notes({ id, onChange }: { id: string; onChange: () => void }) {
  const { data, reload } = useResource(() => api.listNotes({ id }), [id], RELOAD_MS);
  const changed = () => {
    reload();
    onChange();
  };
  if (!data || (IS_REPORT && data.notes.length === 0)) return null;
  return (
    <section class="panel history notes">
      <h2>Notes</h2>
      {data.notes.length > 0 && (
        <ul class="bits">
          {data.notes.map((note) => (
            <Line key={note.id} id={id} note={note} onDone={changed} />
          ))}
        </ul>
      )}
      {!IS_REPORT && <Form id={id} onDone={changed} />}
    </section>
  );
}
