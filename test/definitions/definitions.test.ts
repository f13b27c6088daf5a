/**
 * Definitions with a real PostgreSQL: refused definitions with the reasons, existing tables, and tables that other sessions
 * create meanwhile.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ClientBase } from 'pg';
import pg from 'pg';
import { AppError } from '../../src/core/errors.ts';
import { compareWithExisting } from '../../src/engine/tables/compare-definition.ts';
import { createTableWithin } from '../../src/engine/tables/create-table.ts';
import { describeTable } from '../../src/engine/tables/describe-table.ts';
import { readLoadColumns } from '../../src/engine/tables/loading/read-load-columns.ts';
import { inTransaction } from '../../src/postgres/transaction.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { untilWaitsForLock } from '../support/locks.ts';
import { rolledBack } from '../support/rolled-back.ts';
import { hasOrdinaryTablesOfCitus } from '../support/service.ts';

let database: TestDatabase;

before(async () => {
  database = await createTestDatabase();
  await database.pool.query(`
    CREATE SCHEMA other;
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'so ''so''');
    CREATE TYPE other.hidden AS ENUM ('x');
    CREATE TYPE pair AS (a integer, b text);
    CREATE DOMAIN positive AS integer CONSTRAINT "is positive" CHECK (value > 0);
    CREATE DOMAIN code AS varchar(3) NOT NULL;
    CREATE DOMAIN day AS date;
    CREATE DOMAIN codes AS code CHECK (value <> 'bad');
    CREATE SEQUENCE numbers;
    CREATE FUNCTION next_id() RETURNS integer LANGUAGE sql AS 'SELECT 7';
    CREATE FUNCTION all_ids() RETURNS SETOF integer LANGUAGE sql AS 'SELECT 7';
    CREATE TABLE customers (id bigint PRIMARY KEY, code text UNIQUE, plain integer, part varchar(9),
      a integer, b integer, UNIQUE (a, b), early integer UNIQUE DEFERRABLE);
    CREATE UNIQUE INDEX ON customers (part) WHERE part <> '';
    CREATE UNLOGGED TABLE fleeting (id bigint PRIMARY KEY);
    CREATE TABLE other.customers (id bigint PRIMARY KEY);
    CREATE TABLE tags (codes varchar(3)[] PRIMARY KEY, names text[] UNIQUE);
    CREATE VIEW customer_view AS SELECT * FROM customers`);
  // Only a superuser may create a type without a body.
  const admin = new pg.Client(database.adminUrl ?? database.url);
  await admin.connect();
  await admin.query('CREATE TYPE shell');
  await admin.end();
});

after(() => database.drop());

/** Creates `subject` in `public` and rolls back. Returns the description, or `pointer code` of every problem. */
async function create(table: unknown, extraFunctions: string[] = []) {
  return rolledBack(database.pool, async (client) => {
    try {
      return await createTableWithin(client, {
        schema: 'public',
        name: 'subject',
        table,
        ifNotExists: false,
        extraFunctions,
      });
    } catch (error) {
      if (error instanceof AppError && error.errors) return error;
      throw error;
    }
  });
}

async function faultsOf(table: unknown): Promise<string[]> {
  const result = await create(table);
  return result instanceof AppError ? result.errors!.map(({ pointer, code }) => `${pointer} ${code}`) : [];
}

async function detailOf(table: unknown): Promise<string> {
  const result = await create(table);
  assert.ok(result instanceof AppError, 'it was created');
  return result.errors!.map(({ detail }) => detail).join('\n');
}

/** Returns the default of one column as the service answers it, or its problem. */
async function defaultOf(type: string, text: string, extraFunctions: string[] = []): Promise<string | null> {
  const result = await create({ columns: [{ name: 'c', type, default: text }] }, extraFunctions);
  return result instanceof AppError ? `422 ${result.errors![0]!.detail}` : result.table.columns[0]!.default;
}

test('types come back in their canonical form', async () => {
  const types: [string, string][] = [
    ['string', 'text'],
    ['STRING(20)', 'character varying(20)'],
    ['double', 'double precision'],
    ['number(10,2)', 'numeric(10,2)'],
    ['datetime', 'timestamp without time zone'],
    ['blob', 'bytea'],
    ['object[]', 'jsonb[]'],
    ['int', 'integer'],
    ['int8', 'bigint'],
    ['dec(5)', 'numeric(5,0)'],
    ['float(24)', 'real'],
    ['varchar', 'character varying'],
    ['nchar varying (7)', 'character varying(7)'],
    ['char', 'character(1)'],
    ['bpchar', 'bpchar'],
    ['"char"', '"char"'],
    ['bit', 'bit(1)'],
    ['bit varying(5)[][]', 'bit varying(5)[]'],
    ['timestamp(3) with time zone', 'timestamp(3) with time zone'],
    ['timetz', 'time with time zone'],
    ['interval(2)', 'interval(2)'],
    ['interval hour to second(2)', 'interval hour to second(2)'],
    ['interval year to month', 'interval year to month'],
    ['mood', 'mood'],
    ['other.hidden', 'other.hidden'],
    ['"other"."hidden"[]', 'other.hidden[]'],
    ['pair', 'pair'],
    ['"customers"', 'public.customers'],
    ['codes', 'codes'],
    ['pg_catalog.int4', 'integer'],
    ['_text', 'text[]'],
    ['serial4', 'serial'],
    ['BIGSERIAL', 'bigserial'],
  ];
  const result = await create({ columns: types.map(([type], index) => ({ name: `c${index}`, type })) });
  assert.ok(!(result instanceof AppError), JSON.stringify(result));
  const expected = types.map(([, type]) =>
    type === 'bpchar'
      ? result.table.columns.find(({ id }) => id === types.findIndex(([t]) => t === 'bpchar') + 1)!.type
      : type,
  );
  assert.deepEqual(
    result.table.columns.map(({ type }) => type),
    expected,
  );
});

