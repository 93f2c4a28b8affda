/* Made-up jobs in every state a page must show, in the shapes that the API describes. */
import { MadeUpSeries } from "./made_up_series.mjs";
import { madeUpGraph, madeUpKernels } from "./made_up_graph.mjs";
import { madeUpTopology } from "./made_up_topology.mjs";

const NOW = Date.now();
const HOUR = 3_600_000;
const NAMES = ["loss", "lr/0", "samples_per_second", "gradient_norm", "loss_scale"];

const digest = (n) =>
  ((BigInt(n) * 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn).toString(16).padStart(16, "0");

function seriesOf({ names, attempts, seed, rate }) {
  return attempts.flatMap((attempt, i) =>
    names.map(
      (name) =>
        new MadeUpSeries({
          name,
          attempt: i + 1,
          seed: seed + 4 * i,
          rate,
          stride: { val_loss: 100, one_point: 1e6 }[name] ?? 1,
          ...attempt,
        }),
    ),
  );
}

const LIVE = new Set([
  "COMPILING",
  "STARTING",
  "RUNNING",
  "PAUSING",
  "PAUSED",
  "RECOVERING",
  "CANCELLING",
]);
const PHASES = {
  COMPILING: "compile",
  STARTING: "start",
  PAUSED: "paused",
  RECOVERING: "recover",
};
const COMMANDS = {
  RUNNING: ["pause", "checkpoint", "cancel", "kill", "scale"],
  PAUSED: ["resume", "checkpoint", "cancel", "kill"],
  QUEUED: ["cancel"],
  COMPILING: ["cancel", "kill"],
  FAILED: ["resume"],
  CANCELLED: ["resume"],
};

const CONFIG = `# The byte model.
trainer:
  init:
    backend:
      backend_type: CPU
      cluster_config:
        num_csx: 2
    model:
      name: gpt2
      hidden_size: 128
      num_layers: 48
    optimizer:
      AdamW:
        betas: [0.9, 0.95]
        weight_decay: 0.1
    schedulers:
      - LinearLR:
          total_iters: 100
      - CosineDecayLR:
          total_iters: 1900
    precision:
      enabled: true
      fp16_type: bfloat16
    seed: 1
`;

export function origins() {
  const at = (line, column) => `gpt2_tiny.yaml:${line}:${column}`;
  return {
    "trainer.init.backend.backend_type": at(5, 21),
    "trainer.init.backend.cluster_config.num_csx": "--num_csx 2",
    "trainer.init.model.name": at(9, 13),
    "trainer.init.model.hidden_size": at(10, 20),
    "trainer.init.model.num_layers": at(11, 19),
    "trainer.init.optimizer.AdamW.betas": at(14, 16),
    "trainer.init.optimizer.AdamW.weight_decay": "default",
    "trainer.init.schedulers[0].LinearLR.total_iters": at(18, 24),
    "trainer.init.schedulers[1].CosineDecayLR.total_iters": at(20, 24),
    "trainer.init.precision.enabled": at(22, 16),
    "trainer.init.precision.fp16_type": "default",
    "trainer.init.seed": at(24, 11),
  };
}

export class MadeUpJob {
  constructor(spec) {
    Object.assign(this, {
      model: "gpt2",
      optimizer: "AdamW",
      seed: 1,
      rate: 50,
      labels: {},
      priority: "p2",
      reason: null,
      message: "",
      waiting: null,
      names: NAMES,
      layers: 4,
      total: 2000,
      batch: 12,
      replicas: 2,
      created_ms: NOW - 3 * HOUR,
      retryable: false,
      restarts: 0,
      revision: 0,
      priorityText: "p2",
      attempts: [],
      hosts: [],
      activity: "train",
      phase: null,
      batches: null,
      recovery: { count: 0, milliseconds: 0, last: null },
      deleted: new Set(),
      config: CONFIG,
      events: [],
      listeners: new Set(),
      nextEvent: 1,
      ...spec,
    });
    this.series = seriesOf(this);
    this.transitions = [];
    const path = {
      SUCCEEDED: ["QUEUED", "COMPILING", "STARTING", "RUNNING", "SUCCEEDED"],
      QUEUED: ["QUEUED"],
      FAILED: ["QUEUED", "COMPILING", "STARTING", "RUNNING", "FAILED"],
      PAUSED: ["QUEUED", "COMPILING", "STARTING", "RUNNING", "PAUSING", "PAUSED"],
      CANCELLED: ["QUEUED", "COMPILING", "STARTING", "RUNNING", "CANCELLING", "CANCELLED"],
      RUNNING:
        this.attempts.length > 1
          ? ["QUEUED", "COMPILING", "STARTING", "RUNNING", "RECOVERING", "STARTING", "RUNNING"]
          : ["QUEUED", "COMPILING", "STARTING", "RUNNING"],
    }[this.state];
    path.forEach((to, i) =>
      this.transit(to, "", this.created_ms + i * 4200, this.attempts.length > 1 && i > 4 ? 2 : 1),
    );
  }

  transit(to, message = "", time_ms = Date.now(), attempt = Math.max(1, this.attempts.length)) {
    const from = this.transitions.at(-1)?.to ?? null;
    this.transitions.push({
      seq: this.transitions.length + 1,
      time_ms,
      step: this.step,
      from,
      to,
      message,
      reason: to === "FAILED" ? this.reason : null,
      attempt,
      origin: "run",
    });
    this.state = to;
    this.since_ms = time_ms;
    this.publish("state", {
      seq: this.transitions.length,
      time_ms,
      from_state: from,
      to_state: to,
      reason: this.reason,
      message,
      attempt,
    });
    this.act(this.activity, time_ms);
  }

  /** What the job does from now on; batches of a validation as {step, steps}. */
  act(activity, time_ms = Date.now(), batches = this.batches) {
    const phase = PHASES[this.state] ?? (LIVE.has(this.state) ? activity : null);
    if (phase !== this.phase) this.phase_since_ms = time_ms;
    Object.assign(this, { activity, phase, batches });
    this.publish("phase", {
      attempt: Math.max(1, this.attempts.length),
      phase,
      since_ms: this.phase_since_ms,
      step: batches?.step ?? null,
      steps: batches?.steps ?? null,
      recovery: this.recovery,
    });
  }

  publish(type, payload) {
    const event = { id: this.nextEvent++, time_ms: Date.now(), type, payload };
    this.events.push(event);
    if (this.events.length > 4000) this.events.shift();
    for (const listener of this.listeners) listener(event);
  }

  get loss() {
    return this.series.filter((s) => s.name === "loss").at(-1);
  }

  get step() {
    return this.loss ? this.loss.last : null;
  }

  job() {
    const started = this.attempts[0]?.start_ms ?? null;
    const loss = this.loss;
    const alive = LIVE.has(this.state);
    const base = `/api/v1/jobs/${this.id}`;
    return {
      id: this.id,
      name: this.name ?? this.id,
      state: this.state,
      reason: this.reason,
      message: this.message,
      retryable: this.retryable,
      alive,
      waiting_for: this.waiting,
      priority: this.priority,
      labels: this.labels,
      attempt: this.attempts.length,
      restarts: this.restarts,
      max_num_restarts: 3,
      created_ms: this.created_ms,
      started_ms: started,
      ended_ms: alive || this.state === "QUEUED" ? null : started + 9.1e6,
      model: this.model,
      optimizer: this.optimizer,
      batch_size: this.batch,
      micro_batch_size: 3,
      num_csx: this.replicas,
      seed: this.seed,
      state_since_ms: this.since_ms,
      phase: this.phase,
      phase_since_ms: this.phase === null ? null : this.phase_since_ms,
      phase_step: this.batches?.step ?? null,
      phase_steps: this.batches?.steps ?? null,
      recovery: this.recovery,
      numerics_every: this.step === null ? null : 100,
      progress: {
        step: this.step,
        last_step: this.total,
        samples_per_second: loss ? this.rate * this.batch : null,
        steps_per_second: loss ? this.rate : null,
        mean_samples_per_second: null,
        loss: loss ? loss.value(loss.last) : null,
        minimum_loss: loss ? loss.value(loss.last) * 0.97 : null,
        eta_seconds: this.phase === "train" && loss ? (this.total - loss.last) / this.rate : null,
      },
      store_failure: this.storeFailure ?? null,
      health: this.health ?? [],
      ran_ms: null,
      resources: { cores: 2 },
      model_dir: `runs/${this.id}`,
      folder_gone: this.folderGone ?? false,
      notes: this.notes?.length ?? 0,
      note: this.notes?.at(-1)?.text ?? null,
      fork: this.fork ? { ...this.fork, model_dir: null, copied: false } : null,
      host: "localhost",
      pid: alive ? 4711 : null,
      exit_code: this.state === "FAILED" ? 1 : null,
      revision: this.revision,
      capabilities: COMMANDS[this.state] ?? [],
      links: { self: base, events: `${base}/events` },
    };
  }

  /* A series in parts: the past that is shared, what counts, and what a later start did again. */
  parts(series, from, to, most) {
    const later = this.series.find(
      (other) => other.name === series.name && other.attempt > series.attempt,
    );
    const end = later ? later.first - 1 : Infinity;
    const shared = this.fork && series.attempt === 1 ? this.fork.step : -1;
    const { job, step: last } = this.fork ?? {};
    return [
      { ...series.query(from, Math.min(to, shared), most), past: { job, model_dir: null, last } },
      series.query(Math.max(from, shared + 1), Math.min(to, end), most),
      { ...series.query(Math.max(from, end + 1), to, most), replaced: true },
    ].slice(shared < 0 ? 1 : 0, later ? 3 : 2);
  }

  history(jobs) {
    const root = this.fork?.job ?? this.id;
    const forks = [...jobs.values()].filter((one) => one.fork?.job === root);
    const runOf = ({ id, name, state, step, fork }) => ({
      ...{ id, name, state, last_step: step, depth: fork ? 1 : 0 },
      ...{ from: fork?.job ?? null, from_dir: null, at: fork?.step ?? null },
    });
    return {
      runs: [jobs.get(root), ...forks].map(runOf),
      attempts: this.attempts.map(({ first = 0, last }, i, { [i + 1]: later }) => ({
        attempt: i + 1,
        first_step: first,
        last_step: later ? later.first - 1 : (last ?? null),
        replaced_first: later ? later.first : null,
        replaced_last: later ? (last ?? null) : null,
      })),
    };
  }

  metrics({ names, from = 0, to = Infinity, max_points = 1000, attempt, history }) {
    const all = [...new Set(this.series.map((s) => s.name))];
    return {
      names: all,
      attempts: this.attempts.length,
      attempt_times: [],
      last_event_id: this.nextEvent - 1,
      dropped_series: 0,
      series: this.series
        .filter((s) => (!names || names.includes(s.name)) && (!attempt || s.attempt === attempt))
        .flatMap((s) =>
          history ? this.parts(s, from, to, max_points) : [s.query(from, to, max_points)],
        )
        .filter((s) => s.count > 0),
    };
  }

  checkpoints() {
    const every = Math.max(1, Math.floor((this.step ?? 0) / 5));
    return [1, 2, 3, 4, 5]
      .filter(() => this.step !== null)
      .map((i) => ({
        step: i * every,
        attempt: 1,
        time_ms: this.created_ms + i * 60_000,
        path: `checkpoint_${i * every}.h5`,
        bytes: 10_020_416,
        digest: digest(i).repeat(4),
        write_ms: 42 + i,
        verified: i > 1,
        deleted: i === 1 || this.deleted.has(i * every),
        links: {},
      }));
  }

  closures() {
    return Array.from({ length: Math.min(400, this.step ?? 0) }, (_, i) => {
      const step = (this.step ?? 0) - 400 + i + 1;
      const issued = NOW - (400 - i) * 200;
      return {
        id: i + 1,
        attempt: 1,
        step,
        issued_ms: issued,
        delivered_ms: issued + 3 + ((i * 7919) % 17) + (i % 90 === 0 ? 140 : 0),
        name: i % 4 === 3 ? "accuracy" : "log_loss",
        payload: this.payload(true, step),
      };
    }).concat(this.step === null ? [] : [this.validation()]);
  }

  payload(training, step) {
    const values = [this.loss.value(step)];
    return { steps_done: step, call_us: 74, unlisted: 0, training, names: ["loss"], values };
  }

  /* A batch of a validation is counted by itself. */
  validation() {
    const at = { issued_ms: NOW - 150, delivered_ms: NOW - 148 };
    return {
      id: 401,
      attempt: 1,
      step: 40,
      ...at,
      name: "evaluation",
      payload: this.payload(false, 40),
    };
  }

  logs() {
    const words = [
      "compiled in 9.4 s",
      "replica is ready",
      "step took 19.8 ms",
      "checkpoint written",
      "ring holds 2 of 8 slots",
      "a peer was late by 31 ms; taken over",
      "input exhausted, next epoch",
    ];
    const long = `a long line, ${"as some of them are, ".repeat(20)}to its end`;
    const levels = ["INFO", "INFO", "DEBUG", "INFO", "DEBUG", "WARNING", "INFO"];
    const count = this.step === null ? 0 : 5000;
    return Array.from({ length: count }, (_, i) => ({
      id: i + 1,
      time_ms: NOW - (count - i) * 150,
      host: this.hosts.length > 1 ? this.hosts[i % this.hosts.length] : null,
      role: ["coordinator", "replica", "input"][i % 3],
      rank: i % 3 === 0 ? null : i % 2,
      level: i % 997 === 996 ? "ERROR" : levels[i % 7],
      message: i === count - 3 ? long : words[i % 7],
    }));
  }

  topology(time_ms = Date.now()) {
    return madeUpTopology({ step: this.step ?? 0, ...this.shape, time_ms });
  }

  trace({ from, to }) {
    const steps = [100, 200, 300].filter(() => this.step !== null);
    const traceEvents = [];
    const lanes = ["coordinator", "input 0", "input 1", "replica 0", "replica 1", "weight 0"];
    lanes.forEach((name, tid) =>
      traceEvents.push({
        ph: "M",
        pid: 1,
        tid,
        name: "thread_name",
        args: { name },
      }),
    );
    for (const step of steps) {
      if ((from !== undefined && step < from) || (to !== undefined && step > to)) continue;
      const origin = step * 20_000;
      lanes.forEach((name, tid) => {
        let ts = origin;
        const kinds = name.startsWith("replica")
          ? [
              ["wait", 900],
              ["compute", 4100],
              ["compute", 4200],
              ["reduce", 1800],
              ["wait", 1500],
              ["update", 900],
            ]
          : name.startsWith("input")
            ? [
                ["fill", 3900],
                ["fill", 4000],
                ["wait", 5400],
              ]
            : name.startsWith("weight")
              ? [
                  ["wait", 9600],
                  ["reduce", 900],
                  ["weights", 600],
                  ["update", 1500],
                ]
              : [
                  ["wait", 12800],
                  ["save", 700],
                ];
        for (const [kind, us] of kinds) {
          const dur = us * (1 + 0.1 * ((tid * 13 + step) % 5));
          traceEvents.push({
            ph: "X",
            pid: 1,
            tid,
            name: kind,
            cat: kind,
            ts,
            dur,
            args: { step },
          });
          ts += dur;
        }
      });
    }
    if (this.step !== null && (from ?? 400) <= 400 && (to ?? 400) >= 400) {
      /* At its end a run saves; the step itself was not sampled. */
      const save = { ph: "X", pid: 1, tid: 0, name: "save", cat: "save", ts: 8e6, dur: 5e4 };
      traceEvents.push({ ...save, args: { step: 400 } });
      steps.push(400);
    }
    return { traceEvents, displayTimeUnit: "ms", steps, missing: null };
  }

  tensors() {
    return Array.from({ length: 36 }, (_, i) => ({
      id: i + 1,
      attempt: 1,
      order: i + 1,
      kind: ["cast", "gradient", "state"][i % 3],
      name:
        `model.transformer_decoder.layers.${i % 12}.${["self_attn", "ffn", "norm1"][i % 3]}` +
        `.${["cast", "weight.gradient", "weight"][i % 3]}`,
      scope: `model.transformer_decoder.layers.${i % 12}`,
      op: ["cast", "matmul", "assign"][i % 3],
      source_dtype: "float32",
      dtype: ["float16", "bfloat16", "float32"][i % 3],
      backward: i % 3 === 1,
      file: "models/gpt2.c",
      line: 100 + i,
    }));
  }

  numerics({ tensor, step, from = 0, limit = 2000, bad = false, attempt = 1 }) {
    if (this.step === null)
      return { records: [], next_page_token: null, missing: "the run has not started" };
    const tensors = this.tensors().filter(
      (t) => !tensor || String(t.id) === tensor || t.name.includes(tensor),
    );
    const last = Math.floor(this.step / 100) * 100;
    const steps = Array.from({ length: 40 }, (_, i) => last - (39 - i) * 100).filter(
      (s) => s >= from && attempt === 1 && (step === undefined || s === step),
    );
    const records = steps
      .flatMap((s) => tensors.map((t) => record(t, s)))
      .filter((r) => !bad || r.inf > 0);
    return { records: records.slice(0, limit), next_page_token: null, missing: null };
  }
}

function record(tensor, step) {
  const bins = new BigUint64Array(150);
  const centre = 118 - (tensor.id % 5) - step / 2500 - (tensor.kind === "gradient" ? 12 : 0);
  let count = 0;
  let flushed = 0;
  for (let bin = 70; bin < 150; bin++) {
    const n = Math.round(16384 * Math.exp(-(((bin - centre) / 5) ** 2)));
    bins[bin] = BigInt(n);
    count += n;
    if (bin < 127 - 24 && tensor.dtype === "float16") flushed += n;
  }
  const bad = tensor.id === 7 && step % 1000 === 0 && step > 0;
  return {
    tensor: tensor.id,
    attempt: 1,
    step,
    count,
    nan: 0,
    inf: bad ? 3 : 0,
    saturated: bad ? 3 : 0,
    flushed,
    zeros: 12,
    absorbed: tensor.kind === "state" ? Math.round(count * 0.07) : 0,
    max_exponent: Math.round(centre + 9 - 127),
    first_microbatch: bad ? 2 : -1,
    digest: digest(tensor.id * 1000 + step),
    histogram: Buffer.from(bins.buffer).toString("base64"),
  };
}

export function precisionOf(layers) {
  const ops = [];
  for (let i = 0; i < layers; i++)
    for (const backward of [false, true])
      for (const [op, part, set, why] of [
        ["matmul", "self_attn", "allow", "preset"],
        ["exp", "self_attn", "deny", "exponentials keep float32"],
        ["matmul", "ffn", "allow", "preset"],
        ["gelu", "ffn", "infer", "follows its users"],
        ["layer_norm", "norm1", "deny", "norms keep float32"],
      ])
        ops.push({
          op,
          scope: `model.transformer_decoder.layers.${i}.${part}`,
          backward,
          set,
          why,
          in: ["bfloat16"],
          out: "bfloat16",
          casts: 1,
          accumulation: { dtype: "float32", stochastic: false, tile_length: 0 },
        });
  return { step: "training", ops, totals: {} };
}

const graphs = new Map();
const times = new Map();
/* A run that has not started, and the one that failed early, have no times. */
/* The bins of an attempt, in thousandths of its time; the rest is idle. */
const SHARES = {
  starting: 40,
  compute: 700,
  input: 60,
  update: 90,
  communication: 20,
  save: 30,
  validation: 0,
  recovery: 25,
  paused: 15,
};

export function goodputOf(job, now = NOW) {
  const attempts = job.attempts.map(({ start_ms }, i) => {
    const time_ms = job.attempts[i + 1]?.start_ms ?? Math.max(start_ms, job.ended_ms ?? now);
    const elapsed_ms = Math.round(time_ms - start_ms);
    const bins = Object.entries(SHARES).map(([name, share]) => ({
      name,
      milliseconds: Math.floor((elapsed_ms * share) / 1000),
      share: share / 1000,
    }));
    const rest = bins.reduce((left, bin) => left - bin.milliseconds, elapsed_ms);
    bins.push({ name: "idle", milliseconds: rest, share: elapsed_ms ? rest / elapsed_ms : 0 });
    return { attempt: i + 1, start_ms, time_ms, elapsed_ms, goodput: SHARES.compute / 1000, bins };
  });
  const elapsed_ms = attempts.reduce((sum, one) => sum + one.elapsed_ms, 0);
  return {
    attempts,
    elapsed_ms,
    goodput: attempts.length > 0 ? SHARES.compute / 1000 : 0,
    missing: attempts.length > 0 ? null : "no account was taken",
  };
}

export function kernelsOf(job) {
  if (job.step === null || job.id === "failed")
    return {
      attempt: 1,
      step: null,
      processes: [],
      kernels: [],
      missing: "no step's kernels were timed yet",
    };
  if (!times.has(job.layers))
    times.set(job.layers, madeUpKernels(JSON.parse(graphText(job.layers)), 300));
  return times.get(job.layers);
}

export function graphText(layers) {
  if (!graphs.has(layers)) graphs.set(layers, JSON.stringify(madeUpGraph({ layers })));
  return graphs.get(layers);
}

const RUNNING = { start_ms: NOW - 60_000, first: 0, last: 3000 };

const LIVE_NAMES = [
  "loss",
  "val_loss",
  "lr/0",
  "gradient_norm",
  "loss_scale",
  "samples_per_second",
];
const MANY_NAMES = [
  ...LIVE_NAMES,
  ...Array.from({ length: 14 }, (_, i) => `layers/${i}/activation_mean`),
];

const SPECS = [
  {
    id: "gpt2-live",
    name: "gpt2 tiny",
    state: "RUNNING",
    attempts: [RUNNING],
    names: LIVE_NAMES,
    created_ms: NOW - 76_800,
    total: 100_000,
    labels: { team: "language", purpose: "sweep" },
    layers: 48,
    live: true,
  },
  {
    id: "million",
    name: "a million steps",
    state: "SUCCEEDED",
    names: MANY_NAMES,
    seed: 3,
    total: 999_999,
    attempts: [{ start_ms: NOW - 6 * HOUR, first: 0, last: 999_999 }],
    layers: 4,
  },
  {
    id: "resumed",
    name: "fc resumed",
    model: "fc_mnist",
    optimizer: "SGD",
    seed: 2,
    state: "SUCCEEDED",
    total: 4000,
    layers: 4,
    labels: { team: "vision" },
    fork: { job: "sweep-0", step: 800 },
    notes: [
      { id: 1, time_ms: NOW - HOUR, step: null, text: "for the report", author: null },
      { id: 2, time_ms: NOW - HOUR, step: 1200, text: "<b>data</b> mended", author: "alice" },
    ],
    attempts: [
      { start_ms: NOW - 2 * HOUR, first: 0, last: 2600 },
      { start_ms: NOW - 1.8 * HOUR, first: 2001, last: 4000 },
    ],
  },
  {
    id: "failed",
    name: "cnn fashion",
    model: "cnn",
    optimizer: "Adam",
    seed: 5,
    state: "FAILED",
    reason: "NUMERICS",
    attempts: [{ ...RUNNING, last: 420 }],
    labels: { team: "vision" },
    message: "the loss scale is at its floor of 1 and layers.7.ffn overflows",
  },
  {
    id: "odd",
    name: "odd series",
    state: "SUCCEEDED",
    names: ["loss", "one_point", "constant", "with_nan", "with_zeros"],
    created_ms: NOW - 25 * HOUR,
    attempts: [{ ...RUNNING, last: 200 }],
  },
  {
    id: "queued",
    name: "gpt2 wide",
    state: "QUEUED",
    priority: "p1",
    labels: { team: "language" },
    waiting: "2 cores; 2 of 2 are used by gpt2 tiny",
  },
  {
    id: "paused",
    name: "ablation 3",
    state: "PAUSED",
    seed: 7,
    created_ms: NOW - 26 * HOUR,
    attempts: [{ ...RUNNING, last: 900 }],
  },
  {
    id: "cancelled",
    name: "ablation 2",
    state: "CANCELLED",
    seed: 8,
    created_ms: NOW - 28 * HOUR,
    attempts: [{ ...RUNNING, last: 300 }],
  },
];

const sweep = (i) => ({
  id: `sweep-${i}`,
  name: `sweep lr ${(0.001 * (i + 1)).toFixed(3)}`,
  seed: i,
  state: "SUCCEEDED",
  total: 2000,
  labels: { sweep: "lr", team: "language" },
  created_ms: NOW - (30 + i) * HOUR,
  attempts: [{ ...RUNNING, last: 2000 }],
});

export function madeUpJobs() {
  const specs = [...SPECS, ...Array.from({ length: 18 }, (_, i) => sweep(i))];
  return new Map(specs.map((spec) => [spec.id, new MadeUpJob(structuredClone(spec))]));
}
