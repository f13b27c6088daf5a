/**
 * Keeps the shared strings of a workbook (ECMA-376 part 1, 18.4.8) as bytes in a few large buffers (slabs), so that millions of
 * them need no JavaScript strings. The counts in the part are not used.
 */

import { limitExceeded } from '../../../core/limit-exceeded.ts';

const firstSlabBytes = 16 * 1024;
const maxSlabBytes = 4 * 1024 * 1024;

/**
 * The size of further slabs if the strings take more than `fewBytes`. glibc returns freed memory to the system at once only for blocks of more than
 * 32 MiB (mallopt(3), M_MMAP_THRESHOLD). A slab takes memory only as far as it is filled.
 */
const largeSlabBytes = 33 * 1024 * 1024;
const fewBytes = 8 * 1024 * 1024;

/**
 * The number of entries in a page is 2 to this power. Entries are kept in pages, so that they are never copied when more are
 * added.
 */
const pageShift = 16;
const pageEntries = 1 << pageShift;
const pageMask = pageEntries - 1;

const firstPageEntries = 256;

/** The memory for each string besides its text: three words with the number of the slab, the start and the length. */
const entryWords = 3;
const entryBytes = 4 * entryWords;

export class SharedStrings {
  /** The buffers with the texts. They grow while strings are read. The number of strings that the file states is ignored. */
  slabs: Buffer<ArrayBuffer>[] = [Buffer.allocUnsafeSlow(firstSlabBytes)];
  count = 0;

  /** The buffer of the string that `find` has looked up. */
  bytes: Buffer = this.slabs[0]!;
  start = 0;
  end = 0;

  /** The slab, start and length of each string. The first page is short at the beginning. */
  #pages: Uint32Array<ArrayBuffer>[] = [new Uint32Array(entryWords * firstPageEntries)];

  #slab: Buffer<ArrayBuffer> = this.slabs[0]!;
  #used = 0;
  #totalBytes = 0;
  readonly #maxBytes: number;

  /** @param maxBytes the limit for the memory of all strings */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the memory that the strings take, without what is reserved for the next ones. */
  get memoryBytes(): number {
    return this.#totalBytes;
  }

  /** Frees the memory now. Garbage collection might free it only after other files have taken as much. Afterwards nothing can be read. */
  free(): void {
    for (const slab of this.slabs) slab.buffer.transfer(0);
    for (const page of this.#pages) page.buffer.transfer(0);
  }

  add(bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    this.#totalBytes += length + entryBytes;
    if (this.#totalBytes > this.#maxBytes) {
      throw limitExceeded('The shared strings of the workbook are too large', this.#maxBytes, {
        setting: 'MAX_SHARED_STRING_BYTES',
      });
    }
    if (this.#used + length > this.#slab.length) this.#addSlab(length);
    const page = this.#lastPage();
    const at = entryWords * (this.count & pageMask);
    copyBytes(bytes, start, end, this.#slab, this.#used);
    page[at] = this.slabs.length - 1;
    page[at + 1] = this.#used;
    page[at + 2] = length;
    this.count++;
    this.#used += length;
  }

  /** Sets `bytes`, `start` and `end` to the string of this index, which must be below `count`. */
  find(index: number): void {
    const page = this.#pages[index >>> pageShift]!;
    const at = entryWords * (index & pageMask);
    this.bytes = this.slabs[page[at]!]!;
    this.start = page[at + 1]!;
    this.end = this.start + page[at + 2]!;
  }

  #lastPage(): Uint32Array {
    if (this.count === firstPageEntries) {
      const whole = new Uint32Array(entryWords * pageEntries);
      whole.set(this.#pages[0]!);
      this.#pages[0] = whole;
    } else if ((this.count & pageMask) === 0 && this.count > 0) {
      this.#pages.push(new Uint32Array(entryWords * pageEntries));
    }
    return this.#pages.at(-1)!;
  }

  #addSlab(length: number): void {
    const usual =
      this.#totalBytes > fewBytes ? largeSlabBytes : Math.min(2 * this.#slab.length, maxSlabBytes);
    const size = Math.max(length, usual);
    this.#slab = Buffer.allocUnsafeSlow(size);
    this.slabs.push(this.#slab);
    this.#used = 0;
  }
}

/** Shorter strings are copied byte by byte, because a call of `copy` would cost more. */
const nearBytes = 48;

function copyBytes(bytes: Buffer, start: number, end: number, target: Buffer, at: number): void {
  if (end - start > nearBytes) bytes.copy(target, at, start, end);
  else for (let from = start, to = at; from < end; ) target[to++] = bytes[from++]!;
}
