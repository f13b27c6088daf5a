/** Loads in one pass: the table, the rows, the warnings and the errors are those of two passes, wherever the first rows end. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { AppError } from '../../src/core/errors.ts';
import { readConfig } from '../../src/core/settings/config.ts';
import { usualChoices } from '../../src/encoding/infer/infer-types.ts';
import { jsonInput } from '../../src/engine/loading/inputs/json-input.ts';
import type { HeadSize, LoadInput } from '../../src/engine/loading/inputs/load-input.ts';
import { spreadsheetInput } from '../../src/engine/loading/inputs/spreadsheet-input.ts';
import { KnownTables } from '../../src/engine/loading/known/known-tables.ts';
import { loadTable } from '../../src/engine/loading/load-table.ts';
import type { LoadPhase, LoadRequest } from '../../src/engine/loading/request/load-request.ts';
import { Spool } from '../../src/readers/spool.ts';
import { openSpreadsheet } from '../../src/readers/spreadsheet/open-spreadsheet.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type RandomNumbers, randomNumbers } from '../support/random-numbers.ts';
import { sized } from '../support/sized.ts';
import { type CellSpec, sheetOf, sheetXml } from '../support/workbook.ts';
import { buildWorkbook, memoryFile } from '../support/xlsx-builder.ts';

const cases = sized(6, 50);

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const { signal } = new AbortController();
const { limits } = readConfig({
  TOKEN_SECRET: 'x'.repeat(32),
  DATABASE_URL: 'postgresql://127.0.0.1/unused',
});

/** A head of unlimited size, with which there are two passes. */
const noHead: HeadSize = { bytes: Number.POSITIVE_INFINITY, cells: Number.POSITIVE_INFINITY };

/** Returns what a load stores and answers, as text. */
async function outcomeOf(
  input: LoadInput,
  headSize: HeadSize,
  options: Partial<LoadRequest> = {},
  onPhase: (phase: LoadPhase) => void = () => {},
): Promise<string> {
  const request: LoadRequest = {
    schema: 'public',
    name: 'loaded',
    ifExists: 'fail',
    extraColumns: 'fail',
    misfits: 'fail',
    onConflict: 'fail',
    types: usualChoices,
    dryRun: false,
    signal,
    requireCreation: () => {},
    admitSchema: () => {},
    ...options,
  };
  const context = { pool: database.pool, transaction: {}, extraFunctions: [], limits, headSize, onPhase };
  try {
    const { tableOid: _, ...loaded } = await loadTable(context, request, input, new KnownTables());
    const { rows } = await database.pool.query('SELECT array_agg(loaded::text) AS rows FROM public.loaded');
    return JSON.stringify({ loaded, rows: rows[0].rows, reading: input.reading }, undefined, 1);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, detail, errors, errorCount } = error;
    return JSON.stringify({ code, detail, errors, errorCount, warnings: input.warnings }, undefined, 1);
  } finally {
    await input.close();
    await database.pool.query('DROP TABLE IF EXISTS public.loaded');
  }
}