test('unknown types are refused with the name that was probably meant', async () => {
  const detail = (type: string) => detailOf({ columns: [{ name: 'c', type }] });
  assert.match(await detail('tekst'), /there is no type "tekst".*"text"/);
  assert.match(await detail('integr[]'), /"integer"/);
  assert.match(await detail('mod'), /"mood"/);
  assert.match(await detail('bigserail'), /"bigserial"/);
  assert.match(await detail('hidden'), /there is no type "hidden".*"other.hidden"/);
  assert.match(await detail('"Text"'), /there is no type/);
  assert.match(await detail('text(5)'), /"text\(5\)": the type does not accept this in parentheses/);
  assert.match(await detail('varchar(0)'), /the length must be 1 to 10485760/);
  assert.match(await detail('numeric(5000,2)'), /the precision must be 1 to 1000/);
  assert.match(await detail('float(99)'), /the precision must be 1 to 53/);
  assert.match(await detail('varchar(max)'), /the length must be/);
  assert.match(await detail('anyelement'), /pseudo-type/);
  assert.match(await detail('record[]'), /pseudo-type/);
  assert.match(await detail('void'), /pseudo-type/);
  for (const type of [
    'shell',
    'text, b int',
    'foo bar',
    'select',
    '_text[]',
    'nowhere.mood',
    'serial[]',
    'mood.x.y',
  ]) {
    const [fault] = await faultsOf({ columns: [{ name: 'c', type }] });
    assert.equal(fault, '/table/columns/0/type unknown-type', type);
  }
});

test('a type of another database or language is refused with the type to send', async () => {
  const remedies: Record<string, RegExp> = {
    "enum('a','b')": /Send "text", or the name of an enum/,
    'int(11)': /Send "int" without parentheses\.$/,
    'BIGINT(20)': /Send "bigint" without parentheses\.$/,
    'tinyint(1)': /Send "boolean", or "smallint" for numbers\.$/,
    'int unsigned': /without "unsigned"/,
    'int auto_increment': /Send "serial" or "bigserial"\.$/,
    'varchar(max)': /Send "text"\.$/,
    'nvarchar(MAX)': /Send "text"\.$/,
    'varbinary(max)': /Send "bytea"\.$/,
    'varchar2(50)': /Send "varchar\(50\)"\.$/,
    'timestamp with timezone': /Send "timestamp with time zone"\.$/,
    'timestamp(3) without timezone': /Send "timestamp\(3\) without time zone"\.$/,
    'array<string>': /Send "string\[\]"\.$/,
    'List[int]': /Send "int\[\]"\.$/,
  };
  for (const [type, remedy] of Object.entries(remedies)) {
    assert.match(await detailOf({ columns: [{ name: 'c', type }] }), remedy, type);
  }
});

