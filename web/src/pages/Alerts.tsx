/* The alerts that a run has given; the page itself is loaded when it is opened. */
import { laterPage } from "@/components/LaterPage";
import type { PageEntry } from "@/frame/page";

export const page: PageEntry = {
  name: "alerts",
  order: 115,
  title: "Alerts",
  icon: "warn",
  key: "a",
  view: laterPage((later) => later.Alerts),
  ofJob: true,
};
