/* Which part of a tensor the viewer shows (web/src/tensors/part.ts), without a browser.
 *
 * Usage: node check_tensor_parts.mjs MODULES */
import { Checks } from "./checks.mjs";
import { importSources } from "./sources.mjs";

const { cellsOf, headDimensions, indicesOf, partOf, windowOf, zoomed } = await importSources(
  process.argv[2],
  ["tensors/part.ts"],
);
const checks = new Checks();
const same = (what, got, wanted) => {
  const [a, b] = [got, wanted].map((one) => JSON.stringify(one));
  checks.that(a === b, what, `${a}, not ${b}`);
};
const seen = ({ shape, at, rows, columns }) => ({ shape, at, rows, columns });
const names = (part) => part.dimensions.map((one) => one.name).join();

/* ---- what is shown at first ---- */

const weight = { name: "w", shape: [4, 32] };
same("a matrix is whole", seen(partOf(weight, 0, {})), {
  shape: [4, 32],
  at: [-1, -1],
  rows: 4,
  columns: 32,
});
same("a scalar is one value", seen(partOf({ name: "s", shape: [] }, 8, {})), {
  shape: [],
  at: [],
  rows: 1,
  columns: 1,
});
same("a row is one row", partOf({ name: "b", shape: [7] }, 0, {}).rows, 1);
const four = partOf({ name: "k", shape: [8, 3, 5, 6] }, 0, {});
same("the first of all other dimensions", seen(four), {
  shape: [8, 3, 5, 6],
  at: [0, 0, -1, -1],
  rows: 5,
  columns: 6,
});
const empty = partOf({ name: "e", shape: [0, 4] }, 0, {});
same("nothing has no rows", [empty.rows, empty.columns], [0, 4]);

/* ---- samples, heads ---- */

const hidden = { name: "h", shape: [128, 32], rows: "samples" };
const tokens = partOf(hidden, 8, {});
same("rows of samples stand by sample", seen(tokens), {
  shape: [8, 16, 32],
  at: [0, -1, -1],
  rows: 16,
  columns: 32,
});
same("and are named so", names(tokens), "sample,row of the sample,dimension 1");
same("one row a sample stays one", names(partOf(hidden, 128, {})), "sample,dimension 1");
same("a number that does not divide is none of samples", partOf(hidden, 7, {}).shape, [128, 32]);
const heads = partOf(hidden, 8, { heads: 4 });
same("by head", seen(heads), {
  shape: [8, 16, 4, 8],
  at: [0, -1, 0, -1],
  rows: 16,
  columns: 8,
});
same("heads of rows", partOf(weight, 0, { heads: 2, of: 0 }).shape, [2, 2, 32]);
same("where they can be", headDimensions(partOf(weight, 0, {}).dimensions, 8), [1]);
same("no such heads: as it was", partOf(weight, 0, { heads: 5 }).shape, [4, 32]);
const eight = { name: "r", shape: [1, 1, 1, 1, 1, 1, 2, 4] };
same("no ninth dimension", partOf(eight, 0, { heads: 2 }).shape, eight.shape);

/* ---- the address ---- */

same("indices of the address", partOf(weight, 0, { at: "2,-1" }).at, [2, -1]);
for (const at of ["4,-1", "-2,-1", "1", "1,2,3", "a,b", ",", "1.5,0"])
  same(`"${at}" is not taken`, partOf(weight, 0, { at }).at, [-1, -1]);
same("a window", windowOf("1,2,8,4", partOf(weight, 0, {})), {
  row: 1,
  rows: 2,
  column: 8,
  columns: 4,
});
for (const text of [null, "", "3,2,0,1", "0,0,0,1", "0,1,-1,1", "0,1,0,33", "0,1,0"])
  same(`the window "${text}" is all`, windowOf(text, partOf(weight, 0, {})).columns, 32);

/* ---- cells ---- */

same("few values: a cell each", cellsOf({ row: 0, rows: 4, column: 0, columns: 32 }, 512), {
  high: 1,
  wide: 1,
  rows: 4,
  columns: 32,
});
same("many: as the server counts", cellsOf({ row: 0, rows: 1025, column: 0, columns: 512 }, 512), {
  high: 3,
  wide: 1,
  rows: 342,
  columns: 512,
});
same("where a cell stands", indicesOf(four, 4, 5), [0, 0, 4, 5]);
same(
  "in rows of several dimensions",
  indicesOf(partOf(hidden, 8, { at: "-1,-1,-1" }), 35, 7),
  [2, 3, 7],
);
const part = partOf({ name: "m", shape: [1000, 2000] }, 0, {});
const all = windowOf(null, part);
const near = zoomed(all, part, 999, 0, 0.25);
same("looking closer stays inside", near, { row: 750, rows: 250, column: 0, columns: 500 });
same("and back", zoomed(near, part, 999, 0, 4), all);
const closest = [1, 2, 3, 4, 5].reduce((window) => zoomed(window, part, 500, 500, 0.25), all);
same("not closer than eight", [closest.rows, closest.columns], [8, 8]);

checks.end();
