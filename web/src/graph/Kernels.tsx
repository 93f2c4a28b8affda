/* Tables of kernels: those of a part of the graph, and the slowest of all. */
import { useEffect, useState } from "preact/hooks";
import { bytes, integer, percent } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { Choice, Empty, Loading } from "@/components/parts";
import { graphClient } from "@/graph/client";
import { shortName } from "@/graph/fold";
import type { KernelRow } from "@/graph/format";
import {
  bytesPerSecond,
  gigabytes,
  shareOf,
  shortTime,
  timeOf,
  type KernelTimes,
  type Timing,
} from "@/job/kernels";
import { notYet } from "@/job/model";

function sumsText({ sums }: KernelRow): string {
  const permitted = sums.permitted.length > 0 ? `, permitted ${sums.permitted.join("; ")}` : "";
  return `sums executed in ${sums.executed.join("; ")}${permitted}`;
}

function describe(row: KernelRow): string {
  return (
    `${row.kind} ${row.id} of the ${row.part} program in ${row.scope || "no module"}; ` +
    sumsText(row)
  );
}

function TimeCells({ row, times }: { row: KernelRow; times: KernelTimes | undefined }) {
  const time = timeOf(times, row);
  if (!time) return <td class="number">–</td>;
  return (
    <td class="number" title={`least ${shortTime(time.min_ns)}`}>
      {shortTime(time.total_ns)}
      <span class="sub faint">
        {time.calls > 1 && `${integer(time.calls)} × ${shortTime(time.median_ns)}`}
      </span>
    </td>
  );
}

function RateCells({ row, times }: { row: KernelRow; times: KernelTimes | undefined }) {
  const time = timeOf(times, row);
  return (
    <td class="number">
      {percent(time ? shareOf(times, row.alike) : null)}
      <span class="sub faint">{gigabytes(bytesPerSecond(row, time))}</span>
    </td>
  );
}

function Head() {
  return (
    <thead>
      <tr>
        <th scope="col">Kernel</th>
        <th scope="col" class="number">
          Bytes
        </th>
        <th scope="col" class="number">
          Time
        </th>
        <th scope="col" class="number">
          Share
        </th>
      </tr>
    </thead>
  );
}

function BytesCell({ row }: { row: KernelRow }) {
  return (
    <td class="number" title="read, then written, in a call">
      {bytes(row.readBytes)}
      <span class="sub faint">{bytes(row.writtenBytes)}</span>
    </td>
  );
}

export function KernelTable({
  rows,
  times,
}: {
  rows: KernelRow[];
  times: KernelTimes | undefined;
}) {
  return (
    <table class="kernels">
      <Head />
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} title={describe(row)}>
            <td>
              <span class="strong">{row.operations}</span>
              <span class="sub faint">
                {row.kind} {row.id} · {row.shape || "scalar"}
                {row.alike.length > 1 && ` · ${row.alike.length} alike`}
              </span>
              <span class="sub faint">
                {row.inputTypes || "–"} → {row.outputType}
              </span>
              {row.sums.line && <span class="sub faint">{row.sums.line}</span>}
            </td>
            <BytesCell row={row} />
            <TimeCells row={row} times={times} />
            <RateCells row={row} times={times} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/* ---- the slowest ---- */

const LISTED = 100;
const ORDERS = [
  ["time", "time"],
  ["call", "time of a call"],
  ["rate", "least GB/s"],
] as const;
type Order = (typeof ORDERS)[number][0];

function rank(row: KernelRow, times: KernelTimes, order: Order): number {
  const time = timeOf(times, row);
  if (order === "call") return -(time?.median_ns ?? 0);
  if (order === "rate") return bytesPerSecond(row, time) ?? Infinity;
  return -(time?.total_ns ?? 0);
}

export interface Drawn {
  url: string;
  hash: string;
  expanded: string[];
  fold: boolean;
}

function useRows(times: KernelTimes | undefined, drawn: Drawn): KernelRow[] | undefined {
  const [rows, setRows] = useState<KernelRow[]>();
  useEffect(() => {
    let dropped = false;
    if (!times) return undefined;
    const { client, loaded } = graphClient(drawn.url, drawn.hash);
    loaded
      .then(() => client.rows(drawn.expanded, drawn.fold))
      .then((found) => !dropped && setRows(found.filter((row) => timeOf(times, row))))
      .catch(() => undefined);
    return () => {
      dropped = true;
    };
  }, [times, drawn.url, drawn.hash, drawn.expanded.join(), drawn.fold]);
  return rows;
}

function SlowestTable({
  rows,
  times,
  onChoose,
}: {
  rows: KernelRow[];
  times: KernelTimes;
  onChoose: (box: string) => void;
}) {
  return (
    <table class="kernels">
      <Head />
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} title={describe(row)}>
            <td>
              <button class="link" disabled={row.box === ""} onClick={() => onChoose(row.box)}>
                {row.operations}
              </button>
              <span class="sub faint">
                {row.kind} {row.id} · {shortName(row.scope) || row.part}
                {row.alike.length > 1 && ` · ${row.alike.length} alike`}
              </span>
            </td>
            <BytesCell row={row} />
            <TimeCells row={row} times={times} />
            <RateCells row={row} times={times} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The panel beside the drawing: which kernels cost most. */
export function Slowest({
  timing,
  drawn,
  onChoose,
}: {
  timing: Timing;
  drawn: Drawn;
  onChoose: (box: string) => void;
}) {
  const { times, missing } = timing;
  const rows = useRows(times, drawn);
  const wanted = query.value.get("by");
  const order = ORDERS.find(([key]) => key === wanted)?.[0] ?? "time";
  const sorted =
    times &&
    rows
      ?.slice()
      .sort((a, b) => rank(a, times, order) - rank(b, times, order))
      .slice(0, LISTED);
  return (
    <aside class="side panel scroll" aria-label="Slowest kernels">
      <div class="head">
        <h2 class="ellipsis">Slowest kernels</h2>
      </div>
      <div class="body stack">
        {times && (
          <p class="small soft">
            Step {integer(times.step)}: {shortTime(times.total_ns)} in {times.of.size} kernels of{" "}
            {times.processes.join(", ")}. A share is of this time.
          </p>
        )}
        {times && (
          <Choice
            label="Order"
            value={order}
            options={ORDERS}
            onChange={(by) => setQuery({ by: by === "time" ? null : by })}
          />
        )}
        {!times &&
          (missing ? (
            <Empty title={notYet("Not timed")} icon="clock">
              {missing}
            </Empty>
          ) : (
            <Loading />
          ))}
        {times && !sorted && <Loading />}
        {times && sorted && <SlowestTable rows={sorted} times={times} onChoose={onChoose} />}
      </div>
    </aside>
  );
}
