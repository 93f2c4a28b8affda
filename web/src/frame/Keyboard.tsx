/* Shortcuts: "g" and a letter opens a page, "/" focuses the page's filter, "?" lists them. */
import { useEffect } from "preact/hooks";
import { navigate } from "@/base/route";
import { Dialog } from "@/components/parts";
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

export function Keyboard({ job, onHelp }: { job: string | null; onHelp: () => void }) {
  useEffect(() => {
    let started = -Infinity;
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open]")) return;
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

const Key = ({ text }: { text: string }) => <kbd>{text}</kbd>;

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="keys">
        {PAGES.map((page) => (
          <div key={page.name}>
            <dt>
              <Key text="g" /> <Key text={page.key} />
            </dt>
            <dd>{page.title}</dd>
          </div>
        ))}
        <div>
          <dt>
            <Key text="/" />
          </dt>
          <dd>the page's filter</dd>
        </div>
        <div>
          <dt>
            <Key text="?" />
          </dt>
          <dd>this list</dd>
        </div>
        <div>
          <dt>
            <Key text="←" /> <Key text="→" />
          </dt>
          <dd>move a chart or graph</dd>
        </div>
        <div>
          <dt>
            <Key text="+" /> <Key text="−" /> <Key text="0" />
          </dt>
          <dd>scale a chart or graph; show all</dd>
        </div>
      </dl>
      <p class="soft small">
        With the mouse: drag selects a range of a chart, Shift and drag moves it, Ctrl and the wheel
        scale it, a double click shows all.
      </p>
    </Dialog>
  );
}
