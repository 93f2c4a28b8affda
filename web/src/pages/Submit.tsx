/* A new job, from a shipped configuration, a file or another job's: it is checked while it is typed,
 * and diagnostics appear at their lines. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  api,
  type Diagnostic,
  type JobSpec,
  type Priority,
  type Template,
} from "@generated/client";
import { ApiError } from "@/api/transport";
import { debounce, useResource } from "@/base/resource";
import { navigate, query, setQuery } from "@/base/route";
import { Icon } from "@/components/Icon";
import { Editor, showPlace } from "@/components/Editor";
import { Empty, PageHeader, Pick } from "@/components/parts";
import { tell } from "@/job/actions";
import type { PageEntry } from "@/frame/page";

const CHECK_MS = 350;
const RETRY_MS = 2000;

/* What the page opens with: it runs anywhere, in a second or two. */
const FIRST_TEMPLATE = "synthetic";

interface Form {
  name: string;
  priority: Priority;
  labels: string;
  cores: string;
  restarts: string;
  resumeJob: string;
  resumeStep: string;
}

interface Check {
  state: "unknown" | "checking" | "valid" | "faulty";
  diagnostics: Diagnostic[];
  milliseconds: number;
}

const problemFaults = (error: ApiError): Diagnostic[] =>
  error.problem.errors?.length ? error.problem.errors : [{ message: error.message }];

function useCheck(text: string): [Check, (check: Check) => void] {
  const [check, setCheck] = useState<Check>({ state: "unknown", diagnostics: [], milliseconds: 0 });
  const turn = useRef(0);
  const ask = useMemo(() => {
    const send = (config: string) => {
      const mine = ++turn.current;
      setCheck((old) => ({ ...old, state: "checking" }));
      api.validateConfig({}, { config }).then(
        (answer) =>
          mine === turn.current &&
          setCheck({
            state: answer.valid ? "valid" : "faulty",
            diagnostics: answer.diagnostics,
            milliseconds: answer.milliseconds,
          }),
        (error: ApiError) => {
          if (mine !== turn.current) return;
          // As many checks as may run at once are under way: this one comes again.
          if (error.problem.status === 503)
            setTimeout(() => mine === turn.current && send(config), RETRY_MS);
          else setCheck({ state: "faulty", diagnostics: problemFaults(error), milliseconds: 0 });
        },
      );
    };
    return debounce(send, CHECK_MS);
  }, []);
  useEffect(() => {
    if (text.trim()) ask(text);
  }, [text]);
  return [check, setCheck];
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .split(/[\s,]+/)
      .filter(Boolean)
      .map((word) => {
        const [key, ...value] = word.split("=");
        return [key as string, value.join("=")];
      }),
  );
}

function specOf(config: string, form: Form): JobSpec {
  const spec: JobSpec = { config, priority: form.priority };
  if (form.name.trim()) spec.name = form.name.trim();
  const labels = labelsOf(form.labels);
  if (Object.keys(labels).length > 0) spec.labels = labels;
  if (form.cores) spec.resources = { cores: Number(form.cores) };
  if (form.restarts) spec.restart_policy = { max_num_restarts: Number(form.restarts) };
  if (form.resumeJob)
    spec.resume_from = {
      job: form.resumeJob,
      ...(form.resumeStep !== "" ? { step: Number(form.resumeStep) } : {}),
    };
  return spec;
}

