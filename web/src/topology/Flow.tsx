/* What the engine does, from left to right (or from top to bottom where there is less room): the
 * input workers fill the ring with microbatches, replicas take them from it, their partial sums are
 * joined along the reduction tree, and the weights go back. All but the tree is text in boxes that
 * the browser places; the tree stands beside rows of one height. */
import type { ComponentChildren } from "preact";
import type { TopologyProcess, TopologySample, TopologyStream } from "@generated/client";
import { integer, number, percent } from "@/base/format";
import { shortType } from "@/graph/precision";
import { ROLE, fateOf, isAway, reductionTree, type Averages, type Shares } from "@/job/topology";
import {
  drawTree,
  meanShares,
  microbatchesOf,
  processesOf,
  rowGroups,
  replicaText,
  sharesText,
  workerGroups,
  workerText,
  type Group,
} from "@/topology/rows";

const ROW = { height: 74, gap: 8 };
const MOST_CELLS = 64;

export const SHARES = [
  ["busy", "busy"],
  ["idle", "idle"],
  ["pressed", "back-pressured"],
] as const;

export function Patterns() {
  return (
    <svg width="0" height="0" class="patterns" aria-hidden="true">
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
      </defs>
    </svg>
  );
}

function ShareBar({ shares }: { shares: Shares }) {
  let at = 0;
  return (
    <svg class="shares" width="100%" height="8" aria-hidden="true">
      <rect width="100%" height="8" fill="var(--sunken)" />
      {SHARES.map(([kind]) => {
        const x = at;
        at += shares[kind] * 100;
        return (
          <rect
            key={kind}
            x={`${x}%`}
            width={`${shares[kind] * 100}%`}
            height="8"
            fill={`url(#${kind})`}
          />
        );
      })}
    </svg>
  );
}

export interface FlowProps {
  samples: TopologySample[];
  averages: Averages;
  bottlenecks: Set<string>;
  /** Names of the processes that are looked at. */
  chosen: Set<string>;
  onChoose: (names: string[]) => void;
}

/* What is unusual about a box, at its right. */
function sideOf({ samples, bottlenecks }: FlowProps, group: Group): string {
  const away = group.members.filter(isAway);
  if (group.members.length > 1 && away.length > 0)
    return `${away.length} of ${group.members.length} away`;
  const fates = group.members.map((p) => fateOf(samples, p)).filter(Boolean);
  if (fates.length > 0) return fates[fates.length - 1] as string;
  return group.members.some((p) => bottlenecks.has(p.name)) ? "bottleneck" : "";
}

function ProcessBox({ group, what, flow }: { group: Group; what: string; flow: FlowProps }) {
  const side = sideOf(flow, group);
  const shares = meanShares(flow.averages, group);
  const names = group.members.map((p) => p.name);
  const classes = [
    "process",
    group.members.some(isAway) && "away",
    side === "bottleneck" && "bottleneck",
  ];
  return (
    <li>
      <button
        type="button"
        class={classes.filter(Boolean).join(" ")}
        aria-pressed={names.every((name) => flow.chosen.has(name))}
        title={group.members
          .map((p) => `${p.name}: ${p.pid ? `pid ${p.pid}, ` : ""}${p.state ?? "running"}`)
          .join("\n")}
        onClick={() => flow.onChoose(names)}
      >
        <span class="top">
          <span class="name">{`${group.name} `}</span>
          {side && <span class="state">{`${side} `}</span>}
        </span>
        <span class="where">{`${what} `}</span>
        <ShareBar shares={shares} />
        <span class="figures">{sharesText(shares)}</span>
      </button>
    </li>
  );
}

function Stage({
  name,
  title,
  what,
  children,
}: {
  name: string;
  title: string;
  what: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <div class={`stage ${name}`}>
      <h2>{title}</h2>
      <p class="small soft">{what}</p>
      {children}
    </div>
  );
}

function streamsOf(sample: TopologySample, name: string): TopologyStream[] {
  return (sample.streams ?? []).filter((stream) => stream.name === name);
}

const rateOf = (streams: TopologyStream[]): string =>
  `${number(
    streams.reduce((sum, stream) => sum + (stream.mb_per_second ?? 0), 0),
    3,
  )} MB/s`;

/* What travels, in the short names of the formats: "images fp32, labels int32". */
export function payloadText(streams: TopologyStream[]): string {
  const payload = streams[0]?.payload ?? "";
  return payload.replace(/\b(float32|bfloat16|float16|cbfloat16)\b/g, shortType);
}

function Arrow({ area, what, streams }: { area: string; what: string; streams: TopologyStream[] }) {
  return (
    <div class={`arrow ${area}`}>
      <svg width="40" height="14" viewBox="0 0 40 14" aria-hidden="true">
        <path d="M1 7H37M31 2l7 5-7 5" />
      </svg>
      <span class="payload">
        {payloadText(streams)} {what}
      </span>
      <span class="rate">{rateOf(streams)}</span>
    </div>
  );
}

