/* The page's side of the layout worker: requests go to the worker, answers come back as promises. Pictures are kept by
 * the graph's hash and what is open in it. */
import type { Answer, Detail, KernelRow, Order, Picture, RawGraph, Summary } from "@/graph/format";
import { ApiError } from "@/api/transport";
import { reportAnswers } from "@/api/report";

declare const IS_REPORT: boolean;
declare const WORKER_URL: string;

type Body = Order extends infer O ? (O extends Order ? Omit<O, "id"> : never) : never;

function workerUrl(): string {
  if (!IS_REPORT) return WORKER_URL;
  const text = document.getElementById("layout-worker")?.textContent ?? "";
  return URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
}

export class LayoutClient {
  private readonly worker = new Worker(workerUrl());
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private readonly pictures = new Map<
    string,
    Promise<{ picture: Picture; milliseconds: number }>
  >();
  private next = 1;

  constructor() {
    this.worker.onmessage = (event: MessageEvent<Answer>) => {
      this.waiting.get(event.data.id)?.(event.data);
      this.waiting.delete(event.data.id);
    };
  }

  close(): void {
    this.worker.terminate();
  }

  private ask(body: Body): Promise<Answer> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, (answer) =>
        answer.kind === "failed"
          ? reject(new ApiError(answer.status, { detail: answer.message }))
          : resolve(answer),
      );
      this.worker.postMessage({ ...body, id });
    });
  }

  async load(url: string): Promise<{ summary: Summary; milliseconds: number }> {
    const graph = IS_REPORT ? (reportAnswers()[url.split("?")[0] ?? ""] as RawGraph) : undefined;
    if (IS_REPORT && !graph) throw new ApiError(404, { detail: "this report has no step graph" });
    const answer = await this.ask(graph ? { kind: "load", graph } : { kind: "load", url });
    return answer as Extract<Answer, { kind: "loaded" }>;
  }

  layout(expanded: string[], fold: boolean): Promise<{ picture: Picture; milliseconds: number }> {
    const key = `${fold}/${[...expanded].sort().join()}`;
    let known = this.pictures.get(key);
    if (!known) {
      known = this.ask({ kind: "layout", expanded, fold }).then(
        (answer) => answer as Extract<Answer, { kind: "picture" }>,
      );
      this.pictures.set(key, known);
    }
    return known;
  }

  async detail(key: string, expanded: string[], fold: boolean): Promise<Detail> {
    const answer = await this.ask({ kind: "detail", key, expanded, fold });
    return (answer as Extract<Answer, { kind: "detail" }>).detail;
  }

  /** All kernels; of equal layers that are drawn as one, the first's. */
  async rows(expanded: string[], fold: boolean): Promise<KernelRow[]> {
    const answer = await this.ask({ kind: "rows", expanded, fold });
    return (answer as Extract<Answer, { kind: "rows" }>).rows;
  }
}

const clients = new Map<
  string,
  { client: LayoutClient; loaded: ReturnType<LayoutClient["load"]> }
>();

/** One worker for each graph file (by address and hash), kept while the tab lives. */
export function graphClient(url: string, hash: string) {
  const key = `${url}#${hash}`;
  let known = clients.get(key);
  if (!known) {
    for (const [other, { client }] of clients) {
      client.close();
      clients.delete(other);
    }
    const client = new LayoutClient();
    known = { client, loaded: client.load(url) };
    known.loaded.catch(() => clients.delete(key));
    clients.set(key, known);
  }
  return known;
}
