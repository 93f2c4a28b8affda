/* Processes and the streams between them: utilization, waiting, back-pressure.
 *
 * A process is busy, idle (waits for input) or back-pressured (waits for room at its output), each
 * as a share of the time. The three have patterns as well as colours, and their figures as text. */
import { useEffect, useState } from "preact/hooks";
import {
  api,
  type TopologyProcess,
  type TopologySample,
  type TopologyStream,
} from "@generated/client";
import { integer, number, percent, time } from "@/base/format";
import { Empty, Failure, Loading, PageHeader } from "@/components/parts";
import { Sparkline } from "@/components/Sparkline";
import { current, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";

const BOX = { width: 216, height: 74, across: 124, down: 30 };

/* Left to right as the data goes. */
function column(role: string): number {
  if (/input|loader/.test(role)) return 0;
  if (/replica|csx|worker$/.test(role)) return 1;
  if (/weight/.test(role)) return 2;
  return 3;
}

export interface Box {
  process: TopologyProcess;
  x: number;
  y: number;
}

export function arrange(processes: TopologyProcess[]): {
  boxes: Box[];
  width: number;
  height: number;
} {
  const columns = [0, 1, 2, 3]
    .map((c) => processes.filter((p) => column(p.role) === c).sort((a, b) => a.rank - b.rank))
    .filter((c) => c.length > 0);
  const tallest = Math.max(1, ...columns.map((c) => c.length));
  const height = tallest * (BOX.height + BOX.down) + 44;
  const boxes = columns.flatMap((members, c) => {
    const used = members.length * (BOX.height + BOX.down) - BOX.down;
    return members.map((process, i) => ({
      process,
      x: 24 + c * (BOX.width + BOX.across),
      y: (height - used) / 2 + i * (BOX.height + BOX.down),
    }));
  });
  const width = 48 + columns.length * (BOX.width + BOX.across) - BOX.across;
  return { boxes, width, height };
}

/** The bottleneck: the busy process upstream of those that wait or downstream of those that are
 * back-pressured. */
export function bottleneckOf(sample: TopologySample): TopologyProcess | null {
  const processes = sample.processes ?? [];
  const others = processes.some((p) => (p.idle ?? 0) > 0.3 || (p.back_pressured ?? 0) > 0.3);
  const busiest = [...processes].sort((a, b) => (b.busy ?? 0) - (a.busy ?? 0))[0];
  return others && busiest && (busiest.busy ?? 0) > 0.8 ? busiest : null;
}

function Patterns() {
  return (
    <defs>
      <pattern id="busy" width="6" height="6" patternUnits="userSpaceOnUse">
        <rect width="6" height="6" fill="var(--busy)" />
      </pattern>
      <pattern id="idle" width="6" height="6" patternUnits="userSpaceOnUse">
        <rect width="6" height="6" fill="var(--idle)" />
        <circle cx="3" cy="3" r="1" fill="var(--panel)" />
      </pattern>
      <pattern
        id="pressed"
        width="6"
        height="6"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
        <rect width="6" height="6" fill="var(--pressed)" />
        <rect width="2" height="6" fill="var(--panel)" />
      </pattern>
      <marker
        id="arrow"
        viewBox="0 0 8 8"
        refX="7"
        refY="4"
        markerWidth="9"
        markerHeight="9"
        markerUnits="userSpaceOnUse"
        orient="auto"
      >
        <path d="M0 0 8 4 0 8z" fill="var(--line-strong)" />
      </marker>
    </defs>
  );
}

const SHARES = [
  ["busy", "busy"],
  ["idle", "idle"],
  ["pressed", "back-pressured"],
] as const;

const shareOf = (p: TopologyProcess, kind: (typeof SHARES)[number][0]): number =>
  (kind === "busy" ? p.busy : kind === "idle" ? p.idle : p.back_pressured) ?? 0;

function ShareBar({
  process,
  x,
  y,
  width,
}: {
  process: TopologyProcess;
  x: number;
  y: number;
  width: number;
}) {
  let at = x;
  return (
    <g>
      <rect x={x} y={y} width={width} height={10} fill="var(--sunken)" rx={2} />
      {SHARES.map(([kind]) => {
        const part = shareOf(process, kind) * width;
        const bar = (
          <rect key={kind} x={at} y={y} width={part} height={10} fill={`url(#${kind})`} />
        );
        at += part;
        return bar;
      })}
    </g>
  );
}

function ProcessBox({
  box,
  isBottleneck,
  isChosen,
  onChoose,
}: {
  box: Box;
  isBottleneck: boolean;
  isChosen: boolean;
  onChoose: () => void;
}) {
  const { process, x, y } = box;
  const side = isBottleneck ? "bottleneck" : process.pid ? `pid ${process.pid}` : "";
  const figures =
    `${percent(process.busy)} busy · ${percent(process.idle)} idle · ` +
    `${percent(process.back_pressured)} pressed`;
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    onChoose();
  };
  return (
    <g
      class="process"
      role="button"
      tabindex={0}
      aria-pressed={isChosen}
      onClick={onChoose}
      onKeyDown={keys}
    >
      <rect
        x={x}
        y={y}
        width={BOX.width}
        height={BOX.height}
        rx={6}
        class={`box${isBottleneck ? " bottleneck" : ""}${isChosen ? " chosen" : ""}`}
      />
      <text x={x + 12} y={y + 22} class="name">{`${process.name} `}</text>
      <text x={x + BOX.width - 12} y={y + 22} class="side" text-anchor="end">
        {`${side} `}
      </text>
      <ShareBar process={process} x={x + 12} y={y + 33} width={BOX.width - 24} />
      <text x={x + 12} y={y + 60} class="figures">
        {figures}
      </text>
    </g>
  );
}

