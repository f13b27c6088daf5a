/**
 * .xls: files that the library writes, one that LibreOffice wrote, and files that are no workbook. .xlsb gives the same cells.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import * as library from '@e965/xlsx';
import * as codepages from '@e965/xlsx/dist/cpexcel.full.mjs';
import { AppError, type ErrorCode } from '../../src/core/errors.ts';
import { openXlsWithin } from '../../src/readers/spreadsheet/legacy/open-xls.ts';
import type { FileMemory } from '../../src/readers/spreadsheet/memory-budget.ts';
import { contentOf, openSpreadsheet } from '../../src/readers/spreadsheet/open-spreadsheet.ts';
import type { RandomAccessFile } from '../../src/readers/spreadsheet/random-access-file.ts';
import { openInFormat, type SheetSource } from '../../src/readers/spreadsheet/sheet-source.ts';
import type { SpreadsheetOptions } from '../../src/readers/spreadsheet/spreadsheet-options.ts';
import { randomNumbers } from '../support/random-numbers.ts';
import { type RecordedRows, recordRows } from '../support/recorded-cells.ts';
import { sized } from '../support/sized.ts';
import { spreadsheetLimits } from '../support/spreadsheet-limits.ts';
import { byteRecord, insertRecords } from '../support/xls-records.ts';
import { memoryFile } from '../support/xlsx-builder.ts';

library.set_cptable(codepages);

const limits = spreadsheetLimits();
const plainOptions: SpreadsheetOptions = { columnNames: 'exact', cellErrors: 'problem' };
const never = new AbortController().signal;

/** Opens an .xls file with other limits than the default ones. */
async function openWithBounds(
  file: RandomAccessFile,
  bounds: Parameters<typeof openXlsWithin>[0],
  memory?: FileMemory,
): Promise<SheetSource> {
  const within = { ...limits, ...(memory && { memory }) };
  const content = await contentOf(file, within, never);
  return (await openInFormat([{ open: openXlsWithin(bounds) }], content, plainOptions, within, never))!;
}

const open = (bytes: Buffer, options: Partial<SpreadsheetOptions> = {}): Promise<SheetSource> =>
  openSpreadsheet(memoryFile(bytes), { ...plainOptions, ...options }, limits);

async function pass(source: SheetSource): Promise<RecordedRows> {
  const sink = recordRows();
  await source.read(sink, never);
  return sink;
}

const cellsOf = ({ rows }: RecordedRows): [number, Record<string, string>][] =>
  rows.map(({ row, cells }) => [row, { ...cells }]);

type Value = string | number | boolean | null | { v: unknown; t: string; z?: string; f?: string };

function sheetOf(rows: Value[][]): library.WorkSheet {
  const sheet: library.WorkSheet = library.utils.aoa_to_sheet(rows as unknown[][]);
  for (const [r, row] of rows.entries()) {
    for (const [c, value] of row.entries()) {
      const address = library.utils.encode_cell({ r, c });
      if (value !== null && typeof value === 'object') sheet[address] = value as library.CellObject;
    }
  }
  return sheet;
}

function write(
  rows: Value[][],
  bookType: library.BookType,
  workbook: Partial<library.WorkBook> = {},
  options: Partial<library.WritingOptions> = {},
): Buffer {
  return library.write(
    { SheetNames: ['Data'], Sheets: { Data: sheetOf(rows) }, ...workbook },
    {
      type: 'buffer',
      bookType,
      ...options,
    },
  ) as Buffer;
}

const fails = (code: ErrorCode, detail: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AppError, String(error));
  assert.equal(error.code, code, error.detail);
  assert.match(error.detail, detail);
  return true;
};

/** Returns the processes that this one started and that still run. */
function children(): number {
  const tasks = `/proc/${process.pid}/task`;
  return readdirSync(tasks)
    .map((task) => readFileSync(join(tasks, task, 'children'), 'latin1').trim())
    .filter((ids) => ids !== '').length;
}

