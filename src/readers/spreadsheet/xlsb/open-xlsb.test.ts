/** .xlsb: files that a library writes, compared with .xlsx files of the same cells, and records that are built by hand. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as library from '@e965/xlsx';
import fc from 'fast-check';
import { randomNumbers } from '../../../../test/support/random-numbers.ts';
import { type RecordedRows, recordRows } from '../../../../test/support/recorded-cells.ts';
import { sized } from '../../../../test/support/sized.ts';
import { spreadsheetLimits } from '../../../../test/support/spreadsheet-limits.ts';
import {
  buildXlsb,
  cell,
  double,
  record,
  rowHeader,
  shortCell,
  uint16,
  uint32,
  wholeSheet,
  wideString,
  type XlsbSpec,
  xlsbParts,
} from '../../../../test/support/xlsb-builder.ts';
import { buildZip, memoryFile } from '../../../../test/support/xlsx-builder.ts';
import { AppError, type ErrorCode } from '../../../core/errors.ts';
import { openSpreadsheet } from '../open-spreadsheet.ts';
import type { SpreadsheetOptions } from '../spreadsheet-options.ts';
import { SharedStrings } from '../values/shared-strings.ts';
import { withoutStyles } from '../values/styles.ts';
import { BinarySheetScanner } from './binary-sheet-scanner.ts';
import { maxDoubleBytes, writeDouble } from './double-text.ts';

const limits = spreadsheetLimits({ maxLegacyFileBytes: 1 });
const plainOptions: SpreadsheetOptions = { columnNames: 'exact', cellErrors: 'problem' };
const never = new AbortController().signal;

async function read(bytes: Buffer, more: Partial<typeof limits> = {}): Promise<RecordedRows> {
  const source = await openSpreadsheet(memoryFile(bytes), plainOptions, { ...limits, ...more });
  const sink = recordRows();
  await source.read(sink, never);
  return sink;
}

const cellsOf = ({ rows }: RecordedRows): [number, Record<string, string>][] =>
  rows.map(({ row, cells }) => [row, { ...cells }]);

const fails = (code: ErrorCode, detail: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AppError, String(error));
  assert.equal(error.code, code, error.detail);
  assert.match(error.detail, detail);
  return true;
};

const rk = (value: number, flags: number): Buffer => uint32((value << 2) | flags);
const text = (column: number, value: string): Buffer => cell(6, column, 0, wideString(value));
const header = [rowHeader(1), text(0, 'a'), text(1, 'b'), text(2, 'c')];

/** Returns whether the library writes this double correctly. It does not for the smallest and the largest ones. */
function isWrittenRight(value: number): boolean {
  return value === 0 || (Math.abs(value) > 1e-200 && Math.abs(value) < 1e200);
}

const anyCell = fc.oneof(
  fc.constant(null),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter(isWrittenRight),
  fc.integer(),
  fc.integer({ min: -1_000_000, max: 1_000_000 }).map((value) => value / 100),
  fc.boolean(),
  fc.string({ unit: 'grapheme', maxLength: 40 }).filter((value) => !/[\p{Cc}\ufffe\uffff]|_x/u.test(value)),
  fc
    .record({
      v: fc.double({ min: 0, max: 2_900_000, noNaN: true }).filter(isWrittenRight),
      z: fc.constantFrom('yyyy-mm-dd', 'h:mm', '[h]:mm', '00000', '0%', 'd/m/yy h:mm', '[>100]yyyy;0'),
    })
    .map((number) => ({ t: 'n', ...number })),
  fc.constantFrom(0, 7, 15, 23, 29, 36, 42).map((v) => ({ t: 'e', v })),
);

