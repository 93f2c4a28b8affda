/* Elements made by hand: this part of the pages is loaded by one page alone, and brings no library. */
import type { Row } from "@/explore/columns";

type Attributes = Record<string, string | number | boolean | null | ((event: never) => void)>;
type Child = Node | string | null;

const SVG = "http://www.w3.org/2000/svg";

function fill<T extends Element>(made: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === "function") made.addEventListener(name, value as EventListener);
    else if (value !== null && value !== false)
      made.setAttribute(name, value === true ? "" : String(value));
  made.append(...children.filter((one) => one !== null));
  return made;
}

export const html = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] => fill(document.createElement(tag), attributes, children);

export const svg = <K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] => fill(document.createElementNS(SVG, tag), attributes, children);

/** A labelled choice. */
export function pick(
  label: string,
  options: readonly (readonly [string, string])[],
  value: string,
  onChange: (value: string) => void,
): HTMLLabelElement {
  const select = html(
    "select",
    { change: () => onChange(select.value) },
    ...options.map(([key, text]) => html("option", { value: key, selected: key === value }, text)),
  );
  return html("label", { class: "row nowrap" }, label, select);
}

/** A row's name, as a link where it leads somewhere. */
export function nameOf(row: Row, attributes: Attributes = {}): HTMLElement {
  const to = row.href === undefined ? `/jobs/${encodeURIComponent(row.id)}/pulse` : row.href;
  return to === null
    ? html("span", attributes, row.name)
    : html("a", { href: to, ...attributes }, row.name);
}

/** A section with a heading, and what stands beside that. */
export const panel = (title: string, beside: Child[], ...body: Child[]): HTMLElement =>
  html(
    "section",
    { class: "panel" },
    html("div", { class: "head row wrap" }, html("h2", {}, title), ...beside),
    ...body,
  );

/** The colours of series repeat, as in the charts. */
export const colourClass = (index: number): string => `s${index % 8}`;
