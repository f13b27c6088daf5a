/** Finds one row in a JSON file of any size. The file is read in slices, so it neither blocks the page nor fills the memory. */
import { fromJson } from '../../client/exact-json.ts';

/** The place of a problem in the form of the answer of the service. */
export interface RowPlace {
  pointer?: string | undefined;
}

/** Longer rows are not shown. */
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

/** A search through the bytes of the file for the beginning and the end of a row. */
interface Search {
  /** @returns true if no more bytes are needed */
  read(bytes: Uint8Array, from: number): boolean;
  start: number;
  end: number;
}

/** Returns the row that has the problem; undefined: it was not found or is too long. */
export async function rowOfJson(
  file: Blob,
  kind: 'json' | 'ndjson',
  { pointer }: RowPlace,
): Promise<Record<string, unknown> | undefined> {
  const path = pathOf(pointer ?? '');
  if (kind === 'json') return rowAt(file, new ElementSearch(path));
  // The page puts the lines into the array `data` of one document. So the pointer begins with `data`.
  const index = Number(path[1]);
  return path[0] === 'data' && Number.isInteger(index) ? rowAt(file, new LineSearch(index)) : undefined;
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
  const row = fromJson(await file.slice(start, last).text(), (value) => [value]);
  return row !== null && typeof row === 'object' && !Array.isArray(row)
    ? (row as Record<string, unknown>)
    : undefined;
}

/** Splits a JSON Pointer (RFC 6901) into its names. */
function pathOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Finds a row by its index. Blank lines are no rows. JSON text never contains a newline inside a string, so each line is a row. */
class LineSearch implements Search {
  start = -1;
  end = -1;
  readonly #wanted: number;
  #index = 0;
  #lineStart = 0;
  #isEmpty = true;

  constructor(wanted: number) {
    this.#wanted = wanted;
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
      if (!this.#isEmpty) this.#index++;
      this.#isEmpty = true;
      this.#lineStart = from + at + 1;
    }
    return false;
  }
}

/** Follows the path of a pointer to the first object that is an element of an array. This object is the row. */
class ElementSearch implements Search {
  start = -1;
  end = -1;
  readonly #path: string[];
  /** How many arrays and objects are open at the present byte. */
  #depth = 0;
  /** How many of them, counted from the outermost, are on the path of the pointer. */
  #onPath = 0;
  /** Whether the innermost open container on the path is an array. `#index` is the index of its current element. */
  #isArray = false;
  #index = 0;
  /** The bytes of the current key in the innermost object on the path. */
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
        // The container on the path has ended without containing the row.
        return this.#depth < this.#onPath;
      default:
        return false;
    }
  }

  #enter(isArray: boolean): void {
    // The page has put an array of rows into the member `data`, which is missing in the file itself.
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
