/* Runs as a table: what differs between them, their figures, and means over groups of them. The
 * server finds, orders and groups; this draws. */
import { useMemo, useState } from "preact/hooks";
import { api, type ExperimentGroup, type ExperimentRow, type Experiments } from "@generated/client";
import { useResource } from "@/base/resource";
import { href, setQuery } from "@/base/route";
import { FilterFault } from "@/components/FilterFault";
import { Icon } from "@/components/Icon";
import { isNarrow } from "@/components/narrow";
import { Empty, Failure, Filter, Loading, PageHeader, Pick, StateBadge } from "@/components/parts";
import { VirtualList } from "@/components/VirtualList";
import { ColumnPicker } from "@/experiments/ColumnPicker";
import { Heads, Title } from "@/experiments/heads";
import { FiguresCell, ValueCell, type Value } from "@/experiments/cells";
import { columnTitle, fieldsBeside } from "@/experiments/names";
import { askOf, conditionOf, csvAddress, setRuns, viewOf, type View } from "@/experiments/view";
import { FILTER_EXAMPLE, FILTER_HELP } from "@/job/filter";
import type { PageEntry } from "@/frame/page";

const RELOAD_MS = 20_000;
/* As many as are ticked at once: their ids stand in the address. */
const MOST_COMPARED = 50;
const ROW = 34;
const TALL_ROW = 48;
const CARD_HEAD = 48;
const CARD_LINE = 28;
const CARD_GROUP = 44;

const typeOf = (value: Value): string => (typeof value === "number" ? "cell number" : "cell");

/* ---- rows ---- */

interface RowsProps {
  table: Experiments;
  view: View;
}

function turned(runs: string[], id: string): string[] {
  return runs.includes(id) ? runs.filter((one) => one !== id) : [...runs, id];
}

function RunHead({ row, view }: { row: ExperimentRow; view: View }) {
  const isBaseline = view.baseline === row.id;
  return (
    <div class="cell run-head" role="rowheader">
      <input
        type="checkbox"
        checked={view.runs.includes(row.id)}
        aria-label={`Select ${row.name}`}
        onChange={() => setRuns(turned(view.runs, row.id))}
      />
      <button
        class="plain icon"
        aria-pressed={isBaseline}
        aria-label={`${isBaseline ? "Release" : "Take"} ${row.name} as the baseline`}
        title={isBaseline ? "The baseline: release it" : "Take as the baseline"}
        onClick={() => setQuery({ baseline: isBaseline ? null : row.id })}
      >
        <Icon name="pin" />
      </button>
      <a
        class="strong ellipsis"
        title={row.id}
        href={href(`/jobs/${encodeURIComponent(row.id)}/pulse`)}
      >
        {row.name}
      </a>
      <StateBadge state={row.state} />
    </div>
  );
}

function RunRow({ row, table, view }: { row: ExperimentRow; table: Experiments; view: View }) {
  const from = table.baseline?.values;
  return (
    <>
      <RunHead row={row} view={view} />
      {table.columns.map((name, c) => {
        const value = row.values[c] ?? null;
        return (
          <div key={name} class={typeOf(value)} role="cell">
            <CardTitle name={name} view={view} />
            <ValueCell
              value={value}
              delta={from ? (row.deltas?.[c] ?? null) : undefined}
              from={from ? (from[c] ?? null) : undefined}
            />
          </div>
        );
      })}
    </>
  );
}

/* Where there is no room for a head, each value says what it is. */
function CardTitle({ name, view }: { name: string; view: View }) {
  if (!isNarrow.value) return null;
  return (
    <span class="card-title soft" title={name}>
      <Title name={name} step={view.step} />
    </span>
  );
}

function AllRuns({ rows, view }: { rows: ExperimentRow[]; view: View }) {
  const first = rows.slice(0, MOST_COMPARED).map((row) => row.id);
  const all = first.length > 0 && first.every((id) => view.runs.includes(id));
  return (
    <div class="cell run-head" role="columnheader">
      <input
        type="checkbox"
        checked={all}
        aria-label={
          rows.length > MOST_COMPARED ? `Select the first ${MOST_COMPARED} runs` : "Select all runs"
        }
        onChange={() => setRuns(all ? [] : first)}
      />
      Run
    </div>
  );
}

/* By the first run that has a value. */
function isNumeric(rows: ExperimentRow[], column: number): boolean {
  const one = rows.find((row) => (row.values[column] ?? null) !== null);
  return typeof one?.values[column] === "number";
}

