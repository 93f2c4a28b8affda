/* Sweeps: configurations that are trained with many settings. The page itself is loaded when it is
 * opened. */
import { laterPage } from "@/components/LaterPage";
import type { PageEntry } from "@/frame/page";

export const page: PageEntry = {
  name: "sweeps",
  order: 16,
  title: "Sweeps",
  icon: "sweeps",
  key: "w",
  view: laterPage((later) => later.SweepsPage),
  live: true,
};
