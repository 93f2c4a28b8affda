/* A lane of many layers, placed layer by layer: dagre's time grows with the square of the boxes, a
 * chain's with their number. Layers whose boxes and links are alike are placed once. What comes
 * before the first layer and after the last are parts of their own; parts stand one after another
 * in the order in which they run, joined by straight curves. */
import type { Lane, PictureNode } from "@/graph/format";
import type { Box, Link } from "@/graph/fold";
import { layerPath } from "@/graph/modules";

export interface Placed {
  nodes: Map<string, PictureNode>;
  points: Map<Link, [number, number][]>;
  width: number;
  height: number;
}

export type Place = (boxes: Box[], links: Link[]) => Placed;

const PART_GAP = 56;

interface Part {
  boxes: Box[];
  links: Link[];
}

function layerOf(box: Box): string | null {
  const path = layerPath(box.scope);
  return path && `${path.stem}.${path.index}`;
}

/* Boxes come in the order in which they run. One that is in no layer goes with the part before it. */
function partsOf(boxes: Box[]): { parts: Part[]; partOf: Map<string, Part> } {
  const byLayer = new Map<string, Part>();
  const parts: Part[] = [];
  const partOf = new Map<string, Part>();
  const last = boxes.findLastIndex((box) => layerOf(box) !== null);
  const begin = (): Part => {
    const part = { boxes: [], links: [] };
    parts.push(part);
    return part;
  };
  let current: Part | null = null;
  boxes.forEach((box, i) => {
    const layer = layerOf(box);
    let part = layer !== null ? byLayer.get(layer) : i === last + 1 ? begin() : current;
    part ??= begin();
    if (layer !== null) byLayer.set(layer, part);
    part.boxes.push(box);
    partOf.set(box.key, part);
    current = part;
  });
  return { parts, partOf };
}

function likeness(part: Part): string {
  const at = new Map(part.boxes.map((box, i): [string, number] => [box.key, i]));
  const links = part.links.map((link) => `${at.get(link.from)}>${at.get(link.to)}`);
  return `${part.boxes.map((box) => `${box.width}x${box.height}`).join()};${links.join()}`;
}

/* The same placement applied to other boxes. */
function again(known: { part: Part; placed: Placed }, part: Part): Placed {
  const nodes = new Map<string, PictureNode>();
  const points: Placed["points"] = new Map();
  part.boxes.forEach((box, i) => {
    const { x, y } = known.placed.nodes.get((known.part.boxes[i] as Box).key) as PictureNode;
    nodes.set(box.key, { ...box, x, y });
  });
  part.links.forEach((link, i) => {
    const path = known.placed.points.get(known.part.links[i] as Link) ?? [];
    points.set(
      link,
      path.map(([x, y]): [number, number] => [x, y]),
    );
  });
  return { ...known.placed, nodes, points };
}

function join(from: PictureNode, to: PictureNode): [number, number][] {
  const down = to.y >= from.y;
  const a = [from.x + from.width / 2, down ? from.y + from.height : from.y] as const;
  const b = [to.x + to.width / 2, down ? to.y : to.y + to.height] as const;
  const middle = (a[1] + b[1]) / 2;
  return [
    [a[0], a[1]],
    [a[0], middle],
    [b[0], middle],
    [b[0], b[1]],
  ];
}

/** `place` is what places one part. The backward lane runs up. */
export function placeChain(lane: Lane, boxes: Box[], links: Link[], place: Place): Placed {
  const { parts, partOf } = partsOf(boxes);
  const between: Link[] = [];
  for (const link of links) {
    const part = partOf.get(link.from);
    if (part && part === partOf.get(link.to)) part.links.push(link);
    else between.push(link);
  }
  const known = new Map<string, { part: Part; placed: Placed }>();
  const placed = parts.map((part) => {
    const key = likeness(part);
    const alike = known.get(key);
    if (alike) return again(alike, part);
    const result = place(part.boxes, part.links);
    known.set(key, { part, placed: result });
    return result;
  });
  const width = Math.max(...placed.map((one) => one.width), 0);
  const all: Placed = { nodes: new Map(), points: new Map(), width, height: 0 };
  for (const one of lane === "backward" ? placed.reverse() : placed) {
    const dx = (width - one.width) / 2;
    for (const [key, node] of one.nodes)
      all.nodes.set(key, { ...node, x: node.x + dx, y: node.y + all.height });
    for (const [link, path] of one.points)
      all.points.set(
        link,
        path.map(([x, y]): [number, number] => [x + dx, y + all.height]),
      );
    all.height += one.height + PART_GAP;
  }
  all.height = Math.max(0, all.height - PART_GAP);
  for (const link of between) {
    const [from, to] = [all.nodes.get(link.from), all.nodes.get(link.to)];
    if (from && to) all.points.set(link, join(from, to));
  }
  return all;
}
