/* What is loaded when it is first needed: a file beside the main program, with all that few visits
 * want (src/later.ts). */
export type Later = typeof import("@/later");

let loading: Promise<Later> | undefined;

/** Tried again when it could not be loaded. */
export const loadLater = (): Promise<Later> =>
  (loading ??= import("@/later").catch((cause: Error) => {
    loading = undefined;
    throw cause;
  }));