function RunTable({ table, view }: RowsProps) {
  const narrow = isNarrow.value;
  const { rows, columns } = table;
  const line = table.baseline ? TALL_ROW : ROW;
  return (
    <VirtualList
      table
      rows={rows}
      rowHeight={narrow ? CARD_HEAD + CARD_LINE * columns.length : line}
      keyOf={(row) => row.id}
      label="Runs"
      header={
        <>
          {!narrow && (
            <Heads
              first={<AllRuns rows={rows} view={view} />}
              columns={columns}
              isNumber={(c) => isNumeric(rows, c)}
              view={view}
            />
          )}
          {table.baseline && !narrow && (
            <div class="line heads baseline" role="row" style={{ height: `${ROW}px` }}>
              <RunRow row={table.baseline} table={{ ...table, baseline: null }} view={view} />
            </div>
          )}
        </>
      }
      render={(row) => <RunRow row={row} table={table} view={view} />}
    />
  );
}

/* ---- groups ---- */

/* The runs of a group alone, by a condition on what they are alike in. */
function openGroup(group: ExperimentGroup, view: View): void {
  const parts = view.group.flatMap((name, i) => {
    const value = group.key[i] ?? null;
    return value === null ? [] : [conditionOf(name, value)];
  });
  setQuery({ filter: [view.where, ...parts].filter(Boolean).join(" "), group: null });
}

function GroupRow({ group, table, view }: RowsProps & { group: ExperimentGroup }) {
  const isOpen = group.key.every((value) => value !== null);
  const text = group.key.map((value) => (typeof value === "string" ? value : (value ?? "none")));
  return (
    <>
      <div class="cell run-head" role="rowheader">
        {isOpen ? (
          <button
            class="link strong ellipsis"
            title="Show its runs"
            onClick={() => openGroup(group, view)}
          >
            {text.join(", ")}
          </button>
        ) : (
          <span class="strong ellipsis">{text.join(", ")}</span>
        )}
        <span class="soft nowrap">{countOf(group.count, "run")}</span>
      </div>
      {table.columns.map((name, c) => (
        <div key={name} class="cell number" role="cell">
          <CardTitle name={name} view={view} />
          <FiguresCell figures={group.columns[c] ?? null} />
        </div>
      ))}
    </>
  );
}

/* A column of texts has no figures. */
function withFigures(table: Experiments, groups: ExperimentGroup[]): Experiments {
  const has = table.columns.map((_, c) => groups.some((group) => group.columns[c]));
  const keep = <T,>(list: T[]): T[] => list.filter((_, c) => has[c]);
  return {
    ...table,
    columns: keep(table.columns),
    groups: groups.map((group) => ({ ...group, columns: keep(group.columns) })),
  };
}

function GroupTable({ table, view }: RowsProps) {
  const narrow = isNarrow.value;
  const shown = useMemo(() => withFigures(table, table.groups ?? []), [table]);
  const groups = shown.groups ?? [];
  return (
    <VirtualList
      table
      rows={groups}
      rowHeight={narrow ? CARD_HEAD + CARD_GROUP * shown.columns.length : TALL_ROW}
      keyOf={(group) => JSON.stringify(group.key)}
      label="Groups of runs"
      header={
        !narrow && (
          <Heads
            first={
              <div class="cell run-head" role="columnheader">
                <span class="ellipsis">
                  {view.group.map((name) => columnTitle(name).text).join(", ")}
                </span>
              </div>
            }
            columns={shown.columns}
            isNumber={() => true}
            view={view}
          />
        )
      }
      render={(group) => <GroupRow group={group} table={shown} view={view} />}
    />
  );
}

/* ---- the page ---- */

function GroupPick({ table, view }: RowsProps) {
  const own = [...new Set([...table.names.labels, ...table.names.differing])];
  const offered = [...own, ...fieldsBeside(own)];
  const now = view.group.join(",");
  const names = now && !offered.includes(now) ? [now, ...offered] : offered;
  return (
    <Pick
      label="group by"
      value={now}
      options={[["", "nothing"], ...names.map((name) => [name, columnTitle(name).text] as const)]}
      onChange={(group) => setQuery({ group })}
    />
  );
}

function SortPick({ table, view }: RowsProps) {
  const options = table.columns.flatMap((name) => {
    const { text, figure } = columnTitle(name);
    const title = figure ? `${text}, ${figure}` : text;
    return [[name, `${title} ↑`] as const, [`-${name}`, `${title} ↓`] as const];
  });
  return (
    <span class="narrow-only">
      <Pick
        label="order"
        value={view.sort}
        options={[["", "newest first"], ...options]}
        onChange={(sort) => setQuery({ sort })}
      />
    </span>
  );
}

