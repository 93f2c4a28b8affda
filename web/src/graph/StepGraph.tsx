/* The compiled step: what is computed, in which format, in which kernel, with how many bytes. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "@generated/client";
import type { ApiError } from "@/api/transport";
import { bytes, compact } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { PanZoom } from "@/components/PanZoom";
import { Choice, Empty, Failure, Filter, Loading, PageHeader, Pick } from "@/components/parts";
import { graphClient } from "@/graph/client";
import {
  boxOf,
  Culprit,
  needsStatistics,
  Scale,
  useFirstBad,
  usePaint,
  useStatistics,
} from "@/graph/Cockpit";
import { DTYPES, Drawing, Tips, styleOf } from "@/graph/Drawing";
import { Slowest } from "@/graph/Kernels";
import { opsOf, Side, sideOf } from "@/graph/Side";
import { isQuantity, QUANTITIES, type Paint, type Quantity } from "@/graph/paint";
import type { Detail, Picture, PictureNode, Summary } from "@/graph/format";
import { useKernels, type KernelTimes } from "@/job/kernels";
import { current, notYet, type JobModel } from "@/job/model";
import { isRecorded, useRecorded } from "@/job/recorded";

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
  quantity: Quantity;
  /** Of the statistics; null: the newest that has any. */
  step: number | null;
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
    quantity: isQuantity(query.value.get("paint")) ? (query.value.get("paint") as Quantity) : "",
    step: Number(query.value.get("step")) || null,
  };
}

const choose = (key: string) =>
  setQuery({ at: query.peek().get("at") === key ? null : key, tensor: null, kernel: null });

function toggle(key: string): void {
  const open = (query.peek().get("open") ?? "").split(",").filter(Boolean);
  const next = open.includes(key) ? open.filter((one) => one !== key) : [...open, key];
  setQuery({ open: next.join(","), at: null });
}

/* Painted by overflow, what broke first is chosen, once: who closes it has seen it. */
function useShown(what: Asked, culprit: PictureNode | undefined): void {
  const shown = useRef(false);
  useEffect(() => {
    if (shown.current || what.quantity !== "overflow" || !culprit) return;
    shown.current = true;
    if (what.chosen === null) setQuery({ at: culprit.key, side: "tensors", slowest: null });
  }, [what.quantity, culprit?.key]);
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
  paint,
  scale,
  shownBox,
  fitKey,
}: {
  loaded: Loaded;
  what: Asked;
  times: KernelTimes | undefined;
  paint: Paint | null;
  scale: ComponentChildren;
  /** Is brought into view. */
  shownBox: string | null;
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
  useEffect(() => {
    const box = picture.nodes.find((one) => one.key === shownBox);
    if (box) show.current(box.x + box.width / 2, box.y + box.height / 2);
  }, [shownBox, picture]);
  return (
    <section class="panel graph-panel" aria-label="Drawing">
      <div class="head">
        {summary && <Legend summary={summary} />}
        <span class="spacer" />
        <span class="faint small nowrap">laid out in {Math.round(milliseconds)} ms</span>
      </div>
      {scale}
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
            paint={paint}
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
  const firstBad = useFirstBad(model, ready);
  const ofFirst = firstBad && what.quantity === "overflow" ? firstBad.record.step : null;
  const side = sideOf(query.value.get("side"));
  const statistics = useStatistics(
    model,
    ready && (needsStatistics(what.quantity) || (node !== undefined && side === "tensors")),
    what.step ?? ofFirst,
  );
  const paint = usePaint(model, what.quantity, picture, timing, statistics);
  const culprit = firstBad ? boxOf(picture, firstBad.tensor.name) : undefined;
  useShown(what, culprit);
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
        <Pick
          label="paint by"
          value={what.quantity}
          options={QUANTITIES}
          onChange={(paint) => setQuery({ paint, step: null })}
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
      {firstBad && picture && (
        <Culprit found={firstBad} box={culprit} chosen={culprit?.key === what.chosen} />
      )}
      {picture && (
        <div class={`graph-page grow${withSide ? " with-side" : ""}`}>
          <DrawingPanel
            loaded={loaded}
            what={what}
            times={timing.times}
            paint={paint}
            scale={
              paint && (
                <Scale
                  paint={paint}
                  step={needsStatistics(what.quantity) ? statistics.step : null}
                  newest={what.step === null && ofFirst === null}
                  firstBad={firstBad?.record.step ?? null}
                />
              )
            }
            shownBox={culprit && culprit.key === what.chosen ? culprit.key : null}
            fitKey={`${model.id}/${what.fold}`}
          />
          {node && (
            <Side
              model={model}
              node={node}
              rows={statistics.rows}
              rowsMissing={statistics.missing}
              firstBad={firstBad?.record.step ?? null}
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