function jsonOf(body: string, chunkBytes: number): LoadInput {
  async function* chunks(): AsyncGenerator<Buffer> {
    const bytes = Buffer.from(body);
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  return jsonInput(chunks(), new Spool({ maxBytes: 1 << 30 }), {
    maxDepth: 20,
    maxTableBytes: 1 << 20,
    maxColumns: 50,
    maxCellBytes: 1 << 20,
    maxRowBytes: 1 << 20,
  });
}

async function sheetInputOf(file: Buffer): Promise<LoadInput> {
  const source = await openSpreadsheet(
    memoryFile(file),
    { columnNames: 'exact', cellErrors: 'problem' },
    { ...limits, maxRatio: 200 },
  );
  return spreadsheetInput({ source, spool: new Spool({ maxBytes: 1 }) }, undefined, false);
}

/** Values of a column that begins with one kind and may get another kind later. */
function valuesOf(pick: RandomNumbers, rowCount: number): unknown[] {
  const kinds: (() => unknown)[] = [
    () => pick(1000),
    () => pick(1000) / 8,
    () => `2026-0${1 + pick(9)}-1${pick(10)}`,
    () => `word ${pick(50)}`,
    () => pick(2) === 0,
    () => null,
    () => undefined,
    () => 2 ** 40 + pick(1000),
    () => [-7, 0.25, 1.234, 1e21, 2 ** 64, -0.5][pick(6)],
    () => `${['', '0', '-'][pick(3)]}${pick(50)}${['', '.5', '.', '.500'][pick(4)]}`,
    () => `2026-01-0${1 + pick(9)}T10:00:00Z`,
    () => `2026-01-0${1 + pick(9)}T10:00:00.${pick(3)}${pick(5) === 0 ? '+02:00' : 'Z'}`,
    () => `2026-01-0${1 + pick(9)}${pick(9) === 0 ? ' ' : 'T'}10:00:00`,
    () => ({ key: pick(5) }),
    () => [pick(5)],
    () => `0192f7a8-0000-7000-8000-0000000000${'0123456789abcdefA'[pick(17)]}0`,
    () => `${pick(28)}/${pick(14)}/2026`,
    () => `${1 + pick(28)}-Jan-${10 + pick(80)}`,
    () => `${['€ ', '€', '-'][pick(3)]}${pick(9)}${['', ',5', '.500', '.500,25'][pick(4)]}`,
    () => `${pick(24)}:${10 + pick(50)}${['', ':30', ' PM'][pick(3)]}`,
    () => ['Yes', 'No', 'TRUE'][pick(2 + pick(2))],
    () => 'a\u0000b',
  ];
  const usual = kinds[pick(kinds.length - 1)]!;
  const odd = kinds[pick(kinds.length)]!;
  const oddAt = pick(3) === 0 ? pick(rowCount) : rowCount;
  const gaps = pick(3) === 0;
  return Array.from({ length: rowCount }, (_, row) => {
    if (row >= oddAt && pick(3) === 0) return odd();
    return gaps && pick(4) === 0 ? [null, undefined][pick(2)] : usual();
  });
}

function randomRows(pick: RandomNumbers): Record<string, unknown>[] {
  const rowCount = 1 + pick(40);
  const columns = Array.from(
    { length: 1 + pick(5) },
    (_, at) => [`c${at}`, valuesOf(pick, rowCount)] as const,
  );
  return Array.from({ length: rowCount }, (_, row) =>
    Object.fromEntries(
      columns.map(([name, values]) => [name, values[row]]).filter(([, value]) => value !== undefined),
    ),
  );
}

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

/** Returns the rows as a text file or a workbook. The workbook may have merged cells. */
function fileOf(rows: Record<string, unknown>[], pick: RandomNumbers): Buffer {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = [names, ...rows.map((row) => names.map((name) => cellOf(row[name])))];
  if (pick(2) === 0) {
    const lines = cells.map((line) => line.map((cell) => (cell === null ? '' : `"${cell}"`)).join(','));
    return Buffer.from(lines.join('\n'));
  }
  const last = cells.length;
  const merged = pick(4) === 0 ? `<mergeCells><mergeCell ref="A${last - 1}:A${last}"/></mergeCells>` : '';
  const xml = `<?xml version="1.0"?><worksheet xmlns="${main}"><sheetData>${sheetXml(cells)}</sheetData>${merged}</worksheet>`;
  return buildWorkbook({ sheets: [{ name: 'Data', xml }] });
}

function cellOf(value: unknown): CellSpec {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return (typeof value === 'string' ? value : JSON.stringify(value))
    .replaceAll('"', '')
    .replaceAll('\u0000', '');
}

suite('random rows', () => {
  test('random JSON rows are loaded in one pass as in two passes', async () => {
    for (let seed = 1; seed <= cases; seed++) {
      const pick = randomNumbers(seed * 1_000_003);
      const rows = randomRows(pick);
      let body = pick(2) === 0 ? JSON.stringify({ data: rows }) : JSON.stringify(rows);
      if (pick(12) === 0) body = body.slice(0, pick(body.length));
      if (pick(12) === 0) body = body.replace(/\}$/, ',"table":{"columns":[{"name":"c0","type":"text"}]}}');
      const primaryKey = pick(5) === 0 ? ['c0'] : undefined;
      const types = { ...usualChoices, isNatural: seed % 2 === 0 };
      const options = {
        types,
        primaryKey,
        onConflict: (['fail', 'skip', 'update'] as const)[pick(6)] ?? 'fail',
      };
      const expected = await outcomeOf(jsonOf(body, 1 + pick(64)), noHead, options);
      for (const bytes of [1, 1 + pick(body.length), Math.max(1, body.length - 1 - pick(20))]) {
        const input = jsonOf(body, 1 + pick(64));
        const actual = await outcomeOf(input, { ...noHead, bytes }, options);
        assert.equal(actual, expected, `seed ${seed}, a head of ${bytes} bytes: ${body}`);
      }
    }
  });

  test('random rows of text files and workbooks are loaded in one pass as in two passes', async () => {
    for (let seed = 1; seed <= cases; seed++) {
      const pick = randomNumbers(seed * 1_000_003);
      const file = fileOf(randomRows(pick), pick);
      const options = { types: { ...usualChoices, isNatural: seed % 2 === 0 } };
      const expected = await outcomeOf(await sheetInputOf(file), noHead, options);
      for (const cells of [1, 1 + pick(20), 1 + pick(100)]) {
        const actual = await outcomeOf(await sheetInputOf(file), { ...noHead, cells }, options);
        assert.equal(
          actual,
          expected,
          `seed ${seed}, a head of ${cells} cells: ${file.toString('latin1', 0, 2000)}`,
        );
      }
    }
  });
});

