/** Neighbours that are nearer to each other than `least` stand at one place: indices of the marks
 * by place, both in ascending order of `lefts`, which is sorted. */
export function gather(lefts: readonly number[], least: number): number[][] {
  const places: number[][] = [];
  lefts.forEach((left, i) => {
    const last = places[places.length - 1];
    if (last && left - (lefts[last[0] as number] as number) < least) last.push(i);
    else places.push([i]);
  });
  return places;
}
