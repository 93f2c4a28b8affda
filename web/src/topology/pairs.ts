/* What the drawing of hosts shows: places of boxes, pairs of hosts, and what is in a box. */
import type { TopologyHost, TopologyLink, TopologyProcess } from "@generated/client";

/** Pairs with figures of both sides: what one says it sent, the other one received. */
export interface LinkPair {
  /** Indices of the two hosts. */
  a: number;
  b: number;
  name: string;
  to_mb: number;
  back_mb: number;
  mb_per_second: number;
  frames: number;
  retransmits: number;
  reconnects: number;
  refused: number;
  isBroken: boolean;
  title: string;
}

const MOST = 8;
const REACH: [number, number][] = [
  [0, 0],
  [0, 0],
  [235, 0],
  [270, 150],
  [300, 185],
  [320, 205],
  [350, 245],
  [400, 285],
  [440, 305],
];

export interface Places {
  places: { x: number; y: number }[];
  width: number;
  height: number;
}

/** Middles of the boxes, on an ellipse; the first is at the top, or of two on the left. */
export function hostPlaces(count: number, box: { width: number; height: number }): Places {
  const [rx, ry] = REACH[Math.min(count, MOST)] ?? [0, 0];
  const angles = Array.from(
    { length: count },
    (_, i) => 2 * Math.PI * (i / count) - (count === 2 ? Math.PI : Math.PI / 2),
  );
  const all = angles.map((angle) => ({ x: rx * Math.cos(angle), y: ry * Math.sin(angle) }));
  const left = Math.min(...all.map((p) => p.x)) - box.width / 2;
  const top = Math.min(...all.map((p) => p.y)) - box.height / 2;
  const places = all.map((p) => ({ x: p.x - left, y: p.y - top }));
  return {
    places,
    width: Math.max(...places.map((p) => p.x)) + box.width / 2,
    height: Math.max(...places.map((p) => p.y)) + box.height / 2,
  };
}

const linkTo = (host: TopologyHost, name: string): TopologyLink | undefined =>
  (host.links ?? []).find((link) => link.to === name);

/** None where the hosts tell no links of their own, or are too many to draw. */
export function linkPairs(hosts: TopologyHost[]): LinkPair[] {
  const pairs: LinkPair[] = [];
  if (hosts.length > MOST) return pairs;
  hosts.forEach((one, a) =>
    hosts.slice(a + 1).forEach((other, i) => {
      const there = linkTo(one, other.name);
      const back = linkTo(other, one.name);
      const isBroken = one.state === "lost" || other.state === "lost";
      if (!there && !back) return;
      const to_mb = isBroken ? 0 : (there?.mb_sent_per_second ?? back?.mb_received_per_second ?? 0);
      const back_mb = isBroken
        ? 0
        : (back?.mb_sent_per_second ?? there?.mb_received_per_second ?? 0);
      const total = (of: (link: TopologyLink) => number | undefined) =>
        (there ? (of(there) ?? 0) : 0) + (back ? (of(back) ?? 0) : 0);
      const most = (of: (link: TopologyLink) => number | undefined) =>
        Math.max(there ? (of(there) ?? 0) : 0, back ? (of(back) ?? 0) : 0);
      pairs.push({
        a,
        b: a + 1 + i,
        name: `${one.name} – ${other.name}`,
        to_mb,
        back_mb,
        mb_per_second: to_mb + back_mb,
        frames: isBroken ? 0 : most((link) => link.frames_per_second),
        retransmits: total((link) => link.retransmits),
        reconnects: most((link) => link.reconnects),
        refused: total((link) => link.refused),
        isBroken,
        title: `${one.name} and ${other.name}`,
      });
    }),
  );
  return pairs;
}

/** "2 replicas" with how busy they are on average, for each role in a host; but the coordinator. */
export function hostRoles(processes: TopologyProcess[]): { name: string; busy: number }[] {
  const roles: [string, string, string][] = [
    ["replica", "replica", "replicas"],
    ["weight_server", "weight server", "weight servers"],
    ["input_worker", "input worker", "input workers"],
    ["mover", "mover", "movers"],
  ];
  return roles.flatMap(([role, one, many]) => {
    const members = processes.filter((p) => p.role === role);
    if (members.length === 0) return [];
    const away = members.filter((p) => p.state !== "running").length;
    const busy = members.reduce((sum, p) => sum + (p.busy ?? 0), 0) / members.length;
    const count = `${members.length} ${members.length > 1 ? many : one}`;
    return [{ name: away > 0 ? `${count}, ${away} away` : count, busy }];
  });
}
