/** Reads the values of a leaf of the schema, one after the other, through all pages of a row group. */

import * as kinds from '../../../core/cells/cell-kind.ts';
import { broken } from './fault.ts';
import type { Chunk, ParquetFile } from './footer.ts';
import { type Page, PageReader } from './page-reader.ts';
import { RecordBuffer } from './record-buffer.ts';
import type { Leaf } from './schema-tree.ts';
import type { Values } from './values.ts';
import { shownValue, writeCell, writeJson } from './write-value.ts';

/** A dictionary whose values were written, so that a cell copies the bytes. */
interface WrittenValues {
  bytes: Buffer;
  /** Where each value ends. It begins where the one before ends. */
  ends: Int32Array;
  /** For JSON: the fault of each value; 0: none. */
  faults: Uint8Array;
}

/** The maximum number of bytes of a written dictionary. */
const maxDictionaryBytes = 512 * 1024 * 1024;

export class LeafColumn {
  readonly #file: ParquetFile;
  readonly #leaf: Leaf;
  readonly #isNested: boolean;
  #pages: PageReader | undefined;
  #page: Page | undefined;
  /** The current entry of the page, and the number of its values before this entry. */
  #entry = 0;
  #value = 0;
  /** The values of the page, or of its dictionary. */
  #values: Values | undefined;
  #indices: Int32Array | undefined;
  /** undefined: the current page has no dictionary. */
  #written: WrittenValues | undefined;
  #ofDictionary: WrittenValues | undefined;

  /** @param isNested the values are written as JSON */
  constructor(file: ParquetFile, leaf: Leaf, isNested: boolean) {
    this.#file = file;
    this.#leaf = leaf;
    this.#isNested = isNested;
  }

  /** Begins a row group. @throws Fault */
  open(chunk: Chunk): void {
    this.#pages = new PageReader(this.#file, this.#leaf, chunk);
    this.#ofDictionary = undefined;
    this.#readPage();
  }

  /** Returns whether there is an entry: a value or a null. */
  get hasEntry(): boolean {
    return this.#page !== undefined;
  }

  /** Returns the definition level of the current entry. */
  get definition(): number {
    const definitions = this.#page?.definitions;
    return definitions === undefined ? this.#leaf.definition : definitions[this.#entry]!;
  }

  /** Returns the repetition level of the current entry; 0: the entry begins a row. */
  get repetition(): number {
    const repetitions = this.#page?.repetitions;
    return repetitions === undefined ? 0 : repetitions[this.#entry]!;
  }

  /** Goes on to the next entry. @throws Fault */
  next(): void {
    const page = this.#page;
    if (page === undefined) throw broken('too few values');
    if (page.definitions === undefined || page.definitions[this.#entry] === this.#leaf.definition)
      this.#value++;
    this.#entry++;
    if (this.#entry === page.entries) this.#readPage();
  }

  /** Writes the current entry as a cell, and goes on. @throws Fault */
  writeCell(out: RecordBuffer): void {
    const page = this.#page;
    if (page === undefined) throw broken('too few values');
    const { definitions } = page;
    if (definitions !== undefined && definitions[this.#entry] !== this.#leaf.definition) {
      out.flag(kinds.NULL);
    } else {
      this.#writeValue(out, this.#value);
      this.#value++;
    }
    this.#entry++;
    if (this.#entry === page.entries) this.#readPage();
  }

  #writeValue(out: RecordBuffer, value: number): void {
    const written = this.#written;
    if (written === undefined) {
      writeCell(out, this.#leaf.type, this.#values!, value);
      return;
    }
    const index = this.#indices![value]!;
    out.append(written.bytes, index === 0 ? 0 : written.ends[index - 1]!, written.ends[index]!);
  }

  /** Writes the value of the current entry as JSON, without going on. @returns 0, or a fault of cell-kind.ts */
  writeJson(out: RecordBuffer): number {
    if (this.definition !== this.#leaf.definition) throw broken('a null in a column without nulls');
    const written = this.#written;
    if (written === undefined) return writeJson(out, this.#leaf.type, this.#values!, this.#value);
    const index = this.#indices![this.#value]!;
    const fault = written.faults[index]!;
    if (fault === 0)
      out.append(written.bytes, index === 0 ? 0 : written.ends[index - 1]!, written.ends[index]!);
    return fault;
  }

  /** Returns the value of the current entry for a problem. */
  get shown(): string {
    const index = this.#indices === undefined ? this.#value : this.#indices[this.#value]!;
    return shownValue(this.#leaf.type, this.#values!, index);
  }

  #readPage(): void {
    const pages = this.#pages!;
    const page = pages.next();
    this.#page = page;
    this.#entry = 0;
    this.#value = 0;
    if (page === undefined) return;
    this.#indices = page.indices;
    this.#values = page.values ?? pages.dictionary;
    this.#written = undefined;
    if (page.indices === undefined || page.indices.length === 0) return;
    this.#ofDictionary ??= this.#writeAll(pages.dictionary!);
    this.#written = this.#ofDictionary;
  }

  #writeAll(values: Values): WrittenValues {
    const out = new RecordBuffer(maxDictionaryBytes);
    out.length = 0;
    const ends = new Int32Array(values.count);
    const faults = new Uint8Array(values.count);
    for (let index = 0; index < values.count; index++) {
      if (this.#isNested) faults[index] = writeJson(out, this.#leaf.type, values, index);
      else writeCell(out, this.#leaf.type, values, index);
      ends[index] = out.length;
    }
    return { bytes: out.bytes.subarray(0, out.length), ends, faults };
  }
}
