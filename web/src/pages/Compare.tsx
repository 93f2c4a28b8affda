/* Several runs compared; the page itself is loaded when it is opened. */
import { loadCompare } from "@/base/later";
import { pageOf } from "@/components/LaterPage";
import type { PageEntry } from "@/frame/page";

export const page: PageEntry = {
  name: "compare",
  order: 14,
  title: "Compare",
  icon: "compare",
  key: "v",
  view: pageOf(async () => (await loadCompare()).Compare),
  live: true,
};
