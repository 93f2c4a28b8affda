/* Which part of a tensor is looked at: what the address says, in which dimensions it is cut, and how
 * the server is asked for it. A pure module, tested without a browser. */

/** As the server describes a tensor of a step, as far as the viewer needs it. */
export interface Described {
  name: string;
  shape: number[];
  /** What the first dimension counts: "samples", "microbatches" or "". */
  rows?: string | undefined;
}

export interface Dimension {
  size: number;
  /** "sample", "microbatch", "head", or "dimension N". */
  name: string;
  /** -1: all of it. */
  at: number;
}

export interface Part {
  shape: number[];
  at: number[];
  dimensions: Dimension[];
  /** Of what is left: the last dimension, and all others together. */
  rows: number;
  columns: number;
}

/** A window of rows and columns. */
export interface Window {
  row: number;
  rows: number;
  column: number;
  columns: number;
}

export const ALL = -1;
export const MOST_RANK = 8;

const product = (sizes: number[]): number => sizes.reduce((all, one) => all * one, 1);

/* Rows of a batch of N samples, [N * n, ...], as [N, n, ...]. */
function bySample(tensor: Described, samples: number): Dimension[] {
  const [first = 1, ...rest] = tensor.shape;
  const own = tensor.shape.map((size, i) => ({ size, name: `dimension ${i}`, at: ALL }));
  if (own.length === 0) return own;
  if (tensor.rows === "microbatches") (own[0] as Dimension).name = "microbatch";
  if (tensor.rows !== "samples" || samples < 1 || first % samples !== 0) return own;
  const each = first / samples;
  if (each === 1 || own.length === MOST_RANK) {
    if (each === 1) (own[0] as Dimension).name = "sample";
    return own;
  }
  return [
    { size: samples, name: "sample", at: ALL },
    { size: each, name: "row of the sample", at: ALL },
    ...rest.map((size, i) => ({ size, name: `dimension ${i + 1}`, at: ALL })),
  ];
}

/** Dimensions that can be cut into so many heads: the last two. */
export function headDimensions(dimensions: Dimension[], heads: number): number[] {
  return dimensions.flatMap(({ size }, i) =>
    i >= dimensions.length - 2 && heads > 1 && size % heads === 0 ? [i] : [],
  );
}

function cutHeads(dimensions: Dimension[], heads: number, which: number | null): Dimension[] {
  const can = headDimensions(dimensions, heads);
  const at = which !== null && can.includes(which) ? which : can[can.length - 1];
  const cut = at === undefined ? undefined : dimensions[at];
  if (at === undefined || !cut || dimensions.length >= MOST_RANK) return dimensions;
  const inside = { size: cut.size / heads, name: "in the head", at: ALL };
  return [
    ...dimensions.slice(0, at),
    { size: heads, name: "head", at: 0 },
    inside,
    ...dimensions.slice(at + 1),
  ];
}

/** What is shown at first: a matrix, of the first of all else. */
function matrixOf(dimensions: Dimension[]): Dimension[] {
  let free = dimensions.filter((one) => one.at === ALL).length;
  return dimensions.map((one) => {
    if (one.at !== ALL || free <= 2) return one;
    free--;
    return { ...one, at: 0 };
  });
}

export function partOf(
  tensor: Described,
  samples: number,
  asked: { heads?: number | undefined; of?: number | null | undefined; at?: string | undefined },
): Part {
  const cut = cutHeads(bySample(tensor, samples), asked.heads ?? 0, asked.of ?? null);
  const given = (asked.at ?? "").split(",").map((text) => (text === "" ? NaN : Number(text)));
  const fits =
    given.length === cut.length &&
    given.every((at, i) => Number.isInteger(at) && at >= ALL && at < (cut[i]?.size ?? 0));
  const dimensions = fits
    ? cut.map((one, i) => ({ ...one, at: given[i] as number }))
    : matrixOf(cut);
  const left = dimensions.filter((one) => one.at === ALL).map((one) => one.size);
  return {
    shape: dimensions.map((one) => one.size),
    at: dimensions.map((one) => one.at),
    dimensions,
    rows: product(left.slice(0, -1)),
    columns: left[left.length - 1] ?? 1,
  };
}

/** How many cells each side of a window has, and how many values a cell. */
export function cellsOf(window: Window, most: number) {
  const high = Math.max(1, Math.ceil(window.rows / most));
  const wide = Math.max(1, Math.ceil(window.columns / most));
  return {
    high,
    wide,
    rows: Math.ceil(window.rows / high),
    columns: Math.ceil(window.columns / wide),
  };
}

/** "row,rows,column,columns" of the address, inside of the part; all of it else. */
export function windowOf(text: string | null, part: Part): Window {
  const all = { row: 0, rows: part.rows, column: 0, columns: part.columns };
  const given = (text ?? "").split(",").map(Number);
  const [row = NaN, rows = NaN, column = NaN, columns = NaN] = given;
  const inside = (first: number, count: number, size: number) =>
    Number.isInteger(first) && Number.isInteger(count) && first >= 0 && count > 0
      ? first + count <= size
      : false;
  return given.length === 4 && inside(row, rows, part.rows) && inside(column, columns, part.columns)
    ? { row, rows, column, columns }
    : all;
}

/** A smaller or larger window about a place. */
export function zoomed(window: Window, part: Part, row: number, column: number, factor: number) {
  const side = (first: number, count: number, size: number, about: number) => {
    const next = Math.min(size, Math.max(Math.min(8, size), Math.round(count * factor)));
    /* The middle of the place keeps its share of the window, so that the place stays inside. */
    const middle = about + 0.5;
    const share = (middle - first) / Math.max(1, count);
    const from = Math.round(middle - share * next);
    return [Math.min(size - next, Math.max(0, from)), next] as const;
  };
  const [r, rows] = side(window.row, window.rows, part.rows, row);
  const [c, columns] = side(window.column, window.columns, part.columns, column);
  return { row: r, rows, column: c, columns };
}

/** The indices of a place, of the dimensions of the tensor as it is seen. */
export function indicesOf(part: Part, row: number, column: number): number[] {
  const free = part.dimensions.flatMap((one, i) => (one.at === ALL ? [i] : []));
  const indices = [...part.at];
  const last = free.pop();
  if (last !== undefined) indices[last] = column;
  for (const i of free.reverse()) {
    const size = (part.dimensions[i] as Dimension).size;
    indices[i] = row % size;
    row = Math.floor(row / size);
  }
  return indices;
}
