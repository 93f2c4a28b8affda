/* What stands out in a run (web/src/job/findings.ts), as a function of the samples of its processes
 * and of its tensor statistics: the cause that is named is the cause.
 *
 * Usage: node check_findings.mjs MODULES */
import { Checks } from "./checks.mjs";
import { madeUpTopology } from "./made_up_topology.mjs";
import { importSources } from "./sources.mjs";

const {
  averagesOf,
  bottlenecksOf,
  fateOf,
  findingsOf,
  firstOf,
  isRecorded,
  reductionTree,
  replicaShare,
} = await importSources(process.argv[2], [
  "job/findings.ts",
  "job/order.ts",
  "job/topology.ts",
  "job/recorded.ts",
]);
const checks = new Checks();

const JOB = {
  state: "RUNNING",
  phase: "train",
  alive: true,
  restarts: 0,
  store_failure: null,
  folder_gone: false,
  health: [],
};
const process_ = (role, rank, more) => ({
  name: `${role.replace("_", " ")} ${rank}`,
  role,
  rank,
  pid: 100 + rank,
  incarnation: 1,
  state: "running",
  busy: 1,
  idle: 0,
  back_pressured: 0,
  ...more,
});
const input = (rank, busy, more = {}) =>
  process_("input_worker", rank, { busy, idle: 0, back_pressured: 1 - busy, ...more });
const replica = (rank, wait, fed_by, more = {}) =>
  process_("replica", rank, { busy: 1 - wait, idle: wait, input_wait: wait, fed_by, ...more });

/* `count` samples, half a second apart; `make` gives the processes of the i-th. */
const samples = (make, count = 60, ring = { capacity: 8, filled: 2, filling: 2 }) =>
  Array.from({ length: count }, (_, i) => ({
    time_ms: 1_000_000 + 500 * i,
    interval_ms: 500,
    ring,
    processes: make(i),
  }));

const found = (all, numerics, job = JOB) =>
  findingsOf({ job, samples: all, numerics, gaps: [] }).map((one) => `${one.tone}: ${one.text}`);
const says = (texts, sign, what) =>
  checks.that(
    texts.some((text) => sign.test(text)),
    what,
    texts.join("\n"),
  );
const silent = (texts, sign, what) =>
  checks.that(!texts.some((text) => sign.test(text)), what, texts.join("\n"));

function theStarvingWorkerFeedsTheReplica() {
  /* Both workers are busy, the other one more; only worker 1 feeds the replica that waits. */
  for (const reverse of [false, true]) {
    const texts = found(
      samples(() => {
        const all = [input(0, 0.99), input(1, 0.95), replica(0, 0.02, [0]), replica(1, 0.6, [1])];
        return reverse ? all.reverse() : all;
      }),
    );
    says(
      texts,
      /^bad: input worker 1, which feeds replica 1, is busy 95 %: replica 1 waits 60 % of the last 30 s for input$/,
      "the busy worker that feeds the replica is named",
    );
    silent(texts, /input worker 0/, "the busier worker that feeds another replica is not");
  }
  const both = found(samples(() => [input(0, 0.99), input(1, 0.95), replica(0, 0.6, [0, 1])]));
  says(both, /input worker 0, input worker 1, which feed replica 0, are busy 95 %/, "both feed it");
  const neither = found(samples(() => [input(0, 0.99), input(1, 0.2), replica(0, 0.6, [1])]));
  says(neither, /: replica 0 waits 60 % of the last 30 s for input$/, "it waits for input");
  silent(neither, /feeds/, "a worker that has time left is not the cause");
  const lost = found(
    samples((i) => [
      input(0, 0.99),
      i < 40 ? input(1, 0.5) : input(1, 0, { state: "lost", pid: null, idle: 1, busy: 0 }),
      replica(0, 0.6, [1]),
    ]),
  );
  says(lost, /input worker 1, which feeds replica 0, was lost and is being replaced/, "it is lost");
}

function otherWaitsHaveOtherCauses() {
  const texts = found(
    samples(() => [input(0, 0.99), replica(0, 0, [0], { busy: 0.4, idle: 0.6, input_wait: 0.01 })]),
  );
  says(texts, /replica 0 waits 59 % .* for the other processes of its step/, "it waits for others");
  silent(texts, /input/, "which is no matter of input");
}

