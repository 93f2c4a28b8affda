/* Which of several bad records came first: by attempt, step and microbatch, and within a microbatch
 * in the order in which the plan computes tensors (Tensor.order), forward before backward. Names
 * and ids say nothing of that. */
import type { NumericsRecord, Tensor } from "@generated/client";

export interface Observation {
  tensor: Tensor;
  record: NumericsRecord;
}

/* States are there before every microbatch, sums over the batch after all of them. */
function microbatchOf({ tensor, record }: Observation): number {
  if (tensor.kind === "state" || tensor.kind === "weight") return -1;
  return record.first_microbatch ?? Infinity;
}

function inOrder(a: Observation, b: Observation): number {
  const [left, right] = [microbatchOf(a), microbatchOf(b)];
  return (
    a.record.attempt - b.record.attempt ||
    a.record.step - b.record.step ||
    (left === right ? a.tensor.order - b.tensor.order : left - right)
  );
}

/** The record that came first among those that `isBad` holds for. */
export function firstOf(
  tensors: Tensor[],
  records: NumericsRecord[],
  isBad: (record: NumericsRecord) => boolean,
): Observation | null {
  const known = new Map(tensors.map((tensor) => [`${tensor.attempt}/${tensor.id}`, tensor]));
  let first: Observation | null = null;
  for (const record of records) {
    const tensor = isBad(record) ? known.get(`${record.attempt}/${record.tensor}`) : undefined;
    if (tensor && (!first || inOrder({ tensor, record }, first) < 0)) first = { tensor, record };
  }
  return first;
}
