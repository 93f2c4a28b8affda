/* The compiled step: what is computed, in which format, in which kernel, with how many bytes. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type Precision } from "@generated/client";
import type { ApiError } from "@/api/transport";
import { bytes, compact, integer, percent } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { PanZoom } from "@/components/PanZoom";
import { Choice, Empty, Failure, Filter, Loading, PageHeader } from "@/components/parts";
import { graphClient } from "@/graph/client";
import { DTYPES, Drawing, Tips, styleOf } from "@/graph/Drawing";
import { KernelTable, Slowest } from "@/graph/Kernels";
import type { Detail, Picture, PictureNode, Summary } from "@/graph/format";
import {
  nanoseconds,
  shareOf,
  shortTime,
  useKernels,
  type KernelTimes,
  type Timing,
} from "@/job/kernels";
import { current, notYet, type JobModel } from "@/job/model";
import { isRecorded, useRecorded } from "@/job/recorded";
import { canReplay, stepLink } from "@/tensors/link";
import type { PageEntry } from "@/frame/page";

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

const opsOf = (precision: Precision | undefined): ReportedOp[] =>
  (precision as { ops?: ReportedOp[] } | undefined)?.ops ?? [];

interface Loaded {
  picture: Picture | undefined;
  summary: Summary | undefined;
  error: ApiError | undefined;
  milliseconds: number;
}

const NOT_COMPILED = new Set<string>(["QUEUED", "COMPILING", "STARTING"]);

/* A step that is being compiled has no graph yet. */
function usePicture(ready: boolean, { url, hash, expanded, fold }: Asked): Loaded {
  const [loaded, setLoaded] = useState<Loaded>({
    picture: undefined,
    summary: undefined,
    error: undefined,
    milliseconds: 0,
  });
  const key = `${ready}/${url}#${hash}/${expanded.join()}/${fold}`;
  useEffect(() => {
    let dropped = false;
    if (!ready) return undefined;
    const { client, loaded: reading } = graphClient(url, hash);
    reading
      .then(async ({ summary }) => {
        const { picture, milliseconds } = await client.layout(expanded, fold);
        performance.mark("csengine-graph", { detail: milliseconds });
        if (!dropped) setLoaded({ picture, summary, error: undefined, milliseconds });
      })
      .catch((error: ApiError) => !dropped && setLoaded((old) => ({ ...old, error })));
    return () => {
      dropped = true;
    };
  }, [key]);
  return loaded;
}

function Legend({ summary }: { summary: Summary }) {
  const there = Object.keys(DTYPES).filter((dtype) => summary.dtypes[dtype]);
  const others = Object.keys(summary.dtypes).some((dtype) => !DTYPES[dtype]);
  return (
    <div class="legend" aria-label="Formats">
      {[...there, ...(others ? ["int32"] : [])].map((dtype) => (
        <span key={dtype}>
          <svg width="30" height="8" aria-hidden="true">
            <path
              d="M1 4h28"
              style={{
                stroke: `var(${styleOf(dtype).token})`,
                strokeWidth: "2.5px",
                strokeDasharray: styleOf(dtype).dash,
              }}
            />
          </svg>
          {dtype === "int32" ? "integers" : dtype}
        </span>
      ))}
      <span>
        <svg width="14" height="14" aria-hidden="true">
          <path d="M7 1 13 7 7 13 1 7Z" fill="none" stroke="var(--text-soft)" stroke-width="1.5" />
        </svg>
        cast
      </span>
    </div>
  );
}

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

function Side({
  job,
  node,
  detail,
  timing,
  ops,
  payload,
  onToggle,
}: {
  job: string;
  node: PictureNode;
  detail: Detail | undefined;
  timing: Timing;
  ops: ReportedOp[];
  /** Format in which the run's partial sums of gradients travel. */
  payload: string | null;
  onToggle: () => void;
}) {
  const scope = node.scope.replace(/\[(\d+)-\d+\]/, "$1");
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
    <aside class="side panel scroll" aria-label="Chosen part">
      <div class="head">
        <h2 class="ellipsis">{node.title}</h2>
        <span class="spacer" />
        {canReplay() && (
          <a class="button" href={stepLink(job, { filter: scope })}>
            Its tensors
          </a>
        )}
        {node.canExpand && <button onClick={onToggle}>Open its kernels</button>}
      </div>
      <div class="body stack">
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
      </div>
    </aside>
  );
}

function summaryText(s: Summary): string {
  return (
    `${compact(s.nodes)} nodes in ${compact(s.kernels)} kernels · ` +
    `${compact(s.parameters)} parameters (${bytes(s.parameterBytes)}) · ${s.casts} casts · ` +
    `${s.microbatches} × ${s.microBatchSize} samples`
  );
}

interface Asked {
  url: string;
  hash: string;
  expanded: string[];
  fold: boolean;
  chosen: string | null;
  search: string;
  slowest: boolean;
}

/* Opened modules, selection and search text are part of the address. */
function asked(model: JobModel): Asked {
  return {
    url: `/api/v1/jobs/${encodeURIComponent(model.id)}/graph`,
    hash: String(model.job.value?.attempt ?? 0),
    expanded: (query.value.get("open") ?? "").split(",").filter(Boolean),
    fold: query.value.get("fold") !== "0",
    chosen: query.value.get("at"),
    search: query.value.get("find") ?? "",
    slowest: query.value.get("slowest") === "1",
  };
}

