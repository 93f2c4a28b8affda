/* The picture of the step graph in SVG. A format is shown by the colour of a line, by its dashes
 * and by the words in the boxes; a cast is a diamond on the edge. */
import { memo } from "@/components/memo";
import type { Frame, Picture, PictureEdge, PictureNode } from "@/graph/format";
import { shortType } from "@/graph/precision";
import { bytes, percent } from "@/base/format";
import type { Paint, Shade } from "@/graph/paint";
import { shareOf, type KernelTimes } from "@/job/kernels";

export const DTYPES: Record<string, { token: string; dash: string }> = {
  float32: { token: "--float32", dash: "" },
  bfloat16: { token: "--bfloat16", dash: "7 3" },
  float16: { token: "--float16", dash: "2 3" },
  cbfloat16: { token: "--cbfloat16", dash: "9 3 2 3" },
};
const OTHER = { token: "--integer", dash: "1 4" };

export const styleOf = (dtype: string) => ({
  ...(DTYPES[dtype] ?? OTHER),
  short: shortType(dtype),
});

function smooth(points: [number, number][]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  if (rest.length === 1) {
    const [x, y] = rest[0] as [number, number];
    const bend = (x - first[0]) / 2;
    return `M${first}C${first[0] + bend} ${first[1]} ${x - bend} ${y} ${x} ${y}`;
  }
  let text = `M${first[0]} ${first[1]}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const a = rest[i] as [number, number];
    const b = rest[i + 1] as [number, number];
    const end = i === rest.length - 2 ? b : [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    text += `Q${a[0]} ${a[1]} ${end[0]} ${end[1]}`;
  }
  return text;
}

function Diamond({ at, from, to }: { at: [number, number]; from: string; to: string }) {
  const [x, y] = at;
  return (
    <g class="cast">
      <path
        d={`M${x} ${y - 8}L${x + 8} ${y}L${x} ${y + 8}L${x - 8} ${y}Z`}
        style={{ fill: "var(--panel)", stroke: `var(${styleOf(to).token})` }}
      />
      <text x={x + 12} y={y + 4}>
        {styleOf(from).short}→{styleOf(to).short}
      </text>
    </g>
  );
}

function Edge({ edge, faded, strong }: { edge: PictureEdge; faded: boolean; strong: boolean }) {
  const style = styleOf(edge.castTo ?? edge.dtype);
  const middle = edge.points[Math.floor(edge.points.length / 2)] as [number, number];
  const at: [number, number] =
    edge.points.length === 2
      ? [
          (edge.points[0]![0] + edge.points[1]![0]) / 2,
          (edge.points[0]![1] + edge.points[1]![1]) / 2,
        ]
      : middle;
  const weight = 1 + Math.min(3.2, Math.log10(1 + edge.bytes / 4096));
  const classes = ["edge", edge.crosses && "crosses", faded && "faded", strong && "strong"];
  return (
    <g class={classes.filter(Boolean).join(" ")}>
      <title>
        {`${edge.values} values of ${edge.dtype}, ${bytes(edge.bytes)}` +
          (edge.castTo ? `, cast to ${edge.castTo}` : "")}
      </title>
      <path
        d={smooth(edge.points)}
        marker-end={edge.crosses ? undefined : "url(#tip)"}
        style={{
          stroke: `var(${style.token})`,
          strokeWidth: `${weight}px`,
          strokeDasharray: style.dash,
        }}
      />
      {edge.castTo && (!edge.crosses || strong) && (
        <Diamond at={at} from={edge.dtype} to={edge.castTo} />
      )}
    </g>
  );
}

/* A box has room for its share of the time or for the number of its ops, not always for both. */
const MOST_BESIDE_SHARE = 30;

function subtitle(node: PictureNode, hasShare = false): string {
  const isLong = `${node.subtitle} · ${bytes(node.bytes)}`.length > MOST_BESIDE_SHARE;
  const isNarrow = hasShare && (node.kind === "kernel" || isLong);
  const parts = [isNarrow ? node.subtitle.replace(/ · \d+ ops$/, "") : node.subtitle];
  if (node.bytes > 0) parts.push(bytes(node.bytes));
  return parts.join(" · ");
}

/* The strength of a class of the scale, in hundredths of the ink: text stays readable on all. */
export const STRENGTHS = [0, 14, 26, 38, 49, 60];
const KIND_STRENGTH = 38;

/** The colour of a painted box, or of its example in the legend. */
export function shadeStyle(shade: Shade, paint: Paint): string {
  const kind = paint.kinds?.[shade.level];
  const ink = kind ? kind.token : "--paint";
  const strength = kind ? KIND_STRENGTH : (STRENGTHS[shade.level] ?? 0);
  return `color-mix(in srgb, var(${ink}) ${strength}%, var(--panel))`;
}

function Box({
  node,
  share,
  most,
  paint,
  chosen,
  faded,
  found,
  onChoose,
  onOpen,
}: {
  node: PictureNode;
  /** Of the time of all kernels; null: not timed. */
  share: number | null;
  /** The largest share of a box. */
  most: number;
  paint: Paint | null;
  chosen: boolean;
  faded: boolean;
  found: boolean;
  onChoose: () => void;
  onOpen: () => void;
}) {
  const style = styleOf(node.formats[0] ?? "float32");
  const tags = [node.formats.map((dtype) => styleOf(dtype).short).join("+")];
  if (node.pol.length > 0) tags.push(`POL ${node.pol.join()}`);
  if (node.casts > 0) tags.push(`${node.casts} ◇`);
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && event.shiftKey) onOpen();
    else if (event.key === "Enter" || event.key === " ") onChoose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const shade = paint?.shades.get(node.key);
  const isTimed = !paint && share !== null && share > 0;
  const title = clip(node.title, node, tags.join(" "));
  const classes = [
    "node",
    node.kind,
    paint && (shade ? "painted" : "bare"),
    chosen && "chosen",
    faded && "faded",
    found && "found",
  ];
  return (
    <g
      class={classes.filter(Boolean).join(" ")}
      data-level={shade?.level}
      role="button"
      tabindex={0}
      aria-pressed={chosen}
      transform={`translate(${node.x} ${node.y})`}
      onClick={onChoose}
      onDblClick={onOpen}
      onKeyDown={keys}
    >
      <title>
        {`${node.lane}: ${node.scope}\n${subtitle(node)}\n${tags.join(", ")}` +
          sumsTitle(node) +
          (!isTimed ? "" : `\n${percent(share)} of the time of all kernels`) +
          (paint ? `\n${shade ? shade.text : "not recorded"}: ${paint.of}` : "") +
          (node.canExpand ? "\nDouble click opens it" : "")}
      </title>
      <rect
        width={node.width}
        height={node.height}
        rx={5}
        style={paint && shade ? { fill: shadeStyle(shade, paint) } : undefined}
      />
      <rect
        class="stripe"
        width={5}
        height={node.height}
        rx={2}
        style={{ fill: `var(${style.token})` }}
      />
      {isTimed && share > most / 100 && (
        <rect
          class="time"
          y={node.height - 4}
          width={(node.width * share) / most}
          height={4}
          rx={2}
        />
      )}
      <text class="title" x={14} y={node.kind === "kernel" ? 15 : 19}>{`${title} `}</text>
      <text
        class="sub"
        x={14}
        y={node.kind === "kernel" ? 28 : 36}
      >{`${paint ? underPaint(node) : subtitle(node, isTimed)} `}</text>
      {(isTimed || shade) && (
        <text
          class={shade ? "tag figure" : "tag"}
          x={node.width - 8}
          y={node.kind === "kernel" ? 28 : 36}
          text-anchor="end"
        >
          {shade ? shade.text : percent(share)}
        </text>
      )}
      <text class="tag" x={node.width - 8} y={node.kind === "kernel" ? 15 : 19} text-anchor="end">
        {tags.join(" ")}
      </text>
      {node.sums.line && (
        <text class="sums" x={14} y={node.height - 8}>
          {node.sums.line}
        </text>
      )}
    </g>
  );
}

/* A painted box says its figure in place of its bytes. */
const underPaint = (node: PictureNode): string => node.subtitle.replace(/ · \d+ ops$/, "");

function sumsTitle({ sums }: PictureNode): string {
  if (sums.permitted.length === 0) return "";
  return `\nsums executed: ${sums.executed.join("; ")}\nsums permitted: ${sums.permitted.join("; ")}`;
}

function clip(text: string, node: PictureNode, tags: string): string {
  const most = Math.floor((node.width - 28 - 6.6 * tags.length) / 7.5);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function FrameBox({ frame, onClose }: { frame: Frame; onClose: () => void }) {
  const closes = frame.layers === 0;
  const keys = (event: KeyboardEvent) => {
    if (!closes || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    onClose();
  };
  return (
    <g class={closes ? "frame-box opened" : "frame-box layers"}>
      {!closes && (
        <rect
          x={frame.x + 5}
          y={frame.y - 5}
          width={frame.width}
          height={frame.height}
          rx={8}
          class="behind"
        />
      )}
      <rect x={frame.x} y={frame.y} width={frame.width} height={frame.height} rx={8} />
      {closes ? (
        <text
          x={frame.x + 9}
          y={frame.y + 15}
          role="button"
          tabindex={0}
          onClick={onClose}
          onKeyDown={keys}
          aria-label={`Close ${frame.label}`}
        >
          − {frame.label}
        </text>
      ) : (
        <text x={frame.x + 9} y={frame.y + 15}>
          {frame.label}
        </text>
      )}
    </g>
  );
}

const LANE_TITLES = { forward: "Forward", backward: "Backward", update: "Update" };

export interface DrawingProps {
  picture: Picture;
  times: KernelTimes | undefined;
  paint: Paint | null;
  chosen: string | null;
  search: string;
  onChoose: (key: string) => void;
  onToggle: (key: string) => void;
}

export const Drawing = memo((props: DrawingProps) => {
  const { picture, times, paint, chosen, search, onChoose, onToggle } = props;
  const shares = new Map(picture.nodes.map((node) => [node.key, shareOf(times, node.groups)]));
  const most = Math.max(...[...shares.values()].map((share) => share ?? 0));
  const near = new Set(chosen ? [chosen] : []);
  for (const edge of picture.edges)
    if (edge.from === chosen || edge.to === chosen) near.add(edge.from).add(edge.to);
  const wanted = search.trim().toLowerCase();
  const found = (node: PictureNode) =>
    wanted !== "" && `${node.scope} ${node.title}`.toLowerCase().includes(wanted);
  return (
    <>
      {picture.lanes.map((lane) => (
        <g key={lane.lane} class="lane">
          <rect
            x={lane.x - 24}
            y={8}
            width={lane.width + 48}
            height={picture.height - 16}
            rx={10}
          />
          <text x={lane.x - 10} y={30}>
            {LANE_TITLES[lane.lane]}
          </text>
        </g>
      ))}
      {picture.frames.map((frame) => (
        <FrameBox key={frame.key} frame={frame} onClose={() => onToggle(frame.key)} />
      ))}
      {picture.edges.map((edge) => {
        const strong = chosen !== null && (edge.from === chosen || edge.to === chosen);
        return (
          <Edge
            key={`${edge.from}>${edge.to}>${edge.dtype}>${edge.castTo}`}
            edge={edge}
            strong={strong}
            faded={chosen !== null && !strong}
          />
        );
      })}
      {picture.nodes.map((node) => (
        <Box
          key={node.key}
          node={node}
          share={shares.get(node.key) ?? null}
          most={most}
          paint={paint}
          chosen={node.key === chosen}
          found={found(node)}
          faded={
            (chosen !== null && !paint && !near.has(node.key)) || (wanted !== "" && !found(node))
          }
          onChoose={() => onChoose(node.key)}
          onOpen={() => node.canExpand && onToggle(node.key)}
        />
      ))}
    </>
  );
});

export const Tips = () => (
  <defs>
    <marker
      id="tip"
      viewBox="0 0 8 8"
      refX="7"
      refY="4"
      markerWidth="9"
      markerHeight="9"
      markerUnits="userSpaceOnUse"
      orient="auto"
    >
      <path d="M0 0 8 4 0 8z" fill="context-stroke" />
    </marker>
  </defs>
);
