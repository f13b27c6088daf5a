/** Merged cells: only the top-left cell has a value, in every format that keeps values in the other cells. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as library from '@e965/xlsx';
import fc from 'fast-check';
import { recordRows } from '../../../test/support/recorded-cells.ts';
import { spreadsheetLimits } from '../../../test/support/spreadsheet-limits.ts';
import { insertRecords, wordRecord } from '../../../test/support/xls-records.ts';
import { buildWorkbook, buildZip, memoryFile, workbookParts } from '../../../test/support/xlsx-builder.ts';
import { withSecondReading } from '../../core/cells/row-source.ts';
import { AppError } from '../../core/errors.ts';
import { CoveredCells, MergedAreas, NONE, OVERLAP, SOME } from './merged-areas.ts';
import { openSpreadsheet } from './open-spreadsheet.ts';
import type { SpreadsheetOptions } from './spreadsheet-options.ts';
import { XmlMergesReader } from './xlsx/merges-reader.ts';

const limits = spreadsheetLimits({ maxUnpackedBytes: 1_000_000_000, maxRatio: 10_000, maxRows: 1_048_576 });
const never = new AbortController().signal;

interface Pass {
  columns: string[];
  rows: [number, Record<string, string>][];
  warnings: string[];
}

async function read(bytes: Buffer, options: Partial<SpreadsheetOptions> = {}): Promise<Pass> {
  const all: SpreadsheetOptions = { columnNames: 'exact', cellErrors: 'problem', ...options };
  const source = await openSpreadsheet(memoryFile(bytes), all, limits);
  await withSecondReading(() => source.read(recordRows(), never));
  // Every pass must give the same cells.
  const sink = recordRows();
  await source.read(sink, never);
  return {
    columns: sink.columns.map(String),
    rows: sink.rows.map(({ row, cells }) => [row, { ...cells }]),
    warnings: source.warnings.map(({ code, detail }) => `${code}: ${detail}`),
  };
}

const formats: library.BookType[] = ['xlsx', 'xlsb', 'xls'];

function write(rows: unknown[][], merges: string[], bookType: library.BookType): Buffer {
  const sheet = library.utils.aoa_to_sheet(rows);
  sheet['!merges'] = merges.map((range) => library.utils.decode_range(range));
  return library.write(
    { SheetNames: ['Data'], Sheets: { Data: sheet } },
    { type: 'buffer', bookType },
  ) as Buffer;
}

for (const format of formats) {
  test(`a value covered by a merged cell of .${format} is left out and counted in a warning`, async () => {
    const rows = [
      ['id', 'region', 'amount'],
      [1, 'North', 10],
      [2, 'hidden', 20],
      [3, 'hidden', 'hidden'],
      [4, 'South', 40],
      ['hidden', 'hidden', 'hidden'],
    ];
    const file = write(rows, ['B2:B4', 'A5:A6'], format);
    const { rows: read1, warnings } = await read(file);
    assert.equal(warnings.length, 1);
    assert.match(
      warnings[0]!,
      /^merged-cells: 3 values beneath merged cells were left out\. The first is in Data!B3, in the merged cells B2:B4\./,
    );
    assert.deepEqual(read1, [
      [1, { id: 'number 1', region: 'string North', amount: 'number 10' }],
      [2, { id: 'number 2', amount: 'number 20' }],
      [3, { id: 'number 3', amount: 'string hidden' }],
      [4, { id: 'number 4', region: 'string South', amount: 'number 40' }],
      [5, { region: 'string hidden', amount: 'string hidden' }],
    ]);
  });

  test(`a row of .${format} with only covered values is not a row`, async () => {
    const file = write(
      [
        ['a', 'b'],
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      ['A2:B3'],
      format,
    );
    assert.deepEqual((await read(file)).rows, [
      [1, { a: 'number 1' }],
      [3, { a: 'number 5', b: 'number 6' }],
    ]);
  });

  test(`a merged header of .${format} names its first column only`, async () => {
    const rows = [
      ['id', 'Address', 'hidden', 'hidden'],
      [1, 'Main Street', 7, null],
      [2, 'High Street', 8, null],
    ];
    const { columns, rows: read1 } = await read(write(rows, ['B1:D1'], format));
    assert.deepEqual(columns, ['id', 'Address', 'column_C']);
    assert.deepEqual(read1[0], [1, { id: 'number 1', Address: 'string Main Street', column_C: 'number 7' }]);
  });

  test(`a merged cell of .${format} that begins outside of the range has no value in the range`, async () => {
    const rows = [
      ['a', 'b', 'c'],
      [1, 'b', 'c'],
      [10, 11, 12],
      [20, 21, 22],
    ];
    const file = write(rows, ['A2:B2', 'A3:A4', 'C3:C4'], format);
    assert.deepEqual((await read(file, { range: 'B2:C4' })).columns, ['c', 'column_B']);
    assert.deepEqual((await read(file, { range: 'A4:C4', headerRow: 4 })).columns, ['21']);
  });
}

/** The names of groups, each with an empty cell to its right that is outside of the group. Merged: A1:A3, B1:E1, B2:C2, G1:H2. */
const groups = [
  ['Region', '2025', null, null, null, null, 'Size', null, null, 'Price', null],
  [null, 'Q1', null, 'Q2', null, null, null, null, null, 'net', null],
  [null, 'low', 'high', 'low', 'high', 'Total', 'w', 'h', 'Weight', 'EUR', 'Note'],
  ['North', 1, 2, 3, 4, 5, 6, 7, 8, 9, 'x'],
];
const groupNames =
  'Region, 2025 Q1 low, 2025 Q1 high, 2025 Q2 low, 2025 high, Total, Size w, Size h, Weight, Price net EUR, Note';