function Faults({ check }: { check: Check }) {
  if (check.state === "valid")
    return (
      <p class="banner good">
        <Icon name="check" />
        <span>No fault found ({check.milliseconds.toFixed(0)} ms).</span>
      </p>
    );
  if (check.diagnostics.length === 0) return <p class="faint small">Checked while you type.</p>;
  return (
    <ul class="faults">
      {check.diagnostics.map((one, i) => (
        <li key={i}>
          <Icon name="warn" />
          <span>
            {one.line && (
              <button class="link number" onClick={() => showPlace(one.line ?? 1, one.column ?? 1)}>
                line {one.line}
                {one.column ? `, column ${one.column}` : ""}
              </button>
            )}{" "}
            {one.message}
            {one.hint && <span class="soft"> {one.hint}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Fields({ form, set }: { form: Form; set: (part: Partial<Form>) => void }) {
  const text = (
    name: keyof Form,
    label: string,
    hint: string,
    type: "text" | "number" = "text",
  ) => (
    <div class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        type={type as "text"}
        min={0}
        value={form[name]}
        placeholder={hint}
        onInput={(e) => set({ [name]: e.currentTarget.value })}
      />
    </div>
  );
  return (
    <div class="fields">
      {text("name", "Name", "for people")}
      <div class="field">
        <label for="priority">Priority</label>
        <select
          id="priority"
          value={form.priority}
          onChange={(e) => set({ priority: e.currentTarget.value as Priority })}
        >
          <option value="p0">p0, first</option>
          <option value="p1">p1</option>
          <option value="p2">p2</option>
          <option value="p3">p3, last</option>
        </select>
      </div>
      {text("labels", "Labels", "team=vision purpose=test")}
      {text("cores", "Cores", "as many as replicas", "number")}
      {text("restarts", "Restarts after a failure", "0", "number")}
      {text("resumeJob", "Start from the job", "from scratch")}
      {form.resumeJob && text("resumeStep", "at its checkpoint of step", "newest", "number")}
    </div>
  );
}

const newKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");

/* Idempotency key, derived from the text: submitting the same text twice creates one job. */
function useSubmission(config: string, form: Form, refuse: (check: Check) => void) {
  const [sending, setSending] = useState(false);
  const key = useRef(newKey());
  useEffect(() => {
    key.current = newKey();
  }, [config]);
  const send = async () => {
    setSending(true);
    try {
      const job = await api.createJob({ "Idempotency-Key": key.current }, specOf(config, form));
      tell("good", `${job.name} is ${job.state.toLowerCase()}`);
      navigate(`/jobs/${encodeURIComponent(job.id)}/pulse`);
    } catch (error) {
      refuse({ state: "faulty", diagnostics: problemFaults(error as ApiError), milliseconds: 0 });
      tell("bad", `The job was refused: ${(error as ApiError).message}`);
    }
    setSending(false);
  };
  return { sending, send };
}

function checkText({ state, diagnostics }: Check): string {
  if (state === "unknown") return "";
  if (state !== "faulty") return state;
  return diagnostics.length === 1 ? "1 fault" : `${diagnostics.length} faults`;
}

function EditorPanel({
  config,
  check,
  onChange,
  onSubmit,
}: {
  config: string;
  check: Check;
  onChange: (text: string) => void;
  onSubmit: () => void;
}) {
  return (
    <section class="panel editor-panel">
      <div class="head">
        <h2>Configuration</h2>
        <span class="spacer" />
        <span class={`check ${check.state}`} role="status">
          {checkText(check)}
        </span>
      </div>
      <Editor
        value={config}
        diagnostics={check.diagnostics}
        onInput={onChange}
        label="Configuration, YAML"
        onSubmit={onSubmit}
      />
      <p class="hint faint small">
        Ctrl and Space lists what is accepted here; Ctrl and F finds; Tab indents; Escape leaves the
        field; Ctrl and Enter submits.
      </p>
    </section>
  );
}

function FileButton({ onText }: { onText: (text: string) => void }) {
  return (
    <label class="button file">
      Open a file
      <input
        type="file"
        accept=".yaml,.yml"
        onChange={(e) => {
          void e.currentTarget.files?.[0]?.text().then(onText);
        }}
      />
    </label>
  );
}

function emptyForm(job: string, step: string | null): Form {
  return {
    name: "",
    priority: "p2",
    labels: "",
    cores: "",
    restarts: "",
    resumeJob: step !== null ? job : "",
    resumeStep: step ?? "",
  };
}

/* The text to start from: a job's configuration, or a shipped one. */
function useSource(from: string | null, name: string) {
  const job = useResource(
    () => (from ? api.getJobConfig({ id: from }) : Promise.resolve(null)),
    [from],
  );
  const templates = useResource(() => api.listTemplates(), []);
  const all: Template[] = templates.data?.templates ?? [];
  const chosen = all.find((one) => one.name === name) ?? all[0];
  const text = from ? (job.data?.submitted ?? job.data?.yaml) : chosen?.config;
  return { templates: all, chosen: from ? undefined : chosen, text };
}

function TemplatePick({ templates, chosen }: { templates: Template[]; chosen: string }) {
  if (templates.length === 0) return null;
  return (
    <Pick
      label="start from"
      value={chosen}
      options={[
        ...(chosen ? [] : [["", "another job"] as const]),
        ...templates.map((one) => [one.name, one.name] as const),
      ]}
      onChange={(value) => setQuery({ template: value, from: null, step: null })}
    />
  );
}

export function Submit() {
  const from = query.value.get("from");
  const source = useSource(from, query.value.get("template") ?? FIRST_TEMPLATE);
  const version = useResource(() => api.getVersion(), []);
  const [config, setConfig] = useState("");
  const [form, setForm] = useState(() => emptyForm(from ?? "", query.value.get("step")));
  const [check, setCheck] = useCheck(config);
  const { sending, send } = useSubmission(config, form, setCheck);
  useEffect(() => {
    if (source.text) setConfig(source.text);
  }, [source.text]);
  if (version.data?.mode === "run")
    return (
      <Empty title="This server shows one run" icon="submit">
        A server that takes jobs is started with <code>csengine serve --root DIR</code>.
      </Empty>
    );
  const cannot = sending || check.state === "faulty" || !config.trim();
  return (
    <>
      <PageHeader title="Submit" note={from ? `from ${from}` : "a new job"}>
        <TemplatePick templates={source.templates} chosen={source.chosen?.name ?? ""} />
        <FileButton onText={setConfig} />
        <button class="primary" data-after-editor disabled={cannot} onClick={() => void send()}>
          <Icon name="submit" />
          {sending ? "Sending" : "Submit"}
        </button>
      </PageHeader>
      <div class="submit grow">
        <EditorPanel
          config={config}
          check={check}
          onChange={setConfig}
          onSubmit={() => cannot || void send()}
        />
        <div class="stack">
          {source.chosen && <p class="soft small summary">{source.chosen.summary}</p>}
          <section class="panel">
            <h2>Job</h2>
            <div class="body">
              <Fields form={form} set={(part) => setForm((old) => ({ ...old, ...part }))} />
            </div>
          </section>
          <section class="panel">
            <h2>Faults</h2>
            <div class="body" id="diagnostics" aria-live="polite">
              <Faults check={check} />
            </div>
          </section>
        </div>
      </div>
    </>
  );
}

export const page: PageEntry = {
  name: "submit",
  order: 20,
  title: "Submit",
  icon: "submit",
  key: "s",
  view: Submit,
  fill: true,
  live: true,
};
