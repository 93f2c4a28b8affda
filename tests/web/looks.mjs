/* What a page must look like: nothing that axe finds, nothing wider than the window, and controls that
 * a finger can touch. The last two run in the page. */
import { join } from "node:path";
import { axeSource } from "./browser.mjs";

/** What it finds that is serious; with `all` whatever it finds. */
export async function axe(page, rules, all = false) {
  return page.evaluate(
    async ([source, only, whatever]) => {
      if (!window.axe) (0, eval)(source);
      const options = { resultTypes: ["violations"] };
      if (only) options.runOnly = { type: "rule", values: only };
      const { violations } = await window.axe.run(document, options);
      return violations
        .filter((v) => whatever || ["serious", "critical"].includes(v.impact))
        .map(
          (v) =>
            `${v.id}: ${v.nodes
              .slice(0, 3)
              .map((n) => n.target.join(" "))
              .join("; ")}`,
        );
    },
    [axeSource, rules, all],
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

/* What a page looks like on a desktop and a phone, light and dark: a picture of each in the folder
 * `shots`, and what must hold of it. `show` brings the page to where it is to be looked at, `more`
 * checks what else is to hold there; both get the picture's name. */
export async function checkLooks(checks, page, { name, shots, show, more }) {
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ])
    for (const theme of ["light", "dark"]) {
      const here = `${name}-${width}-${theme}`;
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: theme });
      await show?.(here);
      await page.waitForTimeout(300);
      await page.screenshot({ path: join(shots, `${here}.png`) });
      await more?.(here);
      const found = await axe(page, null);
      checks.that(found.length === 0, `${here}: nothing serious for axe`, found.join("\n"));
      const wide = await page.evaluate(widerThanWindow);
      checks.that(wide === "", `${here}: nothing is wider than the window`, wide);
      const small = width === 390 ? await page.evaluate(smallTargets) : [];
      checks.that(small.length === 0, `${here}: 40 pixels to touch`, small.join("\n"));
    }
}
