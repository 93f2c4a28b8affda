/* Pages that are loaded when one of them is opened: most visits need none of them. */
export { Viewer } from "@/tensors/Viewer";
export { SweepsPage } from "@/sweeps/SweepsPage";
