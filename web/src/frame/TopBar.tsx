/* The bar on top: the selected job, its state, its commands, and whether the stream is live. */
import { useState } from "preact/hooks";
import { streamStatus, type StreamStatus } from "@/api/stream";
import { duration, integer, time } from "@/base/format";
import { useResource } from "@/base/resource";
import { href } from "@/base/route";
import { theme, type Theme } from "@/base/theme";
import { Icon, type IconName } from "@/components/Icon";
import { HealthBadges } from "@/components/Health";
import { Dialog, Meter, Say, StateBadge, stateTone } from "@/components/parts";
import { act, type Command } from "@/job/actions";
import { current, isFinal } from "@/job/model";
import type { Said } from "@/job/state";
import { JobMenu } from "@/frame/JobMenu";
import { SignOut } from "@/frame/SignOut";
import { api, type Job } from "@generated/client";

declare const IS_REPORT: boolean;

const STATUS: Record<StreamStatus, { text: string; title: string }> = {
  off: { text: "", title: "" },
  connecting: { text: "connecting", title: "Waiting for the event stream" },
  live: { text: "live", title: "Events arrive as they happen" },
  reconnecting: { text: "reconnecting", title: "The stream was cut; trying again" },
  polling: { text: "every 2 s", title: "Other tabs hold the streams; this one asks every 2 s" },
  ended: { text: IS_REPORT ? "report" : "ended", title: "The run is over; nothing more will come" },
};

function LiveStatus() {
  const status = streamStatus.value;
  if (status === "off") return null;
  const { text, title } = STATUS[status];
  return (
    <span class={`stream-status ${status}`} role="status" title={title}>
      <i aria-hidden="true" />
      {text}
    </span>
  );
}

const NEXT: Record<Theme, { next: Theme; icon: IconName; text: string }> = {
  system: { next: "light", icon: "auto", text: "Colours of the system" },
  light: { next: "dark", icon: "sun", text: "Light colours" },
  dark: { next: "system", icon: "moon", text: "Dark colours" },
};

function ThemeButton() {
  const { next, icon, text } = NEXT[theme.value];
  return (
    <button
      class="plain icon"
      aria-label={`${text}; change`}
      title={text}
      onClick={() => (theme.value = next)}
    >
      <Icon name={icon} />
    </button>
  );
}

const BUTTONS: { command: Command; icon: IconName; text: string }[] = [
  { command: "pause", icon: "pause", text: "Pause" },
  { command: "resume", icon: "play", text: "Resume" },
  { command: "checkpoint", icon: "save", text: "Checkpoint" },
  { command: "scale", icon: "scale", text: "Scale" },
  { command: "cancel", icon: "stop", text: "Cancel" },
  { command: "kill", icon: "kill", text: "Kill" },
];

function CancelDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const [save, setSave] = useState(true);
  return (
    <Dialog title={`Cancel ${job.name}?`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void act(job, "cancel", { save });
          onClose();
        }}
      >
        <p>It ends after the step in flight. What was recorded and saved so far stays.</p>
        <label class="row">
          <input
            type="checkbox"
            checked={save}
            onChange={(event) => setSave(event.currentTarget.checked)}
          />
          write a checkpoint first
        </label>
        <div class="row end">
          <button type="button" onClick={onClose}>
            Keep it running
          </button>
          <button class="primary">Cancel the job</button>
        </div>
      </form>
    </Dialog>
  );
}

/* What another attempt will do, before it is asked for. */
function ResumeDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const { data } = useResource(() => api.listCheckpoints({ id: job.id }), [job.id]);
  const step = data?.checkpoints.reduce<number | null>(
    (newest, one) => Math.max(newest ?? 0, one.step),
    null,
  );
  const last = job.progress.last_step;
  const from =
    step === undefined
      ? ""
      : step === null
        ? "It has no checkpoint: it begins anew, with step 1."
        : `It goes on from its checkpoint of step ${integer(step)}` +
          (last !== null ? `; ${integer(Math.max(0, last - step))} steps remain.` : ".");
  return (
    <Dialog title={`Start ${job.name} again?`} onClose={onClose}>
      <p data-says="resume-from" data-value={step ?? ""}>
        It is queued as attempt {job.attempt + 1}. {from}
      </p>
      {job.state === "FAILED" && (
        <p class={job.retryable ? "soft" : "banner warn"}>
          {job.retryable
            ? `It failed (${job.reason}: ${job.message}), which may go away by itself.`
            : `It failed (${job.reason}: ${job.message}) and will fail again unless the cause is gone.`}
        </p>
      )}
      <div class="row end">
        <button onClick={onClose}>Leave it</button>
        <button
          class="primary"
          onClick={() => {
            void act(job, "resume");
            onClose();
          }}
        >
          Start it again
        </button>
      </div>
    </Dialog>
  );
}

function KillDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  return (
    <Dialog title={`Kill ${job.name}?`} onClose={onClose}>
      <p>Its processes end at once, without a checkpoint. Steps after the last one are lost.</p>
      <div class="row end">
        <button onClick={onClose}>Keep it running</button>
        <button
          class="danger"
          onClick={() => {
            void act(job, "kill");
            onClose();
          }}
        >
          Kill the job
        </button>
      </div>
    </Dialog>
  );
}

/* What happens beyond the number that the run began with depends on who started it. */
const MORE_REPLICAS = {
  root:
    "With more than the run began with, it ends with a checkpoint and goes on from it with more " +
    "replicas, as another attempt.",
  run:
    "More than the run began with are refused: start it again with more, and it goes on from its " +
    "last checkpoint.",
};

function ScaleDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const [replicas, setReplicas] = useState(job.num_csx ?? 1);
  const version = useResource(() => api.getVersion(), []);
  return (
    <Dialog title={`Scale ${job.name}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void act(job, "scale", { num_csx: replicas });
          onClose();
        }}
      >
        <label class="row">
          replicas (num_csx)
          <input
            type="number"
            min={1}
            max={1024}
            value={replicas}
            required
            onInput={(event) => setReplicas(Number(event.currentTarget.value))}
          />
        </label>
        <p class="soft">
          Replicas share the microbatches of each step. Fewer of them, or again up to the number
          that the run began with, take over from the next step on; the run is not interrupted.
        </p>
        {version.data && <p class="soft">{MORE_REPLICAS[version.data.mode]}</p>}
        <p class="soft">The trained weights have the same bits with any number of replicas.</p>
        <div class="row end">
          <button type="button" onClick={onClose}>
            Leave it
          </button>
          <button class="primary">Scale</button>
        </div>
      </form>
    </Dialog>
  );
}

function Controls({ job }: { job: Job }) {
  const [asking, setAsking] = useState<Command | null>(null);
  const commands = new Set<Command>(job.capabilities);
  if (job.state === "RUNNING") commands.delete("resume");
  if (job.state === "PAUSED" || job.state === "PAUSING") commands.delete("pause");
  const run = (command: Command) =>
    command === "cancel" ||
    command === "kill" ||
    command === "scale" ||
    (command === "resume" && isFinal(job.state))
      ? setAsking(command)
      : act(job, command);
  const close = () => setAsking(null);
  return (
    <div class="controls" role="group" aria-label="Job control">
      {BUTTONS.filter(({ command }) => commands.has(command)).map(({ command, icon, text }) => (
        <button
          key={command}
          data-command={command}
          aria-label={text}
          title={text}
          onClick={() => void run(command)}
          class={command === "kill" ? "danger" : ""}
        >
          <Icon name={icon} />
          <span>{text}</span>
        </button>
      ))}
      <JobMenu job={job} />
      {asking === "cancel" && <CancelDialog job={job} onClose={close} />}
      {asking === "resume" && <ResumeDialog job={job} onClose={close} />}
      {asking === "kill" && <KillDialog job={job} onClose={close} />}
      {asking === "scale" && <ScaleDialog job={job} onClose={close} />}
    </div>
  );
}

function JobCrumb({ job, says }: { job: Job; says: Said }) {
  const { step, lastStep: last } = says;
  return (
    <>
      <strong class="ellipsis" title={job.id}>
        {job.name}
      </strong>
      <StateBadge state={says.state} reason={job.reason} />
      <HealthBadges job={job} />
      {says.doing && (
        <span class="small soft ellipsis" title={`since ${time(job.phase_since_ms)}`}>
          <Say what="phase" value={says.phase}>
            {says.doing}
          </Say>
        </span>
      )}
      {last !== null && last > 0 && (
        <span class="row progress">
          <Meter share={(step ?? 0) / last} label="Progress" tone={stateTone(says.state)} />
          <span class="small number soft nowrap">
            <Say what="step" value={step}>
              {integer(step)}
            </Say>
            {" / "}
            {integer(last)}
            {says.left !== null && (
              <Say what="left" value={says.left}>
                {` · ${duration(says.left)} left`}
              </Say>
            )}
          </span>
        </span>
      )}
    </>
  );
}

export function TopBar({ onHelp }: { onHelp: () => void }) {
  const job = current.value?.job.value ?? null;
  const says = current.value?.said.value ?? null;
  return (
    <header class="topbar">
      <a class="brand" href={href("/jobs")} aria-label="csengine, all jobs">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" fill="var(--accent)" />
          <path
            d="M6 22 12 12l5 6 9-10"
            fill="none"
            stroke="var(--accent-text)"
            stroke-width="3"
            stroke-linecap="round"
            stroke-linejoin="round"
          />
        </svg>
        <span>csengine</span>
      </a>
      <div class="crumb">{job && says && <JobCrumb job={job} says={says} />}</div>
      <span class="spacer" />
      {job && !IS_REPORT && <Controls job={job} />}
      <LiveStatus />
      <ThemeButton />
      <button
        class="plain icon"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={onHelp}
      >
        <Icon name="help" />
      </button>
      <SignOut />
    </header>
  );
}
