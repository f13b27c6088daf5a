/** `values=natural`: each column is read in the one notation that all of its values have, and in no other, for each kind of source. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('natural_');

const csvOf = (columns: Record<string, string[]>): Buffer => {
  const names = Object.keys(columns);
  const rows = Math.max(...names.map((name) => columns[name]!.length));
  const lines = Array.from({ length: rows }, (_, row) =>
    names.map((name) => `"${columns[name]![row] ?? ''}"`).join(','),
  );
  return Buffer.from([names.join(','), ...lines].join('\n'));
};

const upload = (name: string, file: Buffer, query = '', body?: unknown): Promise<TestAnswer> =>
  service.upload(`/table/${name}/upload/excel?values=natural${query}`, file, body);

/** Loads columns and returns for each its type and its values as PostgreSQL writes them. */
async function loaded(columns: Record<string, string[]>, query = ''): Promise<Record<string, unknown>> {
  const name = nextTable();
  return shown(name, await upload(name, csvOf(columns), query));
}

async function shown(name: string, answer: TestAnswer): Promise<Record<string, unknown>> {
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const found: Record<string, unknown> = {};
  for (const { name: column, type } of answer.body.table.columns) {
    const rows = await service.rows(`SELECT "${column}"::text AS v FROM ${name}`);
    found[column] = [type, ...rows.map(({ v }) => v)];
  }
  return found;
}

const warningsOf = ({ body }: TestAnswer, code: string): { column: string; detail: string }[] =>
  body.load.warnings.filter((warning: { code: string }) => warning.code === code);

/** For each case: the texts, the type, and the values. */
const read: Record<string, [texts: string[], type: string, values: (string | null)[]]> = {
  short_year: [['17-Jan-94', '5-AUG-04'], 'date', ['1994-01-17', '2004-08-05']],
  month_first: [['August 01,2017', 'Sept. 3rd, 2017'], 'date', ['2017-08-01', '2017-09-03']],
  weekday: [['Tuesday, 17 October 2017', '1 of May 2018'], 'date', ['2017-10-17', '2018-05-01']],
  year_first: [['1992-Nov-02', '1977-Jan-14'], 'date', ['1992-11-02', '1977-01-14']],
  with_time: [
    ['17 Oct 2017 2:30 PM', '17 Oct 2017'],
    'timestamp without time zone',
    ['2017-10-17 14:30:00', '2017-10-17 00:00:00'],
  ],
  rfc_2822: [['Tue, 17 Oct 2017 14:30:05 GMT', '1 Jan 2018 00:00:00 +0000'], 'timestamp with time zone', []],
  half_offset: [
    ['07/16/2016 02:16:08 p.m. +0000', '07/13/2016 02:16:08 AM +0000'],
    'timestamp with time zone',
    [],
  ],
  dmy: [['01/02/2026', '13/02/2026', '2026-03-01'], 'date', ['2026-02-01', '2026-02-13', '2026-03-01']],
  mdy: [['01/02/2026', '02/13/2026'], 'date', ['2026-01-02', '2026-02-13']],
  same_in_both: [['1/1/84', '2/2/85'], 'date', ['1984-01-01', '1985-02-02']],
  spaced_iso: [[' 2026-11-21', '2026-11-22 '], 'date', ['2026-11-21', '2026-11-22']],
  euro: [['€ 1.234,50', '-€5', '€ -', '7 €', '(2,50 €)'], 'numeric', ['1234.50', '-5', '0', '7', '-2.50']],
  dollar: [['$ 1,000.10', '($80.50)', '3'], 'numeric', ['1000.10', '-80.50', '3']],
  accounting: [['(1,200.00)', '7', '120-'], 'numeric', ['-1200.00', '7', '-120']],
  percent: [['12 %', '-1,5%', '100\u00a0%'], 'numeric', ['0.12', '-0.015', '1.00']],
  exponent: [['9.54E-05', '1e+3', '2'], 'numeric', ['0.0000954', '1000', '2']],
  point_first: [['.5', '-.25'], 'numeric', ['0.5', '-0.25']],
  grouped: [['1.234.567', '12', '-3'], 'bigint', ['1234567', '12', '-3']],
  comma: [['1,5', '12', '1 234,25'], 'numeric', ['1.5', '12', '1234.25']],
  half: [['2:30 PM', '12:00 a.m.'], 'time without time zone', ['14:30:00', '00:00:00']],
  clock: [['14:30', '9:05:07.5'], 'time without time zone', ['14:30:00', '09:05:07.5']],
  minutes: [['75:48.8', '01:30.0', '00:30'], 'interval', ['01:15:48.8', '00:01:30', '00:00:30']],
  duration: [['26:15:00', '0:45:30'], 'interval', ['26:15:00', '00:45:30']],
  loud: [['TRUE', 'False'], 'boolean', ['true', 'false']],
  yes: [['Yes', 'no'], 'boolean', ['true', 'false']],
};

