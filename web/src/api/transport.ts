/* Transport of the typed client's requests: HTTP, or the data embedded in a report. */
import { signal } from "@preact/signals";
import type { Problem } from "@generated/client";
import { noteAnswer, noteSilence } from "@/api/freshness";
import { answerFromReport } from "@/api/report";

declare const IS_REPORT: boolean;

export interface RequestOptions {
  signal?: AbortSignal;
  /** Content-Type of a text body; JSON otherwise. */
  contentType?: string;
  /** Receives the answer's headers. */
  onHeaders?: (headers: Headers) => void;
}

export interface Request {
  method: string;
  path: string;
  parameters: Record<string, unknown>;
  query: string[];
  headers: string[];
  body?: unknown;
  options?: RequestOptions | undefined;
}

/** An error answer of the server; status 0 when there was no answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail || problem.title || `the server answered ${status}`);
  }
}

/** Set when the server wants a token: the frame then shows the sign-in form. */
export const needsToken = signal(false);

export function fillPath(path: string, parameters: Record<string, unknown>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(parameters[name])),
  );
}

export function queryText(names: string[], parameters: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const name of names) {
    const joined = name.startsWith(",");
    const key = joined ? name.slice(1) : name;
    const value = parameters[key];
    if (value === undefined || value === null) continue;
    if (!Array.isArray(value)) query.append(key, String(value));
    else if (joined) query.append(key, value.join(","));
    else for (const item of value) query.append(key, String(item));
  }
  const text = query.toString();
  return text ? `?${text}` : "";
}

async function problemOf(response: Response): Promise<Partial<Problem>> {
  try {
    return (await response.json()) as Problem;
  } catch {
    return { title: response.statusText };
  }
}

async function fetchAnswer(request: Request): Promise<Response> {
  const { parameters, options, body } = request;
  const headers: Record<string, string> = { Accept: "application/json, */*;q=0.1" };
  for (const name of request.headers)
    if (parameters[name] !== undefined) headers[name] = String(parameters[name]);
  const init: RequestInit = { method: request.method, headers, credentials: "same-origin" };
  if (options?.signal) init.signal = options.signal;
  if (body !== undefined) {
    headers["Content-Type"] = options?.contentType ?? "application/json";
    init.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  const url = fillPath(request.path, parameters) + queryText(request.query, parameters);
  try {
    const response = await fetch(url, init);
    noteAnswer();
    return response;
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    noteSilence();
    throw new ApiError(0, { detail: "the server does not answer" });
  }
}

export async function send(request: Request): Promise<unknown> {
  if (IS_REPORT) return answerFromReport(request);
  const response = await fetchAnswer(request);
  if (response.status === 401) needsToken.value = true;
  if (!response.ok) throw new ApiError(response.status, await problemOf(response));
  request.options?.onHeaders?.(response.headers);
  if (response.status === 204) return undefined;
  const type = response.headers.get("Content-Type") ?? "";
  return /\bjson\b/.test(type) && !/ndjson/.test(type) ? response.json() : response.text();
}
