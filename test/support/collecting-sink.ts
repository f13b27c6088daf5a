/** Collects what a source pushed, as plain values, and checks that the source keeps the rules of `CellSink`. */

import assert from 'node:assert/strict';
import { FALSE, NULL, REPEATED_KEY, ROW_NOT_AN_OBJECT, TRUE } from '../../src/core/cells/cell-kind.ts';
import type { CellSink } from '../../src/core/cells/cell-sink.ts';
import type { JsonLimits } from '../../src/readers/json/json-limits.ts';
import { type JsonForm, JsonUploadScanner } from '../../src/readers/json/json-upload-scanner.ts';

export interface Cell {
  name: string;
  kind: number;
  /** The text of the cell; empty for null, false and true. */
  text: string;
}

export class CollectingSink implements CellSink {
  readonly names: string[] = [];
  readonly rows: Cell[][] = [];
  readonly faults: { row: number; name: string | undefined; fault: number; text: string }[] = [];
  /** The cells by the number of the row. Numbers may be missing. */
  readonly numbers: number[] = [];
  drains = 0;
  #row: Cell[] | undefined;
  #inRow = new Set<number>();

  column(column: number, name: string): void {
    assert.equal(column, this.names.length);
    assert.ok(!this.names.includes(name));
    this.names.push(name);
  }

  beginRow(row: number): void {
    assert.equal(this.#row, undefined);
    assert.ok(row > (this.numbers.at(-1) ?? 0));
    this.numbers.push(row);
    this.#row = [];
    this.#inRow.clear();
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    assert.ok(!this.#inRow.has(column), 'one cell per column and row');
    this.#inRow.add(column);
    const text = kind === NULL || kind === FALSE || kind === TRUE ? '' : bytes.toString('utf8', start, end);
    this.#row!.push({ name: this.#name(column), kind, text });
  }

  moment(): void {
    assert.fail('JSON has no moments');
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    assert.ok(this.#row);
    assert.equal(fault, column < 0 ? ROW_NOT_AN_OBJECT : REPEATED_KEY);
    const name = column < 0 ? undefined : this.#name(column);
    this.faults.push({ row: this.numbers.at(-1)!, name, fault, text: bytes.toString('utf8', start, end) });
  }

  endRow(): void {
    this.rows.push(this.#row!);
    this.#row = undefined;
  }

  drain(): Promise<void> | undefined {
    this.drains++;
    return this.drains % 2 === 0 ? Promise.resolve() : undefined;
  }

  #name(column: number): string {
    assert.ok(column < this.names.length, 'a column is named before its first cell');
    return this.names[column]!;
  }
}

export const testLimits: JsonLimits = {
  maxDepth: 64,
  maxTableBytes: 100_000,
  maxColumns: 100,
  maxCellBytes: 1_000_000,
  maxRowBytes: 4_000_000,
};

/** Scans the body in chunks that end at `cuts` (ascending). Each chunk has separate memory, which is overwritten afterwards. */
export function scanInChunks(body: Buffer, cuts: number[], limits = testLimits, form: JsonForm = 'upload') {
  const sink = new CollectingSink();
  const scanner = new JsonUploadScanner(limits, form);
  scanner.sink = sink;
  let start = 0;
  for (const cut of [...cuts, body.length]) {
    const chunk = Buffer.from(body.subarray(start, cut));
    assert.equal(scanner.write(chunk), chunk.length);
    chunk.fill(0x21);
    start = cut;
  }
  scanner.end();
  return { sink, scanner };
}

/** Returns the ends of chunks of `size` bytes. */
export function cutsEvery(size: number, length: number): number[] {
  return Array.from({ length: Math.max(0, Math.ceil(length / size) - 1) }, (_, i) => (i + 1) * size);
}
