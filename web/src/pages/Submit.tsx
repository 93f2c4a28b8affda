/* A new job, from a shipped configuration, a file or another job's: it is checked while it is typed,
 * and diagnostics appear at their lines. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type Diagnostic, type Priority, type Template } from "@generated/client";
import { ApiError } from "@/api/transport";
import { debounce, useResource } from "@/base/resource";
import { navigate, query, setQuery } from "@/base/route";
import { Icon } from "@/components/Icon";
import { Prose } from "@/components/Prose";
import { Editor, showPlace, type Given } from "@/components/Editor";
import { Empty, Failure, PageHeader, Pick } from "@/components/parts";
import { tell } from "@/job/actions";
import {
  EMPTY_FORM,
  carriedOf,
  carriedRows,
  formOf,
  specOf,
  type Carried,
  type Form,
} from "@/job/spec";
import type { PageEntry } from "@/frame/page";

const CHECK_MS = 350;
const RETRY_MS = 2000;

/* What the page opens with: it runs anywhere, in a second or two. */
const FIRST_TEMPLATE = "synthetic";

interface Check {
  state: "unknown" | "checking" | "valid" | "faulty";
  diagnostics: Diagnostic[];
  warnings?: Diagnostic[];
  milliseconds: number;
}

const problemFaults = (error: ApiError): Diagnostic[] =>
  error.problem.errors?.length ? error.problem.errors : [{ message: error.message }];

function useCheck(text: string, carried: Carried): [Check, (check: Check) => void] {
  const [check, setCheck] = useState<Check>({ state: "unknown", diagnostics: [], milliseconds: 0 });
  const turn = useRef(0);
  const ask = useMemo(() => {
    const send = (config: string, { overrides }: Carried) => {
      const mine = ++turn.current;
      setCheck((old) => ({ ...old, state: "checking" }));
      api.validateConfig({}, { config, ...(overrides ? { overrides } : {}) }).then(
        (answer) =>
          mine === turn.current &&
          setCheck({
            state: answer.valid ? "valid" : "faulty",
            diagnostics: answer.diagnostics,
            warnings: answer.warnings,
            milliseconds: answer.milliseconds,
          }),
        (error: ApiError) => {
          if (mine !== turn.current) return;
          // As many checks as may run at once are under way: this one comes again.
          if (error.problem.status === 503)
            setTimeout(() => mine === turn.current && send(config, { overrides }), RETRY_MS);
          else setCheck({ state: "faulty", diagnostics: problemFaults(error), milliseconds: 0 });
        },
      );
    };
    return debounce(send, CHECK_MS);
  }, []);
  useEffect(() => {
    if (text.trim() && carried.program === undefined) ask(text, carried);
  }, [text, carried]);
  return [check, setCheck];
}

function Faults({ check }: { check: Check }) {
  if (check.state === "valid")
    return (
      <>
        <p class="banner good">
          <Icon name="check" />
          <span>No fault found ({check.milliseconds.toFixed(0)} ms).</span>
        </p>
        {check.warnings && <FaultList faults={check.warnings} />}
      </>
    );
  if (check.diagnostics.length === 0) return <p class="faint small">Checked while you type.</p>;
  return <FaultList faults={check.diagnostics} />;
}

