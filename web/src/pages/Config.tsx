/* The configuration as the engine understood it, and where each value came from. */
import { useMemo, useState } from "preact/hooks";
import { api } from "@generated/client";
import { useResource } from "@/base/resource";
import { href, query, setQuery } from "@/base/route";
import { tokensOf, yamlLines, type YamlLine } from "@/base/yaml";
import { Icon } from "@/components/Icon";
import { Choice, Empty, Filter, PageHeader, Waiting } from "@/components/parts";
import { current, type JobModel } from "@/job/model";
import { isRecorded } from "@/job/recorded";
import type { PageEntry } from "@/frame/page";

declare const IS_REPORT: boolean;

type Origins = Map<string, string>;

function textOf(origin: unknown): string {
  if (typeof origin === "string") return origin;
  if (origin === null || typeof origin !== "object") return String(origin);
  const o = origin as Record<string, unknown>;
  const place = [o.file ?? o.source, o.line, o.column]
    .filter((part) => part !== undefined)
    .join(":");
  return String(o.origin ?? o.place ?? place);
}

/* Either an object by path, or a list of {path, ...}; nested objects are walked. */
export function originsOf(origins: unknown): Origins {
  const found: Origins = new Map();
  const isOrigin = (value: unknown): boolean =>
    typeof value !== "object" ||
    value === null ||
    "line" in value ||
    "origin" in value ||
    "source" in value ||
    "place" in value;
  const walk = (value: unknown, path: string): void => {
    if (isOrigin(value)) {
      found.set(path, textOf(value));
      return;
    }
    for (const [key, one] of Object.entries(value as object))
      walk(one, path ? `${path}.${key}` : key);
  };
  if (Array.isArray(origins)) {
    for (const one of origins as Record<string, unknown>[])
      if (one && typeof one.path === "string") found.set(one.path, textOf(one));
  } else if (origins && typeof origins === "object") walk(origins, "");
  return found;
}

function kindOf(origin: string): "default" | "given" | "option" {
  if (/^default/.test(origin)) return "default";
  return /--|option|flag|environment|CSE_/.test(origin) ? "option" : "given";
}

export function YamlText({ line }: { line: string }) {
  return (
    <>
      {tokensOf(line).map((token, i) => (
        <span key={i} class={`y-${token.kind}`}>
          {token.text}
        </span>
      ))}
    </>
  );
}

function Line({
  line,
  index,
  origin,
  found,
}: {
  line: YamlLine;
  index: number;
  origin: string | undefined;
  found: boolean;
}) {
  const kind = origin ? kindOf(origin) : null;
  return (
    <div class={`code-line${found ? " found" : ""}${kind === "default" ? " by-default" : ""}`}>
      <span class="line-number" aria-hidden="true">
        {index + 1}
      </span>
      <code>
        <YamlText line={line.text} />
      </code>
      {origin && (
        <span class={`origin ${kind}`} title={`${line.path}: ${origin}`}>
          {origin.replace(/^.*\/(?=[^/]+:\d)/, "")}
        </span>
      )}
    </div>
  );
}

function Resolved({
  text,
  origins,
  hideDefaults,
  filter,
}: {
  text: string;
  origins: Origins;
  hideDefaults: boolean;
  filter: string;
}) {
  const lines = useMemo(() => yamlLines(text), [text]);
  const originOf = (path: string | null) => {
    if (path === null) return undefined;
    const dotted = path.replace(/\[(\d+)\]/g, ".$1");
    return origins.get(path) ?? origins.get(dotted) ?? origins.get(`${dotted}.0`);
  };
  return (
    <div class="code" tabIndex={0} role="region" aria-label="Configuration">
      {lines.map((line, i) => {
        const origin = originOf(line.path);
        if (hideDefaults && origin && kindOf(origin) === "default") return null;
        return (
          <Line
            key={i}
            line={line}
            index={i}
            origin={origin}
            found={filter !== "" && line.text.includes(filter)}
          />
        );
      })}
    </div>
  );
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

const VIEWS = [
  ["resolved", "resolved"],
  ["submitted", "as sent"],
] as const;

function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <button onClick={() => void copy(text).then(setCopied)}>{copied ? "copied" : "copy"}</button>
  );
}

function HideDefaults({ hidden }: { hidden: boolean }) {
  return (
    <label class="row nowrap">
      <input
        type="checkbox"
        checked={hidden}
        onChange={(e) => setQuery({ defaults: e.currentTarget.checked ? "0" : null })}
      />
      only what was set
    </label>
  );
}

export function Config() {
  const model = current.value as JobModel;
  const stored = useResource(
    () => api.getJobConfig({ id: model.id }),
    [model.id, isRecorded(model.job.value)],
  );
  const { data } = stored;
  const view = query.value.get("view") ?? "resolved";
  const hidden = query.value.get("defaults") === "0";
  const origins = useMemo(() => originsOf(data?.origins), [data]);
  const submitted = view === "submitted";
  const text = (submitted ? data?.submitted : data?.yaml) ?? data?.yaml ?? data?.submitted;
  const note = origins.size > 0 ? `${origins.size} settings with their origins` : undefined;
  return (
    <>
      <PageHeader title="Config" note={note}>
        {data?.submitted && (
          <Choice
            label="Which text"
            value={view}
            options={VIEWS}
            onChange={(value) => setQuery({ view: value === "resolved" ? null : value })}
          />
        )}
        {origins.size > 0 && <HideDefaults hidden={hidden} />}
        <Filter label="Find" placeholder="Find" />
        {text && <CopyButton key={view} text={text} />}
        {!IS_REPORT && (
          <>
            <a class="button" href={href(`/submit?from=${encodeURIComponent(model.id)}`)}>
              <Icon name="fork" />
              use for a new job
            </a>
            <a class="button" href={href(`/sweeps?from=${encodeURIComponent(model.id)}`)}>
              <Icon name="sweeps" />
              sweep
            </a>
          </>
        )}
      </PageHeader>
      <Waiting for={stored} />
      {data && !text && (
        <section class="panel">
          <Empty title="The configuration was not recorded" icon="config" />
        </section>
      )}
      {text && (
        <section class="panel grow code-panel">
          <Resolved
            text={text}
            origins={submitted ? new Map() : origins}
            hideDefaults={hidden}
            filter={query.value.get("filter") ?? ""}
          />
        </section>
      )}
    </>
  );
}

export const page: PageEntry = {
  name: "config",
  order: 160,
  title: "Config",
  icon: "config",
  key: "f",
  view: Config,
  ofJob: true,
  fill: true,
};
