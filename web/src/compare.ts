/* Loaded by base/later.ts: what the page Compare alone needs. */
export { Compare } from "@/experiments/ComparePage";
