/* Small parts that every page is made of. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { State } from "@generated/client";
import type { ApiError } from "@/api/transport";
import { percent } from "@/base/format";
import type { Resource } from "@/base/resource";
import { query, setQuery } from "@/base/route";
import { Icon, type IconName } from "@/components/Icon";
import { Prose } from "@/components/Prose";

type Tone = "good" | "warn" | "bad" | "info" | "calm";

const STATES: Record<State, { tone: Tone; icon: IconName; text: string }> = {
  QUEUED: { tone: "calm", icon: "clock", text: "queued" },
  COMPILING: { tone: "info", icon: "config", text: "compiling" },
  STARTING: { tone: "info", icon: "dots", text: "starting" },
  RUNNING: { tone: "good", icon: "play", text: "running" },
  PAUSING: { tone: "warn", icon: "pause", text: "pausing" },
  PAUSED: { tone: "warn", icon: "pause", text: "paused" },
  RECOVERING: { tone: "warn", icon: "warn", text: "recovering" },
  CANCELLING: { tone: "warn", icon: "stop", text: "cancelling" },
  SUCCEEDED: { tone: "info", icon: "check", text: "succeeded" },
  FAILED: { tone: "bad", icon: "warn", text: "failed" },
  CANCELLED: { tone: "calm", icon: "stop", text: "cancelled" },
};

export const stateTone = (state: State): Tone => STATES[state].tone;
export const stateIcon = (state: State): IconName => STATES[state].icon;

export function Badge({
  tone,
  icon,
  children,
}: {
  tone: Tone;
  icon?: IconName;
  children: ComponentChildren;
}) {
  return (
    <span class={`badge ${tone}`}>
      {icon && <Icon name={icon} />}
      {children}
    </span>
  );
}

export function StateBadge({ state, reason }: { state: State; reason?: string | null }) {
  const { tone, icon, text } = STATES[state];
  return (
    <Badge tone={tone} icon={icon}>
      <Say what="state" value={state}>
        {text}
      </Say>
      {state === "FAILED" && reason ? `: ${reason.toLowerCase()}` : ""}
    </Badge>
  );
}

/** A statement about the job: what it is about and its value stand in the page for tests, which
 * compare them with the API. */
export function Say({
  what,
  value,
  children,
}: {
  what: string;
  value: string | number | null;
  children: ComponentChildren;
}) {
  return (
    <span data-says={what} data-value={value === null ? "" : String(value)}>
      {children}
    </span>
  );
}

/** A share of a whole, as a bar with its text. */
export function Meter({
  share,
  label,
  tone = "info",
}: {
  share: number | null;
  label: string;
  tone?: Tone;
}) {
  const value = Math.min(1, Math.max(0, share ?? 0));
  return (
    <div
      class={`meter ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(value * 100)}
      aria-valuetext={percent(share)}
    >
      <i style={{ width: `${value * 100}%` }} />
    </div>
  );
}

export function Tile({
  label,
  value,
  unit,
  note,
  tone,
}: {
  label: string;
  value: ComponentChildren;
  unit?: string;
  note?: ComponentChildren;
  tone?: Tone;
}) {
  return (
    <div class={tone ? `tile ${tone}` : "tile"}>
      <dt>{label}</dt>
      <dd>
        <span class="value number">{value}</span>
        {unit && <span class="unit">{unit}</span>}
      </dd>
      {note && <dd class="note">{note}</dd>}
    </div>
  );
}

/** The empty state of a page: what is missing, why, and what to do. */
export function Empty({
  title,
  children,
  icon = "info",
}: {
  title: string;
  children?: ComponentChildren;
  icon?: IconName;
}) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  const missing = error.status === 404;
  return (
    <Empty
      title={missing ? "Not there" : "This could not be read"}
      icon={missing ? "info" : "warn"}
    >
      <Prose text={error.message} />
      {retry && (
        <>
          {" "}
          <button onClick={retry}>Try again</button>
        </>
      )}
    </Empty>
  );
}

export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="hidden-text">Loading</span>
      <i />
      <i />
      <i />
    </div>
  );
}

export function PageHeader({
  title,
  children,
  note,
}: {
  title: string;
  children?: ComponentChildren;
  note?: ComponentChildren;
}) {
  return (
    <header>
      <h1>{title}</h1>
      {note && <span class="soft">{note}</span>}
      <span class="spacer" />
      {children}
    </header>
  );
}

/** One of a few values: a row of buttons that are pressed or not. */
export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([key, text]) => (
        <button key={key} type="button" aria-pressed={key === value} onClick={() => onChange(key)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** A modal dialog: the browser keeps the focus inside and closes it with Escape. */
export function Dialog({
  title,
  onClose,
  children,
  wide,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={ref} class={wide ? "wide" : ""} aria-label={title} onClose={onClose}>
      <div class="head">
        <h2>{title}</h2>
        <button class="plain icon" aria-label="Close" onClick={() => ref.current?.close()}>
          <Icon name="close" />
        </button>
      </div>
      <div class="body">{children}</div>
    </dialog>
  );
}

/** A search field whose text is part of the address. */
export function Filter({
  name = "filter",
  label,
  placeholder,
  help,
}: {
  name?: string;
  label: string;
  placeholder: string;
  help?: string;
}) {
  return (
    <input
      type="search"
      class="filter"
      placeholder={placeholder}
      aria-label={label}
      title={help}
      value={query.value.get(name) ?? ""}
      onInput={(e) => setQuery({ [name]: e.currentTarget.value })}
    />
  );
}

/** A labelled choice from a list; the first option may stand for all of them. */
export function Pick({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}) {
  return (
    <label class="row nowrap">
      {label}
      <select value={value} onChange={(e) => onChange(e.currentTarget.value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Why what was asked for is not there yet. */
export function Waiting({ for: asked }: { for: Resource<unknown> }) {
  if (asked.data !== undefined) return null;
  if (asked.error) return <Failure error={asked.error} retry={asked.reload} />;
  return asked.loading ? <Loading /> : null;
}
