/**
 * Writes the rows of a list, a map or a struct as JSON. Its leaves are read at the same time. The levels of their entries say where lists
 * begin and end, and what is null. Leaves that disagree make the file invalid.
 */

import {
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE,
} from '../../../core/bytes/ascii.ts';
import * as kinds from '../../../core/cells/cell-kind.ts';
import { broken } from './fault.ts';
import type { LeafColumn } from './leaf-column.ts';
import type { RecordBuffer } from './record-buffer.ts';
import type { Field } from './schema-tree.ts';
import { appendString } from './write-value.ts';

export class NestedColumn {
  readonly #field: Field;
  readonly #leaves: readonly LeafColumn[];
  readonly #names = new Map<Field, Buffer>();
  /** The first problem of the current row, and the value that it shows. */
  #fault = 0;
  #shown = '';

  /** @param leaves all leaves of the schema */
  constructor(field: Field, leaves: readonly LeafColumn[]) {
    this.#field = field;
    this.#leaves = leaves;
  }

  /** Writes the current row as a cell, and goes on. @throws Fault */
  writeCell(out: RecordBuffer): void {
    const field = this.#field;
    this.#checkRowBegins();
    if (this.#isNull(field)) {
      this.#skip(field, field.definition);
      out.flag(kinds.NULL);
      return;
    }
    this.#fault = 0;
    const start = out.length;
    out.begin(field.kind === 'list' ? kinds.ARRAY : kinds.OBJECT);
    this.#writeValue(out, field);
    out.end();
    if (this.#fault === 0) return;
    out.length = start;
    out.fault(this.#fault, this.#shown);
  }

  #checkRowBegins(): void {
    for (let leaf = this.#field.firstLeaf; leaf <= this.#field.lastLeaf; leaf++) {
      const { hasEntry, repetition } = this.#leaves[leaf]!;
      if (!hasEntry || repetition !== 0) throw broken('rows of different lengths');
    }
  }

  #isNull({ isOptional, firstLeaf, definition }: Field): boolean {
    return isOptional && this.#leaves[firstLeaf]!.definition < definition;
  }

  /** Goes on in every leaf of a field that has no value. @param definition the level that its leaves do not reach */
  #skip({ firstLeaf, lastLeaf }: Field, definition: number): void {
    for (let index = firstLeaf; index <= lastLeaf; index++) {
      const leaf = this.#leaves[index]!;
      if (leaf.definition !== definition - 1) throw broken('a null that not all members have');
      leaf.next();
    }
  }

  #write(out: RecordBuffer, field: Field): void {
    if (!this.#isNull(field)) {
      this.#writeValue(out, field);
      return;
    }
    this.#skip(field, field.definition);
    out.appendText('null');
  }

  #writeValue(out: RecordBuffer, field: Field): void {
    switch (field.kind) {
      case 'leaf':
        this.#writeLeaf(out, field);
        break;
      case 'struct':
        this.#writeStruct(out, field);
        break;
      case 'list':
        this.#writeElements(out, field, OPENING_BRACKET, CLOSING_BRACKET, () => {
          this.#write(out, field.children[0]!);
        });
        break;
      case 'map':
        this.#writeMap(out, field);
    }
  }

  #writeLeaf(out: RecordBuffer, { firstLeaf }: Field): void {
    const leaf = this.#leaves[firstLeaf]!;
    const fault = leaf.writeJson(out);
    if (fault !== 0) this.#note(fault, leaf.shown);
    leaf.next();
  }

  #note(fault: number, shown: string): void {
    if (this.#fault !== 0) return;
    this.#fault = fault;
    this.#shown = shown;
  }

  #writeStruct(out: RecordBuffer, { children }: Field): void {
    out.appendByte(OPENING_BRACE);
    children.forEach((child, index) => {
      if (index > 0) out.appendByte(COMMA);
      const name = this.#nameOf(child);
      appendString(out, name, 0, name.length);
      out.appendByte(COLON);
      this.#write(out, child);
    });
    out.appendByte(CLOSING_BRACE);
  }

  #nameOf(field: Field): Buffer {
    let name = this.#names.get(field);
    if (name === undefined) {
      name = Buffer.from(field.name);
      this.#names.set(field, name);
    }
    return name;
  }

  /** Writes the elements of a list or map: all entries of its leaves until one belongs to another list. */
  #writeElements(
    out: RecordBuffer,
    field: Field,
    opening: number,
    closing: number,
    writeOne: () => void,
  ): void {
    const { firstLeaf, lastLeaf, elementDefinition, elementRepetition } = field;
    const first = this.#leaves[firstLeaf]!;
    out.appendByte(opening);
    if (first.definition < elementDefinition) {
      this.#skip(field, elementDefinition);
      out.appendByte(closing);
      return;
    }
    for (;;) {
      writeOne();
      const { repetition } = first;
      const isNext = first.hasEntry && repetition === elementRepetition;
      if (repetition > elementRepetition) throw broken('an element of a list that has ended');
      for (let index = firstLeaf + 1; index <= lastLeaf; index++)
        if (this.#leaves[index]!.repetition !== repetition) throw broken('lists of different lengths');
      if (!isNext) break;
      out.appendByte(COMMA);
    }
    out.appendByte(closing);
  }

  #writeMap(out: RecordBuffer, field: Field): void {
    const [key, value] = field.children;
    const keys = new Set<string>();
    this.#writeElements(out, field, OPENING_BRACE, CLOSING_BRACE, () => {
      const start = out.length;
      if (this.#isNull(key!)) this.#note(kinds.UNREADABLE_VALUE, 'null');
      this.#write(out, key!);
      const text = out.bytes.toString('latin1', start, out.length);
      if (keys.has(text)) this.#note(kinds.REPEATED_KEY, out.bytes.toString('utf8', start, out.length));
      keys.add(text);
      if (out.bytes[start] !== QUOTE) {
        out.length = start;
        const keyText = Buffer.from(text, 'latin1');
        appendString(out, keyText, 0, keyText.length);
      }
      out.appendByte(COLON);
      if (value === undefined) out.appendText('null');
      else this.#write(out, value);
    });
  }
}
