/**
 * The value that a row gets for a column that it leaves out: the column's default, which PostgreSQL evaluates only for the rows
 * that need it. Constants may be sent with the rows. They must equal the values that PostgreSQL would have stored.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import pg from 'pg';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { someOf } from '../support/sized.ts';
import { appender } from '../support/uploads.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows(`
    CREATE TYPE mood AS ENUM ('ok', 'so-so');
    CREATE TYPE pair AS (a int, b text);
    CREATE DOMAIN mood_domain AS mood;
    CREATE DOMAIN mood_of_mood AS mood_domain DEFAULT 'so-so';
    CREATE DOMAIN moods AS mood[];
    CREATE DOMAIN pair_domain AS pair;
    CREATE DOMAIN small AS int CHECK (VALUE < 10);
    CREATE DOMAIN default_too_large AS int DEFAULT 11 CHECK (VALUE < 10);
    CREATE DOMAIN numbered AS int;
    CREATE SEQUENCE numbers;
    CREATE SEQUENCE untouched;
    ALTER DOMAIN numbered SET DEFAULT nextval('numbers');
    CREATE FUNCTION random_but_stable() RETURNS float8 LANGUAGE sql STABLE AS 'SELECT random()';
    CREATE FUNCTION random_but_immutable() RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN random(); END';
    CREATE FUNCTION raise_always() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RAISE EXCEPTION ''never''; END';
    CREATE FUNCTION raise_own_code() RETURNS int LANGUAGE plpgsql AS
      'BEGIN RAISE EXCEPTION ''not on Sundays'' USING ERRCODE = ''U0001''; END';
    CREATE FUNCTION read_missing_table() RETURNS int LANGUAGE plpgsql AS
      'BEGIN RETURN (SELECT 1 FROM missing_table); END';
    CREATE FUNCTION to_mood(text) RETURNS mood LANGUAGE sql VOLATILE AS
      'SELECT (enum_range(NULL::mood))[nextval(''numbers'') % 2 + 1]';
    CREATE CAST (text AS mood) WITH FUNCTION to_mood(text) AS ASSIGNMENT`);
});
after(() => service.stop());
afterEach(() => service.rows('DROP TABLE IF EXISTS t CASCADE'));

const append = appender(() => service);

/** Every second row has `d`, so that rows without it are in a COPY whose columns include it. */
const mixed = (value: unknown, count = 6) =>
  Array.from({ length: count }, (_, id) => (id % 2 === 0 ? { id, d: value } : { id }));

