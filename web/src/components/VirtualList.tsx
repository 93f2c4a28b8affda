/* A list of any length: only the rows in view are in the document. With `follow` it stays at its
 * end as rows arrive, until the reader scrolls up. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

export interface VirtualListProps<T> {
  rows: readonly T[];
  rowHeight: number;
  /** Rows of different heights: how many times `rowHeight` a row is, in a list of this width. */
  linesOf?: ((row: T, width: number) => number) | undefined;
  /** A row to be brought into view, whenever it changes. */
  show?: number | undefined;
  render: (row: T, index: number) => ComponentChildren;
  keyOf: (row: T, index: number) => string | number;
  label: string;
  follow?: boolean;
  onFollow?: (follow: boolean) => void;
  header?: ComponentChildren;
  /** The rows are those of a table: what they render are its cells. */
  table?: boolean;
}

const EXTRA_ROWS = 8;

/* Where each row begins, in lines, and where the last one ends. */
function startsOf<T>(props: VirtualListProps<T>, width: number): Float64Array | null {
  const { rows, linesOf } = props;
  if (!linesOf) return null;
  const starts = new Float64Array(rows.length + 1);
  rows.forEach((row, i) => (starts[i + 1] = (starts[i] as number) + linesOf(row, width)));
  return starts;
}

/* The last row that begins at or above this line. */
function rowAt(starts: Float64Array, line: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] as number) <= line) low = middle;
    else high = middle;
  }
  return low;
}

export function VirtualList<T>(props: VirtualListProps<T>) {
  const { rows, rowHeight, follow } = props;
  const host = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600, width: 800 });
  const own = useRef(0);
  const starts = useMemo(() => startsOf(props, view.width), [rows, props.linesOf, view.width]);
  const topOf = (row: number) => (starts ? (starts[row] as number) : row) * rowHeight;

  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() =>
      setView((old) => ({ ...old, height: element.clientHeight, width: element.clientWidth })),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = host.current;
    if (!follow || !element) return;
    own.current = performance.now();
    element.scrollTop = element.scrollHeight;
  }, [rows, follow, view.height, starts]);
  useLayoutEffect(() => {
    const element = host.current;
    if (!element || props.show === undefined || props.show >= rows.length) return;
    own.current = performance.now();
    element.scrollTop = topOf(props.show) - element.clientHeight / 3;
  }, [props.show]);

  const scroll = () => {
    const element = host.current;
    if (!element) return;
    setView({ top: element.scrollTop, height: element.clientHeight, width: element.clientWidth });
    if (performance.now() - own.current < 120) return;
    const atEnd = element.scrollTop + element.clientHeight > element.scrollHeight - rowHeight;
    if (atEnd !== (follow ?? false)) props.onFollow?.(atEnd);
  };

  const at = (pixel: number) =>
    starts ? rowAt(starts, pixel / rowHeight) : Math.floor(pixel / rowHeight);
  const inTable = (role: "rowgroup" | "presentation" | "row") => (props.table ? role : undefined);
  const first = Math.max(0, at(view.top) - EXTRA_ROWS);
  const last = Math.min(rows.length, at(view.top + view.height) + 1 + EXTRA_ROWS);
  return (
    <div
      class="virtual"
      ref={host}
      onScroll={scroll}
      tabIndex={0}
      role={props.table ? "table" : "region"}
      aria-label={`${props.label}, ${rows.length} rows`}
      aria-rowcount={props.table ? rows.length + 1 : undefined}
    >
      {props.header}
      <div class="rows" role={inTable("rowgroup")} style={{ height: `${topOf(rows.length)}px` }}>
        <div role={inTable("presentation")} style={{ transform: `translateY(${topOf(first)}px)` }}>
          {rows.slice(first, last).map((row, i) => (
            <div
              class="line"
              role={inTable("row")}
              aria-rowindex={props.table ? first + i + 2 : undefined}
              key={props.keyOf(row, first + i)}
              style={{ height: `${topOf(first + i + 1) - topOf(first + i)}px` }}
            >
              {props.render(row, first + i)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
