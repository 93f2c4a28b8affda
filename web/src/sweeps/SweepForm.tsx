/* A sweep over settings of a job: they are marked, given values or ranges, and sent. */
import { useMemo, useState } from "preact/hooks";
import { api, type JobSpec, type SweepSpec } from "@generated/client";
import type { ApiError } from "@/api/transport";
import { useResource } from "@/base/resource";
import { href, navigate } from "@/base/route";
import { yamlLines } from "@/base/yaml";
import { Empty, PageHeader, Pick, Waiting } from "@/components/parts";
import { shortPath } from "@/experiments/names";
import { readSpace, settingsOf, suggest, KINDS, type Kind, type Space } from "@/sweeps/spaces";

const MOST_LISTED = 40;
const METHODS = ["random", "halving", "grid"] as const;

interface Form {
  name: string;
  method: (typeof METHODS)[number];
  trials: string;
  metric: string;
  least: string;
  most: string;
}

function Field({
  label,
  value,
  onInput,
}: {
  label: string;
  value: string;
  onInput: (value: string) => void;
}) {
  return (
    <label class="row nowrap">
      {label}
      <input
        type="text"
        value={value}
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

function SpaceRow({
  path,
  space,
  onChange,
}: {
  path: string;
  space: Space;
  onChange: (space: Space | null) => void;
}) {
  const read = readSpace(space);
  return (
    <li data-path={path}>
      <label class="row" title={path}>
        <input type="checkbox" checked onChange={() => onChange(null)} />
        <code>{path}</code>
      </label>
      <span class="row wrap">
        <Pick
          label="as"
          value={space.kind}
          options={KINDS}
          onChange={(kind) => onChange({ ...space, kind: kind as Kind })}
        />
        <input
          type="text"
          value={space.text}
          spellcheck={false}
          aria-label={`Values of ${shortPath(path)}`}
          aria-invalid={typeof read === "string"}
          onInput={(event) => onChange({ ...space, text: event.currentTarget.value })}
        />
        {typeof read === "string" && <span class="bad-text small">{read}</span>}
      </span>
    </li>
  );
}

function Offered({
  settings,
  onMark,
}: {
  settings: Map<string, string>;
  onMark: (path: string, value: string) => void;
}) {
  const [word, setWord] = useState("");
  const found = [...settings].filter(([path]) => path.includes(word.trim()));
  return (
    <section class="panel">
      <h2>Settings</h2>
      <div class="body">
        <input
          type="search"
          class="filter"
          value={word}
          placeholder="Find"
          aria-label="Find settings"
          onInput={(event) => setWord(event.currentTarget.value)}
        />
        <ul class="spaces">
          {found.slice(0, MOST_LISTED).map(([path, value]) => (
            <li key={path}>
              <label class="row">
                <input type="checkbox" checked={false} onChange={() => onMark(path, value)} />
                <code>
                  {path}: {value}
                </code>
              </label>
            </li>
          ))}
        </ul>
        {found.length > MOST_LISTED && (
          <p class="soft small">
            The first {MOST_LISTED} of {found.length}.
          </p>
        )}
      </div>
    </section>
  );
}

/* What the job was asked for beside its configuration, less what is marked. */
function keptOf(spec: JobSpec | null | undefined, spaces: Map<string, Space>): string[] {
  const marked = [...spaces.keys()];
  return Object.entries(spec?.overrides ?? {}).flatMap(([path, value]) =>
    marked.some((one) => one === path || one.endsWith(`.${path}`)) ? [] : [`${path}=${value}`],
  );
}

function specOf(
  form: Form,
  spaces: Map<string, Space>,
  config: string,
  settings: string[],
): SweepSpec {
  const { name, method, trials, metric, least, most } = form;
  return {
    name,
    config,
    method,
    metric,
    settings,
    parameters: Object.fromEntries([...spaces].map(([path, space]) => [path, readSpace(space)])),
    ...(method === "grid" ? {} : { trials: Number(trials) }),
    ...(method === "halving" ? { steps: { min: Number(least), max: Number(most) } } : {}),
  } as SweepSpec;
}

export function SweepForm({ job }: { job: string }) {
  const stored = useResource(() => api.getJobConfig({ id: job }), [job]);
  const config = stored.data?.submitted ?? stored.data?.yaml;
  const settings = useMemo(
    () => settingsOf(yamlLines(stored.data?.yaml ?? config ?? "")),
    [stored.data],
  );
  const [spaces, setSpaces] = useState<Map<string, Space>>(new Map());
  const [fault, setFault] = useState("");
  const [form, setForm] = useState<Form>({
    name: `${job}-sweep`.slice(0, 128),
    method: "random",
    trials: "8",
    metric: "loss",
    least: "100",
    most: "900",
  });
  const change = (part: Partial<Form>) => setForm({ ...form, ...part });
  const mark = (path: string, space: Space | null) => {
    const next = new Map(spaces);
    if (space) next.set(path, space);
    else next.delete(path);
    setSpaces(next);
  };
  const isReady =
    spaces.size > 0 && [...spaces.values()].every((one) => typeof readSpace(one) !== "string");
  const kept = keptOf(stored.data?.spec, spaces);
  const send = () =>
    api.createSweep({}, specOf(form, spaces, config ?? "", kept)).then(
      ({ name }) => navigate(`/sweeps/${encodeURIComponent(name)}`),
      (error: ApiError) => setFault(error.message),
    );
  const rest = new Map([...settings].filter(([path]) => !spaces.has(path)));
  return (
    <>
      <PageHeader title="New sweep" note={`of the configuration of ${job}`}>
        <a class="button" href={href(`/jobs/${encodeURIComponent(job)}/config`)}>
          Config
        </a>
        <button class="primary" disabled={!isReady} onClick={() => void send()}>
          Start the sweep
        </button>
      </PageHeader>
      <Waiting for={stored} />
      {stored.data && !config && <Empty title="The configuration was not recorded" icon="config" />}
      {config && (
        <div class="stack sweep">
          {fault && (
            <p class="bad-text" role="alert">
              {fault}
            </p>
          )}
          <section class="panel">
            <h2>The sweep</h2>
            <div class="body row wrap">
              <Field label="name" value={form.name} onInput={(name) => change({ name })} />
              <Pick
                label="method"
                value={form.method}
                options={METHODS.map((one) => [one, one] as const)}
                onChange={(method) => change({ method: method as Form["method"] })}
              />
              {form.method !== "grid" && (
                <Field
                  label="trials"
                  value={form.trials}
                  onInput={(trials) => change({ trials })}
                />
              )}
              <Field label="metric" value={form.metric} onInput={(metric) => change({ metric })} />
              {form.method === "halving" && (
                <>
                  <Field
                    label="steps of the first rung"
                    value={form.least}
                    onInput={(least) => change({ least })}
                  />
                  <Field label="at most" value={form.most} onInput={(most) => change({ most })} />
                </>
              )}
            </div>
            {kept.length > 0 && (
              <p class="body soft settings">
                Also, as of the job: <code>{kept.join(" ")}</code>
              </p>
            )}
            {spaces.size === 0 ? (
              <p class="body soft">Mark settings below: each gets values or a range.</p>
            ) : (
              <ul class="spaces body">
                {[...spaces].map(([path, space]) => (
                  <SpaceRow
                    key={path}
                    path={path}
                    space={space}
                    onChange={(next) => mark(path, next)}
                  />
                ))}
              </ul>
            )}
          </section>
          <Offered settings={rest} onMark={(path, value) => mark(path, suggest(value))} />
        </div>
      )}
    </>
  );
}
