/** Checks names by PostgreSQL's rules, and suggests the nearest name for a misspelled one. */
import { cutText } from './cut-text.ts';
import { AppError, wrongParameter } from './errors.ts';

/**
 * The longest name in PostgreSQL (NAMEDATALEN - 1, PostgreSQL 4.1.1). PostgreSQL cuts a longer name without an error; the
 * service refuses it.
 */
export const maxIdentifierBytes = 63;

/** The column with the reasons in files of faulty rows. Uploads leave it out, unless the table has a column of this name. */
export const problemColumn = '_problem';

const maxCandidates = 5000;
/** The limit for the work of one search, in comparisons of two letters: enough for 1,600 names of 35 letters, and some milliseconds. */
const maxSteps = 2_000_000;
const maxSuggestions = 20;

/** Returns why `name` cannot be an identifier, as the end of a sentence; undefined: it can. */
export function identifierProblem(name: string): string | undefined {
  if (name === '') return 'must not be empty';
  if (name.includes('\0')) return 'must not contain the character NUL';
  if (!name.isWellFormed()) return 'must be valid Unicode (it contains half of a surrogate pair)';
  const bytes = Buffer.byteLength(name);
  if (bytes > maxIdentifierBytes) {
    return `must be at most ${maxIdentifierBytes} bytes of UTF-8 long (it is ${bytes})`;
  }
  return undefined;
}

/**
 * Checks the names that a request gives for a table and its schema.
 *
 * @throws AppError `invalid-parameter`
 */
export function checkTableName(schema: string, name: string): void {
  checkParameter('table_name', name);
  checkSchemaName(schema);
}

/** Checks the name of a schema. @throws AppError `invalid-parameter` */
export function checkSchemaName(schema: string): void {
  checkParameter('schema', schema);
}

function checkParameter(parameter: string, name: string): void {
  const problem = identifierProblem(name);
  if (problem === undefined) return;
  const detail = `The name given as ${parameter} ${problem}.`;
  throw wrongParameter(parameter, detail, { code: 'invalid-name', value: name });
}

const systemColumns = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']);

/** Returns whether a name is that of a column that every table has (PostgreSQL 5.6). */
export function isSystemColumn(name: string): boolean {
  return systemColumns.has(name);
}

/** Returns whether a schema belongs to PostgreSQL itself. */
export function isSystemSchema(schema: string): boolean {
  return schema.startsWith('pg_') || schema === 'information_schema';
}

/**
 * Refuses a schema that belongs to PostgreSQL itself.
 *
 * @throws AppError `schema-forbidden`
 */
export function refuseSystemSchema(schema: string): void {
  if (!isSystemSchema(schema)) return;
  throw new AppError('schema-forbidden', `The schema "${schema}" belongs to PostgreSQL itself.`);
}

/** Returns up to three of `candidates` that are most similar to `name`, the nearest one first. Case does not count. */
export function nearestNames(name: string, candidates: Iterable<string>): string[] {
  const wanted = name.slice(0, maxIdentifierBytes).toLowerCase();
  // The limit must be below the length of the name: otherwise every name of one letter would be similar to every other one.
  const limit = Math.min(Math.ceil(wanted.length / 3), wanted.length - 1);
  const found: { candidate: string; distance: number }[] = [];
  let seen = 0;
  let steps = 0;
  for (const candidate of candidates) {
    if (++seen > maxCandidates || steps > maxSteps) break;
    if (Math.abs(candidate.length - wanted.length) > limit) continue;
    steps += candidate.length * wanted.length;
    const distance = editDistance(wanted, candidate.toLowerCase(), limit);
    if (distance <= limit) found.push({ candidate, distance });
  }
  found.sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1));
  return [...new Set(found.map((entry) => entry.candidate))].slice(0, 3);
}

/**
 * Returns ` Did you mean "a" or "b"?`, or '' if no name is near.
 *
 * @param before the number of problems that were reported before. With many problems there is no search, because each search takes time
 */
export function didYouMean(name: string, candidates: Iterable<string>, before = 0): string {
  if (before >= maxSuggestions) return '';
  const names = nearestNames(name, candidates).map((candidate) => `"${candidate}"`);
  return names.length === 0 ? '' : ` Did you mean ${names.join(' or ')}?`;
}

/** Returns a value as a problem shows it: cut if it is long, and valid Unicode. */
export function shorten(text: string): string {
  return cutText(text, 80).toWellFormed();
}

/** Returns the Levenshtein distance, in which swapping two neighbours is one edit; at most `limit + 1`. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let beforeLast = new Array<number>(b.length + 1).fill(0);
  let last = new Array<number>(b.length + 1).fill(0);
  let current = new Array<number>(b.length + 1).fill(0);
  for (let column = 1; column <= b.length; column++) last[column] = column;
  let leastOfLast = 0;
  for (let row = 1; row <= a.length; row++) {
    const letter = a.charCodeAt(row - 1);
    const letterBefore = row > 1 ? a.charCodeAt(row - 2) : -1;
    current[0] = row;
    let least = row;
    for (let column = 1; column <= b.length; column++) {
      const other = b.charCodeAt(column - 1);
      let cost = last[column - 1]! + (letter === other ? 0 : 1);
      if (last[column]! < cost) cost = last[column]! + 1;
      if (current[column - 1]! < cost) cost = current[column - 1]! + 1;
      const isSwapped = column > 1 && letterBefore === other && letter === b.charCodeAt(column - 2);
      if (isSwapped && beforeLast[column - 2]! < cost) cost = beforeLast[column - 2]! + 1;
      current[column] = cost;
      if (cost < least) least = cost;
    }
    // The distance is never less than the least number of the last two rows.
    if (least > limit && leastOfLast > limit) return limit + 1;
    leastOfLast = least;
    const free = beforeLast;
    beforeLast = last;
    last = current;
    current = free;
  }
  return Math.min(last[b.length]!, limit + 1);
}
