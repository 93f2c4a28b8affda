/* Curves of one run, or of several over each other. Whatever is chosen is in the address: a link
 * shows the same picture. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, type Job, type Metrics } from "@generated/client";
import { useResource } from "@/base/resource";
import { query, setQuery } from "@/base/route";
import { Icon } from "@/components/Icon";
import { MetricChart, colourOf, type Run } from "@/components/MetricChart";
import { FilterFault } from "@/components/FilterFault";
import {
  CurveControls,
  ReplacedSteps,
  curveView,
  hidesReplaced,
  keepZoom,
} from "@/components/CurveControls";
import { HealthBadges } from "@/components/Health";
import { Dialog, Empty, Filter, Loading, PageHeader, StateBadge } from "@/components/parts";
import { current, isFinal, type JobModel } from "@/job/model";
import { isRecorded, useRecorded } from "@/job/recorded";
import { loadCompare, loadLater, type Beside, type Later } from "@/base/later";
import type { XAxis } from "@/job/series";
import type { PlotMark } from "@/components/plot";
import { FILTER_EXAMPLE, FILTER_HELP } from "@/job/filter";
import { number } from "@/base/format";
import type { PageEntry } from "@/frame/page";

const MAX_POINTS = 1000;
const RELOAD_MS = 10_000;

const listOf = (name: string): string[] => (query.value.get(name) ?? "").split(",").filter(Boolean);

interface Other {
  job: Job;
  metrics: Metrics;
}

async function readRun(id: string): Promise<Other> {
  const [job, metrics] = await Promise.all([
    api.getJob({ id }),
    api.getMetrics({ id, max_points: MAX_POINTS, history: true }),
  ]);
  return { job, metrics };
}

function useRuns(model: JobModel, others: string[]): { runs: Run[]; loading: boolean } {
  const job = model.job.value;
  const own = useRecorded(
    model,
    () => readRun(model.id),
    [job?.attempt, job?.state],
    job && !isFinal(job.state) ? RELOAD_MS : 0,
  );
  const more = useResource(
    () => Promise.all(others.map(readRun)),
    [others.join()],
    others.length > 0 ? RELOAD_MS : 0,
  );
  const all = useMemo(
    () => [...(own.data ? [own.data] : []), ...(more.data ?? [])],
    [own.data, more.data],
  );
  const runs = useMemo(
    () =>
      all.map(({ job: one, metrics }): Run => ({
        id: one.id,
        label: one.name,
        batchSize: one.batch_size ?? 1,
        metrics,
        live: one.id === model.id ? model.live : undefined,
      })),
    [all, model],
  );
  return { runs, loading: own.loading };
}

/* The marks of the runs that are shown, once what makes them has been loaded. */
function useMarks(model: JobModel, runs: Run[], axis: XAxis) {
  const job = model.job.value;
  const [later, setLater] = useState<Later | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  useEffect(() => void loadLater().then((found) => setLater(found), setFailure), []);
  const ids = runs.map((run) => run.id).filter((id) => id !== model.id || isRecorded(job));
  const read = useResource(
    () => (later ? later.readMarks(ids) : Promise.resolve(null)),
    [later, ids.join(), job?.attempt, job?.state, model.checkpointsVersion.value],
    job && !isFinal(job.state) ? RELOAD_MS : 0,
  );
  const marks = useMemo(
    (): PlotMark[] => (later && read.data ? later.placeMarks(read.data, runs, axis) : []),
    [later, read.data, runs, axis],
  );
  return { marks, error: failure ?? read.error, later, reload: read.reload };
}

function RunPicker({
  chosen,
  own,
  onClose,
}: {
  chosen: string[];
  own: string;
  onClose: () => void;
}) {
  const [filter, setFilter] = useState("");
  const where = filter.trim();
  const { data, error } = useResource(
    () => api.listJobs({ limit: 1000, ...(where ? { where } : {}) }),
    [where],
  );
  const shown = (data?.jobs ?? []).filter((job) => job.id !== own).slice(0, 60);
  const toggle = (id: string) => {
    const next = chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id];
    setQuery({ runs: next.join(",") });
  };
  return (
    <Dialog title="Compare with" onClose={onClose} wide>
      <input
        type="search"
        value={filter}
        placeholder={FILTER_EXAMPLE}
        title={FILTER_HELP}
        aria-label="Filter runs"
        class="filter"
        onInput={(e) => setFilter(e.currentTarget.value)}
      />
      {error?.status === 400 && <FilterFault text={error.message} />}
      <ul class="picker">
        {shown.map((job) => (
          <li key={job.id}>
            <label>
              <input
                type="checkbox"
                checked={chosen.includes(job.id)}
                onChange={() => toggle(job.id)}
              />
              <span class="strong">{job.name}</span>
              <span class="faint ellipsis">
                {job.model} · {job.optimizer}
              </span>
              <span class="spacer" />
              <span class="number soft">loss {number(job.progress.loss)}</span>
              <StateBadge state={job.state} reason={job.reason} />
              <HealthBadges job={job} />
            </label>
          </li>
        ))}
        {data && shown.length === 0 && <li class="faint">No other run matches.</li>}
      </ul>
    </Dialog>
  );
}

