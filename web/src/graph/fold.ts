/* From the step graph to the few boxes that are drawn: modules, or the kernels of modules that were
 * opened, with the edges between them added up.
 *
 * An edge keeps the format in which its values travel; where a cast stands between the two ends, it
 * also keeps the format after it. */
import {
  PART,
  bytesOf,
  type Detail,
  type KernelRow,
  type Lane,
  type PictureEdge,
  type PictureNode,
  type RawGraph,
  type RawGroup,
  type Summary,
} from "@/graph/format";
import { formatsOf, levelsOf, sumsOf } from "@/graph/precision";
import { layerPath, layerRuns, placesOf, type LayerRun, type Place } from "@/graph/modules";

const BOX = { width: 216, height: 48 };
const KERNEL = { width: 204, height: 36 };
/* Higher by this where a box says how its sums are carried. */
const SUMS_LINE = 14;
const GROUP_KINDS = ["loop", "block", "library"];
const PARTS = ["none", "replica", "weights", "update"];
const QUIET = new Set(["broadcast_to", "reshape", "materialize", "constant", "state", "partial"]);

export type Box = Omit<PictureNode, "x" | "y">;
export type Link = Omit<PictureEdge, "points">;

export interface Folded {
  boxes: Box[];
  links: Link[];
  /** Boxes that a frame stands around, with its label. */
  frames: { key: string; label: string; layers: number; members: string[] }[];
}

interface Draft {
  box: Box;
  nodes: number[];
  groups: Set<number>;
  /* Includes the layers that are not drawn. */
  all: Set<number>;
  dtypes: Map<string, number>;
}

/** The module under which a place is drawn, and whether this very layer stands for its run. */
interface ModuleKey {
  module: string;
  stands: boolean;
  first: string;
}

export class StepGraph {
  readonly places: (Place | null)[];
  readonly runs: LayerRun[];
  private readonly sums = new Map<number, number>();
  private drafts = new Map<string, Draft>();
  /* By the first layer's kernel, those of all layers that are drawn as one. */
  private alike = new Map<number, number[]>();
  /* Kernels of each module in their order, to find the first layer's kernel for a later layer's. */
  private readonly kernelsOf = new Map<string, number[]>();
  private readonly ordinalOf = new Map<number, number>();
  /* The node of a kernel that is placed first, and that for whose module it is timed: the same, but
   * the last one of an update, which begins with the optimizer's own values. */
  private readonly beginsAt = new Map<number, number>();
  private readonly timedAt = new Map<number, number>();
  /* Modules with modules inside: what is left to them is glue (residual sums), drawn as kernels,
   * since one box for all of it would be before and after its own parts. */
  private readonly parents = new Set<string>();
  private readonly moduleKeys = new Map<string, ModuleKey>();

  constructor(readonly graph: RawGraph) {
    this.places = placesOf(graph);
    this.runs = layerRuns(graph, this.places);
    for (const reduction of graph.reductions) this.sums.set(reduction.sum, reduction.partial);
    this.places.forEach((place, i) => {
      const group = graph.nodes[i]?.group ?? -1;
      if (!place) return;
      if (group >= 0 && !this.beginsAt.has(group)) this.beginsAt.set(group, i);
      if (group >= 0 && (!this.timedAt.has(group) || place.lane === "update"))
        this.timedAt.set(group, i);
      const above = place.module.lastIndexOf(".");
      if (above > 0 && place.lane !== "update") this.parents.add(place.module.slice(0, above));
      if (group >= 0 && !this.ordinalOf.has(group)) this.addKernel(place, group);
    });
  }

  private addKernel(place: Place, group: number): void {
    const key = `${place.lane}|${place.module}`;
    const kernels = this.kernelsOf.get(key) ?? [];
    this.ordinalOf.set(group, kernels.length);
    kernels.push(group);
    this.kernelsOf.set(key, kernels);
  }

  summary(): Summary {
    const dtypes: Record<string, number> = {};
    let casts = 0;
    for (const node of this.graph.nodes) {
      if (node.part === PART.none) continue;
      dtypes[node.dtype] = (dtypes[node.dtype] ?? 0) + 1;
      if (node.inserted_cast) casts++;
    }
    const weights = this.graph.states.filter((state) => state.trainable);
    return {
      nodes: this.graph.nodes.length,
      kernels: this.graph.groups.length,
      casts,
      dtypes,
      parameters: weights.reduce((all, s) => all + s.shape.reduce((a, b) => a * b, 1), 0),
      parameterBytes: weights.reduce((all, s) => all + bytesOf(s), 0),
      microbatches: this.graph.microbatch_count,
      microBatchSize: this.graph.micro_batch_size,
      foldedLayers: this.runs.reduce((all, run) => all + run.last - run.first, 0),
    };
  }

