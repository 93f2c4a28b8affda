/* What is loaded when it is first needed: files beside the main program, with what few visits want
 * (src/later.ts), what shows several runs beside each other (src/compare.ts), and the pages that show
 * how the step and its machines work (src/cockpit.ts). */
export type Later = typeof import("@/later");
export type Cockpit = typeof import("@/cockpit");
export type Beside = typeof import("@/compare");

/* Tried again when it could not be loaded. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () =>
    (loading ??= load().catch((cause: Error) => {
      loading = undefined;
      throw cause;
    }));
}

export const loadLater = once(() => import("@/later"));
export const loadCompare = once(() => import("@/compare"));
export const loadCockpit = once(() => import("@/cockpit"));