test('a workbook gives the same cells as .xlsb and as .xlsx', async () => {
  const anySheet = fc.array(fc.array(anyCell, { minLength: 1, maxLength: 6 }), {
    minLength: 1,
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(anySheet, fc.boolean(), fc.boolean(), async (rows, date1904, bookSST) => {
      const sheet: library.WorkSheet = library.utils.aoa_to_sheet([['a', 'b', 'c', 'd', 'e', 'f']]);
      for (const [r, row] of rows.entries()) {
        for (const [c, value] of row.entries()) {
          const isCell = value !== null && typeof value === 'object';
          if (isCell) sheet[library.utils.encode_cell({ r: r + 1, c })] = value;
          else library.utils.sheet_add_aoa(sheet, [[value]], { origin: { r: r + 1, c } });
        }
      }
      sheet['!ref'] = `A1:F${rows.length + 1}`;
      const workbook = { SheetNames: ['Data'], Sheets: { Data: sheet }, Workbook: { WBProps: { date1904 } } };
      const write = (bookType: library.BookType): Buffer =>
        library.write(workbook, { type: 'buffer', bookType, bookSST }) as Buffer;
      assert.deepEqual(cellsOf(await read(write('xlsb'))), cellsOf(await read(write('xlsx'))));
    }),
    { numRuns: sized(20, 60) },
  );
});

test('the text of a double is the shortest that gives the same double', () => {
  const target = Buffer.alloc(maxDoubleBytes);
  const anyDouble = fc.oneof(
    fc.double(),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.maxSafeInteger().map((value) => value / 100),
    fc.integer().map((value) => value / 1e6),
    fc.integer({ min: -20, max: 20 }).map((power) => 10 ** power),
  );
  fc.assert(
    fc.property(anyDouble, (value) => {
      assert.equal(target.toString('latin1', 0, writeDouble(value, target)), String(value));
    }),
    { numRuns: 5000 },
  );
});

test('numbers of all forms are read', async () => {
  const tooLarge = 1.2345678901234567e19;
  const rows = [
    ...header,
    rowHeader(2),
    cell(2, 0, 0, rk(-7, 2)),
    cell(2, 1, 0, rk(1999, 3)),
    cell(2, 2, 0, double(1.5).subarray(4)),
    rowHeader(3),
    cell(5, 0, 0, double(0.1 + 0.2)),
    cell(5, 1, 0, double(tooLarge)),
    cell(9, 2, 0, double(1e-7), uint16(0)),
    rowHeader(4),
    cell(5, 0, 1, double(44_197)),
    cell(5, 1, 2, double(42)),
    cell(5, 2, 3, double(1.25)),
    rowHeader(5),
    cell(5, 0, 0, double(Number.NaN)),
    cell(5, 1, 99, double(7)),
  ];
  assert.deepEqual(cellsOf(await read(buildXlsb({ rows }))), [
    [1, { a: 'number -7', b: 'number 19.99', c: 'number 1.5' }],
    [2, { a: 'number 0.3', b: 'number 12345678901234567000', c: 'number 0.0000001' }],
    [3, { a: 'date 2021-01-01', b: 'string 00042', c: 'interval 1d 06:00:00' }],
    [4, { a: 'fault UNREADABLE_CELL NaN', b: 'fault UNREADABLE_CELL 7' }],
  ]);
  const dates = [...header, rowHeader(2), cell(5, 0, 1, double(42_735))];
  assert.deepEqual(cellsOf(await read(buildXlsb({ rows: dates, is1904: true }))), [
    [1, { a: 'date 2021-01-01' }],
  ]);
});

test('texts, rich texts and results of formulas are read, and missing strings are problems', async () => {
  const rows = [
    ...header,
    rowHeader(2),
    cell(62, 0, 0, Buffer.from([1]), wideString('rich 😀'), uint32(1), uint16(0, 1)),
    cell(8, 1, 0, wideString('möglich'), uint16(0), uint32(0, 0)),
    cell(7, 2, 0, uint32(1)),
    rowHeader(3),
    cell(7, 0, 0, uint32(2)),
    cell(6, 1, 0, wideString('\ud83d lone')),
    cell(10, 2, 0, Buffer.from([1, 0, 0])),
    rowHeader(4),
    // The record has no value.
    cell(1, 0, 0),
    cell(7, 1, 0, uint32(0)),
    cell(8, 2, 0, wideString(''), uint16(0)),
    rowHeader(5),
    cell(11, 0, 0, Buffer.from([7, 0, 0])),
    cell(3, 1, 0, Buffer.from([42])),
    cell(3, 2, 0, Buffer.from([99])),
  ];
  const parts = { ...xlsbParts({ rows }) };
  const rich = record(
    19,
    Buffer.from([3]),
    wideString('漢字'),
    uint32(1),
    uint16(0, 0),
    wideString('かんじ'),
    uint32(0),
  );
  parts['xl/sharedStrings.bin'] = Buffer.concat([
    record(159, uint32(2, 2)),
    record(19, Buffer.from([0]), wideString('')),
    rich,
    record(160),
  ]);
  assert.deepEqual(
    cellsOf(await read(buildZip(Object.entries(parts).map(([name, data]) => ({ name, data }))))),
    [
      [1, { a: 'string rich 😀', b: 'string möglich', c: 'string 漢字' }],
      [2, { a: 'fault UNREADABLE_CELL 2', b: 'string \ufffd lone', c: 'true' }],
      [4, { a: 'fault ERROR_CELL #DIV/0!', b: 'fault ERROR_CELL #N/A', c: 'fault ERROR_CELL #ERROR' }],
    ],
  );
});

test('a short cell is in the column after the last one', async () => {
  const rows = [
    ...header,
    rowHeader(2),
    shortCell(13, 0, rk(1, 2)),
    shortCell(12, 0),
    shortCell(16, 1, double(44_197)),
    rowHeader(3),
    cell(1, 0, 0),
    shortCell(17, 0, wideString('x')),
    shortCell(18, 0, uint32(0)),
    rowHeader(4),
    shortCell(15, 0, Buffer.from([0])),
    shortCell(14, 0, Buffer.from([23, 0, 0, 0])),
  ];
  assert.deepEqual(cellsOf(await read(buildXlsb({ rows, sharedStrings: ['shared'] }))), [
    [1, { a: 'number 1', c: 'date 2021-01-01' }],
    [2, { b: 'string x', c: 'string shared' }],
    [3, { a: 'false', b: 'fault ERROR_CELL #REF!' }],
  ]);
});

/** Returns the calls that a scanner makes, with the part cut into chunks of these sizes. */
function scan(part: Buffer, sizes: number[]): string[] {
  const calls: string[] = [];
  const record = (...words: unknown[]): void => void calls.push(words.join(' '));
  const target = {
    beginRow: (row: number) => record('row', row),
    cell: (column: number, kind: number, bytes: Buffer, start: number, end: number) =>
      record('cell', column, kind, bytes.toString('utf8', start, end)),
    moment: (...values: number[]) => record('moment', ...values),
    fault: (column: number, fault: number) => record('fault', column, fault),
    endRow: () => record('end'),
  };
  const options = { partName: 'p', styles: withoutStyles, strings: new SharedStrings(0), is1904: false };
  const scanner = new BinarySheetScanner(target, { ...options, limits });
  for (let at = 0, n = 0; at < part.length; n++) {
    const size = sizes[n % sizes.length]!;
    // The scanner gets a copy, so that it cannot read bytes of an earlier chunk.
    scanner.feed(Buffer.from(part.subarray(at, at + size)));
    while (scanner.scan());
    at += size;
  }
  scanner.finish();
  return calls;
}

test('records may be cut anywhere', () => {
  const part = wholeSheet([
    ...header,
    record(5000, Buffer.alloc(300, 0xff)),
    rowHeader(2),
    cell(5, 0, 0, double(1.25)),
    text(1, 'x'.repeat(700)),
    shortCell(13, 0, rk(5, 2)),
    rowHeader(70_000),
    text(16_383, 'last'),
  ]);
  const whole = scan(part, [part.length]);
  assert.equal(whole.length, 13);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 8 }), (sizes) =>
      assert.deepEqual(scan(part, sizes), whole),
    ),
  );
});