/** Columns that stay text, as they were sent: no notation fits all values, or something would be lost or guessed. */
const kept: Record<string, string[]> = {
  ambiguous: ['01/02/2026', '03/04/2026'],
  ambiguous_short: ['13/02/03', '14/05/06'],
  orders_differ: ['13/02/2026', '02/13/2026'],
  no_such_day: ['30-Feb-2026', '1-Feb-2026'],
  wrong_weekday: ['Monday, 17 October 2017', '18 October 2017'],
  no_year: ['17-Jan', '18-Jan'],
  other_language: ['1. März 2026', '2. April 2026'],
  year_of_two_first: ['94-Jan-17', '95-Jan-18'],
  with_offset_and_without: ['17 Oct 2017 10:00', '17 Oct 2017 10:00 +0100'],
  or_thousands: ['$ 1,000', '$ 2'],
  or_decimals: ['€ 1.234', '€ 2'],
  currencies: ['$ 5.00', '€ 6.00'],
  some_percent: ['12', '5 %'],
  percent_and_amount: ['12 %', '$ 5'],
  signs_differ: ['1,234.5', '1.234,5'],
  article: ['12E5', '34E7'],
  zeros: ['007', '1,5'],
  phone: ['+49 30', '+1 20'],
  some_halves: ['2:30 PM', '14:30'],
  hours_or_minutes: ['26:15', '0:45'],
  nanoseconds: ['14:30:05.123456789', '14:30'],
  words_differ: ['TRUE', 'no'],
  foreign: ['ja', 'nein'],
  only_no: ['NO', 'NO'],
  odd_value: ['17-Jan-94', 'soon'],
  with_word: ['17-Jan-94', 'N/A'],
  names: ['May', 'June'],
};

