/* Loaded by base/later.ts: what shows several runs beside each other. */
export { Compare } from "@/experiments/ComparePage";
export { Notes } from "@/experiments/Notes";
export { History } from "@/experiments/History";
