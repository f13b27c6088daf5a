/** .xls: records that no program writes, that contradict each other, or that the library would misunderstand. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as library from '@e965/xlsx';
import { AppError } from '../../src/core/errors.ts';
import { openSpreadsheet } from '../../src/readers/spreadsheet/open-spreadsheet.ts';
import { type RecordedRows, recordRows } from '../support/recorded-cells.ts';
import { spreadsheetLimits } from '../support/spreadsheet-limits.ts';
import { byteRecord, changeRecords, insertRecords, wordRecord } from '../support/xls-records.ts';
import { memoryFile } from '../support/xlsx-builder.ts';

const CODE_PAGE = 0x42;
const DATE_MODE = 0x22;
const FORMAT = 0x41e;
const STYLE = 0xe0;
const BOUND_SHEET = 0x85;
const NUMBER = 0x203;
const LABEL = 0x204;
const BOOLEAN = 0x205;
const STRING = 0x207;
const FORMULA = 0x06;
const RK = 0x27e;
/** Follows the cells of a sheet. */
const WINDOW = 0x23e;

const never = new AbortController().signal;

async function read(bytes: Buffer, sheet?: string): Promise<RecordedRows> {
  const options = { columnNames: 'exact', cellErrors: 'problem', ...(sheet && { sheet }) } as const;
  const source = await openSpreadsheet(memoryFile(bytes), options, spreadsheetLimits());
  const sink = recordRows();
  await source.read(sink, never);
  return sink;
}

const cellsOf = async (bytes: Buffer, sheet?: string): Promise<Record<string, string>[]> =>
  (await read(bytes, sheet)).rows.map(({ cells }) => ({ ...cells }));

/** A workbook whose sheets have a header and a day. */
function workbook(names = ['One'], bookType: library.BookType = 'biff8'): Buffer {
  const sheetOf = (index: number): library.WorkSheet => {
    const sheet = library.utils.aoa_to_sheet([['a', 'b', 'c'], [1000 + index]]) as library.WorkSheet;
    (sheet.A2 as library.CellObject).z = 'yyyy-mm-dd';
    return sheet;
  };
  const Sheets = Object.fromEntries(names.map((name, index) => [name, sheetOf(index)]));
  return library.write({ SheetNames: names, Sheets }, { type: 'buffer', bookType }) as Buffer;
}

const withCells = (...records: Buffer[]): Buffer =>
  insertRecords(workbook(), [WINDOW], Buffer.concat(records));
const label = (row: number, column: number, text: string): Buffer =>
  byteRecord(LABEL, words(row, column, 0), textOf(text));
const number = (row: number, column: number, value: number, style = 0): Buffer =>
  byteRecord(NUMBER, words(row, column, style), double(value));
const formula = (row: number, column: number, result: Buffer): Buffer =>
  byteRecord(FORMULA, words(row, column, 0), result, words(0, 0, 0, 3), Buffer.from([0x1e, 1, 0]));