test('a default is read by the documented rule', async () => {
  assert.equal(await defaultOf('text', 'user'), "'user'::text");
  assert.equal(await defaultOf('text', 'order'), "'order'::text");
  assert.equal(await defaultOf('text', 'null'), "'null'::text");
  assert.equal(await defaultOf('text', ''), "''::text");
  assert.equal(await defaultOf('text', "''"), "''::text");
  assert.equal(await defaultOf('text', "O'Brien"), "'O''Brien'::text");
  assert.equal(await defaultOf('text', 'now'), "'now'::text");
  assert.equal(await defaultOf('text', 'now()'), 'now()');
  assert.equal(await defaultOf('text', '1; drop table x'), "'1; drop table x'::text");
  assert.equal(await defaultOf('text', "'a'::varchar(1)"), "'a'::character varying(1)");
  assert.equal(await defaultOf('timestamptz', 'now()'), 'now()');
  assert.match((await defaultOf('int', "'a'::int"))!, /^422 .*not valid for the type int/);
  assert.match((await defaultOf('int', ''))!, /^422 .*send null/);
  assert.match((await defaultOf('int', 'null'))!, /^422 .*send null/);
  assert.match((await defaultOf('date', 'pg_sleep(60)'))!, /^422 .*gen_random_uuid/);
  assert.match((await defaultOf('int', 'now()'))!, /^422 .*cannot be stored in/);
  assert.match((await defaultOf('int', 'random()'))!, /random/);
  assert.match((await defaultOf('text', "to_timestamp('x', 'YYYY')"))!, /^422/);
  assert.match((await defaultOf('text', 'now(1)'))!, /^422 .*does not accept these arguments/);
  assert.match((await defaultOf('varchar(3)', 'abcd'))!, /^422 .*too long/);
  assert.match((await defaultOf('varchar(3)', "'abcd'::text"))!, /^422 .*too long/);
  assert.match((await defaultOf('varchar(3)', 'now()'))!, /^422 .*too long/);
  assert.match((await defaultOf('bit(2)', "B'101'"))!, /^422 .*too long/);
  assert.match((await defaultOf('numeric(3,1)', '1000'))!, /^422 .*out of the range/);
  assert.match((await defaultOf('smallint', '40000'))!, /^422 .*out of the range/);
  assert.match((await defaultOf('positive', '0'))!, /^422 .*"is positive"/);
  assert.match((await defaultOf('codes', 'long!'))!, /^422 .*too long/);
  assert.match((await defaultOf('jsonb', '{'))!, /^422/);
  assert.match((await defaultOf('jsonb', '['.repeat(100_000)))!, /^422 .*too deeply nested/);
  assert.match((await defaultOf('mood', 'glad'))!, /^422/);
  assert.match((await defaultOf('int', "'x'::nosuch"))!, /^422 there is no type/);
  assert.match((await defaultOf('boolean', "'1'::integer"))!, /^422 .*cannot be stored in/);
  assert.match((await defaultOf('serial', '1'))!, /^422 .*PostgreSQL numbers a serial column itself/);
});

test('a default that means the present, but is read only once, is refused with the remedy', async () => {
  const types = {
    CURRENT_DATE: ['date', 'day'],
    LOCALTIME: ['time', 'time(0)'],
    CURRENT_TIME: ['timetz'],
    'now()': ['timestamp', 'timestamptz(3)'],
    // No expression makes an array or a range of the moment of each row.
    '': [
      'date[]',
      'daterange',
      'datemultirange',
      'daterange[]',
      'datemultirange[]',
      'time[]',
      'timetz[]',
      'timestamp[]',
      'timestamptz[]',
      'tsrange',
      'tstzrange',
      'tsrange[]',
      'tstzrange[]',
      'tsmultirange',
      'tstzmultirange',
      'tsmultirange[]',
      'tstzmultirange[]',
    ],
  };
  for (const [remedy, names] of Object.entries(types)) {
    for (const type of names) {
      const inRange = type.includes('range') ? `[now,]` : 'now';
      const inSet = type.includes('multirange') ? `{${inRange}}` : inRange;
      const text = type.endsWith('[]') ? `{"${inSet}"}` : inSet;
      for (const written of [text, text.toUpperCase(), `'${text}'`, `'${text}'::${type}`]) {
        const answer = await defaultOf(type, written);
        assert.match(answer!, /^422 .*only once/, `${type} ${written}`);
        assert.ok(answer!.includes(remedy === '' ? 'leave the default out' : `Send ${remedy}`), answer!);
      }
      if (remedy !== '') assert.doesNotMatch((await defaultOf(type, remedy)) ?? '', /^422/);
    }
  }
  for (const text of [
    'today',
    'Tomorrow',
    'yesterday',
    'today 12:00',
    "'now()'",
    '-now-',
    "date_trunc('day', 'now')",
    "date_trunc('day', 'today'::date)",
    "timezone('utc', 'now')",
    "'today'::date",
    "('today'::date)::timestamptz",
  ])
    assert.match((await defaultOf('timestamptz', text))!, /^422 .*only once/, text);
  for (const text of [
    'epoch',
    'infinity',
    '-infinity',
    'now()',
    "('now'::text)::date",
    'CURRENT_DATE',
    '2026-11-21',
  ])
    assert.doesNotMatch((await defaultOf('timestamptz', text))!, /^422/, text);
  assert.equal(await defaultOf('time', 'allballs'), "'00:00:00'::time without time zone");
  for (const type of ['text', 'varchar(9)', 'text[]', 'jsonb'])
    assert.doesNotMatch((await defaultOf(type, type === 'text[]' ? '{now}' : '"now"'))!, /^422/, type);
  assert.equal(await defaultOf('text', "json_build_object('a', 'now')"), "json_build_object('a', 'now')");
});

