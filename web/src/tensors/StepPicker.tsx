/* Which step: a slider with the checkpoints and the steps that are kept, a number, and the way from
 * one checkpoint to the next. */
import { useEffect, useState } from "preact/hooks";
import { integer } from "@/base/format";

export interface Marks {
  checkpoints: number[];
  /** Steps that were done again, and whose values are there. */
  kept: number[];
}

function Mark({ step, last, kind }: { step: number; last: number; kind: string }) {
  return <i class={kind} style={{ left: `${(100 * step) / Math.max(1, last)}%` }} />;
}

export function StepPicker({
  step,
  last,
  marks,
  onStep,
}: {
  step: number;
  last: number;
  marks: Marks;
  onStep: (step: number) => void;
}) {
  /* While it is dragged only the number follows. */
  const [moved, setMoved] = useState(step);
  useEffect(() => setMoved(step), [step]);
  const go = (to: number) => Number.isInteger(to) && to >= 0 && to <= last && onStep(to);
  const places = [...new Set([...marks.checkpoints, ...marks.kept])].sort((a, b) => a - b);
  const before = places.filter((one) => one < step).pop();
  const after = places.find((one) => one > step);
  return (
    <section class="panel step-picker" aria-label="Step">
      <button
        class="icon"
        aria-label="Checkpoint or kept step before"
        title="Checkpoint or kept step before"
        disabled={before === undefined}
        onClick={() => before !== undefined && go(before)}
      >
        ‹
      </button>
      <div class="step-slider">
        <input
          type="range"
          min={0}
          max={last}
          value={moved}
          aria-label="Step"
          aria-valuetext={`step ${moved} of ${last}`}
          onInput={(e) => setMoved(Number(e.currentTarget.value))}
          onChange={(e) => go(Number(e.currentTarget.value))}
        />
        <div class="step-marks" aria-hidden="true">
          {marks.checkpoints.map((one) => (
            <Mark key={`c${one}`} step={one} last={last} kind="checkpoint" />
          ))}
          {marks.kept.map((one) => (
            <Mark key={`k${one}`} step={one} last={last} kind="kept" />
          ))}
        </div>
      </div>
      <button
        class="icon"
        aria-label="Checkpoint or kept step after"
        title="Checkpoint or kept step after"
        disabled={after === undefined}
        onClick={() => after !== undefined && go(after)}
      >
        ›
      </button>
      <label class="row nowrap">
        step
        <input
          type="number"
          min={0}
          max={last}
          value={moved}
          onChange={(e) => go(e.currentTarget.valueAsNumber)}
        />
        <span class="faint nowrap">of {integer(last)}</span>
      </label>
      <span class="step-legend small soft">
        <span>
          <i class="checkpoint" /> checkpoint
        </span>
        <span>
          <i class="kept" /> kept
        </span>
      </span>
    </section>
  );
}
