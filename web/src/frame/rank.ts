/* How well a text matches what was typed: the less the better; null: not at all. The letters stand
 * in it in their order; together is better than apart, and at the begin of a word better than in it.
 */
export function rankOf(text: string, typed: string): number | null {
  const [whole, part] = [text.toLowerCase(), typed.toLowerCase()];
  const found = whole.indexOf(part);
  if (found >= 0) return found === 0 || /\W/.test(whole[found - 1] as string) ? 0 : 1;
  let at = -1;
  let gaps = 2;
  for (const letter of part) {
    const next = whole.indexOf(letter, at + 1);
    if (next < 0) return null;
    if (at >= 0) gaps += next - at - 1;
    at = next;
  }
  return gaps;
}