test('a default may use an existing sequence, and checking it uses no number', async () => {
  assert.equal(await defaultOf('int', "nextval('numbers')"), "nextval('numbers'::regclass)");
  assert.equal(
    await defaultOf('text', "to_char(nextval('numbers'), 'FM000')"),
    "to_char(nextval('numbers'::regclass), 'FM000'::text)",
  );
  assert.match((await defaultOf('int', "nextval('nosuch')"))!, /^422 there is no sequence "nosuch"/);
  assert.match((await defaultOf('int', "nextval('')"))!, /^422 there is no sequence/);
  assert.match((await defaultOf('int', "nextval('a.b.c.d')"))!, /^422 there is no sequence/);
  assert.match((await defaultOf('int', "nextval('customers')"))!, /^422 "customers" is not a sequence/);
  assert.match((await defaultOf('int', 'nextval(1)'))!, /^422 nextval takes the name/);
  assert.match((await defaultOf('date', "nextval('numbers')"))!, /^422 .*cannot be stored in/);
  const { rows } = await database.pool.query('SELECT is_called FROM numbers');
  assert.deepEqual(rows, [{ is_called: false }]);
});

test('more functions can be allowed by name if they return one value', async () => {
  assert.match((await defaultOf('int', 'next_id()'))!, /^422/);
  assert.equal(await defaultOf('int', 'next_id()', ['next_id']), 'next_id()');
  assert.equal(await defaultOf('int', 'public.next_id()', ['public.next_id']), 'next_id()');
  assert.match((await defaultOf('int', 'all_ids()', ['all_ids']))!, /^422 .*no function all_ids/);
  assert.match((await defaultOf('int', 'no_such()', ['no_such']))!, /^422 .*no function no_such/);
});

test('all errors of a definition are reported in one answer, each with its place', async () => {
  const fk = (column: string, table: string, reference: string, schema?: string) => ({
    column,
    reference_table: table,
    reference_column: reference,
    ...(schema && { reference_schema: schema }),
  });
  assert.deepEqual(
    await faultsOf({
      columns: [
        { name: 'a', type: 'tekst', default: "nextval('nosuch')" },
        { name: 'b', type: 'varchar(0)' },
        { name: 'c', type: 'int', default: 'abc' },
        { name: 'd', type: 'varchar(2)', default: 'abc' },
        { name: 'e', type: 'json', nullable: true },
        { name: 'f', type: 'point' },
        { name: 'c', type: 'text' },
      ],
      constraints: {
        primary_key: { name: 'numbers', columns: ['e', 'nope'] },
        unique: [{ columns: ['f'] }],
        foreign_keys: [
          fk('c', 'nosuch', 'id'),
          fk('c', 'customers', 'nope'),
          fk('c', 'customers', 'plain'),
          fk('c', 'customers', 'part'),
          fk('c', 'customers', 'early'),
          fk('c', 'customers', 'code'),
          fk('c', 'customers', 'id', 'nowhere'),
          fk('c', 'customer_view', 'id'),
          fk('c', 'fleeting', 'id'),
          fk('c', 'pg_class', 'oid', 'pg_catalog'),
          fk('c', 'subject', 'c'),
          { name: 'x', ...fk('c', 'customers', 'a') },
          { name: 'x', ...fk('d', 'customers', 'id') },
        ],
      },
    }),
    [
      '/table/columns/0/default unknown-sequence',
      '/table/columns/0/type unknown-type',
      '/table/columns/1/type invalid-type-modifier',
      '/table/columns/2/default invalid-default',
      '/table/columns/3/default invalid-default',
      '/table/columns/4/nullable unknown-property',
      '/table/columns/6/name duplicate-column',
      '/table/constraints/foreign_keys/0/reference_table unknown-reference',
      '/table/constraints/foreign_keys/1/reference_column unknown-reference',
      '/table/constraints/foreign_keys/2/reference_column reference-not-unique',
      '/table/constraints/foreign_keys/3/column reference-type-mismatch',
      '/table/constraints/foreign_keys/3/reference_column reference-not-unique',
      '/table/constraints/foreign_keys/4/reference_column reference-not-unique',
      '/table/constraints/foreign_keys/5/column reference-type-mismatch',
      '/table/constraints/foreign_keys/6/reference_table unknown-reference',
      '/table/constraints/foreign_keys/7/reference_table unknown-reference',
      '/table/constraints/foreign_keys/8/reference_table unknown-reference',
      '/table/constraints/foreign_keys/9/reference_table unknown-reference',
      '/table/constraints/foreign_keys/10/reference_column reference-not-unique',
      '/table/constraints/foreign_keys/11/reference_column reference-not-unique',
      '/table/constraints/foreign_keys/12/column reference-type-mismatch',
      '/table/constraints/primary_key/columns/0 type-not-indexable',
      '/table/constraints/primary_key/columns/1 unknown-column',
      '/table/constraints/primary_key/name name-taken',
      '/table/constraints/unique/0/columns/0 type-not-indexable',
    ],
  );
});

