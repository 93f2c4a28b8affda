/* In which lines two texts differ, side by side. In a file of its own, with the library that finds
 * them, which is loaded when a text is opened. */
import { structuredPatch } from "diff";

/** A line on each side; null: there is none on this one. */
export interface Pair {
  left: Line | null;
  right: Line | null;
  differs: boolean;
}

export interface Line {
  number: number;
  text: string;
}

export interface Hunk {
  pairs: Pair[];
}

const CONTEXT = 3;
const MOST_MS = 4000;

/* Lines that went stand beside those that came in their place. */
function pairsOf(lines: string[], leftStart: number, rightStart: number): Pair[] {
  const pairs: Pair[] = [];
  let left = leftStart;
  let right = rightStart;
  let gone: Line[] = [];
  let come: Line[] = [];
  const put = () => {
    for (let i = 0; i < Math.max(gone.length, come.length); i++)
      pairs.push({ left: gone[i] ?? null, right: come[i] ?? null, differs: true });
    gone = [];
    come = [];
  };
  for (const line of lines) {
    const text = line.slice(1);
    if (line[0] === "-") gone.push({ number: left++, text });
    else if (line[0] === "+") come.push({ number: right++, text });
    else if (line[0] === " ") {
      put();
      const both = { left: { number: left++, text }, right: { number: right++, text } };
      pairs.push({ ...both, differs: false });
    }
  }
  put();
  return pairs;
}

/** The changed lines with a few around them; none: the texts are equal. Null: they have so little in
 * common that it takes too long. */
export function hunksOf(left: string, right: string): Hunk[] | null {
  if (left === right) return [];
  const patch = structuredPatch("", "", left, right, "", "", {
    context: CONTEXT,
    timeout: MOST_MS,
  });
  return (
    patch?.hunks.map(({ lines, oldStart, newStart }) => ({
      pairs: pairsOf(lines, oldStart, newStart),
    })) ?? null
  );
}
