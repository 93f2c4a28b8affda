/* How the values of a part are distributed, against what the formats of 16 bits can hold. */
import { useEffect, useRef } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import { api, type StepHistogram } from "@generated/client";
import { compact, integer, number, percent } from "@/base/format";
import { useResource } from "@/base/resource";
import { query, setQuery } from "@/base/route";
import { colour, themeVersion } from "@/base/theme";
import { Choice, Failure, Loading } from "@/components/parts";
import type { Place } from "@/tensors/HeatMap";
import type { Part } from "@/tensors/part";

interface Limits {
  name: string;
  token: string;
  /** Exponents: of the smallest value, of the smallest normal one, and one above the largest. */
  least: number;
  normal: number;
  above: number;
}

export const FORMATS: Limits[] = [
  { name: "float16", token: "--float16", least: -24, normal: -14, above: 16 },
  { name: "bfloat16", token: "--bfloat16", least: -133, normal: -126, above: 128 },
];

const sumFrom = (h: StepHistogram, from: number, to: number): number => {
  let sum = 0;
  h.negative.forEach((count, i) => {
    const exponent = h.lowest + i;
    if (exponent >= from && exponent < to) sum += count + (h.positive[i] ?? 0);
  });
  return sum;
};

/** How many values a format cannot hold as they are. */
export function outsideOf(h: StepHistogram, { least, normal, above }: Limits) {
  return {
    above: sumFrom(h, above, Infinity),
    subnormal: sumFrom(h, least, normal),
    zero: sumFrom(h, -Infinity, least),
  };
}

interface Bars {
  low: number;
  high: number;
  /** Stacked: negative below positive. */
  counts: [negative: number, positive: number][];
  text: (at: number) => string;
  marks: { at: number; text: string; token: string }[];
}

const NEAR = 24;

function byExponent(h: StepHistogram): Bars {
  const last = h.lowest + h.negative.length;
  const marks = FORMATS.flatMap(({ name, token, normal, above }) => [
    { at: above, text: `${name} max`, token },
    { at: normal, text: `${name} normal`, token },
  ]).filter(({ at }) => at >= h.lowest - NEAR && at <= last + NEAR);
  const low = Math.min(h.lowest, ...marks.map((one) => one.at)) - 2;
  const high = Math.max(last, ...marks.map((one) => one.at)) + 2;
  const counts = Array.from({ length: high - low }, (_, i): [number, number] => {
    const at = low + i - h.lowest;
    return [h.negative[at] ?? 0, h.positive[at] ?? 0];
  });
  return { low, high, counts, text: (at) => `2^${Math.round(at)}`, marks };
}

function byValue(h: StepHistogram): Bars {
  const low = h.min ?? 0;
  const high = h.max ?? 0;
  const width = (high - low) / Math.max(1, h.bins.length);
  const counts = h.bins.map((count, i): [number, number] =>
    low + (i + 0.5) * width < 0 ? [count, 0] : [0, count],
  );
  return { low, high: high > low ? high : low + 1, counts, text: (at) => number(at, 3), marks: [] };
}

const BELOW = 20;
const ABOVE = 16;

function paint(canvas: HTMLCanvasElement, bars: Bars): void {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  const c = canvas.getContext("2d");
  if (!c || width === 0) return;
  c.scale(devicePixelRatio, devicePixelRatio);
  c.font = "11px system-ui, sans-serif";
  const most = Math.max(1, ...bars.counts.map(([a, b]) => a + b));
  const room = height - BELOW - ABOVE;
  const bar = width / Math.max(1, bars.counts.length);
  /* Rare values count, too: the root shows one of a million. */
  const tall = (count: number) => (count > 0 ? Math.max(2, room * Math.sqrt(count / most)) : 0);
  bars.counts.forEach(([negative, positive], i) => {
    const all = tall(negative + positive);
    const below = negative > 0 ? (all * negative) / (negative + positive) : 0;
    c.fillStyle = colour("--series-0");
    c.fillRect(i * bar, height - BELOW - all, Math.max(1, bar - 1), all - below);
    c.fillStyle = colour("--series-1");
    c.fillRect(i * bar, height - BELOW - below, Math.max(1, bar - 1), below);
  });
  const xOf = (at: number) => ((at - bars.low) / (bars.high - bars.low)) * width;
  bars.marks.forEach(({ at, text, token }, i) => {
    const x = xOf(at);
    c.strokeStyle = c.fillStyle = colour(token);
    c.setLineDash([4, 3]);
    c.beginPath();
    c.moveTo(x, 0);
    c.lineTo(x, height - BELOW);
    c.stroke();
    const isRight = x > width / 2;
    c.textAlign = isRight ? "right" : "left";
    c.fillText(text, x + (isRight ? -4 : 4), 10 + 12 * (i >> 1));
  });
  c.setLineDash([]);
  c.fillStyle = colour("--text-faint");
  const ticks = Math.max(2, Math.floor(width / 90));
  for (let i = 0; i <= ticks; i++) {
    const x = (i / ticks) * width;
    c.textAlign = i === 0 ? "left" : i === ticks ? "right" : "center";
    c.fillText(bars.text(bars.low + (i / ticks) * (bars.high - bars.low)), x, height - 5);
  }
}

