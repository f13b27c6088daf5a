/** Returns the most similar name, which the user may have meant; undefined: none is similar. */
export function nearest(text: string, names: string[]): string | undefined {
  const [first] = names
    .map((name) => ({ name, distance: distanceOf(text, name) }))
    .filter(({ name, distance }) => distance <= Math.max(2, name.length / 3))
    .toSorted((a, b) => a.distance - b.distance);
  return first?.name;
}

/** Returns how many characters must be changed, added or removed (Levenshtein distance). The beginning of a name counts as one change. */
function distanceOf(text: string, name: string): number {
  if (name.startsWith(text) && text.length > 2) return 1;
  let row = Array.from({ length: name.length + 1 }, (_, index) => index);
  for (const [index, sign] of [...text].entries()) {
    const next = [index + 1];
    for (let at = 0; at < name.length; at++) {
      const replaced = row[at]! + (name[at] === sign ? 0 : 1);
      next.push(Math.min(replaced, row[at + 1]! + 1, next[at]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