/* All runs of the table by its condition, or those that are ticked. */
function compareLink(view: View, runs: string[]): string {
  const group = view.group.length === 1 ? `&group=${encodeURIComponent(view.group[0] ?? "")}` : "";
  const which =
    runs.length > 0
      ? `runs=${runs.map(encodeURIComponent).join(",")}`
      : `filter=${encodeURIComponent(view.where)}`;
  return href(`/compare?${which}${group}`);
}

function CompareAll({ table, view }: RowsProps) {
  if (view.runs.length > 0 || table.rows.length < 2) return null;
  const what = view.group.length === 1 ? "their means" : "all of them";
  return (
    <a class="button" href={compareLink(view, [])} title={`Curves of these runs: ${what}`}>
      <Icon name="compare" />
      Compare
    </a>
  );
}

function Chosen({ view }: { view: View }) {
  const { runs } = view;
  if (runs.length === 0) return null;
  return (
    <div class="bulk" role="group" aria-label="Selected runs">
      <span>{runs.length} selected</span>
      <button onClick={() => setRuns([])}>none</button>
      {runs.length > 1 && (
        <a class="button primary" href={compareLink(view, runs)}>
          <Icon name="compare" />
          compare
        </a>
      )}
    </div>
  );
}

function NoRuns({ filtered }: { filtered: boolean }) {
  return (
    <Empty title={filtered ? "No run matches the filter" : "No runs yet"} icon="experiments">
      {!filtered && (
        <>
          Send one from <a href={href("/submit")}>Submit</a>, or several with
          <code> csengine sweep</code>.
        </>
      )}
    </Empty>
  );
}

const countOf = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? "" : "s"}`;

function noteOf(table: Experiments | undefined): string {
  if (!table) return "";
  const { rows, total, groups } = table;
  const runs =
    rows.length === total ? countOf(total, "run") : `the newest ${rows.length} of ${total} runs`;
  return groups ? `${countOf(groups.length, "group")} of ${runs}` : runs;
}

export function ExperimentsPage() {
  const view = viewOf();
  const ask = askOf(view);
  const { data, error, loading, reload } = useResource(
    () => api.getExperiments(ask),
    [JSON.stringify(ask)],
    RELOAD_MS,
  );
  const [picking, setPicking] = useState(false);
  const isRefused = error?.status === 400 || error?.status === 404;
  return (
    <>
      <PageHeader title="Experiments" note={noteOf(data)}>
        <Chosen view={view} />
        {data && <CompareAll table={data} view={view} />}
        {view.baseline && <button onClick={() => setQuery({ baseline: null })}>no baseline</button>}
        {data && <SortPick table={data} view={view} />}
        {data && <GroupPick table={data} view={view} />}
        <Filter label="Filter runs" placeholder={FILTER_EXAMPLE} help={FILTER_HELP} />
        <button disabled={!data} onClick={() => setPicking(true)}>
          <Icon name="config" />
          Columns
        </button>
        <a
          class="button icon"
          href={csvAddress(view)}
          download="experiments.csv"
          aria-label="Save the table as comma-separated values"
          title="Save the table as comma-separated values"
        >
          <Icon name="download" />
        </a>
      </PageHeader>
      {error && isRefused && <FilterFault text={error.message} />}
      {error && !isRefused && !data && <Failure error={error} retry={reload} />}
      {loading && !data && <Loading />}
      {data && data.rows.length === 0 && (
        <section class="panel">
          <NoRuns filtered={view.where !== ""} />
        </section>
      )}
      {data && data.rows.length > 0 && (
        <section
          class={`panel grow list-panel experiments${data.groups ? " groups" : ""}${isNarrow.value ? " cards" : ""}`}
        >
          {data.groups ? (
            <GroupTable table={data} view={view} />
          ) : (
            <RunTable table={data} view={view} />
          )}
        </section>
      )}
      {picking && data && (
        <ColumnPicker
          names={data.names}
          shown={view.columns ?? data.columns}
          columns={view.columns}
          step={view.step}
          onClose={() => setPicking(false)}
        />
      )}
    </>
  );
}

export const page: PageEntry = {
  name: "experiments",
  order: 12,
  title: "Experiments",
  icon: "experiments",
  key: "x",
  view: ExperimentsPage,
  fill: true,
  live: true,
};
