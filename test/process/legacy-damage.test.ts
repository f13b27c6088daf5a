/** .xls: damaged files, whose values the library would change or leave out without an error. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as library from '@e965/xlsx';
import { AppError } from '../../src/core/errors.ts';
import { prepareRecords } from '../../src/readers/spreadsheet/legacy/prepare-records.ts';
import { openSpreadsheet } from '../../src/readers/spreadsheet/open-spreadsheet.ts';
import { recordRows } from '../support/recorded-cells.ts';
import { spreadsheetLimits } from '../support/spreadsheet-limits.ts';
import { byteRecord, wordRecord } from '../support/xls-records.ts';
import { memoryFile } from '../support/xlsx-builder.ts';

const EOF = wordRecord(0x0a);
const EXCEL_5 = 0x500;
const EXCEL_97 = 0x600;
const never = new AbortController().signal;

async function cellsOf(bytes: Buffer): Promise<Record<string, string>[]> {
  const options = { columnNames: 'exact', cellErrors: 'problem', hasHeader: false } as const;
  const source = await openSpreadsheet(memoryFile(bytes), options, spreadsheetLimits());
  const sink = recordRows();
  await source.read(sink, never);
  return sink.rows.map(({ cells }) => ({ ...cells }));
}

const words = (...values: number[]): Buffer => Buffer.from(Uint16Array.from(values).buffer);
const bytes = (...values: number[]): Buffer => Buffer.from(values);
const ascii = (text: string): Buffer => Buffer.from(text, 'latin1');

function longWord(value: number): Buffer {
  const content = Buffer.alloc(4);
  content.writeUInt32LE(value);
  return content;
}

function double(value: number): Buffer {
  const content = Buffer.alloc(8);
  content.writeDoubleLE(value);
  return content;
}

interface Parts {
  version?: number;
  codePage?: number;
  format?: Buffer;
  strings?: Buffer;
  sheetName?: Buffer;
}

const begin = (version: number, type: number): Buffer => wordRecord(0x809, version, type, 0, 0, 0, 0, 0, 0);
const styleOf = (format: number, version: number): Buffer =>
  byteRecord(0xe0, words(0, format, 1), Buffer.alloc(version === EXCEL_97 ? 14 : 10));

/** The stream of a workbook with one sheet. Its styles are General and the format 164. */
function streamOf(cells: Buffer[], parts: Parts = {}): Buffer {
  const { version = EXCEL_97, codePage = 1252, strings = Buffer.alloc(0) } = parts;
  const is97 = version === EXCEL_97;
  const code = ascii('yyyy-mm-dd');
  const format = parts.format ?? Buffer.concat([is97 ? bytes(code.length, 0, 0) : bytes(code.length), code]);
  const name = parts.sheetName ?? (is97 ? bytes(3, 0, 79, 110, 101) : bytes(3, 79, 110, 101));
  const head = Buffer.concat([
    begin(version, 5),
    wordRecord(0x42, codePage),
    byteRecord(0x41e, words(164), format),
    styleOf(0, version),
    styleOf(164, version),
  ]);
  const place = head.length + 4 + 6 + name.length + strings.length + EOF.length;
  const sheet = [begin(version, 0x10), ...cells, EOF];
  return Buffer.concat([head, byteRecord(0x85, longWord(place), bytes(0, 0), name), strings, EOF, ...sheet]);
}

function fileOf(stream: Buffer, name = 'Workbook'): Buffer {
  const container = library.CFB.utils.cfb_new();
  library.CFB.utils.cfb_add(container, `/${name}`, stream);
  return library.CFB.write(container, { type: 'buffer' }) as Buffer;
}

const workbook = (cells: Buffer[], parts: Parts = {}): Buffer =>
  fileOf(streamOf(cells, parts), parts.version === EXCEL_5 ? 'Book' : 'Workbook');

const number = (row: number, column: number, value: number, style = 0): Buffer =>
  byteRecord(0x203, words(row, column, style), double(value));
const rk = (row: number, column: number, value: number): Buffer =>
  byteRecord(0x27e, words(row, column, 0), longWord(((value << 2) | 2) >>> 0));
const shared = (row: number, column: number, index: number): Buffer =>
  byteRecord(0xfd, words(row, column, 0), longWord(index));
const label = (row: number, column: number, ...text: Buffer[]): Buffer =>
  byteRecord(0x204, words(row, column, 0), ...text);
