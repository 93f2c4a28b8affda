/* Reading the statistics of tensors: a run may have statistics of thousands of tensors at hundreds of steps,
 * so that a page asks for the newest step with statistics, for the first bad record, and for all steps of
 * the one tensor that is looked at. */
import { api, type Numerics as Answer, type NumericsRecord, type Tensor } from "@generated/client";
import { firstOf, type Observation } from "@/job/order";

/** Records with the tensors that they are of. */
export interface Statistics {
  tensors: Tensor[];
  records: NumericsRecord[];
  missing: string | null;
}

const PAGE = 1000;
const MOST_PAGES = 20;
const BIAS = 127;

export interface Row {
  tensor: Tensor;
  record: NumericsRecord;
  trouble: number;
}

export interface Observed {
  rows: Row[];
  step: number | null;
  /** The first record with a NaN, an infinity or a saturated value. */
  firstBad: Observation | null;
  missing: string | null;
}

type Wanted = {
  step?: number;
  from?: number;
  tensor?: string;
  attempt?: number;
  bad?: boolean;
  histograms?: boolean;
};

/* The tensors of the job that was asked for last: they are the same until another attempt begins. */
let table: { id: string; tensors: Map<number, Tensor> } | undefined;

async function readTable(id: string): Promise<Map<number, Tensor>> {
  const tensors = new Map<number, Tensor>();
  for (let token: string | null = ""; token !== null;) {
    const page = await api.listTensors({ id, ...(token ? { page_token: token } : {}) });
    for (const one of page.tensors) tensors.set(one.id, one);
    token = page.next_page_token;
  }
  return tensors;
}

async function withTensors(id: string, answer: Answer): Promise<Statistics> {
  const { records, missing } = answer;
  const known = (one: NumericsRecord) => table?.id === id && table.tensors.has(one.tensor);
  if (!records.every(known)) table = { id, tensors: await readTable(id) };
  const tensors = table?.id === id ? [...table.tensors.values()] : [];
  return { tensors, records, missing };
}

/** A page of records with their tensors, without histograms. */
export async function readStatistics(id: string, wanted: Wanted = {}): Promise<Statistics> {
  const answer = await api.getNumerics({ id, limit: PAGE, histograms: false, ...wanted });
  return withTensors(id, answer);
}

async function readAll(id: string, wanted: Wanted): Promise<Answer> {
  let answer: Answer | undefined;
  let token: string | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const next: Answer = await api.getNumerics({
      id,
      limit: PAGE,
      ...wanted,
      ...(token ? { page_token: token } : {}),
    });
    answer = answer ? { ...answer, records: [...answer.records, ...next.records] } : next;
    token = next.next_page_token;
    if (!token) break;
  }
  return answer as Answer;
}

/* No list of the steps with statistics exists: look back from the last step in growing
 * windows, then go forward to the last one in the window; by the records of one tensor, since the
 * answer about all of them is long. */
async function lastObserved(id: string, tensor: Tensor, step: number): Promise<number | null> {
  const ask = {
    id,
    attempt: tensor.attempt,
    tensor: String(tensor.id),
    limit: PAGE,
    histograms: false,
  };
  const firstFrom = async (from: number) => {
    const { records } = await api.getNumerics({ ...ask, from });
    return records.find((record) => record.tensor === tensor.id)?.step ?? null;
  };
  for (let back = 1; ; back *= 4) {
    let found = await firstFrom(Math.max(0, step - back));
    while (found !== null) {
      const next: number | null = await firstFrom(found + 1);
      if (next === null) return found;
      found = next;
    }
    if (back > step) return null;
  }
}

export const badOf = (r: NumericsRecord): number => r.nan + r.inf + r.saturated;
export const share = (part: number, record: NumericsRecord): number =>
  part / Math.max(1, record.count);

function rowsOf(data: Statistics): Row[] {
  const tensors = new Map(data.tensors.map((tensor) => [tensor.id, tensor]));
  return data.records
    .flatMap((record): Row[] => {
      const tensor = tensors.get(record.tensor);
      if (!tensor) return [];
      const trouble =
        share(badOf(record), record) * 100 +
        share(record.flushed, record) * 3 +
        share(record.absorbed, record) +
        (badOf(record) > 0 ? 10 : 0);
      return [{ tensor, record, trouble }];
    })
    .sort((a, b) => b.trouble - a.trouble || a.tensor.id - b.tensor.id);
}

export async function readObserved(id: string, attempt: number, step: number): Promise<Observed> {
  const one = { limit: 1, histograms: false };
  let first = await api.getNumerics({ id, attempt, ...one });
  /* An attempt that has just begun has no statistics yet; the previous one has. */
  if (first.records.length === 0) first = await api.getNumerics({ id, ...one });
  const { tensors } = await withTensors(id, first);
  const tensor = tensors.find((one) => one.id === first.records[0]?.tensor);
  const at = tensor ? await lastObserved(id, tensor, step) : null;
  if (at === null) return { rows: [], step: null, firstBad: null, missing: first.missing };
  const wanted = { attempt: first.records[0]?.attempt ?? attempt, step: at, histograms: false };
  const [newest, bad] = await Promise.all([
    readAll(id, wanted).then((answer) => withTensors(id, answer)),
    readStatistics(id, { bad: true }),
  ]);
  return {
    rows: rowsOf(newest),
    step: at,
    firstBad: firstOf(bad.tensors, bad.records, (r) => badOf(r) > 0),
    missing: null,
  };
}

/** The statistics of one step, whichever attempt has them. */
export async function readAt(id: string, step: number): Promise<Row[]> {
  return rowsOf(await withTensors(id, await readAll(id, { step, histograms: false })));
}

/** The first record in the order of execution with a NaN, an infinity or a saturated value. */
export async function readFirstBad(id: string): Promise<Observation | null> {
  const bad = await readStatistics(id, { bad: true });
  return firstOf(bad.tensors, bad.records, (r) => badOf(r) > 0);
}

/** All that was kept of one tensor, by step. */
export async function readTensor(id: string, tensor: Tensor): Promise<NumericsRecord[]> {
  const { records } = await readAll(id, { tensor: String(tensor.id), attempt: tensor.attempt });
  return records.filter((r) => r.tensor === tensor.id).sort((a, b) => a.step - b.step);
}

/** Counts by biased exponent, as stored: unsigned 64-bit, the least byte first, base64. */
export function histogramOf(record: NumericsRecord): number[] {
  if (!record.histogram) return [];
  const text = atob(record.histogram);
  const bins: number[] = [];
  for (let at = 0; at + 8 <= text.length; at += 8) {
    let count = 0;
    for (let i = 7; i >= 0; i--) count = count * 256 + text.charCodeAt(at + i);
    bins.push(count);
  }
  return bins;
}

export const exponentOf = (bin: number): number => bin - BIAS;