function words(...values: number[]): Buffer {
  return Buffer.from(Uint16Array.from(values).buffer);
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

/** A text whose bytes are compressed if possible (MS-XLS 2.5.294). */
function textOf(text: string): Buffer {
  const isWide = /[^\0-\xff]/.test(text);
  const bytes = Buffer.from(text, isWide ? 'utf16le' : 'latin1');
  return Buffer.concat([words(text.length), Buffer.from([isWide ? 1 : 0]), bytes]);
}

const isBroken = (error: unknown): boolean => {
  assert.ok(error instanceof AppError, String(error));
  assert.equal(error.code, 'invalid-file', error.detail);
  assert.match(error.detail, /broken/);
  return true;
};

for (const codePage of [1251, 932, 12345]) {
  test(`texts of Excel 97 do not depend on the code page ${codePage}`, async () => {
    const textResult = Buffer.from('000000000000ffff', 'hex');
    const file = withCells(
      label(2, 0, 'Ж€日'),
      label(2, 1, 'é\x93'),
      byteRecord(FORMULA, words(2, 2, 0), textResult, words(0, 0, 0, 3), Buffer.from([0x1e, 1, 0])),
      byteRecord(STRING, textOf('Ж日')),
    );
    const [, row] = await cellsOf(
      changeRecords(file, CODE_PAGE, (content) => content.writeUInt16LE(codePage)),
    );
    assert.deepEqual(row, { a: 'string Ж€日', b: 'string é\x93', c: 'string Ж日' });
  });
}

test('a message shows a boolean', async () => {
  const file = withCells(byteRecord(BOOLEAN, words(2, 0, 0), Buffer.from([1, 0])));
  const shown: string[] = [];
  const source = await openSpreadsheet(
    memoryFile(file),
    { columnNames: 'exact', cellErrors: 'problem' },
    spreadsheetLimits(),
  );
  const sink = recordRows();
  const cell = sink.cell.bind(sink);
  sink.cell = (column, kind, bytes, start, end) => {
    shown.push(bytes.toString('latin1', start, end));
    cell(column, kind, bytes, start, end);
  };
  await source.read(sink, never);
  assert.equal(shown.at(-1), 'TRUE');
});

test('the sheets are in the order of the tabs, however they are stored', async () => {
  const places: Buffer[] = [];
  const file = workbook(['First', 'Second']);
  changeRecords(file, BOUND_SHEET, (content) => places.push(Buffer.from(content.subarray(0, 4))));
  const swapped = changeRecords(file, BOUND_SHEET, (content) => places.pop()!.copy(content));
  // Each tab has the records that the other one had.
  const [first] = await cellsOf(swapped);
  assert.deepEqual(await cellsOf(swapped, 'First'), [first]);
  assert.deepEqual(
    [first, ...(await cellsOf(swapped, 'Second'))],
    [...(await cellsOf(file, 'Second')), ...(await cellsOf(file, 'First'))],
  );
});

test('two sheets with the same name, or with the same records, are refused', async () => {
  const file = workbook(['One', 'Six']);
  assert.equal((await read(file, 'Six')).rows.length, 1);
  let position = 0;
  const samePlace = changeRecords(file, BOUND_SHEET, (content) => {
    position ||= content.readUInt32LE();
    content.writeUInt32LE(position);
  });
  await assert.rejects(read(samePlace), isBroken);
  for (const name of ['One', 'oNE']) {
    const sameName = changeRecords(file, BOUND_SHEET, (content) => {
      if (content.includes(Buffer.from('Six', 'utf16le'))) content.write(name, 8, 'utf16le');
    });
    await assert.rejects(read(sameName), isBroken);
  }
});

test('a number whose style or format does not exist is a problem, because it may be a date', async () => {
  const whole = Buffer.alloc(4);
  whole.writeInt32LE((44_198 << 2) | 2);
  const file = withCells(
    number(2, 0, 44_197, 900),
    byteRecord(RK, words(2, 1, 900), whole),
    byteRecord(0xbd, words(3, 0, 900), whole, words(0), whole, words(1)),
    byteRecord(FORMULA, words(3, 2, 900), double(44_199), words(0, 0, 0, 3), Buffer.from([0x1e, 1, 0])),
  );
  assert.deepEqual(await cellsOf(file), [
    { a: 'date 1902-09-26' },
    { a: 'fault UNREADABLE_CELL 44197', b: 'fault UNREADABLE_CELL 44198' },
    {
      a: 'fault UNREADABLE_CELL 44198',
      b: 'number 44198',
      c: 'fault UNREADABLE_CELL 44199',
    },
  ]);
});

test('only built-in formats may be missing', async () => {
  // Each of the first styles gets another format, and a row.
  const ids = [14, 27, 36, 50, 58, 22, 0, 5, 37, 44, 49, 164, 200, 40_000];
  const dates = 6;
  const numbers = 11;
  const cells = ids.map((_, index) => number(index + 2, 1, 1000, index));
  let style = 0;
  const styled = changeRecords(withCells(...cells), STYLE, (content) => {
    if (style < ids.length) content.writeUInt16LE(ids[style++]!, 2);
  });
  assert.equal(style, ids.length);
  const rows = await cellsOf(changeRecords(styled, FORMAT, (content) => content.writeUInt16LE(300)));
  const expected = ids.map((id, index) => {
    if (index >= numbers) return 'fault UNREADABLE_CELL 1000';
    if (index >= dates) return 'number 1000';
    return id === 22 ? 'timestamp 1902-09-26 00:00:00' : 'date 1902-09-26';
  });
  assert.deepEqual(
    rows.slice(1).map(({ b }) => b),
    expected,
  );
});

test('a workbook without any style is read', async () => {
  const plain = changeRecords(workbook(), STYLE, () => undefined, 0xe2);
  const cell = insertRecords(plain, [WINDOW], number(2, 1, 7));
  assert.equal((await cellsOf(cell))[1]!.b, 'number 7');
});

test('the date system of a sheet does not count', async () => {
  const file = workbook(['One', 'Two']);
  const wrong = insertRecords(file, [WINDOW], wordRecord(DATE_MODE, 1));
  assert.equal((await cellsOf(wrong))[0]!.a, 'date 1902-09-26');
  const ofWorkbook = changeRecords(file, DATE_MODE, (content) => content.writeUInt16LE(1));
  assert.equal((await cellsOf(ofWorkbook))[0]!.a, 'date 1906-09-27');
  assert.equal((await cellsOf(ofWorkbook, 'Two'))[0]!.a, 'date 1906-09-28');
});

test('the first record states the version of Excel, whatever the sheets state', async () => {
  const file = withCells(label(2, 0, 'Ж€日'));
  const mixed = changeRecords(file, 0x809, (content) => {
    if (content.readUInt16LE(2) === 0x10) content.writeUInt16LE(0x500);
  });
  assert.equal((await cellsOf(mixed))[1]!.a, 'string Ж€日');
});

test('a chart in a sheet may have the same cells as the sheet', async () => {
  const chart = [wordRecord(0x809, 0x600, 0x20, 0, 0, 0, 0, 0, 0), number(1, 0, 99), wordRecord(0x0a)];
  assert.deepEqual(await cellsOf(withCells(...chart, number(1, 1, 5))), [
    { a: 'date 1902-09-26', b: 'number 5' },
  ]);
});

const whole = Buffer.alloc(4);
const broken: [what: string, file: Buffer][] = [
  ['a cell that occurs twice', withCells(number(2, 0, 1), number(2, 0, 1))],
  [
    'a cell that occurs twice in records of several cells',
    withCells(byteRecord(0xbd, words(2, 0, 0), whole, words(0), whole, words(1)), label(2, 1, 'x')),
  ],
  ['a cell right of the last column', withCells(number(2, 256, 1))],
  ['a cell of Excel 2', withCells(byteRecord(0x02, words(2, 1), Buffer.from([0, 0, 0]), words(77)))],
  ['a format of Excel 2', withCells(byteRecord(0x1e, Buffer.from('\x01d', 'latin1')))],
  [
    'a formula with a number and a text',
    withCells(formula(2, 0, double(7)), byteRecord(STRING, textOf('x'))),
  ],
  [
    'a boolean that is neither true nor false',
    withCells(byteRecord(BOOLEAN, words(2, 0, 0), Buffer.of(2, 0))),
  ],
  [
    'a result that is neither true nor false',
    withCells(formula(2, 0, Buffer.from('010002000000ffff', 'hex'))),
  ],
  ['a record that is too short', withCells(byteRecord(NUMBER, words(2, 0)))],
];
for (const [what, file] of broken) {
  test(`an .xls with ${what} is refused as broken`, () => assert.rejects(read(file), isBroken));
}
