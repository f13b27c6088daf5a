/**
 * Counts the lines of a document while it is scanned. A string cannot hold a bare newline, so every newline of valid JSON is white space,
 * which the scanners pass one byte at a time anyway: counting costs nothing between newlines.
 */
import { JsonFault } from './json-fault.ts';

/** A column is told up to here: beyond it, the byte offset alone says where something is. */
const maxColumnBytes = 4096;

export class LineCounter {
  /** The line at hand, from 1. */
  line = 1;
  /** Each line is a row of its own, so no row may go on behind a newline. */
  readonly endsRows: boolean;
  /** The offset in the document of the chunk's byte 0. */
  #origin = 0;
  /** The offset in the document at which the line begins. */
  #lineStart = 0;
  /** How many characters the line that the end of the last chunk cut has up to there, and the offset of that end. */
  #carried = 0;
  #carriedTo = 0;

  constructor(endsRows: boolean) {
    this.endsRows = endsRows;
  }

  /** To be called before a chunk, or a part of one, is scanned. @param origin the offset in the document of the chunk's byte 0 */
  enterChunk(origin: number): void {
    this.#origin = origin;
  }

  /** To be called when all of the chunk has been scanned. */
  leaveChunk(chunk: Buffer): void {
    const column = this.#charactersBefore(chunk, chunk.length);
    this.#carried = column ?? Number.NaN;
    this.#carriedTo = this.#origin + chunk.length;
  }

  /** A newline between rows. */
  newline(position: number): void {
    this.line++;
    this.#lineStart = this.#origin + position + 1;
  }

  /** A newline inside a row or another value. @throws JsonFault where each line is a row */
  newlineInside(position: number): void {
    if (this.endsRows) {
      const detail = 'the line ends inside an object; send each row as one whole line (with jq, use -c)';
      throw new JsonFault(position, detail, false);
    }
    this.newline(position);
  }

  /** `line 3, column 7`; the line alone, or nothing on the first one, if the line is long. The column counts characters, from 1. */
  describe(chunk: Buffer, position: number): string {
    const before = this.#charactersBefore(chunk, position);
    if (before !== undefined) return `line ${this.line}, column ${before + 1}`;
    return this.line === 1 ? '' : `line ${this.line}`;
  }

  /** The characters of the line before the position; undefined: too many to count. */
  #charactersBefore(chunk: Buffer, position: number): number | undefined {
    if (this.#origin + position - this.#lineStart > maxColumnBytes) return undefined;
    const start = this.#lineStart - this.#origin;
    if (start >= 0) return countCharacters(chunk, start, position);
    if (this.#carriedTo !== this.#origin || Number.isNaN(this.#carried)) return undefined;
    return this.#carried + countCharacters(chunk, 0, position);
  }
}

/** @param end may be below 0: the chunk before had the character */
function countCharacters(bytes: Buffer, start: number, end: number): number {
  let count = Math.min(0, end);
  // Every byte of UTF-8 but those that go on with a character.
  for (let i = start; i < end; i++) if ((bytes[i]! & 0xc0) !== 0x80) count++;
  return count;
}
