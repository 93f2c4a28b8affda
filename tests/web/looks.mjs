/* What a page must look like: nothing that axe finds, nothing wider than the window, and controls that
 * a finger can touch. The last two run in the page. */
import { axeSource } from "./browser.mjs";

export async function axe(page, rules) {
  return page.evaluate(
    async ([source, only]) => {
      if (!window.axe) (0, eval)(source);
      const options = { resultTypes: ["violations"] };
      if (only) options.runOnly = { type: "rule", values: only };
      const { violations } = await window.axe.run(document, options);
      return violations
        .filter((v) => ["serious", "critical"].includes(v.impact))
        .map(
          (v) =>
            `${v.id}: ${v.nodes
              .slice(0, 3)
              .map((n) => n.target.join(" "))
              .join("; ")}`,
        );
    },
    [axeSource, rules],
  );
}

/* What is wider than the window; the page's body scrolls up and down alone. */
export function widerThanWindow() {
  const main = document.querySelector("main");
  const isWider =
    document.documentElement.scrollWidth > innerWidth + 1 ||
    main.scrollWidth > main.clientWidth + 1;
  if (!isWider) return "";
  const right = main.getBoundingClientRect().right + 1;
  const wide = [...main.querySelectorAll("*")].filter(
    (one) => one.getBoundingClientRect().right > right,
  );
  const name = (one) => `${one.tagName.toLowerCase()}.${one.getAttribute("class") ?? ""}`;
  return `${document.documentElement.scrollWidth}, ${main.scrollWidth}: ${wide.slice(0, 5).map(name)}`;
}

/* Controls that a finger would miss; links in a text and labels are as high as their line. */
export function smallTargets() {
  const least = 39;
  const small =
    "button:not(.link, .sort, .label), .button, select, nav a, input:not([type=checkbox])";
  return [...document.querySelectorAll(small)]
    .filter((one) => one.checkVisibility() && !one.closest("svg, .uplot, .file"))
    .map((one) => [one, one.getBoundingClientRect()])
    .filter(([one, box]) => box.height > 0 && box.height < least && one.type !== "range")
    .map(([one, box]) => `${one.tagName} ${one.className} ${one.textContent} ${box.height}`);
}