suite('a row without the column gets the value that INSERT would give it', () => {
  const cases: [type: string, byDefault: string, sent: unknown][] = [
    ['mood_domain', `'ok'`, 'so-so'],
    ['mood_of_mood', '', 'ok'],
    ['moods', `'{ok,so-so}'`, ['ok']],
    ['mood[]', `ARRAY['ok']::mood[]`, ['ok', 'so-so']],
    ['pair_domain', `'(1,x)'`, '(2,y)'],
    ['pair', `ROW(1, 'x')`, '(2,y)'],
    ['small', '7', 1],
    ['small[]', `'{1,2}'`, [3]],
    ['int4range', `'[1,2)'`, '[3,4)'],
    ['smallint', '-1', 2],
    ['bigint', '0', 2],
    ['bigint', '-9223372036854775808', 2],
    ['numeric(5,2)', '1.005', 2],
    ['numeric', `'NaN'`, 2],
    ['real', '0.1', 2],
    ['double precision', '1e-7', 2],
    ['integer', '0.5::numeric', 2],
    ['boolean', 'true', false],
    ['text', `'it''s \\ "x"'`, 'y'],
    ['text', `'x '::bpchar`, 'y'],
    ['varchar(5)', `'abc'`, 'y'],
    ['char(5)', `'abc'`, 'y'],
    ['date', `'2026-11-22'`, '2026-11-23'],
    ['timestamp(0)', `'2026-11-22 01:02:03.6'`, '2026-11-23 00:00:00'],
    ['timestamptz', `'2026-11-22 01:02:03+05'`, '2026-11-23 00:00:00Z'],
    ['interval', `'1 mon 2 days'`, '1 day'],
    ['time(1)', `'01:02:03.46'`, '01:02'],
    ['uuid', `'00000000-0000-0000-0000-000000000001'`, '00000000-0000-0000-0000-000000000002'],
    ['bytea', `'\\xdead'`, '\\x00'],
    ['jsonb', `'{"a": [1]}'`, { b: 1 }],
    ['jsonb', `'"text"'`, 1],
    ['text[]', `'{}'`, ['a']],
    ['inet', `'10.0.0.1/8'`, '::1'],
    ['text', `lower('ABC')`, 'y'],
    ['text', 'NULL', 'y'],
  ];
  for (const [type, byDefault, sent] of someOf(9, cases)) {
    test(`a row without a column of the type ${type} DEFAULT ${byDefault} gets the default`, async () => {
      const clause = byDefault === '' ? '' : `DEFAULT ${byDefault}`;
      for (const query of ['', '&on_conflict=skip', '&on_conflict=update']) {
        await service.rows(
          `DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, d ${type} ${clause})`,
        );
        const answer = await append(mixed(sent), query);
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
        await service.rows('INSERT INTO t (id) VALUES (100)');
        const values = await service.rows('SELECT DISTINCT d::text FROM t WHERE id % 2 = 1 OR id = 100');
        assert.equal(values.length, 1, JSON.stringify(values));
      }
    });
  }

  const changing: [type: string, byDefault: string, sent: unknown][] = [
    ['float8', 'random()', 0],
    ['float8', 'random_but_stable()', 0],
    ['float8', 'random_but_stable() + random_but_immutable() * 0', 0],
    ['numbered', '', 1000],
    ['int', `nextval('numbers')`, 1000],
    ['uuid', 'gen_random_uuid()', '00000000-0000-0000-0000-000000000002'],
    ['int', '(random() * 1e9)::int', 0],
  ];
  for (const [type, byDefault, sent] of someOf(3, changing)) {
    test(`each row without a column of the type ${type} DEFAULT ${byDefault} gets a value of its own`, async () => {
      const clause = byDefault === '' ? '' : `DEFAULT ${byDefault}`;
      for (const query of ['', '&on_conflict=skip']) {
        await service.rows(
          `DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, d ${type} ${clause})`,
        );
        assert.equal((await append(mixed(sent, 40), query)).status, 200);
        const [row] = await service.rows('SELECT count(DISTINCT d)::int AS values FROM t WHERE id % 2 = 1');
        assert.equal(row!.values, 20);
      }
    });
  }

  test('rows without a column with DEFAULT clock_timestamp() do not all get the same time', async () => {
    // Two calls may have the same time. 2,000 calls cannot: together they take longer than a microsecond on every machine.
    for (const query of ['', '&on_conflict=skip']) {
      await service.rows(
        'DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, d timestamptz DEFAULT clock_timestamp())',
      );
      assert.equal((await append(mixed('2026-01-01T00:00:00Z', 4_000), query)).status, 200);
      const [row] = await service.rows('SELECT count(DISTINCT d)::int AS values FROM t WHERE id % 2 = 1');
      assert.ok((row!.values as number) > 1);
    }
  });

  test('a default that a volatile function casts is computed for each row, although PostgreSQL does not show the cast', async () => {
    await service.rows(`CREATE TABLE t (id int PRIMARY KEY, d mood DEFAULT 'x'::text)`);
    const answer = await append(mixed('ok', 40));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const [row] = await service.rows('SELECT count(DISTINCT d)::int AS values FROM t WHERE id % 2 = 1');
    assert.equal(row!.values, 2);
  });

  test('a row without a column gets the default of its base type', {
    skip: !process.env.TEST_ADMIN_DATABASE_URL,
  }, async () => {
    const admin = new pg.Client(service.database.adminUrl);
    await admin.connect();
    await admin.query(`CREATE TYPE seven;
      CREATE FUNCTION seven_in(cstring) RETURNS seven LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
      CREATE FUNCTION seven_out(seven) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
      CREATE TYPE seven (INPUT = seven_in, OUTPUT = seven_out, LIKE = integer, DEFAULT = '7')`);
    await admin.end();
    await service.rows('CREATE TABLE t (id int, d seven)');
    const answer = await append(mixed('1', 2));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows('SELECT d::text FROM t ORDER BY id'), [{ d: '1' }, { d: '7' }]);
  });

  test('a default that is too long for its column is refused, not cut', async () => {
    await service.rows(`CREATE TABLE t (id int, d varchar(3) DEFAULT 'abcdef')`);
    assertProblem(await append(mixed('x')), 422, 'invalid-data');
    assert.deepEqual(await service.rows('SELECT FROM t'), []);
  });
});

