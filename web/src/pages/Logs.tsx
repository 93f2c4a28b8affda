/* Log records of all processes, with filters; follows new records. */
import { useMemo, useState } from "preact/hooks";
import { api, type LogLine } from "@generated/client";
import { timeWithMilliseconds } from "@/base/format";
import { query, setQuery } from "@/base/route";
import { Icon } from "@/components/Icon";
import { Empty, Filter, PageHeader, Pick, Waiting } from "@/components/parts";
import { VirtualList } from "@/components/VirtualList";
import { current, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";

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

function Row({ line }: { line: LogLine }) {
  return (
    <>
      <span class="number faint">{timeWithMilliseconds(line.time_ms)}</span>
      <span class={`level ${line.level.toLowerCase()}`}>{levelOf(line)}</span>
      <span class="soft c-who ellipsis">{who(line)}</span>
      <span class="c-message">{line.message}</span>
    </>
  );
}

function save(lines: LogLine[], name: string): void {
  const text = lines
    .map((l) => `${new Date(l.time_ms).toISOString()} ${levelOf(l)} ${who(l)}: ${l.message}\n`)
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

function chosenLines(lines: LogLine[], level: string, role: string, text: string): LogLine[] {
  const least = LEVELS.findIndex((one) => one === level);
  return lines.filter(
    (line) =>
      rankOf(line) >= least &&
      (!role || who(line) === role || line.role === role) &&
      (!text || line.message.toLowerCase().includes(text)),
  );
}

export function Logs() {
  const model = current.value as JobModel;
  const { stored, lines } = useLines(model);
  const [follow, setFollow] = useState(true);
  const role = query.value.get("role") ?? "";
  const level = query.value.get("level") ?? "INFO";
  const text = (query.value.get("filter") ?? "").toLowerCase();
  const roles = [...new Set(lines.map(who))].sort();
  const shown = useMemo(() => chosenLines(lines, level, role, text), [lines, level, role, text]);
  return (
    <>
      <PageHeader title="Logs" note={`${shown.length} of ${lines.length} lines`}>
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
        <Filter label="Filter lines" placeholder="Text" />
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
        <section class="panel grow list-panel logs">
          {shown.length === 0 ? (
            <Empty title="No lines" icon="logs">
              {lines.length > 0 ? "None passes the filter." : "Nothing was said yet."}
            </Empty>
          ) : (
            <VirtualList
              rows={shown}
              rowHeight={ROW}
              keyOf={(line) => line.id}
              label="Log lines"
              follow={follow}
              onFollow={setFollow}
              render={(line) => <Row line={line} />}
            />
          )}
        </section>
      )}
    </>
  );
}
