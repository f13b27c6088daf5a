/** What PostgreSQL accepts as a name, and which name a misspelt one was probably meant to be. */

/** NAMEDATALEN - 1 (PostgreSQL 4.1.1). PostgreSQL would cut a longer name silently; here it is refused. */
export const maxIdentifierBytes = 63;

const maxCandidates = 5000;
const maxSuggestions = 20;

/** Why `name` cannot be an identifier, as the end of a sentence; undefined where it can. */
export function identifierProblem(name: string): string | undefined {
  if (name === '') return 'must not be empty';
  if (name.includes('\0')) return 'must not hold the character NUL';
  if (!name.isWellFormed()) return 'must be valid Unicode (it holds half of a surrogate pair)';
  const bytes = Buffer.byteLength(name);
  if (bytes > maxIdentifierBytes) {
    return `must be at most ${maxIdentifierBytes} bytes of UTF-8 long (it is ${bytes})`;
  }
  return undefined;
}

const systemColumns = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']);

/** The columns that every table has (PostgreSQL 5.6). */
export function isSystemColumn(name: string): boolean {
  return systemColumns.has(name);
}

/** The schemas that belong to PostgreSQL itself. */
export function isSystemSchema(schema: string): boolean {
  return schema.startsWith('pg_') || schema === 'information_schema';
}

/** Up to three of `candidates` that `name` may have been meant to be, nearest first; case does not count. */
export function nearestNames(name: string, candidates: Iterable<string>): string[] {
  const wanted = name.slice(0, maxIdentifierBytes).toLowerCase();
  // Of a name of one letter every other such name would be near.
  const limit = Math.min(Math.ceil(wanted.length / 3), wanted.length - 1);
  const found: { candidate: string; distance: number }[] = [];
  let seen = 0;
  for (const candidate of candidates) {
    if (++seen > maxCandidates) break;
    const distance = editDistance(wanted, candidate.toLowerCase(), limit);
    if (distance <= limit) found.push({ candidate, distance });
  }
  found.sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1));
  return [...new Set(found.map((entry) => entry.candidate))].slice(0, 3);
}

/**
 * ` Did you mean "a" or "b"?`, or nothing where no name is near.
 *
 * @param before how many faults were told before this one: a definition of thousands gets no thousands of searches
 */
export function didYouMean(name: string, candidates: Iterable<string>, before: number): string {
  if (before >= maxSuggestions) return '';
  const names = nearestNames(name, candidates).map((candidate) => `"${candidate}"`);
  return names.length === 0 ? '' : ` Did you mean ${names.join(' or ')}?`;
}

/** A value as a problem shows it: whole where it is short. */
export function shorten(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`.toWellFormed();
}

/** Levenshtein's distance with neighbours swapped as one edit; anything above `limit` is `limit + 1`. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(current[column - 1]! + 1, last[column]! + 1, last[column - 1]! + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, beforeLast[column - 2]! + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return Math.min(last[b.length]!, limit + 1);
}
