/**
 * Counts the lines of a document while it is scanned. A string cannot contain an unescaped newline, so every newline of valid JSON
 * is white space, which the scanners read byte by byte. So counting costs nothing between newlines.
 */
import { JsonFault } from './json-fault.ts';

/** The maximum number of bytes from the beginning of a line to a place. Beyond it, messages have only the byte offset and not the column. */
const maxColumnBytes = 4096;

export class LineCounter {
  /** The current line, from 1. */
  line = 1;
  /** true: each line is a row, so no row may continue after a newline. */
  readonly endsRows: boolean;
  /** The offset in the document of the chunk's byte 0. */
  #origin = 0;
  /** The offset in the document at which the line begins. */
  #lineStart = 0;
  /** If the last chunk ended within the line: the number of its characters up to there, and the offset of that end. */
  #carried = 0;
  #carriedTo = 0;

  constructor(endsRows: boolean) {
    this.endsRows = endsRows;
  }

  /** Call this before a chunk, or a part of a chunk, is scanned. @param origin the offset in the document of the chunk's byte 0 */
  enterChunk(origin: number): void {
    this.#origin = origin;
  }

  /** Call this after the whole chunk was scanned. */
  leaveChunk(chunk: Buffer): void {
    const column = this.#charactersBefore(chunk, chunk.length);
    this.#carried = column ?? Number.NaN;
    this.#carriedTo = this.#origin + chunk.length;
  }

  /** Counts a newline between rows. */
  newline(position: number): void {
    this.line++;
    this.#lineStart = this.#origin + position + 1;
  }

  /** Counts a newline inside a row or another value. @throws JsonFault if each line is a row */
  newlineInside(position: number): void {
    if (this.endsRows) {
      const detail = 'the line ends inside an object; send each row as one whole line (with jq, use -c)';
      throw new JsonFault(position, detail, false);
    }
    this.newline(position);
  }

  /** Returns `line 3, column 7`. If the line is long, it returns only the line, or nothing for the first line. The column counts characters from 1. */
  describe(chunk: Buffer, position: number): string {
    const before = this.#charactersBefore(chunk, position);
    if (before !== undefined) return `line ${this.line}, column ${before + 1}`;
    return this.line === 1 ? '' : `line ${this.line}`;
  }

  /** Returns the number of characters of the line before the position; undefined: there are too many to count. */
  #charactersBefore(chunk: Buffer, position: number): number | undefined {
    if (this.#origin + position - this.#lineStart > maxColumnBytes) return undefined;
    const start = this.#lineStart - this.#origin;
    if (start >= 0) return countCharacters(chunk, start, position);
    if (this.#carriedTo !== this.#origin || Number.isNaN(this.#carried)) return undefined;
    return this.#carried + countCharacters(chunk, 0, position);
  }
}

/**
 * Counts the characters of UTF-8 text.
 *
 * @param end may be negative, if the position is in an earlier chunk
 */
function countCharacters(bytes: Buffer, start: number, end: number): number {
  let count = Math.min(0, end);
  // Every byte of UTF-8 counts, except continuation bytes.
  for (let i = start; i < end; i++) if ((bytes[i]! & 0xc0) !== 0x80) count++;
  return count;
}
