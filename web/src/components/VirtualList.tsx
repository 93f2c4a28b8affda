/* A list of any length: only the rows in view are in the document. With `follow` it stays at its
 * end as rows arrive, until the reader scrolls up. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface VirtualListProps<T> {
  rows: readonly T[];
  rowHeight: number;
  render: (row: T, index: number) => ComponentChildren;
  keyOf: (row: T, index: number) => string | number;
  label: string;
  follow?: boolean;
  onFollow?: (follow: boolean) => void;
  header?: ComponentChildren;
}

const EXTRA_ROWS = 8;

export function VirtualList<T>(props: VirtualListProps<T>) {
  const { rows, rowHeight, follow } = props;
  const host = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const own = useRef(0);

  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() =>
      setView((old) => ({ ...old, height: element.clientHeight })),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = host.current;
    if (!follow || !element) return;
    own.current = performance.now();
    element.scrollTop = element.scrollHeight;
  }, [rows, follow, view.height]);

  const scroll = () => {
    const element = host.current;
    if (!element) return;
    setView({ top: element.scrollTop, height: element.clientHeight });
    if (performance.now() - own.current < 120) return;
    const atEnd = element.scrollTop + element.clientHeight > element.scrollHeight - rowHeight;
    if (atEnd !== (follow ?? false)) props.onFollow?.(atEnd);
  };

  const first = Math.max(0, Math.floor(view.top / rowHeight) - EXTRA_ROWS);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + EXTRA_ROWS);
  return (
    <div
      class="virtual"
      ref={host}
      onScroll={scroll}
      tabIndex={0}
      role="region"
      aria-label={`${props.label}, ${rows.length} rows`}
    >
      {props.header}
      <div class="rows" style={{ height: `${rows.length * rowHeight}px` }}>
        <div style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {rows.slice(first, last).map((row, i) => (
            <div
              class="line"
              key={props.keyOf(row, first + i)}
              style={{ height: `${rowHeight}px` }}
            >
              {props.render(row, first + i)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
