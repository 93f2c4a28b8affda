/* The marks above a chart: a symbol each, its text under the pointer or, by arrow keys, the focus.
 * The lines under them are the plot's. One stop of the Tab key for all of a chart's. */
import { useEffect, useId, useState } from "preact/hooks";
import type { MarkKind, MarkPlace, PlotMark } from "@/components/plot";

/* On a grid of 12 units. Those of a line are drawn, the others filled. */
const SYMBOLS: Record<MarkKind, { path: string; line?: boolean }> = {
  alert: { path: "M6 1 11.5 11H.5z" },
  process: { path: "M2 2l8 8M10 2 2 10", line: true },
  host: { path: "M6 .5 11.5 6 6 11.5.5 6z" },
  pause: { path: "M2.5 1.5h2.6v9H2.5zM6.9 1.5h2.6v9H6.9z" },
  start: { path: "M2.5 1 11 6 2.5 11z" },
  settings: { path: "M6 1.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4M6 5.9v.2", line: true },
  checkpoint: { path: "M1.8 1.8h8.4v8.4H1.8z" },
  note: { path: "M1 1.5h10v7H6L3 11V8.5H1z" },
};

export function MarkSymbol({ kind }: { kind: MarkKind }) {
  const { path, line } = SYMBOLS[kind];
  return (
    <svg class={`mark ${kind}${line ? " stroked" : ""}`} viewBox="0 0 12 12" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

const MOST_TEXTS = 5;

function Texts({ marks }: { marks: PlotMark[] }) {
  return (
    <>
      {marks.slice(0, MOST_TEXTS).map((mark, i) => (
        <div key={i}>
          <MarkSymbol kind={mark.kind} />
          <span>{mark.text}</span>
        </div>
      ))}
      {marks.length > MOST_TEXTS && <div class="faint">and {marks.length - MOST_TEXTS} more</div>}
    </>
  );
}

const sentence = (marks: PlotMark[]): string =>
  (marks.length > 1 ? `${marks.length} marks. ` : "") + marks.map((one) => one.text).join(". ");

/* The place under the pointer, or the one nearest to it. */
const REACH_PX = 20;

function nearest(places: MarkPlace[], left: number): number | null {
  let best: number | null = null;
  places.forEach((place, i) => {
    const far = Math.abs(place.left - left);
    const least = best === null ? REACH_PX : Math.abs((places[best] as MarkPlace).left - left);
    if (far < least) best = i;
  });
  return best;
}

export function Strip({ title, places }: { title: string; places: MarkPlace[] }) {
  const id = useId();
  const [at, setAt] = useState<number | null>(null);
  useEffect(() => setAt(null), [places]);
  if (places.length === 0) return null;
  const shown = at === null ? undefined : places[at];
  const keys = (event: KeyboardEvent) => {
    const last = places.length - 1;
    const next: Record<string, number | null> = {
      ArrowLeft: Math.max(0, (at ?? 1) - 1),
      ArrowRight: Math.min(last, (at ?? -1) + 1),
      Home: 0,
      End: last,
      Escape: null,
    };
    if (!(event.key in next) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    setAt(next[event.key] as number | null);
  };
  const point = (event: MouseEvent) => {
    const strip = event.currentTarget as HTMLElement;
    setAt(nearest(places, event.clientX - strip.getBoundingClientRect().left));
  };
  return (
    <>
      <div
        class="marks"
        role="listbox"
        tabIndex={0}
        aria-label={`Marks of ${title}, ${places.length}: arrow keys move`}
        {...(at !== null ? { "aria-activedescendant": `${id}-${at}` } : {})}
        onKeyDown={keys}
        onFocus={() => setAt(at ?? 0)}
        onBlur={() => setAt(null)}
        onMouseMove={point}
        onMouseDown={(event) => event.preventDefault()}
        onClick={point}
        onMouseLeave={() => setAt(null)}
      >
        {places.map((place, i) => (
          <span
            key={i}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === at}
            aria-label={sentence(place.marks)}
            ref={(one) => {
              if (one) one.style.left = `${place.left}px`;
            }}
          >
            {place.marks.length === 1 ? (
              <MarkSymbol kind={(place.marks[0] as PlotMark).kind} />
            ) : (
              <b class="number">{place.marks.length}</b>
            )}
          </span>
        ))}
      </div>
      {shown && (
        <div
          class={`chart-tip mark-tip${shown.left > shown.width / 2 ? " at-left" : ""}`}
          aria-hidden="true"
          ref={(one) => {
            if (!one) return;
            const isRight = shown.left > shown.width / 2;
            one.style.left = isRight ? "" : `${shown.left + 4}px`;
            one.style.right = isRight ? `${shown.width - shown.left + 4}px` : "";
          }}
        >
          <Texts marks={shown.marks} />
        </div>
      )}
    </>
  );
}
