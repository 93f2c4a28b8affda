/* Overview of a job: its state transitions, rate, metrics and findings. */
import { useMemo } from "preact/hooks";
import { api, type Job, type Transition } from "@generated/client";
import { compact, date, duration, integer, number, shortDate, time } from "@/base/format";
import { href } from "@/base/route";
import { Goodput } from "@/components/Goodput";
import { Icon } from "@/components/Icon";
import { MetricChart, type Run } from "@/components/MetricChart";
import {
  Empty,
  Failure,
  PageHeader,
  Loading,
  Say,
  StateBadge,
  Tile,
  stateIcon,
  stateTone,
} from "@/components/parts";
import { Prose } from "@/components/Prose";
import { findingsOf } from "@/job/findings";
import { readStatistics, type Statistics } from "@/job/numerics";
import { lastOf } from "@/job/series";
import { joinSamples } from "@/job/topology";
import { current, isFinal, notYet, type JobModel } from "@/job/model";
import type { Said } from "@/job/state";
import { useRecorded } from "@/job/recorded";
import { payloadText, placeText } from "@/job/payload";
import { canReplay, stepLink } from "@/tensors/link";
import type { PageEntry } from "@/frame/page";

const SIDE_NAMES = ["samples_per_second", "loss_scale", "gradient_norm", "grad_norm", "lr/0"];

const SHOWN_STATES = 16;

/* What the message of a recovery begins with: the process and how it ended. */
const lost = (message: string): string => message.split(/ in step |;/)[0] ?? message;

/* The last state with its phase; a recovery with the process that was lost. */
function RailEntry({
  one,
  next,
  says,
  isNewAttempt,
}: {
  one: Transition;
  next: Transition | undefined;
  says: Said;
  isNewAttempt: boolean;
}) {
  const why = one.reason ?? (one.to === "RECOVERING" ? lost(one.message) : null);
  return (
    <li
      class={`${stateTone(one.to)}${next ? "" : " now"}`}
      title={`${date(one.time_ms)}\n${one.message}`}
    >
      {isNewAttempt && <span class="attempt">attempt {one.attempt}</span>}
      <Icon name={stateIcon(one.to)} />
      <span class="what">
        <Say what={next ? "past-state" : "state"} value={one.to}>
          {one.to.toLowerCase()}
        </Say>
      </span>
      {!next && says.doing && <span class="soft">{says.doing}</span>}
      <span class="when faint number">
        {next ? duration((next.time_ms - one.time_ms) / 1000) : `since ${time(one.time_ms)}`}
      </span>
      {why && <span class="why faint ellipsis">{why}</span>}
    </li>
  );
}

function StateRail({ transitions, says }: { transitions: readonly Transition[]; says: Said }) {
  if (transitions.length === 0) return null;
  const hidden = Math.max(0, transitions.length - SHOWN_STATES);
  return (
    <ol class="state-rail" aria-label="States the job went through">
      {hidden > 0 && <li class="calm">{integer(hidden)} before</li>}
      {transitions.map((one, i) =>
        i < hidden ? null : (
          <RailEntry
            key={`${one.time_ms}${one.to}`}
            one={one}
            next={transitions[i + 1]}
            says={says}
            isNewAttempt={one.attempt > 1 && one.attempt !== transitions[i - 1]?.attempt}
          />
        ),
      )}
    </ol>
  );
}

type Format = (rate: number | null) => string;

/* Of a run that is over, the mean; else, a rate that is not of now is shown as what it was. */
function rateTile(says: Said, rate: number | null, mean: number | null, format: Format) {
  if (says.ratesAreNow) return { value: format(rate), unit: "/s", note: null };
  if (isFinal(says.state))
    return mean === null
      ? { value: "–", note: "too short to measure" }
      : { value: format(mean), unit: "/s", note: "on average" };
  return { value: "–", note: rate === null ? "not measured yet" : `${format(rate)}/s before` };
}

const SCALE_WORDS = {
  unknown: { value: "–", note: "known with the first step" },
  off: { value: "off", note: "no loss scaling" },
};

function scaleTile({ lossScale }: Said) {
  if (lossScale.kind !== "scale") return SCALE_WORDS[lossScale.kind];
  const { value } = lossScale;
  return { value: number(value), note: `2^${number(Math.log2(value), 3)}` };
}

function SkippedTile({ skipped }: Said) {
  if (!skipped) return null;
  return (
    <Tile
      label="Skipped"
      tone="warn"
      value={
        <Say what="skipped-steps" value={skipped}>
          {integer(skipped)}
        </Say>
      }
      unit={skipped === 1 ? "step" : "steps"}
      note="gradients not finite"
    />
  );
}