for (const format of [...formats, 'ods'] as const) {
  test(`the name of a group in .${format} reaches the columns of its merged cells only`, async () => {
    const file = write(groups, ['A1:A3', 'B1:E1', 'B2:C2', 'G1:H2'], format);
    const { columns, rows, warnings } = await read(file, { headerRows: 3 });
    assert.equal(columns.join(', '), groupNames);
    assert.equal(rows[0]![1]['2025 high'], 'number 4');
    assert.deepEqual(warnings, []);
  });
}

test('an .xls with more than a million merged areas is refused', async () => {
  const areas = Array.from({ length: 1000 }, (_, area) => [0, 1, area % 200, area % 200]).flat();
  const records = Buffer.concat(Array.from({ length: 1001 }, () => wordRecord(0xe5, 1000, ...areas)));
  const file = insertRecords(write([['a'], [1]], ['C1:D1'], 'xls'), [0xe5], records);
  await assert.rejects(read(file), (error) => {
    assert.ok(error instanceof AppError, String(error));
    assert.equal(error.detail, 'The sheet has too many merged cells: the limit is 1,000,000 areas.');
    return true;
  });
});

test('the merged areas of an .xlsx are found with a prefix, in UTF-16 and wherever a chunk ends', async () => {
  const part =
    '<x:autoFilter ref="A1:B9"/><x:mergeCells count="2"><x:mergeCell ref="A1:B1"/><x:mergeCell ref="$C$3:D4"></x:mergeCell></x:mergeCells><x:pageMargins left="1"/></x:worksheet>';
  const bytes = Buffer.from(part);
  for (const size of [1, 2, 3, 7, 64, bytes.length]) {
    const reader = new XmlMergesReader('sheet1.xml');
    for (let at = 0; at < bytes.length; at += size) {
      reader.push(bytes.subarray(at, at + size));
    }
    assert.deepEqual(
      [1, 2, 3, 4].map((row) => new CoveredCells(reader.areas).toRow(row)),
      [SOME, NONE, SOME, SOME],
      `chunks of ${size}`,
    );
  }
  const sheet =
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row><row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>2</v></c></row></sheetData><mergeCells><mergeCell ref="A2:B2"/></mergeCells></worksheet>';
  const parts = workbookParts({ sheets: [{ name: 'Data', xml: '' }] });
  const entries = Object.entries({
    ...parts,
    'xl/worksheets/sheet1.xml': Buffer.from(`\ufeff${sheet}`, 'utf16le'),
  });
  const file = buildZip(entries.map(([name, data]) => ({ name, data })));
  assert.deepEqual((await read(file)).rows, [[1, { a: 'number 1' }]]);
});

