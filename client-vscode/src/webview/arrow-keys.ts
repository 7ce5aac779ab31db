// Moves through a list by keys: arrows, Home and End, one item at a time holding the focus.

/** The index that a key leads to, or undefined where it leads nowhere. */
export function moved(key: string, index: number, count: number): number | undefined {
  const to = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: count - 1 }[key];
  return to === undefined || to < 0 || to >= count || to === index ? undefined : to;
}
