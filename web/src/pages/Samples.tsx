/* What the model makes of a validation's samples; the page itself is loaded when it is opened. */
import { laterPage } from "@/components/LaterPage";
import type { PageEntry } from "@/frame/page";

export const page: PageEntry = {
  name: "samples",
  order: 90,
  title: "Samples",
  icon: "samples",
  key: "e",
  view: laterPage((later) => later.Samples),
  ofJob: true,
};
