/* The editor of configurations: CodeMirror, in a file of its own that only the page Submit loads.
 *
 * It stands in a shadow root: there CodeMirror adopts style sheets made by script, while in the
 * document it would insert a <style> element, which the content security policy refuses. */
import {
  acceptCompletion,
  autocompletion,
  completionKeymap,
  startCompletion,
} from "@codemirror/autocomplete";
import {
  defaultKeymap,
  history,
  historyKeymap,
  indentLess,
  indentMore,
} from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  HighlightStyle,
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, StateEffect, StateField, type Text } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  WidgetType,
  drawSelection,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
  type DecorationSet,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Diagnostic } from "@generated/client";
import { completionOf, documentationOf } from "@/editor/completion";
import type { Schema } from "@/editor/schema";

export interface EditorOptions {
  text: string;
  label: string;
  onChange: (text: string) => void;
  onSubmit: () => void;
  onLeave: () => void;
}

export interface EditorHandle {
  set: (text: string) => void;
  setSchema: (schema: object) => void;
  setFaults: (faults: Diagnostic[]) => void;
  show: (line: number, column: number) => void;
  destroy: () => void;
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--link)" },
  { tag: tags.comment, color: "var(--text-faint)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.brace], color: "var(--text-faint)" },
  { tag: [tags.string, tags.content], color: "var(--text)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--panel)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { font: "13px/20px var(--mono)", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--panel)",
    color: "var(--text-faint)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--selected)" },
  ".cm-selectionMatch": { backgroundColor: "var(--warn-soft)" },
  ".cm-faulty": { backgroundColor: "var(--bad-soft)" },
  ".cm-fault": { color: "var(--bad)", paddingLeft: "20px", font: "12px/20px var(--font)" },
  ".cm-tooltip": {
    backgroundColor: "var(--panel-raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    boxShadow: "var(--shadow-raised)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { font: "12px/1.5 var(--mono)", maxWidth: "92vw" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--selected)",
    color: "var(--text)",
  },
  ".cm-completionDetail": { color: "var(--text-soft)", fontStyle: "normal" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-tooltip.cm-completionInfo, .cm-doc": {
    padding: "6px 10px",
    maxWidth: "44ch",
    font: "12px/1.45 var(--font)",
  },
  /* Not the images of the original: the content security policy refuses them. */
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  ".cm-lint-marker-error": { content: "normal" },
  ".cm-lint-marker-error::after": { content: "'!'", color: "var(--bad)", fontWeight: "700" },
  ".cm-diagnostic": { font: "12px/1.45 var(--font)", borderLeftColor: "var(--bad)" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)" },
  ".cm-textfield, .cm-button": {
    backgroundColor: "var(--panel)",
    backgroundImage: "none",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
  },
});

/* ---- faults: at their lines, behind the text ---- */

class Message extends WidgetType {
  constructor(private readonly text: string) {
    super();
  }
  override eq(other: Message): boolean {
    return other.text === this.text;
  }
  toDOM(): HTMLElement {
    const dom = document.createElement("span");
    dom.className = "cm-fault";
    dom.textContent = this.text;
    return dom;
  }
}

const setFaults = StateEffect.define<Diagnostic[]>();

const lineOf = (doc: Text, one: Diagnostic) => doc.line(Math.min(doc.lines, one.line ?? 1));

function decorated(doc: Text, faults: Diagnostic[]): DecorationSet {
  const first = new Map<number, Diagnostic>();
  for (const one of faults)
    if (one.line && one.line <= doc.lines && !first.has(one.line)) first.set(one.line, one);
  return Decoration.set(
    [...first.values()].flatMap((one) => {
      const line = lineOf(doc, one);
      return [
        Decoration.line({ class: "cm-faulty" }).range(line.from),
        Decoration.widget({ widget: new Message(one.message), side: 1 }).range(line.to),
      ];
    }),
    true,
  );
}

const faultLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (old, transaction) => {
    for (const effect of transaction.effects)
      if (effect.is(setFaults)) return decorated(transaction.state.doc, effect.value);
    return old.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

function diagnosticOf(doc: Text, one: Diagnostic) {
  const line = lineOf(doc, one);
  const from = Math.min(line.to, line.from + Math.max(0, (one.column ?? 1) - 1));
  const word = /^[\w./-]+/.exec(line.text.slice(from - line.from))?.[0].length ?? 1;
  return {
    from,
    to: Math.min(line.to, from + word),
    severity: "error" as const,
    message: [one.message, one.hint].filter(Boolean).join(" "),
  };
}

/* Text that replaces a selection, before the browser edits the document: Chromium would keep the
 * colour of what is replaced in a style attribute, which the content security policy refuses. */
const replaceSelection = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { data, inputType } = event;
    if (inputType !== "insertText" || data === null || view.composing) return false;
    if (view.state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch({
      ...view.state.replaceSelection(data),
      userEvent: "input.type",
      scrollIntoView: true,
    });
    return true;
  },
});

/* ---- keys ---- */

const moves = (options: EditorOptions) =>
  keymap.of([
    { key: "Mod-Enter", run: () => (options.onSubmit(), true) },
    { key: "Tab", run: acceptCompletion },
    { key: "Tab", run: indentMore, shift: indentLess },
    { key: "Ctrl-Space", run: startCompletion },
    ...completionKeymap,
    ...lintKeymap,
    ...searchKeymap,
    ...historyKeymap,
    /* Behind all others: it closes lists and panels first. */
    { key: "Escape", run: () => (options.onLeave(), true) },
    ...defaultKeymap,
  ]);

export function mount(host: HTMLElement, options: EditorOptions): EditorHandle {
  let schema: Schema | null = null;
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const known = () => schema;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        moves(options),
        yaml(),
        indentUnit.of("  "),
        indentOnInput(),
        bracketMatching(),
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search({ top: true }),
        syntaxHighlighting(colours),
        autocompletion({ override: [completionOf(known)], icons: false }),
        hoverTooltip(documentationOf(known)),
        faultLines,
        replaceSelection,
        theme,
        EditorView.contentAttributes.of({
          "aria-label": options.label,
          tabindex: "0",
          "aria-describedby": "diagnostics",
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  const doc = () => view.state.doc;
  return {
    set: (text) => {
      if (text !== doc().toString())
        view.dispatch({ changes: { from: 0, to: doc().length, insert: text } });
    },
    setSchema: (found) => (schema = found as Schema),
    setFaults: (faults) =>
      view.dispatch(
        setDiagnostics(
          view.state,
          faults.filter((one) => one.line).map((one) => diagnosticOf(doc(), one)),
        ),
        { effects: setFaults.of(faults) },
      ),
    show: (line, column) => {
      const { from, to } = doc().line(Math.min(doc().lines, Math.max(1, line)));
      const at = Math.min(to, from + Math.max(0, column - 1));
      view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}
