/* What the made-up server answers: the paths of the API as far as the pages use
 * them, over a map of made-up jobs. */
import { SWEEP, SWEEPS } from "./made_up_sweeps.mjs";
import { confusionOf, dataOf, samplesOf, validationOf } from "./made_up_samples.mjs";
import { comparisonOf, compiledOf, curvesOf, experimentsOf } from "./made_up_experiments.mjs";
import { readFileSync, readdirSync } from "node:fs";
import {
  MadeUpJob,
  goodputOf,
  graphText,
  kernelsOf,
  madeUpJobs,
  origins,
  precisionOf,
} from "./made_up_jobs.mjs";

const GIB = 2 ** 30;
const SETTLE_MS = 150;

export class Refusal extends Error {
  constructor(status, detail, errors) {
    super(detail);
    this.status = status;
    this.problem = { type: "urn:csengine:problem:mock", title: detail, status, detail, errors };
  }
}

function faultsOf(config) {
  const faults = [];
  config.split("\n").forEach((line, i) => {
    const place = (text, message) => {
      const at = line.indexOf(text);
      if (at >= 0) faults.push({ line: i + 1, column: at + 1, message });
    };
    place("lerning_rate", 'unknown setting "lerning_rate"; did you mean "learning_rate"?');
    place("\t", "a tab; YAML is indented by blanks");
  });
  return faults;
}

/* What each order does to a job; the answer's detail is returned. */
const COMMANDS = {
  pause(job) {
    job.transit("PAUSING");
    setTimeout(() => job.transit("PAUSED"), SETTLE_MS);
    return "it pauses";
  },
  resume(job) {
    job.transit("RUNNING");
    return "it goes on";
  },
  checkpoint(job) {
    job.publish("checkpoint", { step: job.step });
    return `saved at step ${job.step}`;
  },
  cancel(job) {
    job.transit("CANCELLING");
    setTimeout(() => {
      job.transit("CANCELLED");
      job.publish("end", { state: "CANCELLED", reason: null, message: "cancelled" });
    }, SETTLE_MS);
    return "it ends after the step in flight";
  },
  kill(job) {
    job.transit("CANCELLED");
    return "killed";
  },
  scale(job, body) {
    job.replicas = body.num_csx;
    return `${body.num_csx} replicas from now on`;
  },
};

/* Words, labels and the loss; a name that is none of theirs is refused. */
function testOf(where) {
  const words = (where ?? "").split(/\s+/).filter(Boolean);
  const unknown = words.find((word) => /^nothing=/.test(word));
  if (unknown) throw new Refusal(400, `where: no job has "${unknown.split("=")[0]}"`);
  return (job) =>
    words.every((word) => {
      const [, least] = /^loss<(.+)$/.exec(word) ?? [];
      if (least !== undefined)
        return job.progress.loss !== null && job.progress.loss < Number(least);
      const [key, value] = word.split("=");
      if (value !== undefined)
        return key === "state" ? job.state === value : job.labels[key] === value;
      return [job.name, job.id, job.model, job.state, ...Object.entries(job.labels).flat()].some(
        (text) => (text ?? "").toLowerCase().includes(word.toLowerCase()),
      );
    });
}

const numbers = (query, ...names) =>
  Object.fromEntries(
    names.filter((name) => query.has(name)).map((name) => [name, Number(query.get(name))]),
  );

function topologyOf(job, query) {
  const count = job.step === null ? 0 : Number(query.get("samples") ?? 1);
  const at = (i) => Date.now() - (count - i) * 500;
  return { missing: null, samples: Array.from({ length: count }, (_, i) => job.topology(at(i))) };
}

/* Step time falls with the number of hosts, what travels grows. */
function planOf(job, query) {
  if (job.plan === undefined)
    return { report: null, missing: "no profile of a host: csengine plan --save_profile" };
  const fails = Number(query.get("mtbf") ?? 0) > 0;
  const plans = Array.from({ length: 64 }, (_, i) => {
    const hosts = i + 1;
    const [compute_s, exposed_s] = [4 / hosts, 0.02 * Math.log2(hosts)];
    return {
      hosts,
      step_s: compute_s + exposed_s + 0.01,
      compute_s,
      exposed_s,
      update_s: 0.01,
      pieces: hosts,
      shares: [1],
      bytes_up: 1e8,
      bytes_down: 1e8,
      memory_bytes: 2e9 + 1e7 * hosts,
      goodput: fails ? (hosts === 1 ? null : 0.99 - 0.001 * hosts) : 1,
      samples_per_second: 16 / (compute_s + exposed_s),
      host_hours_per_million_samples: 60 + hosts,
    };
  });
  return {
    missing: null,
    report: {
      profile: { microbatches: 64, micro_batch_size: 1, microbatch_s: 1, update_s: 1, save_s: 1 },
      replicas: 1,
      link_bits_per_second: 1e10,
      mtbf_hours: fails ? 100 : null,
      lease_s: 10,
      save_steps: 1000,
      plans,
      assumptions: ["links are full duplex"],
    },
  };
}