/* Several streams between the same two are one line, with their figures below each other in its
 * title: lines that lie on each other could not be told apart. */
interface Link {
  from: Box;
  to: Box;
  streams: TopologyStream[];
}

function linksOf(sample: TopologySample, boxes: Map<string, Box>): Link[] {
  const links = new Map<string, Link>();
  for (const stream of sample.streams ?? []) {
    const from = boxes.get(stream.from);
    const to = boxes.get(stream.to);
    if (!from || !to || from === to) continue;
    const key = `${stream.from}>${stream.to}`;
    const link = links.get(key) ?? { from, to, streams: [] };
    link.streams.push(stream);
    links.set(key, link);
  }
  return [...links.values()];
}

interface Line {
  path: string;
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
}

/* Within a column: straight between neighbours, down at the right and up at the left, else an arc.
 */
function lineWithin(from: Box, to: Box): Line {
  const down = to.y > from.y;
  const gap = down ? to.y - from.y - BOX.height : from.y - to.y - BOX.height;
  const x = from.x + BOX.width * (down ? 0.62 : 0.38);
  if (gap < BOX.height) {
    const y1 = from.y + (down ? BOX.height : 0);
    const y2 = to.y + (down ? 0 : BOX.height);
    return {
      path: `M${x} ${y1}L${x} ${y2}`,
      x: x + (down ? 8 : -8),
      y: (y1 + y2) / 2 + 4,
      anchor: down ? "start" : "end",
    };
  }
  const side = down ? from.x + BOX.width : from.x;
  const bend = (down ? 1 : -1) * Math.min(90, 24 + gap / 6);
  const y1 = from.y + BOX.height * 0.7;
  const y2 = to.y + BOX.height * 0.3;
  return {
    path: `M${side} ${y1}C${side + bend} ${y1} ${side + bend} ${y2} ${side} ${y2}`,
    x: side + bend * 0.8,
    y: (y1 + y2) / 2,
    anchor: down ? "start" : "end",
  };
}

function lineBetween(from: Box, to: Box): Line {
  const forward = to.x > from.x;
  const x1 = from.x + (forward ? BOX.width : 0);
  const x2 = to.x + (forward ? 0 : BOX.width);
  const y1 = from.y + BOX.height * (forward ? 0.36 : 0.7);
  const y2 = to.y + BOX.height * (forward ? 0.36 : 0.7);
  const bend = Math.max(28, Math.abs(x2 - x1) / 2) * (forward ? 1 : -1);
  /* The label stands nearer to the sender, where lines to one receiver lie apart. */
  return {
    path: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
    x: x1 + (x2 - x1) * 0.44,
    y: y1 + (y2 - y1) * 0.4 + (forward ? -7 : 15),
    anchor: "middle",
  };
}

function StreamLine({ link }: { link: Link }) {
  const { from, to, streams } = link;
  const line = from.x === to.x ? lineWithin(from, to) : lineBetween(from, to);
  const filled = Math.max(...streams.map((s) => (s.depth ?? 0) / (s.capacity || 1)));
  const queued = streams.find((s) => s.capacity);
  const rate = streams.reduce((sum, s) => sum + (s.mb_per_second ?? 0), 0);
  const title = streams.map(
    (s) =>
      `${s.name}: ${number(s.mb_per_second, 3)} MB/s, queue ` +
      `${s.capacity ? `${s.depth ?? 0} of ${s.capacity}` : "none"}, ${integer(s.credits)} credits`,
  );
  return (
    <g class="stream">
      <title>{`${from.process.name} to ${to.process.name}\n${title.join("\n")}`}</title>
      <path
        d={line.path}
        marker-end="url(#arrow)"
        style={{ strokeWidth: `${1.3 + 2.2 * filled}px` }}
      />
      <text x={line.x} y={line.y} text-anchor={line.anchor}>
        {[queued ? `${queued.depth ?? 0}/${queued.capacity}` : "", `${number(rate, 3)} MB/s`]
          .filter(Boolean)
          .join(" · ")}
      </text>
    </g>
  );
}

