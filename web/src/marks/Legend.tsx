/* The kinds of marks that there are; a click hides one, and shows it again. */
import { setQuery } from "@/base/route";
import type { MarkKind, PlotMark } from "@/components/plot";
import { MARK_WORDS } from "@/marks/marks";
import { MarkSymbol } from "@/marks/Strip";

export function MarkLegend({ marks, hidden }: { marks: PlotMark[]; hidden: string[] }) {
  const kinds = Object.keys(MARK_WORDS) as MarkKind[];
  const there = kinds.filter((kind) => marks.some((one) => one.kind === kind));
  if (there.length === 0) return null;
  const toggle = (kind: MarkKind) => {
    const without = hidden.filter((one) => one !== kind);
    setQuery({ unmarked: (hidden.includes(kind) ? without : [...hidden, kind]).join(",") });
  };
  return (
    <div class="chips marks-legend" role="group" aria-label="Marks">
      {there.map((kind) => (
        <button
          key={kind}
          class="plain small"
          aria-pressed={!hidden.includes(kind)}
          title={hidden.includes(kind) ? "Show these marks" : "Hide these marks"}
          onClick={() => toggle(kind)}
        >
          <MarkSymbol kind={kind} />
          {MARK_WORDS[kind]}
          <span class="number faint">{marks.filter((one) => one.kind === kind).length}</span>
        </button>
      ))}
    </div>
  );
}
