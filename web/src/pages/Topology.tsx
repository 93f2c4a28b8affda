/* Processes and the streams between them: what each is at, utilization, waiting, back-pressure.
 *
 * A process is busy, idle (waits for input) or back-pressured (waits for room at its output), each
 * as a share of the time, averaged over a window. The three have patterns as well as colours, and
 * their figures as text. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, type TopologySample } from "@generated/client";
import { integer, number, percent, time } from "@/base/format";
import { Empty, Failure, Loading, PageHeader } from "@/components/parts";
import { Sparkline } from "@/components/Sparkline";
import { current, notYet, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import { averagesOf, bottlenecksOf, fateOf, joinSamples, type Averages } from "@/job/topology";
import { Hosts } from "@/topology/Hosts";
import { Flow, Patterns, SHARES, payloadText } from "@/topology/Flow";
import type { PageEntry } from "@/frame/page";

const SHOWN = 60;

function Legend() {
  return (
    <div class="legend">
      {SHARES.map(([kind, text]) => (
        <span key={kind}>
          <svg width="22" height="10" aria-hidden="true">
            <rect width="22" height="10" fill={`url(#${kind})`} />
          </svg>
          {text}
        </span>
      ))}
      <span class="faint">idle: waits for input; back-pressured: waits for room at its output</span>
    </div>
  );
}

function StreamTable({ sample, chosen }: { sample: TopologySample; chosen: Set<string> }) {
  const rows = (sample.streams ?? []).filter(
    (s) => chosen.size === 0 || chosen.has(s.from) || chosen.has(s.to),
  );
  return (
    <section class="panel scroll" tabIndex={0} role="region" aria-label="Streams">
      <h2>Streams{chosen.size > 0 ? ` of ${[...chosen].join(", ")}` : ""}</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Stream</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">Payload</th>
            <th scope="col" class="number">
              Filled
            </th>
            <th scope="col" class="number">
              MB/s
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((s) => (
            <tr key={`${s.name}/${s.from}/${s.to}`}>
              <td>{s.name}</td>
              <td>{s.from}</td>
              <td>{s.to}</td>
              <td>{payloadText([s])}</td>
              <td class="number">
                {s.capacity ? `${integer(s.depth)} of ${integer(s.capacity)}` : "–"}
              </td>
              <td class="number">{number(s.mb_per_second, 3)}</td>
            </tr>
          ))}
          {rows.length === 0 && (
            <tr>
              <td colSpan={6} class="faint">
                No stream is recorded.
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </section>
  );
}

function ProcessTable({
  samples,
  averages,
  chosen,
}: {
  samples: TopologySample[];
  averages: Averages;
  chosen: Set<string>;
}) {
  const all = averages.newest.processes ?? [];
  const rows = all.filter((p) => chosen.size === 0 || chosen.has(p.name));
  const history = (name: string) =>
    samples.map((one) => one.processes?.find((p) => p.name === name)?.busy ?? null);
  return (
    <section class="panel scroll" tabIndex={0} role="region" aria-label="Processes">
      <h2>Processes</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Process</th>
            <th scope="col" class="number">
              Busy
            </th>
            <th scope="col" class="number">
              Idle
            </th>
            <th scope="col" class="number">
              Back-pressured
            </th>
            <th scope="col">Busy, lately</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((p) => {
            const of = averages.shares.get(p.name);
            return (
              <tr key={p.name}>
                <td>{p.name}</td>
                <td class="number">{percent(of?.busy)}</td>
                <td class="number">{percent(of?.idle)}</td>
                <td class="number">{percent(of?.pressed)}</td>
                <td>
                  <Sparkline values={history(p.name)} label={`busy share of ${p.name}`} />
                </td>
                <td>{fateOf(samples, p) || (p.state ?? "running")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function noteOf(averages: Averages): string {
  const span = number(Number(averages.seconds.toPrecision(2)));
  return `as of ${time(averages.newest.time_ms)}; shares are averages of the last ${span} s`;
}

export function Topology() {
  const model = current.value as JobModel;
  const stored = useRecorded(model, () => api.getTopology({ id: model.id, samples: SHOWN }), []);
  const [chosen, setChosen] = useState<string[]>([]);
  const live = model.topology.value;
  const samples = useMemo(() => joinSamples(stored.data?.samples ?? [], live), [stored.data, live]);
  const averages = useMemo(() => averagesOf(samples), [samples]);
  const names = new Set(chosen);
  useEffect(() => setChosen([]), [model.id]);
  return (
    <>
      <Patterns />
      <PageHeader title="Topology" note={averages && noteOf(averages)}>
        <Legend />
      </PageHeader>
      {stored.error && !averages && <Failure error={stored.error} />}
      {stored.loading && !averages && <Loading />}
      {!averages && stored.data && (
        <section class="panel">
          <Empty title={notYet("No topology")} icon="topology">
            {stored.data.missing ?? "Samples are taken twice a second while the run lives."}
          </Empty>
        </section>
      )}
      {averages && (
        <div class="stack">
          {(averages.newest.hosts ?? []).length > 0 && (
            <Hosts hosts={averages.newest.hosts ?? []} />
          )}
          <section class="panel" aria-label="Drawing">
            <Flow
              samples={samples}
              averages={averages}
              bottlenecks={bottlenecksOf(averages)}
              chosen={names}
              onChoose={(next) => setChosen(next.join() === chosen.join() ? [] : next)}
            />
          </section>
          <div class="topology-tables">
            <ProcessTable samples={samples.slice(-SHOWN)} averages={averages} chosen={names} />
            <StreamTable sample={averages.newest} chosen={names} />
          </div>
          {stored.data?.missing && <p class="faint small">{stored.data.missing}</p>}
        </div>
      )}
    </>
  );
}

export const page: PageEntry = {
  name: "topology",
  order: 60,
  title: "Topology",
  icon: "topology",
  key: "t",
  view: Topology,
  ofJob: true,
};
