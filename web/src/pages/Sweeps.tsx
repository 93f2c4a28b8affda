/* Sweeps: configurations that are trained with many settings. The page itself is loaded when it is
 * opened. */
import { LoadedPage } from "@/frame/LoadedPage";
import type { PageEntry } from "@/frame/page";

export const Sweeps = () => <LoadedPage name="SweepsPage" />;

export const page: PageEntry = {
  name: "sweeps",
  order: 16,
  title: "Sweeps",
  icon: "sweeps",
  key: "w",
  view: Sweeps,
  live: true,
};
