/* The server and its machine: resources, their use, and the health checks. */
import { api, type Cluster as ClusterData, type Readiness, type State } from "@generated/client";
import { ApiError } from "@/api/transport";
import { ago, bytes, date, integer, number } from "@/base/format";
import { useResource } from "@/base/resource";
import { href } from "@/base/route";
import { Icon } from "@/components/Icon";
import { Badge, Failure, Meter, PageHeader, StateBadge, Tile, Waiting } from "@/components/parts";
import type { PageEntry } from "@/frame/page";

const EVERY_MS = 3000;

/* A server that is not ready answers 503, with the same list. */
async function readiness(): Promise<Readiness> {
  try {
    return await api.getReadiness();
  } catch (error) {
    const problem = (error as ApiError).problem as Partial<Readiness>;
    if (problem?.checks) return problem as Readiness;
    throw error;
  }
}

function Usage({
  label,
  used,
  all,
  text,
}: {
  label: string;
  used: number;
  all: number;
  text: (value: number) => string;
}) {
  const share = all > 0 ? used / all : 0;
  return (
    <div class="usage">
      <span>{label}</span>
      <Meter
        share={share}
        label={label}
        tone={share > 0.9 ? "bad" : share > 0.75 ? "warn" : "info"}
      />
      <span class="number soft nowrap">
        {text(used)} of {text(all)}
      </span>
    </div>
  );
}

function Checks() {
  const { data, error } = useResource(readiness, [], EVERY_MS);
  if (error && !data) return <Failure error={error} />;
  return (
    <section class="panel">
      <h2>Checks</h2>
      <ul class="findings">
        {(data?.checks ?? []).map((check) => (
          <li key={check.name} class={check.ok ? "good" : "bad"}>
            <Icon name={check.ok ? "check" : "warn"} />
            <span>
              <strong>{check.name}</strong> {check.detail}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const DONE: Record<string, string> = {
  pause: "pause",
  resume: "resume",
  checkpoint: "save a checkpoint",
  cancel: "cancel",
  kill: "kill",
  scale: "scale",
};

/* An order in words; the request itself is its title. */
function orderText(method: string, path: string): string {
  const [, last = "", saved] = /^\/api\/v1\/jobs(?:\/[^/]+)?(?:\/(.*?)(\d+)?)?$/.exec(path) ?? [];
  if (DONE[last]) return DONE[last];
  if (last === "checkpoints/" && method === "DELETE") return `delete checkpoint ${saved ?? ""}`;
  if (last !== "" || !path.startsWith("/api/v1/jobs")) return `${method} ${path}`;
  if (method === "PATCH") return "edit";
  return method === "DELETE" ? "delete" : "submit";
}

const answerText = (status: number): string =>
  status < 300 ? "done" : status < 500 ? "refused" : "failed";

function Audit() {
  const { data } = useResource(() => api.listAudit({ limit: 50 }), [], 10_000);
  if (!data || data.entries.length === 0) return null;
  return (
    <section class="panel scroll">
      <h2>Orders</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Who</th>
            <th scope="col">What</th>
            <th scope="col">Job</th>
            <th scope="col" class="number">
              Answer
            </th>
          </tr>
        </thead>
        <tbody>
          {data.entries.map((entry) => (
            <tr key={entry.seq}>
              <td class="nowrap" title={date(entry.time_ms)}>
                {ago(entry.time_ms)}
              </td>
              <td>{entry.peer}</td>
              <td title={`${entry.method} ${entry.path}`}>{orderText(entry.method, entry.path)}</td>
              <td>
                {entry.job && (
                  <a href={href(`/jobs/${encodeURIComponent(entry.job)}/pulse`)}>{entry.job}</a>
                )}
              </td>
              <td class="number" title={String(entry.status)}>
                {answerText(entry.status)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Server() {
  const { data } = useResource(() => api.getVersion(), []);
  if (!data) return null;
  return (
    <section class="panel">
      <h2>Server</h2>
      <dl class="facts">
        <div>
          <dt>Version</dt>
          <dd>
            {data.version}, API {data.api}
          </dd>
        </div>
        <div>
          <dt>Serves</dt>
          <dd>{data.mode === "root" ? "a queue of jobs" : "one run"}</dd>
        </div>
        <div>
          <dt>Started</dt>
          <dd>
            {date(data.started_ms)}, process {data.pid}
          </dd>
        </div>
        <div>
          <dt>Can</dt>
          <dd class="labels">
            {Object.entries(data.features).map(([name, on]) => (
              <Badge key={name} tone={on ? "good" : "calm"} icon={on ? "check" : "close"}>
                {name}
              </Badge>
            ))}
          </dd>
        </div>
      </dl>
    </section>
  );
}

const LOW_DISK = 0.05;

function Figures({ data }: { data: ClusterData }) {
  const low = data.disk_free_bytes < LOW_DISK * data.disk_total_bytes;
  return (
    <dl class="tiles">
      <Tile label="Cores given to jobs" value={`${data.used.cores} / ${data.budget.cores}`} />
      <Tile
        label="Memory given to jobs"
        value={data.used.memory_bytes > 0 ? bytes(data.used.memory_bytes) : "none"}
        note={`of ${bytes(data.budget.memory_bytes)}`}
      />
      <Tile
        label="Disk free"
        value={bytes(data.disk_free_bytes)}
        note={`of ${bytes(data.disk_total_bytes)}`}
        {...(low ? { tone: "bad" as const } : {})}
      />
    </dl>
  );
}

function Hosts({ data }: { data: ClusterData }) {
  return (
    <section class="panel">
      <h2>Hosts</h2>
      <div class="body stack">
        {data.hosts.map((host) => (
          <div key={host.name} class="stack tight">
            <strong>{host.name}</strong>
            <Usage label="load" used={host.load ?? 0} all={host.cores} text={(v) => number(v, 3)} />
            <Usage
              label="memory"
              used={host.memory_bytes - host.memory_free_bytes}
              all={host.memory_bytes}
              text={bytes}
            />
          </div>
        ))}
        <Usage
          label="disk"
          used={data.disk_total_bytes - data.disk_free_bytes}
          all={data.disk_total_bytes}
          text={bytes}
        />
      </div>
    </section>
  );
}

function Counts({ data }: { data: ClusterData }) {
  const there = Object.entries(data.jobs).filter(([, count]) => count > 0);
  return (
    <section class="panel">
      <h2>Jobs</h2>
      <table>
        <tbody>
          {there.map(([state, count]) => (
            <tr key={state}>
              <td>
                <a href={href(`/jobs?filter=state=${state}`)}>
                  <StateBadge state={state as State} />
                </a>
              </td>
              <td class="number">{integer(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Cluster() {
  const asked = useResource(() => api.getCluster(), [], EVERY_MS);
  const { data } = asked;
  return (
    <>
      <PageHeader title="Cluster" />
      <Waiting for={asked} />
      {data && (
        <div class="stack">
          <Figures data={data} />
          <div class="columns halves">
            <Hosts data={data} />
            <Counts data={data} />
            <Checks />
            <Server />
          </div>
          <Audit />
        </div>
      )}
    </>
  );
}

export const page: PageEntry = {
  name: "cluster",
  order: 30,
  title: "Cluster",
  icon: "cluster",
  key: "u",
  view: Cluster,
  live: true,
};