function FaultList({ faults }: { faults: Diagnostic[] }) {
  if (faults.length === 0) return null;
  return (
    <ul class="faults">
      {faults.map((one, i) => (
        <li key={i}>
          <Icon name="warn" />
          <span>
            {one.line && (
              <button class="link number" onClick={() => showPlace(one.line ?? 1, one.column ?? 1)}>
                line {one.line}
                {one.column ? `, column ${one.column}` : ""}
              </button>
            )}{" "}
            <Prose text={one.message} />
            {one.hint && (
              <span class="soft">
                {" "}
                <Prose text={one.hint} />
              </span>
            )}
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

/* The same idempotency key for the same request: pressing twice creates one job. */
function useSubmission(
  config: string,
  form: Form,
  carried: Carried,
  refuse: (check: Check) => void,
) {
  const [sending, setSending] = useState(false);
  const key = useRef(newKey());
  useEffect(() => {
    key.current = newKey();
  }, [config, form, carried]);
  const send = async () => {
    setSending(true);
    try {
      const spec = specOf(config, form, carried);
      const job = await api.createJob({ "Idempotency-Key": key.current }, spec);
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
  given,
  check,
  onChange,
  onSubmit,
}: {
  config: string;
  given: Given;
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
        given={given}
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

function ProgramPanel() {
  return (
    <section class="panel editor-panel">
      <Empty title="A program of its own" icon="submit">
        It has no configuration: it is started again with the same arguments.
      </Empty>
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
  const spec = from ? job.data?.spec : null;
  const error = from ? job.error : undefined;
  return { templates: all, chosen: from ? undefined : chosen, text, spec, error };
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

/* What another job was asked for, and no field shows: with it the copy is the same run. */
function CarriedPanel({
  from,
  carried,
  set,
}: {
  from: string;
  carried: Carried;
  set: (carried: Carried) => void;
}) {
  const rows = carriedRows(carried);
  if (rows.length === 0) return null;
  return (
    <section class="panel">
      <h2>As {from} was asked for</h2>
      <div class="body">
        <p class="faint small">These hold over the configuration.</p>
        <ul class="carried">
          {rows.map(({ name, value, without }) => (
            <li key={name}>
              <code>
                {name}: {value}
              </code>
              {without && (
                <button class="link" onClick={() => set(without)}>
                  leave out
                </button>
              )}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

/* The form, filled by what the other job was asked for; a checkpoint to start from wins. */
function useForm(from: string | null, spec: ReturnType<typeof useSource>["spec"]) {
  const step = query.value.get("step");
  const start = from && step !== null ? { resumeJob: from, resumeStep: step } : {};
  const [form, setForm] = useState<Form>({ ...EMPTY_FORM, ...start });
  const [carried, setCarried] = useState<Carried>({});
  useEffect(() => {
    setForm({ ...(spec ? formOf(spec) : EMPTY_FORM), ...start });
    setCarried(spec ? carriedOf(spec) : {});
  }, [from, step, spec]);
  return { form, setForm, carried, setCarried };
}

export function Submit() {
  const from = query.value.get("from");
  const source = useSource(from, query.value.get("template") ?? FIRST_TEMPLATE);
  const version = useResource(() => api.getVersion(), []);
  const [config, setConfig] = useState("");
  const [given, setGiven] = useState<Given>({ text: "" });
  const { form, setForm, carried, setCarried } = useForm(from, source.spec);
  const [check, setCheck] = useCheck(config, carried);
  const { sending, send } = useSubmission(config, form, carried, setCheck);
  const give = (text: string) => {
    setConfig(text);
    setGiven({ text });
  };
  useEffect(() => {
    if (source.text) give(source.text);
  }, [source.text]);
  if (version.data?.mode === "run")
    return (
      <Empty title="This server shows one run" icon="submit">
        A server that takes jobs is started with <code>csengine serve --root DIR</code>.
      </Empty>
    );
  if (source.error) return <Failure error={source.error} />;
  const cannot = sending || check.state === "faulty" || !config.trim();
  return (
    <>
      <PageHeader title="Submit" note={from ? `from ${from}` : "a new job"}>
        <TemplatePick templates={source.templates} chosen={source.chosen?.name ?? ""} />
        <FileButton onText={give} />
        <button class="primary" data-after-editor disabled={cannot} onClick={() => void send()}>
          <Icon name="submit" />
          {sending ? "Sending" : "Submit"}
        </button>
      </PageHeader>
      <div class="submit grow">
        {carried.program !== undefined ? (
          <ProgramPanel />
        ) : (
          <EditorPanel
            config={config}
            given={given}
            check={check}
            onChange={setConfig}
            onSubmit={() => cannot || void send()}
          />
        )}
        <div class="stack">
          {source.chosen && <p class="soft small summary">{source.chosen.summary}</p>}
          <section class="panel">
            <h2>Job</h2>
            <div class="body">
              <Fields form={form} set={(part) => setForm((old) => ({ ...old, ...part }))} />
            </div>
          </section>
          {from && <CarriedPanel from={from} carried={carried} set={setCarried} />}
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