function theWindowIsAnAverage() {
  /* One sample in ten is all waiting: it is no finding, even when it is the last one. */
  const calm = found(samples((i) => [input(0, 0.95), replica(0, i % 10 === 9 ? 1 : 0.1, [0])], 60));
  silent(calm, /waits/, "one sample is not the window");
  const waits = samples((i) => [input(0, 0.95), replica(0, i % 2 ? 1 : 0.2, [0])], 20);
  says(found(waits), /replica 0 waits 60 % of the last 10 s/, "the window's length is told");
  silent(found(waits.slice(0, 4)), /waits/, "two seconds are too short to say");
  const bottlenecks = (all) => [...bottlenecksOf(averagesOf(all))].join();
  /* The newest sample alone would name the replica. */
  const all = samples((i) =>
    i === 59
      ? [input(0, 0.1, { idle: 0.9, back_pressured: 0 }), replica(0, 0, [0])]
      : [input(0, 0.97), replica(0, 0.7, [0])],
  );
  checks.that(
    bottlenecks(all) === "input worker 0",
    "the bottleneck is an average",
    bottlenecks(all),
  );
  const equal = samples(() => [input(0, 0.1), replica(0, 0.04, [0]), replica(1, 0.05, [0])]);
  checks.that(
    bottlenecks(equal) === "replica 0,replica 1",
    "equals are a bottleneck together",
    bottlenecks(equal),
  );
  /* Samples that are reported out of turn are of short times. */
  const short = samples((i) => [input(0, 0.9), replica(0, i % 2 ? 1 : 0, [0])], 40);
  short.forEach((sample, i) => (sample.interval_ms = i % 2 ? 1 : 500));
  const share = averagesOf(short).shares.get("replica 0").idle;
  checks.that(share < 0.01, "a sample counts by the time that it is of", share);
  const replaced = samples((i) => [
    input(0, 0.5),
    replica(0, i < 30 ? 0.9 : 0.1, [0], { incarnation: i < 30 ? 1 : 2 }),
  ]);
  const own = averagesOf(replaced).shares.get("replica 0").idle;
  checks.that(Math.abs(own - 0.1) < 1e-9, "a successor has averages of its own", own);
}

function aFullRingIsGoodNews() {
  const full = { capacity: 8, filled: 8, filling: 0 };
  const good = found(samples(() => [input(0, 0.1), replica(0, 0.01, [0])], 60, full));
  says(
    good,
    /^good: the input ring is full \(100 % on average over the last 30 s\)/,
    "a full ring is good news",
  );
  silent(good, /back-pressured/, "an input worker that waits for room is no trouble");
  silent(
    found(samples(() => [input(0, 0.1), replica(0, 0.4, [0])], 60, full)),
    /good/,
    "not while a replica waits for input",
  );
  const pressed = found(
    samples(() => [replica(0, 0, [0], { busy: 0.3, idle: 0, back_pressured: 0.7 })]),
  );
  says(pressed, /replica 0 is back-pressured 70 % of the last 30 s/, "a replica's is trouble");
}

function onlyTrainingIsJudged() {
  const all = samples(() => [input(0, 0.97), replica(0, 0.9, [0])]);
  for (const phase of ["paused", "validate", "save", null])
    silent(found(all, undefined, { ...JOB, phase }), /waits/, `phase ${phase}: no waits are told`);
}

/* Ids and names in an order that is not that of execution. */
const tensor = (id, order, name, kind = "cast", attempt = 1) => ({
  id,
  order,
  name,
  kind,
  attempt,
});
const record = (of, step, first_microbatch, more = {}) => ({
  tensor: of,
  attempt: 1,
  step,
  count: 100,
  nan: 0,
  inf: 1,
  saturated: 0,
  flushed: 0,
  absorbed: 0,
  first_microbatch,
  ...more,
});
const TENSORS = [
  tensor(1, 40, "a.backward"),
  tensor(2, 30, "b.backward"),
  tensor(3, 20, "z.forward"),
  tensor(4, 10, "y.forward"),
  tensor(5, 50, "norm of all gradients", "observed"),
  tensor(6, 1, "weight", "weight"),
];
const ORDERS = {
  "the step before the microbatch": [[record(4, 8, 0), record(1, 7, 3)], 1],
  "the microbatch before the op": [[record(4, 7, 2), record(1, 7, 1)], 1],
  "forward before backward": [[record(1, 7, 1), record(2, 7, 1), record(3, 7, 1)], 3],
  "the order of ops, not ids": [[record(3, 7, 1), record(4, 7, 1)], 4],
  "backward in its order": [[record(1, 7, 1), record(2, 7, 1)], 2],
  "sums over the batch last": [[record(5, 7, null), record(1, 7, 3)], 1],
  "states first": [[record(4, 7, 0), record(6, 7, null)], 6],
  "finite values are none": [[record(4, 7, 0, { inf: 0 }), record(1, 7, 2)], 1],
  "the attempt before the step": [[record(4, 3, 0, { attempt: 2 }), record(1, 7, 3)], 1],
};

