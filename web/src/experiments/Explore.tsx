/* The runs that are compared by their settings and figures: the rows come from the server, what is
 * drawn of them is loaded when the page is opened (src/explore). */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, type ExperimentNames, type Experiments } from "@generated/client";
import { useResource } from "@/base/resource";
import { query, setQuery } from "@/base/route";
import { Waiting } from "@/components/parts";
import { listOf } from "@/experiments/view";
import type { ExploreHandle, ExploreProps } from "@/explore/main";

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
async function readTable(ids: string[]): Promise<Experiments> {
  const { names } = await api.getExperiments({ runs: ids, columns: ["state"] });
  const results = RESULTS.filter((name) => figuresOf(names).includes(name));
  const columns = [...new Set([...names.differing, ...results, ...figuresOf(names)])];
  return api.getExperiments({ runs: ids, columns: columns.slice(0, MOST_COLUMNS) });
}

function propsOf(
  table: Experiments,
  { readLimits, writeLimits }: ExploreModule,
  onPassing: ExploreProps["onPassing"],
): ExploreProps {
  const known = (name: string) => table.columns.includes(name);
  const figures = figuresOf(table.names).filter(known);
  const results = RESULTS.filter(known);
  const differing = table.names.differing.filter(known);
  const settings = differing.filter((name) => !table.names.labels.includes(name));
  const axes = [...differing.slice(0, MOST_AXES - 2), ...results.slice(0, 2)];
  const chosen = (name: string, other: string | undefined) => {
    const now = query.value.get(name);
    return now !== null && known(now) ? now : (other ?? "");
  };
  const wishes = Object.fromEntries([
    ...listOf("more").map((name) => [name, 1] as const),
    ...listOf("less").map((name) => [name, -1] as const),
  ]);
  return {
    rows: table.rows,
    columns: table.columns,
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

export function Explore({
  ids,
  onPassing,
}: {
  ids: string[];
  onPassing: ExploreProps["onPassing"];
}) {
  const table = useResource(() => readTable(ids), [ids.join()], RELOAD_MS);
  const host = useRef<HTMLDivElement>(null);
  const handle = useRef<ExploreHandle | null>(null);
  const [module, setModule] = useState<ExploreModule | null>(null);
  useEffect(() => void load().then(setModule, () => undefined), []);
  useEffect(() => {
    if (!module || !table.data || !host.current) return;
    const props = propsOf(table.data, module, onPassing);
    if (handle.current) handle.current.update(props);
    else handle.current = module.mount(host.current, props);
  }, [module, table.data, query.value]);
  useEffect(() => () => handle.current?.destroy(), []);
  return (
    <>
      <Waiting for={table} />
      <div class="stack explore" ref={host} />
    </>
  );
}
