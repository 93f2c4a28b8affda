/* The trials of a sweep as a table, and the reasons of those that failed. */
import type { Sweep, SweepTrial } from "@generated/client";
import { integer } from "@/base/format";
import { href, query, setQuery } from "@/base/route";
import { isNarrow } from "@/components/narrow";
import type { IconName } from "@/components/Icon";
import { Badge, Pick, Say } from "@/components/parts";
import { VirtualList } from "@/components/VirtualList";
import { ValueCell } from "@/experiments/cells";
import { Heads, Title } from "@/experiments/heads";
import { columnTitle } from "@/experiments/names";
import { jobAddress, nameOf, sorted, type Table } from "@/sweeps/columns";

const ROW = 34;
const CARD_HEAD = 48;
const CARD_LINE = 28;
const MOST_REASONS = 100;

export const TRIAL_STATES: Record<
  SweepTrial["state"],
  { tone: "good" | "warn" | "bad" | "info" | "calm"; icon: IconName; text: string }
> = {
  waiting: { tone: "calm", icon: "clock", text: "waiting" },
  queued: { tone: "calm", icon: "clock", text: "queued" },
  running: { tone: "good", icon: "play", text: "running" },
  measured: { tone: "info", icon: "dots", text: "measured" },
  stopped: { tone: "calm", icon: "stop", text: "stopped early" },
  done: { tone: "info", icon: "check", text: "done" },
  failed: { tone: "bad", icon: "warn", text: "failed" },
};

export function TrialName({ trial }: { trial: SweepTrial }) {
  return trial.job === null ? (
    <span class="strong ellipsis">{nameOf(trial.trial)}</span>
  ) : (
    <a class="strong ellipsis" href={href(jobAddress(trial.job))}>
      {nameOf(trial.trial)}
    </a>
  );
}

function TrialState({ trial }: { trial: SweepTrial }) {
  const { tone, icon, text } = TRIAL_STATES[trial.state];
  return (
    <Badge tone={tone} icon={icon}>
      {text}
      {trial.step !== null && `, step ${integer(trial.step)}`}
    </Badge>
  );
}

function Row({ trial, table, best }: { trial: SweepTrial; table: Table; best: boolean }) {
  return (
    <>
      <div class="cell run-head" role="rowheader" data-trial={trial.trial} data-state={trial.state}>
        <TrialName trial={trial} />
        {best && (
          <Badge tone="good" icon="check">
            best
          </Badge>
        )}
        <TrialState trial={trial} />
      </div>
      {table.valuesOf(trial).map((value, c) => (
        <div
          key={table.columns[c]}
          class={typeof value === "number" ? "cell number" : "cell"}
          role="cell"
          data-value={value ?? ""}
        >
          {isNarrow.value && (
            <span class="card-title soft" title={table.columns[c]}>
              <Title name={table.columns[c] ?? ""} step={null} />
            </span>
          )}
          <ValueCell value={value} />
        </div>
      ))}
    </>
  );
}

function SortPick({ columns, sort }: { columns: string[]; sort: string }) {
  const options = columns.flatMap((name) => {
    const { text } = columnTitle(name);
    return [[name, `${text} ↑`] as const, [`-${name}`, `${text} ↓`] as const];
  });
  return (
    <span class="narrow-only">
      <Pick
        label="order"
        value={sort}
        options={[["", "best first"], ...options]}
        onChange={(next) => setQuery({ sort: next })}
      />
    </span>
  );
}

export function Trials({ sweep, table }: { sweep: Sweep; table: Table }) {
  const narrow = isNarrow.value;
  const sort = query.value.get("sort") ?? "";
  const rows = sorted(sweep, table, sort);
  const isNumber = (column: number) =>
    rows.some((trial) => typeof table.valuesOf(trial)[column] === "number");
  return (
    <section
      class={`panel list-panel experiments trials${narrow ? " cards" : ""}`}
      aria-label="Trials"
    >
      <div class="head row wrap">
        <h2>Trials</h2>
        <span class="soft small">
          {sort === "" ? "best first" : `by ${sort.replace(/^-/, "")}`}
        </span>
        <SortPick columns={table.columns} sort={sort} />
      </div>
      <VirtualList
        table
        rows={rows}
        rowHeight={narrow ? CARD_HEAD + CARD_LINE * table.columns.length : ROW}
        keyOf={(trial) => trial.trial}
        label="Trials"
        header={
          !narrow && (
            <Heads
              first={
                <div class="cell run-head" role="columnheader">
                  Trial
                </div>
              }
              columns={table.columns}
              isNumber={isNumber}
              view={{ sort, step: null }}
            />
          )
        }
        render={(trial) => <Row trial={trial} table={table} best={trial.trial === sweep.best} />}
      />
    </section>
  );
}

export function Failures({ sweep }: { sweep: Sweep }) {
  const failed = sweep.trials.filter((trial) => trial.state === "failed");
  if (failed.length === 0) return null;
  return (
    <section class="panel">
      <h2>Why trials failed</h2>
      <ul class="reasons body">
        {failed.slice(0, MOST_REASONS).map((trial) => (
          <li key={trial.trial}>
            <TrialName trial={trial} />{" "}
            <Say what="failure" value={trial.trial}>
              {trial.message ?? ""}
            </Say>
          </li>
        ))}
      </ul>
      {failed.length > MOST_REASONS && (
        <p class="body soft">
          The first {MOST_REASONS} of {integer(failed.length)}.
        </p>
      )}
    </section>
  );
}
