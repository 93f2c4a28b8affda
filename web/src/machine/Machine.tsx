/* The hosts of a run as wholes, over time, below the loss of the same minutes: cores, clock, memory,
 * disk, network, temperature; and which process the others wait for. */
import { useMemo } from "preact/hooks";
import { api, type MachineHost, type Metrics } from "@generated/client";
import { bytes, integer, number, percent } from "@/base/format";
import { href, query, setQuery } from "@/base/route";
import { Chart, type Curve, type ChartProps } from "@/components/Chart";
import { Empty, PageHeader, Pick, Waiting } from "@/components/parts";
import { current, isFinal, notYet, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import { coresOf, curvesOf, PARTS, type Part } from "@/machine/figures";
import { Stragglers } from "@/timeline/Timeline";

const REREAD_MS = 4000;
const SYNC = "machine";
const HEIGHT = 150;

/* The loss of the minutes that samples are of. */
function lossOf(metrics: Metrics | undefined, from: number, to: number): Curve[] {
  const x: number[] = [];
  const y: (number | null)[] = [];
  for (const series of metrics?.series ?? [])
    series.value.forEach((value, i) => {
      const at = series.time_ms?.[i];
      if (at == null || at < from || at > to) return;
      x.push(at);
      y.push(value);
    });
  return [{ label: "loss", colour: "--series-0", x, y }];
}

function PartChart({ part, host }: { part: Part; host: MachineHost }) {
  const curves = useMemo(() => curvesOf(part, host), [part, host]);
  const isThere = curves.some((curve) => curve.y.some((value) => value !== null));
  if (!isThere)
    return (
      <section class="panel" data-part={part.name} aria-label={part.title}>
        <div class="head">
          <h2>{part.title}</h2>
        </div>
        <p class="body soft">
          {host.not_readable.includes(part.name)
            ? `Not readable on this host: ${part.from}.`
            : "no value yet"}
        </p>
      </section>
    );
  const options: Partial<ChartProps> = {};
  if (part.unit) options.unit = part.unit;
  if (part.bounds) options.bounds = part.bounds;
  return (
    <div data-part={part.name}>
      <Chart
        title={part.title}
        curves={curves}
        axis="time"
        height={HEIGHT}
        sync={SYNC}
        legend={curves.length > 1}
        {...options}
      />
    </div>
  );
}

/* ---- cores ---- */

/* A row for each core, a cell for each time: the same ink as the painted graph. */
function Cores({ host }: { host: MachineHost }) {
  const rows = coresOf(host);
  if (rows.length === 0) return null;
  const last = rows.map((row) => row[row.length - 1] ?? null);
  return (
    <section class="panel cores" aria-label="Cores">
      <div class="head">
        <h2>Cores, each</h2>
        <span class="spacer" />
        <span class="faint small">a row for each; stronger: busier</span>
      </div>
      <div class="body">
        <svg
          viewBox={`0 0 ${rows[0]?.length ?? 1} ${rows.length}`}
          preserveAspectRatio="none"
          style={{ height: `${Math.min(320, Math.max(24, rows.length * 14))}px` }}
          role="img"
          aria-label={`Busy share of ${rows.length} cores over time; now ${last
            .map((share, i) => `core ${i} ${percent(share)}`)
            .join(", ")}`}
        >
          {rows.map((row, core) =>
            row.map(
              (share, i) =>
                share !== null && (
                  <rect
                    key={`${core}/${i}`}
                    x={i}
                    y={core + 0.06}
                    width={1.02}
                    height={0.88}
                    style={{ fillOpacity: share }}
                  />
                ),
            ),
          )}
        </svg>
        <p class="small soft">
          Now:{" "}
          {last.map((share, i) => (
            <span key={i} class="nowrap">
              core {i}: {percent(share)}{" "}
            </span>
          ))}
        </p>
      </div>
    </section>
  );
}

/* ---- the page ---- */

function summaryText(host: MachineHost): string {
  const at = host.time_ms.length - 1;
  const { busy, memory_bytes, memory_free_bytes, clock_mhz, temperature_celsius } = host.figures;
  const parts = [
    busy[at] != null ? `cores ${percent(busy[at])} busy` : "",
    clock_mhz[at] != null ? `${number((clock_mhz[at] as number) / 1000, 3)} GHz` : "",
    memory_free_bytes[at] != null
      ? `${bytes(memory_free_bytes[at])} of ${bytes(memory_bytes[at])} free`
      : "",
    temperature_celsius[at] != null ? `${integer(temperature_celsius[at])} °C` : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

export function Machine() {
  const model = current.value as JobModel;
  const job = model.job.value;
  const every = job && !isFinal(job.state) ? REREAD_MS : 0;
  const read = useRecorded(model, () => api.getMachine({ id: model.id }), [job?.state], every);
  const trace = useRecorded(model, () => api.getTrace({ id: model.id }), [job?.state]);
  const loss = useRecorded(
    model,
    () => api.getMetrics({ id: model.id, names: ["loss"], max_points: 2000 }),
    [job?.state],
    every,
  );
  const topology = useRecorded(model, () => api.getTopology({ id: model.id, samples: 1 }), [
    job?.state,
  ]);
  const hosts = read.data?.hosts ?? [];
  const wanted = query.value.get("host");
  const host = hosts.find((one) => one.name === wanted) ?? hosts[0];
  const curve = useMemo(
    () => lossOf(loss.data, host?.time_ms[0] ?? 0, host?.time_ms[host.time_ms.length - 1] ?? 0),
    [loss.data, host],
  );
  const slowest = topology.data?.samples[0]?.hosts?.find((one) => one.slowest);
  return (
    <>
      <PageHeader title="Machine" note={host && `${host.name} · ${summaryText(host)}`}>
        {hosts.length > 1 && (
          <Pick
            label="host"
            value={host?.name ?? ""}
            options={hosts.map((one) => [one.name, one.name] as const)}
            onChange={(name) => setQuery({ host: name })}
          />
        )}
      </PageHeader>
      <Waiting for={read} />
      {read.data && hosts.length === 0 && (
        <section class="panel">
          <Empty title={notYet("No host was sampled")} icon="machine">
            {read.data.missing}
          </Empty>
        </section>
      )}
      {host && (
        <div class="stack machine">
          {curve[0] && curve[0].x.length > 0 && (
            <Chart
              title="Loss, in these minutes"
              curves={curve}
              axis="time"
              height={HEIGHT}
              sync={SYNC}
            />
          )}
          <div class="columns halves">
            {PARTS.map((part) => (
              <PartChart key={part.title} part={part} host={host} />
            ))}
          </div>
          <Cores host={host} />
        </div>
      )}
      <section class="panel scroll stragglers" tabIndex={0} role="region" aria-label="Stragglers">
        <div class="head">
          <h2>Who is waited for</h2>
          <span class="spacer" />
          <a class="button" href={href(`/jobs/${encodeURIComponent(model.id)}/timeline`)}>
            Timeline
          </a>
        </div>
        {slowest && (
          <p class="body">
            The other hosts wait for <strong>{slowest.name}</strong>.
          </p>
        )}
        <Stragglers trace={trace.data} />
      </section>
    </>
  );
}
