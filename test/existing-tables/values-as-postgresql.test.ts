/**
 * Values for columns of every kind of type, sent as JSON. The stored value equals the value that `INSERT … VALUES ('text')` or
 * COPY stores in the same column, and a value is refused exactly if PostgreSQL refuses it.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { copyFrom } from '../../src/postgres/copy.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { someOf } from '../support/sized.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows(`
    CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION ltree;
    CREATE TYPE pair AS (a interval day, b bit(3));
    CREATE DOMAIN days AS interval day; CREATE DOMAIN three_bits AS bit(3); CREATE DOMAIN few_bits AS varbit(3);
    CREATE DOMAIN code AS varchar(3); CREATE DOMAIN padded AS char(3); CREATE DOMAIN price AS numeric(5,2);
    CREATE DOMAIN more_days AS days CHECK (VALUE < interval '1000 days');
    CREATE DOMAIN day_list AS interval day[]; CREATE DOMAIN int_list AS int[]; CREATE DOMAIN known AS point NOT NULL;
    CREATE FUNCTION insert_all(texts text[]) RETURNS int[] LANGUAGE plpgsql AS $$
    DECLARE refused int[] := '{}';
    BEGIN
      FOR i IN 1 .. cardinality(texts) LOOP
        BEGIN
          EXECUTE format('INSERT INTO expected VALUES (%s, %L)', i, texts[i]);
        EXCEPTION WHEN OTHERS THEN
          refused := refused || i;
        END;
      END LOOP;
      RETURN refused;
    END $$`);
});
after(() => service.stop());

/**
 * Inserts each text with PostgreSQL.
 *
 * @returns the numbers of the texts that PostgreSQL refuses, from 1; the others are in the table `expected`
 */
async function insertEach(texts: string[]): Promise<number[]> {
  const [row] = await service.rows('SELECT insert_all($1) AS refused', [texts]);
  return row!.refused as number[];
}

/** Uses COPY, because an INSERT reads the elements of an array without the modifier of their type. */
async function copyEach(texts: string[]): Promise<number[]> {
  const client = await service.database.pool.connect();
  const refused: number[] = [];
  for (const [index, text] of texts.entries()) {
    const copy = copyFrom(client, 'COPY expected FROM STDIN (FORMAT csv)');
    try {
      await copy.write(Buffer.from(`${index + 1},"${text.replaceAll('"', '""')}"\n`));
      await copy.end();
    } catch {
      refused.push(index + 1);
    }
  }
  client.release();
  return refused;
}

/** Loads each value in turn as one row, and compares with the same text in PostgreSQL. */
async function compare(type: string, values: { sent: unknown; text: string }[]): Promise<void> {
  await service.rows(
    `DROP TABLE IF EXISTS t, expected; CREATE TABLE t (id int, a ${type}); CREATE TABLE expected (id int, a ${type})`,
  );
  const rows = values.map(({ sent }, index) => ({ id: index + 1, a: sent }));
  const upload = (data: unknown[]) => service.post('/table/t/upload/json?if_exists=append', { data });
  const insert = type.endsWith('[]') || type === 'day_list' ? copyEach : insertEach;
  const refused = await insert(values.map(({ text }) => text));
  const told: number[] = [];
  for (let first = 0; first < rows.length; first += 100) {
    const part = rows.slice(first, first + 100);
    const answer = await upload(part);
    if (answer.status === 200) continue;
    const faulty = assertProblem(answer, 422, 'invalid-data').errors.map(({ row }) => first + row!);
    told.push(...faulty);
    const rest = part.filter(({ id }) => !faulty.includes(id));
    const again = rest.length === 0 ? undefined : await upload(rest);
    assert.ok(again === undefined || again.status === 200, JSON.stringify(again?.body));
  }
  const show = (ids: number[]) => ids.map((id) => rows[id - 1]!.a);
  assert.deepEqual(show(told), show(refused), 'the values that are refused');
  const differences = await service.rows(`SELECT t.id, t.a::text AS ours, e.a::text AS theirs
    FROM t FULL JOIN expected e USING (id) WHERE NOT record_image_eq(ROW(t.a), ROW(e.a)) OR t.id IS NULL OR e.id IS NULL`);
  assert.deepEqual(
    differences.map((row) => ({ ...row, sent: rows[Number(row.id) - 1]?.a })),
    [],
  );
}