const kinds: Value[][] = [
  ['id', ' name ', 'when', 'code', 'flag', 'error'],
  [
    1,
    'Möhre € 😀',
    { v: 44_197.5, t: 'n', z: 'yyyy-mm-dd hh:mm' },
    { v: 42, t: 'n', z: '00000' },
    true,
    null,
  ],
  [0.1 + 0.2, ' a\nb ', { v: 44_197, t: 'n', z: 'd/m/yy' }, null, false, { v: 42, t: 'e' }],
  [null, '', null, null, null, null],
  [12_345_678_901_234, null, { v: 1.25, t: 'n', z: '[h]:mm' }, { v: 0.5, t: 'n', z: '0%' }, null, null],
];

for (const bookType of ['biff8', 'xlsb'] as const) {
  test(`cells of every kind are read (${bookType})`, async () => {
    const source = await open(write(kinds, bookType));
    const result = await pass(source);
    assert.deepEqual(result.columns, ['id', 'name', 'when', 'code', 'flag', 'error']);
    assert.deepEqual(cellsOf(result), [
      [
        1,
        {
          id: 'number 1',
          name: 'string Möhre € 😀',
          when: 'timestamp 2021-01-01 12:00:00',
          code: 'string 00042',
          flag: 'true',
        },
      ],
      [
        2,
        {
          id: 'number 0.3',
          name: 'string  a\nb ',
          when: 'date 2021-01-01',
          flag: 'false',
          error: 'fault ERROR_CELL #N/A',
        },
      ],
      [4, { id: 'number 12345678901234', when: 'interval 1d 06:00:00', code: 'number 0.5' }],
    ]);
    assert.deepEqual(source.locate(4, 2, 'when'), { sheet: 'Data', cell: 'Data!C5' });
    assert.equal(source.nameMatching, 'loose');
    assert.deepEqual(cellsOf(await pass(source)), cellsOf(result));
  });

  test(`the condition of a section decides the meaning of a number (${bookType})`, async () => {
    const cell = (v: number): Value => ({ v, t: 'n', z: '[>100]yyyy;0' });
    const rows: Value[][] = [['a'], [cell(50)], [cell(44_197)]];
    assert.deepEqual(cellsOf(await pass(await open(write(rows, bookType)))), [
      [1, { a: 'number 50' }],
      [2, { a: 'date 2021-01-01' }],
    ]);
  });

  test(`the 1904 system, hidden sheets and the choice of a sheet work (${bookType})`, async () => {
    const day: Value[][] = [['day'], [{ v: 42_735, t: 'n', z: 'yyyy-mm-dd' }]];
    const bytes = write(day, bookType, {
      SheetNames: ['Deep', 'Notes', 'Data'],
      Sheets: { Deep: sheetOf([['a'], [1]]), Notes: sheetOf([['b'], [2]]), Data: sheetOf(day) },
      Workbook: { WBProps: { date1904: true }, Sheets: [{ Hidden: 2 }, { Hidden: 1 }, { Hidden: 0 }] },
    });
    const source = await open(bytes);
    assert.deepEqual(
      source.sheets.map(({ name, visibility, hasCells }) => [name, visibility, hasCells]),
      [
        ['Deep', 'veryHidden', true],
        ['Notes', 'hidden', true],
        ['Data', 'visible', true],
      ],
    );
    assert.equal(source.sheet, 'Data');
    assert.deepEqual(cellsOf(await pass(source)), [[1, { day: 'date 2021-01-01' }]]);
    assert.deepEqual(cellsOf(await pass(await open(bytes, { sheet: 'notes' }))), [[1, { b: 'number 2' }]]);
    assert.deepEqual(cellsOf(await pass(await open(bytes, { sheet: '1' }))), [[1, { a: 'number 1' }]]);
    await assert.rejects(
      open(bytes, { sheet: 'Other' }),
      fails('invalid-parameter', /"Deep", "Notes", "Data"/),
    );
  });

  test(`header row, range and error cells as NULL work (${bookType})`, async () => {
    const bytes = write(
      [
        ['title', null, null],
        ['id', 'id', null],
        [1, 2, { v: 7, t: 'e' }],
        [3, 4, null],
        [5, 6, 7],
      ],
      bookType,
    );
    const source = await open(bytes, { range: 'A2:C4', cellErrors: 'null' });
    assert.deepEqual(cellsOf(await pass(source)), [
      [1, { id: 'number 1', id_2: 'number 2', column_C: 'null' }],
      [2, { id: 'number 3', id_2: 'number 4' }],
    ]);
    assert.deepEqual(
      source.warnings.map(({ code }) => code),
      ['repeated-header', 'blank-header', 'cell-errors-as-null'],
    );
    await assert.rejects(
      open(bytes, { range: 'A2:B3', headerRow: 9 }),
      fails('invalid-parameter', /Header row 9/),
    );
  });
}

