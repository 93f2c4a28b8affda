/* Loaded by base/cockpit.ts: the pages that show how the step and its machines work. */
export { StepGraph } from "@/graph/StepGraph";
export { Timeline } from "@/timeline/Timeline";
export { Machine } from "@/machine/Machine";