function Recoveries({ job }: { job: Job }) {
  const { count, milliseconds, last } = job.recovery;
  if (count === 0) return null;
  const cost = duration(milliseconds / 1000);
  return (
    <Tile
      label="Recoveries"
      tone="warn"
      value={
        <Say what="recoveries" value={count}>
          {integer(count)}
        </Say>
      }
      note={
        <Say what="recovery-milliseconds" value={milliseconds}>
          <span title={last ? `${last.process} ${last.reason}, ${time(last.time_ms)}` : ""}>
            {`${cost}${last ? ` · ${last.process}` : ""}`}
          </span>
        </Say>
      }
    />
  );
}

const LEFT_WORDS: Partial<Record<NonNullable<Said["phase"]>, string>> = {
  compile: "it compiles",
  start: "it starts",
  validate: "it validates",
  recover: "it recovers",
  paused: "it is paused",
};

function TimeTile({ job, says }: { job: Job; says: Said }) {
  const started = job.started_ms ? `started ${shortDate(job.started_ms)}` : "not started";
  if (says.phase === null && job.started_ms !== null)
    return (
      <Tile
        label="Ran"
        value={
          <Say what="ran" value={job.ran_ms}>
            {duration(ran(job))}
          </Say>
        }
        note={job.attempt > 1 ? `${job.attempt} attempts, ${started}` : started}
      />
    );
  return (
    <Tile
      label="Left"
      value={
        <Say what="left" value={says.left}>
          {duration(says.left)}
        </Say>
      }
      note={(says.phase && LEFT_WORDS[says.phase]) ?? started}
    />
  );
}

function Tiles({ job, model, run, says }: { job: Job; model: JobModel; run: Run; says: Said }) {
  const tokens =
    model.live.last("tokens_per_second")?.value ?? lastOf("tokens_per_second", run.metrics);
  const mean = job.progress.mean_samples_per_second;
  const meanSteps = mean !== null && job.batch_size ? mean / job.batch_size : null;
  const steps = rateTile(says, says.stepsPerSecond, meanSteps, (rate) => number(rate, 3));
  const samples = rateTile(says, says.samplesPerSecond, mean, compact);
  const scale = scaleTile(says);
  const { lossScale } = says;
  return (
    <dl class="tiles">
      <Tile
        label="Loss"
        value={
          <Say what="loss" value={says.loss}>
            {number(says.loss)}
          </Say>
        }
        note={`lowest ${number(job.progress.minimum_loss)}`}
      />
      <Tile
        label="Steps"
        value={
          <Say what="steps-per-second" value={says.ratesAreNow ? says.stepsPerSecond : null}>
            {steps.value}
          </Say>
        }
        unit={steps.unit}
        note={
          <>
            <Say what="step" value={says.step}>
              {integer(says.step)}
            </Say>
            {` of ${integer(says.lastStep)}`}
          </>
        }
      />
      <Tile
        label="Samples"
        value={
          <Say what="samples-per-second" value={says.ratesAreNow ? says.samplesPerSecond : null}>
            {samples.value}
          </Say>
        }
        unit={samples.unit}
        note={
          isFinal(says.state) ? (
            <Say what="mean-samples-per-second" value={mean}>
              {samples.note}
            </Say>
          ) : (
            (samples.note ?? `batch ${integer(job.batch_size)}`)
          )
        }
      />
      {tokens !== null && says.ratesAreNow && (
        <Tile label="Tokens" value={compact(tokens)} unit="/s" />
      )}
      <Tile
        label="Loss scale"
        value={
          <Say
            what="loss-scale"
            value={lossScale.kind === "scale" ? lossScale.value : lossScale.kind}
          >
            {scale.value}
          </Say>
        }
        note={scale.note}
      />
      <SkippedTile {...says} />
      <TimeTile job={job} says={says} />
      <Tile
        label="Replicas"
        value={
          <Say what="replicas" value={job.num_csx}>
            {integer(job.num_csx)}
          </Say>
        }
        note={`${job.attempt > 0 ? `attempt ${job.attempt}` : "no attempt yet"}${job.restarts ? `, ${job.restarts} restarts` : ""}`}
      />
      <Recoveries job={job} />
    </dl>
  );
}

/* Of all attempts together, without the time between them. */
function ran(job: Job): number | null {
  if (job.ran_ms !== null) return job.ran_ms / 1000;
  return job.started_ms === null ? null : ((job.ended_ms ?? Date.now()) - job.started_ms) / 1000;
}

const FINDING_ICONS = { bad: "warn", warn: "warn", info: "info", good: "check" } as const;
const SAMPLE_MS = 500;
const WORKING = new Set<Said["phase"]>(["train", "save", "validate"]);

