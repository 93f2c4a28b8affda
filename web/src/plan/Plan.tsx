/* What training would take on other numbers of hosts: the model of `csengine plan` over the profile
 * of one host, drawn as curves. All have the number of hosts along the bottom, so that they are read
 * one below the other. */
import { useState } from "preact/hooks";
import { api, type HostPlan } from "@generated/client";
import { integer, number, percent } from "@/base/format";
import { Empty, Failure, Loading, PageHeader } from "@/components/parts";
import { current, notYet, type JobModel } from "@/job/model";
import { useRecorded } from "@/job/recorded";

const SIZE = { width: 420, height: 180, left: 62, bottom: 26, top: 10, right: 14 };
const LINKS = ["100M", "1G", "10G", "25G", "100G"];
const FAILURES = [0, 100, 1000, 10000];
const SAVES = [0, 100, 1000, 10000];

interface Curve {
  title: string;
  of: (plan: HostPlan) => number | null;
  text: (value: number) => string;
}

const CURVES: Curve[] = [
  { title: "Step time, ms", of: (p) => 1e3 * p.step_s, text: (v) => number(v, 4) },
  {
    title: "Exposed communication, ms a step",
    of: (p) => 1e3 * p.exposed_s,
    text: (v) => number(v, 4),
  },
  { title: "Memory of a host, MB", of: (p) => 1e-6 * p.memory_bytes, text: (v) => number(v, 4) },
  { title: "Goodput", of: (p) => p.goodput, text: (v) => percent(v) },
  { title: "Samples a second", of: (p) => p.samples_per_second, text: (v) => number(v, 4) },
  {
    title: "Host-hours a million samples",
    of: (p) => p.host_hours_per_million_samples,
    text: (v) => number(v, 4),
  },
];

function CurveChart({ curve, plans }: { curve: Curve; plans: HostPlan[] }) {
  const points = plans.flatMap((plan) => {
    const value = curve.of(plan);
    return value === null ? [] : [{ hosts: plan.hosts, value }];
  });
  const last = Math.max(2, ...plans.map((plan) => plan.hosts));
  const most = Math.max(...points.map((p) => p.value), 1e-30);
  const inner = {
    width: SIZE.width - SIZE.left - SIZE.right,
    height: SIZE.height - SIZE.top - SIZE.bottom,
  };
  const x = (hosts: number) => SIZE.left + ((hosts - 1) / (last - 1)) * inner.width;
  const y = (value: number) => SIZE.top + (1 - value / most) * inner.height;
  const ticks = [1, Math.round((last + 1) / 2), last];
  return (
    <section class="panel plan-curve" aria-label={curve.title}>
      <h2>{curve.title}</h2>
      {points.length === 0 && <p class="faint small">is not known for these numbers of hosts</p>}
      {points.length > 0 && (
        <svg viewBox={`0 0 ${SIZE.width} ${SIZE.height}`} role="img" aria-label={curve.title}>
          {[0, 0.5, 1].map((share) => (
            <g key={share}>
              <line
                class="grid"
                x1={SIZE.left}
                x2={SIZE.width - SIZE.right}
                y1={y(share * most)}
                y2={y(share * most)}
              />
              <text x={SIZE.left - 6} y={y(share * most)} dy="0.35em" text-anchor="end">
                {curve.text(share * most)}
              </text>
            </g>
          ))}
          {ticks.map((hosts) => (
            <text key={hosts} x={x(hosts)} y={SIZE.height - 8} text-anchor="middle">
              {hosts}
            </text>
          ))}
          <path
            d={points.map((p, i) => `${i === 0 ? "M" : "L"}${x(p.hosts)} ${y(p.value)}`).join("")}
          />
          {points.map((p) => (
            <circle key={p.hosts} cx={x(p.hosts)} cy={y(p.value)} r="3">
              <title>{`${p.hosts} hosts: ${curve.text(p.value)}`}</title>
            </circle>
          ))}
        </svg>
      )}
    </section>
  );
}

function Choice<T extends string | number>({
  label,
  value,
  all,
  text,
  onChoose,
}: {
  label: string;
  value: T;
  all: T[];
  text: (one: T) => string;
  onChoose: (one: T) => void;
}) {
  return (
    <label>
      {label}{" "}
      <select
        value={String(value)}
        onChange={(event) => onChoose(all[event.currentTarget.selectedIndex] as T)}
      >
        {all.map((one) => (
          <option key={String(one)} value={String(one)}>
            {text(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Plan() {
  const model = current.value as JobModel;
  const [link, setLink] = useState("10G");
  const [mtbf, setMtbf] = useState(0);
  const [save_steps, setSaveSteps] = useState(1000);
  const plan = useRecorded(
    model,
    () => api.getPlan({ id: model.id, hosts: "1..64", link, mtbf, save_steps }),
    [link, mtbf, save_steps],
  );
  const report = plan.data?.report;
  return (
    <>
      <PageHeader title="Plan" note="what more hosts would bring, from a profile of one">
        <Choice
          label="Link of a host"
          value={link}
          all={LINKS}
          text={(one) => `${one.replace(/(\D)$/, " $1")}bit/s`}
          onChoose={setLink}
        />
        <Choice
          label="A host fails"
          value={mtbf}
          all={FAILURES}
          text={(one) => (one === 0 ? "never" : `every ${one} hours`)}
          onChoose={setMtbf}
        />
        <Choice
          label="A checkpoint"
          value={save_steps}
          all={SAVES}
          text={(one) => (one === 0 ? "at the end" : `every ${integer(one)} steps`)}
          onChoose={setSaveSteps}
        />
      </PageHeader>
      {plan.error && <Failure error={plan.error} />}
      {plan.loading && !plan.data && <Loading />}
      {plan.data && !report && (
        <section class="panel">
          <Empty title={notYet("No plan")} icon="cluster">
            {plan.data.missing}
          </Empty>
        </section>
      )}
      {report && (
        <div class="stack">
          <div class="plan-curves">
            {CURVES.map((curve) => (
              <CurveChart key={curve.title} curve={curve} plans={report.plans} />
            ))}
          </div>
          <section class="panel plan-notes">
            <h2>What the model takes for granted</h2>
            <ul>
              {report.assumptions.map((text) => (
                <li key={text}>{text}</li>
              ))}
            </ul>
          </section>
        </div>
      )}
    </>
  );
}