  fold(expanded: Set<string>, foldLayers: boolean): Folded {
    this.drafts = new Map();
    this.alike = this.findAlike(foldLayers);
    const keys: (string | null)[] = this.places.map((place, i) =>
      place ? this.draft(place, i, expanded, foldLayers) : null,
    );
    for (const draft of this.drafts.values()) this.finish(draft);
    this.addTracked(keys);
    this.addLayers(keys);
    return {
      boxes: [...this.drafts.values()].map((draft) => draft.box),
      links: this.links(keys),
      frames: this.frames(foldLayers, expanded),
    };
  }

  private addTracked(keys: (string | null)[]): void {
    for (const { name, node } of this.graph.tracked ?? [])
      this.drafts.get(keys[node] ?? "")?.box.tracked.push(name);
  }

  /* A parameter's update is in the box of its new value; its gradient in the module of that name. */
  private addLayers(keys: (string | null)[]): void {
    const numbers = layerNumbers(this.graph);
    for (const state of this.graph.states) {
      const layer = numbers.get(state.name);
      const update = keys[state.next];
      if (layer === undefined || !update) continue;
      const backward = update.replace(/^update\|/, "backward|");
      for (const key of [update, backward]) {
        const layers = this.drafts.get(key)?.box.layers;
        if (layers && !layers.includes(layer)) layers.push(layer);
      }
    }
  }

  private moduleKey(place: Place, foldLayers: boolean): ModuleKey {
    const key = `${foldLayers}|${place.module}`;
    let known = this.moduleKeys.get(key);
    if (!known) this.moduleKeys.set(key, (known = this.makeModuleKey(place, foldLayers)));
    return known;
  }

  private makeModuleKey(place: Place, foldLayers: boolean): ModuleKey {
    const path = foldLayers ? layerPath(place.module) : null;
    const run =
      path &&
      this.runs.find((r) => r.stem === path.stem && path.index >= r.first && path.index <= r.last);
    if (!path || !run) return { module: place.module, stands: true, first: place.module };
    const rest = path.rest ? `.${path.rest}` : "";
    return {
      module: `${run.stem}.[${run.first}-${run.last}]${rest}`,
      stands: path.index === run.first,
      first: `${run.stem}.${run.first}${rest}`,
    };
  }

  private draft(place: Place, index: number, expanded: Set<string>, fold: boolean): string | null {
    const node = this.graph.nodes[index] as RawGraph["nodes"][number];
    const { module, stands, first } = this.moduleKey(place, fold);
    const moduleKey = `${place.lane}|${module}`;
    const isOpen =
      expanded.has(moduleKey) || (place.lane !== "update" && this.parents.has(place.module));
    if (isOpen && node.group < 0) return null;
    let group = node.group;
    if (isOpen && !stands) {
      const kernels = this.kernelsOf.get(`${place.lane}|${first}`) ?? [];
      const ordinal = Math.min(this.ordinalOf.get(group) ?? 0, kernels.length - 1);
      group = kernels[ordinal] ?? group;
    }
    const key = isOpen ? `${moduleKey}#${group}` : moduleKey;
    let draft = this.drafts.get(key);
    if (!draft) {
      draft = newDraft(key, place.lane, module, isOpen);
      this.drafts.set(key, draft);
    }
    if (this.timedAt.get(node.group) === index) draft.all.add(node.group);
    if (stands) {
      draft.nodes.push(index);
      if (node.group >= 0) draft.groups.add(node.group);
      draft.dtypes.set(node.dtype, (draft.dtypes.get(node.dtype) ?? 0) + bytesOf(node));
    }
    return key;
  }

  private finish(draft: Draft): void {
    const { box } = draft;
    const nodes = draft.nodes.map((i) => this.graph.nodes[i] as RawGraph["nodes"][number]);
    box.casts = nodes.filter((node) => node.inserted_cast).length;
    box.kernels = draft.groups.size;
    box.groups = [...draft.all];
    box.canExpand = box.kind === "module" && box.kernels > 1;
    for (const group of draft.groups) {
      const moved = this.traffic(this.graph.groups[group] as RawGroup);
      box.bytes += moved.read + moved.written;
    }
    box.formats = formatsOf(nodes, draft.dtypes);
    box.sums = sumsOf(nodes);
    box.pol = box.lane === "update" ? [] : levelsOf(nodes);
    if (box.lane === "backward")
      box.gradients = nodes.filter((node) => node.op === "partial").length;
    if (box.sums.line) box.height += SUMS_LINE;
    if (box.kind === "kernel") {
      const group = this.graph.groups[[...draft.groups][0] ?? 0] as RawGroup;
      box.title = this.operations(draft.nodes, 3);
      box.subtitle = `${GROUP_KINDS[group.kind]} ${[...draft.groups][0]} · ${nodes.length} ops`;
    } else if (box.kind === "module")
      box.subtitle = `${box.kernels} kernel${box.kernels === 1 ? "" : "s"} · ${nodes.length} ops`;
    else box.subtitle = nodes.map((node) => node.text ?? "").join(", ");
  }

