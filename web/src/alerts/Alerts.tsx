/* The alerts that a run has given, and a trial of a condition on its curves: when it would have
 * been given. */
import { useState } from "preact/hooks";
import { api, type Alert, type AlertList } from "@generated/client";
import { date, integer } from "@/base/format";
import { href, query, setQuery } from "@/base/route";
import { Badge, Empty, PageHeader, Waiting } from "@/components/parts";
import { current, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";

const FRESH_MS = 5000;
function Rows({ alerts }: { alerts: Alert[] }) {
  const model = current.value as JobModel;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col" class="number">
            Step
          </th>
          <th scope="col">Alert</th>
          <th scope="col">Condition</th>
          <th scope="col">Values</th>
          <th scope="col">Time</th>
        </tr>
      </thead>
      <tbody>
        {alerts.map((one, i) => (
          <tr key={i}>
            <td class="number">
              <a href={href(`/jobs/${encodeURIComponent(model.id)}/curves?step=${one.step}`)}>
                {integer(one.step)}
              </a>
            </td>
            <td>
              <Badge tone={one.begins ? "warn" : "calm"}>{one.begins ? "begins" : "over"}</Badge>
            </td>
            <td class="nowrap">
              <code>{one.condition}</code>
            </td>
            <td class="soft nowrap">{one.values}</td>
            <td class="nowrap">{date(one.time_ms)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Listed({ list: { alerts, total }, none }: { list: AlertList; none: string }) {
  if (alerts.length === 0) return <Empty title={none} icon="warn" />;
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Alerts">
        <Rows alerts={alerts} />
      </div>
      {total > alerts.length && (
        <p class="soft small body">
          The first {integer(alerts.length)} of {integer(total)}.
        </p>
      )}
    </>
  );
}

function Trial({ model }: { model: JobModel }) {
  const condition = query.value.get("condition") ?? "";
  const [text, setText] = useState(condition);
  const tried = useRecorded(
    model,
    () =>
      condition
        ? api.listAlerts({ id: model.id, condition })
        : Promise.resolve({ alerts: [], total: 0 }),
    [condition],
  );
  return (
    <section class="panel">
      <h2>Try a condition on this run</h2>
      <form
        class="row body"
        onSubmit={(event) => {
          event.preventDefault();
          setQuery({ condition: text.trim() });
        }}
      >
        <input
          class="grow"
          type="text"
          value={text}
          maxLength={1000}
          aria-label="Condition"
          placeholder="loss > 3 * median(loss, 100)"
          spellcheck={false}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit">try</button>
      </form>
      {condition && tried.error && (
        <p class="body bad-text" role="alert">
          {tried.error.message}
        </p>
      )}
      {condition && !tried.error && <Waiting for={tried} />}
      {condition && tried.data && !tried.error && (
        <Listed list={tried.data} none="It would never have been given" />
      )}
      <p class="soft small body">
        A name is the last value of that curve; mean, median, min, max, std, sum (loss, 100) are of
        its last 100 points. Also: <code>skipped_steps &gt; 5 in 100</code>,{" "}
        <code>no step for 60 s</code>, <code>not finite(loss)</code>, and, or, not.
      </p>
    </section>
  );
}

export function Alerts() {
  const model = current.value as JobModel;
  const told = useRecorded(model, () => api.listAlerts({ id: model.id }), [], FRESH_MS);
  return (
    <>
      <PageHeader title="Alerts" />
      <div class="stack">
        <Trial model={model} />
        <section class="panel">
          <h2>Given by this run</h2>
          <Waiting for={told} />
          {told.data && (
            <Listed
              list={told.data}
              none="No condition of the section alerts of its configuration has held"
            />
          )}
        </section>
      </div>
    </>
  );
}
