/* A server over made-up jobs: the API as far as the pages use it, with the headers of the real one.
 * For working on the pages, and for tests that need millions of steps at once.
 *
 * Usage: node mock.mjs [PORT] [DIST] */
import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MockApi } from "./mock_api.mjs";

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
const FINAL = new Set(["SUCCEEDED", "FAILED", "CANCELLED"]);

/* One more step of a running job, with the events that a run publishes. */
function advance(job) {
  if (job.state !== "RUNNING") return;
  const step = job.step + 1;
  const now = Date.now();
  const each = job.series.filter((series) => series.stride === 1);
  for (const series of each) series.last = step;
  const points = each.map((series) => [series.name, [[step, now, series.value(step)]]]);
  job.publish("metric", { attempt: 1, series: Object.fromEntries(points) });
  if (step % 25 === 0) job.publish("topology", job.topology());
  if (step % 10 === 0)
    job.publish("closure", {
      id: 1000 + step,
      attempt: 1,
      step,
      name: "log_loss",
      issued_ms: now - 4,
      delivered_ms: now,
      payload: job.payload(true, step),
    });
  if (step % 50 === 0)
    job.publish("log", {
      id: 10_000 + step,
      time_ms: now,
      level: "INFO",
      role: "coordinator",
      rank: null,
      message: `step ${step} committed`,
    });
}

class Mock {
  api = new MockApi();
  /** Behind which event each stream was asked for. */
  asked = [];
  streams = new Set();

  constructor(dist) {
    this.dist = dist;
    const live = [...this.api.jobs.values()].filter((job) => job.live);
    this.timers = live.map((job) => setInterval(() => advance(job), STEP_MS));
    this.server = createServer((request, response) => {
      let text = "";
      request.on("data", (part) => (text += part));
      request.on("end", () => this.guarded(request, response, text));
    });
  }

  get jobs() {
    return this.api.jobs;
  }

  get url() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  /** Drops every stream, as a proxy or a restart would. */
  cut() {
    for (const stream of this.streams) stream.destroy();
  }

  /** Jobs stand still, but for forward(). */
  hold() {
    for (const timer of this.timers) clearInterval(timer);
  }

  /** A job does so many steps at once. */
  forward(job, steps) {
    for (let i = 0; i < steps; i++) advance(job);
  }

  /** As a server that is killed, and one that is started again on the same port over the same jobs. */
  kill() {
    const { port } = this.server.address();
    this.server.closeAllConnections();
    this.server.close();
    return () => new Promise((done) => this.server.listen(port, "127.0.0.1", done));
  }

  close() {
    this.hold();
    this.server.closeAllConnections();
    this.server.close();
  }

  guarded(request, response, text) {
    try {
      this.respond(request, response, text);
    } catch (error) {
      const status = error.status ?? 500;
      const problem = error.problem ?? { status, title: String(error), detail: error.stack };
      response.writeHead(status, { ...HEADERS, "Content-Type": "application/problem+json" });
      response.end(JSON.stringify(problem));
    }
  }

  respond(request, response, text) {
    const url = new URL(request.url, "http://localhost");
    const events = /^\/api\/v1\/jobs\/([^/]+)\/events$/.exec(url.pathname);
    if (events) return this.stream(this.api.find(events[1]), request, response, url.searchParams);
    if (!/^\/(api|session|readyz)/.test(url.pathname)) return this.file(url.pathname, response);
    const isJson = /json/.test(request.headers["content-type"] ?? "");
    const sent = text && isJson ? JSON.parse(text) : text;
    const tag = request.headers["if-match"];
    const [status, body] = this.api.answer(request.method, url, sent, tag);
    if (status === 204) return response.writeHead(204, HEADERS).end();
    const type = url.pathname.endsWith("/logs") ? "application/x-ndjson" : "application/json";
    response.writeHead(status, { ...HEADERS, "Content-Type": type });
    return response.end(typeof body === "string" ? body : JSON.stringify(body));
  }

  stream(job, request, response, query) {
    const after = Number(request.headers["last-event-id"] ?? query.get("after") ?? 0);
    this.asked.push(after);
    if (FINAL.has(job.state)) return response.writeHead(204).end();
    response.writeHead(200, {
      ...HEADERS,
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-store",
    });
    response.write("retry: 1000\n\n");
    const send = (event) => {
      response.write(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      if (event.type === "end") response.end();
    };
    for (const event of job.events) if (event.id > after) send(event);
    job.listeners.add(send);
    this.streams.add(response);
    response.on("close", () => {
      job.listeners.delete(send);
      this.streams.delete(response);
    });
    return response;
  }

  file(path, response) {
    const name = extname(path) ? path : "/index.html";
    const full = join(this.dist, name);
    if (!existsSync(full)) return response.writeHead(404, HEADERS).end();
    response.writeHead(200, { ...HEADERS, "Content-Type": TYPES[extname(name)] ?? "text/plain" });
    return response.end(readFileSync(full));
  }
}

export function startMock({ port = 0, dist = join(here, "../../web/dist") } = {}) {
  const mock = new Mock(dist);
  return new Promise((resolve) => mock.server.listen(port, "127.0.0.1", () => resolve(mock)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [port = "8090", dist] = process.argv.slice(2);
  const mock = await startMock({ port: Number(port), ...(dist ? { dist } : {}) });
  console.log(mock.url);
}