test('more cells than are kept are read again in every pass', async () => {
  const text = 'x'.repeat(200);
  const rows = Array.from({ length: 2000 }, (_, index): Value[] => [index, text]);
  const file = memoryFile(write([['id', 'text'], ...rows], 'biff8'));
  const source = await openWithBounds(file, { maxKeptBytes: 100_000 });
  for (let turn = 0; turn < 2; turn++) {
    const { rows: read } = await pass(source);
    assert.equal(read.length, 2000);
    assert.equal(read[1999]!.cells.text, `string ${text}`);
    if (process.platform === 'linux') assert.equal(children(), 0);
  }
});

test('files of Excel 5, 4, 3 and 2 are read', async () => {
  const rows: Value[][] = [
    ['name', 'amount'],
    ['caf@', 1.5],
    ['b', -7],
  ];
  for (const bookType of ['biff5', 'biff4', 'biff3', 'biff2'] as unknown as library.BookType[]) {
    const bytes = write(rows, bookType);
    // The library writes only ASCII into these files, so a € of Windows-1252 is inserted.
    bytes[bytes.indexOf('caf@') + 3] = 0x80;
    const result = await pass(await open(bytes));
    assert.deepEqual(
      cellsOf(result),
      [
        [1, { name: 'string caf€', amount: 'number 1.5' }],
        [2, { name: 'string b', amount: 'number -7' }],
      ],
      bookType,
    );
  }
});

test('a workbook that LibreOffice wrote is read', async () => {
  const bytes = readFileSync(join(import.meta.dirname, '../fixtures/kinds.xls'));
  const result = await pass(await open(bytes));
  assert.deepEqual({ ...result.rows[0]!.cells }, kindsOfFirstRow);
  assert.equal(result.rows[2]!.cells.duration, 'interval 100d 00:00:01');
  assert.equal(result.rows[2]!.cells.formula, 'fault ERROR_CELL #DIV/0!');
  assert.deepEqual({ ...result.rows[4]!.cells }, { text: 'string merged' });
});

const kindsOfFirstRow = {
  text: 'string plain',
  whole: 'number 1',
  fraction: 'number 1.5',
  day: 'date 2021-01-01',
  moment: 'timestamp 2021-01-01 12:00:00',
  clock: 'time 10:10:10',
  duration: 'interval 1d 12:00:00',
  code: 'string 00501',
  share: 'number 0.125',
  price: 'number 1234.5',
  flag: 'true',
  formula: 'number 2',
};

test('compound files without a workbook are refused with their kind', async () => {
  const compound = (...streams: string[]): Buffer => {
    const container = library.CFB.utils.cfb_new();
    for (const name of streams) library.CFB.utils.cfb_add(container, name, Buffer.alloc(5000));
    return Buffer.from(library.CFB.write(container, { type: 'buffer' }) as Buffer);
  };
  const files: [bytes: Buffer, code: ErrorCode, detail: RegExp][] = [
    [compound('/EncryptionInfo', '/EncryptedPackage'), 'unsupported-file', /encrypted/],
    [compound('/WordDocument'), 'unsupported-file', /a Word document/],
    [compound('/PowerPoint Document'), 'unsupported-file', /a PowerPoint/],
    [compound('/Other'), 'unsupported-file', /another kind/],
    [compound('/Workbook'), 'unsupported-file', /no worksheet/],
    [compound('/Workbook').subarray(0, 600), 'invalid-file', /broken/],
    [Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(9000)]), 'invalid-file', /broken/],
  ];
  for (const [bytes, code, detail] of files) await assert.rejects(open(bytes), fails(code, detail));
});

