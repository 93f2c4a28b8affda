/* The compiled step; the page itself is loaded when it is opened. */
import { cockpitPage } from "@/components/LaterPage";
import type { PageEntry } from "@/frame/page";

export const page: PageEntry = {
  name: "graph",
  order: 70,
  title: "Step graph",
  icon: "graph",
  key: "g",
  view: cockpitPage((cockpit) => cockpit.StepGraph),
  ofJob: true,
  fill: true,
};