function Drawing({ bars, label }: { bars: Bars; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const draw = () => canvas.current && paint(canvas.current, bars);
  useEffect(() => {
    draw();
    const observer = new ResizeObserver(() => draw());
    if (canvas.current) observer.observe(canvas.current);
    return () => observer.disconnect();
  }, [bars]);
  useSignalEffect(() => {
    if (themeVersion.value > 0) draw();
  });
  return <canvas class="step-histogram" ref={canvas} role="img" aria-label={label} />;
}

function Figures({ h }: { h: StepHistogram }) {
  const facts: [string, string][] = [
    ["Min", number(h.min, 6)],
    ["Max", number(h.max, 6)],
    ["Mean", number(h.mean, 6)],
    ["Deviation", number(h.std, 6)],
    ["Zeros", `${integer(h.zeros)} (${percent(h.zeros / Math.max(1, h.elements))})`],
    ["NaN, infinite", `${integer(h.nan)}, ${integer(h.inf)}`],
  ];
  return (
    <dl class="facts" data-part="figures">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Outside({ h }: { h: StepHistogram }) {
  return (
    <ul class="outside small">
      {FORMATS.map((format) => {
        const out = outsideOf(h, format);
        const parts = [
          [out.above, "above its largest value"],
          [out.subnormal, "below its smallest normal one"],
          [out.zero, "become zero"],
        ].filter(([count]) => Number(count) > 0);
        return (
          <li key={format.name} class={out.above > 0 ? "bad-text" : "soft"}>
            {format.name}:{" "}
            {parts.length === 0
              ? "holds all of them as normal values"
              : parts.map(([count, text]) => `${integer(Number(count))} ${text}`).join(", ")}
          </li>
        );
      })}
    </ul>
  );
}

const KINDS = [
  ["exponent", "by exponent"],
  ["value", "by value"],
] as const;

export function Histogram({ of, part }: { of: Place; part: Part }) {
  const kind = query.value.get("bins") === "value" ? "value" : "exponent";
  const { data, error } = useResource(
    () =>
      api.getStepHistogram({
        id: of.job,
        step: of.step,
        tensor: of.tensor,
        ...(part.shape.length > 0 ? { shape: part.shape, at: part.at } : {}),
      }),
    [of.job, of.step, of.tensor, part.shape.join(), part.at.join()],
  );
  const finite = data ? data.elements - data.nan - data.inf : 0;
  const drawn = data && (kind === "value" ? finite > 0 : data.negative.length > 0);
  return (
    <section class="panel" aria-label="Histogram">
      <div class="head">
        <h2>{data ? `${compact(data.elements)} values` : "Values"}</h2>
        <span class="spacer" />
        <Choice
          label="Bins"
          value={kind}
          options={KINDS}
          onChange={(value) => setQuery({ bins: value === "value" ? "value" : null })}
        />
      </div>
      <div class="body">
        {error && <Failure error={error} />}
        {!data && !error && <Loading />}
        {data && drawn && (
          <Drawing
            bars={kind === "value" ? byValue(data) : byExponent(data)}
            label={
              `Histogram ${kind === "value" ? "by value" : "by exponent"}: ${finite} finite values ` +
              `from ${number(data.min)} to ${number(data.max)}`
            }
          />
        )}
        {data && !drawn && <p class="soft">All finite values are zero, or there are none.</p>}
        {data && <Outside h={data} />}
        {data && <Figures h={data} />}
      </div>
    </section>
  );
}
