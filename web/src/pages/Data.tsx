/* The data of the training: where each input worker stands, samples as they are decoded, which
 * samples a step takes, and those that could not be read. */
import { useState } from "preact/hooks";
import { api, type Data as Facts, type TopologyProcess } from "@generated/client";
import { integer, time } from "@/base/format";
import { Empty, PageHeader, Tile, Waiting } from "@/components/parts";
import { SampleBody, labelOf } from "@/components/Sample";
import { current, notYet, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";
import { ROLE } from "@/job/topology";
import type { PageEntry } from "@/frame/page";

const EVERY_MS = 5000;

function Figures({ facts }: { facts: Facts }) {
  const bad = facts.bad_records.count;
  return (
    <dl class="tiles">
      <Tile label="Input" value={facts.input} note={facts.source} />
      <Tile label="Samples" value={integer(facts.samples)} note="of an epoch" />
      <Tile
        label="Batch"
        value={integer(facts.batch_size)}
        note={`in microbatches of ${integer(facts.micro_batch_size)}`}
      />
      <Tile
        label="Steps of an epoch"
        value={integer(facts.steps_per_epoch)}
        note={orderOf(facts)}
      />
      <Tile
        label="Bad records"
        value={integer(bad)}
        note={bad > 0 ? "replaced by the next sample" : "none was replaced"}
        tone={bad > 0 ? "warn" : undefined}
      />
    </dl>
  );
}

function orderOf(facts: Facts) {
  if (facts.drawn) return `drawn with replacement, by weights, by seed ${facts.shuffle_seed}`;
  return facts.shuffle ? `shuffled by seed ${facts.shuffle_seed}` : "in the order of the data";
}

function Worker({ process, samples }: { process: TopologyProcess; samples: number }) {
  const place = process.sample;
  return (
    <tr>
      <td>{process.name}</td>
      <td class="number">{integer(process.epoch)}</td>
      <td class="number">{integer(place)}</td>
      <td>
        {place !== undefined && (
          <meter
            class="epoch-place"
            min={0}
            max={samples}
            value={place}
            aria-label={`${process.name}: place in the epoch`}
          />
        )}
      </td>
      <td class="number">{integer(process.step)}</td>
      <td class="number">{integer(process.microbatch)}</td>
      <td class="number">{integer(process.bad_records ?? 0)}</td>
    </tr>
  );
}

function Workers({ processes, samples }: { processes: TopologyProcess[]; samples: number }) {
  const workers = processes.filter(
    (one) => one.role === ROLE.input || (one.sample !== undefined && one.sample !== null),
  );
  return (
    <section class="panel scroll" tabIndex={0} role="region" aria-label="Input workers">
      <h2>Where each input worker stands</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Process</th>
            <th scope="col" class="number">
              Epoch
            </th>
            <th scope="col" class="number">
              Sample of it
            </th>
            <th scope="col">Place in the epoch</th>
            <th scope="col" class="number">
              Step
            </th>
            <th scope="col" class="number">
              Microbatch
            </th>
            <th scope="col" class="number">
              Bad records
            </th>
          </tr>
        </thead>
        <tbody>
          {workers.map((one) => (
            <Worker key={one.name} process={one} samples={samples} />
          ))}
          {workers.length === 0 && (
            <tr>
              <td colSpan={7} class="faint">
                No place is known: it is told twice a second while steps are taken.
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </section>
  );
}

function Examples({ facts }: { facts: Facts }) {
  if (facts.examples.length === 0) return null;
  return (
    <section class="panel">
      <h2>Samples as they are decoded</h2>
      <div class="body">
        <p class="soft">The first of the step with which this start of the run began.</p>
        <div class="sample-grid">
          {facts.examples.map((one, i) => (
            <figure key={i} class={one.text === undefined ? "sample" : "sample wide"}>
              <SampleBody sample={one} />
              <figcaption>
                <strong>{labelOf(one) ?? `sample ${one.sample}`}</strong>
                <span class="faint small ellipsis" title={one.place}>
                  {one.place ?? `sample ${one.sample}`}
                </span>
              </figcaption>
            </figure>
          ))}
        </div>
      </div>
    </section>
  );
}

function StepSamples({ facts, onStep }: { facts: Facts; onStep: (step: number) => void }) {
  const read = (event: Event) => {
    const step = Number((event.currentTarget as HTMLInputElement).value);
    if (Number.isInteger(step) && step >= 1) onStep(step);
  };
  return (
    <section class="panel">
      <h2>Samples of a step</h2>
      <div class="body">
        <label class="step-field">
          Step <input type="number" min={1} step={1} value={facts.step} onChange={read} />{" "}
          <span class="faint">
            of epoch {Math.floor((facts.step - 1) / facts.steps_per_epoch) + 1}
          </span>
        </label>
        <ol class="step-samples" start={0}>
          {facts.step_samples.map((numbers, m) => (
            <li key={m}>
              <span class="soft">microbatch {m}</span>
              <code>{numbers.join(" ")}</code>
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
}

function BadRecords({ facts }: { facts: Facts }) {
  const rows = facts.bad_records.first;
  if (rows.length === 0) return null;
  return (
    <section class="panel scroll" tabIndex={0} role="region" aria-label="Bad records">
      <h2>The first records that could not be read</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Process</th>
            <th scope="col">Sample, file and reason</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one, i) => (
            <tr key={i}>
              <td>{time(one.time_ms)}</td>
              <td>
                {(one.role ?? "").replace("_", " ")} {one.rank}
              </td>
              <td>{one.message}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Data() {
  const model = current.value as JobModel;
  const [step, setStep] = useState<number | undefined>(undefined);
  const read = useRecorded(model, () => api.getData({ id: model.id, step }), [step], EVERY_MS);
  const stored = useRecorded(model, () => api.getTopology({ id: model.id, samples: 1 }), []);
  const live = model.topology.value;
  const newest = live[live.length - 1] ?? stored.data?.samples[0];
  const facts = read.data;
  return (
    <>
      <PageHeader title="Data" />
      {read.error?.status === 404 ? (
        <section class="panel">
          <Empty title={notYet("No data")} icon="data">
            What the run reads is written down before its first step, unless the setting
            samples.count is 0.
          </Empty>
        </section>
      ) : (
        <Waiting for={read} />
      )}
      {facts && (
        <>
          <Figures facts={facts} />
          <div class="stack after-tiles">
            <Workers processes={newest?.processes ?? []} samples={facts.samples} />
            <BadRecords facts={facts} />
            <Examples facts={facts} />
            <StepSamples facts={facts} onStep={setStep} />
          </div>
        </>
      )}
    </>
  );
}

export const page: PageEntry = {
  name: "data",
  order: 100,
  title: "Data",
  icon: "data",
  key: "d",
  view: Data,
  ofJob: true,
};