const seed = 20_260_102;

function random(characters: string, count = 60): string[] {
  const text = fc.array(fc.constantFrom(...characters), { minLength: 1, maxLength: 7 });
  return fc.sample(text, { numRuns: count, seed }).map((letters) => letters.join(''));
}

const units = ['', ' days', ' h', ' min', ' s', ' mons', ' y', ':30', ':30:15', '-2', ' 01:02', '.75'];
const intervals = fc
  .sample(fc.tuple(fc.integer({ min: -99, max: 99 }), fc.constantFrom(...units)), { numRuns: 80, seed })
  .map(([amount, unit]) => `${amount}${unit}`);
const bits = ['', '1', '10', '101', '1010', 'B101', 'X5', '1x1', ...random('01', 40)];
const numbers = ['1', '12.345', '999.995', '-1e2', '0.004', '1e9', 'x', 'NaN', ...random('0123456789.-', 80)];
const words = ['', 'a', 'abc', 'abcd', 'abc  ', 'ab c', 'é€😀', 'é€😀x', ...random('ab é"\\', 60)];
const times = ['10:11:12.3456', '10:11:12.999999', '23:59:59.9999', '24:00', '25:00', '10:11', '1', 'x'];
const moments = times.flatMap((time) => [`2024-02-29 ${time}`, `2024-02-29T${time}Z`, `2024-02-30 ${time}`]);

const texts: Record<string, string[]> = {};
const fields = [
  'year',
  'month',
  'day',
  'hour',
  'minute',
  'second',
  'year to month',
  'day to hour',
  'day to minute',
];
fields.push(
  'day to second',
  'hour to minute',
  'hour to second',
  'minute to second',
  'second(2)',
  'day to second(3)',
);
for (const field of fields) texts[`interval ${field}`] = intervals;
for (const type of ['interval', 'interval(0)', 'days', 'more_days']) texts[type] = intervals;
for (const type of ['bit', 'bit(3)', 'varbit', 'varbit(3)', 'three_bits', 'few_bits']) texts[type] = bits;
for (const type of ['numeric', 'numeric(5,2)', 'numeric(2,-1)', 'price']) texts[type] = numbers;
for (const type of ['char(3)', 'varchar(3)', 'code', 'padded', 'citext', 'ltree']) texts[type] = words;
for (const type of ['time', 'time(2)', 'timetz(0)']) texts[type] = times;
for (const type of ['timestamp', 'timestamp(1)', 'timestamptz(2)']) texts[type] = moments;
texts.pair = ['(1,101)', '(90 min,1)', '(5,)', '(,)', '(1,1010)', '1', '(1 mon,101)'];
texts.regclass = ['pg_class', '1259', '-', '"pg_class"', 'pg_catalog.pg_type', 'none', '999999999'];
texts.point = ['(1,2)', '1,2', '{}', '[1,2]', 'x'];
texts.int4range = ['[1,2]', '(,5)', 'empty', '{}', '[2,1]'];

suite('a text is read as PostgreSQL reads it, with the modifier of the type', () => {
  for (const [type, values] of someOf(14, Object.entries(texts))) {
    test(type, () =>
      compare(
        type,
        values.map((text) => ({ sent: text, text })),
      ),
    );
  }
  const elementTypes = [
    'interval day',
    'interval year',
    'days',
    'bit(3)',
    'varbit(3)',
    'three_bits',
    'numeric(5,2)',
    'varchar(3)',
    'char(3)',
    'time(2)',
  ];
  for (const type of someOf(4, elementTypes)) {
    const quoted = texts[type]!.map((text) => `{NULL,"${text.replaceAll(/["\\]/g, '\\$&')}"}`);
    test(`${type}[]`, () =>
      compare(
        `${type}[]`,
        quoted.map((text) => ({ sent: text, text })),
      ));
  }
  test('a domain over an array', () =>
    compare(
      'day_list',
      ['{90}', '{1,NULL}', '{90 min}', '{x}', '90'].map((text) => ({ sent: text, text })),
    ));
  test('an array of a domain over an array', () =>
    compare(
      'int_list[]',
      ['{"{1,2}","{3}"}', '{}', '{1}', '{"{x}"}', '{"{{1},{2}}",NULL}'].map((text) => ({ sent: text, text })),
    ));
});

