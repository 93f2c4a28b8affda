/* Curves of several runs over each other, their settings and figures as axes, in what their
 * configurations differ, and up to which step their bits are the same. What is chosen is in the
 * address. */
import { useMemo, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { api, type ComparedRun, type ComparedSetting, type Comparison } from "@generated/client";
import { integer } from "@/base/format";
import { useResource } from "@/base/resource";
import { href, query, setQuery } from "@/base/route";
import {
  CurveControls,
  ReplacedSteps,
  curveView,
  hidesReplaced,
  keepZoom,
} from "@/components/CurveControls";
import { Icon } from "@/components/Icon";
import { MetricChart, colourOf, type Run } from "@/components/MetricChart";
import { Badge, Dialog, Empty, PageHeader, Waiting } from "@/components/parts";
import { Explore } from "@/experiments/Explore";
import { useComparison, useCurves } from "@/experiments/comparison";
import { Plugins } from "@/experiments/Plugins";
import { Texts } from "@/experiments/Texts";
import { GroupControls, LineChips, SharedCharts } from "@/experiments/SharedCharts";
import { linesOf, useShared, type Band, type Line, type Source } from "@/experiments/shared";
import { columnTitle } from "@/experiments/names";
import { listOf } from "@/experiments/view";

/* As many as the API compares one by one. */
const MOST_COMPARED = 50;

/* The same of validation: drawn into the chart of the training's, as a dashed line. */
const validationOf = (name: string): string => `val_${name}`;

/* ---- what is compared ---- */

function RunChips({ runs, hidden }: { runs: Run[]; hidden: string[] }) {
  const ids = runs.map((run) => run.id);
  const hide = (id: string) =>
    setQuery({
      hidden: (hidden.includes(id) ? hidden.filter((one) => one !== id) : [...hidden, id]).join(),
    });
  return (
    <div class="chips" role="group" aria-label="Runs">
      {runs.map((run, i) => (
        <span class={run.hidden ? "chip off" : "chip"} key={run.id}>
          <button
            class="plain"
            aria-pressed={!run.hidden}
            title={run.hidden ? "Show its curves" : "Hide its curves"}
            onClick={() => hide(run.id)}
          >
            <i class="swatch" style={{ borderColor: `var(${colourOf(i)})` }} />
            <span class="ellipsis">{run.label}</span>
          </button>
          <button
            class="plain icon"
            aria-label={`Remove ${run.label}`}
            onClick={() =>
              setQuery({
                runs: ids.filter((id) => id !== run.id).join(),
                hidden: hidden.filter((id) => id !== run.id).join(),
              })
            }
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
    </div>
  );
}

function MetricPicker({
  known,
  shown,
  onClose,
}: {
  known: string[];
  shown: string[];
  onClose: () => void;
}) {
  const [filter, setFilter] = useState("");
  const word = filter.trim().toLowerCase();
  const turn = (name: string) =>
    setQuery({
      metrics: (shown.includes(name)
        ? shown.filter((one) => one !== name)
        : [...shown, name]
      ).join(),
    });
  return (
    <Dialog title="Series" onClose={onClose}>
      <input
        type="search"
        class="filter"
        value={filter}
        placeholder="Names"
        aria-label="Filter series"
        onInput={(e) => setFilter(e.currentTarget.value)}
      />
      <ul class="picker">
        {known
          .filter((name) => name.toLowerCase().includes(word))
          .map((name) => (
            <li key={name}>
              <label>
                <input type="checkbox" checked={shown.includes(name)} onChange={() => turn(name)} />
                <span class="ellipsis">{name}</span>
              </label>
            </li>
          ))}
      </ul>
    </Dialog>
  );
}

/* ---- bits ---- */

function bitsText({ bits }: ComparedRun): string {
  if (!bits) return "no digests of the same step";
  const { common, same_to, differs_at, differs_in } = bits;
  if (differs_at === null)
    return `the same bits to step ${integer(same_to)}, the last that both have`;
  const what = differs_in === "samples" ? "in its samples" : "with the same samples";
  const until =
    same_to === null ? "no step has the same bits" : `the same bits to step ${integer(same_to)}`;
  return `${until}; step ${integer(differs_at)} differs, ${what} (${integer(common)} compared)`;
}

function bitsTone(run: ComparedRun): "good" | "warn" | "calm" {
  if (!run.bits) return "calm";
  return run.bits.differs_at === null ? "good" : "warn";
}

const BITS = {
  good: { icon: "check", text: "same bits" },
  warn: { icon: "warn", text: "differs" },
  calm: { icon: "info", text: "unknown" },
} as const;

function Bits({ runs }: { runs: ComparedRun[] }) {
  const [first, ...others] = runs;
  if (!first || others.length === 0) return null;
  return (
    <section class="panel">
      <h2>Bits, beside those of {first.name}</h2>
      <ul class="bits">
        {others.map((run) => {
          const tone = bitsTone(run);
          return (
            <li key={run.id} data-run={run.id}>
              <a class="strong ellipsis" href={href(`/jobs/${encodeURIComponent(run.id)}/pulse`)}>
                {run.name}
              </a>
              <Badge tone={tone} icon={BITS[tone].icon}>
                {BITS[tone].text}
              </Badge>
              <span class="soft">{bitsText(run)}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/* ---- settings ---- */

function Effect({ setting }: { setting: ComparedSetting }) {
  return setting.changes_bits ? (
    <Badge tone="warn" icon="warn">
      changes the bits
    </Badge>
  ) : (
    <Badge tone="calm" icon="check">
      same bits
    </Badge>
  );
}

function Differences({
  title,
  what,
  none,
  settings,
  runs,
}: {
  title: string;
  what: string;
  none: string;
  settings: ComparedSetting[];
  runs: ComparedRun[];
}) {
  if (runs.length < 2) return null;
  return (
    <section class="panel">
      <h2>{title}</h2>
      {settings.length === 0 ? (
        <p class="body soft">{none}</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={title}>
          <table class="differences">
            <thead>
              <tr>
                <th scope="col">{what}</th>
                <th scope="col">Effect</th>
                {runs.map((run) => (
                  <th key={run.id} scope="col" title={run.id}>
                    {run.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {settings.map((setting) => (
                <tr key={setting.path} data-path={setting.path}>
                  <th scope="row" title={setting.path}>
                    {columnTitle(setting.path).text}
                  </th>
                  <td class="effect">
                    <Effect setting={setting} />
                  </td>
                  {setting.values.map((value, i) => (
                    <td key={runs[i]?.id} data-title={runs[i]?.name} title={value ?? ""}>
                      {value ?? <span class="faint">–</span>}
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

/* ---- the page ---- */

function Charts({ shown, runs, known }: { shown: string[]; runs: Run[]; known: string[] }) {
  const { axis, smoothing, logarithmic, zoom } = curveView();
  return (
    <div class={shown.length > 1 ? "chart-grid some" : "chart-grid one"}>
      {shown.map((name) => {
        const pair = validationOf(name);
        const names = known.includes(pair) ? [name, pair] : [name];
        return (
          <MetricChart
            key={names.join()}
            title={names.length > 1 ? `${name}, and of validation (dashed)` : name}
            names={names}
            runs={runs}
            axis={axis}
            smoothing={smoothing}
            raw
            logarithmic={logarithmic}
            hidesReplaced={hidesReplaced()}
            height={shown.length > 1 ? 240 : 320}
            sync="compare"
            view={zoom}
            onView={keepZoom}
            legend={false}
          />
        );
      })}
    </div>
  );
}

/* Below the curves: as axes, by their bits and settings. */
function Below({
  source,
  comparison,
  count,
  onPassing,
}: {
  source: Source;
  comparison: Comparison | undefined;
  count: number;
  onPassing: (ids: string[] | null) => void;
}) {
  return (
    <>
      {count > 1 && <Explore source={source} onPassing={onPassing} />}
      <Bits runs={comparison?.runs ?? []} />
      <Differences
        title="Settings that differ"
        what="Setting"
        none="None: the configurations are the same."
        settings={comparison?.settings ?? []}
        runs={comparison?.runs ?? []}
      />
      <Differences
        title="Code and data that differ"
        what="Made from"
        none="None, as far as the checkpoints of the runs say."
        settings={comparison?.origins ?? []}
        runs={comparison?.runs ?? []}
      />
      <Plugins runs={comparison?.runs ?? []} />
      <Texts runs={comparison?.runs ?? []} />
      {count > MOST_COMPARED && (
        <p class="small soft">
          Bits, and settings one by one, are compared of {MOST_COMPARED} runs at most: these are{" "}
          {integer(count)}.
        </p>
      )}
    </>
  );
}

/* Runs by their ids, each with its attempts and its own points. */
function OwnCurves({ ids, shown, header }: PartProps & { ids: string[] }) {
  const hidden = listOf("hidden");
  const comparison = useComparison(ids);
  const names = [...new Set(shown.flatMap((name) => [name, validationOf(name)]))];
  const [passing, setPassing] = useState<string[] | null>(null);
  const out = passing === null ? [] : ids.filter((id) => !passing.includes(id));
  const { runs, known, asked } = useCurves(comparison.data, names, [...hidden, ...out]);
  return (
    <>
      {header({ known, count: ids.length, runs })}
      <Waiting for={comparison} />
      {runs.length > 0 && <RunChips runs={runs} hidden={hidden} />}
      {runs.length > 0 && <Waiting for={asked} />}
      {runs.length > 0 && asked.data && (
        <div class="stack">
          <Charts shown={shown} runs={runs} known={known} />
          <Below
            source={{ runs: ids }}
            comparison={comparison.data}
            count={ids.length}
            onPassing={setPassing}
          />
        </div>
      )}
    </>
  );
}

/* Many runs, or groups of them, over the same ranges of steps. */
function ManyCurves({
  source,
  grouping,
  shown,
  header,
}: PartProps & { source: Source; grouping: string }) {
  const hidden = listOf("hidden");
  const band: Band = query.value.get("band") === "range" ? "range" : "deviation";
  const { axis, zoom } = curveView();
  const names = [...new Set(shown.flatMap((name) => [name, validationOf(name)]))].slice(0, 20);
  const asked = useShared(source, names, grouping, axis === "step" ? zoom : null);
  const [passing, setPassing] = useState<string[] | null>(null);
  const data = asked.data ?? undefined;
  const lines = useMemo(() => {
    const isOut = ({ runs }: Line) =>
      hidden.includes(runs[0] ?? "") ||
      (passing !== null && !runs.some((id) => passing.includes(id)));
    return data ? linesOf(data, source.runs ?? [], isOut) : [];
  }, [data, hidden.join(), passing]);
  const ids = data?.runs.map((run) => run.id) ?? [];
  const comparison = useComparison(ids.length <= MOST_COMPARED ? ids : []);
  return (
    <>
      {header({
        known: data?.names ?? [],
        count: ids.length,
        lines: data?.by ? lines.length : null,
      })}
      <Waiting for={asked} />
      {data && ids.length === 0 && (
        <section class="panel">
          <Empty title="No run matches" icon="compare">
            Choose others in <a href={href("/experiments")}>Experiments</a>.
          </Empty>
        </section>
      )}
      {data && ids.length > 0 && (
        <>
          <LineChips lines={lines} hidden={hidden} />
          <div class="stack">
            <SharedCharts
              data={data}
              shown={shown}
              lines={lines}
              band={band}
              pairOf={validationOf}
            />
            <Below
              source={source}
              comparison={ids.length <= MOST_COMPARED ? comparison.data : undefined}
              count={ids.length}
              onPassing={setPassing}
            />
          </div>
        </>
      )}
    </>
  );
}

interface PartProps {
  shown: string[];
  header: (of: {
    known: string[];
    count: number;
    lines?: number | null;
    runs?: Run[];
  }) => ComponentChildren;
}

const countOf = (count: number, what: string): string =>
  `${integer(count)} ${what}${count === 1 ? "" : "s"}`;

/* Names that the runs can be grouped by: what differs between them. */
function useGroupNames(source: Source | null): string[] {
  const { data } = useResource(
    () => (source ? api.getExperiments({ ...source, columns: ["state"] }) : Promise.resolve(null)),
    [JSON.stringify(source)],
  );
  return data ? [...new Set([...data.names.differing, ...data.names.labels])] : [];
}

function sourceOf(): Source | null {
  const ids = listOf("runs");
  const where = query.value.get("filter");
  if (ids.length > 0) return { runs: ids };
  return where === null ? null : where.trim() ? { where: where.trim() } : {};
}

export function Compare() {
  const source = sourceOf();
  const grouping = query.value.get("group") ?? "";
  const band: Band = query.value.get("band") === "range" ? "range" : "deviation";
  const shown = query.value.has("metrics") ? listOf("metrics") : ["loss"];
  const [picking, setPicking] = useState(false);
  const groupNames = useGroupNames(source);
  const ids = source?.runs;
  const header: PartProps["header"] = ({ known, count, lines, runs }) => (
    <>
      <PageHeader
        title="Compare"
        note={
          lines !== undefined && lines !== null
            ? `${countOf(lines, "group")} of ${countOf(count, "run")}`
            : count > 0
              ? countOf(count, "run")
              : undefined
        }
      >
        {source && <GroupControls grouping={grouping} band={band} names={groupNames} />}
        <CurveControls {...curveView()} />
        {runs && <ReplacedSteps runs={runs} />}
        <button disabled={known.length === 0} onClick={() => setPicking(true)}>
          <Icon name="curves" />
          Series
        </button>
        <a class="button" href={href(`/experiments${chosenQuery(source)}`)}>
          <Icon name="experiments" />
          Runs
        </a>
      </PageHeader>
      {picking && <MetricPicker known={known} shown={shown} onClose={() => setPicking(false)} />}
    </>
  );
  if (!source)
    return (
      <>
        {header({ known: [], count: 0 })}
        <section class="panel">
          <Empty title="No runs are chosen" icon="compare">
            Tick some in <a href={href("/experiments")}>Experiments</a>.
          </Empty>
        </section>
      </>
    );
  return ids && ids.length <= MOST_COMPARED && !grouping ? (
    <OwnCurves ids={ids} shown={shown} header={header} />
  ) : (
    <ManyCurves source={source} grouping={grouping} shown={shown} header={header} />
  );
}

function chosenQuery(source: Source | null): string {
  if (source?.runs) return `?runs=${source.runs.map(encodeURIComponent).join()}`;
  return source?.where ? `?filter=${encodeURIComponent(source.where)}` : "";
}
