/* What a language model says after each prompt, validation beside validation: what is not as in the
 * validation before stands out. */
import type { Samples, SampleValidation } from "@generated/client";
import { integer } from "@/base/format";

function commonLength(a: string, b: string): number {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  return i;
}

function Said({ text, before }: { text: string; before?: string }) {
  const same = before === undefined ? text.length : commonLength(text, before);
  return (
    <span class="sample-said">
      {text.slice(0, same)}
      {same < text.length && <mark>{text.slice(same)}</mark>}
    </span>
  );
}

export function Texts({ all }: { all: Samples }) {
  const steps: SampleValidation[] = all.validations.filter((one) => one.texts);
  if (steps.length === 0) return null;
  return (
    <>
      {(all.prompts ?? []).map((prompt, p) => (
        <section key={prompt} class="panel" data-prompt={p}>
          <h2>After “{prompt}”</h2>
          <div class="body">
            <p class="soft">
              The model goes on by its most likely tokens; what differs from the validation before
              is marked.
            </p>
            <div class="said-grid" tabIndex={0} role="region" aria-label={`Texts after ${prompt}`}>
              {steps
                .map((one, i) => (
                  <article key={one.step}>
                    <h3>Step {integer(one.step)}</h3>
                    <span class="faint">{prompt}</span>
                    <Said text={one.texts?.[p] ?? ""} before={steps[i - 1]?.texts?.[p]} />
                  </article>
                ))
                .reverse()}
            </div>
          </div>
        </section>
      ))}
    </>
  );
}
