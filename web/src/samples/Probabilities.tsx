/* How good a classifier's probabilities are: the reliability diagram, and precision over recall of
 * each class. */
import type { Calibration, PrecisionCurve, ValidationSamples } from "@generated/client";
import { integer, percent } from "@/base/format";

const SIDE = 260;
const LEFT = 60;
const TOP = 10;
const BELOW = 38;

const x = (share: number) => LEFT + share * SIDE;
const y = (share: number) => TOP + (1 - share) * SIDE;

/* The frame of both: shares of 0 to 1 along either axis. */
function Axes({ across, up }: { across: string; up: string }) {
  return (
    <>
      {[0, 0.25, 0.5, 0.75, 1].map((share) => (
        <g key={share}>
          <line class="share-grid" x1={x(0)} x2={x(1)} y1={y(share)} y2={y(share)} />
          <text class="share-tick end" x={LEFT - 6} y={y(share) + 4}>
            {share}
          </text>
          <text class="share-tick middle" x={x(share)} y={y(0) + 16}>
            {share}
          </text>
        </g>
      ))}
      <text class="share-name middle" x={x(0.5)} y={y(0) + 33}>
        {across}
      </text>
      <text class="share-name middle" transform={`translate(11 ${y(0.5)}) rotate(-90)`}>
        {up}
      </text>
    </>
  );
}

const size = { width: LEFT + SIDE + 12, height: TOP + SIDE + BELOW };
const box = `0 0 ${size.width} ${size.height}`;

function Reliability({ of }: { of: Calibration }) {
  const bins = of.bins.length;
  const error = of.error === null ? "not known" : of.error.toFixed(4);
  return (
    <svg
      class="shares"
      role="img"
      viewBox={box}
      {...size}
      aria-label={`Reliability diagram; the expected calibration error is ${error}`}
    >
      <Axes across="confidence" up="share predicted as labelled" />
      {of.bins.map(
        (bin, i) =>
          bin && (
            <g key={i} data-bin={i}>
              <title>
                {`${integer(bin.count)} samples, mean confidence ${percent(bin.confidence)}, ` +
                  `${percent(bin.accuracy)} as labelled`}
              </title>
              <rect
                class="reliable"
                x={x(i / bins) + 1}
                width={SIDE / bins - 2}
                y={y(bin.accuracy)}
                height={bin.accuracy * SIDE}
              />
              <rect
                class="unreliable"
                x={x(i / bins) + 1}
                width={SIDE / bins - 2}
                y={y(Math.max(bin.accuracy, bin.confidence))}
                height={Math.abs(bin.accuracy - bin.confidence) * SIDE}
              />
            </g>
          ),
      )}
      <line class="share-ideal" x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} />
    </svg>
  );
}

const pathOf = (curve: PrecisionCurve) =>
  curve.points
    .map(([, precision, recall], i) => `${i ? "L" : "M"}${x(recall ?? 0)} ${y(precision ?? 0)}`)
    .join("");

/* Half of what the bins leave open, beside the middle. */
function average({ least, greatest }: PrecisionCurve): string {
  if (least === null || greatest === null) return "–";
  const half = (greatest - least) / 2;
  return `${((greatest + least) / 2).toFixed(3)} ± ${half < 0.001 ? "0.001" : half.toFixed(3)}`;
}

function Precision({ curves, nameOf }: { curves: PrecisionCurve[]; nameOf(of: number): string }) {
  return (
    <>
      <svg
        class="shares"
        role="img"
        viewBox={box}
        {...size}
        aria-label="Precision over recall of each class"
      >
        <Axes across="recall" up="precision" />
        {curves.map((curve, i) => (
          <path
            key={curve.class}
            class={`share-curve ${i >= 8 ? "dashed" : ""}`}
            style={{ stroke: `var(--series-${i % 8})` }}
            d={pathOf(curve)}
          >
            <title>{nameOf(curve.class)}</title>
          </path>
        ))}
      </svg>
      <table class="share-table">
        <thead>
          <tr>
            <th scope="col">Class</th>
            <th scope="col" class="number">
              Samples
            </th>
            <th scope="col" class="number">
              Average precision
            </th>
          </tr>
        </thead>
        <tbody>
          {curves.map((curve, i) => (
            <tr key={curve.class}>
              <td>
                <span
                  class={`share-key ${i >= 8 ? "dashed" : ""}`}
                  style={{ borderColor: `var(--series-${i % 8})` }}
                />
                {nameOf(curve.class)}
              </td>
              <td class="number">{integer(curve.samples)}</td>
              <td class="number" data-average={curve.class}>
                {average(curve)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

export function Probabilities({ all }: { all: ValidationSamples }) {
  const { calibration, precision } = all;
  const nameOf = (of: number) => all.classes?.[of] ?? String(of);
  if (!calibration) return null;
  return (
    <div class="share-panels">
      {calibration && (
        <section class="panel">
          <h2>Calibration</h2>
          <div class="body">
            <p class="soft">
              Expected calibration error{" "}
              <strong data-calibration-error>{calibration.error?.toFixed(4) ?? "–"}</strong>: the
              mean difference between how sure the model is of the class that it predicts and how
              often that is the label, over {calibration.bins.length} bins (Guo et al. 2017).
              {calibration.unknown > 0 &&
                ` Without a number as probability: ${integer(calibration.unknown)}.`}
            </p>
            <Reliability of={calibration} />
          </div>
        </section>
      )}
      {precision && (
        <section class="panel">
          <h2>Precision and recall</h2>
          <div class="body">
            <p class="soft">
              Each class against all others, at 256 thresholds of its probability. The average
              precision is exact up to what follows ±.
            </p>
            <Precision curves={precision} nameOf={nameOf} />
          </div>
        </section>
      )}
    </div>
  );
}
