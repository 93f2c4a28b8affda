/* The most likely classes of a sample; that of its label stands out. */
import type { SampleClass } from "@generated/client";
import { percent } from "@/base/format";

export function Classes({ classes, truth }: { classes: SampleClass[]; truth?: number }) {
  return (
    <ul class="sample-classes">
      {classes.map((one) => (
        <li key={one.class} class={one.class === truth ? "of-label" : ""}>
          <span class="ellipsis grow">{one.name ?? one.class}</span>
          <span class="number">{percent(one.probability)}</span>
        </li>
      ))}
    </ul>
  );
}
