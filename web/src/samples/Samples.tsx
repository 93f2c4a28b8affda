/* What the model makes of some samples of the validation and of prompts, at each validation. */
import { useState } from "preact/hooks";
import { api, type ConfusionMatrix, type Samples as All } from "@generated/client";
import { integer, percent } from "@/base/format";
import { Empty, PageHeader, Pick, Waiting } from "@/components/parts";
import { SampleBody, labelOf } from "@/components/Sample";
import { current, notYet, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import { Classes } from "@/samples/Classes";
import { Probabilities } from "@/samples/Probabilities";
import { Texts } from "@/samples/Texts";
import { Worst } from "@/samples/Worst";

const EVERY_MS = 5000;

function Pictures({ all, at }: { all: All; at: number }) {
  const predictions = all.validations[at]?.predictions;
  const pictures = all.pictures ?? [];
  if (pictures.length === 0) return null;
  const judged = pictures.filter((one, i) => predictions?.[i]?.length && one.label !== undefined);
  const right = pictures.filter((one, i) => predictions?.[i]?.[0]?.class === one.label);
  return (
    <section class="panel">
      <h2>Pictures of the validation</h2>
      <div class="body">
        {judged.length > 0 && (
          <p class="soft" data-right={right.length}>
            {right.length} of these {judged.length} are predicted as labelled.
          </p>
        )}
        <div class="sample-grid">
          {pictures.map((one, i) => {
            const classes = predictions?.[i] ?? [];
            const wrong = classes.length > 0 && one.label !== classes[0]?.class;
            return (
              <figure key={one.sample} class={wrong ? "sample wrong" : "sample"} title={one.place}>
                <SampleBody sample={one} />
                <figcaption>
                  <strong>{labelOf(one) ?? `sample ${one.sample}`}</strong>
                  {classes.length > 0 && (
                    <span class={wrong ? "sample-wrong" : "sample-right"}>
                      {wrong ? "✗ wrong" : "✓ right"}
                    </span>
                  )}
                </figcaption>
                <Classes classes={classes} truth={one.label} />
              </figure>
            );
          })}
        </div>
      </div>
    </section>
  );
}

/* More cells than that are no picture any more: the most frequent confusions say more. */
const SHOWN_CLASSES = 32;
const CELL = 46;
const LABELS = 120;

function Cells({ of }: { of: ConfusionMatrix }) {
  const names = of.classes ?? of.counts.map((_, i) => String(i));
  const side = names.length * CELL;
  const sums = of.counts.map((row) => row.reduce((sum, one) => sum + one, 0));
  return (
    <svg
      class="confusion"
      role="img"
      aria-label="Confusion matrix: rows are labels, columns predictions"
      viewBox={`0 0 ${LABELS + side + 70} ${LABELS / 2 + side}`}
      width={LABELS + side + 70}
      height={LABELS / 2 + side}
    >
      {names.map((name, i) => (
        <g key={name}>
          <text class="confusion-label" x={LABELS - 8} y={LABELS / 2 + (i + 0.62) * CELL}>
            {name.slice(0, 16)}
          </text>
          <text class="confusion-column" x={LABELS + (i + 0.5) * CELL} y={LABELS / 2 - 8}>
            {name.slice(0, names.length > 12 ? 5 : 7)}
          </text>
          <text class="confusion-share" x={LABELS + side + 8} y={LABELS / 2 + (i + 0.62) * CELL}>
            {sums[i] ? percent((of.counts[i]?.[i] ?? 0) / (sums[i] ?? 1)) : "–"}
          </text>
        </g>
      ))}
      {of.counts.map((row, y) =>
        row.map((count, x) => (
          <g key={`${y} ${x}`}>
            <title>{`${integer(count)} of ${names[y]} taken for ${names[x]}`}</title>
            <rect
              class={x === y ? "confusion-right" : "confusion-wrong"}
              x={LABELS + x * CELL}
              y={LABELS / 2 + y * CELL}
              width={CELL - 2}
              height={CELL - 2}
              fill-opacity={sums[y] ? 0.06 + (0.7 * count) / (sums[y] ?? 1) : 0.06}
            />
            {count > 0 && (
              <text
                class="confusion-count"
                x={LABELS + (x + 0.5) * CELL - 1}
                y={LABELS / 2 + (y + 0.62) * CELL}
              >
                {count >= 10000 ? `${Math.round(count / 1000)}k` : +count.toFixed(1)}
              </text>
            )}
          </g>
        )),
      )}
    </svg>
  );
}

function MostFrequent({ of }: { of: ConfusionMatrix }) {
  const names = of.classes ?? of.counts.map((_, i) => String(i));
  const pairs = of.counts
    .flatMap((row, y) => row.map((count, x) => ({ count, y, x })))
    .filter((one) => one.x !== one.y && one.count > 0)
    .sort((a, b) => b.count - a.count)
    .slice(0, 12);
  return (
    <ul class="sample-classes">
      {pairs.map((one) => (
        <li key={`${one.y} ${one.x}`}>
          <span class="ellipsis grow">
            {names[one.y]} taken for {names[one.x]}
          </span>
          <span class="number">{integer(one.count)}</span>
        </li>
      ))}
    </ul>
  );
}

function Matrices({ all }: { all: ConfusionMatrix[] }) {
  return (
    <>
      {all.map((one) => (
        <section
          key={one.name}
          class="panel scroll"
          tabIndex={0}
          role="region"
          aria-label={one.name}
        >
          <h2>Confusion matrix</h2>
          <div class="body" data-matrix={one.name}>
            <p class="soft">
              {one.name}, by the weights of step {integer(one.step)}. Rows are labels, with their
              recall at the end; columns are predictions.
            </p>
            {one.counts.length <= SHOWN_CLASSES ? <Cells of={one} /> : <MostFrequent of={one} />}
          </div>
        </section>
      ))}
    </>
  );
}

export function Samples() {
  const model = current.value as JobModel;
  const read = useRecorded(model, () => api.getSamples({ id: model.id }), [], EVERY_MS);
  const confusion = useRecorded(model, () => api.getConfusion({ id: model.id }), [], EVERY_MS);
  const validation = useRecorded(model, () => api.getValidation({ id: model.id }), [], EVERY_MS);
  const [chosen, setChosen] = useState<number | null>(null);
  const all = read.data;
  const steps = (all?.validations ?? []).map((one) => one.step);
  const at = chosen !== null && steps.includes(chosen) ? steps.indexOf(chosen) : steps.length - 1;
  return (
    <>
      <PageHeader
        title="Samples"
        note={at >= 0 ? `by the weights of step ${integer(steps[at])}` : undefined}
      >
        {all?.pictures && steps.length > 1 && (
          <Pick
            label="Validation at step"
            value={String(steps[at])}
            options={steps.map((step) => [String(step), integer(step)] as const)}
            onChange={(step) => setChosen(Number(step))}
          />
        )}
      </PageHeader>
      {read.error?.status === 404 && validation.error?.status === 404 ? (
        <section class="panel">
          <Empty title={notYet("No samples")} icon="samples">
            They are taken at each validation: those with the greatest losses where the loss is of
            labels, tokens or targets, pictures with predictions where the data are pictures, and
            texts after the prompts of the section samples of the configuration.
          </Empty>
        </section>
      ) : (
        read.error?.status !== 404 && <Waiting for={read} />
      )}
      {(all || confusion.data || validation.data) && (
        <div class="stack">
          {validation.data && <Worst all={validation.data} />}
          {confusion.data && <Matrices all={confusion.data.matrices} />}
          {validation.data && <Probabilities all={validation.data} />}
          {all && <Pictures all={all} at={at} />}
          {all && <Texts all={all} />}
        </div>
      )}
    </>
  );
}
