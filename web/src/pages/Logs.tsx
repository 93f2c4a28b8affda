/* Log records of all processes: chosen by host, process and level, searched, wrapped; follows new
 * ones. Hosts are shown where lines of several are there.
 *
 * Wrapped lines break wherever they are full, in a font of equal widths: so the height of each row is
 * known without laying it out. */
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { api, type LogLine } from "@generated/client";
import { timeWithMilliseconds } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { Icon } from "@/components/Icon";
import { Empty, Filter, PageHeader, Pick, Waiting } from "@/components/parts";
import { VirtualList } from "@/components/VirtualList";
import { current, notYet, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import type { PageEntry } from "@/frame/page";

const ROW = 22;
const TAIL = 10_000;
const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"] as const;

function parse(text: string): LogLine[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogLine);
}

async function read(id: string): Promise<LogLine[]> {
  const text: unknown = await api.listLogs({ id, tail: TAIL, limit: 1000 });
  return typeof text === "string" ? parse(text) : [];
}

const levelOf = (line: LogLine): string => line.level.toUpperCase();
const rankOf = (line: LogLine): number => LEVELS.findIndex((level) => level === levelOf(line));

const who = (line: LogLine): string =>
  line.rank === null || line.rank < 0 || line.role === "coordinator"
    ? line.role
    : `${line.role} ${line.rank}`;

/* The message with what was searched for marked. */
function Marked({ text, word }: { text: string; word: string }) {
  if (!word) return <>{text}</>;
  const parts = [];
  const lower = text.toLowerCase();
  let at = 0;
  for (let i = lower.indexOf(word); i >= 0; i = lower.indexOf(word, at)) {
    parts.push(text.slice(at, i), <mark key={i}>{text.slice(i, i + word.length)}</mark>);
    at = i + word.length;
  }
  return (
    <>
      {parts}
      {text.slice(at)}
    </>
  );
}

interface RowProps {
  line: LogLine;
  word: string;
  isCurrent: boolean;
  withHost: boolean;
}

function Row({ line, word, isCurrent, withHost }: RowProps) {
  return (
    <>
      <span class="number faint c-clock">{timeWithMilliseconds(line.time_ms)}</span>
      <span class={`level ${line.level.toLowerCase()}`}>{levelOf(line)}</span>
      {withHost && <span class="soft c-host ellipsis">{line.host ?? ""}</span>}
      <span class="soft c-who ellipsis">{who(line)}</span>
      <span class={isCurrent ? "c-message current" : "c-message"}>
        <Marked text={line.message} word={word} />
      </span>
    </>
  );
}

/* ---- wrapped rows ---- */

/* Width of what stands before a message, as the style sheet has it, and of one character. */
const LEAD = 12 + 90 + 12 + 60 + 12 + 120 + 12 + 12;
const HOST_LEAD = 110 + 12;
const NARROW = 640;
const NARROW_LEAD = 24;

let charWidth = 0;
function widthOfCharacter(): number {
  if (charWidth === 0) {
    const context = document.createElement("canvas").getContext("2d");
    const font = getComputedStyle(document.documentElement).getPropertyValue("--mono");
    if (context) {
      context.font = `12px ${font}`;
      charWidth = context.measureText("0".repeat(100)).width / 100;
    }
    charWidth ||= 7.3;
  }
  return charWidth;
}

/* Characters from U+1100 on may be two columns wide. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const c of text) columns += c >= "\u1100" ? 2 : c === "\t" ? 8 : 1;
  return columns;
}

/* On a narrow page the message stands below the time. */
function wrappedLines(line: LogLine, width: number, withHost: boolean): number {
  const isNarrow = width < NARROW;
  const room = width - (isNarrow ? NARROW_LEAD : LEAD + (withHost ? HOST_LEAD : 0));
  const columns = Math.max(8, Math.floor(room / widthOfCharacter()) - 1);
  const lines = line.message
    .split("\n")
    .reduce((sum, text) => sum + Math.max(1, Math.ceil(columnsOf(text) / columns)), 0);
  return lines + (isNarrow ? 1 : 0);
}

