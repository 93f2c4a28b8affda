/* Just enough of YAML to show it: which dotted setting stands on which line, and what is a key, a
 * value or a comment. The engine checks; this only colours. */

export interface YamlLine {
  text: string;
  /** Dotted path of the key on this line, or null. */
  path: string | null;
}

const KEY = /^(\s*)((?:- +)*)(?:"([^"]*)"|'([^']*)'|([^\s#:][^:#]*?)) *:(?:\s|$)/;
const ITEM = /^(\s*)- /;

interface Level {
  indent: number;
  name: string;
  items: number;
}

export function yamlLines(text: string): YamlLine[] {
  const levels: Level[] = [];
  return text.split("\n").map((line) => {
    if (/^\s*(#|$)/.test(line)) return { text: line, path: null };
    const item = ITEM.exec(line);
    if (item) {
      const indent = (item[1] as string).length;
      while (
        levels.length > 0 &&
        (levels[levels.length - 1] as Level).indent >= indent &&
        !(
          (levels[levels.length - 1] as Level).indent === indent &&
          (levels[levels.length - 1] as Level).items >= 0
        )
      )
        levels.pop();
      const top = levels[levels.length - 1];
      if (top && top.items >= 0 && top.indent === indent) top.items++;
      else levels.push({ indent, name: "", items: 0 });
    }
    const key = KEY.exec(line);
    if (!key) return { text: line, path: null };
    const indent = (key[1] as string).length + (key[2] as string).length;
    while (levels.length > 0 && (levels[levels.length - 1] as Level).indent >= indent) levels.pop();
    levels.push({ indent, name: key[3] ?? key[4] ?? key[5] ?? "", items: -1 });
    const path = levels
      .map((level) => (level.items >= 0 ? `[${level.items}]` : level.name))
      .join(".")
      .replaceAll(".[", "[");
    return { text: line, path };
  });
}

export interface Token {
  kind: "key" | "value" | "comment" | "mark";
  text: string;
}

export function tokensOf(line: string): Token[] {
  const tokens: Token[] = [];
  const comment = /(^|\s)#.*$/.exec(line);
  const body = comment ? line.slice(0, comment.index) : line;
  const key = KEY.exec(`${body} `);
  if (key) {
    const colon = body.indexOf(":", (key[1] as string).length);
    tokens.push({ kind: "key", text: body.slice(0, colon) }, { kind: "mark", text: ":" });
    if (body.length > colon + 1) tokens.push({ kind: "value", text: body.slice(colon + 1) });
  } else if (body) tokens.push({ kind: "value", text: body });
  if (comment) tokens.push({ kind: "comment", text: line.slice(comment.index) });
  return tokens;
}
