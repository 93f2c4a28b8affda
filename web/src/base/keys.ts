/* Keyboard control of drawings that can be panned and zoomed. */

/** A handler that runs what belongs to a key; "=" is "+" without Shift. */
export function keyMoves(moves: Record<string, () => void>) {
  return (event: KeyboardEvent): void => {
    const move = moves[event.key === "=" ? "+" : event.key];
    if (!move || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    move();
  };
}
