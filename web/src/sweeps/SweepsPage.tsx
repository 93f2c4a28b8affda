/* The list of sweeps, or one of them. */
import { segments } from "@/base/route";
import { SweepList } from "@/sweeps/SweepList";
import { SweepView } from "@/sweeps/SweepView";

export function SweepsPage() {
  const name = segments.value[1];
  return name === undefined ? <SweepList /> : <SweepView key={name} name={name} />;
}
