/* Light, dark, or as the system says. Canvases cannot read CSS variables, so `colour` resolves them
 * and `themeVersion` counts the changes after which they must be drawn again. */
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

function stored(): Theme {
  try {
    const value = localStorage.getItem("theme");
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}

export const theme = signal<Theme>(stored());
export const themeVersion = signal(0);
const cache = new Map<string, string>();
const probe = document.createElement("span");

effect(() => {
  const root = document.documentElement;
  if (theme.value === "system") delete root.dataset.theme;
  else root.dataset.theme = theme.value;
  cache.clear();
  themeVersion.value = themeVersion.peek() + 1;
  try {
    localStorage.setItem("theme", theme.value);
  } catch {
    /* Private windows may refuse; the choice then lasts as long as the page. */
  }
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  cache.clear();
  themeVersion.value++;
});

/** The colour of a design token ("--series-0"), as a canvas takes it. */
export function colour(token: string): string {
  let value = cache.get(token);
  if (value === undefined) {
    if (!probe.isConnected) {
      probe.hidden = true;
      document.body.append(probe);
    }
    probe.style.color = `var(${token})`;
    value = getComputedStyle(probe).color;
    cache.set(token, value);
  }
  return value;
}

export function withAlpha(css: string, alpha: number): string {
  const parts = css.match(/[\d.]+/g);
  return parts ? `rgba(${parts.slice(0, 3).join(",")},${alpha})` : css;
}
