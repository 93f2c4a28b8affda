/* Where the boxes stand: three lanes side by side. The forward lane runs down, the backward lane
 * up, so that a module and its gradients stand at about the same height; the updates stand beside
 * the gradients they use. dagre places each lane; edges between lanes are straight curves of our
 * own. */
import { graphlib, layout as dagreLayout } from "@dagrejs/dagre";
import { LANES, type Frame, type Lane, type Picture, type PictureNode } from "@/graph/format";
import type { Box, Folded, Link } from "@/graph/fold";
import { placeChain, type Placed } from "@/graph/chain";

const LANE_GAP = 150;
const TOP = 64;
const MARGIN = 40;
const FRAME_ROOM = 30;
/* Above this many boxes a lane is placed layer by layer, and a part of one is ranked more simply. */
const MANY_BOXES = 80;

/* Edges into and out of a frame are longer: its border and label need the room. */
function placePart(
  lane: Lane,
  boxes: Box[],
  links: Link[],
  frameOfBox: Map<string, string>,
): Placed {
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({
    rankdir: lane === "backward" ? "BT" : "TB",
    nodesep: 28,
    ranksep: 44,
    edgesep: 14,
    ranker: boxes.length > MANY_BOXES ? "longest-path" : "network-simplex",
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes) graph.setNode(box.key, { width: box.width, height: box.height });
  links.forEach((link, i) => {
    const enters = frameOfBox.get(link.from) !== frameOfBox.get(link.to);
    graph.setEdge(link.from, link.to, { minlen: enters ? 2 : 1 }, String(i));
  });
  dagreLayout(graph);
  const nodes = new Map<string, PictureNode>();
  for (const box of boxes) {
    const at = graph.node(box.key) as { x: number; y: number };
    nodes.set(box.key, { ...box, x: at.x - box.width / 2, y: at.y - box.height / 2 });
  }
  const points = new Map<Link, [number, number][]>();
  links.forEach((link, i) => {
    const edge = graph.edge({ v: link.from, w: link.to, name: String(i) }) as
      { points?: { x: number; y: number }[] } | undefined;
    points.set(
      link,
      (edge?.points ?? []).map((p): [number, number] => [p.x, p.y]),
    );
  });
  const size = graph.graph() as { width?: number; height?: number };
  return { nodes, points, width: size.width ?? 0, height: size.height ?? 0 };
}

function placeLane(
  lane: Lane,
  boxes: Box[],
  links: Link[],
  frameOfBox: Map<string, string>,
): Placed {
  const place = (some: Box[], joined: Link[]) => placePart(lane, some, joined, frameOfBox);
  return boxes.length > MANY_BOXES ? placeChain(lane, boxes, links, place) : place(boxes, links);
}

/* Updates hang on nothing but gradients: one column, each as near to its gradients as there is
 * room. */
function placeUpdates(
  boxes: Box[],
  links: Link[],
  backward: Placed,
  frameOfBox: Map<string, string>,
): Placed {
  const sourcesOf = new Map<string, number[]>();
  for (const link of links) {
    const y = backward.nodes.get(link.from)?.y;
    const known = sourcesOf.get(link.to);
    if (y !== undefined && known) known.push(y);
    else if (y !== undefined) sourcesOf.set(link.to, [y]);
  }
  const wanted = (box: Box): number => {
    const sources = sourcesOf.get(box.key) ?? [];
    return sources.length > 0 ? sources.reduce((a, b) => a + b, 0) / sources.length : -1;
  };
  /* What works on all parameters at once (norms, the schedule) feeds the others: it comes first. */
  const order = boxes
    .map((box) => ({ box, y: box.scope.startsWith("model.") ? wanted(box) : -1 }))
    .sort((a, b) => a.y - b.y);
  const nodes = new Map<string, PictureNode>();
  let free = 0;
  let width = 0;
  let frame: string | undefined;
  for (const { box, y } of order) {
    if (frameOfBox.get(box.key) !== frame) free += FRAME_ROOM;
    frame = frameOfBox.get(box.key);
    const at = Math.max(free, y);
    nodes.set(box.key, { ...box, x: 0, y: at });
    free = at + box.height + 18;
    width = Math.max(width, box.width);
  }
  const points = new Map<Link, [number, number][]>();
  for (const link of links.filter((one) => nodes.has(one.from) && nodes.has(one.to))) {
    const a = nodes.get(link.from) as PictureNode;
    const b = nodes.get(link.to) as PictureNode;
    const right = Math.max(a.x + a.width, b.x + b.width);
    points.set(link, [
      [a.x + a.width, a.y + a.height / 2],
      [right + 22, (a.y + b.y + b.height) / 2],
      [b.x + b.width, b.y + b.height / 2],
    ]);
  }
  return { nodes, points, width: width + 30, height: free };
}

function shift(placed: Placed, dx: number, dy: number): void {
  for (const node of placed.nodes.values()) {
    node.x += dx;
    node.y += dy;
  }
  for (const points of placed.points.values())
    for (const point of points) {
      point[0] += dx;
      point[1] += dy;
    }
}

function frameOf(frame: Folded["frames"][number], nodes: Map<string, PictureNode>): Frame | null {
  const members = frame.members.map((key) => nodes.get(key)).filter((n) => n !== undefined);
  if (members.length === 0) return null;
  const room = frame.layers > 0 ? 16 : 9;
  const left = Math.min(...members.map((n) => n.x)) - room;
  const top = Math.min(...members.map((n) => n.y)) - room - 14;
  const right = Math.max(...members.map((n) => n.x + n.width)) + room;
  const bottom = Math.max(...members.map((n) => n.y + n.height)) + room;
  return {
    key: frame.key,
    label: frame.label,
    layers: frame.layers,
    x: left,
    y: top,
    width: right - left,
    height: bottom - top,
  };
}

function crossing(a: PictureNode, b: PictureNode): [number, number][] {
  const rightward = b.x >= a.x;
  return [
    [rightward ? a.x + a.width : a.x, a.y + a.height / 2],
    [rightward ? b.x : b.x + b.width, b.y + b.height / 2],
  ];
}

export function arrange(folded: Folded): Picture {
  const of = (lane: Lane) => folded.boxes.filter((box) => box.lane === lane);
  const within = (lane: Lane) =>
    folded.links.filter((link) => !link.crosses && link.from.startsWith(`${lane}|`));
  const framed = new Map(
    folded.frames.flatMap((frame) =>
      frame.members.map((member): [string, string] => [member, frame.key]),
    ),
  );
  const forward = placeLane("forward", of("forward"), within("forward"), framed);
  const backward = placeLane("backward", of("backward"), within("backward"), framed);
  const update = placeUpdates(of("update"), folded.links, backward, framed);
  const placed = [forward, backward, update];
  const height = Math.max(forward.height, backward.height, update.height);
  let x = MARGIN;
  const lanes: Picture["lanes"] = [];
  placed.forEach((one, i) => {
    const width = Math.max(one.width, 220);
    const dy = i < 2 ? TOP + (height - one.height) / 2 : TOP + (height - backward.height) / 2;
    shift(one, x + (width - one.width) / 2, Math.max(TOP, dy));
    lanes.push({ lane: LANES[i] as Lane, x, width });
    x += width + LANE_GAP;
  });
  const nodes = new Map(placed.flatMap((one) => [...one.nodes]));
  const edges = folded.links.flatMap((link) => {
    const a = nodes.get(link.from);
    const b = nodes.get(link.to);
    if (!a || !b) return [];
    const inLane = placed.map((one) => one.points.get(link)).find((points) => points?.length);
    /* Among updates every edge would run along the same margin: shown when one is chosen. */
    const crosses = link.crosses || a.lane === "update";
    return [{ ...link, crosses, points: inLane ?? crossing(a, b) }];
  });
  const bottom = Math.max(...[...nodes.values()].map((n) => n.y + n.height), 200);
  return {
    nodes: [...nodes.values()],
    edges,
    lanes,
    frames: folded.frames
      .flatMap((frame) => frameOf(frame, nodes) ?? [])
      .sort((a, b) => b.layers - a.layers),
    width: x - LANE_GAP + MARGIN,
    height: bottom + MARGIN,
  };
}
