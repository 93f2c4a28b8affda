/* The plugins of the libraries that runs had loaded, by the digests of those files. */
import type { ComparedPlugin, ComparedRun } from "@generated/client";
import { Badge } from "@/components/parts";

const DIGITS = 16;

/** null: the run does not say its plugins; undefined: it has no such one. */
type Cell = ComparedPlugin | undefined | null;

export interface PluginRow {
  name: string;
  cells: Cell[];
  tone: "good" | "warn" | "calm";
}

/** Of each plugin that a run has: same or different in all of which it is known. */
export function pluginRows(runs: readonly Pick<ComparedRun, "plugins">[]): PluginRow[] {
  const nameOf = ({ kind, name }: ComparedPlugin) => `${kind} ${name}`;
  const names = new Set(runs.flatMap(({ plugins }) => plugins?.map(nameOf) ?? []));
  return [...names].sort().map((name) => {
    const cells = runs.map(
      ({ plugins }): Cell => plugins && plugins.find((one) => nameOf(one) === name),
    );
    const known = cells.filter((cell) => cell !== null);
    const isOne = new Set(known.map((cell) => cell?.digest)).size === 1;
    const tone = !isOne ? "warn" : known.length < cells.length ? "calm" : "good";
    return { name, cells, tone };
  });
}

const TONES = {
  good: { icon: "check", text: "same" },
  warn: { icon: "warn", text: "different" },
  calm: { icon: "info", text: "not known of all" },
} as const;

function cellText(cell: Cell): string {
  if (cell === null) return "not known";
  return cell ? cell.digest.slice(0, DIGITS) : "–";
}

export function Plugins({ runs }: { runs: ComparedRun[] }) {
  if (runs.length < 2) return null;
  const rows = pluginRows(runs);
  const unknown = runs.filter((run) => run.plugins === null).map((run) => run.name);
  return (
    <section class="panel" data-panel="plugins">
      <h2>Plugins</h2>
      {rows.length === 0 ? (
        <p class="body soft">
          {unknown.length < runs.length && "None: no library was loaded. "}
          {unknown.length > 0 && `Not known of ${unknown.join(", ")}.`}
        </p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Plugins">
          <table class="differences">
            <thead>
              <tr>
                <th scope="col">Plugin</th>
                <th scope="col">Code</th>
                {runs.map((run) => (
                  <th key={run.id} scope="col" title={run.id}>
                    {run.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ name, cells, tone }) => (
                <tr key={name} data-plugin={name}>
                  <th scope="row">{name}</th>
                  <td class="effect">
                    <Badge tone={tone} icon={TONES[tone].icon}>
                      {TONES[tone].text}
                    </Badge>
                  </td>
                  {cells.map((cell, i) => (
                    <td
                      key={runs[i]?.id}
                      data-title={runs[i]?.name}
                      title={cell ? `${cell.library} ${cell.digest}` : undefined}
                    >
                      {cellText(cell)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
