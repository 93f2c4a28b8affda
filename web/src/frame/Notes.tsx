/* Notifications: the server's answers to commands, announced to screen readers, removed after a
 * few seconds. */
import { Icon } from "@/components/Icon";
import { dismiss, notes } from "@/job/actions";

export function Notes() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {notes.value.map((note) => (
        <div key={note.id} class={`toast ${note.kind}`}>
          <Icon name={note.kind === "bad" ? "warn" : "check"} />
          <span>{note.text}</span>
          <button class="plain icon" aria-label="Dismiss" onClick={() => dismiss(note.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
