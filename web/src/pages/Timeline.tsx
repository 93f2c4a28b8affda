/* What each process did in sampled steps; the page itself is loaded when it is opened. */
import { cockpitPage } from "@/components/LaterPage";
import type { PageEntry } from "@/frame/page";

export const page: PageEntry = {
  name: "timeline",
  order: 80,
  title: "Timeline",
  icon: "timeline",
  key: "m",
  view: cockpitPage((cockpit) => cockpit.Timeline),
  ofJob: true,
};
