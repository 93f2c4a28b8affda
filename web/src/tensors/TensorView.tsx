/* One tensor of a step: which part of it, as a picture, in figures, and as a file. */
import type { StepTensor } from "@generated/client";
import { bytes, integer } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { Icon } from "@/components/Icon";
import { Pick } from "@/components/parts";
import { styleOf } from "@/graph/Drawing";
import { HeatMap, valuesPath, type Place } from "@/tensors/HeatMap";
import { Histogram } from "@/tensors/Histogram";
import { ALL, headDimensions, partOf, type Dimension, type Part } from "@/tensors/part";

const MOST_CHOICES = 512;

function labelOf(one: Dimension, index: number, batch: Batch): string {
  if (one.name !== "sample") return String(index);
  const { samples, microbatches } = batch;
  const each = microbatches > 0 ? Math.max(1, samples.length / microbatches) : 0;
  const where = each > 0 ? `, microbatch ${Math.floor(index / each)}` : "";
  return `${index}: sample ${samples[index] ?? "?"}${where}`;
}

export interface Batch {
  /** Their numbers in the data, in the order of the batch. */
  samples: number[];
  microbatches: number;
}

/* "2,-1,-1" with one of them changed; a tensor with one dimension is shown whole. */
function withIndex(part: Part, which: number, at: number): string {
  return part.at.map((old, i) => (i === which ? at : old)).join();
}

function Cut({
  one,
  index,
  part,
  batch,
}: {
  one: Dimension;
  index: number;
  part: Part;
  batch: Batch;
}) {
  const choose = (at: number) => setQuery({ at: withIndex(part, index, at), zoom: null });
  const isLong = one.size > MOST_CHOICES;
  return (
    <div class="cut row nowrap" data-cut={one.name}>
      {isLong ? (
        <label class="row nowrap">
          {one.name}
          <input
            type="number"
            min={0}
            max={one.size - 1}
            placeholder="all"
            value={one.at === ALL ? "" : one.at}
            onChange={(e) =>
              choose(e.currentTarget.value === "" ? ALL : e.currentTarget.valueAsNumber)
            }
          />
        </label>
      ) : (
        <Pick
          label={one.name}
          value={String(one.at)}
          options={[
            [String(ALL), `all ${integer(one.size)}`],
            ...Array.from(
              { length: one.size },
              (_, i) => [String(i), labelOf(one, i, batch)] as const,
            ),
          ]}
          onChange={(value) => choose(Number(value))}
        />
      )}
      {one.at !== ALL && (
        <>
          <button
            class="icon"
            aria-label={`${one.name} before`}
            disabled={one.at === 0}
            onClick={() => choose(one.at - 1)}
          >
            ‹
          </button>
          <button
            class="icon"
            aria-label={`${one.name} after`}
            disabled={one.at === one.size - 1}
            onClick={() => choose(one.at + 1)}
          >
            ›
          </button>
        </>
      )}
    </div>
  );
}

function Heads({ plain, heads, of }: { plain: Part; heads: number; of: number | null }) {
  if (plain.dimensions.length === 0) return null;
  const can = headDimensions(plain.dimensions, heads);
  return (
    <>
      <label class="row nowrap">
        heads
        <input
          type="number"
          min={1}
          max={1024}
          placeholder="–"
          value={heads > 1 ? heads : ""}
          aria-label="Number of heads, to see the tensor by head"
          onChange={(e) =>
            setQuery({
              heads: e.currentTarget.valueAsNumber > 1 ? e.currentTarget.value : null,
              of: null,
              at: null,
              zoom: null,
            })
          }
        />
      </label>
      {can.length > 1 && (
        <Pick
          label="in"
          value={String(of ?? can[can.length - 1])}
          options={can.map((i) => [String(i), `${plain.dimensions[i]?.name}`] as const)}
          onChange={(value) => setQuery({ of: value, at: null, zoom: null })}
        />
      )}
      {heads > 1 && can.length === 0 && (
        <span class="bad-text small">no dimension divides by {heads}</span>
      )}
    </>
  );
}

function Files({ of, part, kept }: { of: Place; part: Part; kept: number | null }) {
  const isPart = part.at.some((at) => at !== ALL);
  return (
    <>
      {isPart && (
        <a class="button" href={valuesPath(of, part, { format: "npy" })} download>
          <Icon name="download" />
          part.npy
        </a>
      )}
      <a class="button" href={valuesPath(of, null, { format: "npy" })} download>
        <Icon name="download" />
        npy
      </a>
      <a
        class="button"
        href={valuesPath({ ...of, tensor: "" }, null, { format: "npz" })}
        title={`All tensors that were kept, ${bytes(kept)}`}
        download
      >
        <Icon name="download" />
        all.npz
      </a>
    </>
  );
}

export function TensorView({
  job,
  step,
  tensor,
  batch,
  kept,
}: {
  job: string;
  step: number;
  tensor: StepTensor;
  batch: Batch;
  kept: number | null;
}) {
  const heads = Number(query.value.get("heads") ?? 0);
  const of = query.value.has("of") ? Number(query.value.get("of")) : null;
  const count = batch.samples.length;
  const plain = partOf(tensor, count, {});
  const part = partOf(tensor, count, { heads, of, at: query.value.get("at") ?? undefined });
  const place = { job, step, tensor: tensor.name };
  return (
    <div class="stack">
      <section class="panel" aria-label="Tensor">
        <div class="head wrap">
          <h2 class="tensor-name" data-part="name">
            {tensor.name}
          </h2>
          <span class="faint small nowrap">
            {tensor.role} · {styleOf(tensor.format).short} · {tensor.shape.join(" × ") || "scalar"}
          </span>
        </div>
        <div class="body cuts">
          {part.dimensions.map((one, i) => (
            <Cut key={`${one.name}${i}`} one={one} index={i} part={part} batch={batch} />
          ))}
          <Heads plain={plain} heads={heads} of={of} />
          <Files of={place} part={part} kept={kept} />
        </div>
      </section>
      <HeatMap of={place} part={part} samples={batch.samples} />
      <Histogram of={place} part={part} />
    </div>
  );
}
