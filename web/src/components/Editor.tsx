/* The field for a configuration. The editor itself is loaded when the page is opened; until it is
 * there, or where it cannot be loaded, the text stands in a plain field. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, type Diagnostic } from "@generated/client";
import type { EditorHandle } from "@/editor/main";

declare const IS_REPORT: boolean;
declare const EDITOR_URL: string;

type EditorModule = typeof import("@/editor/main");

/** A text from elsewhere than the editor. Each object is taken once: what was typed is never set
 * back, however late the page is drawn. */
export interface Given {
  readonly text: string;
}

export interface EditorProps {
  /** The text as it is now. */
  value: string;
  given: Given;
  diagnostics: Diagnostic[];
  onInput: (value: string) => void;
  label: string;
  onSubmit: () => void;
}

/** Moves the cursor of the editor that is shown; set while there is one. */
export let showPlace: (line: number, column: number) => void = () => undefined;

const leave = () => document.querySelector<HTMLElement>("[data-after-editor]")?.focus();

const load = (): Promise<EditorModule> =>
  IS_REPORT
    ? Promise.reject(new Error("a report has no editor"))
    : (import(EDITOR_URL) as Promise<EditorModule>);

export function Editor(props: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorHandle | null>(null);
  const latest = useRef(props);
  const taken = useRef(props.given);
  const [ready, setReady] = useState(false);
  latest.current = props;
  useEffect(() => {
    let gone = false;
    void load().then(
      ({ mount }) => {
        if (gone || !host.current) return;
        const made = mount(host.current, {
          text: latest.current.value,
          label: latest.current.label,
          onChange: (text) => latest.current.onInput(text),
          onSubmit: () => latest.current.onSubmit(),
          onLeave: leave,
        });
        editor.current = made;
        taken.current = latest.current.given;
        showPlace = made.show;
        setReady(true);
        api.getConfigSchema({}).then(made.setSchema, () => undefined);
      },
      () => undefined,
    );
    return () => {
      gone = true;
      editor.current?.destroy();
      editor.current = null;
      showPlace = () => undefined;
    };
  }, []);
  useEffect(() => {
    if (taken.current === props.given) return;
    taken.current = props.given;
    editor.current?.set(props.given.text);
  }, [props.given]);
  useEffect(() => editor.current?.setFaults(props.diagnostics), [props.diagnostics, ready]);
  return (
    <div class="editor">
      <div class="code-mirror" ref={host} />
      {!ready && (
        <textarea
          value={props.value}
          aria-label={props.label}
          spellcheck={false}
          wrap="off"
          aria-describedby="diagnostics"
          onInput={(e) => props.onInput(e.currentTarget.value)}
        />
      )}
    </div>
  );
}
