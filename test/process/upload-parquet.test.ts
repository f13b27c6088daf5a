/** Upload Table From Excel with Parquet files, over HTTP. DuckDB writes the files. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { parquetOf, wideParquet } from '../support/parquet-file.ts';
import { assertProblem, places } from '../support/problem.ts';
import { randomNumbers } from '../support/random-numbers.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';
import { fileInspector, fileUploader, warningsOf } from '../support/uploads.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('parquet');
const upload = fileUploader(() => service);
const inspect = fileInspector(() => service);

/** Each type of a file: a value in DuckDB, the type of the column, and the text of the value in PostgreSQL. */
const values: [value: string, type: string, text: string][] = [
  ['true', 'boolean', 'true'],
  ["'-128'::TINYINT", 'smallint', '-128'],
  ['255::UTINYINT', 'smallint', '255'],
  ["'-32768'::SMALLINT", 'smallint', '-32768'],
  ['65535::USMALLINT', 'integer', '65535'],
  ["'-2147483648'::INTEGER", 'integer', '-2147483648'],
  ['4294967295::UINTEGER', 'bigint', '4294967295'],
  ['9223372036854775807::BIGINT', 'bigint', '9223372036854775807'],
  ["'-9223372036854775808'::BIGINT", 'bigint', '-9223372036854775808'],
  ['18446744073709551615::UBIGINT', 'numeric(20,0)', '18446744073709551615'],
  ['0.1::FLOAT', 'real', '0.1'],
  ['3.4028235e38::FLOAT', 'real', '3.4028235e+38'],
  ['0.1::DOUBLE + 0.2::DOUBLE', 'double precision', '0.30000000000000004'],
  ["'NaN'::DOUBLE", 'double precision', 'NaN'],
  ["'-Infinity'::FLOAT", 'real', '-Infinity'],
  ["'-0'::DOUBLE", 'double precision', '-0'],
  ["'-0.05'::DECIMAL(4, 2)", 'numeric(4,2)', '-0.05'],
  ['12345678901234.5678::DECIMAL(18, 4)', 'numeric(18,4)', '12345678901234.5678'],
  [
    "'-99999999999999999999999999.999999999999'::DECIMAL(38, 12)",
    'numeric(38,12)',
    '-99999999999999999999999999.999999999999',
  ],
  ["DATE '2024-02-29'", 'date', '2024-02-29'],
  ["DATE '0044-03-15 (BC)'", 'date', '0044-03-15 BC'],
  ["TIME '23:59:59.999999'", 'time without time zone', '23:59:59.999999'],
  ["TIMESTAMP '1969-12-31 23:59:59.123456'", 'timestamp without time zone', '1969-12-31 23:59:59.123456'],
  ["TIMESTAMP_S '2024-02-29 01:02:03'", 'timestamp without time zone', '2024-02-29 01:02:03'],
  ["TIMESTAMP_MS '2024-02-29 01:02:03.004'", 'timestamp without time zone', '2024-02-29 01:02:03.004'],
  ["TIMESTAMP_NS '2024-02-29 01:02:03.004005'", 'timestamp without time zone', '2024-02-29 01:02:03.004005'],
  ["TIMESTAMP_NS '1900-01-01 00:00:00.000001'", 'timestamp without time zone', '1900-01-01 00:00:00.000001'],
  ["TIMESTAMPTZ '2024-02-29 01:02:03+02:00'", 'timestamp with time zone', '2024-02-28 23:02:03+00'],
  ["'0192f7a8-0000-7000-8000-0000000000ff'::UUID", 'uuid', '0192f7a8-0000-7000-8000-0000000000ff'],
  ["INTERVAL '13 months 2 days 3.004 seconds'", 'interval', '1 year 1 mon 2 days 00:00:03.004'],
  ["'2024-01-01'", 'text', '2024-01-01'],
  ["' \u00e4 '", 'text', ' \u00e4 '],
  ["''", 'text', ''],
  ["'happy'::ENUM('sad', 'happy')", 'text', 'happy'],
  ["'\\x00\\xFF'::BLOB", 'bytea', '\\x00ff'],
  ['\'{"b": 1.50, "a": [null]}\'::JSON', 'jsonb', '{"a": [null], "b": 1.50}'],
  ['\'"[1]"\'::JSON', 'jsonb', '"[1]"'],
  ['\'"{\\"a\\": 1}"\'::JSON', 'jsonb', '"{\\"a\\": 1}"'],
  ['[1, NULL, 3]', 'jsonb', '[1, null, 3]'],
  ['[]::INTEGER[]', 'jsonb', '[]'],
  ["[['a', '\"'], [], NULL]", 'jsonb', '[["a", "\\""], [], null]'],
  ["MAP {'k': 1.5::DECIMAL(5, 2), 'n': NULL}", 'jsonb', '{"k": 1.50, "n": null}'],
  ['MAP {7: [true]}', 'jsonb', '{"7": [true]}'],
  ['MAP {\'{"a":1}\'::JSON: 2}', 'jsonb', '{"{\\"a\\":1}": 2}'],
  [
    "{'a': 9007199254740993::BIGINT, 'b': {'c': NULL}, 'd': 'NaN'::DOUBLE, 't': TIMESTAMPTZ '2024-01-01 00:00:00+00', 'x': '\\x0A'::BLOB}",
    'jsonb',
    '{"a": 9007199254740993, "b": {"c": null}, "d": "NaN", "t": "2024-01-01T00:00:00Z", "x": "\\\\x0a"}',
  ],
  [
    "[{'a': 1, 'b': ['x']}, {'a': NULL, 'b': NULL}, NULL]",
    'jsonb',
    '[{"a": 1, "b": ["x"]}, {"a": null, "b": null}, null]',
  ],
];