function RunChips({ runs, others }: { runs: Run[]; others: string[] }) {
  if (runs.length < 2) return null;
  return (
    <div class="chips" role="group" aria-label="Runs shown">
      {runs.map((run, i) => (
        <span class="chip" key={run.id}>
          <i class="swatch" style={{ borderColor: `var(${colourOf(i)})` }} />
          {run.label}
          {others.includes(run.id) && (
            <button
              class="plain icon"
              aria-label={`Remove ${run.label}`}
              onClick={() => setQuery({ runs: others.filter((id) => id !== run.id).join(",") })}
            >
              <Icon name="close" />
            </button>
          )}
        </span>
      ))}
    </div>
  );
}

/* "train/loss" and "train/accuracy" stand together; what has no prefix comes first. */
function ordered(names: string[], pins: string[], filter: string): string[] {
  let test = (name: string) => name.includes(filter);
  try {
    const pattern = new RegExp(filter, "i");
    test = (name) => pattern.test(name);
  } catch {
    /* A pattern that is being typed: taken as plain text. */
  }
  const rank = (name: string) =>
    pins.includes(name) ? 0 : name === "loss" ? 1 : name.includes("/") ? 3 : 2;
  return names.filter(test).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

export function Curves() {
  const model = current.value as JobModel;
  const others = listOf("runs").filter((id) => id !== model.id);
  const pins = listOf("pins");
  const shows = curveView();
  const filter = query.value.get("filter") ?? "";
  const [picking, setPicking] = useState(false);
  const [beside, setBeside] = useState<Beside | null>(null);
  /* A history that cannot be loaded is tried again with the next visit. */
  useEffect(
    () =>
      void loadCompare().then(
        (found) => setBeside(found),
        () => undefined,
      ),
    [],
  );
  const { runs, loading } = useRuns(model, others);
  const { marks, error, later, reload: reloadMarks } = useMarks(model, runs, shows.axis);
  const hidden = listOf("unmarked");
  const marked = useMemo(
    () => marks.filter((one) => !hidden.includes(one.kind)),
    [marks, hidden.join()],
  );
  const names = new Set([...runs.flatMap((run) => run.metrics?.names ?? []), ...model.names.value]);
  const shown = ordered([...names], pins, filter);
  const dropped = Math.max(0, ...runs.map((run) => run.metrics?.dropped_series ?? 0));
  const pin = (name: string) =>
    setQuery({
      pins: (pins.includes(name) ? pins.filter((one) => one !== name) : [...pins, name]).join(","),
    });
  return (
    <>
      <PageHeader
        title="Curves"
        note={`${shown.length} series${dropped > 0 ? `, ${dropped} more are not recorded` : ""}`}
      >
        <CurveControls {...shows} />
        <ReplacedSteps runs={runs} />
        <Filter label="Filter series" placeholder="Series, as a pattern" />
        <button onClick={() => setPicking(true)}>
          <Icon name="curves" />
          Compare
        </button>
      </PageHeader>
      <RunChips runs={runs} others={others} />
      {later && <later.MarkLegend marks={marks} hidden={hidden} />}
      {error && <p class="small soft">Marks could not be read: {error.message}</p>}
      {loading && runs.length === 0 && <Loading />}
      {!loading && shown.length === 0 && (
        <section class="panel">
          <Empty title="No series" icon="curves">
            {filter ? "No name matches the pattern." : "Metrics appear with the first step."}
          </Empty>
        </section>
      )}
      <div class="chart-grid">
        {shown.map((name) => (
          <MetricChart
            key={name}
            title={name}
            names={[name]}
            runs={runs}
            axis={shows.axis}
            smoothing={shows.smoothing}
            logarithmic={shows.logarithmic}
            hidesReplaced={hidesReplaced()}
            height={190}
            sync="curves"
            view={shows.zoom}
            marks={marked}
            markStrip={later?.Strip}
            onView={keepZoom}
            legend={false}
            actions={
              <button
                class="plain icon"
                aria-pressed={pins.includes(name)}
                onClick={() => pin(name)}
                aria-label={`Pin ${name} to the top`}
                title="Pin to the top"
              >
                <Icon name="pin" />
              </button>
            }
          />
        ))}
      </div>
      {beside && <beside.Notes id={model.id} onChange={reloadMarks} />}
      {beside && <beside.History id={model.id} attempt={model.job.value?.attempt} />}
      {picking && <RunPicker chosen={others} own={model.id} onClose={() => setPicking(false)} />}
    </>
  );
}

export const page: PageEntry = {
  name: "curves",
  order: 50,
  title: "Curves",
  icon: "curves",
  key: "c",
  view: Curves,
  ofJob: true,
};
