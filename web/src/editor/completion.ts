/* Completion and documentation of settings, by the schema. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { EditorView, Tooltip } from "@codemirror/view";
import {
  acceptedText,
  isSection,
  membersAt,
  placeOf,
  schemasAt,
  valuesOf,
  type Place,
  type Schema,
} from "@/editor/schema";

const INDENT = "  ";

function keyOptions(root: Schema, text: string, place: Place, line: string): Completion[] {
  const present = new Set<string>();
  const lead = (/^\s*(?:- +)*/.exec(line)?.[0] ?? "").length;
  const inFlow = /[{[]/.test(line);
  return [...membersAt(root, text, place.path)]
    .filter(([name]) => !present.has(name))
    .map(([name, schemas]) => {
      const [first] = schemas as [Schema];
      const below = isSection(schemas) && !inFlow;
      return {
        label: name,
        type: isSection(schemas) ? "namespace" : "property",
        detail: acceptedText(first),
        info: first.description ?? "",
        apply: below ? `${name}:\n${" ".repeat(lead)}${INDENT}` : `${name}: `,
      };
    });
}

function valueOptions(root: Schema, text: string, place: Place): Completion[] {
  const schemas = schemasAt(root, text, place.path);
  const about = new Map(
    schemas.flatMap((one) =>
      one.const !== undefined ? [[String(one.const), one.description ?? ""]] : [],
    ) as [string, string][],
  );
  const usual = schemas.find((one) => one.default !== undefined)?.default;
  const words = valuesOf(schemas).map((value) => ({
    label: value,
    type: "enum",
    info: about.get(value) ?? "",
    detail: String(usual) === value ? "default" : "",
  }));
  /* {SGD: {...}}: the name of a plugin is a key, on a line of its own. */
  return words;
}

/** A source of completions over the schema that `schema` returns (null: not there yet). */
export function completionOf(schema: () => Schema | null) {
  return (context: CompletionContext): CompletionResult | null => {
    const root = schema();
    const text = context.state.doc.toString();
    const place = placeOf(text.slice(0, context.pos));
    if (!root || !place) return null;
    if (!context.explicit && place.word === "" && !place.isValue) return null;
    const line = context.state.doc.lineAt(context.pos).text;
    /* Alternatives are told apart by the other settings, not by the one that is being written. */
    const others = place.isValue
      ? text.slice(0, context.pos - place.word.length) + text.slice(context.pos)
      : text;
    const options = place.isValue
      ? valueOptions(root, others, place)
      : keyOptions(root, others, place, line);
    if (options.length === 0) return null;
    return { from: context.pos - place.word.length, options, validFor: /^[\w./-]*$/ };
  };
}

/** The documentation of the setting under the pointer. */
export function documentationOf(schema: () => Schema | null) {
  return (view: EditorView, position: number): Tooltip | null => {
    const root = schema();
    const line = view.state.doc.lineAt(position);
    const key = /^\s*(?:- +)*([\w.]+) *:/.exec(line.text);
    const end = key ? line.from + key[0].length : 0;
    if (!root || !key || position > end) return null;
    const text = view.state.doc.toString();
    const place = placeOf(text.slice(0, end));
    const found = place && schemasAt(root, text, place.path)[0];
    if (!found) return null;
    return {
      pos: end - key[1]!.length - 1,
      end,
      above: true,
      create: () => {
        const dom = document.createElement("div");
        dom.className = "cm-doc";
        const accepted = document.createElement("strong");
        accepted.textContent = acceptedText(found);
        dom.append(accepted, document.createElement("br"), found.description ?? "");
        return { dom };
      },
    };
  };
}
