/* What a chart draws of the store's series (web/src/job/series.ts), and how it writes the ticks of
 * its axes, without a browser.
 *
 * Usage: node check_series.mjs MODULES */
import { Checks } from "./checks.mjs";
import { importSources } from "./sources.mjs";

const { curvesOf, lastOf, pastsOf, tickText } = await importSources(process.argv[2], [
  "job/series.ts",
  "components/axes.ts",
]);
const checks = new Checks();

const series = (name, attempt, step, time_ms) => ({
  name,
  attempt,
  level: 0,
  count: step.length,
  step,
  time_ms,
  value: step.map(() => 1),
});
const OPTIONS = { axis: "elapsed", smoothing: 0, label: "", colour: "", batchSize: 4 };
const xOf = (name, metrics, options = OPTIONS) =>
  curvesOf(name, metrics, undefined, options).map((curve) => curve.x.join());

/* An attempt from 1,000 ms on for 2 s, and after an hour another. */
const metrics = {
  names: ["loss", "val_loss"],
  attempt_times: [
    { attempt: 1, start_ms: 1000, end_ms: 3000 },
    { attempt: 2, start_ms: 3_603_000, end_ms: 3_604_000 },
  ],
  series: [
    series("loss", 1, [1, 2, 3], [1500, 2000, 2500]),
    series("loss", 2, [4, 5], [3_603_250, 3_603_500]),
    series("val_loss", 1, [3], [2900]),
  ],
};
const time = xOf("loss", metrics);
checks.that(
  time.join(" ") === "2.25,2.5 0.5,1,1.5" || time.join(" ") === "0.5,1,1.5 2.25,2.5",
  "the time that has passed is that of the attempts, without what lies between them",
  time.join(" "),
);
const validation = xOf("val_loss", metrics).join(" ");
checks.that(validation === "1.9", "a validation stands at its time since the start", validation);
const old = xOf("loss", { ...metrics, attempt_times: [] });
checks.that(old.includes("0,0.5,1"), "a store without times begins with its first point", old);

/* A run that shares steps 1 to 3 with another one, and did 6 and 7 twice. */
const past = { job: "a", model_dir: null, last: 3 };
const forked = {
  names: ["loss"],
  attempt_times: [],
  series: [
    { ...series("loss", 1, [1, 2, 3], [10, 20, 30]), past },
    series("loss", 1, [4, 5], [40, 50]),
    series("loss", 2, [6, 7, 8], [80, 90, 100]),
    { ...series("loss", 1, [6, 7], [60, 70]), value: [9, 9], replaced: true },
  ],
};
const STEPS = { ...OPTIONS, axis: "step", label: "b", colour: "--series-0" };
const drawn = (options = {}) => curvesOf("loss", forked, undefined, { ...STEPS, ...options });
const described = (curves) =>
  curves.map((one) => `${one.label}${one.dimmed ? " grey" : ""} ${one.x.join()}`).join("; ");
const whole = described(drawn());
checks.that(
  whole === "b grey 6,7; a, shared to step 3 1,2,3; b 6,7,8; b 3,4,5",
  "a shared past, a run's own steps that are joined to it, and replaced ones in grey",
  whole,
);
const [grey] = drawn();
checks.that(grey.colour === "--text-faint" && grey.dimmed, "replaced steps are grey", grey.colour);
const hidden = described(drawn({ hidesReplaced: true, drawsPast: () => false }));
checks.that(hidden === "b 6,7,8; b 3,4,5", "both can be left out", hidden);
checks.that(
  described(drawn({ axis: "elapsed" })).includes("shared") === false,
  "not along its time",
);
checks.that(lastOf("loss", forked) === 1, "the last value is none that was replaced");
const runOf = (id, last) => ({
  id,
  metrics: { series: last ? [{ past: { ...past, last } }] : [] },
});
const who = (runs) => runs.map((run) => pastsOf(runs)(run)(past)).join();
checks.that(who([runOf("b", 3), runOf("c", 5)]) === "false,true", "two forks: drawn once");
checks.that(who([runOf("b", 3), runOf("a", 0)]) === "false,false", "the run itself draws it");
const off = [runOf("b", 3), { ...runOf("a", 0), hidden: true }];
checks.that(who(off) === "true,false", "unless it is hidden");

/* Ticks about 0.001, and those of small values alone. */
const ticks = (values, increment) =>
  values.map((value) => tickText(value, increment, Math.max(...values))).join(" ");
const near = ticks([0.0009999, 0.001, 0.0010001], 1e-7);
checks.that(near === "0.0009999 0.001 0.0010001", "neighbouring ticks are written alike", near);
const small = ticks([2e-5, 4e-5, 6e-5], 2e-5);
checks.that(small === "2e-5 4e-5 6e-5", "small ones with an exponent", small);
checks.end();