test('a protected .xls is refused as encrypted, and a text about encryption is not', async () => {
  const bytes = write([['EncryptedPackage'], ['password']], 'biff8');
  assert.deepEqual((await pass(await open(bytes))).columns, ['EncryptedPackage']);
  // FILEPASS (MS-XLS 2.4.117) follows directly after BOF.
  const container = library.CFB.read(bytes, { type: 'buffer' });
  const stream = library.CFB.find(container, '/Workbook').content as Buffer;
  const start = 4 + stream.readUInt16LE(2);
  const filePass = Buffer.from('2f000600000011112222', 'hex');
  const content = Buffer.concat([stream.subarray(0, start), filePass, stream.subarray(start)]);
  library.CFB.utils.cfb_add(container, '/Workbook', content);
  const locked = Buffer.from(library.CFB.write(container, { type: 'buffer' }) as Buffer);
  await assert.rejects(open(locked), fails('unsupported-file', /encrypted/));
});

test('a file, a cell and rows over the limit are refused', async () => {
  const bytes = write([['a'], ['x'.repeat(200)], [1], [2]], 'biff8');
  const openWithin = (more: Partial<typeof limits>) =>
    openSpreadsheet(memoryFile(bytes), plainOptions, { ...limits, ...more });
  await assert.rejects(openWithin({ maxLegacyFileBytes: 1000 }), fails('limit-exceeded', /1,000 bytes/));
  await assert.rejects(pass(await openWithin({ maxCellBytes: 100 })), fails('limit-exceeded', /100 bytes/));
  await assert.rejects(pass(await openWithin({ maxRows: 2 })), fails('limit-exceeded', /2 rows/));
});

test('the process is limited in time, memory and heap', async () => {
  const bounds = { maxHeapMib: 512, maxResidentMib: 1024, maxWaitMs: 60_000, maxKeptBytes: 1_000_000 };
  const rows = Array.from({ length: 10_000 }, (_, index): Value[] => [index, `text ${index}`, index / 7]);
  const file = memoryFile(write([['a', 'b', 'c'], ...rows], 'biff8'));
  const openWithin = (more: Partial<typeof bounds>) => openWithBounds(file, { ...bounds, ...more });
  await assert.rejects(openWithin({ maxWaitMs: 1 }), fails('limit-exceeded', /too long.* 0\.001 seconds/));
  await assert.rejects(openWithin({ maxHeapMib: 20 }), fails('limit-exceeded', /too much memory.* 20 MiB/));
  if (process.platform === 'linux') {
    await assert.rejects(openWithin({ maxResidentMib: 80 }), fails('limit-exceeded', /memory.* 80 MiB/));
    assert.equal(children(), 0);
  }
});

test('a file that needs more memory than usual is read with all that a process may have', {
  skip: process.platform !== 'linux',
}, async () => {
  const mib = 1024 * 1024;
  const bytes = write([['a'], ['x'.repeat(200)]], 'biff8');
  const claims: number[] = [];
  const memoryOf = (maxMib: number): FileMemory => ({
    maxBytes: maxMib * mib,
    claim: () => assert.fail(),
    claimReader: async (claimed) => {
      claims.push(Math.floor(claimed / mib));
      return { keep: (kept) => claims.push(kept < mib && kept > 0 ? -1 : -kept) };
    },
    onClose: () => assert.fail(),
    close: () => {},
  });
  const openIn = (maxMib: number, bounds: Parameters<typeof openXlsWithin>[0]) =>
    openWithBounds(memoryFile(bytes), bounds, memoryOf(maxMib));
  assert.equal((await pass(await openIn(2000, {}))).rows.length, 1);
  assert.deepEqual(claims.splice(0), [192, -1]);
  // Node.js alone takes more memory.
  assert.equal((await pass(await openIn(2000, { usualMib: 60 }))).rows.length, 1);
  assert.deepEqual(claims.splice(0), [60, -0, 1280, -1]);
  await assert.rejects(openIn(70, { usualMib: 60 }), fails('limit-exceeded', /memory.* 70 MiB/));
  assert.deepEqual(claims.splice(0), [60, -0, 70, -0]);
  await assert.rejects(openIn(2000, { usualMib: 60, maxWaitMs: 1 }), fails('limit-exceeded', /too long/));
  assert.deepEqual(claims, [60, -0]);
});