suite('values=natural', () => {
  test('each column is read in the one notation of its values, whatever the others have', async () => {
    const columns = Object.fromEntries(Object.entries(read).map(([name, [texts]]) => [name, texts]));
    const found = await loaded(columns);
    for (const [name, [texts, type, values]] of Object.entries(read)) {
      const [foundType, ...foundValues] = found[name] as [string, ...unknown[]];
      assert.equal(foundType, type, `${name} ${texts}`);
      if (values.length > 0) assert.deepEqual(foundValues.slice(0, values.length), values, name);
    }
  });

  test('columns that several notations fit, or none, stay text as they were sent', async () => {
    const found = await loaded(kept);
    for (const [name, texts] of Object.entries(kept)) assert.deepEqual(found[name], ['text', ...texts], name);
  });

  test('the order of the rows does not matter, nor whether the values come as JSON or in a workbook', async () => {
    const columns = {
      ...Object.fromEntries(Object.entries(read).map(([name, [texts]]) => [name, texts])),
      ...kept,
    };
    const names = Object.keys(columns);
    const rows = Array.from({ length: 5 }, (_, row) =>
      Object.fromEntries(names.map((name) => [name, columns[name]![row] ?? null])),
    );
    const typesOf = ({ status, body }: TestAnswer) => {
      assert.equal(status, 201, JSON.stringify(body));
      return body.table.columns.map(({ name, type }: Record<string, string>) => `${name} ${type}`);
    };
    const csv = typesOf(await upload(nextTable(), csvOf(columns)));
    const reversed = Object.fromEntries(names.map((name) => [name, [...columns[name]!].reverse()]));
    assert.deepEqual(typesOf(await upload(nextTable(), csvOf(reversed))), csv);
    const path = `/table/${nextTable()}/upload/json?values=natural`;
    // In JSON and in a workbook a text of digits is a text, as everywhere.
    assert.deepEqual(typesOf(await service.post(path, { data: rows })), csv);
    const sheet = sheetOf([names, ...rows.map((row) => names.map((name) => row[name] as string | null))]);
    assert.deepEqual(typesOf(await upload(nextTable(), sheet)), csv);
  });

  test('a warning names what was taken for each column, and years of two digits', async () => {
    const answer = await upload(nextTable(), csvOf({ day: ['17-Jan-94'], n: ['1,5'], plain: ['7'] }));
    assert.deepEqual(
      answer.body.load.warnings.map(({ code, detail }: Record<string, string>) => `${code}: ${detail}`),
      [
        'natural-values: Column "day" was read as dates in the order day/month/year. The first is "17-Jan-94" in A2.',
        'two-digit-year: Column "day" has years of two digits: 70 to 99 were read as 1970 to 1999, 00 to 69 as 2000 to 2069. The first is "17-Jan-94" in A2, read as 1994-01-17.',
        'natural-values: Column "n" was read as numbers with a comma before the decimals. The first is "1,5" in B2.',
      ],
    );
  });

  test('of several notations that fit, the one that the request names is read, and the other columns keep theirs', async () => {
    const columns = { open: ['01/02/2026'], mdy: ['02/13/2026'], price: ['$ 1,000'] };
    const answer = await upload(nextTable(), csvOf(columns));
    assert.deepEqual(
      warningsOf(answer, 'other-notation').map(({ detail }) => /Send (.*) to read them/.exec(detail)?.[1]),
      [
        'date_order=dmy or date_order=mdy',
        'values=natural&decimal_sign=, or values=natural&thousands_sign=,',
      ],
    );
    assert.deepEqual(await loaded(columns, '&date_order=dmy&thousands_sign=,'), {
      open: ['date', '2026-02-01'],
      mdy: ['date', '2026-02-13'],
      price: ['numeric', '1000'],
    });
  });

  test('points that may separate thousands do so if the request names these signs, also if the types are known', async () => {
    const columns = {
      people: ['105', '2.237', '-34'],
      share: ['0.5', '1.250', '3'],
      euro: ['1.234,5', '7', '8'],
    };
    assert.deepEqual(await loaded(columns), {
      people: ['numeric', '105', '2.237', '-34'],
      share: ['numeric', '0.5', '1.250', '3'],
      euro: ['numeric', '1234.5', '7', '8'],
    });
    const signs = '&decimal_sign=,&thousands_sign=.';
    const answer = await upload(nextTable(), csvOf(columns), signs);
    assert.deepEqual(
      warningsOf(answer, 'natural-values').map(({ detail }) => detail),
      [
        'Column "people" was read as numbers with a point between thousands and a comma before the decimals. The first is "2.237" in A3.',
        'Column "euro" was read as numbers with a point between thousands and a comma before the decimals. The first is "1.234,5" in C2.',
      ],
    );
    assert.deepEqual(warningsOf(answer, 'other-notation'), []);
    const people = ['105', '2237', '-34'];
    const found = await loaded(columns, signs);
    assert.deepEqual(
      [found.people, found.share],
      [
        ['bigint', ...people],
        ['numeric', '0.5', '1.250', '3'],
      ],
    );
    const name = nextTable();
    const table = { columns: [{ name: 'people', type: 'bigint' }] };
    const known = await upload(name, csvOf({ people: columns.people }), signs, { table });
    assert.deepEqual(await shown(name, known), { people: ['bigint', ...people] });
  });

  test('such points separate thousands in the texts of JSON and of a workbook, too, also if each text of the column has one', async () => {
    const signs = '&decimal_sign=,&thousands_sign=.';
    const types = ['bigint', 'numeric(10,2)', 'double precision'];
    const columns = types.map((type, index) => ({ name: `c${index}`, type }));
    for (const [sent, whole] of [
      [
        ['1.234', '2.500'],
        ['1234', '2500'],
      ],
      [
        ['-1.234', '12', 5],
        ['-1234', '12', '5'],
      ],
      [
        ['NA', ' 1.234'],
        [null, '1234'],
      ],
    ] as const) {
      const query = `values=natural&null_values=NA${signs}`;
      const data = sent.map((value) => ({ c0: value, c1: value, c2: value }));
      const json = (name: string, more = '', table?: unknown) =>
        service.post(`/table/${name}/upload/json?${query}${more}`, { ...(table ? { table } : {}), data });
      const added = await json(nextTable());
      const sheet = sheetOf([['c0', 'c1', 'c2'], ...sent.map((value) => [value, value, value])]);
      const ofSheet = await upload(nextTable(), sheet, `&null_values=NA${signs}`);
      for (const answer of [added, ofSheet]) {
        const found = ['bigint', ...whole];
        assert.equal(answer.status, 201, JSON.stringify(answer.body));
        const { table, load } = answer.body;
        assert.deepEqual(await shown(table.name, answer), { c0: found, c1: found, c2: found });
        assert.match(load.warnings[0].detail, /The first is " ?-?1\.234" in/);
      }
      const known = nextTable();
      const withCents = whole.map((value) => value && `${value}.00`);
      const rows = { c0: [types[0], ...whole], c1: [types[1], ...withCents], c2: [types[2], ...whole] };
      assert.deepEqual(await shown(known, await json(known, '', { columns })), rows);
      await service.rows(`TRUNCATE ${known}`);
      assert.equal((await json(known, '&if_exists=append')).status, 200);
      assert.deepEqual(
        await service.rows(`SELECT c0::text, c1::text, c2::text FROM ${known}`),
        whole.map((value, index) => ({ c0: value, c1: withCents[index], c2: value })),
      );
    }
    const inspected = await service.post(`/api/v1/inspect/json?values=natural${signs}`, {
      data: [{ p: '1.234' }],
    });
    assert.equal(inspected.body.data.definition.columns[0].type, 'bigint');
  });

  test('a nested column that is NULL in the first rows is read in its own notation', async () => {
    const flatten = async (data: unknown, query: string): Promise<Record<string, unknown>> => {
      const name = nextTable();
      const path = `/table/${name}/upload/json?values=natural&flatten=true&${query}`;
      return shown(name, await service.post(path, { data }));
    };
    const words = [
      { p: null, q: 'abc' },
      { p: 'Yes', q: 'Yes' },
      { p: 'No', q: 'no' },
    ];
    const ofWords = (prefix: string) => ({
      [`${prefix}q`]: ['text', 'abc', 'Yes', 'no'],
      [`${prefix}p`]: ['boolean', null, 'true', 'false'],
    });
    const numbers = [
      { p: null, q: '1,234.5' },
      { p: '1.234,5', q: '2,500' },
      { p: '2.500', q: '7.25' },
    ];
    const ofNumbers = (prefix: string) => ({
      [`${prefix}q`]: ['numeric', '1234.5', '2500', '7.25'],
      [`${prefix}p`]: ['numeric', null, '1234.5', '2500'],
    });
    for (const query of ['', 'faulty_rows=leave_out']) {
      for (const [rows, expected] of [
        [words, ofWords],
        [numbers, ofNumbers],
      ] as const) {
        const nested = rows.map((row) => ({ o: row }));
        assert.deepEqual(await flatten(rows, query), expected(''));
        assert.deepEqual(await flatten(nested, query), expected('o_'));
      }
    }
  });

  test('a nested column of an existing table is read in its own notation, also beside added columns', async () => {
    const data = [
      { o: { p: null, q: '1,234.5' } },
      { o: { p: '1.234,5', q: '2' } },
      { o: { p: '2.500', q: '7' } },
    ];
    for (const [columns, query] of [
      ['o_p numeric, o_q numeric', 'extra_columns=fail'],
      ['o_q numeric', 'extra_columns=add'],
      ['o_p numeric, o_q text', 'faulty_rows=leave_out'],
    ] as const) {
      const name = nextTable();
      await service.rows(`CREATE TABLE ${name} (${columns})`);
      const path = `/table/${name}/upload/json?if_exists=append&values=natural&flatten=true&${query}`;
      const answer = await service.post(path, { data });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const isText = columns.includes('text');
      assert.deepEqual(await service.rows(`SELECT o_p::text, o_q::text FROM ${name}`), [
        { o_p: null, o_q: isText ? '1,234.5' : '1234.5' },
        { o_p: '1234.5', o_q: '2' },
        { o_p: '2500', o_q: '7' },
      ]);
    }
  });

  test('objects that an existing table stores as a whole may have any number of keys', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (n numeric, o jsonb)`);
    const data = [0, 1, 2, 3].map((row) => ({
      n: '1,5',
      o: Object.fromEntries(Array.from({ length: 1000 }, (_, key) => [`k${row}_${key}`, 'x'])),
    }));
    const path = `/table/${name}/upload/json?if_exists=append&values=natural&flatten=true`;
    const answer = await service.post(path, { data });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  });

  test('names of months and words for yes and no are read in the languages of the request', async () => {
    const columns = {
      tag: ['1. März 2026', '2. Mai 26'],
      jour: ['14 févr. 2026', '1er août 2026'],
      ok: ['Ja', 'NEIN'],
    };
    assert.deepEqual(await loaded(columns, '&languages=de,fr'), {
      tag: ['date', '2026-03-01', '2026-05-02'],
      jour: ['date', '2026-02-14', '2026-08-01'],
      ok: ['boolean', 'true', 'false'],
    });
    for (const [languages, detail] of [
      ['hr,pl', /^"lipanj"|different months in hr and pl/],
      ['ja', /no names in the language ja/],
      ['xx-', /not a known language/],
    ] as const) {
      const answer = await upload(nextTable(), csvOf(columns), `&languages=${languages}`);
      assertProblem(answer, 422, 'invalid-parameter');
      assert.match(answer.body.detail, detail);
    }
  });

  test('date_order reads names of months, too, and a text in another order is a problem of a date column', async () => {
    const name = nextTable();
    const path = `/table/${name}/upload/excel?date_order=dmy&languages=de`;
    const answer = await service.upload(path, csvOf({ d: ['1. März 2026', '17-Jan-94', '2026-01-02'] }));
    assert.deepEqual(await shown(name, answer), { d: ['date', '2026-03-01', '1994-01-17', '2026-01-02'] });
    const definition = { table: { columns: [{ name: 'd', type: 'date' }] } };
    const wrong = await service.upload(
      `/table/${nextTable()}/upload/excel?date_order=dmy`,
      csvOf({ d: ['17 Jan 1994', 'January 18, 1994'] }),
      definition,
    );
    assertProblem(wrong, 422, 'invalid-data');
    assert.equal(wrong.body.error_count, 1);
    assert.equal(wrong.body.errors[0].cell, 'A3');
  });

  test('an inspection shows the same types and warnings', async () => {
    const file = csvOf({ day: ['17-Jan-94'], price: ['€ 1.234,50'], open: ['01/02/2026'] });
    const inspected = await service.upload('/api/v1/inspect/excel?values=natural', file);
    const answer = await upload(nextTable(), file);
    assert.deepEqual(inspected.body.sheet.warnings, answer.body.load.warnings);
    assert.deepEqual(
      inspected.body.sheet.definition.columns.map(({ type }: Record<string, string>) => type),
      ['date', 'numeric', 'text'],
    );
  });

  test('words for no value are NULL if the request names them, and the warning offers both parameters', async () => {
    const columns = { day: ['17-Jan-94', 'N/A', '##########'] };
    const answer = await upload(nextTable(), csvOf(columns), '&dry_run=true');
    const [warning] = answer.body.load.warnings;
    assert.deepEqual(warning.choices, [{ parameters: { date_order: 'dmy', null_values: 'N/A,##########' } }]);
    assert.deepEqual(await loaded(columns, '&null_values=N/A,%23%23%23%23%23%23%23%23%23%23'), {
      day: ['date', '1994-01-17', null, null],
    });
  });
});

suite('values=natural with known types', () => {
  const columns = [
    { name: 'day', type: 'date' },
    { name: 'at', type: 'timestamp' },
    { name: 'price', type: 'numeric(10,2)' },
    { name: 'ok', type: 'boolean' },
    { name: 'note', type: 'text' },
  ];
  const file = csvOf({
    day: ['01/02/2026', '13/02/2026'],
    at: ['Feb 13, 2026 2:30 PM', 'Mar 1, 2026'],
    price: ['€ 1.234,50', '7'],
    ok: ['Yes', 'No'],
    note: ['17-Jan-94', '€ 5'],
  });
  const rows = {
    day: ['date', '2026-02-01', '2026-02-13'],
    at: ['timestamp without time zone', '2026-02-13 14:30:00', '2026-03-01 00:00:00'],
    price: ['numeric(10,2)', '1234.50', '7.00'],
    ok: ['boolean', 'true', 'false'],
    note: ['text', '17-Jan-94', '€ 5'],
  };

  test('the columns of a definition and of an existing table are read by their types', async () => {
    const name = nextTable();
    const answer = await upload(name, file, '', { table: { columns } });
    assert.deepEqual(await shown(name, answer), rows);
    assert.deepEqual(
      warningsOf(answer, 'natural-values').map(({ column }) => column),
      ['day', 'at', 'price', 'ok'],
    );
    const again = await upload(name, file, '&if_exists=append');
    assert.equal(again.status, 200, JSON.stringify(again.body));
    const [count] = await service.rows(
      `SELECT count(DISTINCT t)::int AS n, count(*)::int AS of FROM ${name} t`,
    );
    assert.deepEqual(count, { n: 2, of: 4 });
    const json = nextTable();
    const data = [{ d: '17 January 1994' }, { d: '2 May 2026' }];
    // A definition after the rows decides the types, too.
    const body = { data, table: { columns: [{ name: 'd', type: 'date' }] } };
    const posted = await service.post(`/table/${json}/upload/json?values=natural`, body);
    assert.deepEqual(await shown(json, posted), { d: ['date', '1994-01-17', '2026-05-02'] });
  });

  test('an ambiguous column is not guessed: each problem names both notations', async () => {
    const answer = await upload(nextTable(), csvOf({ day: ['01/02/2026', '03/04/2026'] }), '', {
      table: { columns: [columns[0]] },
    });
    assertProblem(answer, 422, 'invalid-data');
    assert.equal(answer.body.error_count, 2);
    assert.match(answer.body.errors[0].detail, /send date_order=dmy or date_order=mdy to read it/);
  });

  test('a number that is not in the notation of its column is a problem, and not another number', async () => {
    const definition = { table: { columns: [columns[2]] } };
    const file = csvOf({ price: ['1.234,50', '007.500', '007', '+5'] });
    const answer = await upload(nextTable(), file, '', definition);
    assert.deepEqual(
      answer.body.errors.map(({ cell, code }: Record<string, string>) => [cell, code]),
      [['A3', 'not-in-number-form']],
    );
  });

  test('columns that are added to an existing table are read naturally, and one word is enough for a boolean', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (ok boolean)`);
    const file = csvOf({ ok: ['Ja'], at: ['2:30 PM'], day: ['17-Jan-1994'], share: ['5 %'] });
    const answer = await upload(name, file, '&if_exists=append&extra_columns=add&languages=de');
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows(`SELECT ok, at::text, day::text, share::text FROM ${name}`), [
      { ok: true, at: '14:30:00', day: '1994-01-17', share: '0.05' },
    ]);
    assert.equal(warningsOf(answer, 'natural-values').length, 4);
  });

  test('a text that is no date is the only problem of its column, and dates of two orders are not read', async () => {
    const definition = { table: { columns: [columns[0]] } };
    const odd = await upload(
      nextTable(),
      csvOf({ day: ['01/02/2026', '13/02/2026', 'soon'] }),
      '',
      definition,
    );
    assertProblem(odd, 422, 'invalid-data');
    assert.deepEqual(
      odd.body.errors.map(({ cell }: { cell: string }) => cell),
      ['A4'],
    );
    const both = await upload(nextTable(), csvOf({ day: ['13/02/2026', '02/13/2026'] }), '', definition);
    assert.equal(both.body.error_count, 2);
  });
});

