/* A report answers the pages' requests from what was put into it: a JSON object with the API's own
 * paths as names. Ranges and filters, which a server would apply, are applied here. */
import type { Metrics, MetricSeries, Numerics, TensorList } from "@generated/client";
import { ApiError, fillPath, type Request } from "@/api/transport";

let answers: Record<string, unknown> | undefined;

export function reportAnswers(): Record<string, unknown> {
  if (!answers) {
    const text = document.getElementById("report-data")?.textContent ?? "{}";
    try {
      answers = JSON.parse(text) as Record<string, unknown>;
    } catch {
      answers = {};
    }
  }
  return answers;
}

type Columns = Record<string, unknown>;

function cutSeries(series: MetricSeries, from: number, to: number): MetricSeries {
  const steps = series.step;
  const ends = series.last_step ?? steps;
  let first = 0;
  while (first < steps.length && (ends[first] ?? 0) < from) first++;
  let last = steps.length;
  while (last > first && (steps[last - 1] ?? 0) > to) last--;
  const cut: Columns = { ...series };
  for (const [name, column] of Object.entries(series))
    if (Array.isArray(column)) cut[name] = column.slice(first, last);
  return cut as unknown as MetricSeries;
}

function metrics(all: Metrics, wanted: Record<string, unknown>): Metrics {
  const names = wanted.names as string[] | undefined;
  const from = (wanted.from as number | undefined) ?? 0;
  const to = (wanted.to as number | undefined) ?? Infinity;
  const series = all.series
    .filter((one) => !names || names.includes(one.name))
    .filter((one) => wanted.attempt === undefined || one.attempt === wanted.attempt)
    .map((one) => cutSeries(one, from, to));
  return { ...all, series };
}

function numerics(all: Numerics, list: TensorList, wanted: Record<string, unknown>): Numerics {
  const part = wanted.tensor as string | undefined;
  const ids = new Set(
    list.tensors
      .filter((t) => part === undefined || String(t.id) === part || t.name.includes(part))
      .map((t) => t.id),
  );
  const step = wanted.step as number | undefined;
  const from = (wanted.from as number | undefined) ?? 0;
  const records = all.records.filter(
    (r) =>
      ids.has(r.tensor) &&
      r.step >= from &&
      (step === undefined || r.step === step) &&
      (wanted.attempt === undefined || r.attempt === wanted.attempt) &&
      (!wanted.bad || r.nan + r.inf + r.saturated > 0),
  );
  return { ...all, records };
}

export function answerFromReport(request: Request): Promise<unknown> {
  const path = fillPath(request.path, request.parameters);
  const found = reportAnswers()[path];
  if (request.method !== "GET")
    return Promise.reject(new ApiError(405, { detail: "a report can be read, nothing more" }));
  if (found === undefined)
    return Promise.reject(new ApiError(404, { detail: "this report does not contain it" }));
  if (path.endsWith("/metrics"))
    return Promise.resolve(metrics(found as Metrics, request.parameters));
  if (path.endsWith("/numerics")) {
    const tensors = reportAnswers()[path.replace(/numerics$/, "tensors")] as TensorList | undefined;
    const list = tensors ?? { tensors: [], next_page_token: null, missing: null };
    return Promise.resolve(numerics(found as Numerics, list, request.parameters));
  }
  return Promise.resolve(found);
}
