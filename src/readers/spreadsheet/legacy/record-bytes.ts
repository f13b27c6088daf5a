/**
 * Walks over the texts of a record and of the CONTINUE records that follow it, as the library reads them, and refuses texts that
 * do not fit into their records. The library would read beyond the end, take a part for the whole text, or loop forever.
 */

export const CONTINUE = 0x3c;
export const recordHeadBytes = 4;

const wideFlag = 1;
const phoneticFlag = 4;
const richFlag = 8;

/** A position in the content of a record. All methods throw an error if the content ends too early. */
export class RecordBytes {
  readonly #stream: Buffer;
  #at = 0;
  /** The end of the current record. */
  #end = 0;

  constructor(stream: Buffer) {
    this.#stream = stream;
  }

  moveTo(start: number, end: number): this {
    this.#at = start;
    this.#end = end;
    return this;
  }

  /** Goes to the next CONTINUE record if the current record is finished. @returns false if there is none */
  hasMore(): boolean {
    while (this.#at >= this.#end) {
      const next = this.#end + recordHeadBytes;
      if (next > this.#stream.length || this.#stream.readUInt16LE(this.#end) !== CONTINUE) return false;
      this.#at = next;
      this.#end = next + this.#stream.readUInt16LE(this.#end + 2);
      if (this.#end > this.#stream.length) throw new Error('A record is cut off');
    }
    return true;
  }

  skip(count: number): void {
    for (let left = count; left > 0; ) {
      if (!this.hasMore()) throw new Error('A record is too short');
      const skipped = Math.min(left, this.#end - this.#at);
      this.#at += skipped;
      left -= skipped;
    }
  }

  /** Returns a number of 1 to 4 bytes. */
  number(bytes: number): number {
    let value = 0;
    for (let index = 0; index < bytes; index++) {
      this.skip(1);
      value += this.#stream[this.#at - 1]! * 256 ** index;
    }
    return value;
  }

  /** Skips the characters of a text. A text that goes on in a CONTINUE record states there again whether it is wide (MS-XLS 2.5.293). */
  skipCharacters(count: number, isWide: boolean): void {
    let width = isWide ? 2 : 1;
    for (let left = count; left > 0; ) {
      if (this.#at === this.#end) {
        this.skip(1);
        width = widthOf(this.#stream[this.#at - 1]!);
        continue;
      }
      const skipped = Math.min(left, Math.floor((this.#end - this.#at) / width));
      if (skipped === 0) throw new Error('A record ends within a character');
      this.#at += skipped * width;
      left -= skipped;
    }
  }

  /** Programs may fill a record up with zeros. Other bytes after a text belong to it, so its length is wrong. */
  expectEnd(): void {
    while (this.hasMore()) {
      if (this.#stream.subarray(this.#at, this.#end).some((byte) => byte !== 0))
        throw new Error('A text is longer than stated');
      this.#at = this.#end;
    }
  }
}

/** The library takes every value but 0 for a wide text. */
function widthOf(flags: number): number {
  if (flags > wideFlag) throw new Error('A text has unknown flags');
  return flags === wideFlag ? 2 : 1;
}

/**
 * Checks a text without parts (MS-XLS 2.5.240 and 2.5.294; before Excel 97 its bytes follow its length).
 *
 * @param lengthBytes how many bytes state its length
 */
export function checkText(bytes: RecordBytes, lengthBytes: number, hasFlags: boolean): void {
  const characters = bytes.number(lengthBytes);
  // Some programs omit the flags of an empty text.
  if (characters === 0 && !bytes.hasMore()) return;
  if (hasFlags) bytes.skipCharacters(characters, widthOf(bytes.number(1)) === 2);
  else bytes.skip(characters);
}

/** Checks the shared strings (MS-XLS 2.4.265). Their stated count may be too large, because some programs write a wrong one. */
export function checkSharedStrings(bytes: RecordBytes): void {
  bytes.skip(4);
  const count = bytes.number(4);
  for (let index = 0; index < count && bytes.hasMore(); index++) {
    const characters = bytes.number(2);
    const flags = bytes.number(1);
    const runs = flags & richFlag ? bytes.number(2) : 0;
    const phoneticBytes = flags & phoneticFlag ? bytes.number(4) : 0;
    bytes.skipCharacters(characters, (flags & wideFlag) !== 0);
    bytes.skip(4 * runs);
    bytes.skip(phoneticBytes);
  }
}
