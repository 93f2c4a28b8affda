/* The pages that show how the step and its machines work (src/cockpit.ts), loaded when one of them
 * is opened. */
export type Cockpit = typeof import("@/cockpit");

let loading: Promise<Cockpit> | undefined;

/** Tried again when it could not be loaded. */
export const loadCockpit = (): Promise<Cockpit> =>
  (loading ??= import("@/cockpit").catch((cause: Error) => {
    loading = undefined;
    throw cause;
  }));
