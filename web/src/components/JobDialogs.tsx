/* Dialogs about one job or several: what is kept about them, their removal, and a question before a
 * command that goes to several. */
import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Job, JobPatch, Priority } from "@generated/client";
import { Dialog } from "@/components/parts";
import { changeJobs, isRemovable, labelsOf, labelsText, removeJobs } from "@/job/manage";

const SHOWN = 12;

interface DialogProps {
  jobs: Job[];
  onClose: () => void;
  onDone?: (() => void) | undefined;
}

const namesOf = (jobs: Job[]) => (jobs.length === 1 ? jobs[0]?.name : `${jobs.length} jobs`);

function Names({ jobs }: { jobs: Job[] }) {
  if (jobs.length < 2) return null;
  return (
    <ul class="names">
      {jobs.slice(0, SHOWN).map((job) => (
        <li key={job.id} class="ellipsis">
          {job.name} <span class="faint">{job.id !== job.name && job.id}</span>
        </li>
      ))}
      {jobs.length > SHOWN && <li class="faint">and {jobs.length - SHOWN} more</li>}
    </ul>
  );
}

/** Asks before `onYes`; names the jobs when there are several. */
export function Confirm({
  title,
  jobs,
  yes,
  no = "Leave it",
  danger,
  children,
  onYes,
  onClose,
}: {
  title: string;
  jobs: Job[];
  yes: string;
  no?: string;
  danger?: boolean;
  children?: ComponentChildren;
  onYes: () => void;
  onClose: () => void;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onClose();
          onYes();
        }}
      >
        {children}
        <Names jobs={jobs} />
        <div class="row end wrap">
          <button type="button" onClick={onClose}>
            {no}
          </button>
          <button class={danger ? "danger" : "primary"}>{yes}</button>
        </div>
      </form>
    </Dialog>
  );
}

export function DeleteDialog({ jobs, onClose, onDone }: DialogProps) {
  const removable = jobs.filter(isRemovable);
  const kept = jobs.length - removable.length;
  return (
    <Confirm
      title={`Delete ${namesOf(removable)}?`}
      jobs={removable}
      yes={removable.length === 1 ? "Delete the job" : `Delete ${removable.length} jobs`}
      no="Keep"
      danger
      onClose={onClose}
      onYes={() => void removeJobs(removable).then((all) => all && onDone?.())}
    >
      <p>
        All files in the job's directory are deleted: checkpoints, metrics, logs. This cannot be
        undone.
      </p>
      {kept > 0 && (
        <p class="soft">{kept} of the selected jobs have not ended: they are not deleted.</p>
      )}
    </Confirm>
  );
}

interface Form {
  name: string;
  priority: Priority | "";
  labels: string;
}

/* Labels: of one job the whole list, of several those to set; "key=" alone removes one there. */
function patchOf(job: Job, form: Form, isOnly: boolean): JobPatch | null {
  const patch: JobPatch = {};
  if (isOnly && form.name.trim() && form.name.trim() !== job.name) patch.name = form.name.trim();
  if (form.priority && form.priority !== job.priority) patch.priority = form.priority;
  const wanted = labelsOf(form.labels) ?? {};
  const changes: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(wanted))
    if (!isOnly && value === "") {
      if (key in job.labels) changes[key] = null;
    } else if (job.labels[key] !== value) changes[key] = value;
  if (isOnly) for (const key of Object.keys(job.labels)) if (!(key in wanted)) changes[key] = null;
  if (Object.keys(changes).length > 0) patch.labels = changes;
  return Object.keys(patch).length > 0 ? patch : null;
}

const PRIORITIES: readonly (readonly [Priority, string])[] = [
  ["p0", "p0, first"],
  ["p1", "p1"],
  ["p2", "p2"],
  ["p3", "p3, last"],
];

export function EditDialog({ jobs, onClose, onDone }: DialogProps) {
  const only = jobs.length === 1 ? (jobs[0] as Job) : null;
  const [form, setForm] = useState<Form>({
    name: only?.name ?? "",
    priority: only?.priority ?? "",
    labels: only ? labelsText(only.labels) : "",
  });
  const set = (part: Partial<Form>) => setForm((old) => ({ ...old, ...part }));
  const isWrong = labelsOf(form.labels) === null;
  const save = async (event: Event) => {
    event.preventDefault();
    onClose();
    await changeJobs(jobs, (job) => patchOf(job, form, only !== null));
    onDone?.();
  };
  return (
    <Dialog title={only ? `Edit ${only.name}` : `Edit ${jobs.length} jobs`} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        {only && (
          <label class="field">
            Name
            <input
              type="text"
              data-field="name"
              value={form.name}
              maxLength={200}
              required
              onInput={(e) => set({ name: e.currentTarget.value })}
            />
          </label>
        )}
        <label class="field">
          Priority
          <select
            data-field="priority"
            value={form.priority}
            onChange={(e) => set({ priority: e.currentTarget.value as Priority | "" })}
          >
            {!only && <option value="">as it is</option>}
            {PRIORITIES.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          {only ? "Labels" : "Labels to set; key= removes one"}
          <input
            type="text"
            data-field="labels"
            value={form.labels}
            placeholder="team=vision purpose=test"
            aria-invalid={isWrong}
            onInput={(e) => set({ labels: e.currentTarget.value })}
          />
        </label>
        {isWrong && (
          <p class="bad-text small" role="alert">
            Labels are written key=value, with blanks between them.
          </p>
        )}
        <Names jobs={jobs} />
        <div class="row end wrap">
          <button type="button" onClick={onClose}>
            Leave it
          </button>
          <button class="primary" disabled={isWrong}>
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}