test('a foreign key over arrays whose elements have a modifier is refused, because PostgreSQL could write no row', async () => {
  const withType = (type: string, target: string, column: string) => ({
    columns: [{ name: 'a', type }],
    constraints: {
      primary_key: { columns: ['a'] },
      foreign_keys: [{ column: 'a', reference_table: target, reference_column: column }],
    },
  });
  const refused = ['/table/constraints/foreign_keys/0/column reference-type-mismatch'];
  assert.deepEqual(await faultsOf(withType('varchar(3)[]', 'subject', 'a')), refused);
  assert.deepEqual(await faultsOf(withType('bit[]', 'subject', 'a')), refused);
  assert.deepEqual(await faultsOf(withType('varchar[]', 'tags', 'codes')), refused);
  assert.deepEqual(await faultsOf(withType('text[]', 'tags', 'names')), []);
  assert.deepEqual(await faultsOf(withType('varchar[]', 'subject', 'a')), []);
});

test('at most 100 errors are listed, and all are counted', async () => {
  const columns = Array.from({ length: 1600 }, (_, index) => ({
    name: `c${index}`,
    type: index % 2 ? 'int' : 'nosuch',
    default: 'x',
  }));
  const result = await create({ columns });
  assert.ok(result instanceof AppError);
  assert.equal(result.errors!.length, 100);
  assert.equal(result.errorCount, 1600);
});

test('hundreds of thousands of errors are counted, too', async () => {
  const keyColumns = Array.from({ length: 32 }, (_, index) => `c${index}`);
  const unique = Array.from({ length: 5000 }, (_, index) => ({ name: `u${index}`, columns: keyColumns }));
  const result = await create({ columns: [{ name: 'a', type: 'int' }], constraints: { unique } });
  assert.ok(result instanceof AppError);
  assert.equal(result.errors!.length, 100);
  assert.ok(result.errorCount! >= 160_000);
});

test('a table with 1600 columns with defaults is created', async () => {
  const columns = Array.from({ length: 1600 }, (_, index) => ({
    name: `c${index}`,
    type: 'int',
    default: index % 2 ? '1' : "'2'::int",
  }));
  const result = await create({ columns });
  assert.ok(!(result instanceof AppError), String(result));
  assert.equal(result.table.columns.length, 1600);
});

test('foreign keys that PostgreSQL can implement are accepted', async () => {
  const result = await create({
    columns: [
      { name: 'id', type: 'smallint' },
      { name: 'c', type: 'varchar(20)' },
      { name: 'x', type: 'positive' },
      { name: 'y', type: 'int' },
    ],
    constraints: {
      primary_key: { columns: ['id'] },
      foreign_keys: [
        { name: 'pair', column: 'x', reference_table: 'customers', reference_column: 'b' },
        { name: '', column: 'id', reference_table: 'customers', reference_column: 'id' },
        { name: '', column: 'c', reference_table: 'customers', reference_column: 'code' },
        { name: 'pair', column: 'y', reference_table: 'customers', reference_column: 'a' },
        {
          name: 'elsewhere',
          column: 'id',
          reference_table: 'customers',
          reference_column: 'id',
          reference_schema: 'other',
        },
        { name: 'self', column: 'y', reference_table: 'subject', reference_column: 'id' },
      ],
    },
  });
  assert.ok(!(result instanceof AppError), JSON.stringify(result));
  const keys = result.table.constraints.foreign_keys.map(
    (key) =>
      `${key.name}: ${key.column} → ${key.reference_schema}.${key.reference_table}.${key.reference_column}`,
  );
  assert.deepEqual(keys, [
    'elsewhere: id → other.customers.id',
    'subject_id_fkey: id → public.customers.id',
    'subject_c_fkey: c → public.customers.code',
    'pair: x → public.customers.b',
    'pair: y → public.customers.a',
    'self: y → public.subject.id',
  ]);
});

test('a chosen name is never one that the definition gives', async () => {
  const result = await create({
    columns: [
      { name: 'a', type: 'int' },
      { name: 'b', type: 'int' },
    ],
    constraints: {
      unique: [
        { name: '', columns: ['a'] },
        { name: 'subject_a_key', columns: ['b'] },
      ],
    },
  });
  assert.ok(!(result instanceof AppError), JSON.stringify(result));
  assert.deepEqual(
    result.table.constraints.unique.map(({ name }) => name),
    ['subject_a_key1', 'subject_a_key'],
  );
});

test('schemas that do not exist and invalid names are refused', async () => {
  const attempt = async (schema: string, name: string) => {
    const table = { columns: [{ name: 'a', type: 'int' }] };
    const work = rolledBack(database.pool, (client) =>
      createTableWithin(client, { schema, name, table, ifNotExists: false }),
    );
    return work.then(
      () => 'created',
      (error: AppError) => error.code,
    );
  };
  assert.equal(await attempt('nowhere', 't'), 'schema-not-found');
  assert.equal(await attempt('Public', 't'), 'schema-not-found');
  for (const schema of ['pg_catalog', 'pg_temp', 'pg_toast', 'information_schema'])
    assert.equal(await attempt(schema, 't'), 'schema-forbidden');
  for (const name of ['', 'x'.repeat(64), 'a\0b', '\ud800'])
    assert.equal(await attempt('public', name), 'invalid-parameter');
  assert.equal(await attempt('public', 'x'.repeat(63)), 'created');
  for (const name of [
    'customers',
    'customer_view',
    'numbers',
    'customers_pkey',
    'mood',
    'pair',
    'positive',
  ]) {
    assert.equal(await attempt('public', name), 'table-exists', name);
  }
  // PostgreSQL renames an array type if a table gets its name.
  assert.equal(await attempt('public', '_mood'), 'created');
});

