/* What the model makes of some samples of the validation and of prompts, at each validation. */
import { useState } from "preact/hooks";
import { api, type SampleClass, type Samples as All } from "@generated/client";
import { integer, percent } from "@/base/format";
import { Empty, PageHeader, Pick, Waiting } from "@/components/parts";
import { SampleBody, labelOf } from "@/components/Sample";
import { current, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import type { PageEntry } from "@/frame/page";

const EVERY_MS = 5000;

function Classes({ classes, truth }: { classes: SampleClass[]; truth?: number }) {
  return (
    <ul class="sample-classes">
      {classes.map((one) => (
        <li key={one.class} class={one.class === truth ? "of-label" : ""}>
          <span class="ellipsis grow">{one.name ?? one.class}</span>
          <span class="number">{percent(one.probability)}</span>
        </li>
      ))}
    </ul>
  );
}

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

function Texts({ all }: { all: All }) {
  const rows = all.validations.filter((one) => one.texts).reverse();
  if (rows.length === 0) return null;
  return (
    <>
      {(all.prompts ?? []).map((prompt, p) => (
        <section key={prompt} class="panel scroll" tabIndex={0} role="region" aria-label={prompt}>
          <h2>After “{prompt}”</h2>
          <table>
            <thead>
              <tr>
                <th scope="col" class="number">
                  Step
                </th>
                <th scope="col">The model goes on, by its most likely tokens</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((one) => (
                <tr key={one.step}>
                  <td class="number">{integer(one.step)}</td>
                  <td>
                    <span class="faint">{prompt}</span>
                    <span class="sample-said">{one.texts?.[p] ?? ""}</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ))}
    </>
  );
}

export function Samples() {
  const model = current.value as JobModel;
  const read = useRecorded(model, () => api.getSamples({ id: model.id }), [], EVERY_MS);
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
      {read.error?.status === 404 ? (
        <section class="panel">
          <Empty title="No samples yet" icon="samples">
            They are taken at each validation: pictures with predictions where the data are
            pictures, and texts after the prompts of the section samples of the configuration.
          </Empty>
        </section>
      ) : (
        <Waiting for={read} />
      )}
      {all && (
        <div class="stack">
          <Pictures all={all} at={at} />
          <Texts all={all} />
        </div>
      )}
    </>
  );
}

export const page: PageEntry = {
  name: "samples",
  order: 90,
  title: "Samples",
  icon: "samples",
  key: "e",
  view: Samples,
  ofJob: true,
};
