/**
 * Counts the dimensions of the array that is being written, and writes its header. The header can be filled in only at the end.
 */
import type { ColumnEncoder } from './column-encoder.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import * as codes from './type-codes.ts';

/** A function that encodes an element: the type of `encodeCell`. */
export type EncodeElement = (
  out: CopyBuffer,
  encoder: ColumnEncoder,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
) => number;

/** The maximum number of dimensions of an array (MAXDIM of array.h). */
const MOST_DIMENSIONS = 6;

/**
 * The maximum number of elements of an array. The whole array is encoded in one turn of the event loop, and most elements take up
 * to 100 ns. An element that takes longer counts as several (`elementWeight`).
 */
const MOST_ELEMENTS = 1_000_000;
const ADDRESS_OR_MOMENT_WEIGHT = 2;
const INTERVAL_WEIGHT = 5;

/** Returns as how many elements an element of the type counts. */
export function elementWeight({ code }: ColumnEncoder): number {
  switch (code) {
    case codes.INTERVAL:
      return INTERVAL_WEIGHT;
    case codes.DATE:
    case codes.TIME:
    case codes.TIMETZ:
    case codes.TIMESTAMP:
    case codes.TIMESTAMPTZ:
    case codes.INET:
    case codes.CIDR:
    case codes.MACADDR:
      return ADDRESS_OR_MOMENT_WEIGHT;
    default:
      return 1;
  }
}

export const shape = { mostDimensions: MOST_DIMENSIONS, hasNull: false };

/** The number of elements so far, in all dimensions, with their weights. */
let elements = 0;
/** The number of elements so far in the innermost open array of each dimension. */
const counts: Int32Array = new Int32Array(MOST_DIMENSIONS);
/** The size of each dimension; -1: none of its arrays has ended yet. */
const sizes = new Int32Array(MOST_DIMENSIONS);

/** The bounds of each dimension. Lower bounds are 1 unless the text states others. */
export const lowerBounds: Int32Array = new Int32Array(MOST_DIMENSIONS).fill(1);
export const upperBounds: Int32Array = new Int32Array(MOST_DIMENSIONS);

/** Returns whether the array just counted has the sizes that its bounds state. */
export function fitsBounds(dimensions: number): boolean {
  for (let depth = 0; depth < dimensions; depth++) {
    if (upperBounds[depth]! - lowerBounds[depth]! + 1 !== sizes[depth]) return false;
  }
  return true;
}

/** The element of a JSON array with a problem: the range of its JSON text, and its depth; depth 0: there is none. */
export const faultyElement = { depth: 0, start: 0, end: 0 };

/** Notes that the last counted element has a problem. `depth` is the depth of its array, from 0. */
export function noteFaultyElement(depth: number, start: number, end: number): void {
  faultyElement.depth = depth + 1;
  faultyElement.start = start;
  faultyElement.end = end;
}

/**
 * Returns the indexes of the faulty element as the end of a JSON Pointer, such as `/1/0`. Call it before the next array begins.
 */
export function faultyElementPath(): string {
  let path = '';
  // In the innermost array the element itself is already counted. Outer arrays are counted only when they end.
  for (let depth = 0; depth < faultyElement.depth; depth++) {
    path += `/${depth === faultyElement.depth - 1 ? counts[depth]! - 1 : counts[depth]}`;
  }
  return path;
}

/** Starts to count the elements of another array. */
export function beginShape(): void {
  shape.hasNull = false;
  faultyElement.depth = 0;
  elements = 0;
  sizes.fill(-1);
}

/** Returns whether the array that was counted last has no elements. */
export function isEmptyShape(dimensions: number): boolean {
  return sizes.subarray(0, dimensions).includes(0);
}

/** Makes room for the field's header and returns where the header begins. */
export function openArray(out: CopyBuffer, dimensions: number): number {
  beginShape();
  const fieldStart = out.position;
  const headerBytes = 16 + 8 * dimensions;
  out.ensure(headerBytes);
  out.position += headerBytes;
  return fieldStart;
}

export function openDimension(depth: number): void {
  counts[depth] = 0;
}

/** Counts an element of the innermost open array. Returns false if there are too many elements. */
export function countElement(depth: number, weight: number): boolean {
  counts[depth]!++;
  elements += weight;
  return elements <= MOST_ELEMENTS;
}

/** Ends an array of the dimension. Returns false if an earlier array of the dimension had another size. */
export function closeDimension(depth: number): boolean {
  const count = counts[depth]!;
  if (sizes[depth] === -1) sizes[depth] = count;
  if (depth > 0) counts[depth - 1]!++;
  return sizes[depth] === count;
}

export function finishArray(
  out: CopyBuffer,
  fieldStart: number,
  dimensions: number,
  elementOid: number,
): void {
  const isEmpty = isEmptyShape(dimensions);
  const fieldEnd = isEmpty ? fieldStart + 16 : out.position;
  out.position = fieldStart;
  out.int32(fieldEnd - fieldStart - 4);
  out.int32(isEmpty ? 0 : dimensions);
  out.int32(shape.hasNull ? 1 : 0);
  out.int32(elementOid);
  if (isEmpty) return;
  for (let depth = 0; depth < dimensions; depth++) {
    out.int32(sizes[depth]!);
    out.int32(lowerBounds[depth]!);
  }
  out.position = fieldEnd;
}