const formula = (row: number, column: number, result: string): Buffer =>
  byteRecord(0x06, words(row, column, 0), Buffer.from(result, 'hex'), words(0, 0, 0, 3), bytes(0x1e, 1, 0));
const textOfFormula = (...text: Buffer[]): Buffer => byteRecord(0x207, ...text);
const stringsOf = (count: number, ...strings: Buffer[]): Buffer =>
  byteRecord(0xfc, longWord(count), longWord(count), ...strings);
const hi = Buffer.concat([words(2), bytes(0), ascii('hi')]);

/** The results of a formula. */
const textResult = '000000000000ffff';
const trueResult = '010001000000ffff';
const errorResult = '020007000000ffff';
const emptyResult = '030000000000ffff';

function cut(record: Buffer, length: number): Buffer {
  return Buffer.concat([record.subarray(0, 2), words(length), record.subarray(4, 4 + length)]);
}

const isBroken = (error: unknown): boolean => {
  assert.ok(error instanceof AppError, String(error));
  assert.equal(error.code, 'invalid-file', error.detail);
  assert.match(error.detail, /broken/);
  return true;
};

/** Checks the records alone, without the process. */
const prepare = (stream: Buffer): unknown => prepareRecords(stream, (codePage) => codePage === 1252);
/** The records are refused for a reason, and not because the check itself read beyond their end. */
const isRefused = (error: unknown): boolean => (error as Error).constructor === Error;

const first = number(0, 0, 1);
const numbers = (count: number): Buffer[] => Array.from({ length: count }, (_, row) => number(row, 0, row));

test('an .xls whose chain of sectors is shorter than its stream is refused', async () => {
  for (const rows of [100, 2000]) {
    const file = workbook(numbers(rows));
    assert.equal((await cellsOf(file)).length, rows);
    const { start, size } = library.CFB.find(library.CFB.read(file, { type: 'buffer' }), '/Workbook') as {
      start: number;
      size: number;
    };
    // The records of 18 bytes remain in step when 9 sectors of 64 or 512 bytes are left out.
    const table = size < 4096 ? file.readUInt32LE(60) : file.readUInt32LE(76);
    const at = (table + 1) * 512 + 4 * (start + 10);
    file.writeUInt32LE(file.readUInt32LE(at) + 9, at);
    await assert.rejects(cellsOf(file), isBroken, `${rows} rows`);
  }
});

const short: [what: string, records: Buffer[], lengths: number[]][] = [
  ['number', [number(0, 1, 1234.5)], [13, 6]],
  ['RK number', [rk(0, 1, 123_456)], [9, 7]],
  ['list of RK numbers', [byteRecord(0xbd, words(0, 1, 0, 2, 0, 1))], [10]],
  ['shared text', [shared(0, 1, 1)], [9, 6]],
  ['label', [label(0, 1, words(3), bytes(0), ascii('abc'))], [11, 7]],
  ['rich label', [byteRecord(0xd6, words(0, 1, 0, 3), bytes(0), ascii('abc'))], [11, 7]],
  ['boolean', [byteRecord(0x205, words(0, 1, 0), bytes(1, 0))], [7]],
  ['formula', [formula(0, 1, textResult)], [14]],
  ['text of a formula', [textOfFormula(hi), formula(0, 1, textResult)], [4, 1, 0]],
  ['row', [byteRecord(0x208, Buffer.alloc(16))], [15]],
  ['list of merged cells', [byteRecord(0xe5, words(1, 0, 0, 1, 1))], [9, 1]],
];
for (const [what, [record, before = Buffer.alloc(0)], lengths] of short) {
  test(`an .xls with a ${what} that is too short is refused`, () => {
    const stream = (cell: Buffer): Buffer => streamOf([first, before, cell, number(1, 0, 2)]);
    prepare(stream(record!));
    for (const length of lengths)
      assert.throws(() => prepare(stream(cut(record!, length))), isRefused, `${length} bytes`);
  });
}

