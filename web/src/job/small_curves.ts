/* The small curves of a list: what is asked for at about the same time is one request, however many
 * jobs the list has. A report has them with the other series of its runs. */
import { api } from "@generated/client";

declare const IS_REPORT: boolean;

type Values = (number | null)[];

interface Asked {
  id: string;
  resolve: (values: Values) => void;
  reject: (cause: unknown) => void;
}

const GATHER_MS = 40;
const MOST_JOBS = 200;
const POINTS = 60;

let asked: Asked[] = [];

async function readAll(all: Asked[]): Promise<void> {
  const ids = [...new Set(all.map((one) => one.id))];
  try {
    const { curves } = await api.listSmallCurves({ jobs: ids, max_points: POINTS });
    const found = new Map(curves.map((one) => [one.id, one.value]));
    for (const one of all) one.resolve(found.get(one.id) ?? []);
  } catch (cause) {
    for (const one of all) one.reject(cause);
  }
}

function flush(): void {
  const all = asked;
  asked = [];
  const ids = [...new Set(all.map((one) => one.id))];
  for (let first = 0; first < ids.length; first += MOST_JOBS) {
    const some = new Set(ids.slice(first, first + MOST_JOBS));
    void readAll(all.filter((one) => some.has(one.id)));
  }
}

async function readReported(id: string): Promise<Values> {
  const { series } = await api.getMetrics({ id, names: ["loss"], max_points: POINTS });
  return series.flatMap((one) => one.mean ?? one.value);
}

/** The loss of a job over its steps, in a few points. */
export function readSmallCurve(id: string): Promise<Values> {
  if (IS_REPORT) return readReported(id);
  return new Promise((resolve, reject) => {
    if (asked.push({ id, resolve, reject }) === 1) setTimeout(flush, GATHER_MS);
  });
}