function theFirstToOverflow() {
  const tensors = [...TENSORS, tensor(4, 10, "y.forward", "cast", 2)];
  const bad = (r) => r.nan + r.inf > 0;
  for (const [what, [records, expected]] of Object.entries(ORDERS))
    for (const list of [records, [...records].reverse()]) {
      const first = firstOf(tensors, list, bad);
      checks.that(
        first?.record.tensor === expected,
        `first to overflow: ${what}`,
        JSON.stringify(first),
      );
      const name = tensors.find((one) => one.id === expected).name;
      const texts = found([], { tensors, records: list });
      checks.that(
        texts.filter((text) => /NaN or infinite/.test(text)).length === 1 &&
          texts[0].startsWith(`bad: ${name}: 1 values are NaN or infinite at step`),
        `finding: ${what}`,
        texts.join("\n"),
      );
    }
  checks.that(firstOf(tensors, [], bad) === null, "nothing overflows");
}

function fatesAreTold() {
  const fates = (all) =>
    fateOf(
      all,
      all.at(-1).processes.find((p) => p.name === "replica 1"),
    );
  const run = (...states) =>
    states.map((fate, i) => madeUpTopology({ time_ms: 1000 * i, fates: { "replica 1": fate } }));
  const second = { incarnation: 2 };
  checks.that(fates(run({}, {})) === "", "a process that runs has no fate");
  checks.that(fates(run({}, { state: "lost" })) === "lost, is replaced", "lost");
  checks.that(
    fates(run({}, { state: "lost" }, { state: "starting", ...second })) === "process 2 starts",
    "starting",
  );
  checks.that(
    fates(run({}, { state: "lost" }, { state: "starting", ...second }, second, second, second)) ===
      "process 2 since 2 s",
    "replaced",
  );
  checks.that(fates(run(second, second)) === "process 2", "replaced before");
}

/* The tree of the drawing against one that is made independently: pairs, level by level. */
function theTreeIsTheEngines() {
  const leaves = (node) => (node.children.length ? node.children.flatMap(leaves) : [node]);
  for (let microbatches = 1; microbatches <= 40; microbatches++)
    for (let replicas = 1; replicas <= microbatches; replicas++) {
      const rows = Array.from({ length: replicas }, (_, r) =>
        replicaShare(microbatches, replicas, r),
      );
      const found = leaves(reductionTree(microbatches, rows));
      /* Aligned blocks of a power of two, cut at the end: the largest that fit into a share. */
      const expected = rows.flatMap(({ first, end }, row) => {
        const blocks = [];
        for (let at = first; at < end;) {
          let size = 1;
          const fits = (s) => at % s === 0 && (at + s <= end || end === microbatches);
          while (size < microbatches && fits(2 * size)) size *= 2;
          blocks.push(`${row}:${at}-${Math.min(at + size, end)}`);
          at = Math.min(at + size, end);
        }
        return blocks;
      });
      const text = found.map((leaf) => `${leaf.row}:${leaf.first}-${leaf.end}`).join(" ");
      if (text !== expected.join(" "))
        checks.that(
          false,
          `tree of ${microbatches} by ${replicas}`,
          `${text}\n${expected.join(" ")}`,
        );
    }
  checks.that(true, "the tree's nodes are those of the engine");
}

/* Of a run whose folder was removed the page says so, and not that it is about to start. */
function aRemovedFolderIsTold() {
  const job = { ...JOB, state: "SUCCEEDED", phase: null, model_dir: "/runs/a", folder_gone: true };
  says(found([], undefined, job), /^warn: its folder was removed, \/runs\/a/, "a removed folder");
  silent(found([], undefined, { ...job, folder_gone: false }), /folder/, "one that is there");
  checks.that(!isRecorded({ ...job, model: "fc_mnist" }), "there is nothing to ask for");
  checks.that(isRecorded({ ...job, model: "fc_mnist", folder_gone: false }), "there is a record");
}

theStarvingWorkerFeedsTheReplica();
otherWaitsHaveOtherCauses();
theWindowIsAnAverage();
aFullRingIsGoodNews();
onlyTrainingIsJudged();
theFirstToOverflow();
fatesAreTold();
aRemovedFolderIsTold();
theTreeIsTheEngines();
checks.end();
