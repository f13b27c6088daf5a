/** How the work of corrections grows. test/refused-rows/corrections.test.ts has what they do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '../../../../test/support/growth.ts';
import { NUMBER } from '../../../core/cells/cell-kind.ts';
import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { AppError } from '../../../core/errors.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import { type CellPatch, parsePatch } from './cell-patch.ts';
import { patchCells } from './patch-cells.ts';

/** Reads one row of a text file with the corrections. @returns what refuses them */
async function refusalOf(names: string[], patch: CellPatch[]): Promise<AppError> {
  const nothing = () => {};
  const sink: CellSink = {
    column: nothing,
    beginRow: nothing,
    cell: nothing,
    moment: nothing,
    fault: nothing,
    endRow: nothing,
    drain: () => undefined,
  };
  const read: LoadInput['read'] = async (through) => {
    names.forEach((name, column) => {
      through.column(column, name);
    });
    through.beginRow(1);
    names.forEach((_, column) => {
      through.cell(column, NUMBER, Buffer.from('1'), 0, 1);
    });
    through.endRow();
  };
  const input = { nameMatching: 'loose', locate: () => ({}), warnings: [], read } as unknown as LoadInput;
  const signal = new AbortController().signal;
  return patchCells(input, () => patch)
    .read(sink, signal)
    .then(
      () => assert.fail('nothing was refused'),
      (error) => (error instanceof AppError ? error : Promise.reject(error)),
    );
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
const patchOf = (columns: string[]) =>
  parsePatch(Buffer.from(JSON.stringify(columns.map((column) => ({ row: 1, column, value: 1 })))));

const rows: Record<string, (size: number) => [names: string[], corrections: string[], missing: number]> = {
  'columns that are not there': (size) => [
    numbers(size).map((index) => `a${index}`),
    numbers(size).map((index) => `x${index}`),
    size,
  ],
  'columns that are there, and one that is not': (size) => [
    numbers(size).map((index) => `a${index}`),
    [...numbers(size).map((index) => `A${index}`), 'x'],
    1,
  ],
};
for (const [name, make] of Object.entries(rows))
  test(`the time for many corrections of one row is linear: ${name}`, async () => {
    await assertLinear(async (size) => {
      const [names, corrections, missing] = make(size);
      const error = await refusalOf(names, patchOf(corrections));
      assert.deepEqual([error.errorCount, error.errors?.[0]?.code], [missing, 'no-such-cell']);
    }, 200);
  });
