/* The hosts of a run: a box for each with its processes, and what their movers exchange as lines
 * between them, as thick as the rate is high. Boxes stand in a circle around the drawing's middle, so
 * that each pair has a line of its own; above a number of hosts there are boxes alone, with the sums
 * of their rates. Places follow from the number of hosts alone. */
import type { TopologyHost, TopologyLink } from "@generated/client";
import { integer, number, percent, time } from "@/base/format";
import { hostPlaces, hostRoles, linkPairs, type LinkPair } from "@/topology/pairs";

const BOX = { width: 210, height: 168 };
const MOST_LABELS = 5;

const rate = (mb: number | null | undefined): string => `${number(mb ?? 0, 3)} MB/s`;

function sum(links: TopologyLink[], of: (link: TopologyLink) => number | undefined): number {
  return links.reduce((all, link) => all + (of(link) ?? 0), 0);
}

/* What is unusual about a host. */
function fateOf(host: TopologyHost): string {
  if (host.state === "lost")
    return host.returns_ms ? `lost, is tried again at ${time(host.returns_ms)}` : "lost";
  if (host.state !== "present") return host.state;
  return host.slowest ? "slowest: others wait for it" : "";
}

function Box({ host }: { host: TopologyHost }) {
  const fate = fateOf(host);
  const links = host.links ?? [];
  const classes = ["host", host.state === "lost" && "away", host.slowest && "bottleneck"];
  return (
    <div class={classes.filter(Boolean).join(" ")} title={host.why}>
      <div class="top">
        <span class="name">{host.name}</span>
        <span class="soft small">{host.leads ? "leads" : ""}</span>
      </div>
      {fate && <div class="state">{fate}</div>}
      <ul class="inside">
        {hostRoles(host.processes ?? []).map(({ name, busy }) => (
          <li key={name}>
            <span>{name}</span>
            <span class="number">{percent(busy)}</span>
          </li>
        ))}
      </ul>
      {host.exposed !== null && host.exposed !== undefined && (
        <div class="small soft">waits for others: {percent(host.exposed)}</div>
      )}
      {links.length > 0 && (
        <div class="small soft">
          {rate(sum(links, (l) => l.mb_sent_per_second))} out ·{" "}
          {rate(sum(links, (l) => l.mb_received_per_second))} in
        </div>
      )}
    </div>
  );
}

function Line({ pair, at }: { pair: LinkPair; at: ReturnType<typeof hostPlaces> }) {
  const [a, b] = [at.places[pair.a], at.places[pair.b]];
  if (!a || !b) return null;
  /* Lines between neighbours cross no other one; labels of the others stand beside the crossings. */
  const apart = pair.b - pair.a;
  const isEdge = apart === 1 || apart === at.places.length - 1;
  const share = isEdge ? 0.5 : 0.36;
  const width = 1 + Math.min(4, 0.5 * Math.log2(1 + pair.mb_per_second));
  return (
    <g class={pair.isBroken ? "link broken" : "link"}>
      <title>{pair.title}</title>
      <line x1={a.x} y1={a.y} x2={b.x} y2={b.y} stroke-width={width} />
      {at.places.length <= MOST_LABELS && (
        <text x={a.x + share * (b.x - a.x)} y={a.y + share * (b.y - a.y)} dy="0.35em">
          {pair.isBroken ? "broken" : rate(pair.mb_per_second)}
        </text>
      )}
    </g>
  );
}

function PairTable({ pairs }: { pairs: LinkPair[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Links between hosts">
      <table>
        <thead>
          <tr>
            <th scope="col">Link</th>
            <th scope="col" class="number">
              MB/s to
            </th>
            <th scope="col" class="number">
              MB/s back
            </th>
            <th scope="col" class="number">
              Frames/s
            </th>
            <th scope="col" class="number">
              Retransmits
            </th>
            <th scope="col" class="number">
              Reconnects
            </th>
            <th scope="col" class="number">
              Refused
            </th>
          </tr>
        </thead>
        <tbody>
          {pairs.map((p) => (
            <tr key={p.name}>
              <td>{p.name}</td>
              <td class="number">{number(p.to_mb, 3)}</td>
              <td class="number">{number(p.back_mb, 3)}</td>
              <td class="number">{integer(Math.round(p.frames))}</td>
              <td class="number">{integer(p.retransmits)}</td>
              <td class="number">{integer(p.reconnects)}</td>
              <td class="number">{integer(p.refused)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Hosts({ hosts }: { hosts: TopologyHost[] }) {
  const pairs = linkPairs(hosts);
  const at = hostPlaces(hosts.length, BOX);
  return (
    <section class="panel hosts" aria-label="Hosts">
      <h2>Hosts</h2>
      <div class="hosts-drawing scroll" tabIndex={0} role="region" aria-label="Drawing of hosts">
        {pairs.length > 0 && (
          <svg
            class="links"
            viewBox={`0 0 ${at.width} ${at.height}`}
            width={at.width}
            height={at.height}
          >
            {pairs.map((pair) => (
              <Line key={pair.name} pair={pair} at={at} />
            ))}
            {hosts.map((host, i) => (
              <foreignObject
                key={host.name}
                x={(at.places[i]?.x ?? 0) - BOX.width / 2}
                y={(at.places[i]?.y ?? 0) - BOX.height / 2}
                width={BOX.width}
                height={BOX.height}
              >
                <Box host={host} />
              </foreignObject>
            ))}
          </svg>
        )}
        {pairs.length === 0 && (
          <div class="host-list">
            {hosts.map((host) => (
              <Box key={host.name} host={host} />
            ))}
          </div>
        )}
      </div>
      {pairs.length > 0 && <PairTable pairs={pairs} />}
    </section>
  );
}