suite('text only', () => {
  test('all_text=true loads every value as it was sent, also those of JSON', async () => {
    const name = nextTable();
    const file = Buffer.from('a,b,c\n007,1.50,2026-01-01\n8,true,17-Jan-94\n');
    const answer = await service.upload(`/table/${name}/upload/excel?all_text=true`, file);
    assert.deepEqual(answer.body.load.warnings, []);
    assert.deepEqual(await shown(name, answer), {
      a: ['text', '007', '8'],
      b: ['text', '1.50', 'true'],
      c: ['text', '2026-01-01', '17-Jan-94'],
    });
    const json = nextTable();
    const data = [{ n: 1e3, t: true, d: '2026-01-01', o: { k: 1 } }];
    const posted = await service.post(`/table/${json}/upload/json?all_text=true`, { data });
    assert.deepEqual(await shown(json, posted), {
      n: ['text', '1000'],
      t: ['text', 'true'],
      d: ['text', '2026-01-01'],
      o: ['text', '{"k":1}'],
    });
    const both = await service.upload(`/table/${name}/upload/excel?all_text=true&values=natural`, file);
    assertProblem(both, 422, 'invalid-parameter');
  });

  test('quoted=text keeps digits in quotes as text, and reads the same digits without quotes as numbers', async () => {
    const file = Buffer.from('id,n,flag,day\n"7",7,"true","2026-01-01"\n"0123456",8,"false","2026-01-02"\n');
    const types = ({ body }: TestAnswer) => body.table.columns.map(({ type }: { type: string }) => type);
    const plain = await service.upload(
      `/table/${nextTable()}/upload/excel`,
      Buffer.from('id,n\n"7",7\n"8",8\n'),
    );
    assert.deepEqual(types(plain), ['bigint', 'bigint']);
    const quoted = await service.upload(`/table/${nextTable()}/upload/excel?quoted=text`, file);
    assert.deepEqual(types(quoted), ['text', 'bigint', 'text', 'date']);
    const workbook = await service.upload(
      `/table/${nextTable()}/upload/excel?quoted=text`,
      sheetOf([['a'], [1]]),
    );
    assertProblem(workbook, 422, 'invalid-parameter');
  });
});

test('a number without a percent sign among percent numbers of a defined column is a problem, however it is written', async () => {
  const table = { columns: [{ name: 'a', type: 'numeric' }] };
  for (const bare of ['5', '+5', '007', '+1e-1']) {
    const data = [{ a: '12 %' }, { a: bare }];
    const answer = await service.post(`/table/${nextTable()}/upload/json?values=natural`, { table, data });
    assertProblem(answer, 422, 'invalid-data');
  }
});
