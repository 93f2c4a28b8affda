/* A program of a user: the types come from openapi-typescript, the requests from openapi-fetch.
 * Lines marked with @ts-expect-error must not compile: types that allow anything would let them.
 *
 * Usage: node program.js URL JOB TOKEN */
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Schemas = components["schemas"];
const [url = "", id = "", token = ""] = process.argv.slice(2);
const api = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });
const job = { params: { path: { id } } };

function need<T>(answer: { data?: T; error?: unknown }, what: string): T {
  if (answer.data === undefined) throw new Error(`${what}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

function expect(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

/** What an event says, by its type: each payload has members of its own. */
function tell(event: Schemas["Event"]): number {
  switch (event.type) {
    case "state":
      return event.payload.to_state === "RUNNING" ? 1 : 0;
    case "metric":
      return Object.values(event.payload.series).flat().length;
    case "closure":
      return event.payload.delivered_ms;
    case "checkpoint":
      return event.payload.bytes;
    case "log":
      return event.payload.message.length;
    case "topology":
      return event.payload.processes.length + event.payload.streams.length;
    case "numerics":
      // @ts-expect-error a closure's member
      return event.payload.tensors + (event.payload.delivered_ms ? 0 : 0);
    case "phase":
      return event.payload.recovery.count;
    case "audit":
      return event.payload.step + event.payload.core;
    case "alert":
      return event.payload.condition.length + (event.payload.begins ? 1 : 0);
    case "gap":
      return event.payload.points ?? 0;
    case "end":
      return event.payload.message.length;
  }
}

async function readEvents(): Promise<void> {
  const answer = need(
    await api.GET("/api/v1/jobs/{id}/events", {
      params: { path: { id }, query: { after: 0, types: ["state", "metric", "log"] } },
      parseAs: "text",
    }),
    "events",
  );
  const data = answer.split("\n").filter((line) => line.startsWith("data: "));
  const events = data.map((line) => JSON.parse(line.slice(6)) as Schemas["Event"]);
  const types = new Set(events.map((event) => event.type));
  expect(types.has("state") && types.has("metric") && types.has("end"), [...types].join());
  expect(events.every((event) => Number.isFinite(tell(event))), "each event tells something");
}

async function readData(): Promise<void> {
  const graph = need(await api.GET("/api/v1/jobs/{id}/graph", job), "graph");
  const inputs: number[] = graph.nodes.flatMap((node) => node.inputs);
  expect(inputs.every((input) => input < graph.nodes.length), "inputs are nodes");
  // @ts-expect-error no such member
  expect(graph.nodes.every((node) => node.nothing === undefined), "nodes have types");
  const precision = need(await api.GET("/api/v1/jobs/{id}/precision", job), "precision");
  expect(precision.ops.length === precision.totals.ops, "each op has a row");
  const query = { names: ["loss", "val_loss"], max_points: 10 };
  const metrics = need(
    await api.GET("/api/v1/jobs/{id}/metrics", { params: { path: { id }, query } }),
    "metrics",
  );
  if (typeof metrics === "string") throw new Error("columns were not asked for");
  const loss = metrics.series.find((one) => one.name === "loss");
  expect(loss !== undefined && loss.step.length > 5 && loss.step.length <= 10, "buckets of loss");
  const tensors = need(await api.GET("/api/v1/jobs/{id}/tensors", job), "tensors").tensors;
  const numerics = need(await api.GET("/api/v1/jobs/{id}/numerics", job), "numerics").records;
  expect(numerics.every((row) => tensors.some((one) => one.id === row.tensor)), "records' tensors");
  expect(numerics.length > 0, "statistics");
}

async function readJobs(): Promise<void> {
  const query = { state: ["SUCCEEDED" as const, "RUNNING" as const], limit: 5 };
  const list = need(await api.GET("/api/v1/jobs", { params: { query } }), "jobs");
  const found: Schemas["Job"] | undefined = list.jobs.find((one) => one.id === id);
  expect(found?.state === "SUCCEEDED" && found.store_failure === null, "the job");
  const none = await api.GET("/api/v1/jobs/{id}", { params: { path: { id: "none" } } });
  expect(none.error?.status === 404 && none.error.detail.includes("none"), "a problem");
  // @ts-expect-error a word that is no state
  const wrong = await api.GET("/api/v1/jobs", { params: { query: { state: ["LOST"] } } });
  expect(wrong.error?.errors?.[0]?.parameter === "state", "the parameter that is wrong");
  const refused = await api.POST("/api/v1/jobs/{id}/pause", { ...job, body: {} });
  expect(refused.response.status === 202 || refused.error?.status === 409, "a command");
  const checked = need(
    await api.POST("/api/v1/config:validate", { body: { config: "trainer: 3", depth: "settings" } }),
    "validate",
  );
  expect(!checked.valid && checked.diagnostics[0]?.line === 1, "a diagnostic");
}

async function readSweeps(): Promise<void> {
  const list = need(await api.GET("/api/v1/sweeps"), "sweeps");
  const best: (number | null)[] = list.sweeps.map((one) => one.best_value);
  expect(list.total === 0 && best.length === 0, "a run has no sweeps");
  const none = await api.GET("/api/v1/sweeps/{name}", { params: { path: { name: "none" } } });
  expect(none.error?.status === 404, "no such sweep");
  const spec = { name: "a", config: "trainer: {}", trials: 2, parameters: { seed: [1, 2] } };
  const refused = await api.POST("/api/v1/sweeps", { body: spec });
  expect(refused.error?.status === 501, "one run has no queue");
  // @ts-expect-error a word that is no state
  expect(none.data?.state !== "lost", "states are words");
}

await readJobs();
await readData();
await readSweeps();
await readEvents();
console.log("typescript: jobs, data and events by their types");