/* Two cores, every other second; the host has no sensor of temperature. */
function machineOf(job) {
  if (job.step === null) return { hosts: [], missing: "no sample of a host was taken" };
  const times = Array.from({ length: 60 }, (_, i) => job.attempts[0].start_ms + 2000 * i);
  const wave = (low, high, period) =>
    times.map((_, i) => low + ((high - low) * (1 + Math.sin(i / period))) / 2);
  const busy = [wave(0.6, 1, 3), wave(0.1, 0.9, 7)];
  const none = times.map(() => null);
  const figures = {
    busy: times.map((_, i) => (busy[0][i] + busy[1][i]) / 2),
    clock_mhz: wave(2600, 3200, 9),
    clock_least_mhz: wave(2400, 2600, 9),
    memory_bytes: times.map(() => 8 * 2 ** 30),
    memory_free_bytes: times.map((_, i) => 4 * 2 ** 30 - i * 2 ** 22),
    disk_read_mb_per_second: wave(0, 12, 5),
    disk_written_mb_per_second: wave(0, 3, 4),
    disk_busy: wave(0, 0.3, 5),
    network_received_mb_per_second: wave(0, 0.2, 6),
    network_sent_mb_per_second: wave(0, 0.1, 6),
    temperature_celsius: none,
  };
  const cores = times.map((_, i) => busy.map((one) => one[i]));
  const steps = times.map((_, i) => Math.min(job.step, 10 * i));
  return {
    hosts: [
      { name: "vm", time_ms: times, step: steps, cores, figures, not_readable: ["temperature"] },
    ],
    missing: null,
  };
}

function graphOf(job) {
  if (job.step === null) throw new Refusal(404, "the step was not compiled yet");
  return graphText(job.layers);
}

/* Behind /api/v1/jobs/{id}/; texts are sent as they are. */
const OF_JOB = {
  "": (job) => job.job(),
  transitions: (job) => ({ transitions: job.transitions }),
  metrics: (job, query) =>
    job.metrics({
      ...numbers(query, "from", "to", "max_points", "attempt"),
      names: query.get("names")?.split(","),
      history: query.get("history") === "true",
    }),
  notes: (job) => ({ notes: job.notes ?? [] }),
  history: (job, query, jobs) => job.history(jobs),
  closures: (job) => ({ closures: job.closures(), next_after: null }),
  checkpoints: (job) => ({ checkpoints: job.checkpoints() }),
  alerts: (job) => ({ alerts: job.alerts ?? [], total: job.alerts?.length ?? 0 }),
  membership: (job) => ({ membership: job.membership ?? [], total: job.membership?.length ?? 0 }),
  samples: samplesOf,
  confusion: confusionOf,
  steps: (job) => ({ last_step: job.step ?? 0, replays: [] }),
  validation: validationOf,
  data: (job, query) => dataOf(job, Number(query.get("step") ?? 1)),
  precision: (job) => precisionOf(job.layers),
  topology: topologyOf,
  machine: machineOf,
  plan: planOf,
  compiled: (job, query) => compiledOf(job.id.length, query.get("part")),
  tensors: (job) => ({ tensors: job.tensors(), next_page_token: null, missing: null }),
  numerics: (job, query) =>
    job.numerics({
      ...numbers(query, "step", "from", "limit", "attempt"),
      tensor: query.get("tensor") ?? undefined,
      bad: query.get("bad") === "true",
    }),
  trace: (job, query) => job.trace(numbers(query, "from", "to")),
  config: (job) => ({ yaml: job.config, submitted: job.config, origins: origins() }),
  graph: graphOf,
  kernels: kernelsOf,
  goodput: (job) => goodputOf(job),
  logs: (job) =>
    job
      .logs()
      .map((line) => JSON.stringify(line))
      .join("\n"),
};