test('sizes that a part states are not trusted', async () => {
  const sheet = (...rows: Buffer[]): XlsbSpec => ({ rows: [...header, rowHeader(2), ...rows] });
  const huge = Buffer.from([0xff, 0xff, 0xff, 0x7f]);
  const cases: [spec: XlsbSpec, code: ErrorCode, detail: RegExp][] = [
    [{ rows: [text(0, 'a')] }, 'invalid-file', /a cell outside of a row/],
    [{ rows: [rowHeader(1_048_577)] }, 'invalid-file', /a row outside of 1 to 1048576/],
    [sheet(text(16_384, 'x')), 'invalid-file', /beyond the last column XFD in row 2/],
    [sheet(cell(5, 0, 0, Buffer.alloc(7))), 'invalid-file', /a record that is too short/],
    [sheet(cell(6, 0, 0, uint32(50), Buffer.alloc(98))), 'invalid-file', /longer than its record/],
    [sheet(Buffer.from([6]), huge), 'limit-exceeded', /too long: the limit is 100,000 bytes/],
    [sheet(Buffer.from([0xff, 0x7f]), huge), 'invalid-file', /no end of the sheet/],
    [sheet(text(0, 'é'.repeat(50_001))), 'limit-exceeded', /100,000 bytes/],
    [{ rows: [], wholeSheet: record(130) }, 'invalid-file', /no worksheet/],
    [{ rows: [], wholeSheet: Buffer.alloc(0) }, 'invalid-file', /no end of the sheet/],
    [sheet(record(145), text(0, 'x')), 'invalid-file', /a second list of cells/],
    [sheet(text(0, 'x'), record(146), record(145), text(1, 'y')), 'invalid-file', /a second list of cells/],
    [
      sheet(text(0, 'x'), record(146), record(177), record(178), record(145)),
      'invalid-file',
      /a second list of cells/,
    ],
    [{ rows: [], parts: { 'xl/sharedStrings.bin': record(159) } }, 'invalid-file', /too early/],
    [{ rows: [], parts: { 'xl/workbook.bin': record(1) } }, 'unsupported-file', /another kind/],
  ];
  for (const [spec, code, detail] of cases) await assert.rejects(read(buildXlsb(spec)), fails(code, detail));
});

