/* A server over made-up jobs: the API of dashboard/openapi.json as far as the pages use it, with
 * the headers of the real one. For working on the pages, and for tests that need millions of steps
 * at once.
 *
 * Usage: node mock.mjs [PORT] [DIST] */
import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  MadeUpJob,
  graphText,
  madeUpJobs,
  origins,
  precisionOf,
} from "./made_up_jobs.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
const HEADERS = {
  "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
};
const STEP_MS = 20;

class Refusal extends Error {
  constructor(status, detail, errors) {
    super(detail);
    this.status = status;
    this.problem = {
      type: "urn:csengine:problem:mock",
      title: detail,
      status,
      detail,
      errors,
    };
  }
}

function faultsOf(config) {
  const faults = [];
  config.split("\n").forEach((line, i) => {
    const at = line.indexOf("lerning_rate");
    if (at >= 0)
      faults.push({
        line: i + 1,
        column: at + 1,
        message:
          'unknown setting "lerning_rate"; did you mean "learning_rate"?',
      });
    const tab = line.indexOf("\t");
    if (tab >= 0)
      faults.push({
        line: i + 1,
        column: tab + 1,
        message: "a tab; YAML is indented by blanks",
      });
  });
  return faults;
}

export function startMock({
  port = 0,
  dist = join(here, "../../web/dist"),
} = {}) {
  const jobs = madeUpJobs();
  const timers = new Set();
  const streams = new Set();
  const asked = [];
  const find = (id) => {
    const job = jobs.get(id);
    if (!job) throw new Refusal(404, `there is no job "${id}"`);
    return job;
  };

  function advance(job) {
    if (job.state !== "RUNNING") return;
    const step = job.step + 1;
    for (const s of job.series) if (s.stride === 1) s.last = step;
    const series = Object.fromEntries(
      job.series
        .filter((s) => s.stride === 1)
        .map((s) => [s.name, [[step, Date.now(), s.value(step)]]]),
    );
    job.publish("metric", { attempt: 1, series });
    if (step % 25 === 0) job.publish("topology", job.topology());
    if (step % 10 === 0)
      job.publish("closure", {
        id: 1000 + step,
        attempt: 1,
        step,
        name: "log_loss",
        issued_ms: Date.now() - 4,
        delivered_ms: Date.now(),
        payload: { loss: job.loss.value(step) },
      });
    if (step % 50 === 0)
      job.publish("log", {
        id: 10_000 + step,
        time_ms: Date.now(),
        level: "INFO",
        role: "coordinator",
        rank: null,
        message: `step ${step} committed`,
      });
  }
  for (const job of jobs.values())
    if (job.live) timers.add(setInterval(() => advance(job), STEP_MS));

  function stream(job, request, response, query) {
    const after = Number(
      request.headers["last-event-id"] ?? query.get("after") ?? 0,
    );
    asked.push(after);
    if (["SUCCEEDED", "FAILED", "CANCELLED"].includes(job.state))
      return response.writeHead(204).end();
    response.writeHead(200, {
      ...HEADERS,
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-store",
    });
    response.write("retry: 1000\n\n");
    const send = (event) => {
      response.write(
        `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
      );
      if (event.type === "end") response.end();
    };
    for (const event of job.events) if (event.id > after) send(event);
    job.listeners.add(send);
    streams.add(response);
    response.on("close", () => {
      job.listeners.delete(send);
      streams.delete(response);
    });
  }

  const verbs = {
    pause: (job) => (
      job.transit("PAUSING"),
      setTimeout(() => job.transit("PAUSED"), 150),
      "it pauses"
    ),
    resume: (job) => (job.transit("RUNNING"), "it goes on"),
    checkpoint: (job) => (
      job.publish("checkpoint", { step: job.step }),
      `saved at step ${job.step}`
    ),
    cancel: (job) => {
      job.transit("CANCELLING");
      setTimeout(() => {
        job.transit("CANCELLED");
        job.publish("end", {
          state: "CANCELLED",
          reason: null,
          message: "cancelled",
        });
      }, 150);
      return "it ends after the step in flight";
    },
    kill: (job) => (job.transit("CANCELLED"), "killed"),
    scale: (job, body) => (
      (job.replicas = body.num_csx),
      `${body.num_csx} replicas from now on`
    ),
  };

  const numbers = (query, ...names) =>
    Object.fromEntries(
      names
        .filter((name) => query.has(name))
        .map((name) => [name, Number(query.get(name))]),
    );

  const ofJob = {
    "": (job) => job.job(),
    transitions: (job) => ({ transitions: job.transitions }),
    metrics: (job, query) =>
      job.metrics({
        ...numbers(query, "from", "to", "max_points", "attempt"),
        names: query.get("names")?.split(","),
      }),
    closures: (job) => ({ closures: job.closures(), next_after: null }),
    checkpoints: (job) => ({ checkpoints: job.checkpoints() }),
    precision: (job) => precisionOf(job.layers),
    topology: (job, query) => ({
      missing: null,
      samples:
        job.step === null
          ? []
          : Array.from(
              { length: Number(query.get("samples") ?? 1) },
              (_, i, all) =>
                job.topology(
                  Date.now() - (Number(query.get("samples") ?? 1) - i) * 500,
                ),
            ),
    }),
    numerics: (job, query) =>
      job.numerics({
        ...numbers(query, "step"),
        tensor: query.get("tensor") ?? undefined,
      }),
    trace: (job, query) => job.trace(numbers(query, "from", "to")),
    config: (job) => ({
      yaml: job.config,
      submitted: job.config,
      origins: origins(),
    }),
  };

  const GIB = 2 ** 30;
  const fixed = {
    "/session": () => ({ authenticated: true, required: false }),
    "/readyz": () => ({
      ready: true,
      checks: [
        { name: "store", ok: true, detail: "writable" },
        { name: "disk", ok: true, detail: "41 GiB free" },
        { name: "queue", ok: true, detail: "1 waits" },
      ],
    }),
    "/api/v1/version": () => ({
      version: "0.1.0",
      api: "v1",
      mode: "root",
      started_ms: Date.now() - 9e6,
      pid: 4242,
      features: { submit: true, scale: true },
    }),
    "/api/v1/cluster": () => ({
      hosts: [
        {
          name: "localhost",
          cores: 2,
          memory_bytes: 8 * GIB,
          load: 1.7,
          memory_free_bytes: 5.2 * GIB,
        },
      ],
      budget: { cores: 2, memory_bytes: 8 * GIB },
      used: { cores: 2, memory_bytes: 1.1 * GIB },
      jobs: counts(),
      disk_free_bytes: 41 * GIB,
      disk_total_bytes: 100 * GIB,
    }),
    "/api/v1/audit": () => ({
      next_page_token: null,
      entries: [
        {
          seq: 1,
          time_ms: Date.now() - 6e5,
          peer: "127.0.0.1",
          method: "POST",
          path: "/api/v1/jobs",
          status: 201,
          job: "gpt2-live",
        },
      ],
    }),
    "/api/v1/config-schema": () => ({}),
  };
  const counts = () => {
    const all = {};
    for (const job of jobs.values()) all[job.state] = (all[job.state] ?? 0) + 1;
    return all;
  };

  function list() {
    const all = [...jobs.values()]
      .map((job) => job.job())
      .sort((a, b) => b.created_ms - a.created_ms);
    return { jobs: all, next_page_token: null, total: all.length };
  }

  function create(body) {
    const spec = typeof body === "object" ? body : { config: body };
    const errors = faultsOf(spec.config);
    if (errors.length > 0) throw new Refusal(422, errors[0].message, errors);
    const id = `job-${jobs.size + 1}`;
    jobs.set(
      id,
      new MadeUpJob({
        id,
        name: spec.name ?? id,
        state: "QUEUED",
        config: spec.config,
        created_ms: Date.now(),
        labels: spec.labels ?? {},
        waiting: "2 cores",
      }),
    );
    return jobs.get(id).job();
  }

  function answer(request, url, body) {
    const path = url.pathname;
    if (fixed[path]) return [200, fixed[path]()];
    if (path === "/api/v1/config:validate") {
      const diagnostics = faultsOf(body.config ?? body);
      return [
        200,
        { valid: diagnostics.length === 0, diagnostics, milliseconds: 3.2 },
      ];
    }
    if (path === "/api/v1/jobs")
      return request.method === "POST" ? [201, create(body)] : [200, list()];
    const [, id, rest = ""] =
      /^\/api\/v1\/jobs\/([^/]+)(?:\/(.*))?$/.exec(path) ?? [];
    if (!id) throw new Refusal(404, "there is no such path");
    const job = find(decodeURIComponent(id));
    if (request.method === "POST" && verbs[rest])
      return [
        202,
        {
          id: job.id,
          verb: rest,
          detail: verbs[rest](job, body),
          state: job.state,
        },
      ];
    if (rest === "graph")
      return [200, job.step === null ? missing() : graphText(job.layers)];
    if (rest === "logs")
      return [
        200,
        job
          .logs()
          .map((line) => JSON.stringify(line))
          .join("\n"),
      ];
    if (ofJob[rest]) return [200, ofJob[rest](job, url.searchParams)];
    throw new Refusal(404, "there is no such path");
  }
  const missing = () => {
    throw new Refusal(404, "the step was not compiled yet");
  };

  function file(path, response) {
    const name = extname(path) ? path : "/index.html";
    const full = join(dist, name);
    if (!existsSync(full)) return response.writeHead(404, HEADERS).end();
    response.writeHead(200, {
      ...HEADERS,
      "Content-Type": TYPES[extname(name)] ?? "text/plain",
    });
    return response.end(readFileSync(full));
  }

  function respond(request, response, text) {
    const url = new URL(request.url, "http://localhost");
    const events = /^\/api\/v1\/jobs\/([^/]+)\/events$/.exec(url.pathname);
    if (events)
      return stream(find(events[1]), request, response, url.searchParams);
    if (!/^\/(api|session|readyz)/.test(url.pathname))
      return file(url.pathname, response);
    const isJson = /json/.test(request.headers["content-type"] ?? "");
    const [status, body] = answer(
      request,
      url,
      text && isJson ? JSON.parse(text) : text,
    );
    const type = url.pathname.endsWith("/logs")
      ? "application/x-ndjson"
      : "application/json";
    response.writeHead(status, { ...HEADERS, "Content-Type": type });
    return response.end(typeof body === "string" ? body : JSON.stringify(body));
  }

  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => (text += part));
    request.on("end", () => {
      try {
        respond(request, response, text);
      } catch (error) {
        const status = error.status ?? 500;
        response.writeHead(status, {
          ...HEADERS,
          "Content-Type": "application/problem+json",
        });
        response.end(
          JSON.stringify(
            error.problem ?? {
              status,
              title: String(error),
              detail: error.stack,
            },
          ),
        );
      }
    });
  });
  return new Promise((resolve) =>
    server.listen(port, "127.0.0.1", () =>
      resolve({
        url: `http://127.0.0.1:${server.address().port}`,
        jobs,
        /** Behind which event each stream was asked for. */
        asked,
        cut: () => {
          for (const stream of streams) stream.destroy();
        },
        close: () => {
          for (const timer of timers) clearInterval(timer);
          server.closeAllConnections();
          server.close();
        },
      }),
    ),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = await startMock({
    port: Number(process.argv[2] ?? 8090),
    ...(process.argv[3] ? { dist: process.argv[3] } : {}),
  });
  console.log(mock.url);
}