const DIFF = {
  tensors: [
    {
      name: "model.fc_layers.0.weight",
      kind: "values",
      dtype: "float32",
      shape: "[256, 784]",
      second_dtype: "float32",
      second_shape: "[256, 784]",
      elements: 200704,
      differing: 150528,
      non_finite: 0,
      max_absolute: 0.0625,
      max_relative: 1.5,
    },
    {
      name: "optimizer.fc_layers.0.weight.exp_avg",
      kind: "only_second",
      dtype: null,
      shape: null,
      second_dtype: "float32",
      second_shape: "[256, 784]",
      elements: null,
      differing: null,
      non_finite: null,
      max_absolute: null,
      max_relative: null,
    },
  ],
  total: 14,
  same: 12,
  differing: 2,
  next_page_token: null,
};

const CHECKS = [
  { name: "store", ok: true, detail: "writable" },
  { name: "disk", ok: true, detail: "41 GiB free" },
  { name: "queue", ok: true, detail: "1 waits" },
];

const configs = new URL("../../configs/", import.meta.url);
const TEMPLATES = readdirSync(configs)
  .filter((name) => name.endsWith(".yaml"))
  .sort()
  .map((name) => {
    const config = readFileSync(new URL(name, configs), "utf8");
    return { name: name.replace(".yaml", ""), summary: config.split("\n")[0].slice(2), config };
  });

/* In the shape of the real one, with a few settings. */
const leaf = (type, more = {}) => ({ type, description: `about ${type}`, ...more });
const mapping = (properties, more = {}) => ({
  type: "object",
  properties,
  additionalProperties: false,
  ...more,
});
const lr = leaf("number", { minimum: 0, description: "learning rate", default: 0.1 });
const SCHEMA = mapping({
  trainer: mapping({
    init: mapping({
      seed: leaf("integer", { minimum: 0, default: 1 }),
      model: {
        anyOf: [
          mapping({ name: { const: "fc_mnist" }, hidden_sizes: leaf("array"), dropout: lr }),
          mapping({ name: { const: "gpt2" }, num_layers: leaf("integer") }),
        ],
      },
      optimizer: mapping({ SGD: mapping({ lr, momentum: lr }), AdamW: mapping({ lr }) }),
      precision: mapping({ fp16_type: { enum: ["float16", "bfloat16"], default: "float16" } }),
    }),
  }),
});

const ORDER = {
  seq: 1,
  peer: "127.0.0.1",
  method: "POST",
  path: "/api/v1/jobs",
  status: 201,
  job: "gpt2-live",
};

export class MockApi {
  jobs = madeUpJobs();
  wantsToken = false;
  signedOut = false;

  find(id) {
    const job = this.jobs.get(id);
    if (!job) throw new Refusal(404, `there is no job "${id}"`);
    return job;
  }

  curves(query) {
    const jobs = query
      .get("jobs")
      .split(",")
      .map((id) => this.find(id));
    const curves = jobs.map((job) => {
      const { series } = job.metrics({ names: ["loss"], max_points: 60 });
      const value = series.flatMap((one) => one.mean ?? one.value);
      const step = series.flatMap((one) => one.step);
      return { id: job.id, step, value, message: null };
    });
    return { curves };
  }

  counts() {
    const all = {};
    for (const job of this.jobs.values()) all[job.state] = (all[job.state] ?? 0) + 1;
    return all;
  }

  cluster() {
    const host = {
      name: "localhost",
      cores: 2,
      memory_bytes: 8 * GIB,
      load: 1.7,
      memory_free_bytes: 5.2 * GIB,
    };
    return {
      hosts: [host],
      budget: { cores: 2, memory_bytes: 8 * GIB },
      used: { cores: 2, memory_bytes: 1.1 * GIB },
      jobs: this.counts(),
      disk_free_bytes: 41 * GIB,
      disk_total_bytes: 100 * GIB,
    };
  }

  list(query) {
    const where = query.get("where");
    const all = [...this.jobs.values()].map((job) => job.job()).filter(testOf(where));
    all.sort((a, b) => b.created_ms - a.created_ms);
    return { jobs: all, next_page_token: null, total: all.length };
  }

