/* The list of sweeps, one of them, or the form of a new one. */
import { query, segments } from "@/base/route";
import { SweepForm } from "@/sweeps/SweepForm";
import { SweepList } from "@/sweeps/SweepList";
import { SweepView } from "@/sweeps/SweepView";

export function SweepsPage() {
  const name = segments.value[1];
  const from = query.value.get("from");
  if (name === undefined && from) return <SweepForm key={from} job={from} />;
  return name === undefined ? <SweepList /> : <SweepView key={name} name={name} />;
}
