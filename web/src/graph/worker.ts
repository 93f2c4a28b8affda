/* Reads, folds and lays out the step graph away from the page, which stays responsive meanwhile:
 * the file may be tens of megabytes. */
import type { Answer, Order, RawGraph } from "@/graph/format";
import { StepGraph } from "@/graph/fold";
import { arrange } from "@/graph/layout";

let step: StepGraph | undefined;

const scope = self as unknown as { postMessage: (answer: Answer) => void };
const post = (answer: Answer) => scope.postMessage(answer);

async function read(order: Extract<Order, { kind: "load" }>): Promise<RawGraph | Answer> {
  if (order.graph) return order.graph;
  const response = await fetch(order.url ?? "", { credentials: "same-origin" });
  if (response.ok) return (await response.json()) as RawGraph;
  const problem = (await response.json().catch(() => ({}))) as { detail?: string };
  return {
    kind: "failed",
    id: order.id,
    status: response.status,
    message: problem.detail ?? `the server answered ${response.status}`,
  };
}

async function handle(order: Order): Promise<void> {
  const start = performance.now();
  if (order.kind === "load") {
    const graph = await read(order);
    if ("kind" in graph) return post(graph);
    step = new StepGraph(graph);
    return post({
      kind: "loaded",
      id: order.id,
      summary: step.summary(),
      milliseconds: performance.now() - start,
    });
  }
  if (!step)
    return post({ kind: "failed", id: order.id, status: 0, message: "no graph was loaded" });
  if (order.kind === "detail") {
    step.fold(new Set(order.expanded), order.fold);
    return post({ kind: "detail", id: order.id, detail: step.detail(order.key) });
  }
  if (order.kind === "rows") {
    step.fold(new Set(order.expanded), order.fold);
    return post({ kind: "rows", id: order.id, rows: step.rows() });
  }
  const picture = arrange(step.fold(new Set(order.expanded), order.fold));
  post({ kind: "picture", id: order.id, picture, milliseconds: performance.now() - start });
}

self.onmessage = (event: MessageEvent<Order>) => {
  handle(event.data).catch((error: Error) =>
    post({ kind: "failed", id: event.data.id, status: 0, message: error.message }),
  );
};
