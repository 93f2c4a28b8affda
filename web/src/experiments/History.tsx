/* The runs that a run shares steps with, and its own starts; nothing where it is alone and was started
 * once. */
import { api, type HistoryAttempt, type HistoryRun } from "@generated/client";
import { integer } from "@/base/format";
import { useResource } from "@/base/resource";
import { href } from "@/base/route";
import { StateBadge } from "@/components/parts";

const RELOAD_MS = 30_000;

function forkText({ from, from_dir, at }: HistoryRun): string {
  if (at === null) return "";
  const whose = from === null ? ` of ${from_dir ?? "a run that is no job here"}` : "";
  return `fork${whose} at step ${integer(at)}`;
}

function RunLine({ run, own }: { run: HistoryRun; own: string }) {
  const isOwn = run.id === own;
  return (
    <li data-run={run.id} data-depth={run.depth}>
      {run.depth > 0 && (
        <span class="faint" aria-hidden="true">
          {"\u00a0\u00a0\u00a0".repeat(run.depth - 1)}└
        </span>
      )}
      {isOwn ? (
        <strong aria-current="true">{run.name}</strong>
      ) : (
        <a href={href(`/jobs/${encodeURIComponent(run.id)}/curves`)}>{run.name}</a>
      )}
      <StateBadge state={run.state} />
      <span class="soft">
        {[forkText(run), run.last_step === null ? "" : `to step ${integer(run.last_step)}`]
          .filter(Boolean)
          .join(", ")}
      </span>
    </li>
  );
}

const steps = (first: number | null, last: number | null): string =>
  first === last ? `step ${integer(first)}` : `steps ${integer(first)} to ${integer(last)}`;

function attemptText(one: HistoryAttempt): string {
  const own =
    one.first_step === null ? "no step that counts" : steps(one.first_step, one.last_step);
  const again =
    one.replaced_first === null
      ? ""
      : `; ${steps(one.replaced_first, one.replaced_last)} were done again by a later start`;
  return `start ${one.attempt}: ${own}${again}`;
}

export function History({ id, attempt }: { id: string; attempt: number | undefined }) {
  const { data } = useResource(() => api.getHistory({ id }), [id, attempt], RELOAD_MS);
  if (!data || (data.runs.length < 2 && !data.runs[0]?.from_dir && data.attempts.length < 2))
    return null;
  const ids = data.runs.map((run) => run.id);
  return (
    <section class="panel history">
      <h2>History</h2>
      <ul class="bits" aria-label="Runs that share steps">
        {data.runs.map((run) => (
          <RunLine key={run.id} run={run} own={id} />
        ))}
      </ul>
      {data.attempts.length > 1 && (
        <ul class="bits soft" aria-label="Starts">
          {data.attempts.map((one) => (
            <li key={one.attempt}>{attemptText(one)}</li>
          ))}
        </ul>
      )}
      {ids.length > 1 && (
        <p class="body">
          <a href={href(`/compare?runs=${ids.map(encodeURIComponent).join()}`)}>
            Compare these {ids.length} runs
          </a>
        </p>
      )}
    </section>
  );
}
