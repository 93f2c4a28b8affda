/* The tensors of a step: where each stands, its format, and what its values are like. */
import type { StepTensor } from "@generated/client";
import { integer, number, percent } from "@/base/format";
import { styleOf } from "@/graph/Drawing";

const MOST_ROWS = 300;

const countOf = (one: StepTensor): number => one.shape.reduce((all, size) => all * size, 1);

/** "model.fc_layers.0", "relu". */
export function pathOf(name: string): [module: string, own: string] {
  const cut = name.lastIndexOf(".");
  return [name.slice(0, Math.max(0, cut)), name.slice(cut + 1)];
}

export function matches(one: StepTensor, filter: string, role: string): boolean {
  if (role && one.role !== role) return false;
  const text = `${one.name} ${one.role} ${one.op ?? ""} ${one.format}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function Row({
  one,
  chosen,
  onChoose,
}: {
  one: StepTensor;
  chosen: boolean;
  onChoose: (name: string) => void;
}) {
  const [module, own] = pathOf(one.name);
  const bad = one.nan + one.inf;
  return (
    <tr class={chosen ? "selected" : ""} data-tensor={one.name}>
      <td>
        <button
          class="link"
          aria-pressed={chosen}
          title={one.name}
          onClick={() => onChoose(one.name)}
        >
          <span class="module">{module && `${module}.`}</span>
          {own}
        </button>
        <span class="sub faint">
          {one.role}
          {one.op ? ` · ${one.op}` : ""}
          {one.backward ? " · backward" : ""}
        </span>
      </td>
      <td class="small">
        {one.shape.join(" × ") || "scalar"}
        <span class="sub faint">{styleOf(one.format).short}</span>
      </td>
      <td class="number nowrap">{number(one.min, 3)}</td>
      <td class="number nowrap">{number(one.max, 3)}</td>
      <td class="number nowrap s-more">{number(one.mean, 3)}</td>
      <td class="number nowrap s-more">{percent(one.zeros / Math.max(1, countOf(one)))}</td>
      <td class={`number nowrap${bad > 0 ? " bad-text" : ""}`}>{integer(bad)}</td>
    </tr>
  );
}

const HEADINGS: readonly [string, string][] = [
  ["Tensor", ""],
  ["Shape, format", ""],
  ["Min", "number"],
  ["Max", "number"],
  ["Mean", "number s-more"],
  ["Zeros", "number s-more"],
  ["NaN, inf", "number"],
];

export function TensorList({
  tensors,
  chosen,
  onChoose,
}: {
  tensors: StepTensor[];
  chosen: string | null;
  onChoose: (name: string) => void;
}) {
  return (
    <section
      class="panel scroll tensor-table step-tensors"
      tabIndex={0}
      role="region"
      aria-label="Tensors of the step"
    >
      <table>
        <thead>
          <tr>
            {HEADINGS.map(([text, kind]) => (
              <th key={text} scope="col" class={kind}>
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tensors.slice(0, MOST_ROWS).map((one) => (
            <Row key={one.name} one={one} chosen={one.name === chosen} onChoose={onChoose} />
          ))}
        </tbody>
      </table>
      {tensors.length === 0 && <p class="more faint">No tensor matches.</p>}
      {tensors.length > MOST_ROWS && (
        <p class="more faint">{tensors.length - MOST_ROWS} more: narrow the filter</p>
      )}
    </section>
  );
}
