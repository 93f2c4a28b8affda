/* What one types to get somewhere: pages, jobs by name or id, and what may be done with the job at
 * hand, whose buttons are pressed as if by hand. */
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { api } from "@generated/client";
import { useResource } from "@/base/resource";
import { navigate } from "@/base/route";
import { Dialog } from "@/components/parts";
import { rankOf } from "@/frame/rank";
import type { AskedProps, PageEntry } from "@/frame/page";

const MOST_SHOWN = 50;

interface Choice {
  text: string;
  note: string;
  take: () => void;
}

function pagesOf(pages: PageEntry[], job: string | null): Choice[] {
  return pages
    .filter((page) => !page.ofJob || job !== null)
    .map((page) => ({
      text: page.title,
      note: `page, g ${page.key}`,
      take: () =>
        navigate(
          page.ofJob ? `/jobs/${encodeURIComponent(job as string)}/${page.name}` : `/${page.name}`,
        ),
    }));
}

/* A button of the bar that asks first does so here, too. */
const actions = (): Choice[] =>
  [...document.querySelectorAll<HTMLButtonElement>(".topbar [data-command]:enabled")].map(
    (button) => ({
      text: button.ariaLabel || button.textContent || button.title,
      note: "this job",
      take: () => button.click(),
    }),
  );

function useChoices(pages: PageEntry[], job: string | null): Choice[] {
  const jobs = useResource(() => api.listJobs({ limit: 1000 }), []);
  const near = useMemo(() => [...pagesOf(pages, job), ...actions()], [job]);
  return [
    ...near,
    ...(jobs.data?.jobs ?? []).map(({ id, name, state }) => ({
      text: name === id ? id : `${name} ${id}`,
      note: `job, ${state.toLowerCase()}`,
      take: () => navigate(`/jobs/${encodeURIComponent(id)}/pulse`),
    })),
  ];
}

function best(choices: Choice[], typed: string): Choice[] {
  return choices
    .flatMap((choice) => {
      const rank = rankOf(choice.text, typed);
      return rank === null ? [] : [{ choice, rank }];
    })
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST_SHOWN)
    .map(({ choice }) => choice);
}

export function Palette({ pages, job, onClose }: AskedProps) {
  const id = useId();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const shown = best(useChoices(pages, job), typed.trim());
  const here = Math.min(at, shown.length - 1);
  useEffect(() => list.current?.children[here]?.scrollIntoView({ block: "nearest" }), [here]);
  /* Closed first: the focus goes back to where it was, and then where the choice leads. */
  const take = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    setTimeout(choice.take);
  };
  const press = (event: KeyboardEvent) => {
    const last = shown.length - 1;
    const next: Record<string, number> = {
      ArrowDown: here >= last ? 0 : here + 1,
      ArrowUp: here <= 0 ? last : here - 1,
    };
    const to = next[event.key];
    if (event.key === "Enter") take(shown[here]);
    else if (to !== undefined) setAt(to);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose} wide>
      <input
        type="text"
        class="palette-field"
        role="combobox"
        aria-label="Page, job or action"
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={id}
        {...(shown.length > 0 ? { "aria-activedescendant": `${id}-${here}` } : {})}
        placeholder="Page, job or action"
        autocomplete="off"
        autofocus
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <ul class="picker palette" role="listbox" id={id} aria-label="Found" ref={list}>
        {shown.map((choice, i) => (
          <li
            key={`${choice.note} ${choice.text}`}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === here}
            onClick={() => take(choice)}
          >
            <span class="ellipsis">{choice.text}</span>
            <span class="spacer" />
            <span class="faint small nowrap">{choice.note}</span>
          </li>
        ))}
      </ul>
      <p class="soft small" role="status">
        {shown.length === 0 ? "Nothing matches." : ""}
      </p>
    </Dialog>
  );
}
