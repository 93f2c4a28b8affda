/* Any past step, and all of its tensors. The viewer itself is loaded when the page is opened. */
import { laterPage } from "@/components/LaterPage";
import { Empty } from "@/components/parts";
import type { PageEntry } from "@/frame/page";

declare const IS_REPORT: boolean;

const NotInAReport = () => (
  <Empty title="Not there">A report has no server that does steps again.</Empty>
);

export const page: PageEntry = {
  name: "tensors",
  order: 115,
  title: "Tensors",
  icon: "tensors",
  key: "b",
  view: IS_REPORT ? NotInAReport : laterPage((later) => later.Viewer),
  ofJob: true,
  live: true,
};