test('with if_not_exists an existing table is unchanged, and every difference is reported', async () => {
  const definition = {
    columns: [
      { name: 'id', type: 'serial' },
      { name: 'n', type: 'numeric(12,2)', default: '0' },
      { name: 't', type: 'varchar(20)', default: 'x', is_nullable: false },
      { name: 'm', type: 'bigint', default: '5' },
    ],
    constraints: {
      primary_key: { name: '', columns: ['id'] },
      unique: [{ name: 'u', columns: ['n', 't'] }],
      foreign_keys: [{ name: '', column: 'm', reference_table: 'customers', reference_column: 'id' }],
    },
  };
  await rolledBack(database.pool, async (client) => {
    const again = async (table: unknown) => {
      const result = await createTableWithin(client, {
        schema: 'public',
        name: 'standing',
        table,
        ifNotExists: true,
      });
      return result.differences;
    };
    assert.equal(await again(definition), undefined);
    assert.deepEqual(await again(definition), []);
    assert.deepEqual(await again((await describeTable(client, 'public', 'standing')) as unknown), []);
    assert.deepEqual(
      await again({
        columns: [
          { name: 'n', type: 'numeric(12,3)', default: '1' },
          { name: 'id', type: 'int' },
          { name: 't', type: 'varchar(20)', default: 'y' },
          { name: 'z', type: 'text' },
        ],
        constraints: { unique: [{ name: 'v', columns: ['n', 't'] }, { columns: ['z'] }] },
      }),
      [
        'the column "n" is of type numeric(12,2), not numeric(12,3)',
        'the column "n" has the default \'0\'::numeric',
        'the column "id" is of type serial, not integer',
        'the column "id" is not nullable',
        'the column "t" is not nullable',
        'the column "t" has the default \'x\'::character varying',
        'the table has no column "z"',
        'the table has the column "m", which the definition does not have',
        'the columns of the table are in another order',
        'the table has a primary key',
        'the constraint is named "u" in the table',
        'the table has no unique constraint over "z"',
        'the table has the foreign key "standing_m_fkey", which the definition does not have',
      ],
    );
    const cascading = structuredClone(definition);
    Object.assign(cascading.constraints.foreign_keys[0]!, { on_delete: 'cascade', on_update: 'no action' });
    assert.deepEqual(await again(cascading), ['the foreign key "standing_m_fkey" has on_delete no action']);
    const lenient = {
      columns: [
        { name: 'm', type: 'int8', default: "'5'::bigint" },
        { name: 'q', type: 'text' },
      ],
    };
    const disagreements = await compareWithExisting(client, {
      schema: 'public',
      name: 'standing',
      table: lenient,
    });
    assert.deepEqual(
      disagreements.map(({ pointer, code }) => `${pointer} ${code}`),
      ['/table/columns/1/name differs'],
    );
    const { rows } = await client.query(
      `SELECT count(*)::int AS tables FROM pg_class WHERE relname LIKE 'tablewright%'`,
    );
    assert.deepEqual(rows, [{ tables: 0 }]);
  });
  await rolledBack(database.pool, async (client) => {
    const view = createTableWithin(client, {
      schema: 'public',
      name: 'customer_view',
      table: definition,
      ifNotExists: true,
    });
    await assert.rejects(view, { code: 'table-exists' });
  });
});