function Pool({ flow, replicas }: { flow: FlowProps; replicas: number }) {
  const { newest } = flow.averages;
  const workers = processesOf(newest, ROLE.input);
  const { data } = newest;
  const file = data?.source?.split("/").pop();
  return (
    <Stage
      name="pool"
      title="Input workers"
      what={
        <span title={data?.source ?? ""}>
          {data
            ? `read ${file ?? `the input ${data.input}`}, ${integer(data.samples)} samples an epoch`
            : "read the samples"}
        </span>
      }
    >
      <ol class="boxes">
        {workerGroups(workers, replicas).map((group) => (
          <ProcessBox
            key={group.key}
            group={group}
            what={workerText(group, workers.length)}
            flow={flow}
          />
        ))}
      </ol>
    </Stage>
  );
}

function Ring({ flow }: { flow: FlowProps }) {
  const { newest, ringFilled } = flow.averages;
  const { ring } = newest;
  if (!ring) return <Stage name="ring" title="Input ring" what="is not recorded" />;
  const stateOf = (i: number) =>
    i < ring.filled ? "filled" : i < ring.filled + ring.filling ? "filling" : "free";
  return (
    <Stage
      name="ring"
      title="Input ring"
      what={
        `${integer(ring.filled)} of ${integer(ring.capacity)} microbatches are filled, ` +
        `${integer(ring.filling)} being filled`
      }
    >
      {ring.capacity <= MOST_CELLS && (
        <div class="cells" aria-hidden="true">
          {Array.from({ length: ring.capacity }, (_, i) => (
            <i key={i} class={stateOf(i)} />
          ))}
        </div>
      )}
      <p class="small soft">
        {percent(ringFilled)} on average
        {(ringFilled ?? 0) >= 0.9 && ": input is ahead of the replicas"}
      </p>
    </Stage>
  );
}

function Tree({ sample, groups }: { sample: TopologySample; groups: Group[] }) {
  const rows = groups.map((group) => microbatchesOf(sample, group));
  const tree = reductionTree(sample.microbatches ?? 0, rows);
  if (!tree) return null;
  const { lines, joins, width, height } = drawTree(tree, groups.length, ROW);
  return (
    <svg
      class="tree"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`reduction tree: ${joins.length} joins of the replicas' partial sums`}
    >
      {lines.map((path) => (
        <path key={path} d={path} />
      ))}
      {joins.map((join) => (
        <circle key={join.title} cx={join.x} cy={join.y} r="3.5">
          <title>{join.title}</title>
        </circle>
      ))}
    </svg>
  );
}

function Replicas({ flow, groups }: { flow: FlowProps; groups: Group[] }) {
  const { newest } = flow.averages;
  return (
    <Stage
      name="replicas"
      title="Replicas"
      what={
        `${integer(newest.replicas)} share the ${integer(newest.microbatches)} microbatches of a ` +
        "step; their partial sums join along the reduction tree"
      }
    >
      <div class="joined">
        <ol class="boxes">
          {groups.map((group) => (
            <ProcessBox
              key={group.key}
              group={group}
              what={replicaText(group, microbatchesOf(newest, group), newest.loop === "validation")}
              flow={flow}
            />
          ))}
        </ol>
        <Tree sample={newest} groups={groups} />
      </div>
    </Stage>
  );
}

function Weights({ flow, servers }: { flow: FlowProps; servers: TopologyProcess[] }) {
  return (
    <Stage
      name="weights"
      title="Weights"
      what={
        servers.length > 0
          ? "weight servers reduce the sums and update the weights"
          : "the replicas reduce the sums and update the weights; there is no weight server"
      }
    >
      <ol class="boxes">
        {rowGroups(servers).map((group) => (
          <ProcessBox
            key={group.key}
            group={group}
            what={`${group.members.length} of ${servers.length} that share the update`}
            flow={flow}
          />
        ))}
      </ol>
    </Stage>
  );
}

export function Flow(flow: FlowProps) {
  const { newest } = flow.averages;
  const replicas = processesOf(newest, ROLE.replica);
  const of = (name: string) => streamsOf(newest, name);
  return (
    <div class="topology">
      <div class="flow">
        <Pool flow={flow} replicas={replicas.length} />
        <Arrow area="to-ring" what="fill the ring" streams={of("input ring")} />
        <Ring flow={flow} />
        <Arrow area="to-replicas" what="are taken" streams={of("microbatches")} />
        <Replicas flow={flow} groups={rowGroups(replicas)} />
        <Arrow area="to-weights" what="partial sums" streams={of("partial sums")} />
        <Weights flow={flow} servers={processesOf(newest, ROLE.weights)} />
        <Arrow area="back" what="weights go back to the replicas" streams={of("weights")} />
      </div>
    </div>
  );
}
