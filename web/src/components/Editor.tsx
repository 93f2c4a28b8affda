/* A text field for YAML: line numbers, colours, and a mark at each diagnostic.
 *
 * It is a plain textarea, so that typing, undo and screen readers work as everywhere; the colours
 * lie under its transparent text. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Diagnostic } from "@generated/client";
import { Icon } from "@/components/Icon";
import { YamlText } from "@/pages/Config";

export interface EditorProps {
  value: string;
  diagnostics: Diagnostic[];
  onInput: (value: string) => void;
  label: string;
  onSubmit: () => void;
}

/* Tab indents, Shift and Tab goes on to the next field: said in the hint below the field. */
function indent(area: HTMLTextAreaElement, onInput: (value: string) => void): void {
  const { selectionStart, selectionEnd, value } = area;
  area.value = `${value.slice(0, selectionStart)}  ${value.slice(selectionEnd)}`;
  area.selectionStart = area.selectionEnd = selectionStart + 2;
  onInput(area.value);
}

/* A new line begins where the last one did. */
function breakLine(area: HTMLTextAreaElement, onInput: (value: string) => void): void {
  const { selectionStart, selectionEnd, value } = area;
  const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
  const blanks = (/^\s*/.exec(line)?.[0] ?? "") + (/:\s*$/.test(line) ? "  " : "");
  area.value = `${value.slice(0, selectionStart)}\n${blanks}${value.slice(selectionEnd)}`;
  area.selectionStart = area.selectionEnd = selectionStart + 1 + blanks.length;
  onInput(area.value);
}

export function Editor({ value, diagnostics, onInput, label, onSubmit }: EditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const under = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => value.split("\n"), [value]);
  const firstByLine = useMemo(() => {
    const byLine = new Map<number, Diagnostic>();
    for (const one of diagnostics) if (one.line && !byLine.has(one.line)) byLine.set(one.line, one);
    return byLine;
  }, [diagnostics]);
  const scroll = () => {
    if (area.current && under.current)
      under.current.style.transform = [area.current.scrollLeft, area.current.scrollTop]
        .map((by, i) => `translate${i === 0 ? "X" : "Y"}(${-by}px)`)
        .join(" ");
  };
  useLayoutEffect(scroll, [value]);
  const keys = (event: KeyboardEvent) => {
    const field = area.current as HTMLTextAreaElement;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSubmit();
    else if (event.key === "Tab" && !event.shiftKey) indent(field, onInput);
    else if (event.key === "Enter" && !event.shiftKey) breakLine(field, onInput);
    else if (event.key === "Escape") {
      document.querySelector<HTMLElement>("[data-after-editor]")?.focus();
    } else return;
    event.preventDefault();
  };
  return (
    <div class="editor">
      <div class="under" aria-hidden="true">
        <div ref={under}>
          {lines.map((line, i) => {
            const diagnostic = firstByLine.get(i + 1);
            return (
              <div key={i} class={diagnostic ? "edit-line faulty" : "edit-line"}>
                <span class="line-number">{diagnostic ? <Icon name="warn" /> : i + 1}</span>
                <code>
                  <YamlText line={line} />
                </code>
                {diagnostic && <span class="inline-diagnostic">{diagnostic.message}</span>}
              </div>
            );
          })}
        </div>
      </div>
      <textarea
        ref={area}
        value={value}
        aria-label={label}
        spellcheck={false}
        wrap="off"
        autocapitalize="off"
        autocomplete="off"
        aria-invalid={firstByLine.size > 0}
        aria-describedby="diagnostics"
        onScroll={scroll}
        onKeyDown={keys}
        onInput={(e) => onInput(e.currentTarget.value)}
      />
    </div>
  );
}

/** Moves the caret to a diagnostic. */
export function showPlace(line: number, column: number): void {
  const area = document.querySelector<HTMLTextAreaElement>(".editor textarea");
  if (!area) return;
  const before = area.value.split("\n").slice(0, line - 1);
  const at = before.reduce((all, text) => all + text.length + 1, 0) + Math.max(0, column - 1);
  area.focus();
  area.setSelectionRange(at, at);
  const lineHeight = area.scrollHeight / Math.max(1, area.value.split("\n").length);
  area.scrollTop = Math.max(0, (line - 5) * lineHeight);
}
