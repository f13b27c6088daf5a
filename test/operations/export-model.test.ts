/**
 * Random rows of all types that are exported and sent back with on_conflict=update change nothing. docs/definitions.md lists the exceptions.
 * `MODEL_CASES` sets the number of tables.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { valuesOf } from '../support/alter-model/values-of-types.ts';
import { name, objects, quoted, typesWithDefaults } from '../support/random-definitions.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.database.pool.query(objects);
});
after(() => service.stop());

const nextTable = tableNames('exported');

type Format = 'csv' | 'ndjson' | 'json' | 'xlsx';
const formats: Format[] = ['csv', 'ndjson', 'json', 'xlsx'];

interface Cell {
  at: number;
  text: string;
  double: number;
  whole: bigint;
}

const cell: fc.Arbitrary<Cell> = fc.record({
  at: fc.nat({ max: 999 }),
  text: fc
    .oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.string({
        unit: fc.constantFrom('"', ',', '\r', '\n', '\\', ' ', '=', '_x000D_', 'a', '0', "'", '#', '\t'),
      }),
    )
    .map((text) => text.replaceAll('\0', '')),
  double: fc.double(),
  whole: fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
});

/** `key` is the key of the table. */
const names = fc
  .uniqueArray(name, { minLength: 1, maxLength: 6 })
  .map((list) => list.filter((one) => one !== 'key'));

const cases = names.chain((columnNames) =>
  fc.record({
    names: fc.constant(columnNames),
    types: fc.array(fc.nat({ max: 999 }), { minLength: 6, maxLength: 6 }),
    rows: fc.array(fc.array(cell, { minLength: 6, maxLength: 6 }), { minLength: 1, maxLength: 8 }),
  }),
);

/** Returns a value of the type as PostgreSQL reads it. */
function valueFor(type: string, { at, text, double, whole }: Cell): string | null {
  if (at % 6 === 0) return null;
  if (at % 2 === 0) {
    if (/^(text|character varying$|bpchar)/.test(type)) return text;
    if (/^(real|double)/.test(type)) return String(double);
    if (type === 'numeric') return at % 4 === 0 ? String(double) : `${whole}.${Math.abs(at)}`;
    if (type === 'bigint') return BigInt.asIntN(64, whole).toString();
    if (/^timestamp/.test(type))
      return new Date(Number(whole % 8_000_000_000_000_000n)).toISOString().replace(/^[-+]0*/, '');
    if (/^date/.test(type)) return new Date(Number(whole % 200_000_000_000_000n)).toISOString().slice(0, 10);
  }
  const list = valuesOf(type);
  return list.length === 0 ? null : list[at % list.length]!;
}

/** Uploads take a text file with many control characters for another kind of file. */
function hasControls(text: string): boolean {
  return /[^\P{Cc}\t\r\n]/u.test(text);
}

/** Values that a format cannot bring back, or that only look different. */
function isExcepted(format: Format, type: string, value: string): boolean {
  if (format === 'csv' && hasControls(value)) return true;
  if (/^jsonb?$/.test(type)) {
    const isStructure = /^\s*[{[]/.test(value);
    return format === 'csv'
      ? /^\s*("|null|-?\d+e)/.test(value)
      : format === 'xlsx'
        ? !isStructure
        : /^\s*null/.test(value);
  }
  return format === 'xlsx' && type === 'numeric' && /\.\d*0$/.test(value);
}

async function exported(table: string, format: Format): Promise<Buffer> {
  const answer = await fetch(`${service.url}/api/v1/table/${table}/rows?format=${format}`, {
    headers: { authorization: `Bearer ${await service.token()}` },
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  assert.equal(answer.status, 200, bytes.toString());
  return bytes;
}

function sendBack(table: string, format: Format, bytes: Buffer): Promise<TestAnswer> {
  const query = 'if_exists=append&on_conflict=update';
  if (format === 'csv' || format === 'xlsx') {
    const quotes = format === 'csv' ? '&quoted=exact' : '';
    return service.upload(`/table/${table}/upload/excel?${query}${quotes}`, bytes);
  }
  const type = format === 'json' ? 'application/json' : 'application/x-ndjson';
  const headers = { 'content-type': type };
  return service.request('POST', `/table/${table}/upload/json?${query}`, { body: bytes, headers });
}

// biome-ignore lint/suspicious/noExplicitAny: the columns of a description
type Column = any;

async function makeTable(
  columns: { name: string; type: string }[],
  rows: Cell[][],
  format: Format,
): Promise<string> {
  const table = nextTable();
  const answer = await service.post(`/table/${table}`, {
    table: {
      columns: [{ name: 'key', type: 'int' }, ...columns],
      constraints: { primary_key: { name: '', columns: ['key'] } },
    },
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const described: Column[] = answer.body.table.columns.slice(1);
  const list = ['key', ...described.map((column) => quoted(column.name))].join(', ');
  const places = described.map((_, index) => `$${index + 2}`);
  for (const [index, cells] of rows.entries()) {
    const values = described.map(({ type }, at) => {
      const value = valueFor(type, cells[at]!);
      return value !== null && isExcepted(format, type, value) ? null : value;
    });
    // Values that the type refuses are left out, one by one.
    for (const kept of [values, values.map((value, at) => (at % 2 === 0 ? value : null))]) {
      const text = `INSERT INTO ${table} (${list}) VALUES (${['$1', ...places].join(', ')}) ON CONFLICT DO NOTHING`;
      await service.database.pool.query(text, [index, ...kept]).catch(() => {});
    }
  }
  return table;
}

async function textsOf(table: string): Promise<unknown[]> {
  return service.rows(`SELECT t::text AS row FROM ${table} AS t ORDER BY key`);
}

suite('rows that are exported and sent back change nothing', () => {
  for (const format of formats) {
    test(`as ${format}`, async () => {
      let rows = 0;
      await fc.assert(
        fc.asyncProperty(cases, async (chosen) => {
          const columns = chosen.names.map((column, index) => ({
            name: column,
            type: typesWithDefaults[chosen.types[index]! % typesWithDefaults.length]![0],
          }));
          // A spreadsheet cannot have a header of white space or control characters.
          const isReadable = (column: { name: string; type: string }) =>
            format.endsWith('json') ||
            (!/^jsonb?\[/.test(column.type) &&
              /[^\s\p{C}]/u.test(column.name) &&
              !(format === 'csv' && hasControls(column.name)));
          const table = await makeTable(columns.filter(isReadable), chosen.rows, format);
          const before = await textsOf(table);
          rows += before.length;
          const bytes = await exported(table, format);
          const answer = before.length === 0 ? undefined : await sendBack(table, format, bytes);
          const about = () => `${JSON.stringify(columns)} ${bytes.toString().slice(0, 2000)}`;
          if (answer) assert.equal(answer.status, 200, `${JSON.stringify(answer.body)} ${about()}`);
          assert.deepEqual(await textsOf(table), before, about());
          await service.rows(`DROP TABLE ${table}`);
        }),
        { numRuns: Number(process.env.MODEL_CASES ?? sized(5, 25)), endOnFailure: true },
      );
      assert.ok(rows > 0);
    });
  }
});
