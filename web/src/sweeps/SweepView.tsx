/* One sweep: what it is at, its best trial, all trials, rungs, and the drawings of its settings. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, type Sweep, type SweepParameter } from "@generated/client";
import type { ApiError } from "@/api/transport";
import { date, integer, number } from "@/base/format";
import { useResource } from "@/base/resource";
import { href } from "@/base/route";
import { Chart, type Curve } from "@/components/Chart";
import { Icon } from "@/components/Icon";
import { Badge, Dialog, PageHeader, Say, Tile, Waiting } from "@/components/parts";
import { ExploredTable } from "@/experiments/Explore";
import { tell } from "@/job/actions";
import { Failures, Trials } from "@/sweeps/Trials";
import { Rungs } from "@/sweeps/Rungs";
import { SweepState } from "@/sweeps/SweepList";
import { courseOf, exploredOf, jobAddress, nameOf, tableOf, type Table } from "@/sweeps/columns";

const LIVE_MS = 2000;
const IDLE_MS = 10_000;
const LEAST_EXPLORED = 2;

/* ---- what is best ---- */

const quoted = (text: string): string =>
  /^[\w./:=+,@%-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

function Best({ sweep }: { sweep: Sweep }) {
  const best = sweep.trials.find((trial) => trial.trial === sweep.best);
  if (!best) return null;
  const words = sweep.parameters.map(
    ({ path }, p) => `--set ${quoted(`${path}=${best.settings[p] ?? ""}`)}`,
  );
  return (
    <section class="panel">
      <h2>
        Best:{" "}
        {best.job === null ? (
          nameOf(best.trial)
        ) : (
          <a href={href(jobAddress(best.job))}>{nameOf(best.trial)}</a>
        )}
      </h2>
      <p class="body settings">
        <code data-says="best settings">{words.join(" ")}</code>
      </p>
    </section>
  );
}

function Course({ sweep }: { sweep: Sweep }) {
  const { x, value, best } = useMemo(() => courseOf(sweep), [sweep]);
  const curves: Curve[] = [
    { label: "best so far", colour: "--series-0", x, y: best, width: 2 },
    { label: "each result", colour: "--series-1", x, y: value, dash: [2, 4] },
  ];
  if (x.length === 0) return null;
  return (
    <Chart
      title={`${sweep.metric}, by the number of results`}
      axis="step"
      height={200}
      curves={curves}
      note={
        sweep.rungs.length > 1 && (
          <p class="body soft small">
            The best trial is one of the highest rung: values of fewer steps count only until one of
            more is there.
          </p>
        )
      }
    />
  );
}

/* ---- what it is ---- */

function spaceText({ kind, low, high, values }: SweepParameter): string {
  if (values) return values.join(", ");
  const from = `${number(low)} to ${number(high)}`;
  return kind === "log_uniform"
    ? `${from}, by the logarithm`
    : kind === "int"
      ? `${from}, whole`
      : from;
}

function Space({ sweep }: { sweep: Sweep }) {
  return (
    <section class="panel">
      <h2>What is tried</h2>
      <dl class="space body">
        {sweep.parameters.map((parameter) => (
          <div key={parameter.path}>
            <dt>
              <code>{parameter.path}</code>
            </dt>
            <dd>{spaceText(parameter)}</dd>
          </div>
        ))}
        <div>
          <dt class="soft">of all trials</dt>
          <dd>
            <code>{sweep.config}</code>
            {sweep.settings.map((one) => (
              <span key={one}>
                {" "}
                <code>{one}</code>
              </span>
            ))}
            {sweep.method !== "grid" && `, seed ${sweep.seed}`}
          </dd>
        </div>
      </dl>
    </section>
  );
}

function Tiles({ sweep }: { sweep: Sweep }) {
  const running = sweep.trials.filter((trial) => trial.state === "running");
  const names = running.slice(0, 8).map((trial) => trial.trial);
  return (
    <dl class="tiles">
      <Tile
        label={`best ${sweep.metric}`}
        value={
          <Say what="best value" value={sweep.best_value}>
            {number(sweep.best_value)}
          </Say>
        }
        note={sweep.best === null ? "no trial has a value" : nameOf(sweep.best)}
      />
      <Tile
        label="trials"
        value={
          <Say what="tried" value={sweep.tried}>
            {integer(sweep.tried)}
          </Say>
        }
        unit={`of ${integer(sweep.trial_count)}`}
        note={sweep.failed > 0 ? `${integer(sweep.failed)} failed` : undefined}
      />
      <Tile
        label="running"
        value={
          <Say what="running" value={running.length}>
            {integer(running.length)}
          </Say>
        }
        note={
          names.length > 0
            ? `trial ${names.join(", ")}${running.length > names.length ? ", …" : ""}`
            : undefined
        }
      />
      <Tile
        label="next"
        value={
          <Say what="next" value={sweep.next}>
            {sweep.next === null ? "–" : integer(sweep.next)}
          </Say>
        }
        note={
          sweep.rung !== null && sweep.rungs.length > 1
            ? `rung ${sweep.rung + 1} of ${sweep.rungs.length}`
            : undefined
        }
      />
    </dl>
  );
}

/* ---- the page ---- */

function stateText({ state, wanted, message, by_server }: Sweep): string {
  if (message !== null) return `The server does not go on with it: ${message}. `;
  if (state !== "stopped") return "";
  if (wanted) return "The server goes on with it in a moment. ";
  return `No process trains this sweep, and trials are left: the same ${by_server ? "request" : "command"} goes on. `;
}

function Told({ sweep }: { sweep: Sweep }) {
  const text = stateText(sweep);
  if (sweep.unreadable === 0 && text === "") return null;
  return (
    <p class="soft told" role="note">
      {text}
      {sweep.unreadable > 0 &&
        `${integer(sweep.unreadable)} ${sweep.unreadable === 1 ? "line" : "lines"} of trials.jsonl could not be read.`}
    </p>
  );
}

function Drawings({ sweep, table }: { sweep: Sweep; table: Table }) {
  const explored = useMemo(() => exploredOf(sweep, table), [sweep, table]);
  if (explored.rows.length < LEAST_EXPLORED) return null;
  return <ExploredTable table={explored} onPassing={() => undefined} />;
}

function Shown({ sweep }: { sweep: Sweep }) {
  const table = useMemo(() => tableOf(sweep), [sweep]);
  return (
    <div class="stack sweep">
      <Told sweep={sweep} />
      <Tiles sweep={sweep} />
      <Course sweep={sweep} />
      <Best sweep={sweep} />
      <Trials sweep={sweep} table={table} />
      <Failures sweep={sweep} />
      <Rungs sweep={sweep} />
      <Drawings sweep={sweep} table={table} />
      <Space sweep={sweep} />
    </div>
  );
}

const isLive = ({ state, trials }: Sweep): boolean =>
  state === "running" ||
  trials.some((trial) => trial.state === "running" || trial.state === "queued");

function CancelButton({ name, reload }: { name: string; reload: () => void }) {
  const [asked, setAsked] = useState(false);
  const cancel = () => {
    setAsked(false);
    api.cancelSweep({ name }).then(
      () => {
        tell("good", `${name}: its jobs are asked to end`);
        reload();
      },
      (error: ApiError) => tell("bad", `${name}: cancel was refused: ${error.message}`),
    );
  };
  return (
    <>
      <button onClick={() => setAsked(true)}>
        <Icon name="stop" />
        Cancel
      </button>
      {asked && (
        <Dialog title={`Cancel ${name}?`} onClose={() => setAsked(false)}>
          <p>Its jobs end at their next step. Trials that have not ended count as failed.</p>
          <p class="row end">
            <button class="primary" onClick={cancel}>
              Cancel the sweep
            </button>
          </p>
        </Dialog>
      )}
    </>
  );
}

export function SweepView({ name }: { name: string }) {
  const [every, setEvery] = useState(LIVE_MS);
  const known = useResource(() => api.getSweep({ name }), [name], every);
  const sweep = known.data;
  useEffect(() => setEvery(!sweep || isLive(sweep) ? LIVE_MS : IDLE_MS), [sweep]);
  return (
    <>
      <PageHeader title={name} note={sweep && `${sweep.method}, ${date(sweep.updated_ms)}`}>
        {sweep && <SweepState state={sweep.state} />}
        {sweep && sweep.label !== name && <Badge tone="calm">{sweep.label}</Badge>}
        {sweep?.wanted && <CancelButton name={name} reload={known.reload} />}
        <a class="button" href={href("/sweeps")}>
          All sweeps
        </a>
      </PageHeader>
      <Waiting for={known} />
      {known.data && known.error && (
        <p class="bad-text" role="alert">
          {known.error.message}
        </p>
      )}
      {sweep && <Shown sweep={sweep} />}
    </>
  );
}