/** Puts records before the end of the workbook's last sheet. */
function withRecords(bytes: Buffer, records: Buffer): Buffer {
  const container = library.CFB.read(bytes, { type: 'buffer' });
  const stream = library.CFB.find(container, '/Workbook').content as Buffer;
  const endOfSheet = stream.lastIndexOf(Buffer.from([0x0a, 0, 0, 0]));
  const content = Buffer.concat([stream.subarray(0, endOfSheet), records, stream.subarray(endOfSheet)]);
  library.CFB.utils.cfb_add(container, '/Workbook', content);
  return Buffer.from(library.CFB.write(container, { type: 'buffer' }) as Buffer);
}

/** A MulRk record (MS-XLS 2.4.175): whole numbers in a row, all 0. */
function wholeNumbers(row: number, count: number): Buffer {
  const record = Buffer.alloc(4 + 6 + 6 * count);
  record.writeUInt16LE(0xbd, 0);
  record.writeUInt16LE(record.length - 4, 2);
  record.writeUInt16LE(row, 4);
  for (let cell = 0; cell < count; cell++) record.writeUInt16LE(15, 8 + 6 * cell);
  record.writeUInt16LE(count - 1, record.length - 2);
  return record;
}

test('an .xls with more cells than fit into memory is refused before it is read', async () => {
  const small = write([['a', 'b', 'c']], 'biff8');
  const { rows } = await pass(await open(withRecords(small, wholeNumbers(1, 3))));
  assert.deepEqual({ ...rows[0]!.cells }, { a: 'number 0', b: 'number 0', c: 'number 0' });
  const many = Buffer.concat(Array.from({ length: 7001 }, (_, row) => wholeNumbers(row + 1, 250)));
  const opening = openSpreadsheet(memoryFile(withRecords(small, many)), plainOptions, {
    ...limits,
    maxLegacyFileBytes: 50_000_000,
  });
  await assert.rejects(opening, fails('limit-exceeded', /too many cells.* 1,750,000 cells/));
});

test('an .xls with invalid texts or sheet names is refused as broken', async () => {
  const withNul = write([['a'], ['w@@x']], 'biff8');
  const at = withNul.indexOf(Buffer.from('w@@x', 'utf16le')) >= 0 ? 2 : 1;
  const text = Buffer.from('w@@x', at === 2 ? 'utf16le' : 'latin1');
  const start = withNul.indexOf(text);
  assert.ok(start >= 0);
  withNul.fill(0, start + at, start + 3 * at);
  await assert.rejects(async () => pass(await open(withNul)), fails('invalid-file', /broken/));
  const names = write([['a'], [1]], 'biff8', {
    SheetNames: ['S@S'],
    Sheets: { 'S@S': sheetOf([['a'], [1]]) },
  });
  const wide = names.includes(Buffer.from('S@S', 'utf16le'));
  const name = names.indexOf(Buffer.from('S@S', wide ? 'utf16le' : 'latin1'));
  names[name + (wide ? 2 : 1)] = 0x02;
  await assert.rejects(open(names), fails('invalid-file', /name of a sheet has control characters/));
});

