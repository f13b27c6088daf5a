/**
 * Defines what the process that reads a Parquet file writes to its output: frames (reader-process/frames.ts), and records of cells inside
 * frames.
 *
 * A frame with cells has a record for each cell, row by row, in the order of the columns: its kind (1 byte; those of cell-kind.ts, or
 * `FAULT`) and its content. A moment has its days (4 bytes) and its microseconds (8 bytes, a double). Every other kind with a value has the
 * length of its bytes (4 bytes) and the bytes; a fault has its number (1 byte) before them. All numbers are little endian.
 */

import { SHORT_SCAN_BYTES } from '../../../core/bytes/scan-in-turns.ts';
import * as kinds from '../../../core/cells/cell-kind.ts';
import type { StatedColumn } from '../stated-rows.ts';
import { falseText, trueText } from '../values/cell-values.ts';

/** The content is a `ReportedFile`. */
export const COLUMNS = 2;
export const CELLS = 3;
export const END = 4;

/** The kind of the record of a cell with a problem. */
export const FAULT = 255;

/** The length of a request for a part of the file: its position (8 bytes, a double) and its length (4 bytes). */
export const requestBytes = 12;

export interface ReportedFile {
  columns: StatedColumn[];
}

/** Receives the cells of the records. The bytes are valid only during the call, or until its promise ends. */
export interface RecordTarget {
  cell(kind: number, bytes: Buffer, start: number, end: number): void;
  /** Takes a long object or array in turns (`CellSink.longCell`). */
  longCell(kind: number, bytes: Buffer, start: number, end: number): Promise<void>;
  moment(kind: number, days: number, microseconds: number): void;
  fault(fault: number, bytes: Buffer, start: number, end: number): void;
}

/** Passes the records on. @returns false if the bytes are not valid records, because the output of the process is not trusted */
export async function readRecords(bytes: Buffer, target: RecordTarget): Promise<boolean> {
  const { length } = bytes;
  let at = 0;
  while (at < length) {
    const kind = bytes[at++]!;
    if (kind <= kinds.TRUE) {
      const text = kind === kinds.TRUE ? trueText : falseText;
      if (kind === kinds.NULL) target.cell(kind, bytes, at, at);
      else target.cell(kind, text, 0, text.length);
    } else if (isMoment(kind)) {
      if (at + 12 > length) return false;
      target.moment(kind, bytes.readInt32LE(at), bytes.readDoubleLE(at + 4));
      at += 12;
    } else {
      const fault = kind === FAULT ? bytes[at++]! : 0;
      if (at + 4 > length) return false;
      const start = at + 4;
      const end = start + bytes.readUInt32LE(at);
      if (end > length) return false;
      if (kind === FAULT) target.fault(fault, bytes, start, end);
      else if (kind >= kinds.OBJECT && kind <= kinds.ARRAY && end - start > SHORT_SCAN_BYTES)
        await target.longCell(kind, bytes, start, end);
      else if (isValue(kind)) target.cell(kind, bytes, start, end);
      else return false;
      at = end;
    }
  }
  return true;
}

function isMoment(kind: number): boolean {
  return (kind >= kinds.DATE && kind <= kinds.TIME) || kind === kinds.UTC_TIMESTAMP;
}

function isValue(kind: number): boolean {
  return (kind >= kinds.NUMBER && kind <= kinds.ARRAY) || kind === kinds.BYTES;
}