type Element = string | number | boolean | null;

/** Returns PostgreSQL's text form of an array. */
function arrayText(value: Element | unknown[], delimiter = ','): string {
  if (value === null) return 'NULL';
  if (!Array.isArray(value)) return `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`;
  return `{${value.map((element) => arrayText(element as Element, delimiter)).join(delimiter)}}`;
}

const elements: Record<string, Element[]> = {
  citext: ['x', 'a "b" \\ c', '{', '}', ',', '', 'NULL', ' x ', 'é\n', 1.5, true],
  point: ['(1,2)', '3,4', 'x'],
  box: ['(1,2),(3,4)', '((0,0),(1,1))', 'x'],
  int4range: ['[1,2]', 'empty', '(,)', '[2,1]'],
  money: ['1.50', 2, '$3.00', 'x'],
  'bit(3)': ['101', '1', '1010', 101],
  varbit: ['', '1'],
  xml: ['<a>"x"</a>', '<a>', 'text'],
  tsvector: ['a:1 b', "'a b'", 'a:x'],
  macaddr8: ['08:00:2b:01:02:03:04:05', 'x'],
  hstore: ['a=>1', '"a b"=>NULL', 'a'],
  ltree: ['a.b', '', 'a b c'],
  pair: ['(1,101)', '(,)', '(1,1)', 'x'],
  'interval day': ['90', 90, '1 day', 'x'],
  days: ['90', '1.5'],
  regclass: ['pg_class', '-', 1259, 'none'],
};

suite('a JSON array becomes the array of its elements', () => {
  for (const [type, values] of someOf(6, Object.entries(elements))) {
    test(`${type}[]`, () => {
      const good = values[0]!;
      const arrays: unknown[] = [
        ...values.map((value) => [value]),
        ...values.map((value) => [good, null, value]),
        ...values.map((value) => [
          [good, value],
          [null, good],
        ]),
        [],
        [null],
        [[[good]], [[good]]],
      ];
      const delimiter = type === 'box' ? ';' : ',';
      return compare(
        `${type}[]`,
        arrays.map((sent) => ({ sent, text: arrayText(sent as unknown[], delimiter) })),
      );
    });
  }
});

async function problems(type: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
  await service.rows(`DROP TABLE IF EXISTS t; CREATE TABLE t (a ${type})`);
  const data = values.map((a) => ({ a }));
  const answer = await service.post('/table/t/upload/json?if_exists=append', { data });
  return assertProblem(answer, 422, 'invalid-data').errors.map(({ pointer, value, code }) => ({
    pointer,
    value,
    code,
  }));
}

suite('an object or array for a type that does not accept it', () => {
  for (const type of ['point', 'int4range', 'hstore', 'pair', 'interval day', 'money', 'xml', 'known']) {
    test(`${type} refuses it, and does not read it as text`, async () => {
      assert.deepEqual(await problems(type, {}, [1, 2]), [
        { pointer: '/data/0/a', value: '{}', code: 'nested-value' },
        { pointer: '/data/1/a', value: '[1,2]', code: 'nested-value' },
      ]);
    });
  }

  test('point[] refuses an object, and an object among its elements', async () => {
    assert.deepEqual(await problems('point[]', {}, ['1,2', { x: 1 }], 1, true), [
      { pointer: '/data/0/a', value: '{}', code: 'not-an-array' },
      { pointer: '/data/1/a/1', value: '{"x":1}', code: 'nested-value' },
      { pointer: '/data/2/a', value: '1', code: 'not-an-array' },
      { pointer: '/data/3/a', value: 'true', code: 'not-an-array' },
    ]);
  });

  test('an array of any text type stores objects as their JSON text', async () => {
    await service.rows('DROP TABLE IF EXISTS t; CREATE TABLE t (a citext[], b text[], c citext)');
    const value = { x: '"' };
    const data = [{ a: [value, 'y'], b: [value, 'y'], c: value }];
    assert.equal((await service.post('/table/t/upload/json?if_exists=append', { data })).status, 200);
    const text = '{"x":"\\""}';
    assert.deepEqual(await service.rows('SELECT a::text[] AS a, b, c FROM t'), [
      { a: [text, 'y'], b: [text, 'y'], c: text },
    ]);
  });
});

