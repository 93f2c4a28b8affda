/* The samples of a validation with the greatest losses: pictures, values, or texts whose tokens are
 * coloured by their losses. */
import type { SampleToken, ValidationSamples, WorstSample } from "@generated/client";
import { integer, number } from "@/base/format";
import { SampleBody, labelOf } from "@/components/Sample";
import { Classes } from "@/samples/Classes";

const MEANT: Record<string, string> = {
  label: "cross entropy of the label",
  tokens: "mean cross entropy of the tokens",
  squares: "mean squared difference to the targets",
};

/* Nats: a token of the last colour has a probability below 1 in 2981. */
const LEVELS = [0.5, 1, 2, 4, 8];
const levelOf = (loss: number | null) =>
  loss === null ? "" : `token-${LEVELS.filter((least) => loss >= least).length}`;

function Tokens({ tokens }: { tokens: SampleToken[] }) {
  const said = tokens.filter((one) => one.loss !== null);
  const worst = said.reduce<SampleToken | undefined>(
    (least, one) => (least === undefined || Number(one.loss) > Number(least.loss) ? one : least),
    undefined,
  );
  return (
    <>
      <p class="sample-text tokens">
        {tokens.map((one, i) => (
          <span
            key={i}
            class={levelOf(one.loss)}
            title={one.loss === null ? "given" : `loss ${number(one.loss, 3)}`}
          >
            {one.text}
          </span>
        ))}
      </p>
      {worst && (
        <p class="soft">
          The greatest loss of a token is {number(worst.loss, 3)}, of “{worst.text.trim()}”.
        </p>
      )}
    </>
  );
}

function Scale() {
  return (
    <p class="soft token-scale">
      Loss of a token:
      {[0, ...LEVELS].map((least, i) => (
        <span key={least} class={`token-${i}`}>
          {i === LEVELS.length ? `${least} and more` : `from ${least}`}
        </span>
      ))}
    </p>
  );
}

function One({ sample }: { sample: WorstSample }) {
  const wrong = sample.predicted && sample.predicted[0]?.class !== sample.label;
  const label = labelOf(sample);
  return (
    <figure
      class={`sample ${sample.tokens ? "wide" : ""} ${wrong ? "wrong" : ""}`}
      title={sample.place}
      data-sample={sample.sample}
    >
      {sample.tokens ? <Tokens tokens={sample.tokens} /> : <SampleBody sample={sample} />}
      <figcaption>
        <strong>{label ?? `sample ${integer(sample.sample)}`}</strong>
        <span class="number">loss {sample.loss === null ? "NaN" : number(sample.loss, 4)}</span>
        {label !== null && <span class="faint">sample {integer(sample.sample)}</span>}
      </figcaption>
      {sample.predicted && <Classes classes={sample.predicted} truth={sample.label} />}
      {sample.target !== undefined && (
        <p class="soft">
          {number(sample.output ?? null, 4)} where {number(sample.target, 4)} is right
        </p>
      )}
      {sample.place && <p class="faint ellipsis">{sample.place.split("/").pop()}</p>}
    </figure>
  );
}

export function Worst({ all }: { all: ValidationSamples }) {
  if (all.worst.length === 0) return null;
  return (
    <section class="panel">
      <h2>Worst of the validation</h2>
      <div class="body">
        <p class="soft" data-worst={all.worst.length}>
          The {integer(all.worst.length)} of {integer(all.samples)} samples with the greatest loss (
          {MEANT[all.loss] ?? all.loss}) by the weights of step {integer(all.step)}.
        </p>
        {all.worst.some((one) => one.tokens) && <Scale />}
        <div class="sample-grid">
          {all.worst.map((one) => (
            <One key={one.sample} sample={one} />
          ))}
        </div>
      </div>
    </section>
  );
}