suite('a later row has another type, and the rows before it are not copied again', () => {
  const uuid = '0192f7a8-0000-7000-8000-00000000000';
  const empty = (row: number) => [null, undefined][row % 2];
  const late: [name: string, usual: (row: number) => unknown, odd: unknown, last?: unknown][] = [
    ['a fraction among whole numbers', (row) => row * 2 ** 40, 1.5],
    ['a fraction and then a text among whole numbers', (row) => row, 1.5, 'n/a'],
    ['a text among whole numbers', (row) => row - 7, 'n/a'],
    ['a text among booleans', (row) => row % 2 === 0, 'unknown'],
    ['a text among dates', (row) => `000${1 + (row % 9)}-12-31`, 'soon'],
    ['a text among UUIDs', (row) => `${uuid}${row % 10}`, 'none'],
    ['a new key', () => undefined, 7],
    ['a new key and then another type', () => undefined, 7, 'x'],
    ['a number after NULLs', empty, 7],
    ['an object after NULLs', empty, { a: 1 }],
    ['a date after NULLs', empty, '2026-11-22'],
    ['a date and then a text after NULLs', empty, '2026-11-22', 'word'],
  ];
  for (const [index, [name, usual, odd, last = odd]] of late.entries()) {
    test(`${name}: only the rows from there on are copied again`, async () => {
      const options = { ifExists: (['fail', 'replace', 'append'] as const)[index % 3]! };
      const rows = Array.from({ length: 60 }, (_, row) => {
        const value = row === 40 ? odd : row === 50 ? last : usual(row);
        return { row, value, word: `w${row}` };
      });
      const body = JSON.stringify(rows);
      const expected = await outcomeOf(jsonOf(body, 50), noHead, options);
      assert.match(expected, /"inserted": 60/);
      const phases: LoadPhase[] = [];
      const note = (phase: LoadPhase) => phases.push(phase);
      assert.equal(await outcomeOf(jsonOf(body, 50), { ...noHead, bytes: 400 }, options, note), expected);
      assert.deepEqual(phases, ['copy']);
    });
  }

  test('a date with a time among the dates of a sheet: only the rows from there on are copied again', async () => {
    const dateCell = (text: string): CellSpec => ({ attributes: 't="d"', content: `<v>${text}</v>` });
    const dates = Array.from({ length: 60 }, (_, row) =>
      dateCell(row === 40 ? '2026-11-22T10:30:00' : `2026-11-${10 + (row % 20)}`),
    );
    const file = sheetOf([['number', 'at'], ...dates.map((date, row): CellSpec[] => [row, date])]);
    const expected = await outcomeOf(await sheetInputOf(file), noHead);
    assert.match(expected, /timestamp without time zone/);
    const phases: LoadPhase[] = [];
    const note = (phase: LoadPhase) => phases.push(phase);
    assert.equal(await outcomeOf(await sheetInputOf(file), { ...noHead, cells: 20 }, {}, note), expected);
    assert.deepEqual(phases, ['copy']);
  });
});

