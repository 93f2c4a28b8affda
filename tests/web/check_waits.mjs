/* Who waits for whom in sampled steps, and what is drawn of a host, without a browser: a wait is put
 * down to the work that ended last within it, and a figure that is not told has no curve.
 *
 * Usage: node check_waits.mjs MODULES */
import { Checks } from "./checks.mjs";
import { importSources } from "./sources.mjs";

const { lanesOfStep, waitsOf, stragglersOf, PARTS, curvesOf, coresOf } = await importSources(
  process.argv[2],
  ["timeline/waits.ts", "machine/figures.ts"],
);
const checks = new Checks();
const same = (a, b, what) =>
  checks.that(JSON.stringify(a) === JSON.stringify(b), what, JSON.stringify(a));

const NAMES = ["coordinator", "replica 0", "replica 1", "input worker 0"];
const event = (lane, name, from, to, step = 1) => ({
  name,
  ph: "X",
  ts: from,
  dur: to - from,
  pid: 1,
  tid: NAMES.indexOf(lane) + 1,
  args: { step },
});
const traceOf = (events) => ({
  traceEvents: [
    { name: "process_name", ph: "M", pid: 1, tid: 0, args: { name: "run" } },
    ...NAMES.map((name, i) => ({
      name: "thread_name",
      ph: "M",
      pid: 1,
      tid: i + 1,
      args: { name },
    })),
    ...events,
  ],
  steps: [...new Set(events.map((one) => one.args.step))],
});

/* Replica 1 computes longer; then replica 0 has the weights; the input worker waits for room. */
const STEP = [
  event("replica 0", "compute", 0, 60),
  event("replica 1", "compute", 0, 100),
  event("replica 0", "wait", 60, 101),
  event("input worker 0", "fill", 10, 20),
  event("input worker 0", "wait", 20, 150),
  event("replica 0", "weights", 101, 120),
  event("replica 1", "wait", 100, 121),
  event("replica 1", "update", 121, 140),
  event("replica 0", "update", 120, 130),
  event("replica 0", "wait", 130, 135),
];

function waits() {
  const trace = traceOf(STEP);
  const lanes = lanesOfStep(trace, 1);
  same(
    lanes.map((lane) => lane.name),
    ["input worker 0", "replica 0", "replica 1"],
    "lanes have the names of processes",
  );
  const found = waitsOf(lanes);
  same(
    found.map(({ who, whom, kind, us }) => [who, whom, kind, us]),
    [
      ["replica 0", "replica 1", "compute", 41],
      ["replica 0", null, "", 5],
      ["replica 1", "replica 0", "weights", 21],
    ],
    "a wait is put down to the work that ended last within it; input workers hold nobody up",
  );
  same([found[0].done_us, found[0].end_us], [100, 101], "from the work's end to the wait's");
}

function slow() {
  const later = STEP.map((one) => ({ ...one, ts: one.ts + 1000, args: { step: 2 } }));
  const alone = [event("replica 0", "compute", 5000, 5010, 3)];
  const trace = traceOf([...STEP, ...later, ...alone]);
  const steps = trace.steps.map((step) => lanesOfStep(trace, step));
  same(
    stragglersOf(steps),
    [
      { name: "replica 1", us: 82, steps: 2, kind: "compute" },
      { name: "replica 0", us: 42, steps: 2, kind: "weights" },
    ],
    "whom others waited for, most first, over all steps",
  );
  same(stragglersOf([]), [], "no step was sampled");
  same(waitsOf(lanesOfStep(undefined, undefined)), [], "no trace");
}

/* Replica 0 has nothing to compute until its input is filled. */
function input() {
  const lanes = lanesOfStep(
    traceOf([event("replica 0", "wait", 0, 50), event("input worker 0", "fill", 5, 49)]),
    1,
  );
  same(
    waitsOf(lanes).map(({ whom, kind }) => [whom, kind]),
    [["input worker 0", "fill"]],
    "who waits for input waits for its worker",
  );
}

function figures() {
  const column = (value) => [value, null];
  const host = {
    name: "a",
    time_ms: [1000, 3000],
    step: [1, 2],
    cores: [[0.5, 1], null],
    not_readable: ["temperature"],
    figures: Object.fromEntries(
      PARTS.flatMap((part) => part.figures.map(([name]) => [name, column(2048)])),
    ),
  };
  host.figures.temperature_celsius = [null, null];
  for (const part of PARTS)
    for (const [i, curve] of curvesOf(part, host).entries()) {
      const factor = part.figures[i][3];
      const wanted = part.name === "temperature" ? [null, null] : [2048 * factor, null];
      same(curve.y, wanted, `${part.title}: its figures, and nothing where there is none`);
      same(curve.x, host.time_ms, `${part.title}: at their times`);
    }
  same(
    coresOf(host),
    [
      [0.5, null],
      [1, null],
    ],
    "a row for each core",
  );
  same(coresOf({ ...host, cores: [null, null] }), [], "a host of many cores tells none");
}

waits();
slow();
input();
figures();
checks.end();
