/* The runs of the page Compare and their curves. */
import { useMemo } from "preact/hooks";
import { api, type ComparedRun, type Comparison, type Metrics } from "@generated/client";
import type { ApiError } from "@/api/transport";
import { useResource, type Resource } from "@/base/resource";
import type { Run } from "@/components/MetricChart";
import { isFinal } from "@/job/model";

const MAX_POINTS = 1000;
const RELOAD_MS = 10_000;

export function useComparison(ids: string[]): Resource<Comparison> {
  return useResource(
    () => (ids.length > 0 ? api.compareRuns({ runs: ids }) : Promise.resolve(NOTHING)),
    [ids.join()],
    ids.length > 0 ? RELOAD_MS * 3 : 0,
  );
}

const NOTHING: Comparison = { runs: [], settings: [], origins: [] };

/* A run that waits for its turn has no series yet. */
async function curvesOf(id: string, names: string[]): Promise<[string, Metrics | undefined]> {
  try {
    return [id, await api.getMetrics({ id, names, max_points: MAX_POINTS, history: true })];
  } catch (error) {
    if ((error as ApiError).status === 404) return [id, undefined];
    throw error;
  }
}

const isAlive = ({ runs }: Comparison): boolean => runs.some((run) => !isFinal(run.state));

/* Runs of a sweep may all have one name. */
const labelOf = ({ name, id }: ComparedRun, all: ComparedRun[]): string =>
  all.filter((one) => one.name === name).length > 1 ? `${name} (${id})` : name;

/** Of all runs, also of those that are hidden: they come back at once. */
export function useCurves(
  comparison: Comparison | undefined,
  names: string[],
  hidden: string[],
): { runs: Run[]; known: string[]; asked: Resource<Map<string, Metrics | undefined>> } {
  const ids = comparison?.runs.map((run) => run.id) ?? [];
  const asked = useResource(
    async () => new Map(await Promise.all(ids.map((id) => curvesOf(id, names)))),
    [ids.join(), names.join()],
    comparison && isAlive(comparison) ? RELOAD_MS : 0,
  );
  const off = hidden.join();
  const runs = useMemo(
    () =>
      (comparison?.runs ?? []).map((run): Run => ({
        id: run.id,
        label: labelOf(run, comparison?.runs ?? []),
        batchSize: run.batch_size ?? 1,
        metrics: asked.data?.get(run.id),
        hidden: hidden.includes(run.id),
      })),
    [comparison, asked.data, off],
  );
  const known = useMemo(
    () => [...new Set([...(asked.data?.values() ?? [])].flatMap((one) => one?.names ?? []))].sort(),
    [asked.data],
  );
  return { runs, known, asked };
}
