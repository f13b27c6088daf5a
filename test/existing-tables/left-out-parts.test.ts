/** Parts of values that the type of a column cannot store are left out by PostgreSQL, and a warning reports them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { type CellSpec, sheetXml } from '../support/workbook.ts';
import { buildWorkbook } from '../support/xlsx-builder.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('parts_');

const columnsOf = (types: Record<string, string>) =>
  Object.entries(types).map(([name, type]) => ({ name, type }));
const load = (name: string, types: Record<string, string>, data: unknown[]): Promise<TestAnswer> =>
  service.post(`/table/${name}/upload/json`, { table: { columns: columnsOf(types) }, data });

test('times of day that a date column cannot store give a warning with their number and the first row', async () => {
  const name = nextTable();
  const answer = await load(name, { on: 'date' }, [
    { on: '2026-06-28' },
    { on: '2026-06-29T00:00:00' },
    { on: '2026-06-30T13:45:30' },
    { on: '2026-07-01T00:00:00.000001' },
    { on: '2026-07-02T00:00:00Z' },
  ]);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(answer.body.load.warnings, [
    {
      code: 'time-left-out',
      column: 'on',
      detail:
        'The time of day of 2 values of "on" was left out (first in row 3), because the type date does not hold it. A column of the type timestamp keeps it.',
    },
  ]);
  assert.deepEqual(await service.rows(`SELECT count(DISTINCT "on")::int AS days FROM ${name}`), [
    { days: 5 },
  ]);
});

test('offsets that a type without time zone cannot store give a warning, also if they are zero', async () => {
  const name = nextTable();
  const answer = await load(name, { a: 'timestamp', b: 'time', c: 'date', d: 'timestamptz', e: 'timetz' }, [
    { a: '2026-01-01T10:00:00', b: '10:00:00', c: '2026-01-01', d: '2026-01-01T10:00:00+05:00' },
    { a: '2026-01-01T10:00:00+05:00', b: '10:00:00+05', c: '2026-01-01T00:00:00+05:00', e: '10:00+05' },
    { a: '2026-01-01 10:00:00Z', b: '10:00 UTC', d: '2026-01-01T10:00:00Z' },
  ]);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const warnings = answer.body.load.warnings;
  assert.deepEqual(warnings[0], {
    code: 'offset-left-out',
    column: 'a',
    detail:
      'The offset from UTC of 2 values of "a" was left out (first in row 2), because the type timestamp without time zone does not hold it; the date and time were not converted. A column of the type timestamptz keeps the instant.',
  });
  assert.deepEqual(
    warnings.map(({ code, column, detail }: Record<string, string>) => [
      code,
      column,
      /of (one value|\d values) of/.exec(detail!)?.[1],
      /first in (row \d)/.exec(detail!)?.[1],
    ]),
    [
      ['offset-left-out', 'a', '2 values', 'row 2'],
      ['offset-left-out', 'b', '2 values', 'row 2'],
      ['offset-left-out', 'c', 'one value', 'row 2'],
    ],
  );
  assert.deepEqual(await service.rows(`SELECT DISTINCT a::text AS a FROM ${name}`), [
    { a: '2026-01-01 10:00:00' },
  ]);
});

test('dates that a time column cannot store, and rounded seconds, give warnings', async () => {
  const answer = await load(nextTable(), { a: 'time', b: 'timestamp', c: 'timestamp' }, [
    { a: '2026-01-01 10:00:00', b: '2026-01-01T10:00:00.1234565', c: '2026-01-01T10:00:00.1234560' },
    { a: '10:00:00.9999999', b: '2026-01-01T10:00:00.123456', c: '2026-01-01T10:00:00' },
  ]);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(answer.body.load.warnings, [
    {
      code: 'date-left-out',
      column: 'a',
      detail:
        'The date of one value of "a" was left out (first in row 1), because the type time without time zone does not hold it. A column of the type timestamp keeps it.',
    },
    {
      code: 'fraction-rounded',
      column: 'a',
      detail:
        'The seconds of one value of "a" were rounded to microseconds (first in row 2), the finest unit of PostgreSQL. A column of the type text keeps every digit.',
    },
    {
      code: 'fraction-rounded',
      column: 'b',
      detail:
        'The seconds of one value of "b" were rounded to microseconds (first in row 1), the finest unit of PostgreSQL. A column of the type text keeps every digit.',
    },
  ]);
});

test('parts that are left out in arrays, domains and staged rows give warnings, too', async () => {
  const name = nextTable();
  await service.rows(`CREATE DOMAIN day_${name} AS date;
    CREATE TABLE ${name} (k int PRIMARY KEY, days date[], day day_${name}, place point)`);
  const answer = await service.post(`/table/${name}/upload/json?if_exists=append&on_conflict=update`, {
    data: [
      { k: 1, days: ['2026-01-01', '2026-01-02T10:00'], day: '2026-01-01 10:00', place: '(1,2)' },
      { k: 2, days: '{2026-01-01 10:00,2026-01-02 11:00}', day: '2026-01-01', place: '(1,2)' },
    ],
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(
    answer.body.load.warnings.map(({ code, column, detail }: Record<string, string>) => [
      code,
      column,
      /of (one value|\d values) of/.exec(detail!)?.[1],
    ]),
    [
      ['time-left-out', 'days', '2 values'],
      ['time-left-out', 'day', 'one value'],
    ],
  );
});

/** A number in the format `m/d/yy h:mm`. */
const moment = (serial: number): CellSpec => ({ attributes: 's="1"', content: `<v>${serial}</v>` });

test('a date-time cell of a workbook in a date or time column gives a warning that names the cell', async () => {
  const rows: CellSpec[][] = [
    ['day', 'at', 'both'],
    [moment(46_029), null, moment(46_029.5)],
    [moment(46_029.57), moment(46_029.57), moment(46_029.5)],
  ];
  const file = buildWorkbook({ sheets: [{ name: 'Orders', xml: sheetXml(rows) }], formats: [22] });
  const answer = await service.upload(`/table/${nextTable()}/upload/excel`, file, {
    table: { columns: columnsOf({ day: 'date', at: 'time', both: 'timestamp' }) },
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(answer.body.load.warnings, [
    {
      code: 'time-left-out',
      column: 'day',
      detail:
        'The time of day of one value of "day" was left out (first in Orders!A3), because the type date does not hold it. A column of the type timestamp keeps it.',
    },
    {
      code: 'date-left-out',
      column: 'at',
      detail:
        'The date of one value of "at" was left out (first in Orders!B3), because the type time without time zone does not hold it. A column of the type timestamp keeps it.',
    },
  ]);
});

test('for a text file the warning names the cell', async () => {
  const file = Buffer.from('day;at\n2026-01-07;2026-01-07T10:00:00\n2026-01-07 13:45;2026-01-07T10:00:00Z\n');
  const answer = await service.upload(`/table/${nextTable()}/upload/excel`, file, {
    table: { columns: columnsOf({ day: 'date', at: 'timestamp' }) },
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const left = answer.body.load.warnings.filter(({ code }: { code: string }) => code.endsWith('-left-out'));
  assert.deepEqual(
    left.map(({ code, detail }: Record<string, string>) => [code, /first in (\S+)\)/.exec(detail!)?.[1]]),
    [
      ['time-left-out', 'A3'],
      ['offset-left-out', 'B3'],
    ],
  );
});
