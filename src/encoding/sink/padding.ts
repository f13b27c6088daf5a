/**
 * Computes how much longer the values of a row become when PostgreSQL pads them. `char(1000)` stores one letter as 1,000 bytes,
 * also in each element of an array and in each field of a composite type. Tables without such columns need no such computation.
 */
import { COMMA } from '../../core/bytes/ascii.ts';
import type { ColumnType } from '../columns/load-column.ts';
import type { ColumnEncoder } from '../encoders/column-encoder.ts';
import * as codes from '../encoders/type-codes.ts';

interface PaddedTarget {
  column: { type: ColumnType };
  encoder: ColumnEncoder;
}

export class Padding {
  /** The columns whose values are padded. */
  readonly targets: readonly number[];
  readonly #types: ColumnType[];
  readonly #isBinaryArray: boolean[];

  constructor(targets: readonly PaddedTarget[]) {
    this.#types = targets.map(({ column }) => column.type);
    this.#isBinaryArray = targets.map(({ encoder }) => encoder.code === codes.ARRAY);
    this.targets = [...targets.keys()].filter((target) => this.#types[target]!.paddedBytes !== undefined);
  }

  get isAny(): boolean {
    return this.targets.length > 0;
  }

  /** Returns how many bytes PostgreSQL adds at most to the field bytes[start, end) of binary COPY. */
  ofField(target: number, bytes: Buffer, start: number, end: number): number {
    const { paddedBytes = 0, repeatsPadding } = this.#types[target]!;
    // NULL is a field with only a length, which is -1.
    if (bytes[start] === 0xff) return 0;
    const length = end - start - lengthBytes;
    if (!repeatsPadding) return Math.max(0, paddedBytes - length);
    const parts = this.#isBinaryArray[target]
      ? countElements(bytes, start + lengthBytes)
      : countParts(bytes, start + lengthBytes, end);
    return Math.max(0, paddedBytes * parts - length);
  }
}

/** The size of the length with which each field begins. */
const lengthBytes = 4;

/**
 * Counts the elements of an array in its binary form: the number of dimensions, two more numbers, then the size and lower bound
 * of each dimension.
 */
function countElements(bytes: Buffer, start: number): number {
  const dimensions = bytes.readInt32BE(start);
  let count = dimensions === 0 ? 0 : 1;
  for (let dimension = 0; dimension < dimensions; dimension++) {
    count *= bytes.readInt32BE(start + 12 + 8 * dimension);
  }
  return count;
}

/**
 * Returns the most elements that the text form of an array or a composite value can have: the number of its commas, and one
 * more.
 */
function countParts(bytes: Buffer, start: number, end: number): number {
  let count = 1;
  for (let at = start; at < end; at++) if (bytes[at] === COMMA) count++;
  return count;
}
