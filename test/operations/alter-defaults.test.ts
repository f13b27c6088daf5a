/** Alter Table keeps the defaults of a table and of the tables below it, or refuses the change. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('alter_defaults');
const sql = (text: string) => service.database.pool.query(text);
const put = (name: string, table: unknown, query = ''): Promise<TestAnswer> =>
  service.request('PUT', `/table/${name}${query}`, {
    body: JSON.stringify({ table }),
    headers: { 'content-type': 'application/json' },
  });

/** Changes the table, and asserts that the plan was the same. */
async function change(name: string, columns: unknown[]): Promise<TestAnswer> {
  const dry = await put(name, { columns }, '?dry_run=true');
  const answer = await put(name, { columns });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(dry.body.changes, answer.body.changes);
  assert.deepEqual((await put(name, answer.body.table)).body.changes, []);
  return answer;
}

const kept: [from: string, text: string, to: string][] = [
  ['text', String.raw`'C:\temp'`, 'varchar(50)'],
  ['varchar(20)', String.raw`'a\b'`, 'varchar(50)'],
  ['char(6)', String.raw`'\d+'`, 'varchar(10)'],
  ['bytea', String.raw`'\x41'`, 'text'],
  ['text', String.raw`'\x4142'`, 'bytea'],
  ['jsonb', String.raw`'{"a":"x\ny"}'`, 'text'],
  ['jsonb', String.raw`'{"a":"x\ny"}'`, 'json'],
  ['text[]', String.raw`'{"a\"b"}'`, 'varchar(20)[]'],
  ['text', "'it''s ''''quoted'''", 'varchar(50)'],
  ['text', "'now()'", 'varchar(50)'],
  ['text', "'''now()'''", 'varchar(50)'],
  ['integer', '2.5::float8', 'bigint'],
  ['integer', '2.5', 'bigint'],
  ['bigint', "'2.5'::real", 'integer'],
  ['bigint', "'2.5'::float8", 'text'],
  ['numeric', '2.5::integer', 'text'],
  ['numeric', "'1.005'::numeric(5,2)", 'numeric(10,4)'],
  ['numeric', '5::numeric(10,1)', 'text'],
  ['numeric', "'1250'::numeric(5,-2)", 'text'],
  ['varchar(10)', "'abcdef'::varchar(3)", 'text'],
  ['varchar(10)', "'abcdef'::char(3)", 'varchar(20)'],
  ['varchar(3)', "'abc   '", 'text'],
  ['double precision', '0.1::real', 'numeric'],
  ['text', '1.50::real', 'numeric'],
  ['text', 'true', 'varchar(5)'],
  ['timestamp', "'2026-01-01 10:20:30.7'::timestamp(0)", 'timestamp(3)'],
  ['time', "'2026-01-01 10:20:30.7'::timestamp(0)", 'text'],
  ['interval', "'10:20:30.7'::time(0)", 'text'],
  ['varbit(5)', "'10101'::bit(3)", 'varbit'],
  ['alter_defaults_cents', '1.005', 'numeric(10,3)'],
  ['alter_defaults_cents', '2.5::alter_defaults_cents', 'text'],
  ['alter_defaults_mood', "'sad'", 'text'],
  ['alter_defaults_mood[]', "'{sad}'", 'text'],
];