suite('a problem in an array names the element', () => {
  test('a problem in an array of a type with an encoder names the element', async () => {
    assert.deepEqual(
      await problems(
        'int[]',
        [1, 'x'],
        [
          [1, 2],
          [3, 2.5],
        ],
        [1, { y: 2 }],
        [1, 'a\n"b"'],
        [[1], [2, 3]],
      ),
      [
        { pointer: '/data/0/a/1', value: 'x', code: 'not-a-whole-number' },
        { pointer: '/data/1/a/1/1', value: '2.5', code: 'not-a-whole-number' },
        { pointer: '/data/2/a/1', value: '{"y":2}', code: 'nested-value' },
        { pointer: '/data/3/a/1', value: 'a\n"b"', code: 'not-a-whole-number' },
        { pointer: '/data/4/a', value: '[[1],[2,3]]', code: 'ragged-array' },
      ],
    );
  });

  test('a problem in an array of a domain with NOT NULL, or of a type that PostgreSQL reads, names the element', async () => {
    assert.deepEqual(await problems('known[]', ['1,2', null], [['1,2'], ['\u0000']], [['1,2'], []]), [
      { pointer: '/data/0/a/1', value: 'null', code: 'null-element' },
      { pointer: '/data/1/a/1/0', value: '\u0000', code: 'nul-character' },
      { pointer: '/data/2/a', value: '[["1,2"],[]]', code: 'ragged-array' },
    ]);
  });

  test('a cell that is not an array is named as a whole, also after one with a faulty element', async () => {
    await service.rows('DROP TABLE IF EXISTS t; CREATE TABLE t (a int[], b date)');
    const data = [{ a: ['x'], b: [1] }];
    const answer = await service.post('/table/t/upload/json?if_exists=append', { data });
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ pointer }) => pointer),
      ['/data/0/a/0', '/data/0/b'],
    );
  });
});

/** Values of types with an unusual text form, in SQL. */
const shown: Record<string, string[]> = {
  'int[]': ["'[0:1]={1,2}'", "'[-2:-1][5:6]={{1,2},{3,NULL}}'", "'{}'"],
  'box[]': ["'{(1,2),(3,4);(5,6),(7,8)}'", "'[2:2]={(1,2),(3,4)}'"],
  'citext[]': ["'[0:0]={a}'", `ARRAY['a,b', '"', '', 'NULL', NULL]`],
  '"char"': ["'a'", "''"],
  regclass: ["'pg_class'", '0', '999999999'],
  oid: ['4294967295::bigint'],
  interval: ["'-1 year -2 mons +3 days -04:05:06.7'", "'1 mon ago'", "'178956970 years'"],
  'interval year': ["'2 years'"],
  date: ["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'5874897-12-31'"],
  timestamptz: ["'0044-03-15 10:00:00+00 BC'", "'294276-12-31 23:59:59.999999'", "'infinity'"],
  timetz: ["'24:00:00-15:59:59'", "'10:00:00.000001+05:30'"],
  'double precision': ["'-0'", "'NaN'", "'-Infinity'", "'5e-324'", '1.7976931348623157e308'],
  real: ["'1e-45'", "'16777217'"],
  numeric: ["'NaN'", "'-Infinity'", '1e-16383'],
  bytea: [String.raw`'\x00ff'`, "''"],
  inet: ["'10/8'::cidr", "'::ffff:1.2.3.4/100'"],
  cidr: ["'10/8'"],
  macaddr: ["'8:0:2b:1:2:3'"],
  jsonb: [`'{"a": 1}'`],
  int4multirange: ["'{[1,3),[5,9)}'"],
  tsvector: ["'''a b'':1A c'"],
  money: ["'12.5'", "'-1'"],
  xml: ["'<a/>'"],
  pair: ["ROW('90 days', B'101')", 'ROW(NULL, NULL)'],
};

