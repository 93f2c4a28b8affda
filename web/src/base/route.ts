/* Which page is shown: the address is the state. Each page, and each filter that can be shared,
 * has its own address; back and forward work.
 *
 * Served by the engine, addresses are paths; in a report, which is one file, they are what follows
 * the "#". Nobody but this file knows the difference. */
import { batch, computed, signal } from "@preact/signals";

declare const IS_REPORT: boolean;

function read(): string {
  if (!IS_REPORT) return location.pathname + location.search;
  return location.hash.length > 1 ? location.hash.slice(1) : "/";
}

const address = signal(read());
const listen = () => {
  address.value = read();
};
addEventListener("popstate", listen);
addEventListener("hashchange", listen);

export const path = computed(() => address.value.split("?")[0] ?? "/");
export const query = computed(() => new URLSearchParams(address.value.split("?")[1] ?? ""));
export const segments = computed(() =>
  path.value
    .split("/")
    .filter(Boolean)
    .map((part) => decodeURIComponent(part)),
);

export const href = (to: string): string => (IS_REPORT ? `#${to}` : to);

export function navigate(to: string, options: { replace?: boolean } = {}): void {
  if (to === address.value) return;
  history[options.replace ? "replaceState" : "pushState"](null, "", href(to));
  const before = path.value;
  batch(() => {
    address.value = to;
  });
  if (path.value !== before) {
    document.querySelector("main")?.scrollTo(0, 0);
    document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
  }
}

/** Sets or (with null or "") drops parameters of the address, without a new entry in the history.
 */
export function setQuery(values: Record<string, string | null>): void {
  const next = new URLSearchParams(query.peek());
  for (const [name, value] of Object.entries(values))
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  const text = next.toString();
  navigate(path.peek() + (text ? `?${text}` : ""), { replace: true });
}

/* Plain clicks on links of ours stay in the page. */
document.addEventListener("click", (event) => {
  const link = (event.target as Element).closest?.("a[href]") as HTMLAnchorElement | null;
  if (!link || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.target || link.hasAttribute("download")) return;
  const to = link.getAttribute("href") ?? "";
  const own = IS_REPORT ? to.startsWith("#/") : to.startsWith("/") && !/^\/(api|assets)\//.test(to);
  if (!own) return;
  event.preventDefault();
  navigate(IS_REPORT ? to.slice(1) : to);
});