const abc = ascii('abc');
const broken: [what: string, file: () => Buffer][] = [
  ['a label that is longer than stated', () => streamOf([first, label(0, 1, words(2), bytes(0), abc)])],
  ['a label of Excel 5 that is longer than stated', () => excel5([label(0, 1, words(2), abc)])],
  ['a label of Excel 5 that is too short', () => excel5([label(0, 1, words(4), abc)])],
  ['a label with unknown flags', () => streamOf([first, label(0, 1, words(3), bytes(8), abc)])],
  [
    'a text of a formula that is longer than stated',
    () => streamOf([formula(0, 1, textResult), textOfFormula(words(1), bytes(0), abc)]),
  ],
  ['a format that is wide beyond its record', () => dated(bytes(10, 0, 1), ascii('yyyy-mm-dd'))],
  ['a format that is too short', () => dated(bytes(30, 0, 0), ascii('yyyy-mm-dd'))],
  ['a format that is longer than stated', () => dated(bytes(1, 0, 0), ascii('0-mm-dd'))],
  ['a sheet name that is too short', () => streamOf([first], { sheetName: bytes(4, 0, 79, 110, 101) })],
  ['a text after a true formula', () => afterFormula(trueResult)],
  ['a text after a formula with an error', () => afterFormula(errorResult)],
  ['a text after a formula with an empty text', () => afterFormula(emptyResult)],
  ['a text after another cell', () => afterFormula(textResult, number(0, 2, 5))],
  ['a second text of a formula', () => afterFormula(textResult, textOfFormula(hi))],
  [
    'a text in another sheet than its formula',
    () => streamOf([first, formula(0, 1, textResult), EOF, begin(EXCEL_97, 0x10), textOfFormula(hi)]),
  ],
  ['two tables of shared strings', () => withStrings(stringsOf(1, hi), stringsOf(1, hi))],
  ['a style that is too short', () => withStrings(byteRecord(0xe0, words(0, 14, 1), Buffer.alloc(10)))],
  ['an end with content', () => streamOf([first, byteRecord(0x0a, Buffer.alloc(14)), number(1, 0, 2)])],
  ['a date system that does not exist', () => withStrings(wordRecord(0x22, 256))],
  ['a beginning without a type', () => Buffer.concat([wordRecord(0x809, EXCEL_97), first, EOF])],
  ['an unknown version', () => streamOf([first], { version: 0x700 })],
];

function excel5(cells: Buffer[], codePage = 1252): Buffer {
  return streamOf([first, ...cells], { version: EXCEL_5, codePage });
}

const dated = (...format: Buffer[]): Buffer =>
  streamOf([number(0, 0, 44_000, 1)], { format: Buffer.concat(format) });
const afterFormula = (result: string, ...between: Buffer[]): Buffer =>
  streamOf([first, formula(0, 1, result), ...between, textOfFormula(hi)]);
const withStrings = (...strings: Buffer[]): Buffer =>
  streamOf([shared(0, 0, 0)], { strings: Buffer.concat(strings) });

for (const [what, file] of broken) {
  test(`an .xls with ${what} is refused as broken`, () => {
    assert.throws(() => prepare(file()), isRefused);
  });
}

test('an .xls whose shared strings are cut off is refused at once', async () => {
  const rich = Buffer.concat([words(2), bytes(12), words(1), longWord(3), ascii('hi'), Buffer.alloc(7)]);
  const whole = Buffer.concat([hi, rich, words(300), bytes(0), Buffer.alloc(300, 'x')]);
  // A wrong count alone does no harm.
  assert.deepEqual(await cellsOf(fileOf(withStrings(stringsOf(9, whole)))), [{ column_A: 'string hi' }]);
  await assert.rejects(
    cellsOf(fileOf(withStrings(stringsOf(9, whole.subarray(0, hi.length + 8))))),
    isBroken,
  );
  for (let length = 0; length < whole.length; length++) {
    const stream = withStrings(stringsOf(9, whole.subarray(0, length)));
    if (length === 0 || length === hi.length || length === hi.length + rich.length) prepare(stream);
    else assert.throws(() => prepare(stream), isRefused, `${length} bytes`);
  }
});

test('an .xls with NUL in the format of a cell is refused', async () => {
  const withFormat = (code: string): Buffer => fileOf(dated(bytes(code.length, 0, 0), ascii(code)));
  assert.deepEqual(await cellsOf(withFormat('yyyy')), [{ column_A: 'date 2020-06-18' }]);
  await assert.rejects(cellsOf(withFormat('yy\0y')), isBroken);
});

