/* What is wrong with how a run trains, in a word each, wherever its state stands. */
import type { Job } from "@generated/client";
import { Badge, Say } from "@/components/parts";

export type HealthKind = Job["health"][number]["kind"];

export const HEALTH_TONES: Record<HealthKind, "bad" | "warn" | "calm"> = {
  diverged: "bad",
  overflowed: "warn",
  skipping: "warn",
  starving: "warn",
  plateau: "calm",
};

export function HealthBadges({ job }: { job: Job }) {
  return (
    <>
      {job.health.map(({ kind, message }) => (
        <span key={kind} title={message}>
          <Badge tone={HEALTH_TONES[kind]} {...(kind === "plateau" ? {} : { icon: "warn" })}>
            <Say what="health" value={kind}>
              {kind}
            </Say>
          </Badge>
        </span>
      ))}
    </>
  );
}
