/* What training would take on other numbers of hosts; the page itself is loaded when it is opened. */
import { cockpitPage } from "@/components/LaterPage";
import type { PageEntry } from "@/frame/page";

export const page: PageEntry = {
  name: "plan",
  order: 120,
  title: "Plan",
  icon: "cluster",
  key: "h",
  view: cockpitPage((cockpit) => cockpit.Plan),
  ofJob: true,
  live: true,
};
