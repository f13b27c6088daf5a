/**
 * Hostile text in every field of a definition. The table gets exactly these names, or no table is created. The catalogue shows
 * it, and so does the time limit of a statement: an injected sleep would exceed it.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { PoolClient } from 'pg';
import { AppError } from '../../src/core/errors.ts';
import { createTableWithin } from '../../src/engine/tables/create-table.ts';
import { parseDefault } from '../../src/engine/tables/defaults.ts';
import { ownPath } from '../../src/postgres/search-path.ts';
import { quoteQualified } from '../../src/postgres/sql.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { rolledBack } from '../support/rolled-back.ts';
import { sized } from '../support/sized.ts';

const statements = [
  'DROP TABLE victim',
  'CREATE TABLE intruder (a int)',
  'CREATE ROLE intruder SUPERUSER',
  'COMMIT',
  'ROLLBACK',
  'SELECT pg_sleep(3600)',
  "COPY victim FROM PROGRAM 'sleep 60'",
  "COPY victim TO '/tmp/intruder'",
  'DO $x$ BEGIN PERFORM pg_sleep(3600); END $x$',
  'SET ROLE postgres',
  'LISTEN intruder',
  'INSERT INTO victim VALUES (666)',
];

const calls = [
  'pg_sleep(3600)',
  "pg_sleep_for('1 minute')",
  'pg_catalog.pg_sleep(3600)',
  '"pg_sleep"(60)',
  "pg_read_file('/etc/passwd')",
  "pg_read_binary_file('/etc/passwd')",
  "pg_ls_dir('/')",
  "lo_import('/etc/passwd')",
  "query_to_xml('select 1', true, true, '')",
  "set_config('role', 'postgres', false)",
  "current_setting('data_directory')",
  "dblink('', 'select 1')",
  'pg_advisory_lock(1)',
  'pg_terminate_backend(1)',
  'intrude()',
  'public.intrude()',
  'public.now()',
  "setval('numbers', 666)",
  "nextval('numbers; drop table victim')",
  "nextval('pg_sleep(3600)')",
  "nextval((SELECT 'numbers'))",
  'now(pg_sleep(3600))',
  'timezone(pg_sleep(3600)::text, now())',
  "to_char(now(), (SELECT string_agg(a::text, '') FROM victim))",
  "to_char(now(), 'x'); DROP TABLE victim",
  'now() + pg_sleep(3600)',
  "now()::text || pg_read_file('/etc/passwd')",
  'random(pg_sleep(3600))',
  "jsonb_build_object('a', pg_read_file('/etc/passwd'))",
  'json_build_array((select 1))',
  "'x'::regproc(pg_sleep(3600))",
  "'pg_sleep'::regproc",
  '\'x\'::text COLLATE "C"',
  "'x'::text || intrude()",
  "'x'::varchar(pg_sleep(3600))",
  "'x'::varchar((select 1))",
  "'1'::int4; DROP TABLE victim",
  "'{1}'::int[intrude()]",
  "E'\\'; DROP TABLE victim; --'",
  "U&'\\0027; DROP TABLE victim; --'",
  '$$x$$',
  '$$; DROP TABLE victim; --$$',
  'CASE WHEN true THEN pg_sleep(3600) END',
  '(SELECT pg_sleep(3600))',
  'ARRAY[pg_sleep(3600)]',
  'CAST(pg_sleep(3600) AS text)',
  'CURRENT_TIMESTAMP(pg_sleep(3600))',
  'CURRENT_USER; DROP TABLE victim',
  'intrude',
  '#{intrude()}',
  '{{intrude()}}',
];

const prefixes = [
  '; ',
  '"; ',
  "'; ",
  '); ',
  '")); ',
  "')); ",
  '$$; ',
  '*/; ',
  '\\"; ',
  "\\'; ",
  '"; -- \n',
  ']; ',
  '::text; ',
  ' int); ',
  ' int DEFAULT 1); ',
];

const odd = [
  '',
  ' ',
  '"',
  '""',
  "'",
  "''",
  '\\',
  "\\'",
  '--',
  '/*',
  '*/',
  '$$',
  '$1',
  '%s',
  '%I',
  ':name',
  '?',
  '\0',
  'a\0b',
  '\u0001',
  '\r\n',
  '\t',
  '\u2028',
  '\u202edrop',
  '\u200b',
  '\ufeff',
  '\ud800',
  '\udfff x',
  'ʼ; DROP TABLE victim',
  '＇; DROP TABLE victim',
  '"; DROP TABLE victim; --'.padEnd(64, ' '),
  'x'.repeat(64),
  'x'.repeat(100_000),
  `${'('.repeat(5000)}`,
  `${'now('.repeat(5000)}`,
  `int${'[]'.repeat(400)}`,
  '__proto__',
  'constructor',
  'toString',
  'victim',
  'pg_class',
  'text, b int',
  'int) INHERITS (victim',
  'int REFERENCES victim',
  'int PRIMARY KEY',
  'int CHECK (intrude() = 1)',
  'int GENERATED ALWAYS AS (intrude()) STORED',
  'int COLLATE "C"',
  'int DEFAULT intrude()',
  'SETOF int',
  'victim.a%TYPE',
  'numeric(intrude())',
  "interval '1' day",
  'text) TABLESPACE pg_default; --',
];

