/* What the graph is painted by: reading the figures, the scale, and what broke first. */
import { useMemo } from "preact/hooks";
import { api, type Metrics } from "@generated/client";
import { integer } from "@/base/format";
import { setQuery } from "@/base/route";
import { Icon } from "@/components/Icon";
import { shadeStyle } from "@/graph/Drawing";
import type { Picture, PictureNode } from "@/graph/format";
import {
  CLASSES,
  lastNorms,
  lastOf,
  paintOf,
  type Known,
  type Paint,
  type Quantity,
} from "@/graph/paint";
import type { Timing } from "@/job/kernels";
import { notYet, type JobModel } from "@/job/model";
import { readAt, readFirstBad, readObserved, type Observed, type Row } from "@/job/numerics";
import type { Observation } from "@/job/order";
import { useRecorded } from "@/job/recorded";

const OF_STATISTICS = new Set<Quantity>(["overflow", "flushed", "absorbed"]);
const STEPS_A_READ = 3;
const MOST_NAMES = 50;

interface Statistics {
  rows: Row[];
  step: number | null;
  missing: string | null;
}

const fromObserved = ({ rows, step, missing }: Observed): Statistics => ({ rows, step, missing });

/** The statistics of a step; of the newest one that has any where none is named. */
export function useStatistics(model: JobModel, wanted: boolean, step: number | null): Statistics {
  const job = model.job.value;
  const read = async (): Promise<Statistics> => {
    if (!wanted) return { rows: [], step: null, missing: null };
    if (step !== null) return { rows: await readAt(model.id, step), step, missing: null };
    return fromObserved(await readObserved(model.id, job?.attempt ?? 1, job?.progress.step ?? 0));
  };
  const version = Math.floor(model.numericsVersion.value / STEPS_A_READ);
  const { data, error } = useRecorded(model, read, [wanted, step, job?.attempt, version]);
  return data ?? { rows: [], step: null, missing: error?.message ?? null };
}

/** The first tensor that overflowed, in the order of execution. */
export function useFirstBad(model: JobModel, ready: boolean): Observation | null {
  const version = Math.floor(model.numericsVersion.value / STEPS_A_READ);
  const { data } = useRecorded(
    model,
    () => (ready ? readFirstBad(model.id) : Promise.resolve(null)),
    [ready, version],
  );
  return data ?? null;
}

/** The last bucket of each series PREFIX/...; undefined where none is wanted, or there is none. */
function useLast(model: JobModel, wanted: boolean, prefix: string): Metrics | undefined {
  const names = model.names.value.filter((name) => name.startsWith(`${prefix}/`));
  const { data } = useRecorded(
    model,
    () => (wanted && names.length > 0 ? readLast(model.id, names) : Promise.resolve(undefined)),
    [wanted, names.length, model.job.value?.state],
  );
  return data;
}

/* As many names as a request may have. */
async function readLast(id: string, names: string[]): Promise<Metrics | undefined> {
  let all: Metrics | undefined;
  for (let i = 0; i < names.length; i += MOST_NAMES) {
    const some = await api.getMetrics({ id, names: names.slice(i, i + MOST_NAMES), max_points: 1 });
    all = all ? { ...all, series: [...all.series, ...some.series] } : some;
  }
  return all;
}

/** The paint of the picture by a quantity; null where it is painted by nothing. */
export function usePaint(
  model: JobModel,
  quantity: Quantity,
  picture: Picture | undefined,
  timing: Timing,
  statistics: Statistics,
): Paint | null {
  const ofLayers = useLast(model, quantity === "gradient", "per_layer_grad_norm");
  const ofWeights = useLast(model, quantity === "ratio", "update_ratio");
  const { norms, step } = useMemo(() => lastNorms(ofLayers), [ofLayers]);
  const ratios = useMemo(() => lastOf(ofWeights, "update_ratio"), [ofWeights]);
  const { times, missing } = timing;
  return useMemo(() => {
    const known: Known = {
      times,
      timesMissing: missing,
      rows: statistics.rows,
      step: statistics.step,
      rowsMissing: statistics.missing ?? `${notYet("No step with statistics has been committed")}.`,
      norms,
      normsStep: step,
      ratios: ratios.values,
      ratiosStep: ratios.step,
    };
    return picture ? paintOf(quantity, picture.nodes, known) : null;
  }, [quantity, picture, times, missing, statistics.rows, statistics.missing, norms, ratios]);
}

export const needsStatistics = (quantity: Quantity): boolean => OF_STATISTICS.has(quantity);

/** The box that a tensor is in. */
export const boxOf = (picture: Picture | undefined, tensor: string): PictureNode | undefined =>
  picture?.nodes.find((node) => node.tracked.includes(tensor.replace(/\.update$/, "")));

/* ---- what broke first ---- */

export function Culprit({
  found,
  box,
  chosen,
}: {
  found: Observation;
  box: PictureNode | undefined;
  chosen: boolean;
}) {
  const { tensor, record } = found;
  const parts = [
    [record.nan, "NaN"],
    [record.inf, "infinite"],
    [record.saturated, "saturated"],
  ].filter(([count]) => Number(count) > 0);
  return (
    <div class="banner bad culprit" role="status">
      <Icon name="warn" />
      <span>
        The first to overflow: <strong>{tensor.name}</strong> at step {integer(record.step)}
        {record.first_microbatch !== null &&
          record.first_microbatch >= 0 &&
          `, microbatch ${record.first_microbatch}`}
        : {parts.map(([count, text]) => `${integer(Number(count))} ${text}`).join(", ")}, of{" "}
        {integer(record.count)} values.
      </span>
      {box && !chosen && (
        <button onClick={() => setQuery({ at: box.key, side: "tensors", slowest: null })}>
          Show it
        </button>
      )}
    </div>
  );
}

/* ---- the scale ---- */

export function Scale({
  paint,
  step,
  newest,
  firstBad,
}: {
  paint: Paint;
  /** Of the statistics that are shown; null: they are of none. */
  step: number | null;
  /** Whether the address names that step. */
  newest: boolean;
  firstBad: number | null;
}) {
  const levels = paint.kinds
    ? paint.kinds.map((kind, level) => ({ level, text: kind.name }))
    : paint.limits.length > 0 && paint.shades.size > 0
      ? Array.from({ length: CLASSES + 1 }, (_, level) => ({
          level,
          text: level === 0 ? "none" : (paint.limits[level - 1] ?? ""),
        }))
      : [];
  return (
    <div class="scale" role="group" aria-label="Scale">
      {paint.missing ? (
        <p class="soft" role="status">
          Not painted: {paint.missing}.
        </p>
      ) : (
        <>
          <span class="small soft">{paint.of}</span>
          <span class="legend">
            {levels.map(({ level, text }) => (
              <span key={level}>
                <i class="swatch" style={{ background: shadeStyle({ level, text }, paint) }} />
                {text}
              </span>
            ))}
            <span>
              <i class="swatch bare" />
              not recorded
            </span>
          </span>
        </>
      )}
      {step !== null && firstBad !== null && firstBad !== step && (
        <button onClick={() => setQuery({ step: String(firstBad) })}>
          step {integer(firstBad)}, the first overflow
        </button>
      )}
      {step !== null && !newest && (
        <button onClick={() => setQuery({ step: null })}>newest step</button>
      )}
    </div>
  );
}
