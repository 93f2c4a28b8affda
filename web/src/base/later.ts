/* What is loaded when it is first needed: files beside the main program, with what few visits want
 * (src/later.ts) and what shows several runs beside each other (src/compare.ts). */
export type Later = typeof import("@/later");
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
