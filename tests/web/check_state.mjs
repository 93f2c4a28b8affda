/* The model of a job (web/src/job/state.ts) without a browser: what is known after answers and
 * events, in the order of their numbers, with answers that are older than events and the other way
 * round.
 *
 * Usage: node check_state.mjs STATE.MJS */
import { deepStrictEqual as same } from "node:assert";
import { pathToFileURL } from "node:url";

const { said, takeEvent, takeJob, takeLatest, takeTransitions } = await import(
  pathToFileURL(process.argv[2])
);

const NO_RECOVERY = { count: 0, milliseconds: 0, last: null };
const RECOVERY = {
  count: 1,
  milliseconds: 140,
  last: { time_ms: 1500, process: "replica 1", milliseconds: 140, reason: "was killed" },
};

const answer = (part = {}, progress = {}) => ({
  id: "a",
  name: "a",
  state: "RUNNING",
  state_since_ms: 1000,
  reason: null,
  message: "",
  attempt: 1,
  alive: true,
  retryable: false,
  phase: "train",
  phase_since_ms: 1000,
  phase_step: null,
  phase_steps: null,
  recovery: NO_RECOVERY,
  batch_size: 10,
  capabilities: ["pause"],
  ...part,
  progress: {
    step: 5,
    last_step: 100,
    loss: 2,
    samples_per_second: 50,
    steps_per_second: 5,
    ...progress,
  },
});

let nextId = 100;
const event = (type, payload, id = nextId++) => ({ id, type, time_ms: payload.time_ms, payload });
const state = (to_state, time_ms, more = {}) =>
  event("state", { seq: 7, time_ms, from_state: null, to_state, reason: "", message: "", ...more });
const phase = (name, since_ms, more = {}) =>
  event("phase", {
    attempt: 1,
    phase: name,
    since_ms,
    step: null,
    steps: null,
    recovery: NO_RECOVERY,
    ...more,
  });
const metric = (series, attempt = 1) => event("metric", { attempt, series });
const after = (known, ...events) => events.reduce(takeEvent, known);
const running = () => takeJob(null, answer());