suite('a text that PostgreSQL shows can be loaded again', () => {
  for (const [type, values] of Object.entries(shown)) {
    test(type, async () => {
      const [{ version }] = (await service.rows(
        "SELECT current_setting('server_version_num')::int AS version",
      )) as [{ version: number }];
      const all = [...values];
      if (type === '"char"' && version >= 160000) all.push(String.raw`'\303'`, String.raw`'\001'`);
      if (type === 'interval' && version >= 170000) all.push("'infinity'", "'-infinity'");
      const casts = all.map((value, id) => `SELECT ${id} AS id, CAST(${value} AS ${type}) AS a`);
      await service.rows(`DROP TABLE IF EXISTS t, expected; CREATE TABLE t (id int, a ${type});
        CREATE TABLE expected (LIKE t); INSERT INTO expected ${casts.join(' UNION ALL ')}`);
      const texts = await service.rows('SELECT id, a::text AS a FROM expected');
      // A string in a JSON column becomes a JSON string.
      const data = type === 'jsonb' ? texts.map(({ id, a }) => ({ id, a: JSON.parse(String(a)) })) : texts;
      const answer = await service.post('/table/t/upload/json?if_exists=append', { data });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const differences = await service.rows(`SELECT t.a::text AS ours, e.a::text AS theirs
        FROM t JOIN expected e USING (id) WHERE NOT record_image_eq(ROW(t.a), ROW(e.a))`);
      assert.deepEqual(differences, []);
      assert.equal((await service.rows('SELECT FROM t')).length, all.length);
    });
  }
});

test('"char" accepts one byte and refuses longer texts', async () => {
  assert.deepEqual(await problems('"char"', 'abc', 'é', true, '\u0000'), [
    { pointer: '/data/0/a', value: 'abc', code: 'too-long' },
    { pointer: '/data/1/a', value: 'é', code: 'too-long' },
    { pointer: '/data/2/a', value: 'true', code: 'too-long' },
    { pointer: '/data/3/a', value: '\u0000', code: 'nul-character' },
  ]);
});

test('an interval with the fields of infinity is out of range if the server has infinite intervals', async () => {
  const [{ version }] = (await service.rows(
    "SELECT current_setting('server_version_num')::int AS version",
  )) as [{ version: number }];
  const fields = [
    '178956970 years 7 months 2147483647 days 2562047788:00:54.775807',
    '-178956970 years -8 months -2147483648 days -2562047788:00:54.775808',
  ];
  if (version < 170000) return;
  for (const type of ['interval', 'interval(6)']) {
    assert.deepEqual(
      await problems(type, ...fields),
      fields.map((value, row) => ({ pointer: `/data/${row}/a`, value, code: 'out-of-range' })),
    );
  }
  assert.deepEqual(await problems('interval[]', ['1 day', fields[1]]), [
    { pointer: '/data/0/a/1', value: fields[1], code: 'out-of-range' },
  ]);
});

test('repeated keys of nested objects are kept in json and give a warning for jsonb', async () => {
  const data = '[{"a":{"k":1,"k":2},"b":[{"x":{"k":1}}]},{"a":[{"c":{"k":1,"\\u006b":2}}],"b":{"k":1}}]';
  const send = (table: string, body: string) =>
    service.request('POST', `/table/${table}/upload/json`, {
      body,
      headers: { 'content-type': 'application/json' },
    });
  const inferred = await send('repeated_json', `{"data":${data}}`);
  assert.equal(inferred.status, 201, JSON.stringify(inferred.body));
  assert.deepEqual(
    inferred.body.table.columns.map(({ type }: { type: string }) => type),
    ['json', 'jsonb'],
  );
  assert.deepEqual(inferred.body.load.warnings, []);
  assert.deepEqual(await service.rows('SELECT a::text AS a FROM repeated_json'), [
    { a: '{"k":1,"k":2}' },
    { a: '[{"c":{"k":1,"\\u006b":2}}]' },
  ]);
  const table = '{"columns":[{"name":"a","type":"jsonb"},{"name":"b","type":"jsonb[]"}]}';
  const rows = '[{"a":{"k":1}},{"a":{"k":1,"k":2},"b":[{"y":1},{"x":1,"x":2}]},{"a":[{"k":1,"k":2}]}]';
  const warned = await send('repeated_jsonb', `{"table":${table},"data":${rows}}`);
  assert.deepEqual(warned.body.load.warnings, [
    {
      code: 'repeated-keys',
      column: 'a',
      detail:
        'In 2 values of "a" an object names a key twice (first in row 2); jsonb kept only the last value of the key. A column of the type json keeps both.',
    },
    {
      code: 'repeated-keys',
      column: 'b',
      detail:
        'In one value of "b" an object names a key twice (first in row 2); jsonb kept only the last value of the key. A column of the type json keeps both.',
    },
  ]);
});
