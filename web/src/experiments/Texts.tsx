/* The generated C, and the plan, of two runs side by side: the hunks in which they differ. Texts and
 * what compares them are loaded when a part is opened. */
import { useEffect, useState } from "preact/hooks";
import { api, type ComparedRun } from "@generated/client";
import { integer } from "@/base/format";
import { useResource } from "@/base/resource";
import { query, setQuery } from "@/base/route";
import { Empty, Pick, Waiting } from "@/components/parts";
import { listOf } from "@/experiments/view";
import type { Hunk, Line, Pair } from "@/texts/main";

declare const IS_REPORT: boolean;
declare const TEXTS_URL: string;

const PARTS = [
  ["source", "Generated C"],
  ["plan", "Plan: schedule and memory"],
] as const;
type Part = (typeof PARTS)[number][0];

/* Rows of a table that a page draws at once. */
const SHOWN = 400;

const load = (): Promise<typeof import("@/texts/main")> =>
  IS_REPORT ? Promise.reject(new Error("a report has one run")) : import(TEXTS_URL);

interface Read {
  hunks: Hunk[] | null;
  /** Of each run without a text: its name and why. */
  missing: string[];
}

async function readTexts([left, right]: [ComparedRun, ComparedRun], part: Part): Promise<Read> {
  const [{ hunksOf }, a, b] = await Promise.all([
    load(),
    api.getCompiled({ id: left.id, part }),
    api.getCompiled({ id: right.id, part }),
  ]);
  const missing = [
    ...(a.text === null ? [`${left.name}: ${a.missing}`] : []),
    ...(b.text === null ? [`${right.name}: ${b.missing}`] : []),
  ];
  return { missing, hunks: missing.length > 0 ? null : hunksOf(a.text ?? "", b.text ?? "") };
}

/* ---- the lines ---- */

function Side({ line, mark }: { line: Line | null; mark: "-" | "+" | "" }) {
  const tone = line === null ? "none" : mark === "-" ? "gone" : mark === "+" ? "come" : "";
  return (
    <>
      <td class={`number ${tone}`}>{line?.number}</td>
      <td class={`code ${tone}`}>
        {line && mark && <span class="mark">{mark}</span>}
        {line?.text}
      </td>
    </>
  );
}

const Row = ({ pair: { left, right, differs } }: { pair: Pair }) => (
  <tr class={differs ? "differs" : "same"}>
    <Side line={left} mark={differs ? "-" : ""} />
    <Side line={right} mark={differs ? "+" : ""} />
  </tr>
);

/* Where a hunk begins in each text. */
function Begin({ hunk: { pairs } }: { hunk: Hunk }) {
  const left = pairs.find((pair) => pair.left)?.left?.number;
  const right = pairs.find((pair) => pair.right)?.right?.number;
  const from = (line: number | undefined) => (line === undefined ? "–" : `line ${integer(line)}`);
  return (
    <tr class="begin">
      <th scope="rowgroup" colSpan={4}>
        {left === right ? from(left) : `${from(left)}, right ${from(right)}`}
      </th>
    </tr>
  );
}

/* As many hunks, and lines of the last, as there is room for. */
function cut(hunks: Hunk[], room: number): Hunk[] {
  const kept: Hunk[] = [];
  let left = room;
  for (const { pairs } of hunks) {
    if (left <= 0) break;
    kept.push({ pairs: pairs.slice(0, left) });
    left -= pairs.length;
  }
  return kept;
}

function Table({ hunks, runs, title }: { hunks: Hunk[]; runs: ComparedRun[]; title: string }) {
  const [room, setRoom] = useState(SHOWN);
  useEffect(() => setRoom(SHOWN), [hunks]);
  const all = hunks.reduce((sum, { pairs }) => sum + pairs.length, 0);
  const differing = hunks.reduce(
    (sum, { pairs }) => sum + pairs.filter((pair) => pair.differs).length,
    0,
  );
  return (
    <>
      <p class="body soft" role="status">
        Lines that differ: {integer(differing)}, places: {integer(hunks.length)}. The lines between
        are the same.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label={title}>
        <table class="texts">
          <colgroup>
            <col class="number" />
            <col />
            <col class="number" />
            <col />
          </colgroup>
          <thead>
            <tr>
              {runs.map((run) => (
                <th key={run.id} scope="col" colSpan={2} title={run.id}>
                  {run.name}
                </th>
              ))}
            </tr>
          </thead>
          {cut(hunks, room).map((hunk, i) => (
            <tbody key={i}>
              <Begin hunk={hunk} />
              {hunk.pairs.map((pair, row) => (
                <Row key={row} pair={pair} />
              ))}
            </tbody>
          ))}
        </table>
      </div>
      {all > room && (
        <p class="body">
          <button onClick={() => setRoom(room + 5 * SHOWN)}>
            Show more: {integer(all - room)} lines are left
          </button>
        </p>
      )}
    </>
  );
}

/* ---- the panel ---- */

function Opened({ pair, part }: { pair: [ComparedRun, ComparedRun]; part: Part }) {
  const read = useResource(() => readTexts(pair, part), [pair[0].id, pair[1].id, part]);
  const { data } = read;
  if (!data) return <Waiting for={read} />;
  const title = PARTS.find(([key]) => key === part)?.[1] ?? "";
  if (data.missing.length > 0)
    return (
      <Empty title="Nothing to compare" icon="info">
        {data.missing.join("; ")}
      </Empty>
    );
  if (data.hunks === null)
    return <p class="body soft">The texts have too little in common to show it line by line.</p>;
  if (data.hunks.length === 0)
    return (
      <p class="body" role="status">
        {title}: the same in both, line by line.
      </p>
    );
  return <Table hunks={data.hunks} runs={pair} title={title} />;
}

/** Two of the runs are chosen, and which of their texts is opened: both are in the address. */
export function Texts({ runs }: { runs: ComparedRun[] }) {
  const [first, second] = listOf("sides");
  const left = runs.find((run) => run.id === first) ?? runs[0];
  const right = runs.find((run) => run.id === second) ?? runs.find((run) => run !== left);
  const part = PARTS.find(([key]) => key === query.value.get("text"))?.[0];
  if (!left || !right) return null;
  const options = runs.map(
    (run) => [run.id, run.name === run.id ? run.id : `${run.name} (${run.id})`] as const,
  );
  const choose = (a: string, b: string) => setQuery({ sides: `${a},${b}` });
  return (
    <section class="panel" data-panel="texts">
      <h2>Generated code and plan, side by side</h2>
      <div class="body row sides">
        <Pick
          label="left"
          value={left.id}
          options={options}
          onChange={(id) => choose(id, right.id)}
        />
        <Pick
          label="right"
          value={right.id}
          options={options}
          onChange={(id) => choose(left.id, id)}
        />
        {PARTS.map(([key, title]) => (
          <button
            key={key}
            aria-pressed={part === key}
            onClick={() => setQuery({ text: part === key ? null : key })}
          >
            {title}
          </button>
        ))}
      </div>
      {part && <Opened pair={[left, right]} part={part} />}
    </section>
  );
}