const tests = {
  "a pause is known with its event, also to the list of states"() {
    const known = after(running(), state("PAUSING", 2000), state("PAUSED", 2001));
    same(said(known).state, "PAUSED");
    same(said(known).phase, "paused");
    same(said(known).since_ms, 2001);
    same(
      known.transitions.map((one) => one.to),
      ["PAUSING", "PAUSED"],
    );
    same(known.stale, true, "the commands are to be read again");
  },

  "an answer that is older than the event does not undo it"() {
    const paused = after(running(), state("PAUSED", 2001), phase("paused", 2001));
    const known = takeJob(paused, answer({ name: "renamed" }));
    same([known.job.state, known.job.phase, known.job.state_since_ms], ["PAUSED", "paused", 2001]);
    same(known.job.name, "renamed", "what events do not say is taken");
    same(known.stale, true, "still to be read again");
    const fresh = answer({
      state: "PAUSED",
      state_since_ms: 2001,
      phase: "paused",
      phase_since_ms: 2001,
      capabilities: ["resume"],
    });
    const current = takeJob(known, fresh);
    same([current.stale, current.job.capabilities], [false, ["resume"]]);
  },

  "an event that is older than the answer does not undo it, but is in the list"() {
    const known = takeJob(null, answer({ state: "PAUSED", state_since_ms: 3000 }));
    const later = after(known, state("PAUSING", 2000), phase("train", 1500), state("PAUSED", 3000));
    same(said(later).state, "PAUSED");
    same(said(later).phase, "paused");
    same(
      later.transitions.map((one) => one.to),
      ["PAUSING", "PAUSED"],
    );
  },

  "an event that comes twice, or late, changes nothing"() {
    const pause = state("PAUSED", 2000);
    const known = after(running(), pause, state("RUNNING", 3000));
    same(takeEvent(known, pause), known);
    const again = after(known, state("RUNNING", 3000));
    same(again.transitions.length, 2);
  },

  "transitions that are read and those that came are one list in order"() {
    const known = after(running(), state("PAUSED", 2000));
    const row = (to, time_ms, seq) => ({
      ...{ seq, time_ms, from: null, to, reason: null, message: "", attempt: 1, origin: "run" },
    });
    const read = [row("STARTING", 500, 1), row("RUNNING", 1000, 2)];
    const { transitions } = takeTransitions(known, read);
    same(
      transitions.map((one) => [one.seq, one.to]),
      [
        [1, "STARTING"],
        [2, "RUNNING"],
        [3, "PAUSED"],
      ],
    );
  },

  "a change that the server made, without a number of its own, is taken"() {
    const known = after(running(), state("PAUSED", 2000));
    const change = { time_ms: 4000, to_state: "FAILED", reason: "INTERRUPTED", message: "killed" };
    const gone = takeEvent(known, { id: known.lastEvent, type: "state", payload: change });
    same([gone.job.state, gone.job.reason, gone.job.alive], ["FAILED", "INTERRUPTED", false]);
    same(said(gone).phase, null);
  },

  "a validation is a phase of RUNNING with its batches"() {
    const known = after(running(), phase("validate", 2000, { step: 3, steps: 39 }));
    const says = said(known);
    same(
      [says.state, says.phase, says.doing],
      ["RUNNING", "validate", "validating, batch 3 of 39"],
    );
    same([says.left, says.ratesAreNow], [null, false]);
  },

  "a paused validation goes on as one, with the first event"() {
    const batches = { step: 3, steps: 39 };
    const paused = after(
      running(),
      phase("validate", 2000, batches),
      state("PAUSED", 3000),
      phase("paused", 3000, batches),
    );
    same(said(paused).doing, "in a validation, batch 3 of 39");
    const known = after(paused, state("RUNNING", 4000));
    same([said(known).phase, known.job.phase_steps], ["validate", 39]);
    same(said(after(known, phase("train", 5000))).doing, null);
  },

  "an answer with fewer batches of the same validation does not turn it back"() {
    const known = after(running(), phase("validate", 2000, { step: 30, steps: 39 }));
    const old = { phase: "validate", phase_since_ms: 2000, phase_step: 3, phase_steps: 39 };
    same(takeJob(known, answer(old)).job.phase_step, 30);
    same(takeJob(known, answer({ ...old, phase_step: 31 })).job.phase_step, 31);
  },

  "no rate and no time left where no step is taken; what was is known as such"() {
    const steps = metric({ loss: [[10, 1, 1.5]], samples_per_second: [[10, 1, 100]] });
    const known = after(running(), steps);
    same([said(known).ratesAreNow, said(known).stepsPerSecond, said(known).left], [true, 10, 9]);
    for (const [to, time_ms] of [
      ["PAUSED", 2000],
      ["RECOVERING", 2000],
      ["SUCCEEDED", 2000],
      ["STARTING", 2000],
    ]) {
      const says = said(after(known, state(to, time_ms)));
      same([says.ratesAreNow, says.left, says.samplesPerSecond], [false, null, 100], to);
    }
    same(said(after(known, phase("save", 2000))).left, 9, "training goes on while it saves");
  },

  "the loss scale: unknown, then off or its value"() {
    const compiling = takeJob(
      null,
      answer({ state: "COMPILING", phase: "compile" }, { step: null, loss: null }),
    );
    same(said(compiling).lossScale, { kind: "unknown" });
    const started = after(compiling, state("RUNNING", 2000), phase("train", 2000));
    same(said(started).lossScale, { kind: "unknown" }, "no step yet");
    same(said(after(started, metric({ loss: [[1, 1, 2]] }))).lossScale, { kind: "off" });
    const halved = after(
      started,
      metric({ loss: [[1, 1, 2]], loss_scale: [[1, 1, 65536]] }),
      metric({ loss: [[2, 1, 2]], loss_scale: [[2, 1, 32768]] }),
    );
    same(said(halved).lossScale, { kind: "scale", value: 32768 });
  },

  "steps: the newest, of the answer or of the points; none goes back in an attempt"() {
    const known = after(running(), metric({ loss: [[8, 1, 1.5]] }));
    same([said(known).step, said(known).loss], [8, 1.5]);
    const late = after(known, metric({ loss: [[7, 1, 9]] }));
    same([said(late).step, said(late).loss], [8, 1.5]);
    const next = after(known, metric({ loss: [[6, 1, 3]] }, 2));
    same(next.latest.loss, { attempt: 2, step: 6, value: 3 });
    const read = { loss: { attempt: 1, step: 2, value: 7 } };
    same(takeLatest(known, read).latest.loss.step, 8, "what came is newer than what was read");
    same(said(after(known, metric({ loss: [[9, 1, "NaN"]] }))).loss, Number.NaN);
  },

  "a recovery leaves its trace, whatever is read afterwards"() {
    const known = after(
      running(),
      state("RECOVERING", 1500, { message: "replica 1 was killed" }),
      phase("recover", 1500),
      state("RUNNING", 1640),
      phase("train", 1640, { recovery: RECOVERY }),
    );
    same(known.job.recovery, RECOVERY);
    same(known.transitions.at(-2).message, "replica 1 was killed");
    same(takeJob(known, answer()).job.recovery, RECOVERY, "of an answer from before");
  },

  "an event of another kind changes nothing that is said"() {
    const known = running();
    same(said(after(known, event("topology", { processes: [] }))), said(known));
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    test();
    console.log(`ok ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}: ${error.stack}`);
  }
}
console.log(`${Object.keys(tests).length - failed} held, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