test('tables that were created with SQL are described, and members that a definition cannot have are refused', async () => {
  await rolledBack(database.pool, async (client) => {
    await client.query(`
      CREATE TABLE made (id serial PRIMARY KEY, gone int, always bigint GENERATED ALWAYS AS IDENTITY,
        low text DEFAULT lower('A'), sum int GENERATED ALWAYS AS (id * 2) STORED, zero bigint DEFAULT 0,
        null_default text DEFAULT NULL, n numeric DEFAULT 0::numeric, arr text[] DEFAULT ARRAY[]::text[],
        amount int CHECK (amount > 0), u int UNIQUE NULLS NOT DISTINCT, d int UNIQUE DEFERRABLE,
        i int, UNIQUE (i) INCLUDE (u), f bigint REFERENCES customers ON DELETE CASCADE, g bigint REFERENCES customers,
        h bigint REFERENCES customers MATCH FULL, k bigint REFERENCES customers ON DELETE SET NULL (k),
        EXCLUDE USING btree (amount WITH =), plain int UNIQUE);
      ALTER TABLE made DROP COLUMN gone;
      CREATE TABLE parted (a int, b int, PRIMARY KEY (a)) PARTITION BY LIST (a);`);
    const made = await describeTable(client, 'public', 'made');
    const columns = Object.fromEntries(made.columns.map(({ name, ...column }) => [name, column]));
    assert.deepEqual(columns.id, {
      ...{ id: 1, type: 'serial', is_nullable: false, default: null },
      sequence: { name: 'made_id_seq' },
    });
    assert.deepEqual(columns.always, {
      id: 3,
      type: 'bigserial',
      is_nullable: false,
      default: null,
      identity: 'always',
    });
    assert.deepEqual(columns.low, {
      id: 4,
      type: 'text',
      is_nullable: true,
      default: "lower('A'::text)",
      default_is_expression: true,
    });
    assert.deepEqual(columns.sum, {
      id: 5,
      type: 'integer',
      is_nullable: true,
      default: null,
      generated: '(id * 2)',
    });
    assert.equal(columns.zero!.default, '0');
    assert.equal(columns.null_default!.default, null);
    assert.equal(columns.n!.default, "'0'::numeric");
    assert.equal(columns.arr!.default, "'{}'::text[]");
    const { unique, foreign_keys, checks, others } = made.constraints;
    assert.deepEqual(checks, [{ name: 'made_amount_check', expression: '(amount > 0)' }]);
    assert.deepEqual(unique, [
      { name: 'made_u_key', columns: ['u'], nulls_not_distinct: true },
      { name: 'made_d_key', columns: ['d'], deferrable: 'initially immediate' },
      { name: 'made_i_u_key', columns: ['i'], include: ['u'] },
      { name: 'made_plain_key', columns: ['plain'] },
    ]);
    assert.deepEqual(
      foreign_keys.map(({ column }) => column),
      ['f', 'g'],
    );
    assert.equal(foreign_keys[0]!.on_delete, 'cascade');
    assert.deepEqual(others!.map(({ name }) => name).sort(), [
      'made_amount_excl',
      'made_h_fkey',
      'made_k_fkey',
    ]);
    await client.query('SAVEPOINT sent');
    await assert.rejects(
      createTableWithin(client, { schema: 'other', name: 'made', table: made, ifNotExists: false }),
      (error: AppError) => {
        assert.deepEqual(
          error.errors!.map(({ pointer, code }) => `${pointer} ${code}`),
          ['/table/constraints/others not-supported'],
        );
        return true;
      },
    );
    await client.query('CREATE TABLE public.part PARTITION OF public.parted FOR VALUES IN (1, 2)');
    const othersOf = async (name: string) => (await describeTable(client, 'public', name)).constraints.others;
    assert.deepEqual(await othersOf('parted'), [{ name: 'parted', definition: 'PARTITION BY LIST (a)' }]);
    assert.deepEqual(await othersOf('part'), [
      { name: 'part', definition: 'PARTITION OF parted FOR VALUES IN (1, 2)' },
    ]);
    assert.deepEqual((await describeTable(client, 'public', 'parted')).constraints.primary_key.columns, [
      'a',
    ]);
    await assert.rejects(describeTable(client, 'public', 'customer_view'), {
      detail: /is a view, not a table/,
    });
    await assert.rejects(describeTable(client, 'public', 'numbers'), { detail: /is a sequence/ });
    await assert.rejects(describeTable(client, 'public', 'nothing'), { code: 'table-not-found' });
  });
});

test('a description that is sent for a second table gets an error that says which names to leave empty', async () => {
  await rolledBack(database.pool, async (client) => {
    const table = { columns: [{ name: 'a', type: 'int' }], constraints: { primary_key: { columns: ['a'] } } };
    const first = await createTableWithin(client, {
      schema: 'public',
      name: 'first',
      table,
      ifNotExists: false,
    });
    await assert.rejects(
      createTableWithin(client, { schema: 'public', name: 'second', table: first.table, ifNotExists: false }),
      {
        detail: /"first_pkey" is already used by an index of the table first.*leave it empty/,
      },
    );
  });
});

