/** Reads one row of a JSON file of any size. It reads the file in slices, so the page neither waits nor keeps the file in memory. */
import { fromJson } from '../../client/exact-json.ts';

/** The place of a problem, as the service writes it. */
export interface RowPlace {
  pointer?: string | undefined;
  line?: number | undefined;
}

/** A longer row is not shown. */
const maxRowBytes = 4_000_000;
const sliceBytes = 1 << 20;

const quote = 34;
const comma = 44;
const colon = 58;
const backslash = 92;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;
const newline = 10;

/** Finds the bytes of a row. */
interface Search {
  /** @returns true if no more bytes are needed */
  read(bytes: Uint8Array, from: number): boolean;
  start: number;
  end: number;
}

/** Returns the row of a problem; undefined: the file does not have it, or it is too long. */
export async function rowOfJson(
  file: Blob,
  kind: 'json' | 'ndjson',
  { pointer, line }: RowPlace,
): Promise<Record<string, unknown> | undefined> {
  const path = pathOf(pointer ?? '');
  if (kind === 'json') return rowAt(file, new ElementSearch(path));
  if (line !== undefined) return rowAt(file, new LineSearch(line - 1, false));
  // The page wraps lines and a definition into one document, whose rows are below `data`.
  const index = Number(path[1]);
  return path[0] === 'data' && Number.isInteger(index) ? rowAt(file, new LineSearch(index, true)) : undefined;
}

async function rowAt(file: Blob, search: Search): Promise<Record<string, unknown> | undefined> {
  for (let from = 0; from < file.size; from += sliceBytes) {
    const slice = file.slice(from, from + sliceBytes);
    if (search.read(new Uint8Array(await slice.arrayBuffer()), from)) break;
  }
  const { start, end } = search;
  if (start < 0) return undefined;
  const last = end < 0 ? file.size : end;
  if (last - start > maxRowBytes) return undefined;
  const row = fromJson(await file.slice(start, last).text());
  return row !== null && typeof row === 'object' && !Array.isArray(row)
    ? (row as Record<string, unknown>)
    : undefined;
}

/** Splits a JSON Pointer (RFC 6901). */
function pathOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Finds a line by its index. No string of JSON has a newline. */
class LineSearch implements Search {
  start = -1;
  end = -1;
  readonly #wanted: number;
  readonly #skipsEmpty: boolean;
  #index = 0;
  #lineStart = 0;
  #isEmpty = true;

  constructor(wanted: number, skipsEmpty: boolean) {
    this.#wanted = wanted;
    this.#skipsEmpty = skipsEmpty;
  }

  read(bytes: Uint8Array, from: number): boolean {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte !== newline) {
        if (this.#isEmpty && byte > 32) {
          this.#isEmpty = false;
          if (this.#index === this.#wanted) this.start = this.#lineStart;
        }
        continue;
      }
      if (this.start >= 0) {
        this.end = from + at;
        return true;
      }
      if (!(this.#skipsEmpty && this.#isEmpty)) this.#index++;
      this.#isEmpty = true;
      this.#lineStart = from + at + 1;
    }
    return false;
  }
}

/** Follows the path of a pointer, and finds the first object in an array on it. That object is the row. */
class ElementSearch implements Search {
  start = -1;
  end = -1;
  readonly #path: string[];
  /** How many containers are open. */
  #depth = 0;
  /** How many of them, from the outermost, are on the path. */
  #onPath = 0;
  /** Whether the innermost container on the path is an array, and the index of its current element. */
  #isArray = false;
  #index = 0;
  /** The bytes of the current key of the innermost object on the path. */
  #key: number[] = [];
  #isKey = false;
  #isMatch = true;
  #isInString = false;
  #isEscaped = false;

  constructor(path: string[]) {
    this.#path = path;
  }

  read(bytes: Uint8Array, from: number): boolean {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (this.#isInString) this.#readInString(byte);
      else if (byte > 32 && this.#readOutside(byte, from + at)) return true;
    }
    return false;
  }

  #readInString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) {
      this.#isInString = false;
      return;
    }
    if (this.#isKey) this.#key.push(byte);
  }

  #readOutside(byte: number, at: number): boolean {
    const isHere = this.#depth === this.#onPath && this.start < 0;
    switch (byte) {
      case quote:
        this.#isInString = true;
        if (isHere && this.#isKey) this.#key = [];
        return false;
      case colon:
        if (isHere) this.#endKey();
        return false;
      case comma:
        if (isHere) this.#beginMember(this.#index + 1);
        return false;
      case openBrace:
      case openBracket:
        if (isHere && this.#isMatch) {
          if (byte === openBrace && this.#isArray && this.#onPath > 0) this.start = at;
          else this.#enter(byte === openBracket);
        }
        this.#depth++;
        return false;
      case closeBrace:
      case closeBracket:
        this.#depth--;
        if (this.start >= 0 && this.#depth === this.#onPath) {
          this.end = at + 1;
          return true;
        }
        // The container on the path has ended without the row.
        return this.#depth < this.#onPath;
      default:
        return false;
    }
  }

  #enter(isArray: boolean): void {
    // A definition that the page adds puts an array of rows below `data`.
    if (this.#onPath === 0 && isArray && this.#path[0] === 'data') this.#path.shift();
    this.#onPath++;
    this.#isArray = isArray;
    this.#beginMember(0);
  }

  #beginMember(index: number): void {
    this.#index = index;
    this.#isKey = !this.#isArray;
    this.#isMatch = this.#isArray && this.#path[this.#onPath - 1] === String(index);
  }

  #endKey(): void {
    const text = new TextDecoder().decode(new Uint8Array(this.#key));
    this.#isKey = false;
    this.#isMatch = JSON.parse(`"${text}"`) === this.#path[this.#onPath - 1];
  }
}