test('shared strings are limited in memory and in the number of uses by cells', async () => {
  const sharedStrings = Array.from({ length: 20 }, () => 'x'.repeat(90_000));
  await assert.rejects(
    read(buildXlsb({ rows: header, sharedStrings })),
    fails('limit-exceeded', /MAX_SHARED_STRING_BYTES/),
  );
  const rows = [...header];
  for (let row = 2; row < 2000; row++)
    rows.push(rowHeader(row), cell(7, 0, 0, uint32(0)), cell(7, 1, 0, uint32(0)));
  const repeated = buildXlsb({ rows, sharedStrings: [sharedStrings[0]!] });
  await assert.rejects(
    read(repeated, { maxRatio: 250 }),
    fails(
      'limit-exceeded',
      /^The cells have too many bytes for a file of this size, up to row 3\d\d: the limit is 64 MiB\./,
    ),
  );
});

test('parts are unpacked within the limits, and only those with cells', async () => {
  const zeros = Buffer.alloc(30_000_000);
  const rows = [...header, rowHeader(2), text(0, 'x')];
  const picture = buildXlsb({ rows, parts: { 'xl/media/image1.png': zeros } });
  assert.deepEqual(cellsOf(await read(picture, { maxRatio: 100 })), [[1, { a: 'string x' }]]);
  const bomb = buildXlsb({ rows, parts: { 'xl/worksheets/sheet1.bin': zeros } });
  await assert.rejects(
    read(bomb, { maxRatio: 100 }),
    fails('limit-exceeded', /sheet1\.bin unpacks to too many times/),
  );
});

test('every mutated part is read or refused', async () => {
  const rows = [
    ...header,
    rowHeader(2),
    cell(5, 0, 1, double(44_197)),
    cell(7, 1, 0, uint32(0)),
    shortCell(13, 0, rk(5, 2)),
  ];
  const parts = Object.entries(xlsbParts({ rows, sharedStrings: ['shared'] }));
  const random = randomNumbers(3);
  const seen = new Map<string, number>();
  for (let run = 0; run < sized(300, 2000); run++) {
    const victim = random(parts.length);
    const entries = parts.map(([name, data], index) => {
      if (index !== victim) return { name, data, isStored: true };
      const mutant = Buffer.from(data);
      for (let flips = 1 + random(4); flips > 0; flips--) mutant[random(mutant.length)] = random(256);
      const end = random(6) === 0 ? random(mutant.length) : mutant.length;
      return { name, data: mutant.subarray(0, end), isStored: true };
    });
    const outcome = await read(buildZip(entries)).then(
      () => 'read',
      (error: unknown) => {
        assert.ok(error instanceof AppError && error.status < 500, String(error));
        return error.code;
      },
    );
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  }
  assert.ok(seen.get('read')! > 50 && seen.get('invalid-file')! > 50, JSON.stringify([...seen]));
});
