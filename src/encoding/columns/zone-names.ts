/**
 * Counts the names of time zones that texts may contain, because PostgreSQL keeps 24 KB for each name until the connection ends.
 * Any letters with an offset are a name: `2020-01-01 00:00 ABC-1`, `A-1` (pg_tzset, tzparse). Other names, such as `Europe/Berlin`,
 * come from PostgreSQL's own files, so there are only some hundreds of them.
 */
import * as ascii from '../../core/bytes/ascii.ts';

/** The limit for the different names of one upload or definition: 240 MB. */
const MOST_NAMES = 10_000;
const BYTES_OF_NAME = 24_576;
/** The bytes of a tree for the shortest time with a zone name: it has eight bytes (`1 1 1 A-1`), and a tree has about three characters for each byte of a text. */
const LEAST_TREE_OF_NAME = 24;
/** The maximum number of hours of an offset. PostgreSQL does not know a name with a larger number, such as `ABC1234`. */
const MOST_HOURS = 167;

export class ZoneNames {
  readonly #names = new Set<string>();
  #expressions = 0;
  #unread = 0;

  /** How many bytes PostgreSQL keeps for the names counted so far. */
  get keptBytes(): number {
    return (this.#names.size + this.#unread) * BYTES_OF_NAME;
  }

  /** Counts the names in an expression, such as a default. Each `to_char` may compute another name. */
  addExpression(expression: string): void {
    const bytes = Buffer.from(expression);
    this.areTooMany(bytes, 0, bytes.length);
    for (const { index } of expression.matchAll(/to_char/g)) this.#names.add(`${this.#expressions} ${index}`);
    this.#expressions++;
  }

  /** Counts the maximum number of names that an expression with a tree of this length can contain. */
  addTree(treeBytes: number): void {
    this.#unread += Math.floor(treeBytes / LEAST_TREE_OF_NAME);
  }

  /** Counts the names in a text. @returns whether there are too many names, together with those of earlier texts */
  areTooMany(bytes: Buffer, start: number, end: number): boolean {
    for (let at = start; at < end; at++) {
      if (!ascii.isLetter(bytes[at]!)) continue;
      const first = at;
      while (at < end && isOfName(bytes[at]!)) at++;
      if (hasOffset(bytes, first, at)) this.#names.add(bytes.toString('latin1', first, at).toUpperCase());
      if (this.#names.size > MOST_NAMES) return true;
    }
    return false;
  }
}

/** Returns whether a text has characters before its first digit or sign, and hours after them. `T10:11:12` is a time of ISO 8601 and not a name. */
function hasOffset(bytes: Buffer, first: number, end: number): boolean {
  let at = first;
  let length = 0;
  for (; at < end && !ascii.isDigit(bytes[at]!) && !isSign(bytes[at]!); at++)
    if (!isSkipped(bytes[at]!)) length++;
  if (length === 1 && (bytes[first]! | 32) === ascii.LOWER_T && at < end && ascii.isDigit(bytes[at]!))
    return false;
  while (at < end && (isSign(bytes[at]!) || isSkipped(bytes[at]!))) at++;
  if (at === end || !ascii.isDigit(bytes[at]!)) return false;
  let hours = 0;
  for (; at < end && (ascii.isDigit(bytes[at]!) || isSkipped(bytes[at]!)); at++)
    if (!isSkipped(bytes[at]!)) hours = Math.min(hours * 10 + bytes[at]! - ascii.ZERO, MOST_HOURS + 1);
  return hours <= MOST_HOURS;
}

/** Returns whether a byte belongs to a name. `+`, `-`, `.`, `/`, the digits and `:` follow each other, with `,` between them. `\` and `"` do, because PostgreSQL removes them from the texts of elements, bounds and fields. */
function isOfName(byte: number): boolean {
  return (
    ascii.isLetter(byte) ||
    isSkipped(byte) ||
    byte === ascii.UNDERSCORE ||
    (byte >= ascii.PLUS && byte <= ascii.COLON && byte !== ascii.COMMA)
  );
}

function isSkipped(byte: number): boolean {
  return byte === ascii.BACKSLASH || byte === ascii.QUOTE;
}

function isSign(byte: number): boolean {
  return byte === ascii.PLUS || byte === ascii.MINUS;
}