test('a load reads the facts that it needs about columns', async () => {
  await rolledBack(database.pool, async (client) => {
    await client.query(`
      CREATE TABLE loaded (i serial, a int GENERATED ALWAYS AS IDENTITY, d codes, m mood[], v varchar(5)[] NOT NULL,
        r timestamptz DEFAULT now(), u uuid DEFAULT gen_random_uuid(), o float8 DEFAULT 1 + random(), c text DEFAULT 'x',
        g int GENERATED ALWAYS AS (1 + 1) STORED, p pair, n oidvector)`);
    const columns = await readLoadColumns(client, 'public', 'loaded');
    const flags = columns.map(
      (column) =>
        `${column.name} ${column.default} ${column.identity}${column.isGenerated ? ' generated' : ''}`,
    );
    assert.deepEqual(flags, [
      'i computed none',
      'a computed always',
      'd none none',
      'm none none',
      'v none none',
      'r computed none',
      'u computed none',
      'o computed none',
      'c constant none',
      'g none none generated',
      'p none none',
      'n none none',
    ]);
    const type = (name: string) => columns.find((column) => column.name === name)!.type;
    assert.equal(type('d').domainNotNull, true);
    assert.partialDeepStrictEqual(type('d').base, {
      oid: 1043,
      name: 'character varying(3)',
      typmod: 7,
      kind: 'base',
    });
    assert.deepEqual(type('m').element!.labels, ['sad', 'ok', "so 'so'"]);
    assert.partialDeepStrictEqual(type('v').element, {
      oid: 1043,
      name: 'character varying(5)',
      typmod: 9,
      kind: 'base',
    });
    assert.equal(type('v').name, 'character varying(5)[]');
    assert.deepEqual([type('p').kind, type('n').kind], ['other', 'base']);
    assert.deepEqual(await readLoadColumns(client, 'public', 'customer_view'), []);
  });
});

test('creating and describing take few round trips', async () => {
  const table = {
    columns: [
      { name: 'id', type: 'bigserial' },
      { name: 'customer', type: 'bigint', is_nullable: false },
      ...Array.from({ length: 7 }, (_, index) => ({ name: `c${index}`, type: 'text', default: 'x' })),
      { name: 'at', type: 'timestamptz', default: 'now()' },
    ],
    constraints: {
      primary_key: { columns: ['id'] },
      unique: [{ columns: ['c0'] }],
      foreign_keys: [{ column: 'customer', reference_table: 'customers', reference_column: 'id' }],
    },
  };
  const trips = await rolledBack(database.pool, async (client) => {
    let count = 0;
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const counting: ClientBase = Object.create(client, {
      query: {
        value: (...args: unknown[]) => {
          count++;
          return query(...args);
        },
      },
    });
    await createTableWithin(counting, {
      schema: 'public',
      name: 'quick',
      table,
      ifNotExists: false,
    });
    return count;
  });
  // With Citus, one looks up the placement, one describes it, and each key has a statement of its own (needsStatementsApart).
  assert.equal(trips, hasOrdinaryTablesOfCitus ? 10 : 3);
});

test('if many requests create the same table, exactly one creates it, and the others find the existing table', async () => {
  const table = {
    columns: [
      { name: 'id', type: 'bigserial' },
      { name: 'c', type: 'bigint' },
      { name: 'o', type: 'bigint' },
    ],
    constraints: {
      primary_key: { columns: ['id'] },
      foreign_keys: [
        { column: 'c', reference_table: 'customers', reference_column: 'id' },
        { column: 'o', reference_table: 'customers', reference_column: 'id', reference_schema: 'other' },
      ],
    },
  };
  const turned = {
    ...table,
    constraints: { ...table.constraints, foreign_keys: [...table.constraints.foreign_keys].reverse() },
  };
  const contend = async (count: number, name: string, ifNotExists: boolean) => {
    const outcomes = Array.from({ length: count }, (_, index) =>
      inTransaction(database.pool, {}, (client) =>
        createTableWithin(client, { schema: 'public', name, table: index % 2 ? table : turned, ifNotExists }),
      ).then(
        (result) => (result.differences === undefined ? 'created' : 'stood'),
        (error: AppError) => error.code,
      ),
    );
    const counts: Record<string, number> = {};
    for (const outcome of await Promise.all(outcomes)) counts[outcome] = (counts[outcome] ?? 0) + 1;
    return counts;
  };
  assert.deepEqual(await contend(2, 'two', false), { created: 1, 'table-exists': 1 });
  assert.deepEqual(await contend(200, 'many', false), { created: 1, 'table-exists': 199 });
  assert.deepEqual(await contend(60, 'lenient', true), { created: 1, stood: 59 });
  // Different tables refer to the same tables, in opposite orders.
  const both = await Promise.all(
    Array.from({ length: 20 }, (_, index) => contend(2, `apart ${index}`, false)),
  );
  for (const counts of both) assert.deepEqual(counts, { created: 1, 'table-exists': 1 });
});

test('a table that another program creates meanwhile is noticed', async () => {
  const stranger = await database.pool.connect();
  try {
    await stranger.query('BEGIN; CREATE TABLE raced (a int)');
    const ours = (ifNotExists: boolean) =>
      inTransaction(database.pool, {}, (client) =>
        createTableWithin(client, {
          schema: 'public',
          name: 'raced',
          table: { columns: [{ name: 'a', type: 'int' }] },
          ifNotExists,
        }),
      );
    const refused = assert.rejects(ours(false), { code: 'table-exists' });
    await untilWaitsForLock(database);
    await stranger.query('COMMIT');
    await refused;
    assert.deepEqual((await ours(true)).differences, []);
  } finally {
    stranger.release();
  }
});