test('a signal ends the opening, a pass and the process', async () => {
  const rows = Array.from({ length: 10_000 }, (_, index): Value[] => [index, `text ${index}`]);
  const bytes = write([['a', 'b'], ...rows], 'biff8');
  const aborting = new AbortController();
  const file = memoryFile(bytes);
  const watched = {
    size: file.size,
    read: (target: Buffer, position: number) => {
      // The process has started, if the system lists processes.
      if (process.platform === 'linux' ? children() > 0 : position > 0) aborting.abort(new Error('closed'));
      return file.read(target, position);
    },
  };
  await assert.rejects(openSpreadsheet(watched, plainOptions, limits, aborting.signal), /closed/);
  const source = await open(bytes);
  await assert.rejects(source.read(recordRows(), AbortSignal.abort(new Error('cancelled'))), /cancelled/);
  const controller = new AbortController();
  const sink = { ...recordRows(), drain: () => Promise.resolve(controller.abort(new Error('left'))) };
  await assert.rejects(source.read(sink, controller.signal), /left/);
  if (process.platform === 'linux') assert.equal(children(), 0);
});

test("a file that the service cannot read is not the caller's error", async () => {
  const bytes = write([['a'], [1]], 'biff8');
  const failing = { size: bytes.length, read: () => Promise.reject(new Error('disk')) };
  await assert.rejects(openSpreadsheet(failing, plainOptions, limits), /disk/);
});

test("a process that cannot be started is not the caller's error", async () => {
  const file = memoryFile(write([['a'], [1]], 'biff8'));
  const noBound = { maxHeapMib: Number.NaN, maxResidentMib: 1024, maxWaitMs: 60_000 };
  await assert.rejects(openWithBounds(file, noBound), (error: Error) => {
    return !(error instanceof AppError) && /The reader ended \(9\): .*max-old-space-size/.test(error.message);
  });
});

test('every mutated file is read or refused', async () => {
  const random = randomNumbers(7);
  for (const original of [write(kinds, 'biff8'), write(kinds, 'xlsb')]) {
    for (let run = 0; run < sized(3, 6); run++) {
      const bytes = Buffer.from(original);
      for (let flips = 0; flips < 6; flips++) bytes[random(bytes.length)] = random(256);
      try {
        await pass(await open(run % 3 === 0 ? bytes.subarray(0, random(bytes.length)) : bytes));
      } catch (error) {
        assert.ok(error instanceof AppError && error.status < 500, String(error));
      }
    }
  }
});

test('all sheets are read by one process', async () => {
  const names = ['One', 'Two', 'Six'];
  const Sheets = Object.fromEntries(names.map((name, n) => [name, sheetOf([[`h${n}`], [n], [`text ${n}`]])]));
  const file = memoryFile(write([], 'biff8', { SheetNames: names, Sheets }));
  const source = await openSpreadsheet(file, { ...plainOptions, sheet: 'Two', allSheets: true }, limits);
  file.read = () => Promise.reject(new Error('read again'));
  for (const [n, name] of names.entries()) {
    const sheet = source.openSheet!(name)!;
    assert.equal(sheet.sheet, name);
    assert.deepEqual(cellsOf(await pass(sheet)), [
      [1, { [`h${n}`]: `number ${n}` }],
      [2, { [`h${n}`]: `string text ${n}` }],
    ]);
    assert.equal(sheet.locate(1, 0, '').cell, `${name}!A2`);
  }
  assert.throws(() => source.openSheet!('Ten'), /There is no sheet "Ten"/);
  const alone = await open(write([], 'biff8', { SheetNames: names, Sheets }), { sheet: 'Two' });
  assert.equal(alone.openSheet!('One'), undefined);
});

test('a workbook with too many sheets is refused', async () => {
  const BOUND_SHEET = 0x85;
  const workbook = { SheetNames: ['a'], Sheets: { a: sheetOf([['x'], [1]]) } };
  const names = Array.from({ length: 10_000 }, (_, index) => {
    const place = Buffer.alloc(4);
    place.writeUInt32LE(1_000_000 + index);
    const name = String(index);
    return byteRecord(BOUND_SHEET, place, Buffer.from([0, 0, name.length, 0]), Buffer.from(name));
  });
  const file = library.write(workbook, { type: 'buffer', bookType: 'biff8' }) as Buffer;
  await assert.rejects(
    open(insertRecords(file, [BOUND_SHEET], Buffer.concat(names))),
    fails('limit-exceeded', /^The workbook has too many sheets: the limit is 10,000 sheets/),
  );
});