function Drawing({
  sample,
  chosen,
  onChoose,
}: {
  sample: TopologySample;
  chosen: string | null;
  onChoose: (name: string) => void;
}) {
  const { boxes, width, height } = arrange(sample.processes ?? []);
  const byName = new Map(boxes.map((box) => [box.process.name, box]));
  const bottleneck = bottleneckOf(sample);
  return (
    <svg
      class="topology"
      viewBox={`0 0 ${width} ${height}`}
      style={{ maxWidth: `${width * 1.25}px` }}
      role="group"
      aria-label="Processes and streams"
    >
      <Patterns />
      {linksOf(sample, byName).map((link) => (
        <StreamLine key={`${link.from.process.name}>${link.to.process.name}`} link={link} />
      ))}
      {boxes.map((box) => (
        <ProcessBox
          key={box.process.name}
          box={box}
          isChosen={chosen === box.process.name}
          isBottleneck={bottleneck?.name === box.process.name}
          onChoose={() => onChoose(box.process.name)}
        />
      ))}
    </svg>
  );
}

function Legend() {
  return (
    <div class="legend">
      {SHARES.map(([kind, text]) => (
        <span key={kind}>
          <svg width="22" height="10" aria-hidden="true">
            <Patterns />
            <rect width="22" height="10" fill={`url(#${kind})`} />
          </svg>
          {text}
        </span>
      ))}
      <span class="faint">idle: waits for input; back-pressured: waits for room at its output</span>
    </div>
  );
}

function StreamTable({ sample, chosen }: { sample: TopologySample; chosen: string | null }) {
  const rows = (sample.streams ?? []).filter(
    (s) => !chosen || s.from === chosen || s.to === chosen,
  );
  return (
    <section class="panel scroll">
      <h2>Streams{chosen ? ` of ${chosen}` : ""}</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Stream</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col" class="number">
              Queue
            </th>
            <th scope="col" class="number">
              Credits
            </th>
            <th scope="col" class="number">
              MB/s
            </th>
            <th scope="col">Saturation</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((s) => {
            const filled = s.capacity ? (s.depth ?? 0) / s.capacity : null;
            return (
              <tr key={`${s.name}/${s.from}/${s.to}`}>
                <td>{s.name}</td>
                <td>{s.from}</td>
                <td>{s.to}</td>
                <td class="number">
                  {integer(s.depth)} / {integer(s.capacity)}
                </td>
                <td class="number">{integer(s.credits)}</td>
                <td class="number">{number(s.mb_per_second, 3)}</td>
                <td>
                  {filled === null ? "–" : filled > 0.5 ? "high" : filled > 0.1 ? "low" : "ok"}
                </td>
              </tr>
            );
          })}
          {rows.length === 0 && (
            <tr>
              <td colSpan={7} class="faint">
                No stream is recorded.
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </section>
  );
}

function ProcessTable({ samples }: { samples: TopologySample[] }) {
  const sample = samples[samples.length - 1] as TopologySample;
  const history = (name: string) =>
    samples.map((one) => one.processes?.find((p) => p.name === name)?.busy ?? null);
  return (
    <section class="panel scroll">
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
            <th scope="col" class="number">
              Starts
            </th>
          </tr>
        </thead>
        <tbody>
          {(sample.processes ?? []).map((p) => (
            <tr key={p.name}>
              <td>{p.name}</td>
              <td class="number">{percent(p.busy)}</td>
              <td class="number">{percent(p.idle)}</td>
              <td class="number">{percent(p.back_pressured)}</td>
              <td>
                <Sparkline values={history(p.name)} label={`busy share of ${p.name}`} />
              </td>
              <td class="number">{integer(p.incarnation)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Topology() {
  const model = current.value as JobModel;
  const stored = useRecorded(model, () => api.getTopology({ id: model.id, samples: 60 }), []);
  const [chosen, setChosen] = useState<string | null>(null);
  const samples = [...(stored.data?.samples ?? []), ...model.topology.value].filter(
    (sample, i, all) => i === 0 || sample.time_ms > (all[i - 1]?.time_ms ?? 0),
  );
  const sample = samples[samples.length - 1];
  useEffect(() => setChosen(null), [model.id]);
  return (
    <>
      <PageHeader title="Topology" note={sample && `as of ${time(sample.time_ms)}`}>
        <Legend />
      </PageHeader>
      {stored.error && !sample && <Failure error={stored.error} />}
      {stored.loading && !sample && <Loading />}
      {!sample && stored.data && (
        <section class="panel">
          <Empty title="No topology yet" icon="topology">
            {stored.data.missing ?? "Samples are taken twice a second while the run lives."}
          </Empty>
        </section>
      )}
      {sample && (
        <div class="stack">
          <section class="panel scroll" tabIndex={0} aria-label="Drawing" role="region">
            <Drawing
              sample={sample}
              chosen={chosen}
              onChoose={(name) => setChosen(name === chosen ? null : name)}
            />
          </section>
          <div class="columns halves">
            <ProcessTable samples={samples.slice(-60)} />
            <StreamTable sample={sample} chosen={chosen} />
          </div>
          {stored.data?.missing && <p class="faint small">{stored.data.missing}</p>}
        </div>
      )}
    </>
  );
}
