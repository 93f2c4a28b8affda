/* Any past step, and all of its tensors. The viewer itself is loaded when the page is opened. */
import { LoadedPage } from "@/frame/LoadedPage";
import type { PageEntry } from "@/frame/page";

export const Tensors = () => <LoadedPage name="Viewer" />;

export const page: PageEntry = {
  name: "tensors",
  order: 115,
  title: "Tensors",
  icon: "tensors",
  key: "b",
  view: Tensors,
  ofJob: true,
  live: true,
};