const codecs = ['UNCOMPRESSED', 'SNAPPY', 'GZIP', 'ZSTD', 'BROTLI', 'LZ4_RAW'];

for (const options of [
  ...codecs.map((codec) => `COMPRESSION ${codec}`),
  'PARQUET_VERSION V2, COMPRESSION ZSTD',
]) {
  test(`every type of a file gives its type and its exact value: ${options}`, async () => {
    const columns = values.map(([value], index) => `${value} AS c${index}`);
    const nulls = values.map(() => 'NULL');
    const query = `SELECT ${columns} UNION ALL SELECT ${nulls} UNION ALL SELECT ${columns}`;
    const name = nextTable();
    const { status, body } = await upload(name, await parquetOf(query, options));
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(warningsOf({ status, body } as never), []);
    assert.equal(body.load.format, 'parquet');
    assert.deepEqual(
      body.table.columns.map(({ type }: { type: string }) => type),
      values.map(([, type]) => type),
    );
    const texts = values.map((_, index) => `c${index}::text`);
    const rows = await service.rows(`SELECT ${texts} FROM ${name} ORDER BY ctid`);
    const expected = Object.fromEntries(values.map(([, , text], index) => [`c${index}`, text]));
    assert.deepEqual(rows[0], expected);
    assert.deepEqual(new Set(Object.values(rows[1]!)), new Set([null]));
    assert.deepEqual(rows[2], expected);
  });
}

test('rows of many pages and row groups are loaded in order, with nulls, dictionaries and lists', async () => {
  const query = `SELECT i::INTEGER AS id, CASE WHEN i % 7 > 0 THEN 'v' || (i % 50) END AS word,
    CASE WHEN i % 5 > 0 THEN [x FOR x IN range(i % 4)] END AS list, i * 1000003 AS long
    FROM range(30000) t(i)`;
  const name = nextTable();
  const { body } = await upload(name, await parquetOf(query, 'ROW_GROUP_SIZE 4096'));
  assert.equal(body.load?.rows, 30_000, JSON.stringify(body));
  const [wrong] =
    await service.rows(`SELECT count(*)::int AS count FROM (SELECT *, row_number() OVER (ORDER BY ctid) - 1 AS i FROM ${name}) r
    WHERE id <> i OR long <> i * 1000003 OR word IS DISTINCT FROM CASE WHEN i % 7 > 0 THEN 'v' || (i % 50) END
    OR list IS DISTINCT FROM CASE WHEN i % 5 > 0 THEN (SELECT coalesce(jsonb_agg(x), '[]') FROM generate_series(0, i % 4 - 1) x) END`);
  assert.deepEqual(wrong, { count: 0 });
});

