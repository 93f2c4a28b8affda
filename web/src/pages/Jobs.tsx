/* All jobs as a table: state, progress, rate, metrics, and why a job waits. */
import { useMemo, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { api, type Job, type JobList } from "@generated/client";
import { ago, compact, date, duration, number } from "@/base/format";
import { useResource } from "@/base/resource";
import { href, query, setQuery } from "@/base/route";
import { Icon } from "@/components/Icon";
import {
  Empty,
  Failure,
  Filter,
  Loading,
  Meter,
  PageHeader,
  Pick,
  StateBadge,
  stateTone,
} from "@/components/parts";
import { Confirm, DeleteDialog, EditDialog } from "@/components/JobDialogs";
import { FilterFault } from "@/components/FilterFault";
import { HealthBadges } from "@/components/Health";
import { readSmallCurve } from "@/job/small_curves";
import { Sparkline } from "@/components/Sparkline";
import { act } from "@/job/actions";
import { isRemovable } from "@/job/manage";
import { FILTER_EXAMPLE, FILTER_HELP } from "@/job/filter";
import { isFinal } from "@/job/model";
import { isRecorded } from "@/job/recorded";
import type { PageEntry } from "@/frame/page";

declare const IS_REPORT: boolean;

const PAGE_ROWS = 100;
const SPARK_MS = 5000;

interface Field {
  name: string;
  title: string;
  number?: boolean;
  key: (job: Job) => string | number | null;
  cell: (job: Job) => ComponentChildren;
}

interface Found {
  jobs: Job[];
  /** All jobs of the server, whatever the filter. */
  total: number;
}

/* The jobs for which the filter holds. */
async function readJobs(filter: string): Promise<Found> {
  const jobs: Job[] = [];
  const where = filter ? { where: filter } : {};
  let token: string | null = null;
  do {
    const page: JobList = await api.listJobs({
      limit: 1000,
      ...where,
      ...(token ? { page_token: token } : {}),
    });
    jobs.push(...page.jobs);
    token = page.next_page_token;
  } while (token && jobs.length < 20_000);
  return { jobs, total: filter ? (await api.listJobs({ limit: 1 })).total : jobs.length };
}

function Spark({ job }: { job: Job }) {
  const turn = isFinal(job.state) ? 0 : SPARK_MS;
  const read = () => readSmallCurve(job.id);
  const { data: values = [] } = useResource(read, [job.id, job.attempt, job.state], turn);
  return <Sparkline values={values} label={`loss over steps, now ${number(job.progress.loss)}`} />;
}

function seconds(job: Job): number | null {
  if (job.ran_ms !== null) return job.ran_ms / 1000;
  if (job.started_ms === null) return null;
  return ((job.ended_ms ?? Date.now()) - job.started_ms) / 1000;
}

function LossCell({ job }: { job: Job }) {
  const { loss, minimum_loss } = job.progress;
  if (loss === null) return <>–</>;
  return (
    <>
      {number(loss)}
      <span class="sub faint">lowest {number(minimum_loss)}</span>
    </>
  );
}

function TimeCell({ job }: { job: Job }) {
  if (job.alive && job.progress.eta_seconds !== null)
    return (
      <>
        {duration(job.progress.eta_seconds)}
        <span class="sub faint">left</span>
      </>
    );
  const ran = seconds(job);
  return ran === null ? (
    <>–</>
  ) : (
    <>
      {duration(ran)}
      <span class="sub faint">ran</span>
    </>
  );
}

function NameCell({ job }: { job: Job }) {
  const why = job.waiting_for ?? (job.state === "FAILED" ? job.message : null);
  return (
    <>
      <a class="strong" href={href(`/jobs/${encodeURIComponent(job.id)}/pulse`)}>
        {job.name}
      </a>
      <span class="sub faint ellipsis" title={why ?? job.id}>
        {why ? (
          <>
            <Icon name={job.waiting_for ? "clock" : "warn"} />
            {why}
          </>
        ) : (
          [job.model, job.optimizer, job.id !== job.name ? job.id : null]
            .filter(Boolean)
            .join(" · ")
        )}
      </span>
    </>
  );
}

function Labels({ job }: { job: Job }) {
  return (
    <span class="labels">
      {Object.entries(job.labels).map(([key, value]) => (
        <button
          key={key}
          class="label"
          title={`${key}=${value}: filter by it`}
          onClick={() => setQuery({ filter: `${key}=${value}` })}
        >
          {key}={value}
        </button>
      ))}
    </span>
  );
}

function ProgressCell({ job }: { job: Job }) {
  const { step, last_step } = job.progress;
  if (last_step === null || last_step === 0) return <span class="faint">–</span>;
  return (
    <span class="progress-cell">
      <Meter
        share={(step ?? 0) / last_step}
        label={`Progress of ${job.name}`}
        tone={stateTone(job.state)}
      />
      <span class="small number soft">
        {compact(step ?? 0)} / {compact(last_step)}
      </span>
    </span>
  );
}

const FIELDS: Field[] = [
  {
    name: "name",
    title: "Job",
    key: (j) => j.name.toLowerCase(),
    cell: (j) => <NameCell job={j} />,
  },
  {
    name: "state",
    title: "State",
    key: (j) => j.state,
    cell: (j) => (
      <span class="states">
        <StateBadge state={j.state} reason={j.reason} />
        <HealthBadges job={j} />
      </span>
    ),
  },
  {
    name: "progress",
    title: "Progress",
    cell: (j) => <ProgressCell job={j} />,
    key: (j) => (j.progress.step ?? 0) / (j.progress.last_step || 1),
  },
  {
    name: "time",
    title: "Time",
    number: true,
    cell: (j) => <TimeCell job={j} />,
    key: (j) => (j.alive ? j.progress.eta_seconds : seconds(j)),
  },
  {
    name: "rate",
    title: "Samples/s",
    number: true,
    key: (j) => j.progress.samples_per_second,
    cell: (j) => compact(j.progress.samples_per_second),
  },
  {
    name: "loss",
    title: "Loss",
    number: true,
    key: (j) => j.progress.loss,
    cell: (j) => <LossCell job={j} />,
  },
  {
    name: "spark",
    title: "Curve",
    key: () => null,
    cell: (j) => (isRecorded(j) ? <Spark job={j} /> : <span class="faint">–</span>),
  },
  { name: "priority", title: "Prio", key: (j) => j.priority, cell: (j) => j.priority },
  {
    name: "labels",
    title: "Labels",
    key: (j) => Object.keys(j.labels).join(),
    cell: (j) => <Labels job={j} />,
  },
  {
    name: "age",
    title: "Created",
    key: (j) => j.created_ms,
    cell: (j) => (
      <span class="soft nowrap" title={date(j.created_ms)}>
        {ago(j.created_ms)}
      </span>
    ),
  },
];

function sorted(jobs: Job[], by: string, down: boolean): Job[] {
  const field = FIELDS.find((one) => one.name === by) ?? (FIELDS[0] as Field);
  const order = (a: Job, b: Job): number => {
    const x = field.key(a);
    const y = field.key(b);
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
  };
  return [...jobs].sort(order);
}

interface Order {
  by: string;
  down: boolean;
}

/* The order is in the address: "loss", or "-loss" for the other way round. */
function orderOf(): Order {
  const sort = query.value.get("sort") ?? "-age";
  return { by: sort.replace(/^-/, ""), down: sort.startsWith("-") };
}

function HeaderRow({
  order,
  all,
  onAll,
}: {
  order: Order;
  all: boolean;
  onAll: (on: boolean) => void;
}) {
  const { by, down } = order;
  const turn = (name: string) => setQuery({ sort: name === by && !down ? `-${name}` : name });
  return (
    <tr>
      {!IS_REPORT && (
        <th class="tick">
          <input
            type="checkbox"
            checked={all}
            aria-label="Select all jobs shown"
            onChange={(e) => onAll(e.currentTarget.checked)}
          />
        </th>
      )}
      {FIELDS.map((field) => (
        <th
          key={field.name}
          class={`${field.number ? "number " : ""}col-${field.name}`}
          scope="col"
          aria-sort={by === field.name ? (down ? "descending" : "ascending") : undefined}
        >
          {field.name === "spark" ? (
            field.title
          ) : (
            <button class="sort" onClick={() => turn(field.name)}>
              {field.title}
              <i aria-hidden="true">{by === field.name ? (down ? "↓" : "↑") : ""}</i>
            </button>
          )}
        </th>
      ))}
    </tr>
  );
}

type BulkCommand = "pause" | "resume" | "cancel";
const BULK: readonly BulkCommand[] = ["pause", "resume", "cancel"];

const BULK_TEXT: Record<BulkCommand, string> = {
  pause: "They stop after the step in flight and keep their processes.",
  resume: "Paused jobs go on; ended ones are queued again from their last checkpoint.",
  cancel: "They end after the step in flight, with a checkpoint. What was recorded stays.",
};

const countOf = (count: number): string => (count === 1 ? "1 job" : `${count} jobs`);

const compareAddress = (jobs: Job[]): string =>
  href(`/compare?runs=${jobs.map((job) => encodeURIComponent(job.id)).join(",")}`);

/* Commands for the selected jobs; each is asked for once more, with the names of the jobs. */
function Bulk({ jobs, onDone }: { jobs: Job[]; onDone: () => void }) {
  const [asking, setAsking] = useState<BulkCommand | "edit" | "delete" | null>(null);
  const close = () => setAsking(null);
  const can = (command: BulkCommand) => jobs.filter((job) => job.capabilities.includes(command));
  const run = async (command: BulkCommand) => {
    await Promise.all(can(command).map((job) => act(job, command)));
    onDone();
  };
  const removable = jobs.filter(isRemovable).length;
  return (
    <div class="bulk" role="group" aria-label="Selected jobs">
      <span>{jobs.length} selected</span>
      {BULK.map((command) => (
        <button
          key={command}
          data-bulk={command}
          disabled={can(command).length === 0}
          onClick={() => setAsking(command)}
        >
          {command} {can(command).length || ""}
        </button>
      ))}
      <button data-bulk="edit" onClick={() => setAsking("edit")}>
        edit
      </button>
      <button
        class="danger"
        data-bulk="delete"
        disabled={removable === 0}
        onClick={() => setAsking("delete")}
      >
        delete {removable || ""}
      </button>
      {jobs.length > 1 && (
        <a class="button" href={compareAddress(jobs)}>
          <Icon name="compare" />
          compare
        </a>
      )}
      {asking === "edit" && <EditDialog jobs={jobs} onClose={close} onDone={onDone} />}
      {asking === "delete" && <DeleteDialog jobs={jobs} onClose={close} onDone={onDone} />}
      {asking !== null && asking !== "edit" && asking !== "delete" && (
        <Confirm
          title={`${asking[0]?.toUpperCase()}${asking.slice(1)} ${countOf(can(asking).length)}?`}
          jobs={can(asking)}
          yes={`${asking} ${countOf(can(asking).length)}`}
          danger={asking === "cancel"}
          onYes={() => void run(asking)}
          onClose={close}
        >
          <p>{BULK_TEXT[asking]}</p>
        </Confirm>
      )}
    </div>
  );
}

const countText = (shown: number, all: number) => (shown === all ? `${all}` : `${shown} of ${all}`);

function JobRow({
  job,
  ticked,
  onTick,
}: {
  job: Job;
  ticked: boolean;
  onTick: (on: boolean) => void;
}) {
  return (
    <tr class={ticked ? "selected" : ""}>
      {!IS_REPORT && (
        <td class="tick">
          <input
            type="checkbox"
            checked={ticked}
            aria-label={`Select ${job.name}`}
            onChange={(e) => onTick(e.currentTarget.checked)}
          />
        </td>
      )}
      {FIELDS.map((field) => (
        <td
          key={field.name}
          class={`${field.number ? "number " : ""}col-${field.name}`}
          data-title={field.title}
        >
          {field.cell(job)}
        </td>
      ))}
    </tr>
  );
}

function JobTable({
  jobs,
  selected,
  onSelect,
}: {
  jobs: Job[];
  selected: ReadonlySet<string>;
  onSelect: (ids: ReadonlySet<string>) => void;
}) {
  const [rows, setRows] = useState(PAGE_ROWS);
  const tick = (id: string, on: boolean) => {
    const next = new Set(selected);
    if (on) next.add(id);
    else next.delete(id);
    onSelect(next);
  };
  return (
    <div class="panel scroll" tabIndex={0} role="region" aria-label="Table of jobs">
      <table class="jobs">
        <thead>
          <HeaderRow
            order={orderOf()}
            all={jobs.every((job) => selected.has(job.id))}
            onAll={(on) => onSelect(new Set(on ? jobs.map((job) => job.id) : []))}
          />
        </thead>
        <tbody>
          {jobs.slice(0, rows).map((job) => (
            <JobRow
              key={job.id}
              job={job}
              ticked={selected.has(job.id)}
              onTick={(on) => tick(job.id, on)}
            />
          ))}
        </tbody>
      </table>
      {jobs.length > rows && (
        <div class="more">
          <button onClick={() => setRows(rows + PAGE_ROWS)}>
            Show {Math.min(PAGE_ROWS, jobs.length - rows)} more
          </button>
        </div>
      )}
    </div>
  );
}

/* Where there is no room for the table's head. */
function SortPick({ order }: { order: Order }) {
  const options = FIELDS.filter((field) => field.name !== "spark").flatMap((field) => [
    [field.name, `${field.title} ↑`] as const,
    [`-${field.name}`, `${field.title} ↓`] as const,
  ]);
  return (
    <span class="narrow-only">
      <Pick
        label="order"
        value={`${order.down ? "-" : ""}${order.by}`}
        options={options}
        onChange={(value) => setQuery({ sort: value })}
      />
    </span>
  );
}

function NoJobs({ none }: { none: boolean }) {
  return (
    <Empty title={none ? "No jobs yet" : "No job matches the filter"} icon="jobs">
      {none && (
        <>
          Send one from <a href={href("/submit")}>Submit</a>, or with
          <code> csengine submit CONFIG.yaml</code>.
        </>
      )}
    </Empty>
  );
}

export function Jobs() {
  const filter = (query.value.get("filter") ?? "").trim();
  const { data, error, loading, reload } = useResource(
    () => readJobs(filter),
    [filter],
    IS_REPORT ? 0 : 2000,
  );
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { by, down } = orderOf();
  const shown = useMemo(() => sorted(data?.jobs ?? [], by, down), [data, by, down]);
  const chosen = shown.filter((job) => selected.has(job.id));
  return (
    <>
      <PageHeader title="Jobs" note={data && countText(shown.length, data.total)}>
        {chosen.length > 0 && <Bulk jobs={chosen} onDone={reload} />}
        <SortPick order={{ by, down }} />
        {!IS_REPORT && (
          <Filter label="Filter jobs" placeholder={FILTER_EXAMPLE} help={FILTER_HELP} />
        )}
        {!IS_REPORT && (
          <a class="button" href={href("/submit")}>
            <Icon name="submit" />
            Submit
          </a>
        )}
      </PageHeader>
      {error?.status === 400 && <FilterFault text={error.message} />}
      {error && error.status !== 400 && !data && <Failure error={error} retry={reload} />}
      {loading && !data && <Loading />}
      {data && shown.length === 0 && <NoJobs none={data.total === 0} />}
      {shown.length > 0 && <JobTable jobs={shown} selected={selected} onSelect={setSelected} />}
    </>
  );
}

export const page: PageEntry = {
  name: "jobs",
  order: 10,
  title: "Jobs",
  icon: "jobs",
  key: "j",
  view: Jobs,
};
