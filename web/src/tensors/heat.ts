/* Cells as a picture: negative values in one colour, positive ones in another, both stronger with
 * their size; what is not finite in a third, with a cross where there is room. */
import { colour } from "@/base/theme";

export interface Cells {
  rows: number;
  columns: number;
  values: Float32Array;
}

export type Scale = "linear" | "log";

/* Of a logarithmic scale: smaller values are as good as zero. */
const DECADES = 8;

export function largestOf(values: Float32Array): number {
  let largest = 0;
  for (const value of values)
    if (Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
  return largest;
}

/** How strong a value is, from 0 to 1. */
export function strength(value: number, largest: number, scale: Scale): number {
  if (value === 0 || largest === 0) return 0;
  const share = Math.abs(value) / largest;
  return scale === "linear" ? share : Math.max(0.02, 1 + Math.log10(share) / DECADES);
}

type Colour = readonly [number, number, number];

function channels(token: string): Colour {
  const [r = 0, g = 0, b = 0] = (colour(token).match(/[\d.]+/g) ?? []).map(Number);
  return [r, g, b];
}

function imageOf(cells: Cells, largest: number, scale: Scale): ImageData {
  const image = new ImageData(cells.columns, cells.rows);
  const [none, positive, negative, bad] = ["--panel", "--series-0", "--series-1", "--bad"].map(
    channels,
  ) as [Colour, Colour, Colour, Colour];
  cells.values.forEach((value, i) => {
    const isFinite = Number.isFinite(value);
    const to = !isFinite ? bad : value < 0 ? negative : positive;
    const part = isFinite ? strength(value, largest, scale) : 1;
    for (let c = 0; c < 3; c++)
      image.data[4 * i + c] =
        (none[c] as number) + part * ((to[c] as number) - (none[c] as number));
    image.data[4 * i + 3] = 255;
  });
  return image;
}

function crossBad(c: CanvasRenderingContext2D, cells: Cells, cell: { w: number; h: number }): void {
  const half = Math.min(cell.w, cell.h) * 0.3;
  if (half < 2) return;
  c.strokeStyle = colour("--panel");
  c.lineWidth = 1;
  c.beginPath();
  cells.values.forEach((value, i) => {
    if (Number.isFinite(value)) return;
    const x = ((i % cells.columns) + 0.5) * cell.w;
    const y = (Math.floor(i / cells.columns) + 0.5) * cell.h;
    c.moveTo(x - half, y - half);
    c.lineTo(x + half, y + half);
    c.moveTo(x + half, y - half);
    c.lineTo(x - half, y + half);
  });
  c.stroke();
}

/** Draws the cells over the whole canvas; `at`: the cell that is pointed at. */
export function paintCells(
  canvas: HTMLCanvasElement,
  cells: Cells,
  scale: Scale,
  at: { row: number; column: number } | null,
): void {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const c = canvas.getContext("2d");
  if (!c || width === 0 || cells.values.length === 0) return;
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  const small = document.createElement("canvas");
  small.width = cells.columns;
  small.height = cells.rows;
  small.getContext("2d")?.putImageData(imageOf(cells, largestOf(cells.values), scale), 0, 0);
  c.imageSmoothingEnabled = cells.columns > canvas.width || cells.rows > canvas.height;
  c.drawImage(small, 0, 0, canvas.width, canvas.height);
  c.scale(devicePixelRatio, devicePixelRatio);
  const cell = { w: width / cells.columns, h: height / cells.rows };
  crossBad(c, cells, cell);
  if (!at) return;
  c.strokeStyle = colour("--text");
  c.lineWidth = 2;
  c.strokeRect(
    at.column * cell.w - 1,
    at.row * cell.h - 1,
    Math.max(3, cell.w) + 2,
    Math.max(3, cell.h) + 2,
  );
}