test('with a definition the values are converted or are problems, by row and column', async () => {
  const file = await parquetOf(
    "SELECT * FROM (VALUES (1, '5', 'a'::BLOB), (300000, 'x', 'b'::BLOB)) t(n, s, b)",
  );
  const columns = [
    { name: 'n', type: 'smallint' },
    { name: 's', type: 'integer' },
    { name: 'b', type: 'text' },
  ];
  const { errors } = assertProblem(
    await upload(nextTable(), file, '', { table: { columns } }),
    422,
    'invalid-data',
  );
  assert.deepEqual(places(errors), [
    { row: 2, column: 'n', value: '300000', code: 'out-of-range' },
    { row: 2, column: 's', value: 'x', code: 'not-a-whole-number' },
  ]);
  assert.ok(errors.every(({ cell, sheet }) => cell === undefined && sheet === undefined));
  const name = nextTable();
  const leftOut = await upload(name, file, '?faulty_rows=leave_out', { table: { columns } });
  assert.equal(leftOut.status, 201, JSON.stringify(leftOut.body));
  assert.deepEqual(await service.rows(`SELECT * FROM ${name}`), [{ n: 1, s: 5, b: 'a' }]);
});

test('values that PostgreSQL cannot store are problems', async () => {
  const file = await parquetOf(
    "SELECT TIMESTAMP_NS '2024-01-01 00:00:00.000000001' AS t, [TIMESTAMP_NS '2024-01-01 00:00:00.5', TIMESTAMP_NS '2024-01-01 00:00:00.123456789'] AS l, chr(0) AS s",
  );
  const { errors } = assertProblem(await upload(nextTable(), file), 422, 'invalid-data');
  assert.deepEqual(
    errors.map(({ row, column, code, value }) => [row, column, code, value?.slice(0, 9)]),
    [
      [1, 't', 'has-nanoseconds', '170406720'],
      [1, 'l', 'has-nanoseconds', '170406720'],
      [1, 's', 'nul-character', '\0'],
    ],
  );
});

test('bytes that are not UTF-8 are a problem in a text column', async () => {
  const file = await parquetOf("SELECT '\\xFF'::BLOB AS b");
  const { errors } = assertProblem(
    await upload(nextTable(), file, '', { table: { columns: [{ name: 'b', type: 'text' }] } }),
    422,
    'invalid-data',
  );
  assert.deepEqual(errors[0]?.code, 'bytes-not-text');
});

test('an instant keeps its offset in text, and its loss is a warning', async () => {
  const file = await parquetOf(
    "SELECT TIMESTAMPTZ '2024-01-01 00:00:00.5+00' AS t, TIMESTAMPTZ '2024-01-01 00:00:00+00' AS s",
  );
  const name = nextTable();
  const columns = [
    { name: 't', type: 'text' },
    { name: 's', type: 'timestamp' },
  ];
  const answer = await upload(name, file, '', { table: { columns } });
  assert.match(warningsOf(answer).join(), /^offset-left-out: /);
  assert.deepEqual(await service.rows(`SELECT t, s::text FROM ${name}`), [
    { t: '2024-01-01T00:00:00.5Z', s: '2024-01-01 00:00:00' },
  ]);
});

test('parameters of texts and columns work, and those of sheets are refused by name', async () => {
  const file = await parquetOf('SELECT \'n/a\' AS "First Name", 1.5::DOUBLE AS x');
  const name = nextTable();
  const answer = await upload(
    name,
    file,
    '?column_names=snake_case&null_values=n%2Fa&rename=x:y&all_text=true',
  );
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(await service.rows(`SELECT * FROM ${name}`), [{ first_name: null, y: '1.5' }]);
  for (const query of [
    'range=A:B',
    'header_row=2',
    'header=false',
    'header_row=auto',
    'table_range=A1:B2',
    'fill_down=a',
    'delimiter=%3B',
  ]) {
    const refused = await upload(nextTable(), file, `?${query}`);
    const { detail } = assertProblem(refused, 422, 'invalid-parameter');
    assert.match(detail, new RegExp(query.split('=')[0]!), query);
  }
});

test('lists that are NULL or empty, in pages of the second version as Arrow writes them', async () => {
  // PyArrow 25, with data_page_version='2.0': [[{'x': 1}, {'x': None}], [], None, [None]] as list<struct<x: int32>>.
  const file =
    'UEFSMRUGFRQVFFwVChUEFQgVABUIFQQSHAAAAAMCA1wgAAEAAAAVBBlcNQAYBnNjaGVtYRUCADUCGAF2FQIVBkw8AAAANQQYBGxpc3QVAgA1AhgHZWxlbWVudBUCABUCJQIYAXgA' +
    'FggZHBkcJgAcFQIZJQYAGUgBdgRsaXN0B2VsZW1lbnQBeBUEFgoWRBZEJghJHBUAFQAVAgA8KSYIAhlWAgICAgIAAAAWRBYIJggWRAAoIHBhcnF1ZXQtY3BwLWFycm93IHZlcnNp' +
    'b24gMjUuMC4xGRwcAAAAtQAAAFBBUjE=';
  const { status, body } = await inspect(Buffer.from(file, 'base64'));
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.sheet.rows, [['[{"x":1},{"x":null}]'], ['[]'], [null], ['[null]']]);
});