suite('defaults in Alter Table', () => {
  before(() =>
    sql(`CREATE DOMAIN alter_defaults_cents AS numeric(6,2); CREATE TYPE alter_defaults_mood AS ENUM ('sad', 'ok');
      CREATE DOMAIN alter_defaults_five AS integer DEFAULT 5`),
  );

  test('a new row gets from a constant what stored rows got from it, in a table and in one that inherits', async () => {
    const name = nextTable();
    const list = (one: (place: number, from: string, text: string) => string) =>
      kept.map(([from, text], place) => one(place, from, text)).join(', ');
    await sql(`CREATE TABLE ${name} (${list((n, from, text) => `v${n} ${from} DEFAULT ${text}, w${n} ${from}`)});
      CREATE TABLE ${name}_c () INHERITS (${name});
      ALTER TABLE ${name}_c ${list((n, _, text) => `ALTER w${n} SET DEFAULT ${text}`)}; INSERT INTO ${name}_c DEFAULT VALUES`);
    const types = kept.map(([, , type]) => type);
    const columns = types.flatMap((type, n) => [`v${n}`, `w${n}`].map((column) => ({ name: column, type })));
    await change(name, columns);
    await sql(`INSERT INTO ${name}_c DEFAULT VALUES`);
    const texts = columns.map((column) => `${column.name}::text`);
    const [old, fresh] = await service.rows(`SELECT ${texts.join(', ')} FROM ${name}_c ORDER BY ctid`);
    for (const [n, what] of kept.entries())
      for (const column of [`v${n}`, `w${n}`]) assert.equal(fresh![column], old![column], what.join(' '));
  });

  test('a constant that PostgreSQL refuses in each new row is not cut off', async () => {
    for (const [from, text] of [
      ['varchar(3)', "'abcdef'"],
      ['bit(3)', "B'10101'"],
      ['varchar(3)[]', "'{abcdef}'"],
    ]) {
      const name = nextTable();
      await sql(`CREATE TABLE ${name} (v ${from} DEFAULT ${text})`);
      const answer = await put(name, { columns: [{ name: 'v', type: 'text' }] });
      const { errors } = assertProblem(answer, 422, 'invalid-definition');
      assert.deepEqual(
        [errors[0]!.pointer, errors[0]!.code],
        ['/table/columns/0/default', 'invalid-default'],
      );
    }
  });

  test('a moment whose value depends on the settings of a session is not written as one of its values', async () => {
    for (const [from, text, to] of [
      ['timestamp', "'2026-01-01 10:00+00'::timestamptz", 'text'],
      ['text', "'2026-01-01 10:00+00'::timestamptz", 'varchar(40)'],
      ['timestamptz(6)', "'2026-01-01 10:00'::timestamp", 'timestamptz(3)'],
      ['text', "'2026-01-02'::date", 'varchar(40)'],
      ['date', "'2026-01-01 10:00+00'::timestamptz", 'timestamp'],
    ]) {
      const name = nextTable();
      await sql(`CREATE TABLE ${name} (v ${from} DEFAULT ${text})`);
      const columns = [{ name: 'v', type: to }];
      const answer = await put(name, { columns }, '?allow=lossy_types');
      const { errors } = assertProblem(answer, 422, 'invalid-definition');
      assert.match(
        errors[0]!.detail,
        /is another value in each time zone or form of dates: send the default/,
      );
      await change(name, [{ ...columns[0], default: '2026-01-01' }]);
    }
  });

  test('no function of another role runs when a default is read', async () => {
    const name = nextTable();
    await sql(`CREATE TYPE ${name}_t AS ENUM ('sad'); CREATE TYPE ${name}_u AS ENUM ('sad'); CREATE SEQUENCE ${name}_ran;
      CREATE FUNCTION ${name}_f(int) RETURNS ${name}_t LANGUAGE sql AS $$SELECT nextval('public.${name}_ran'); SELECT 'sad'::public.${name}_t$$;
      CREATE CAST (int AS ${name}_t) WITH FUNCTION ${name}_f(int) AS ASSIGNMENT; CREATE TABLE ${name} (v ${name}_t DEFAULT 5)`);
    const answer = await put(name, { columns: [{ name: 'v', type: `${name}_u` }] }, '?dry_run=true');
    const { errors } = assertProblem(answer, 422, 'invalid-definition');
    assert.equal(errors[0]!.pointer, '/table/columns/0/default', JSON.stringify(errors));
    assert.deepEqual(await service.rows(`SELECT is_called FROM ${name}_ran`), [{ is_called: false }]);
  });

  test('defaults of tables below that are too long together are not read', async () => {
    const long: [what: string, type: string, tables: number, text: string, change: object][] = [
      ['a long literal', 'text', 1, "repeat('''', 9000000)", { type: 'varchar(10000000)' }],
      ['many literals', 'text', 5, "repeat('a', 2500000)", { default: '1' }],
      ['many digits', 'numeric', 150, "'1' || repeat('0', 120000)", { default: '1' }],
    ];
    for (const [what, type, tables, text, given] of long) {
      const name = nextTable();
      await sql(`CREATE TABLE ${name} (id int, v ${type}, w int) PARTITION BY LIST (id);
        DO $$BEGIN FOR n IN 1..${tables} LOOP EXECUTE format('CREATE TABLE ${name}_%1$s PARTITION OF ${name} FOR VALUES IN (%1$s)', n);
          EXECUTE format('ALTER TABLE ${name}_%s ALTER v SET DEFAULT %L', n, ${text}); END LOOP; END$$`);
      const answer = await put(name, { columns: [{ name: 'id' }, { name: 'v', ...given }, { name: 'w' }] });
      const { detail } = assertProblem(answer, 413, 'limit-exceeded');
      assert.match(detail, new RegExp(`the column "v" of "public"."${name}_\\d+", are too long`), what);
      await change(name, [{ name: 'id' }, { name: 'v' }, { name: 'w', default: '1' }]);
      await sql(`DROP TABLE ${name}`);
    }
  });

  test('long defaults of tables below that are within the limits are kept', async () => {
    const name = nextTable();
    await sql(`CREATE TABLE ${name} (v text DEFAULT 'x', j jsonb); CREATE TABLE ${name}_a () INHERITS (${name}); CREATE TABLE ${name}_b () INHERITS (${name});
      DO $$BEGIN EXECUTE format('ALTER TABLE ${name}_a ALTER v SET DEFAULT %L, ALTER j SET DEFAULT %L', repeat('''', 1000000), to_jsonb(repeat('n', 100000))); END$$`);
    await change(name, [
      { name: 'v', type: 'varchar(10000000)' },
      { name: 'j', type: 'json', default: '{}' },
    ]);
    const rows: unknown[] = [];
    for (const table of [`${name}_a`, `${name}_b`])
      rows.push(
        ...(await service.rows(
          `INSERT INTO ${table} DEFAULT VALUES RETURNING length(v) AS v, length(j::text) AS j`,
        )),
      );
    assert.deepEqual(rows, [
      { v: 1000000, j: 100002 },
      { v: 1, j: 2 },
    ]);
  });

  test('a column that a table below numbers itself stays numbered there, or the change is refused', async () => {
    const made = (text: string) => {
      const name = nextTable();
      return sql(`CREATE TABLE ${name} (v int ${text}, w int); CREATE TABLE ${name}_1 () INHERITS (${name});
        ALTER TABLE ${name}_1 ALTER v DROP DEFAULT, ALTER v SET NOT NULL, ALTER v ADD GENERATED ALWAYS AS IDENTITY`).then(
        () => name,
      );
    };
    const possible: [was: string, column: object][] = [
      ['DEFAULT 3', { name: 'x', renamed_from: 'v' }],
      ['DEFAULT 3', { name: 'x', renamed_from: 'v', is_nullable: false, comment: 'numbered below' }],
      ['', { name: 'x', renamed_from: 'v', type: 'bigint' }],
      ['', { name: 'x', renamed_from: 'v', type: 'serial' }],
    ];
    for (const [was, column] of possible) {
      const name = await made(was);
      await change(name, [column, { name: 'w', default: '7' }]);
      const rows = await service.rows(`INSERT INTO ${name}_1 DEFAULT VALUES RETURNING x::int, w`);
      assert.deepEqual(rows, [{ x: 1, w: 7 }], JSON.stringify(column));
    }
    const impossible: [was: string, column: object][] = [
      ['DEFAULT 3', { name: 'v', default: null }],
      ['DEFAULT 3', { name: 'v', type: 'bigint' }],
      ['DEFAULT 3', { name: 'x', renamed_from: 'v', type: 'bigint' }],
      ['DEFAULT 3', { name: 'v', type: 'serial' }],
      ['', { name: 'v', default: '5' }],
      ['', { name: 'v', type: 'text' }],
      ['GENERATED ALWAYS AS IDENTITY', { name: 'v', type: 'int', default: '5' }],
    ];
    for (const [was, column] of impossible) {
      const name = await made(was);
      for (const query of ['?dry_run=true', '']) {
        const answer = await put(name, { columns: [column, { name: 'w' }] }, query);
        const { errors } = assertProblem(answer, 422, 'invalid-definition');
        assert.deepEqual([errors[0]!.pointer, errors[0]!.code], ['/table/columns/0', 'not-supported']);
        assert.match(errors[0]!.detail!, new RegExp(`"${name}_1" has numbers of its own`));
      }
    }
  });

  test('a partition with its own default cannot be numbered with its table', async () => {
    const name = nextTable();
    await sql(`CREATE TABLE ${name} (id int, v int NOT NULL) PARTITION BY LIST (id); CREATE TABLE ${name}_1 PARTITION OF ${name} FOR VALUES IN (1);
      ALTER TABLE ${name}_1 ALTER v SET DEFAULT 7`);
    const columns = [{ name: 'id' }, { name: 'v', type: 'serial' }];
    const [dry, answer] = [await put(name, { columns }, '?dry_run=true'), await put(name, { columns })];
    assert.deepEqual([dry.status, dry.body.errors], [answer.status, answer.body.errors]);
    // Before PostgreSQL 17, an identity is that of the partitioned table alone.
    const [version] = await service.rows(`SELECT current_setting('server_version_num')::int AS number`);
    if (Number(version!.number) < 170000) return;
    const { errors } = assertProblem(dry, 422, 'invalid-definition');
    assert.match(
      errors[0]!.detail!,
      new RegExp(`"${name}_1" has its own default or expression for the column "v"`),
    );
  });

  test('a table below keeps a default of NULL that hides the default of the domain', async () => {
    const name = nextTable();
    await sql(`CREATE TABLE ${name} (v alter_defaults_five DEFAULT 7, w alter_defaults_five DEFAULT 7); CREATE TABLE ${name}_1 () INHERITS (${name});
      ALTER TABLE ${name}_1 ALTER v SET DEFAULT NULL, ALTER w SET DEFAULT NULL; CREATE DOMAIN ${name}_six AS bigint DEFAULT 6`);
    await change(name, [
      { name: 'v', default: '8' },
      { name: 'w', type: `${name}_six` },
    ]);
    const rows = await service.rows(`INSERT INTO ${name}_1 DEFAULT VALUES RETURNING v, w`);
    assert.deepEqual(rows, [{ v: null, w: null }]);
  });
});
