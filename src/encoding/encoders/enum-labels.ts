import { NOT_A_LABEL } from '../problems/cell-problems.ts';
import type { CopyBuffer } from './copy-buffer.ts';

/** A hash table with open addressing that finds an enum's labels by their bytes, so that no string is made for a cell. */
export interface EnumLabels {
  readonly labels: Buffer[];
  /** The index in `labels`, or -1. The number of slots is a power of two. */
  readonly slots: Int32Array;
}

/** The hash tables of the lists of labels that are in use. They are shared, because many columns may have the same type with many labels. */
const tables = new WeakMap<string[], EnumLabels>();

export function enumLabels(labels: string[]): EnumLabels {
  const known = tables.get(labels);
  if (known !== undefined) return known;
  const table = newTable(labels);
  tables.set(labels, table);
  return table;
}

function newTable(labels: string[]): EnumLabels {
  const encoded = labels.map((label) => Buffer.from(label));
  let size = 4;
  while (size < encoded.length * 2) size *= 2;
  const slots = new Int32Array(size).fill(-1);
  encoded.forEach((label, index) => {
    let slot = hash(label, 0, label.length) & (size - 1);
    while (slots[slot] !== -1) slot = (slot + 1) & (size - 1);
    slots[slot] = index;
  });
  return { labels: encoded, slots };
}

/** Writes the label of an enum value (`enum_recv`). As in PostgreSQL, it must be exactly as written: without spaces, case-sensitive. */
export function encodeEnum(
  out: CopyBuffer,
  enumeration: EnumLabels,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  const { labels, slots } = enumeration;
  const mask = slots.length - 1;
  for (let slot = hash(bytes, start, end) & mask; slots[slot] !== -1; slot = (slot + 1) & mask) {
    if (!equals(labels[slots[slot]!]!, bytes, start, end)) continue;
    out.ensure(4 + end - start);
    out.int32(end - start);
    out.appendRange(bytes, start, end);
    return 0;
  }
  return NOT_A_LABEL;
}

function equals(label: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (label.length !== end - start) return false;
  for (let at = 0; at < label.length; at++) if (label[at] !== bytes[start + at]) return false;
  return true;
}

/** Hashes the first bytes with FNV-1a. A label has at most 63 bytes, but a cell may have millions. */
function hash(bytes: Buffer, start: number, end: number): number {
  const stop = Math.min(end, start + MAX_LABEL_BYTES);
  let value = 0x811c9dc5 | 0;
  for (let at = start; at < stop; at++) value = Math.imul(value ^ bytes[at]!, 0x01000193);
  return value ^ (value >>> 15);
}

const MAX_LABEL_BYTES = 64;
