/* The sweeps that the server has. */
import { api, type SweepList as List, type SweepSummary } from "@generated/client";
import { date, integer, number } from "@/base/format";
import { useResource } from "@/base/resource";
import { href } from "@/base/route";
import { Badge, Empty, PageHeader, Waiting } from "@/components/parts";

const RELOAD_MS = 5000;

const STATES = {
  running: { tone: "good", icon: "play", text: "running" },
  complete: { tone: "info", icon: "check", text: "complete" },
  stopped: { tone: "warn", icon: "pause", text: "stopped" },
} as const;

export function SweepState({ state }: { state: SweepSummary["state"] }) {
  const { tone, icon, text } = STATES[state];
  return (
    <Badge tone={tone} icon={icon}>
      <span data-says="sweep state" data-value={state}>
        {text}
      </span>
    </Badge>
  );
}

function Row({ sweep }: { sweep: SweepSummary }) {
  const failed = sweep.failed > 0 ? `, ${integer(sweep.failed)} failed` : "";
  return (
    <tr data-sweep={sweep.name}>
      <th scope="row">
        <a class="strong" href={href(`/sweeps/${encodeURIComponent(sweep.name)}`)}>
          {sweep.name}
        </a>
      </th>
      <td data-title="state">
        <SweepState state={sweep.state} />
      </td>
      <td data-title="method">{sweep.method}</td>
      <td data-title="trials">
        {integer(sweep.tried)} of {integer(sweep.trial_count)}
        {failed}
      </td>
      <td data-title="best">
        {sweep.best === null
          ? "–"
          : `${sweep.metric} ${number(sweep.best_value)}, trial ${integer(sweep.best)}`}
      </td>
      <td data-title="settings" title={sweep.parameters.map(({ path }) => path).join(", ")}>
        {sweep.parameters.map(({ path }) => path).join(", ")}
      </td>
      <td data-title="newest result">{date(sweep.updated_ms)}</td>
    </tr>
  );
}

const HEADS = ["Sweep", "State", "Method", "Trials", "Best", "Settings", "Newest result"];

function Sweeps({ list }: { list: List }) {
  return (
    <section class="panel">
      <div class="scroll" tabIndex={0} role="region" aria-label="Sweeps">
        <table class="differences">
          <thead>
            <tr>
              {HEADS.map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {list.sweeps.map((sweep) => (
              <Row key={sweep.name} sweep={sweep} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Unreadable({ list }: { list: List }) {
  if (list.unreadable.length === 0) return null;
  return (
    <section class="panel">
      <h2>Not readable</h2>
      <ul class="reasons body">
        {list.unreadable.map(({ name, message }, i) => (
          <li key={i}>
            <span class="strong">{name ?? "(no text)"}</span> {message}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function SweepList() {
  const known = useResource(() => api.listSweeps(), [], RELOAD_MS);
  const list = known.data;
  const shown = list ? list.sweeps.length + list.unreadable.length : 0;
  return (
    <>
      <PageHeader
        title="Sweeps"
        note={
          list && list.total > shown
            ? `the first ${integer(shown)} of ${integer(list.total)} folders`
            : undefined
        }
      />
      <Waiting for={known} />
      <div class="stack">
        {list && shown === 0 && (
          <section class="panel">
            <Empty title="No sweeps yet" icon="sweeps">
              <code>csengine sweep FILE --server ROOT</code> trains one here, in the folder{" "}
              <code>sweeps</code> of this server's root.
            </Empty>
          </section>
        )}
        {list && list.sweeps.length > 0 && <Sweeps list={list} />}
        {list && <Unreadable list={list} />}
      </div>
    </>
  );
}