const choose = (key: string) => setQuery({ at: query.peek().get("at") === key ? null : key });

function toggle(key: string): void {
  const open = (query.peek().get("open") ?? "").split(",").filter(Boolean);
  const next = open.includes(key) ? open.filter((one) => one !== key) : [...open, key];
  setQuery({ open: next.join(","), at: null });
}

function useDetail(node: PictureNode | undefined, what: Asked, picture: Picture | undefined) {
  const [detail, setDetail] = useState<Detail>();
  useEffect(() => {
    setDetail(undefined);
    if (node)
      void graphClient(what.url, what.hash)
        .client.detail(node.key, what.expanded, what.fold)
        .then(setDetail)
        .catch(() => undefined);
  }, [node?.key, picture]);
  return detail;
}

function DrawingPanel({
  loaded,
  what,
  times,
  fitKey,
}: {
  loaded: Loaded;
  what: Asked;
  times: KernelTimes | undefined;
  fitKey: string;
}) {
  const { summary, milliseconds } = loaded;
  const picture = loaded.picture as Picture;
  const show = useRef<(x: number, y: number) => void>(() => undefined);
  useEffect(() => {
    const text = what.search.toLowerCase();
    const found =
      text && picture.nodes.find((one) => `${one.scope} ${one.title}`.toLowerCase().includes(text));
    if (found) show.current(found.x + found.width / 2, found.y + found.height / 2);
  }, [what.search, picture]);
  return (
    <section class="panel graph-panel" aria-label="Drawing">
      <div class="head">
        {summary && <Legend summary={summary} />}
        <span class="spacer" />
        <span class="faint small nowrap">laid out in {Math.round(milliseconds)} ms</span>
      </div>
      {picture.nodes.length === 0 ? (
        <Empty title="The graph is empty" icon="graph" />
      ) : (
        <PanZoom
          width={picture.width}
          height={picture.height}
          defs={<Tips />}
          label="Step graph"
          fitKey={fitKey}
          onReady={(to) => (show.current = to)}
        >
          <Drawing
            picture={picture}
            times={times}
            chosen={what.chosen}
            search={what.search}
            onChoose={choose}
            onToggle={toggle}
          />
        </PanZoom>
      )}
    </section>
  );
}

const NotCompiled = () => (
  <section class="panel">
    <Empty title={notYet("Not compiled")} icon="graph">
      The step graph is there as soon as the step is compiled.
    </Empty>
  </section>
);

const FOLDING = [
  ["1", "fold layers"],
  ["0", "every layer"],
] as const;

export function StepGraph() {
  const model = current.value as JobModel;
  const job = model.job.value;
  const what = asked(model);
  const ready = isRecorded(job) && !NOT_COMPILED.has(job?.state ?? "");
  const loaded = usePicture(ready, what);
  const { picture, summary, error } = loaded;
  const node = picture?.nodes.find((one) => one.key === what.chosen);
  /* As large as the graph itself; loaded only when the side panel shows it. */
  const wanted = useRef(false);
  wanted.current ||= node !== undefined;
  const precision = useRecorded(
    model,
    () =>
      ready && wanted.current ? api.getPrecision({ id: model.id }) : Promise.resolve(undefined),
    [what.hash, ready, wanted.current],
  );
  const running = useRecorded(
    model,
    () =>
      ready && wanted.current
        ? api.getTopology({ id: model.id, samples: 1 })
        : Promise.resolve(undefined),
    [what.hash, ready, wanted.current],
  );
  const payload =
    running.data?.samples[0]?.streams?.find((s) => s.name === "partial sums")?.payload ?? null;
  const ops = useMemo(() => opsOf(precision.data), [precision.data]);
  const detail = useDetail(node, what, picture);
  const timing = useKernels(model, ready, what.hash);
  const withSide = node !== undefined || what.slowest;
  return (
    <>
      <PageHeader title="Step graph" note={summary && summaryText(summary)}>
        <Choice
          label="Equal layers"
          value={what.fold ? "1" : "0"}
          options={FOLDING}
          onChange={(value) => setQuery({ fold: value === "1" ? null : "0", open: null, at: null })}
        />
        <button
          aria-pressed={what.slowest}
          onClick={() => setQuery({ slowest: what.slowest ? null : "1", at: null })}
        >
          Slowest kernels
        </button>
        <Filter name="find" label="Find a module" placeholder="Find a module" />
      </PageHeader>
      {error && <Failure error={error} />}
      {!error && !picture && (ready ? <Loading /> : <NotCompiled />)}
      {picture && (
        <div class={`graph-page grow${withSide ? " with-side" : ""}`}>
          <DrawingPanel
            loaded={loaded}
            what={what}
            times={timing.times}
            fitKey={`${model.id}/${what.fold}`}
          />
          {node && (
            <Side
              job={model.id}
              node={node}
              detail={detail}
              timing={timing}
              ops={ops}
              payload={payload}
              onToggle={() => toggle(node.key)}
            />
          )}
          {!node && what.slowest && <Slowest timing={timing} drawn={what} onChoose={choose} />}
        </div>
      )}
    </>
  );
}

export const page: PageEntry = {
  name: "graph",
  order: 70,
  title: "Step graph",
  icon: "graph",
  key: "g",
  view: StepGraph,
  ofJob: true,
  fill: true,
};