  private links(keys: (string | null)[]): Link[] {
    const links = new Map<string, Link>();
    this.graph.nodes.forEach((node, at) => {
      const to = keys[at];
      if (!to || node.inserted_cast) return;
      for (const input of node.inputs) this.link(links, keys, input, at, to);
    });
    return [...links.values()];
  }

  /* Follows an input back over casts and sums to the box that made it. */
  private link(
    links: Map<string, Link>,
    keys: (string | null)[],
    input: number,
    user: number,
    to: string,
  ): void {
    const arrives = this.graph.nodes[input] as RawGraph["nodes"][number];
    let source = input;
    for (let hops = 0; hops < 8; hops++) {
      const node = this.graph.nodes[source] as RawGraph["nodes"][number];
      const sum = this.sums.get(source);
      if (sum !== undefined) source = sum;
      else if (node.inserted_cast && node.inputs.length === 1) source = node.inputs[0] as number;
      else break;
    }
    const from = keys[source];
    if (!from || from === to || this.isNextLayer(source, user, from, to)) return;
    const made = this.graph.nodes[source] as RawGraph["nodes"][number];
    const castTo = made.dtype === arrives.dtype ? null : arrives.dtype;
    const key = `${from}>${to}>${made.dtype}>${castTo}`;
    let link = links.get(key);
    if (!link) {
      const crosses = laneOfKey(from) !== laneOfKey(to);
      link = { from, to, dtype: made.dtype, castTo, bytes: 0, values: 0, crosses };
      links.set(key, link);
    }
    link.bytes += bytesOf(arrives);
    link.values++;
  }

  /* Layer 3 feeds layer 4: with both drawn as one box set, the edge would run backwards in it. */
  private isNextLayer(source: number, user: number, from: string, to: string): boolean {
    const a = layerPath(this.places[source]?.module ?? "");
    const b = layerPath(this.places[user]?.module ?? "");
    if (a === null || b === null || a.stem !== b.stem || a.index === b.index) return false;
    const folded = /\.\[\d+-\d+\]/.exec(from)?.[0];
    return folded !== undefined && to.includes(folded);
  }

  private frames(foldLayers: boolean, expanded: Set<string>): Folded["frames"] {
    const frames = new Map<string, Folded["frames"][number]>();
    const add = (key: string, label: string, layers: number, member: string) => {
      const frame = frames.get(key) ?? { key, label, layers, members: [] };
      frame.members.push(member);
      frames.set(key, frame);
    };
    for (const { box } of this.drafts.values()) {
      const run = foldLayers ? /^(.*)\.\[(\d+)-(\d+)\]/.exec(box.scope) : null;
      if (run) {
        const layers = Number(run[3]) - Number(run[2]) + 1;
        const name = (run[1] as string).split(".").pop();
        add(
          `${box.lane}|${run[0]}`,
          `${name} ${run[2]}–${run[3]}: ${layers} alike`,
          layers,
          box.key,
        );
      }
      if (box.kind === "kernel" && expanded.has(`${box.lane}|${box.scope}`))
        add(`${box.lane}|${box.scope}`, shortName(box.scope), 0, box.key);
    }
    return [...frames.values()];
  }

  private traffic(group: RawGroup): { read: number; written: number } {
    const inside = new Set(group.nodes);
    const read = new Set<number>();
    let written = 0;
    for (const index of group.nodes) {
      const node = this.graph.nodes[index] as RawGraph["nodes"][number];
      if (node.space !== 0) written += bytesOf(node);
      for (const input of node.inputs) if (!inside.has(input)) read.add(input);
    }
    let bytes = 0;
    for (const index of read)
      bytes += bytesOf(this.graph.nodes[index] as RawGraph["nodes"][number]);
    return { read: bytes, written };
  }

  private operations(nodes: number[], most: number): string {
    const names: string[] = [];
    for (const index of nodes) {
      const { op } = this.graph.nodes[index] as RawGraph["nodes"][number];
      if (!QUIET.has(op) && names[names.length - 1] !== op) names.push(op);
    }
    if (names.length === 0) return this.graph.nodes[nodes[0] ?? 0]?.op ?? "copy";
    const products = names.filter((name) => /matmul|conv2d|pool|softmax|layer_norm/.test(name));
    const shown =
      products.length > 0 && names.length > most ? [...new Set([...products, ...names])] : names;
    return (
      shown.slice(0, most).join(" + ") + (shown.length > most ? ` + ${shown.length - most}` : "")
    );
  }

