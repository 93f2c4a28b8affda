/* Overview of a job: its state transitions, rate, metrics and findings. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, type Job, type Transition } from "@generated/client";
import { compact, date, duration, integer, number, shortDate, time } from "@/base/format";
import { href } from "@/base/route";
import { Icon } from "@/components/Icon";
import { MetricChart, type Run } from "@/components/MetricChart";
import {
  Empty,
  Failure,
  Loading,
  StateBadge,
  Tile,
  stateIcon,
  stateTone,
} from "@/components/parts";
import { findingsOf } from "@/job/findings";
import { lastOf } from "@/job/series";
import { current, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import { payloadText } from "@/job/payload";

const RATE_NAMES = ["samples_per_second", "steps_per_second", "tokens_per_second"];
const SIDE_NAMES = ["samples_per_second", "loss_scale", "gradient_norm", "grad_norm", "lr/0"];

function StateRail({ transitions }: { transitions: Transition[] }) {
  if (transitions.length === 0) return null;
  const end = Date.now();
  return (
    <ol class="state-rail" aria-label="States the job went through">
      {transitions.map((one, i) => {
        const next = transitions[i + 1];
        const seconds = ((next?.time_ms ?? end) - one.time_ms) / 1000;
        const isNewAttempt = one.attempt > 1 && one.attempt !== transitions[i - 1]?.attempt;
        return (
          <li
            key={one.seq}
            class={`${stateTone(one.to)}${next ? "" : " now"}`}
            title={`${date(one.time_ms)}\n${one.message}`}
          >
            {isNewAttempt && <span class="attempt">attempt {one.attempt}</span>}
            <Icon name={stateIcon(one.to)} />
            <span class="what">{one.to.toLowerCase()}</span>
            <span class="when faint number">
              {next ? duration(seconds) : `since ${time(one.time_ms)}`}
            </span>
            {one.reason && <span class="why faint ellipsis">{one.reason}</span>}
          </li>
        );
      })}
    </ol>
  );
}

/* The figures are redrawn a few times a second at most. */
function useLatest(model: JobModel, names: string[]): Record<string, number | null> {
  const [values, setValues] = useState<Record<string, number | null>>({});
  useEffect(() => {
    let last = 0;
    return model.live.listen((changed) => {
      const now = performance.now();
      if (now - last < 200 || !names.some((name) => changed.has(name))) return;
      last = now;
      setValues(Object.fromEntries(names.map((n) => [n, model.live.last(n)?.value ?? null])));
    });
  }, [model, names.join()]);
  return values;
}

function Tiles({ job, model, run }: { job: Job; model: JobModel; run: Run }) {
  const names = ["loss", "loss_scale", "gradient_norm", ...RATE_NAMES];
  const live = useLatest(model, names);
  const of = (name: string) => live[name] ?? lastOf(name, run.metrics);
  const samples = of("samples_per_second") ?? job.progress.samples_per_second;
  const steps =
    job.progress.steps_per_second ??
    (samples !== null && job.batch_size ? samples / job.batch_size : null);
  const tokens = of("tokens_per_second");
  const scale = of("loss_scale");
  return (
    <dl class="tiles">
      <Tile
        label="Loss"
        value={number(of("loss") ?? job.progress.loss)}
        note={`lowest ${number(job.progress.minimum_loss)}`}
      />
      <Tile
        label="Steps"
        value={number(steps, 3)}
        unit="/s"
        note={`${integer(job.progress.step)} of ${integer(job.progress.last_step)}`}
      />
      <Tile
        label="Samples"
        value={compact(samples)}
        unit="/s"
        note={`batch ${integer(job.batch_size)}`}
      />
      {tokens !== null && <Tile label="Tokens" value={compact(tokens)} unit="/s" />}
      <Tile
        label="Loss scale"
        value={scale === null ? "off" : integer(scale)}
        note={scale === null ? "no loss scaling" : `2^${Math.log2(scale).toFixed(0)}`}
      />
      <Tile
        label={job.alive ? "Left" : "Ran"}
        value={duration(job.alive ? job.progress.eta_seconds : ran(job))}
        note={job.started_ms ? `started ${shortDate(job.started_ms)}` : "not started"}
      />
      <Tile
        label="Replicas"
        value={integer(job.num_csx)}
        note={`attempt ${job.attempt}${job.restarts ? `, ${job.restarts} restarts` : ""}`}
      />
    </dl>
  );
}

const ran = (job: Job): number | null =>
  job.started_ms === null ? null : ((job.ended_ms ?? Date.now()) - job.started_ms) / 1000;

