/* Shortcuts: "g" and a letter opens a page, "/" focuses the page's filter, Ctrl and "k" asks where
 * to go, "?" lists them. */
import { useEffect } from "preact/hooks";
import { navigate } from "@/base/route";
import { PAGES } from "@/frame/pages";

const SEQUENCE_MS = 1200;

/* The editor stands in a shadow root: the event's own target is then only its host. */
function isTyping(event: Event): boolean {
  const [target] = event.composedPath();
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

interface KeyboardProps {
  job: string | null;
  onHelp: () => void;
  onPalette: () => void;
}

export function Keyboard({ job, onHelp, onPalette }: KeyboardProps) {
  useEffect(() => {
    let started = -Infinity;
    const press = (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open]")) return;
      if (event.key === "k" && (event.ctrlKey || event.metaKey) && !event.defaultPrevented) {
        event.preventDefault();
        onPalette();
      }
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      const entry = PAGES.find((page) => page.key === event.key && (!page.ofJob || job));
      /* The time of the key press; a busy page may handle the event later. */
      if (event.timeStamp - started < SEQUENCE_MS && entry) {
        started = -Infinity;
        event.preventDefault();
        navigate(
          entry.ofJob ? `/jobs/${encodeURIComponent(job ?? "")}/${entry.name}` : `/${entry.name}`,
        );
      } else if (event.key === "g") started = event.timeStamp;
      else if (event.key === "?") onHelp();
      else if (event.key === "/") {
        const filter = document.querySelector<HTMLInputElement>("main input[type=search]");
        if (filter) event.preventDefault();
        filter?.focus();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [job]);
  return null;
}
