/**
 * Counts the bytes that an upload expands to: values that many cells repeat, the spaces for which a file has only a number, the
 * zeros of number formats, the defaults of columns that the rows leave out. A file of 800 bytes can mean gigabytes. There is one sum for each
 * upload, whatever makes the bytes.
 */
import { limitExceeded } from '../limit-exceeded.ts';

/** The bytes that are always allowed. A small file may have much repetition. */
const freeBytes = 64 * 1024 * 1024;

export class ExpandedBytes {
  readonly #maxRatio: number;
  #sentBytes: number;
  #bytes = 0;
  /** The sheet that is read, and what was counted in the last pass over it and over each other sheet. */
  #sheet = -1;
  #sheetBytes = 0;
  readonly #bytesOfSheets = new Map<number, number>();

  /**
   * @param maxRatio how many bytes each sent byte may become
   * @param sentBytes the size of the file; default: `sent` counts the bytes
   */
  constructor(maxRatio: number, sentBytes = 0) {
    this.#maxRatio = maxRatio;
    this.#sentBytes = sentBytes;
  }

  /** Begins a pass over a sheet of the file. It replaces what was counted in an earlier pass over the sheet. */
  beginSheet(sheet: number): void {
    this.#bytesOfSheets.set(this.#sheet, this.#sheetBytes);
    this.#bytes -= this.#bytesOfSheets.get(sheet) ?? 0;
    this.#sheet = sheet;
    this.#sheetBytes = 0;
  }

  /** Counts bytes that the caller sent. */
  sent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  /**
   * Counts bytes before they are passed on.
   *
   * @param what the message about too many bytes
   * @throws AppError `limit-exceeded`
   */
  add(bytes: number, what: string, remedy: string): void {
    const most = Math.max(freeBytes, this.#sentBytes * this.#maxRatio);
    if (bytes > 0 && this.#bytes + bytes > most) throw limitExceeded(what, most, 'bytes', remedy);
    this.#bytes += bytes;
    this.#sheetBytes += bytes;
  }
}