suite('a later row has another type, and all rows are copied again', () => {
  const late: [
    name: string,
    usual: (row: number) => unknown,
    odd: unknown,
    options?: Partial<LoadRequest>,
  ][] = [
    ['a text among numbers', (row) => row / 8, 'n/a'],
    ['a text among whole numbers with a minus zero', (row) => (row === 3 ? '-0' : row), 'n/a'],
    ['a text among timestamps', () => '2026-11-22T10:00:00.5', 'n/a'],
    ['a text among objects', () => ({ b: 1, a: 2 }), 'n/a'],
    ['a fraction in the primary key', (row) => row, 1.5, { primaryKey: ['value'] }],
    ['a fraction after a row with a problem', (row) => (row === 30 ? '\u0000' : row), 1.5],
    ['a fraction, and rows may be left out', (row) => row, 1.5, { maxFaultyRows: 5 }],
    ['a fraction, with on_conflict', (row) => row, 1.5, { primaryKey: ['row'], onConflict: 'skip' }],
  ];
  for (const [name, usual, odd, options] of late) {
    test(`${name}: all rows are copied again`, async () => {
      const rows = Array.from({ length: 60 }, (_, row) => ({
        row,
        value: row < 40 ? usual(row) : odd,
        word: `w${row}`,
      }));
      const body = JSON.stringify(rows)
        .replace('"-0"', '-0')
        .replace('"\\u0000","word":"w30"', '30,"word":"\\u0000"');
      const expected = await outcomeOf(jsonOf(body, 50), noHead, options);
      const phases: LoadPhase[] = [];
      const note = (phase: LoadPhase) => phases.push(phase);
      assert.equal(await outcomeOf(jsonOf(body, 50), { ...noHead, bytes: 400 }, options, note), expected);
      assert.deepEqual(phases, ['copy', 'copy']);
    });
  }
});