test('shared strings go on in further records', async () => {
  const wide = Buffer.from('Ж日é', 'utf16le');
  const strings = [
    stringsOf(4, hi, words(3), bytes(1), wide.subarray(0, 4)),
    // The rest of the text is not wide any more.
    byteRecord(0x3c, bytes(0), ascii('é'), words(2), bytes(0)),
    byteRecord(
      0x3c,
      bytes(1),
      Buffer.from('日本', 'utf16le'),
      words(1),
      bytes(8),
      words(2),
      ascii('r'),
      Buffer.alloc(3),
    ),
    byteRecord(0x3c, Buffer.alloc(5)),
  ];
  const cells = [0, 1, 2, 3].map((index) => shared(0, index, index));
  assert.deepEqual(await cellsOf(workbook(cells, { strings: Buffer.concat(strings) })), [
    { column_A: 'string hi', column_B: 'string Ж日é', column_C: 'string 日本', column_D: 'string r' },
  ]);
  const split = [
    stringsOf(1, words(2), bytes(1), wide.subarray(0, 3)),
    byteRecord(0x3c, bytes(1), wide.subarray(3)),
  ];
  assert.throws(() => prepare(withStrings(...split)), isRefused);
});

test('parts of a formula may be between it and its text, which may go on in another record', async () => {
  const array = byteRecord(0x221, words(0, 0), bytes(1, 1), Buffer.alloc(6), words(3), bytes(0x1e, 1, 0));
  const text = [
    textOfFormula(words(4), bytes(0), ascii('ab')),
    byteRecord(0x3c, bytes(1), Buffer.from('日本', 'utf16le')),
  ];
  const padded = textOfFormula(hi, bytes(0, 0));
  const file = workbook([
    first,
    formula(0, 1, textResult),
    array,
    ...text,
    formula(0, 2, textResult),
    padded,
    formula(0, 3, textResult),
    textOfFormula(words(0)),
  ]);
  assert.deepEqual(await cellsOf(file), [
    { column_A: 'number 1', column_B: 'string ab日本', column_C: 'string hi' },
  ]);
});

test('records of the workbook have no effect in a sheet', async () => {
  const cells = [number(0, 0, 1, 1), shared(0, 1, 0), number(1, 0, 1, 2), shared(1, 1, 0)];
  const others = [
    stringsOf(1, words(2), bytes(0), ascii('no')),
    byteRecord(0x3c, Buffer.alloc(3)),
    byteRecord(0x41e, words(164), bytes(4, 0, 0), ascii('0.00')),
    styleOf(14, EXCEL_97),
    byteRecord(0x85, longWord(0), bytes(0, 0, 1, 0), ascii('x')),
    wordRecord(0x22, 1),
  ];
  const file = workbook([...others, ...cells], { strings: stringsOf(1, hi) });
  assert.deepEqual(await cellsOf(file), [
    { column_A: 'date 1900-01-01', column_B: 'string hi' },
    { column_A: 'fault UNREADABLE_CELL 1', column_B: 'string hi' },
  ]);
  const codePage = wordRecord(0x42, 1251);
  const text = (column: number): Buffer => label(0, column, words(1), bytes(0xe9));
  assert.deepEqual(await cellsOf(fileOf(excel5([text(1), codePage, text(2)]), 'Book')), [
    { column_A: 'number 1', column_B: 'string é', column_C: 'string é' },
  ]);
});

test('an .xls of Excel 5 has a code page that the service knows', async () => {
  const text = (page: number): Buffer => fileOf(excel5([label(0, 1, words(3), abc)], page), 'Book');
  for (const page of [367, 437, 1252, 0x8000, 0x8001]) {
    assert.deepEqual(await cellsOf(text(page)), [{ column_A: 'number 1', column_B: 'string abc' }]);
  }
  for (const page of [1200, 21_010, 1361, 777]) {
    await assert.rejects(cellsOf(text(page)), (error) => {
      assert.ok(error instanceof AppError);
      assert.equal(error.code, 'invalid-file');
      assert.match(error.detail, new RegExp(`code page ${page}, which is not supported`));
      return true;
    });
  }
});

test('a broken format that no number has, and formulas with the types of Excel 3 and 4, do not prevent that an .xls is read', async () => {
  const broken = Buffer.concat([bytes(30, 0, 0), ascii('yyyy-mm-dd')]);
  const unused = fileOf(streamOf([number(0, 0, 44_000, 0)], { format: broken }));
  assert.deepEqual(await cellsOf(unused), [{ column_A: 'number 44000' }]);
  for (const type of [0x206, 0x406]) {
    const formula = byteRecord(type, words(0, 0, 0), double(7), words(0, 0, 0, 0));
    assert.deepEqual(await cellsOf(workbook([formula])), [{ column_A: 'number 7' }]);
    assert.throws(() => prepareRecords(streamOf([byteRecord(type, words(0, 0, 0), double(7))]), () => true));
  }
});
