/* How much a figure depends on each setting, and in words how that was found. */
import type { Axis } from "@/explore/columns";
import { html, panel, pick } from "@/explore/elements";
import { FEW_RUNS, LEAST_RUNS, MOST_RUNS, TREES, forestOf, type Forest } from "@/explore/forest";
import type { State } from "@/explore/main";

const percentText = (share: number): string =>
  `${(100 * share).toFixed(Math.abs(share) < 0.1 ? 1 : 0)} %`;

function bar(one: Forest["importances"][number], largest: number, title: string): HTMLElement {
  const filled = html("i", {});
  filled.style.width = `${Math.max(0, (100 * one.share) / largest)}%`;
  return html(
    "li",
    { "data-setting": one.name },
    html("span", { class: "ellipsis", title: one.name }, title),
    html("span", { class: "bar", "aria-hidden": "true" }, filled),
    html("span", { class: "number" }, `${percentText(one.share)} ± ${percentText(one.error)}`),
  );
}

const METHOD =
  `How it is found: ${TREES} regression trees (a random forest; each from a random draw of the runs ` +
  "and, at each branch, of a third of the settings) learn the figure from the settings that differ. " +
  "Then the values of one setting are shuffled among the runs that a tree has not seen: the " +
  "importance is by how much its squared error grows, as a share of the figure's variance. The ± is " +
  "the standard error over the trees. The random numbers have a fixed seed: the same runs give the " +
  `same result. Texts stand for their place in the alphabet; of more than ${MOST_RUNS} runs as many are ` +
  "taken. Settings that vary together share what they explain, and none of it says what is the cause.";

/* Whether the trees know anything, in words. */
function trustText({ explained }: Forest, runs: number): string {
  const few = runs < FEW_RUNS ? `Of ${runs} runs this is a rough guess. ` : "";
  if (explained <= 0.1)
    return `${few}The trees hardly predict runs that they have not seen: the shares below say little.`;
  return `${few}The trees explain ${percentText(explained)} of the variance of runs that they have not seen.`;
}

function whyNone(features: number, runs: number): string {
  if (runs < LEAST_RUNS)
    return `Too few runs: ${runs} ${runs === 1 ? "has" : "have"} this figure, and at least ${LEAST_RUNS} are needed.`;
  if (features === 0) return "The settings of these runs do not differ.";
  return "The figure is the same in all runs.";
}

/** Of the runs within the limits. */
export function importanceOf(
  axes: ReadonlyMap<string, Axis>,
  state: State,
): { element: HTMLElement; pass: (passing: ReadonlySet<number>) => void } {
  const target = axes.get(state.target);
  const beside = [
    pick(
      "of the settings for",
      state.figures.map((name) => [name, axes.get(name)?.title ?? name] as const),
      state.target,
      (name) => state.onChoice({ target: name }),
    ),
  ];
  const body = html("div", { class: "body importance" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const show = (passing: ReadonlySet<number>) => {
    const rows = [...passing].sort((a, b) => a - b);
    const take = (axis: Axis) => Float64Array.from(rows, (row) => axis.numbers[row] as number);
    const features = state.settings.flatMap((name) => {
      const axis = axes.get(name);
      return axis && name !== state.target ? [{ name, values: take(axis) }] : [];
    });
    const figure = target ? take(target) : new Float64Array();
    const known = figure.filter((value) => Number.isFinite(value)).length;
    const forest = forestOf(features, figure);
    if (!forest) {
      body.replaceChildren(html("p", { class: "soft" }, whyNone(features.length, known)));
      return;
    }
    const largest = Math.max(1e-9, forest.importances[0]?.share ?? 0);
    const bars = forest.importances.map((one) =>
      bar(one, largest, axes.get(one.name)?.title ?? one.name),
    );
    body.replaceChildren(
      html("p", {}, trustText(forest, known)),
      html("ol", {}, ...bars),
      html("p", { class: "soft" }, METHOD),
    );
  };
  return {
    element: panel("Importance", beside, body),
    /* The trees take a moment: first the drawing follows the pointer. */
    pass: (passing) => {
      clearTimeout(timer);
      timer = setTimeout(() => show(passing), 60);
    },
  };
}