suite('a later row decides the notation of a column, and all rows are copied again', () => {
  const types = { ...usualChoices, isNatural: true };
  const late: [name: string, usual: (row: number) => string, odd: string, type: string][] = [
    [
      'a day beyond 12 among dates that two orders fit',
      (row) => `0${1 + (row % 9)}/02/2026`,
      '13/02/2026',
      'date',
    ],
    ['a text among dates in one order', (row) => `${13 + (row % 9)}/02/2026`, 'soon', 'text'],
    [
      'a month beyond 12 among dates in one order',
      (row) => `${13 + (row % 9)}/02/2026`,
      '02/13/2026',
      'text',
    ],
    [
      'a decimal comma among amounts that may have two signs',
      (row) => `€ ${1 + (row % 9)}.500`,
      '€ 1,50',
      'numeric',
    ],
    ['another currency', () => '€ 1,50', '$ 1,50', 'text'],
    ['an hour beyond 23 among times', (row) => `1${row % 10}:30:00`, '26:15:00', 'interval'],
  ];
  for (const [name, usual, odd, type] of late) {
    test(`${name}: all rows are copied again, and the column is ${type}`, async () => {
      const rows = Array.from({ length: 60 }, (_, row) => ({ row, value: row === 40 ? odd : usual(row) }));
      const body = JSON.stringify(rows);
      const expected = await outcomeOf(jsonOf(body, 50), noHead, { types });
      assert.ok(expected.includes(`"type": "${type}"`), expected);
      const phases: LoadPhase[] = [];
      const note = (phase: LoadPhase) => phases.push(phase);
      const actual = await outcomeOf(jsonOf(body, 50), { ...noHead, bytes: 400 }, { types }, note);
      assert.equal(actual, expected);
      assert.deepEqual(phases, ['copy', 'copy']);
    });
  }

  test('a column that all rows have in one notation is loaded in one pass', async () => {
    const rows = Array.from({ length: 60 }, (_, row) => ({
      value: `${13 + (row % 9)}-Feb-26`,
      n: '1.234,50',
    }));
    const body = JSON.stringify(rows);
    const expected = await outcomeOf(jsonOf(body, 50), noHead, { types });
    assert.match(expected, /"type": "date"[\s\S]*"type": "numeric"[\s\S]*natural-values/);
    const phases: LoadPhase[] = [];
    const note = (phase: LoadPhase) => phases.push(phase);
    assert.equal(await outcomeOf(jsonOf(body, 50), { ...noHead, bytes: 400 }, { types }, note), expected);
    assert.deepEqual(phases, ['copy']);
  });
});

suite('an error in the first rows is the error of two passes', () => {
  const bodies: [name: string, value: string][] = [
    ['broken JSON', '[{"a":1},{"a":?}'],
    ['a value that is nested too deeply', `[{"a":1},{"a":${'['.repeat(100)}`],
    ['a key that is too long', `[{"a":1},{"${'k'.repeat(5000)}":1}`],
    ['too many keys', `[{"a":1},{${Array.from({ length: 60 }, (_, n) => `"k${n}":1`)}}`],
    ['a value that is too long', `[{"a":1},{"a":"${'x'.repeat((1 << 20) + 1)}"}`],
    ['a row that is too long', `[{"a":1},{"a":"${'x'.repeat(700_000)}","b":"${'x'.repeat(700_000)}"}`],
    ['a row that is not an object', '[{"a":1},7'],
  ];
  for (const [name, start] of bodies) {
    test(`${name} in the first rows is the same error as with two passes`, async () => {
      const body = `${start}${',{"a":1}'.repeat(1000)}]`;
      const expected = await outcomeOf(jsonOf(body, 4096), noHead);
      assert.match(expected, /"code": "(invalid-json|invalid-data|limit-exceeded)"/);
      assert.equal(await outcomeOf(jsonOf(body, 4096), { ...noHead, bytes: start.length + 1000 }), expected);
    });
  }
});

suite('the number of passes', () => {
  /** The rows of each pass that ended. */
  const passesOver = async (body: string): Promise<number> => {
    let passes = 0;
    const input = jsonOf(body, 16);
    const counted: LoadInput = Object.defineProperties(input, {
      read: { value: count(input.read) },
      readAndKeep: { value: count(input.readAndKeep) },
    });
    function count(read: LoadInput['read']): LoadInput['read'] {
      return (sink, readSignal) => {
        passes += 1;
        return read.call(input, sink, readSignal);
      };
    }
    await outcomeOf(counted, { ...noHead, bytes: 64 });
    return passes;
  };

  test('the body is read once if the first rows have the types of all rows', async () => {
    const rows = Array.from({ length: 100 }, (_, n) => ({ n, word: `w${n}` }));
    assert.equal(await passesOver(JSON.stringify(rows)), 1);
  });

  test('the body is read twice if a later row has another type', async () => {
    const rows = Array.from({ length: 100 }, (_, n) => ({ n: n === 90 ? 1.5 : n }));
    assert.equal(await passesOver(JSON.stringify(rows)), 2);
  });

  test('a body whose rows are in one chunk is read twice', async () => {
    assert.equal(await passesOver('[{"n":1}]'), 2);
  });
});
