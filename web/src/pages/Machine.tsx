/* What the run's hosts do as a whole; the page itself is loaded when it is opened. */
import { cockpitPage } from "@/components/LaterPage";
import type { PageEntry } from "@/frame/page";

export const page: PageEntry = {
  name: "machine",
  order: 65,
  title: "Machine",
  icon: "machine",
  key: "i",
  view: cockpitPage((cockpit) => cockpit.Machine),
  ofJob: true,
};