/* No more than what was looked at. */
function nothingStandsOut({ numerics_every: every }: Job, works: boolean): string {
  const where = every === 1 ? "" : ` on the observed steps (every ${integer(every)})`;
  const found = [
    ...(works ? ["no process starves"] : []),
    ...(every ? [`no number overflows${where}`] : []),
    "nothing is missing",
  ];
  return `Nothing does: ${found.join(", ")}.${every ? "" : " Numbers are not observed."}`;
}

/* The newest statistics, and the first of the whole run that were bad. */
async function readNumbers(job: Job): Promise<Statistics> {
  const from = Math.max(0, (job.progress.step ?? 0) - 200);
  const [newest, bad] = await Promise.all([
    readStatistics(job.id, { from }),
    readStatistics(job.id, { bad: true }),
  ]);
  return { ...newest, records: [...bad.records, ...newest.records] };
}

function Findings({ model, job, says }: { model: JobModel; job: Job; says: Said }) {
  const numerics = useRecorded(model, () => readNumbers(job), [model.numericsVersion.value]);
  const stored = useRecorded(model, () => api.getTopology({ id: job.id, samples: 60 }), []);
  const works = WORKING.has(says.phase);
  /* Processes that stand still wait for nothing. */
  const since_ms = says.since_ms ?? 0;
  const samples = works
    ? joinSamples(stored.data?.samples ?? [], model.topology.value).filter(
        (one) => one.time_ms - SAMPLE_MS >= since_ms,
      )
    : [];
  const looks = numerics.loading && (job.numerics_every ?? 0) > 0;
  const found = findingsOf({ job, samples, numerics: numerics.data, gaps: model.gaps.value });
  return (
    <section class="panel">
      <h2>What stands out</h2>
      <ul class="findings">
        {found.map((one) => (
          <li key={one.text} class={one.tone}>
            <Icon name={FINDING_ICONS[one.tone]} />
            <span>
              <a href={href(`/jobs/${encodeURIComponent(job.id)}/${one.page}`)}>
                <Prose text={one.text} />
              </a>
              {one.values && canReplay() && (
                <>
                  {" "}
                  <a class="values" href={stepLink(job.id, { ...one.values, begin: true })}>
                    its values
                  </a>
                </>
              )}
            </span>
          </li>
        ))}
        {found.length === 0 && looks && <li class="calm">Reading the tensor statistics</li>}
        {found.length === 0 && !looks && (
          <li class="good">
            <Icon name="check" />
            <Say what="numbers-observed" value={job.numerics_every}>
              {nothingStandsOut(job, works)}
            </Say>
          </li>
        )}
      </ul>
    </section>
  );
}

/** Each file's use, bytes and the beginning of its digest. */
function dataFiles(data: string | null | undefined): string | null {
  const files = (data ?? "").split("\n").filter((line) => line !== "");
  const shown = files.map((line) => {
    const [use = "", digest = "", bytes = "", , , , , path = ""] = line.split(" ");
    return `${path} (${use}, ${bytes} bytes, ${digest.slice(0, 20)}…)`;
  });
  return shown.length > 0 ? shown.join(", ") : null;
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
    ["Data", dataFiles(job.data)],
    ["Identity", job.identity ?? null],
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
              <dd title={value ?? ""}>
                <Prose text={value ?? ""} />
              </dd>
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
            <span class="number soft nowrap">{placeText(one)}</span>
            <span>{one.name}</span>
            <code class="ellipsis">{payloadText(one)}</code>
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
  const says = model.said.value;
  const { run, resource } = useRun(model, undefined, 800);
  if (!job || !says)
    return (
      <>
        <PageHeader title={model.id} />
        {model.error.value ? <Failure error={model.error.value} /> : <Loading />}
      </>
    );
  const names = new Set(model.names.value);
  const lossNames = ["loss", ...["val_loss", "eval_loss"].filter((name) => names.has(name))];
  const side = SIDE_NAMES.filter((name) => names.has(name)).slice(0, 4);
  return (
    <div class="stack">
      <section aria-label="State" class="row wrap">
        <h1 class="hidden-text">{job.name}: pulse</h1>
        <StateRail transitions={model.transitions.value} says={says} />
      </section>
      {job.waiting_for && (
        <div class="banner info" role="status">
          <Icon name="clock" />
          <span>Waiting: {job.waiting_for}</span>
        </div>
      )}
      <Tiles job={job} model={model} run={run} says={says} />
      <div class="columns main-side">
        <div class="stack">
          {names.size === 0 && !resource.loading ? (
            <section class="panel">
              <Empty title={notYet("No metrics")} icon="curves">
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
          <Findings model={model} job={job} says={says} />
          <Goodput model={model} />
          <LatestClosures model={model} />
          <Facts job={job} />
        </div>
      </div>
    </div>
  );
}

export const page: PageEntry = {
  name: "pulse",
  order: 40,
  title: "Pulse",
  icon: "pulse",
  key: "p",
  view: Pulse,
  ofJob: true,
};