const hostile = [
  ...new Set([
    ...odd,
    ...calls,
    ...statements,
    ...statements.flatMap((statement) => prefixes.slice(0, 4).map((prefix) => `${prefix}${statement}; --`)),
    ...prefixes.flatMap((prefix) => [`x${prefix}DROP TABLE victim; --`, `int${prefix}SELECT intrude()`]),
  ]),
];

let database: TestDatabase;
let baseline: string[];

before(async () => {
  database = await createTestDatabase();
  await database.pool.query(`
    CREATE SCHEMA hidden;
    CREATE TABLE victim (a integer PRIMARY KEY);
    INSERT INTO victim VALUES (1);
    CREATE SEQUENCE numbers;
    CREATE FUNCTION intrude() RETURNS integer LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''intruded''; END';
    CREATE FUNCTION now() RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''intruded''; END'`);
  baseline = await rolledBack(database.pool, inOwnPath(objects));
});

after(() => database.drop());

/** Does the work with the search path of the service's transactions. Nothing that a caller sends may change the search path. */
function inOwnPath<Answer>(work: (client: PoolClient) => Promise<Answer>) {
  return async (client: PoolClient): Promise<Answer> => {
    await client.query(`SET LOCAL search_path TO ${ownPath}`);
    return work(client);
  };
}

/** Returns everything in the database that a statement could have created or changed. */
async function objects(client: PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ object: string }>(`
    SELECT format('relation %s.%s %s', n.nspname, relname, relkind) AS object
    FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema')
    UNION ALL SELECT format('type %s.%s', n.nspname, typname)
    FROM pg_type JOIN pg_namespace n ON n.oid = typnamespace WHERE nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema')
    UNION ALL SELECT format('function %s.%s', n.nspname, proname)
    FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname NOT IN ('pg_catalog', 'information_schema')
    UNION ALL SELECT format('%s functions', count(*)) FROM pg_proc
    UNION ALL SELECT format('schema %s %s', nspname, nspacl) FROM pg_namespace
    UNION ALL SELECT format('role %s %s', rolname, rolsuper) FROM pg_roles WHERE rolsuper OR rolname = 'intruder'
    UNION ALL SELECT format('extension %s', extname) FROM pg_extension
    UNION ALL SELECT format('trigger %s', tgname) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT format('rows %s', array_agg(a)) FROM public.victim
    UNION ALL SELECT format('sequence %s %s', last_value, is_called) FROM public.numbers
    UNION ALL SELECT format('role now %s, path %s', current_user, current_setting('search_path'))
    UNION ALL SELECT format('large object %s', oid) FROM pg_largeobject_metadata
    UNION ALL SELECT format('listening %s', channel) FROM pg_listening_channels() AS channel
    ORDER BY 1`);
  return rows.map(({ object }) => object);
}

interface Asked {
  schema: string;
  name: string;
  table: { columns: { name: unknown; type: unknown; default?: unknown }[]; constraints?: unknown };
}

const plain = { name: 'a', type: 'integer' };

const fields: Record<string, (text: string) => Asked> = {
  table_name: (text) => asked({ columns: [plain] }, text),
  schema: (text) => ({ ...asked({ columns: [plain] }), schema: text }),
  'column name': (text) => asked({ columns: [{ ...plain, name: text }] }),
  type: (text) => asked({ columns: [{ ...plain, type: text }] }),
  'type with brackets': (text) => asked({ columns: [{ ...plain, type: `varchar(${text})[]` }] }),
  'default of a text': (text) => asked({ columns: [{ name: 'a', type: 'text', default: text }] }),
  'default of a timestamp': (text) => asked({ columns: [{ name: 'a', type: 'timestamptz', default: text }] }),
  'default of a json': (text) => asked({ columns: [{ name: 'a', type: 'jsonb', default: text }] }),
  'default with a cast': (text) => asked({ columns: [{ name: 'a', type: 'text', default: `'x'::${text}` }] }),
  'argument of a default': (text) =>
    asked({ columns: [{ name: 'a', type: 'text', default: `to_char(now(), ${text})` }] }),
  'sequence of a default': (text) =>
    asked({ columns: [{ ...plain, default: `nextval('${text.replaceAll("'", "''")}')` }] }),
  identity: (text) => asked({ columns: [{ name: 'a', type: 'serial', ...{ identity: text } }] }),
  generated: (text) => asked({ columns: [{ ...plain, ...{ generated: text } }] }),
  'unknown property': (text) => asked({ columns: [plain], ...{ [text]: text } }),
  'constraint name': (text) =>
    asked({ columns: [plain], constraints: { unique: [{ name: text, columns: ['a'] }] } }),
  'key column': (text) =>
    asked({ columns: [plain], constraints: { primary_key: { name: '', columns: [text] } } }),
  'foreign key name': (text) => asked(withForeignKey({ name: text })),
  'foreign key column': (text) => asked(withForeignKey({ column: text })),
  reference_table: (text) => asked(withForeignKey({ reference_table: text })),
  reference_column: (text) => asked(withForeignKey({ reference_column: text })),
  reference_schema: (text) => asked(withForeignKey({ reference_schema: text })),
  everywhere: (text) =>
    asked(
      {
        columns: [{ name: text, type: 'text', default: text }],
        constraints: {
          primary_key: { name: `${text}p`, columns: [text] },
          foreign_keys: [
            { name: `${text}f`, column: text, reference_table: `${text}t`, reference_column: text },
          ],
        },
      },
      `${text}t`,
    ),
};

