/* What a configuration accepts at a place of its text, by the API's JSON Schema of CONFIG.yaml.
 *
 * The text may be half written, so that the place comes from indentation and brackets, not from a
 * parser. */

export interface Schema {
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}

/** Keys from the outermost on; the entries of lists have no key of their own. */
export type Path = string[];

export interface Place {
  path: Path;
  /** A value of the last key of `path` is being written, not a key below it. */
  isValue: boolean;
  /** What is written of the word so far. */
  word: string;
}

const KEY = /^(\s*(?:- +)*)(?:"([^"]*)"|'([^']*)'|([^\s#:{}[\],][^:#{}[\],]*?)) *:(?:\s|$)/;

interface BlockLine {
  indent: number;
  key: string | null;
  rest: string;
}

function blockLine(line: string): BlockLine {
  const match = KEY.exec(line);
  if (!match) {
    const lead = /^\s*(?:- +)*/.exec(line)?.[0] ?? "";
    return { indent: lead.length, key: null, rest: line.slice(lead.length) };
  }
  const key = match[2] ?? match[3] ?? match[4] ?? "";
  return { indent: (match[1] as string).length, key, rest: line.slice(match[0].length) };
}

/* The keys above a line that is indented by `indent`. */
function parentsOf(lines: string[], above: number, indent: number): Path {
  const path: Path = [];
  let within = indent;
  for (let i = above - 1; i >= 0 && within > 0; i--) {
    const line = lines[i] as string;
    if (/^\s*(#|$)/.test(line)) continue;
    const { indent: at, key, rest } = blockLine(line);
    if (at >= within) continue;
    if (key !== null && /^\s*(#|$)/.test(rest)) path.unshift(key);
    within = Math.min(within, at);
  }
  return path;
}

interface FlowLevel {
  key: string | null;
  isMapping: boolean;
}

/* Inside {a: {b: ... and [x, ...: the keys that lead there, from the first bracket on. */
function flowPlace(text: string, path: Path): Place | null {
  const levels: FlowLevel[] = [];
  let word = "";
  let quoted = "";
  for (const c of text) {
    if (quoted) quoted = c === quoted ? "" : quoted;
    else if (c === '"' || c === "'") quoted = c;
    else if (c === "{" || c === "[") {
      levels.push({ key: null, isMapping: c === "{" });
      word = "";
    } else if (c === "}" || c === "]") {
      levels.pop();
      word = "";
    } else if (c === ",") {
      const level = levels[levels.length - 1];
      if (level) level.key = null;
      word = "";
    } else if (c === ":") {
      const level = levels[levels.length - 1];
      if (level) level.key = word.trim();
      word = "";
    } else word += c;
  }
  const last = levels[levels.length - 1];
  if (!last) return null;
  const keys = levels.flatMap((level) => (level.key === null ? [] : [level.key]));
  return {
    path: [...path, ...keys],
    isValue: !last.isMapping || last.key !== null,
    word: word.trimStart(),
  };
}

/** Where in the configuration the end of `before` (the text up to the cursor) stands. */
export function placeOf(before: string): Place | null {
  const lines = before.split("\n");
  const index = lines.length - 1;
  const line = lines[index] as string;
  if (/(^|\s)#/.test(line)) return null;
  const { indent, key, rest } = blockLine(line);
  const parents = parentsOf(lines, index, indent);
  if (key === null) {
    if (/^[{[]/.test(rest)) return flowPlace(rest, parents);
    return { path: parents, isValue: false, word: rest };
  }
  const path = [...parents, key];
  const value = rest.trimStart();
  return /^[{[]/.test(value) ? flowPlace(value, path) : { path, isValue: true, word: value };
}

/* The values that stand below the keys of `path`, as far as lines tell. */
function valueBelow(text: string, path: Path, key: string): string | null {
  const lines = text.split("\n");
  const wanted = [...path, key].join("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    const { indent, key: own, rest } = blockLine(line);
    if (own === null) continue;
    const full = [...parentsOf(lines, i, indent), own];
    if (full.join("\n") === wanted) return rest.replace(/(^|\s)#.*/, "").trim();
    const brackets = /^\s*\{/.test(rest) && full.length <= path.length;
    if (!brackets || full.some((part, k) => part !== path[k])) continue;
    const found = new RegExp(`[{,]\\s*${key}:\\s*([^,}\\s]+)`).exec(rest);
    if (found) return found[1] as string;
  }
  return null;
}

/* The alternatives of a schema; where one key tells them apart (the name of a model), those that
 * its value allows. */
function alternatives(schema: Schema, text: string, path: Path): Schema[] {
  if (!schema.anyOf) return [schema];
  const all = schema.anyOf.flatMap((one) => [one, ...(one.items ? [one.items] : [])]);
  const fits = all.filter((one) =>
    Object.entries(one.properties ?? {}).every(([key, property]) => {
      if (property.const === undefined) return true;
      const value = valueBelow(text, path, key);
      return value === null || value === "" || value === property.const;
    }),
  );
  return fits.length > 0 ? fits : all;
}

/** The schemas of the setting at `path` in `text`. */
export function schemasAt(root: Schema, text: string, path: Path): Schema[] {
  let found: Schema[] = [root];
  path.forEach((key, i) => {
    const above = path.slice(0, i);
    found = found
      .flatMap((one) => alternatives(one, text, above))
      .flatMap((one) => one.properties?.[key] ?? one.items?.properties?.[key] ?? []);
  });
  return found.flatMap((one) => [one, ...alternatives(one, text, path).filter((a) => a !== one)]);
}

/** The settings that may stand below `path`, with those of every alternative. */
export function membersAt(root: Schema, text: string, path: Path): Map<string, Schema[]> {
  const members = new Map<string, Schema[]>();
  for (const one of schemasAt(root, text, path))
    for (const [name, schema] of Object.entries(one.properties ?? one.items?.properties ?? {}))
      members.set(name, [...(members.get(name) ?? []), schema]);
  return members;
}

const typesOf = (schema: Schema): string[] => [schema.type ?? []].flat();

/** The words that are accepted as the value of a setting. */
export function valuesOf(schemas: Schema[]): string[] {
  const words = schemas.flatMap((one) => [
    ...(one.enum ?? []).map(String),
    ...(one.const !== undefined ? [String(one.const)] : []),
    ...(typesOf(one).includes("boolean") ? ["true", "false"] : []),
    ...(typesOf(one).includes("null") && one.default === null ? ["null"] : []),
  ]);
  return [...new Set(words)];
}

const plain = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

/** What a setting accepts: "integer 1..64, default 1". */
export function acceptedText(schema: Schema): string {
  const choices = schema.enum?.map(plain).join(", ");
  const many = schema.properties || schema.anyOf ? "settings" : "";
  const type = typesOf(schema)
    .filter((one) => one !== "null")
    .map((one) => (one === "array" ? `list of ${typesOf(schema.items ?? {}).join()}s` : one));
  const most = schema.maximum !== undefined && schema.maximum < 1e15 ? schema.maximum : "";
  const range = schema.minimum !== undefined ? ` ${schema.minimum}..${most}` : "";
  const parts = [choices || many || (type.length > 2 ? "text" : `${type.join(" or ")}${range}`)];
  if (schema.default !== undefined) parts.push(`default ${plain(schema.default)}`);
  return parts.filter(Boolean).join("; ");
}

/** Whether settings of its own follow on the lines below. */
export const isSection = (schemas: Schema[]): boolean =>
  schemas.some((one) => one.properties !== undefined || one.anyOf !== undefined);
