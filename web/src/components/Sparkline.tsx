/* A small line chart without axes (sparkline). */

const WIDTH = 96;
const HEIGHT = 24;

export function Sparkline({ values, label }: { values: (number | null)[]; label: string }) {
  const finite = values.filter((v): v is number => v !== null && Number.isFinite(v));
  if (finite.length === 0) return <span class="faint">–</span>;
  const low = Math.min(...finite);
  const span = Math.max(...finite) - low;
  /* A constant, and one value alone, stand in the middle. */
  const height = (v: number) => (span > 0 ? (v - low) / span : 0.5);
  const points = values
    .map((v, i) => [(i / Math.max(1, values.length - 1)) * (WIDTH - 4) + 2, v] as const)
    .filter((p): p is readonly [number, number] => p[1] !== null && Number.isFinite(p[1]))
    .map(([x, v]) => `${x.toFixed(1)},${(HEIGHT - 3 - height(v) * (HEIGHT - 6)).toFixed(1)}`);
  const end = (points[points.length - 1] ?? "0,0").split(",");
  return (
    <svg
      class="sparkline"
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      <polyline points={points.join(" ")} />
      <circle cx={end[0]} cy={end[1]} r="2" />
    </svg>
  );
}
