/** Tests the code that all formats share, with a format made for the test: every sheet has two columns and one row. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RecordedRow, recordRows } from '../../../test/support/recorded-cells.ts';
import { spreadsheetLimits } from '../../../test/support/spreadsheet-limits.ts';
import { memoryFile } from '../../../test/support/xlsx-builder.ts';
import { STRING } from '../../core/cells/cell-kind.ts';
import { ReadAgain, withSecondReading } from '../../core/cells/row-source.ts';
import { MergedAreas } from './merged-areas.ts';
import { contentOf } from './open-spreadsheet.ts';
import type { OpenFormat, ScanSheet } from './sheet-format.ts';
import type { SheetRows } from './sheet-rows.ts';
import { openInFormat, type SheetSource } from './sheet-source.ts';
import { windowOfRange } from './sheet-window.ts';
import type { SheetSummary } from './spreadsheet-options.ts';

const limits = spreadsheetLimits();
const never = new AbortController().signal;

const visible = { visibility: 'visible', hasCells: true } as const;

function pushRow(rows: SheetRows, row: number, ...texts: string[]): void {
  rows.beginRow(row);
  for (const [column, text] of texts.entries()) {
    const bytes = Buffer.from(text);
    rows.cell(column, STRING, bytes, 0, bytes.length);
  }
  rows.endRow();
}

const scanTwoRows: ScanSheet = async (rows) => {
  pushRow(rows, 1, 'a', 'b');
  pushRow(rows, 2, 'one', 'two');
  return {};
};

async function open(format: OpenFormat): Promise<SheetSource> {
  const content = await contentOf(memoryFile(Buffer.from('toy')), limits, never);
  const options = { columnNames: 'exact', cellErrors: 'problem' } as const;
  return (await openInFormat(
    [{ open: async () => undefined }, { open: format }],
    content,
    options,
    limits,
    never,
  ))!;
}

test('a chart is not among the other sheets with rows', async () => {
  const size = { rows: 3, columns: 2, isWhole: true };
  const sheets: SheetSummary[] = [
    { name: 'First', ...visible, size },
    { name: 'Second', ...visible, size },
    { name: 'Empty', ...visible, size: { ...size, rows: 0 } },
    { name: 'Hidden', visibility: 'hidden', hasCells: true, size },
    { name: 'Chart', visibility: 'visible', hasCells: false, size },
  ];
  const source = await open(async () => ({ format: 'toy', sheets, scanOf: () => scanTwoRows }));
  assert.deepEqual(await source.otherSheetsWithRows(never), [{ name: 'Second', size }]);
});

test('sheets whose rows are not known are probed, at most 50 of them', async () => {
  const sheets = Array.from({ length: 60 }, (_, index) => ({ name: `S${index}`, ...visible }));
  let probes = 0;
  const source = await open(async () => ({
    format: 'toy',
    sheets,
    scanOf: () => scanTwoRows,
    async probe(sheet, rows) {
      probes++;
      if (sheet % 2 === 0) await scanTwoRows(rows, never);
      return sheet !== 2;
    },
  }));
  const others = await source.otherSheetsWithRows(never);
  assert.equal(probes, 50);
  assert.deepEqual(
    others,
    Array.from({ length: 25 }, (_, index) => ({
      name: `S${2 * index + 2}`,
      size: { rows: 1, columns: 2, isWhole: index > 0 },
    })),
  );
});

test('a pass is repeated once if merged areas follow the cells', async () => {
  const merged = new MergedAreas();
  merged.add(2, 1, 2, 2);
  const source = await open(async () => ({
    format: 'toy',
    sheets: [{ name: 'Sheet', ...visible }],
    scanOf: () => async (rows, signal) => {
      await scanTwoRows(rows, signal);
      return rows.merged === undefined ? { merged } : {};
    },
  }));
  await assert.rejects(source.read(recordRows(), never), ReadAgain);
  assert.deepEqual(source.warnings, []);
  let sink = recordRows();
  await withSecondReading(async () => {
    sink = recordRows();
    await source.read(sink, never);
  });
  assert.deepEqual({ ...sink.rows[0]!.cells }, { a: 'string one' });
  assert.deepEqual(
    source.warnings.map(({ code }) => code),
    ['merged-cells'],
  );
});

test('places in a file without sheets have no sheet', async () => {
  const source = await open(async () => ({
    format: 'toy',
    sheets: [{ name: '', ...visible }],
    scanOf: () => scanTwoRows,
  }));
  await source.read(recordRows(), never);
  assert.deepEqual(source.locate(1, 1, 'b'), { cell: 'B2' });
  assert.deepEqual(source.locate(1, -1, ''), { cell: '2:2' });
  assert.deepEqual(source.reading, { format: 'toy', headerRow: 1, range: 'A1:B2' });
});

test('a sheet is read again through another window', async () => {
  const scan: ScanSheet = async (rows) => {
    pushRow(rows, 1, 'Report', '2026');
    pushRow(rows, 2, 'a', 'b', 'c');
    pushRow(rows, 3, 'one', 'two', 'three');
    pushRow(rows, 4, 'total', '2');
    return {};
  };
  const sheets: SheetSummary[] = [{ name: 'Sales', ...visible }];
  const source = await open(async () => ({ format: 'toy', sheets, scanOf: () => scan }));
  const rowsOf = async (read: SheetSource): Promise<RecordedRow[]> => {
    const sink = recordRows();
    await read.read(sink, never);
    return sink.rows.map(({ row, cells }) => ({ row, cells: { ...cells } }));
  };
  const range = { firstRow: 2, lastRow: 3, firstColumn: 2, lastColumn: 3, hasFirstRow: true };
  const within = source.within(windowOfRange(range));
  assert.deepEqual(await rowsOf(within), [{ row: 1, cells: { b: 'string two', c: 'string three' } }]);
  assert.equal(within.reading.range, 'B2:C3');
  const withoutHeader = source.within(windowOfRange(range, false));
  assert.deepEqual(
    (await rowsOf(withoutHeader)).map(({ cells }) => cells.column_B),
    ['string b', 'string two'],
  );
  assert.equal((await rowsOf(source)).length, 3, 'the first source keeps its own window');
});