  create(body) {
    const spec = typeof body === "object" ? body : { config: body };
    const errors = faultsOf(spec.config);
    if (errors.length > 0) throw new Refusal(422, errors[0].message, errors);
    const id = `job-${this.jobs.size + 1}`;
    const job = new MadeUpJob({
      id,
      name: spec.name ?? id,
      state: "QUEUED",
      config: spec.config,
      created_ms: Date.now(),
      labels: spec.labels ?? {},
      waiting: "2 cores",
    });
    this.jobs.set(id, job);
    return job.job();
  }

  fixed(path) {
    const now = Date.now();
    const answers = {
      "/session": { authenticated: true, required: this.wantsToken },
      "/readyz": { ready: true, checks: CHECKS },
      "/api/v1/version": {
        version: "0.1.0",
        api: "v1",
        mode: "root",
        started_ms: now - 9e6,
        pid: 4242,
        features: { submit: true, scale: true },
      },
      "/api/v1/templates": { templates: TEMPLATES },
      "/api/v1/config-schema": SCHEMA,
      "/api/v1/audit": { next_page_token: null, entries: [{ ...ORDER, time_ms: now - 6e5 }] },
    };
    return path === "/api/v1/cluster" ? this.cluster() : answers[path];
  }

  patch(job, change, tag) {
    if (tag !== `"v${job.revision}"`) throw new Refusal(412, "the job was changed meanwhile");
    const { labels = {}, ...rest } = change;
    Object.assign(job, rest);
    for (const [key, value] of Object.entries(labels))
      if (value === null) delete job.labels[key];
      else job.labels[key] = value;
    job.revision++;
    return job.job();
  }

  remove(job) {
    if (!["SUCCEEDED", "FAILED", "CANCELLED"].includes(job.state))
      throw new Refusal(409, `job "${job.id}" has not ended`);
    this.jobs.delete(job.id);
  }

  /** [status, body] of a request. */
  answer(method, url, body, tag) {
    const path = url.pathname;
    if (path === "/session" && method === "DELETE") {
      this.signedOut = true;
      return [204, ""];
    }
    const fixed = this.fixed(path);
    if (fixed) return [200, fixed];
    if (path === "/api/v1/config:validate") {
      const diagnostics = faultsOf(body.config ?? body);
      return [200, { valid: diagnostics.length === 0, diagnostics, milliseconds: 3.2 }];
    }
    if (path === "/api/v1/jobs")
      return method === "POST" ? [201, this.create(body)] : [200, this.list(url.searchParams)];
    if (path === "/api/v1/small-curves") return [200, this.curves(url.searchParams)];
    if (path === "/api/v1/sweeps") return [200, SWEEPS];
    if (path === `/api/v1/sweeps/${SWEEP.name}`) return [200, SWEEP];
    if (path === "/api/v1/experiments") {
      const { jobs } = this.list(url.searchParams);
      const runs = url.searchParams.get("runs")?.split(",");
      const asked = jobs.filter((one) => !runs || runs.includes(one.id));
      return [200, experimentsOf(asked, url.searchParams)];
    }
    if (path === "/api/v1/curves") {
      const { jobs } = this.list(url.searchParams);
      const runs = url.searchParams.get("runs")?.split(",");
      const asked = jobs.filter((one) => !runs || runs.includes(one.id));
      return [200, curvesOf(asked, url.searchParams)];
    }
    if (path === "/api/v1/comparison") {
      const ids = (url.searchParams.get("runs") ?? "").split(",");
      return [200, comparisonOf(ids.map((id) => this.find(id).job()))];
    }
    const [, id, rest = ""] = /^\/api\/v1\/jobs\/([^/]+)(?:\/(.*))?$/.exec(path) ?? [];
    const job = id && this.find(decodeURIComponent(id));
    if (job && method === "POST" && COMMANDS[rest]) {
      const detail = COMMANDS[rest](job, body);
      return [202, { id: job.id, command: rest, detail, state: job.state }];
    }
    if (job && rest === "" && method === "PATCH") return [200, this.patch(job, body, tag)];
    if (job && rest === "" && method === "DELETE") return [204, this.remove(job) ?? ""];
    const [, saved] = /^checkpoints\/(\d+)$/.exec(rest) ?? [];
    if (job && saved && method === "DELETE") {
      job.deleted.add(Number(saved));
      return [204, ""];
    }
    if (job && /^checkpoints\/\d+\/diff$/.test(rest)) return [200, DIFF];
    if (job && OF_JOB[rest]) return [200, OF_JOB[rest](job, url.searchParams, this.jobs)];
    throw new Refusal(404, "there is no such path");
  }
}
