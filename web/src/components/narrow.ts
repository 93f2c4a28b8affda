/* Whether the window is as narrow as a phone: the width at which styles/narrow.css begins. */
import { signal } from "@preact/signals";

const media = matchMedia("(max-width: 760px)");

export const isNarrow = signal(media.matches);

media.addEventListener("change", () => (isNarrow.value = media.matches));
