/* Loaded by base/later.ts: one file, so that the main program and it share one more. */
export { Alerts } from "@/alerts/Alerts";
export { Help } from "@/frame/Help";
export { Palette } from "@/frame/Palette";
export { Viewer } from "@/tensors/Viewer";
export { MarkLegend } from "@/marks/Legend";
export { placeMarks } from "@/marks/marks";
export { readMarks } from "@/marks/read";
export { Samples } from "@/samples/Samples";
export { Strip } from "@/marks/Strip";
export { SweepsPage } from "@/sweeps/SweepsPage";
