/* Loaded by base/later.ts: the pages that show how the step and its machines work. */
export { Plan } from "@/plan/Plan";
export { StepGraph } from "@/graph/StepGraph";
export { Timeline } from "@/timeline/Timeline";
export { Machine } from "@/machine/Machine";