suite('a default that raises an error', () => {
  const cases: [column: string, told: RegExp][] = [
    [`text NOT NULL DEFAULT current_setting('app.tenant')`, /app\.tenant/],
    ['int DEFAULT raise_always()', /never/],
    ['int DEFAULT raise_own_code()', /not on Sundays/],
    ['int DEFAULT read_missing_table()', /missing_table/],
    ['int DEFAULT 1 / 0', /division by zero/],
    ['small DEFAULT 11 + length(current_user)', /check constraint/],
    [`int DEFAULT currval('untouched')`, /currval/],
  ];
  for (const [column, told] of cases) {
    test(`a default that fails (${column}) is a problem of the column for rows without a value only`, async () => {
      await service.rows(
        `CREATE TABLE t (id int PRIMARY KEY, "the column" ${column}, n int DEFAULT length(current_user))`,
      );
      for (const query of ['', '&on_conflict=skip', '&on_conflict=update']) {
        const brought = [1, 2, 3].map((id) => ({ id, 'the column': 1 }));
        assert.equal((await append(brought, query)).status, 200, query);
        await service.rows('TRUNCATE t');
        const { errors } = assertProblem(await append([...brought, { id: 4 }], query), 422, 'invalid-data');
        assert.equal(errors.length, 1);
        const { row, column: named, code, detail } = errors[0]!;
        assert.deepEqual([row, named, code], [4, 'the column', 'failing-default'], JSON.stringify(errors));
        assert.match(detail, told);
        assert.deepEqual(await service.rows('SELECT FROM t'), []);
      }
    });
  }

  test('the problem of a default that its domain refuses names the row and the column', async () => {
    await service.rows('CREATE TABLE t (id int, d default_too_large)');
    assert.equal((await append([{ id: 1, d: 1 }])).status, 200);
    for (const data of [[{ id: 1, d: 1 }, { id: 2 }], [{ id: 1 }]]) {
      const { errors } = assertProblem(await append(data), 422, 'invalid-data');
      assert.deepEqual([errors[0]!.row, errors[0]!.column], [data.length, 'd'], JSON.stringify(errors));
    }
  });

  test('a default that fails is a problem of rows without any key', async () => {
    await service.rows('CREATE TABLE t (a int DEFAULT raise_always())');
    const { errors } = assertProblem(await append([{}, {}]), 422, 'invalid-data');
    assert.deepEqual([errors[0]!.row, errors[0]!.column, errors[0]!.code], [1, 'a', 'failing-default']);
  });

  test('the problem of a default that fails is reported together with the problems of cells', async () => {
    await service.rows('CREATE TABLE t (a int DEFAULT raise_always(), b int)');
    const data = [{ a: 1, b: 1 }, { b: 2 }, { a: 1, b: 'x' }];
    const { errors } = assertProblem(await append(data), 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ row, column, code }) => [row, column, code]),
      [
        [2, 'a', 'failing-default'],
        [3, 'b', 'not-a-whole-number'],
      ],
    );
  });

  test('the problem of a default whose sequence is used up names the column of a new table', async () => {
    await service.rows('CREATE SEQUENCE IF NOT EXISTS few MAXVALUE 2');
    const table = {
      columns: [
        { name: 'id', type: 'int' },
        { name: 'n', type: 'int', default: "nextval('few')" },
      ],
    };
    const answer = await service.post('/table/t/upload/json', {
      table,
      data: [1, 2, 3].map((id) => ({ id })),
    });
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual([errors[0]!.row, errors[0]!.column, errors[0]!.code], [3, 'n', 'failing-default']);
  });
});
