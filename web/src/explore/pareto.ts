/* Which runs none other is better than in both of two figures. */

export interface Point {
  row: number;
  x: number;
  y: number;
}

/** +1: the larger the better, -1: the smaller. */
export type Wish = 1 | -1;

/** By rising x. Of runs that are equal in both all are in the front. */
export function frontOf(points: readonly Point[], wishX: Wish, wishY: Wish): Point[] {
  const order = [...points].sort((a, b) => wishX * (b.x - a.x) || wishY * (b.y - a.y));
  const front: Point[] = [];
  for (const point of order) {
    const best = front[front.length - 1];
    const isEqual = best !== undefined && best.x === point.x && best.y === point.y;
    if (best === undefined || isEqual || wishY * (point.y - best.y) > 0) front.push(point);
  }
  return front.sort((a, b) => a.x - b.x);
}

/* A name that says what is wanted of it. */
const LARGER = /accuracy|f1|bleu|rouge|recall|auc|samples_per_second|^max\(/;

export const wishOf = (name: string): Wish => (LARGER.test(name) ? 1 : -1);