test('cells that follow the cells of an .xlsx and merged areas without a range are refused', async () => {
  const first =
    '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row><row r="2"><c r="A2"><v>1</v></c></row>';
  const merge = '<mergeCells><mergeCell ref="A8:B9"/></mergeCells>';
  const second = '<sheetData><row r="3"><c r="A3"><v>2</v></c></row></sheetData>';
  const refused: [xml: string, detail: RegExp][] = [
    [`<sheetData>${first}</sheetData>${second}`, /second sheetData element/],
    [`<sheetData>${first}</sheetData>${merge}${second}`, /second sheetData element/],
    [`<sheetData/>${second}`, /second sheetData element/],
    [`<sheetData>${first}</sheetData><mergeCells><mergeCell/></mergeCells>`, /merged cells without a range/],
    [`<sheetData>${first}</sheetData><mergeCells><mergeCell ref="A-B"/></mergeCells>`, /invalid range/],
  ];
  for (const [xml, detail] of refused) {
    const sheet = `<?xml version="1.0"?><worksheet>${xml}</worksheet>`;
    await assert.rejects(read(buildWorkbook({ sheets: [{ name: 'Data', xml: sheet }] })), (error) => {
      assert.ok(error instanceof AppError, String(error));
      assert.equal(error.code, 'invalid-file');
      assert.match(error.detail, detail);
      return true;
    });
  }
});

test('a merged area may be named by any two opposite corners', async () => {
  const rows =
    '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row><row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>2</v></c></row>';
  for (const ref of ['A2:B3', 'B3:A2', 'A3:B2', 'B2:A3']) {
    const sheet = `<?xml version="1.0"?><worksheet><sheetData>${rows}</sheetData><mergeCells><mergeCell ref="${ref}"/></mergeCells></worksheet>`;
    assert.deepEqual(
      (await read(buildWorkbook({ sheets: [{ name: 'Data', xml: sheet }] }))).rows,
      [[1, { a: 'number 1' }]],
      ref,
    );
  }
  const areas = new MergedAreas();
  areas.add(3, 2, 2, 1);
  assert.equal(areas.rangeAt(2, 1), 'A2:B3');
});

test('exactly the cells of merged areas that are not their top-left cells are covered', () => {
  const side = 12;
  const anyArea = fc.tuple(
    fc.integer({ min: 1, max: side }),
    fc.integer({ min: 1, max: side }),
    fc.nat(4),
    fc.nat(4),
  );
  fc.assert(
    fc.property(
      fc.array(anyArea, { maxLength: 30 }),
      fc.array(fc.boolean(), { minLength: 17, maxLength: 17 }),
      (wanted, isRow) => {
        const grid = Array.from({ length: side + 5 }, () => new Uint8Array(side + 6));
        const areas = new MergedAreas();
        for (const [row, column, height, width] of wanted) {
          const cells: [number, number][] = [];
          for (let r = row; r <= row + height; r++)
            for (let c = column; c <= column + width; c++) cells.push([r, c]);
          if (cells.some(([r, c]) => grid[r - 1]![c] !== 0)) continue;
          for (const [r, c] of cells) grid[r - 1]![c] = r === row && c === column ? 1 : 2;
          areas.add(row, column, row + height, column + width);
        }
        const covered = new CoveredCells(areas);
        for (const [at, cells] of grid.entries()) {
          if (!isRow[at]) continue;
          const mayBe = covered.toRow(at + 1) === SOME;
          cells.forEach((state, column) => {
            if (column > 0)
              assert.equal(mayBe && covered.has(column), state === 2, `row ${at + 1}, column ${column}`);
          });
        }
      },
    ),
  );
});

test('the work for hundreds of thousands of merged areas grows linearly with their number', () => {
  const areas = new MergedAreas();
  for (let row = 1_000_000; row >= 1; row--) areas.add(row, 1, row, 16);
  assert.equal(areas.add(1, 1, 2, 2), false);
  const covered = new CoveredCells(areas);
  let count = 0;
  for (let row = 1; row <= 1_048_576; row++) if (covered.toRow(row) === SOME) count++;
  assert.equal(count, 1_000_000);
});

test('merged areas that overlap in a whole row are refused', () => {
  const areas = new MergedAreas();
  for (let count = 0; count < 100_000; count++) areas.add(1, 1, 1_048_576, 16_384);
  assert.equal(new CoveredCells(areas).toRow(1), OVERLAP);
});
