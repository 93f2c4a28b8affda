/* The runs that are compared by their settings and figures: the rows come from the server, what is
 * drawn of them is loaded when the page is opened (src/explore). */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type ExperimentNames, type Experiments } from "@generated/client";
import { useResource } from "@/base/resource";
import { query, setQuery } from "@/base/route";
import { Waiting } from "@/components/parts";
import type { Source } from "@/experiments/shared";
import { listOf } from "@/experiments/view";
import type { Row } from "@/explore/columns";
import type { ExploreHandle, ExploreProps } from "@/explore/main";
import type { Wish } from "@/explore/pareto";

declare const IS_REPORT: boolean;
declare const EXPLORE_URL: string;

type ExploreModule = typeof import("@/explore/main");

const RELOAD_MS = 30_000;
const MOST_AXES = 7;
const MOST_COLUMNS = 100;

/* A figure of the result: what is wanted of a run, if it has such a series. */
const RESULTS = ["min(val_loss)", "val_accuracy", "min(loss)", "loss"];

const figuresOf = ({ series }: ExperimentNames): string[] =>
  series.flatMap((name) => [name, `min(${name})`, `max(${name})`]);

const load = (): Promise<ExploreModule> =>
  IS_REPORT
    ? Promise.reject(new Error("a report has one run"))
    : (import(EXPLORE_URL) as Promise<ExploreModule>);

/* First what there is, then its values. */
async function readTable(source: Source): Promise<Experiments> {
  const { names } = await api.getExperiments({ ...source, columns: ["state"] });
  const results = RESULTS.filter((name) => figuresOf(names).includes(name));
  const columns = [...new Set([...names.differing, ...results, ...figuresOf(names)])];
  return api.getExperiments({ ...source, columns: columns.slice(0, MOST_COLUMNS) });
}

/** Rows, of which columns stand for settings and others for figures. */
export interface Explored {
  rows: readonly Row[];
  columns: readonly string[];
  settings: readonly string[];
  figures: readonly string[];
  /** Figures of the result: the first is shown against the first setting. */
  results: readonly string[];
  /** Columns that are axes at first. */
  axes: readonly string[];
  /** What is wanted of a column, where its name does not say it. */
  wishes?: Record<string, Wish>;
}

function exploredOf(table: Experiments): Explored {
  const known = (name: string) => table.columns.includes(name);
  const results = RESULTS.filter(known);
  const differing = table.names.differing.filter(known);
  return {
    rows: table.rows,
    columns: table.columns,
    settings: differing.filter((name) => !table.names.labels.includes(name)),
    figures: figuresOf(table.names).filter(known),
    results,
    axes: [...differing.slice(0, MOST_AXES - 2), ...results.slice(0, 2)],
  };
}

function propsOf(
  { rows, columns, settings, figures, results, axes, wishes: own }: Explored,
  { readLimits, writeLimits }: ExploreModule,
  onPassing: ExploreProps["onPassing"],
): ExploreProps {
  const known = (name: string) => columns.includes(name);
  const chosen = (name: string, other: string | undefined) => {
    const now = query.value.get(name);
    return now !== null && known(now) ? now : (other ?? "");
  };
  const wishes = Object.fromEntries([
    ...Object.entries(own ?? {}),
    ...listOf("more").map((name) => [name, 1] as const),
    ...listOf("less").map((name) => [name, -1] as const),
  ]);
  return {
    rows,
    columns,
    axes: query.value.has("axes") ? listOf("axes").filter(known) : axes,
    settings,
    figures,
    limits: readLimits(query.value.get("limits") ?? ""),
    wishes,
    x: chosen("across", settings[0] ?? figures[0]),
    y: chosen("up", results[0] ?? figures[0]),
    target: chosen("target", results[0] ?? figures[0]),
    onLimits: (limits) => setQuery({ limits: writeLimits(limits) }),
    onChoice: ({ x, y, target }) =>
      setQuery({
        ...(x !== undefined ? { across: x } : {}),
        ...(y !== undefined ? { up: y } : {}),
        ...(target !== undefined ? { target } : {}),
      }),
    onAxes: (names) => setQuery({ axes: names.join() }),
    onWish: (name, wish) => {
      const without = (list: string) => listOf(list).filter((one) => one !== name);
      setQuery({
        more: [...without("more"), ...(wish > 0 ? [name] : [])].join(),
        less: [...without("less"), ...(wish < 0 ? [name] : [])].join(),
      });
    },
    onPassing,
  };
}

/** The drawings of a table. */
export function ExploredTable({
  table,
  onPassing,
}: {
  table: Explored | undefined;
  onPassing: ExploreProps["onPassing"];
}) {
  const host = useRef<HTMLDivElement>(null);
  const handle = useRef<ExploreHandle | null>(null);
  const [module, setModule] = useState<ExploreModule | null>(null);
  useEffect(() => void load().then(setModule, () => undefined), []);
  useEffect(() => {
    if (!module || !table || !host.current) return;
    const props = propsOf(table, module, onPassing);
    if (handle.current) handle.current.update(props);
    else handle.current = module.mount(host.current, props);
  }, [module, table, query.value]);
  useEffect(() => () => handle.current?.destroy(), []);
  return <div class="stack explore" ref={host} />;
}

export function Explore({
  source,
  onPassing,
}: {
  source: Source;
  onPassing: ExploreProps["onPassing"];
}) {
  const asked = useResource(() => readTable(source), [JSON.stringify(source)], RELOAD_MS);
  const table = useMemo(() => asked.data && exploredOf(asked.data), [asked.data]);
  return (
    <>
      <Waiting for={asked} />
      <ExploredTable table={table} onPassing={onPassing} />
    </>
  );
}