test('an inspection shows the stated types and the first rows', async () => {
  const file = await parquetOf(
    "SELECT 5::SMALLINT AS n, NULL::VARCHAR AS s, [1] AS l, '\\x00\\xFF'::BLOB AS b",
  );
  const { status, body } = await inspect(gzipSync(file));
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.sheet.definition.columns, [
    { name: 'n', type: 'smallint' },
    { name: 's', type: 'text' },
    { name: 'l', type: 'jsonb' },
    { name: 'b', type: 'bytea' },
  ]);
  assert.deepEqual(body.sheet.rows, [['5', null, '[1]', '\\x00ff']]);
  assert.deepEqual(body.proposal.reasons, ['The file states the names and types of its columns.']);
});

test('an inspection shows only the beginning of a very long name', async () => {
  const { status, body } = await inspect(wideParquet(2, 100_000));
  assert.equal(status, 200, JSON.stringify(body).slice(0, 1000));
  assert(JSON.stringify(body).length < 10_000, 'the answer is long');
});

test('a file without rows is appended to a table that has its columns, and makes none', async () => {
  const name = nextTable();
  const empty = await parquetOf('SELECT 1 AS a WHERE false');
  assertProblem(await upload(name, empty), 422, 'nothing-to-load');
  await upload(name, await parquetOf('SELECT 1 AS a'));
  const { status, body } = await upload(name, empty, '?if_exists=append');
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.load.rows, 0);
});

test('a small file with long repeated values is refused at the limit of what a file expands to', async () => {
  const file = await parquetOf("SELECT repeat('x', 1000) AS a FROM range(300000)");
  assert.ok(file.length < 100_000);
  const { detail } = assertProblem(await upload(nextTable(), file), 413, 'limit-exceeded');
  assert.match(detail, /The cells have too many bytes for a file of this size, up to row /);
});

/** Returns the number of running reader processes of the service, which runs in this process. */
function readerCount(): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      const isReader = readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('parquet/reader-process');
      return isReader && readFileSync(`/proc/${pid}/status`, 'latin1').includes(`PPid:\t${process.pid}\n`);
    } catch {
      return false;
    }
  }).length;
}

test('damaged files are refused or loaded with values of their types, and the service continues', async () => {
  const file = await parquetOf(
    "SELECT i::INTEGER AS id, 'word ' || (i % 9) AS word, [i, NULL] AS list, i / 7 AS ratio FROM range(500) t(i)",
    'ROW_GROUP_SIZE 200, COMPRESSION UNCOMPRESSED',
  );
  const seed = Number(process.env.SEED ?? 20_261);
  const random = randomNumbers(seed);
  for (let round = 0; round < sized(20, 30); round++) {
    const damaged = Buffer.from(file);
    // The footer has most of the numbers that can be lies.
    const from = round % 2 === 0 ? 4 : file.length - 8 - file.readUInt32LE(file.length - 8);
    for (let count = random(3) + 1; count > 0; count--)
      damaged[from + random(file.length - from)] = random(256);
    const sent = round % 5 === 0 ? damaged.subarray(0, random(file.length)) : damaged;
    const { status, body } = await upload(nextTable(), sent);
    const isRefused = [400, 413, 422].includes(status) && body.code !== undefined;
    assert.ok(
      isRefused || (status === 201 && body.load.rows === 500) || status === 201,
      `seed ${seed}, round ${round}: ${status} ${JSON.stringify(body)}`,
    );
  }
  assert.equal((await upload(nextTable(), file)).status, 201);
  if (existsSync('/proc/self/cmdline')) assert.equal(readerCount(), 0);
});

test('rows of NULL count, because a small file can have millions of them', async () => {
  const file = await parquetOf('SELECT NULL::INTEGER AS a FROM range(9000000)', 'COMPRESSION zstd');
  assert.ok(file.length < 100_000, `${file.length} bytes`);
  const { detail } = assertProblem(await upload(nextTable(), file), 413, 'limit-exceeded');
  assert.match(detail, /^The cells have too many bytes for a file of this size/);
});