  detail(key: string): Detail {
    const draft = this.drafts.get(key);
    const kernels = [...(draft?.groups ?? [])].map((id) => this.kernelRow(id));
    const scope = draft?.box.scope.replace(/\[(\d+)-\d+\]/, "$1") ?? "";
    const parameters = this.graph.states
      .filter((state) => state.trainable && state.name.startsWith(`${scope}.`))
      .map((s) => ({
        name: s.name.slice(scope.length + 1),
        shape: s.shape.join(" × "),
        dtype: s.dtype,
        bytes: bytesOf(s),
      }));
    return { key, kernels, parameters };
  }

  /** All kernels; of equal layers that are drawn as one, the first's. */
  rows(): KernelRow[] {
    const boxes = new Map<number, string>();
    for (const { box } of this.drafts.values())
      for (const group of box.groups) boxes.set(group, box.key);
    return [...this.alike.keys()].map((id) => ({
      ...this.kernelRow(id),
      box: boxes.get(id) ?? "",
    }));
  }

  private findAlike(foldLayers: boolean): Map<number, number[]> {
    const alike = new Map<number, number[]>();
    this.graph.groups.forEach((_, id) => {
      const first = this.firstOf(id, foldLayers);
      alike.set(first, [...(alike.get(first) ?? []), id]);
    });
    return alike;
  }

  /* The first layer's kernel in the place of this one. */
  private firstOf(id: number, foldLayers: boolean): number {
    const place = this.places[this.beginsAt.get(id) ?? -1];
    if (!place) return id;
    const { stands, first } = this.moduleKey(place, foldLayers);
    if (stands) return id;
    return this.kernelsOf.get(`${place.lane}|${first}`)?.[this.ordinalOf.get(id) ?? 0] ?? id;
  }

  private scopeOf(id: number): string {
    return this.places[this.timedAt.get(id) ?? -1]?.module ?? "";
  }

  private kernelRow(id: number): KernelRow {
    const group = this.graph.groups[id] as RawGroup;
    const nodes = group.nodes.map((i) => this.graph.nodes[i] as RawGraph["nodes"][number]);
    const inside = new Set(group.nodes);
    const inputs = new Set(nodes.flatMap((node) => node.inputs.filter((i) => !inside.has(i))));
    const types = new Set([...inputs].map((i) => this.graph.nodes[i]?.dtype ?? ""));
    const result = nodes[nodes.length - 1];
    const moved = this.traffic(group);
    return {
      id,
      kind: GROUP_KINDS[group.kind] ?? "",
      part: PARTS[group.part] ?? "",
      operations: this.operations(group.nodes, 6),
      inputTypes: [...types].join(", "),
      outputType: result?.dtype ?? "",
      shape: result?.shape.join(" × ") ?? "",
      sums: sumsOf(nodes),
      readBytes: moved.read,
      writtenBytes: moved.written,
      scope: this.scopeOf(id),
      box: "",
      alike: this.alike.get(id) ?? [id],
    };
  }
}

const laneOfKey = (key: string): string => key.slice(0, key.indexOf("|"));

/* The layer that a parameter's name begins with: up to its first number, or its module. */
function layerName(parameter: string): string {
  const numbered = /^(.*?(?:^|\.)\d+)(?:\.|$)/.exec(parameter)?.[1];
  return numbered ?? parameter.slice(0, Math.max(0, parameter.lastIndexOf(".")));
}

/** By parameter, its layer's number in per_layer_grad_norm/layer_N (run/callbacks/compute_norm.c). */
export function layerNumbers(graph: RawGraph): Map<string, number> {
  const layers = new Map<string, number>();
  const numbers = new Map<string, number>();
  for (const { name, trainable } of graph.states) {
    if (!trainable) continue;
    const layer = layerName(name);
    if (!layers.has(layer)) layers.set(layer, layers.size);
    numbers.set(name, layers.get(layer) as number);
  }
  return numbers;
}

export function shortName(scope: string): string {
  const parts = scope.replace(/^model\./, "").split(".");
  return parts
    .slice(-2)
    .join(".")
    .replace(/\[\d+-\d+\]\.?/, "");
}

function newDraft(key: string, lane: Lane, module: string, isOpen: boolean): Draft {
  const kind = isOpen ? "kernel" : module === "inputs" ? "inputs" : "module";
  const size = isOpen ? KERNEL : BOX;
  return {
    box: {
      key,
      lane,
      kind,
      title: shortName(module),
      subtitle: "",
      scope: module,
      formats: [],
      casts: 0,
      pol: [],
      sums: sumsOf([]),
      gradients: 0,
      bytes: 0,
      kernels: 0,
      groups: [],
      tracked: [],
      layers: [],
      canExpand: false,
      ...size,
    },
    nodes: [],
    groups: new Set(),
    all: new Set(),
    dtypes: new Map(),
  };
}