function asked(table: Asked['table'], name = 'subject'): Asked {
  return { schema: 'public', name, table };
}

function withForeignKey(part: object) {
  const key = { name: '', column: 'a', reference_table: 'victim', reference_column: 'a', ...part };
  return { columns: [plain], constraints: { foreign_keys: [key] } };
}

const mostExposed = ['table_name', 'column name', 'default of a text', 'constraint name'];
/**
 * The share of texts that is tried in each field: one in so many. Other fields get other texts, so that each text is tried in
 * several fields.
 */
const stepOfMostExposed = sized(10, 1);
const stepOfOthers = sized(30, 6);

for (const [index, [field, ask]] of Object.entries(fields).entries()) {
  const isExposed = mostExposed.includes(field);
  const step = isExposed ? stepOfMostExposed : stepOfOthers;
  const texts = hostile.filter((_, at) => at % step === index % step);
  test(`${texts.length} hostile texts as ${field} change nothing else in the database`, async () => {
    let created = 0;
    for (const text of texts) {
      if (await tryOne(ask(text))) created++;
    }
    if (isExposed) assert.ok(created > texts.length / 2, `${created} tables`);
    assert.deepEqual(await rolledBack(database.pool, inOwnPath(objects)), baseline);
  });
}

async function tryOne(request: Asked): Promise<boolean> {
  return rolledBack(database.pool, async (client) => {
    await client.query(`SET LOCAL search_path TO ${ownPath}`);
    await client.query("SET LOCAL statement_timeout = '60s'");
    const before = await transactionOf(client);
    let result: Awaited<ReturnType<typeof createTableWithin>> | undefined;
    try {
      result = await createTableWithin(client, { ...request, ifNotExists: false });
    } catch (error) {
      assert.ok(
        error instanceof AppError,
        `${(error as Error).stack} ${JSON.stringify(request).slice(0, 300)}`,
      );
      assert.ok(JSON.stringify({ detail: error.detail, errors: error.errors }).isWellFormed());
      assert.doesNotMatch(error.detail, /intruded|root:/);
      assert.notEqual(error.code, 'database-busy');
    }
    assert.equal(await transactionOf(client), before, 'the transaction was ended from inside');
    if (result === undefined) assert.deepEqual(await objects(client), baseline);
    else await checkCreated(client, request);
    return result !== undefined;
  });
}

async function transactionOf(client: PoolClient): Promise<string> {
  const { rows } = await client.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id');
  return rows[0]!.id;
}

async function checkCreated(client: PoolClient, { schema, name, table }: Asked): Promise<void> {
  const relation = quoteQualified(schema, name);
  const { rows } = await client.query<{ name: string }>(
    'SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum',
    [relation],
  );
  assert.deepEqual(
    rows.map((row) => row.name),
    table.columns.map((column) => column.name),
  );
  const [column] = table.columns;
  if (typeof column!.default === 'string' && column!.type === 'text') {
    const parsed = parseDefault(column!.default, []);
    const { rows: values } = await client.query<{ value: string }>(
      `SELECT pg_get_expr(adbin, 0) AS value FROM pg_attrdef WHERE adrelid = $1::regclass`,
      [relation],
    );
    if (parsed.kind === 'literal') {
      const { rows: evaluated } = await client.query(`SELECT (${values[0]!.value}) = $1 AS same`, [
        parsed.text,
      ]);
      assert.deepEqual(evaluated, [{ same: true }]);
    } else assert.doesNotMatch(values[0]!.value, /sleep\(|file|intrude|select/i);
  }
  // Dropping the table removes everything that was created.
  await client.query(`DROP TABLE ${relation}`);
  assert.deepEqual(await objects(client), baseline);
}
