/* The rungs of successive halving: who was trained to each, and who went on. */
import type { Sweep } from "@generated/client";
import { integer, number } from "@/base/format";
import { Badge } from "@/components/parts";
import type { IconName } from "@/components/Icon";
import { valuesAt } from "@/sweeps/columns";

const MOST_SHOWN = 60;

type Fate = "on" | "stopped" | "open" | "failed" | "last";

const FATES: Record<
  Fate,
  { tone: "good" | "bad" | "calm" | "info"; icon: IconName; text: string }
> = {
  on: { tone: "good", icon: "check", text: "went on" },
  stopped: { tone: "calm", icon: "stop", text: "stopped early" },
  open: { tone: "calm", icon: "clock", text: "not measured yet" },
  failed: { tone: "bad", icon: "warn", text: "failed" },
  last: { tone: "info", icon: "dots", text: "measured" },
};

interface Member {
  trial: number;
  value: number | null;
  fate: Fate;
}

function membersOf(sweep: Sweep, rung: number): Member[] {
  const values = valuesAt(sweep, rung);
  const next = new Set(sweep.rungs[rung + 1]?.trials ?? []);
  const isDecided = sweep.rung === null || rung < sweep.rung;
  const isLast = rung === sweep.rungs.length - 1;
  const fateOf = (trial: number): Fate => {
    if (!values.has(trial)) return next.has(trial) ? "on" : "open";
    if (values.get(trial) === null) return "failed";
    if (isLast || !isDecided) return "last";
    return next.has(trial) ? "on" : "stopped";
  };
  const sign = sweep.goal === "max" ? -1 : 1;
  return (sweep.rungs[rung]?.trials ?? [])
    .map((trial) => ({ trial, value: values.get(trial) ?? null, fate: fateOf(trial) }))
    .sort((a, b) =>
      a.value === null || b.value === null
        ? Number(a.value === null) - Number(b.value === null)
        : sign * (a.value - b.value),
    );
}

function Chip({ member: { trial, value, fate } }: { member: Member }) {
  const { tone, icon, text } = FATES[fate];
  return (
    <li data-trial={trial} data-fate={fate}>
      <Badge tone={tone} icon={icon}>
        {trial}
        {value !== null && `: ${number(value)}`}
        <span class="hidden-text"> {text}</span>
      </Badge>
    </li>
  );
}

function Rung({ sweep, rung }: { sweep: Sweep; rung: number }) {
  const about = sweep.rungs[rung];
  if (!about) return null;
  const members = membersOf(sweep, rung);
  const count = members.length > 0 ? members.length : about.planned;
  return (
    <li data-rung={rung}>
      <h3>to step {integer(about.steps)}</h3>
      <span class="soft">
        {members.length === 0
          ? `${integer(count)} ${count === 1 ? "trial" : "trials"}, once the rung before is complete`
          : `${integer(about.tried)} of ${integer(count)} ${count === 1 ? "trial" : "trials"}`}
      </span>
      <ul>
        {members.slice(0, MOST_SHOWN).map((member) => (
          <Chip key={member.trial} member={member} />
        ))}
        {members.length > MOST_SHOWN && (
          <li class="soft">and {integer(members.length - MOST_SHOWN)} more</li>
        )}
      </ul>
    </li>
  );
}

export function Rungs({ sweep }: { sweep: Sweep }) {
  if (sweep.rungs.length < 2) return null;
  const shown = (["on", "stopped", "last", "open", "failed"] as const).filter(
    (fate) => fate !== "failed" || sweep.failed > 0,
  );
  return (
    <section class="panel" aria-label="Rungs">
      <h2>Rungs of halving</h2>
      <ol class="rungs body">
        {sweep.rungs.map((_, rung) => (
          <Rung key={rung} sweep={sweep} rung={rung} />
        ))}
      </ol>
      <p class="legend body soft small">
        Trials by number and value, the best first:{" "}
        {shown.map((fate) => (
          <Badge key={fate} tone={FATES[fate].tone} icon={FATES[fate].icon}>
            {FATES[fate].text}
          </Badge>
        ))}
      </p>
    </section>
  );
}