function save(lines: LogLine[], name: string): void {
  const text = lines
    .map((l) => {
      const from = l.host ? `${who(l)} on ${l.host}` : who(l);
      return `${new Date(l.time_ms).toISOString()} ${levelOf(l)} ${from}: ${l.message}\n`;
    })
    .join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function useLines(model: JobModel) {
  const stored = useRecorded(model, () => read(model.id), []);
  const live = model.logs.value;
  const lines = useMemo(() => {
    const last = stored.data?.[stored.data.length - 1]?.id ?? -1;
    return [...(stored.data ?? []), ...live.filter((line) => line.id > last)];
  }, [stored.data, live]);
  return { stored, lines };
}

const LEVEL_OPTIONS = LEVELS.map((one) => [one, one.toLowerCase()] as const);

const contains = (line: LogLine, word: string): boolean =>
  line.message.toLowerCase().includes(word);

interface Choice {
  level: string;
  role: string;
  host: string;
}

function chosenLines(lines: LogLine[], { level, role, host }: Choice): LogLine[] {
  const least = LEVELS.findIndex((one) => one === level);
  return lines.filter(
    (line) =>
      rankOf(line) >= least &&
      (!role || who(line) === role || line.role === role) &&
      (!host || line.host === host),
  );
}

const hostsOf = (lines: LogLine[]): string[] =>
  [...new Set(lines.flatMap((line) => (line.host ? [line.host] : [])))].sort();

/* The matches of the search among the lines shown, and which of them is looked at. */
function useSearch(lines: LogLine[], word: string, alone: boolean) {
  const [turn, setTurn] = useState<number | null>(null);
  const shown = useMemo(
    () => (word && alone ? lines.filter((line) => contains(line, word)) : lines),
    [lines, word, alone],
  );
  const matches = useMemo(
    () => (word ? shown.flatMap((line, i) => (contains(line, word) ? [i] : [])) : []),
    [shown, word],
  );
  useEffect(() => setTurn(null), [word, alone]);
  const at = turn === null ? undefined : matches[Math.min(turn, matches.length - 1)];
  const move = (by: number) => {
    const count = matches.length;
    if (count > 0) setTurn(turn === null ? (by > 0 ? 0 : count - 1) : (turn + by + count) % count);
  };
  return { shown, matches, at, turn, move };
}

function SearchBar({
  matches,
  turn,
  alone,
  move,
}: {
  matches: number;
  turn: number | null;
  alone: boolean;
  move: (by: number) => void;
}) {
  return (
    <>
      <span class="small soft nowrap" role="status">
        {turn === null ? matches : `${Math.min(turn, matches - 1) + 1} of ${matches}`}{" "}
        {matches === 1 ? "match" : "matches"}
      </span>
      <button
        class="icon"
        aria-label="Match before"
        disabled={matches === 0}
        onClick={() => move(-1)}
      >
        ↑
      </button>
      <button class="icon" aria-label="Next match" disabled={matches === 0} onClick={() => move(1)}>
        ↓
      </button>
      <label class="row nowrap">
        <input
          type="checkbox"
          checked={alone}
          onChange={(e) => setQuery({ only: e.currentTarget.checked ? null : "0" })}
        />
        only matches
      </label>
    </>
  );
}

export function Logs() {
  const model = current.value as JobModel;
  const { stored, lines } = useLines(model);
  const [follow, setFollow] = useState(true);
  const role = query.value.get("role") ?? "";
  const host = query.value.get("host") ?? "";
  const level = query.value.get("level") ?? "INFO";
  const word = (query.value.get("filter") ?? "").toLowerCase();
  const alone = query.value.get("only") !== "0";
  const wrap = query.value.get("wrap") !== "0";
  const roles = [...new Set(lines.map(who))].sort();
  const hosts = useMemo(() => hostsOf(lines), [lines]);
  const withHost = hosts.length > 1;
  const chosen = useMemo(
    () => chosenLines(lines, { level, role, host: withHost ? host : "" }),
    [lines, level, role, host, withHost],
  );
  const { shown, matches, at, turn, move } = useSearch(chosen, word, alone);
  const linesOf = useCallback(
    (line: LogLine, width: number) => wrappedLines(line, width, withHost),
    [withHost],
  );
  const jump = (by: number) => {
    setFollow(false);
    move(by);
  };
  const older = lines.length >= TAIL ? ", the newest" : "";
  return (
    <>
      <PageHeader title="Logs" note={`${shown.length} of ${lines.length} lines${older}`}>
        {withHost && (
          <Pick
            label="host"
            value={host}
            onChange={(value) => setQuery({ host: value })}
            options={[["", "all"], ...hosts.map((one) => [one, one] as const)]}
          />
        )}
        <Pick
          label="from"
          value={role}
          onChange={(value) => setQuery({ role: value })}
          options={[["", "everyone"], ...roles.map((one) => [one, one] as const)]}
        />
        <Pick
          label="at least"
          value={level}
          options={LEVEL_OPTIONS}
          onChange={(value) => setQuery({ level: value })}
        />
        <Filter label="Search lines" placeholder="Search" />
        {word && <SearchBar matches={matches.length} turn={turn} alone={alone} move={jump} />}
        <button aria-pressed={wrap} onClick={() => setQuery({ wrap: wrap ? "0" : null })}>
          <Icon name="wrap" />
          wrap
        </button>
        <button aria-pressed={follow} onClick={() => setFollow(!follow)}>
          follow
        </button>
        <button
          class="icon"
          aria-label="Save the lines shown"
          title="Save the lines shown"
          onClick={() => save(shown, `${model.id}.log`)}
        >
          <Icon name="download" />
        </button>
      </PageHeader>
      <Waiting for={stored} />
      {stored.data && (
        <section class={`panel grow list-panel logs${wrap ? " wrapped" : ""}`}>
          {shown.length === 0 ? (
            <Empty title="No lines" icon="logs">
              {lines.length > 0 ? "None passes the filter." : `${notYet("Nothing was said")}.`}
            </Empty>
          ) : (
            <VirtualList
              rows={shown}
              rowHeight={ROW}
              linesOf={wrap ? linesOf : undefined}
              show={at}
              keyOf={(line) => line.id}
              label="Log lines"
              follow={follow}
              onFollow={setFollow}
              render={(line, i) => (
                <Row line={line} word={word} isCurrent={i === at} withHost={withHost} />
              )}
            />
          )}
        </section>
      )}
    </>
  );
}

export const page: PageEntry = {
  name: "logs",
  order: 150,
  title: "Logs",
  icon: "logs",
  key: "o",
  view: Logs,
  ofJob: true,
  fill: true,
};
