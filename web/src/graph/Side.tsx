/* The panel beside the graph: the part that was chosen, from its kernels to its values. */
import type { Precision } from "@generated/client";
import { bytes, integer, percent } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { Choice, Loading } from "@/components/parts";
import { Code, Roofline, Tensors } from "@/graph/Inspect";
import { KernelTable } from "@/graph/Kernels";
import { TryPrecision } from "@/graph/TryPrecision";
import type { Detail, PictureNode } from "@/graph/format";
import { nanoseconds, shareOf, shortTime, type Timing } from "@/job/kernels";
import type { JobModel } from "@/job/model";
import type { Row } from "@/job/numerics";
import { canReplay, stepLink } from "@/tensors/link";

interface ReportedOp {
  op: string;
  scope: string;
  backward: boolean;
  set: string;
  why: string;
  in: string[];
  out: string;
  casts: number;
}

export const opsOf = (precision: Precision | undefined): ReportedOp[] =>
  (precision as { ops?: ReportedOp[] } | undefined)?.ops ?? [];

function PrecisionTable({ ops }: { ops: ReportedOp[] }) {
  if (ops.length === 0) return null;
  return (
    <>
      <h3>Why these formats</h3>
      <table>
        <thead>
          <tr>
            <th scope="col">Op</th>
            <th scope="col">Class</th>
            <th scope="col">Because</th>
          </tr>
        </thead>
        <tbody>
          {ops.slice(0, 60).map((op, i) => (
            <tr key={i}>
              <td>{op.op}</td>
              <td>{op.set}</td>
              <td class="small soft">{op.why}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/* A kernel that spans modules is attributed to one of them. */
function timeText(node: PictureNode, { times, missing }: Timing): string {
  if (!times) return missing ?? "not timed";
  const layers = node.groups.length > node.kernels ? ", all layers together" : "";
  const share = percent(shareOf(times, node.groups));
  return `${shortTime(nanoseconds(times, node.groups))}, ${share} of step ${times.step}${layers}`;
}

/* The part as it was compiled. */
function Compiled({ node, scope, detail, timing, ops, payload }: Shown & { scope: string }) {
  const own = ops.filter((op) => op.scope === scope && op.backward === (node.lane === "backward"));
  const facts: [string, string][] = [
    ["Lane", node.lane],
    ["Scope", node.scope],
    ["Formats", node.formats.join(", ")],
    ["Sums executed in", node.sums.executed.join("; ")],
    ["Sums permitted in", node.sums.permitted.join("; ") || "float32"],
    ["POL", node.pol.join(", ") || "the model's"],
    ...(node.gradients > 0 && payload
      ? [["Sums over microbatches executed in", payload] as [string, string]]
      : []),
    ["Inserted casts", integer(node.casts)],
    ["Bytes moved", bytes(node.bytes)],
    ["Time", timeText(node, timing)],
  ];
  return (
    <>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd title={value}>{value}</dd>
          </div>
        ))}
      </dl>
      {detail ? <KernelTable rows={detail.kernels} times={timing.times} /> : <Loading />}
      {detail && detail.parameters.length > 0 && (
        <>
          <h3>Parameters</h3>
          <table>
            <tbody>
              {detail.parameters.map((p) => (
                <tr key={p.name}>
                  <td class="small">{p.name}</td>
                  <td class="small soft">{p.shape}</td>
                  <td class="small">{p.dtype}</td>
                  <td class="number small">{bytes(p.bytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
      <PrecisionTable ops={own} />
    </>
  );
}

const VIEWS = [
  ["", "kernels"],
  ["tensors", "values over time"],
  ["code", "C"],
  ["roofline", "roofline"],
  ["try", "try a precision"],
] as const;
type View = (typeof VIEWS)[number][0];

export const sideOf = (word: string | null): View =>
  VIEWS.find(([name]) => name === word)?.[0] ?? "";

interface Shown {
  node: PictureNode;
  detail: Detail | undefined;
  timing: Timing;
  ops: ReportedOp[];
  /** Format in which the run's partial sums of gradients travel. */
  payload: string | null;
}

export function Side({
  model,
  rows,
  rowsMissing,
  firstBad,
  onToggle,
  ...shown
}: Shown & {
  model: JobModel;
  /** Statistics of one step. */
  rows: Row[];
  rowsMissing: string | null;
  /** The step of the first overflow. */
  firstBad: number | null;
  onToggle: () => void;
}) {
  const { node, detail, timing } = shown;
  const scope = node.scope.replace(/\[(\d+)-\d+\]/, "$1");
  const view = sideOf(query.value.get("side"));
  const kernels = detail?.kernels;
  const views = VIEWS.filter(([name]) => name !== "try" || canReplay());
  return (
    <aside class="side panel scroll" aria-label="Chosen part">
      <div class="head">
        <h2 class="ellipsis">{node.title}</h2>
        <span class="spacer" />
        {canReplay() && (
          <a class="button" href={stepLink(model.id, { filter: scope })}>
            Its tensors
          </a>
        )}
        {node.canExpand && <button onClick={onToggle}>Open its kernels</button>}
      </div>
      <div class="body stack">
        <Choice
          label="What of it"
          value={view}
          options={views}
          onChange={(side) => setQuery({ side })}
        />
        {view === "" && <Compiled scope={scope} {...shown} />}
        {view === "tensors" && (
          <Tensors model={model} node={node} rows={rows} missing={rowsMissing} />
        )}
        {view !== "" && view !== "tensors" && view !== "try" && !kernels && <Loading />}
        {view === "code" && kernels && <Code model={model} rows={kernels} times={timing.times} />}
        {view === "roofline" && kernels && (
          <Roofline model={model} rows={kernels} times={timing.times} missing={timing.missing} />
        )}
        {view === "try" && (
          <TryPrecision key={node.key} model={model} scope={node.scope} before={firstBad} />
        )}
      </div>
    </aside>
  );
}