function Findings({ model, job }: { model: JobModel; job: Job }) {
  const to = job.progress.step ?? undefined;
  const ask = {
    id: job.id,
    limit: 1000,
    ...(to !== undefined ? { from: Math.max(0, to - 200) } : {}),
  };
  const numerics = useRecorded(model, () => api.getNumerics(ask), [model.numericsVersion.value]);
  const stored = useRecorded(model, () => api.getTopology({ id: job.id, samples: 1 }), []);
  const samples = model.topology.value;
  const sample = samples[samples.length - 1] ?? stored.data?.samples[0];
  const found = findingsOf({ job, sample, numerics: numerics.data, gaps: model.gaps.value });
  return (
    <section class="panel">
      <h2>What stands out</h2>
      <ul class="findings">
        {found.map((one) => (
          <li key={one.text} class={one.tone}>
            <Icon name={one.tone === "info" ? "info" : "warn"} />
            <a href={href(`/jobs/${encodeURIComponent(job.id)}/${one.page}`)}>{one.text}</a>
          </li>
        ))}
        {found.length === 0 && (
          <li class="good">
            <Icon name="check" />
            <span>Nothing does: no process starves, no number overflows, nothing is missing.</span>
          </li>
        )}
      </ul>
    </section>
  );
}

function Facts({ job }: { job: Job }) {
  const facts: [string, string | null][] = [
    ["Model", job.model],
    ["Optimizer", job.optimizer],
    ["Seed", integer(job.seed)],
    [
      "Batch",
      job.batch_size === null
        ? null
        : `${job.batch_size}, in microbatches of ${job.micro_batch_size ?? "?"}`,
    ],
    ["Host", job.host === null ? null : `${job.host}, process ${job.pid ?? "–"}`],
    ["Directory", job.model_dir],
    ["Priority", job.priority],
    ["Message", job.message || null],
  ];
  return (
    <section class="panel">
      <h2>About</h2>
      <dl class="facts">
        {facts
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd title={value ?? ""}>{value}</dd>
            </div>
          ))}
      </dl>
    </section>
  );
}

function LatestClosures({ model }: { model: JobModel }) {
  const stored = useRecorded(model, () => api.listClosures({ id: model.id, tail: 6 }), []);
  const rows = [...(stored.data?.closures ?? []), ...model.closures.value].slice(-6).reverse();
  if (rows.length === 0) return null;
  return (
    <section class="panel">
      <div class="head">
        <h2>Step closures</h2>
        <span class="spacer" />
        <a href={href(`/jobs/${encodeURIComponent(model.id)}/closures`)}>all</a>
      </div>
      <ul class="feed">
        {rows.map((one) => (
          <li key={one.id}>
            <span class="number soft">{integer(one.step)}</span>
            <span>{one.name}</span>
            <code class="ellipsis">{payloadText(one.payload)}</code>
            <span class="faint number nowrap">{one.delivered_ms - one.issued_ms} ms later</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function useRun(model: JobModel, names: string[] | undefined, maxPoints = 1000) {
  const job = model.job.value;
  const key = `${job?.attempt}/${job?.state}/${names?.join() ?? model.names.value.length}`;
  const ask = { id: model.id, max_points: maxPoints, ...(names ? { names } : {}) };
  const resource = useRecorded(model, () => api.getMetrics(ask), [key]);
  const run = useMemo(
    (): Run => ({
      id: model.id,
      label: job?.name ?? model.id,
      batchSize: job?.batch_size ?? 1,
      metrics: resource.data,
      live: model.live,
    }),
    [model, job?.name, job?.batch_size, resource.data],
  );
  return { run, resource };
}

export function Pulse() {
  const model = current.value as JobModel;
  const job = model.job.value;
  const { run, resource } = useRun(model, undefined, 800);
  if (!job) return model.error.value ? <Failure error={model.error.value} /> : <Loading />;
  const names = new Set(model.names.value);
  const lossNames = ["loss", ...["val_loss", "eval_loss"].filter((name) => names.has(name))];
  const side = SIDE_NAMES.filter((name) => names.has(name)).slice(0, 4);
  return (
    <div class="stack">
      <section aria-label="State" class="row wrap">
        <h1 class="hidden-text">{job.name}: pulse</h1>
        <StateRail transitions={model.transitions.value} />
      </section>
      {job.waiting_for && (
        <div class="banner info" role="status">
          <Icon name="clock" />
          <span>Waiting: {job.waiting_for}</span>
        </div>
      )}
      <Tiles job={job} model={model} run={run} />
      <div class="columns main-side">
        <div class="stack">
          {names.size === 0 && !resource.loading ? (
            <section class="panel">
              <Empty title="No metrics yet" icon="curves">
                They appear with the first step. <StateBadge state={job.state} />
              </Empty>
            </section>
          ) : (
            <MetricChart
              title={lossNames.length > 1 ? "Loss: training and validation" : "Loss"}
              names={lossNames}
              runs={[run]}
              axis="step"
              smoothing={0}
              height={270}
            />
          )}
          <div class="columns halves">
            {side.map((name) => (
              <MetricChart
                key={name}
                title={name}
                names={[name]}
                runs={[run]}
                axis="step"
                smoothing={0}
                height={120}
              />
            ))}
          </div>
        </div>
        <div class="stack">
          <Findings model={model} job={job} />
          <LatestClosures model={model} />
          <Facts job={job} />
        </div>
      </div>
    </div>
  );
}
