/**
 * Counts how many bytes an upload expands to: values that many cells repeat, spaces that a file stores as a number, the zeros of
 * number formats, and the defaults of columns that the rows leave out. A file of 800 bytes can mean gigabytes. All of this counts
 * towards one limit for each upload.
 */
import { limitExceeded } from '../limit-exceeded.ts';

/** This many bytes are always allowed, because a small file may have much repetition. */
const freeBytes = 64 * 1024 * 1024;

export class ExpandedBytes {
  readonly #maxRatio: number;
  #sentBytes: number;
  #bytes = 0;
  /** The sheet that is being read, and for it and each other sheet the bytes that were counted in the last pass. */
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
