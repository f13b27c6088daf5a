/** Tests that PostgreSQL has the names and formats that server-internals.ts uses. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts';
import { assertLinear } from '../../test/support/growth.ts';
import { startThrowAwayServer } from '../../test/support/throw-away-server.ts';
import { AppError } from '../core/errors.ts';
import { copyFrom } from './copy.ts';
import { findBinaries } from './embedded/binaries.ts';
import { createPool } from './pool.ts';
import {
  copyLineOf,
  isChangeOfCatalogue,
  isOfForeignServer,
  isOfFunction,
  isPolicyViolation,
  isRaised,
  isRaisedAt,
  isSecondUpdate,
  maxRowsStoredTogether,
  partitionKeyOf,
  repeatedKeyOf,
  rowSizes,
  storesRowsTogether,
} from './server-internals.ts';
import { conditionOf } from './sqlstate.ts';
import { inTransaction } from './transaction.ts';

let database: TestDatabase;
let client: pg.Client;

before(async () => {
  database = await createTestDatabase();
  client = new pg.Client(database.url);
  await client.connect();
});

after(async () => {
  await client.end();
  await database.drop();
});

/** Runs the statements, rolls back and returns the error of the last one. */
async function errorOf(...statements: string[]): Promise<pg.DatabaseError> {
  const last = statements.pop()!;
  await client.query('BEGIN');
  try {
    for (const statement of statements) await client.query(statement);
    return await client.query(last).then(
      () => assert.fail(`PostgreSQL does not refuse: ${last}`),
      (error) => error,
    );
  } finally {
    await client.query('ROLLBACK');
  }
}

/** Copies the lines into the table t and returns the error. */
async function copyErrorOf(table: string, lines: string): Promise<pg.DatabaseError> {
  await client.query('BEGIN');
  try {
    await client.query(table);
    const copy = copyFrom(client, 'COPY t FROM STDIN');
    await copy.write(Buffer.from(lines));
    await copy.end();
  } catch (error) {
    return error as pg.DatabaseError;
  } finally {
    await client.query('ROLLBACK');
  }
  assert.fail('PostgreSQL does not refuse the rows');
}

const failingFunction = (body: string) =>
  `CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$BEGIN ${body}; RETURN 1; END$$`;

test('an error of RAISE is distinguished from an error of PostgreSQL with the same SQLSTATE', async () => {
  const raised = await errorOf(
    failingFunction(`RAISE EXCEPTION USING errcode = 'unique_violation'`),
    'SELECT f()',
  );
  assert.deepEqual(
    [conditionOf(raised), isRaised(raised), isRaisedAt(raised.where!), isOfFunction(raised)],
    ['unique_violation', true, true, true],
  );
  const own = await errorOf('CREATE TABLE t (a integer UNIQUE)', 'INSERT INTO t VALUES (1), (1)');
  assert.deepEqual([conditionOf(own), isRaised(own), isOfFunction(own)], ['unique_violation', false, false]);
});

test('an error within a function, in PL/pgSQL or SQL, is distinguished from an error of the statement', async () => {
  const within = await errorOf(failingFunction('PERFORM 1 FROM missing'), 'SELECT f()');
  assert.deepEqual([isRaised(within), isRaisedAt(within.where!), isOfFunction(within)], [false, false, true]);
  const inSql = await errorOf(
    `CREATE FUNCTION f(a text) RETURNS integer LANGUAGE sql STRICT VOLATILE SET search_path TO public AS 'SELECT a::integer'`,
    `SELECT f('x')`,
  );
  assert.equal(isOfFunction(inSql), true);
  assert.equal(isOfFunction(await errorOf('SELECT FROM "PL/pgSQL function"')), false);
});

test('an error of a foreign server that cannot be reached is distinguished from one of the database', async (t) => {
  if (database.adminUrl === undefined) return t.skip('needs a superuser');
  const admin = new pg.Client(database.adminUrl);
  await admin.connect();
  const failureOf = (statement: string) =>
    admin.query(statement).then(
      () => assert.fail(`PostgreSQL does not refuse: ${statement}`),
      (error: pg.DatabaseError) => error,
    );
  try {
    await admin.query(`CREATE EXTENSION postgres_fdw; CREATE EXTENSION dblink;
      CREATE SERVER away FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '1');
      CREATE USER MAPPING FOR CURRENT_USER SERVER away;
      CREATE FOREIGN TABLE far (a integer) SERVER away`);
    // The last statement ends the session of the foreign server itself.
    const { host, port, user, password } = admin;
    await admin.query(`CREATE SERVER near FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '${host}', port '${port}', dbname '${admin.database}');
      CREATE USER MAPPING FOR CURRENT_USER SERVER near OPTIONS (user '${user}', password '${password}');
      CREATE VIEW ended AS SELECT 1 AS a FROM pg_terminate_backend(pg_backend_pid());
      CREATE FOREIGN TABLE ending (a integer) SERVER near OPTIONS (table_name 'ended')`);
    for (const statement of [
      'SELECT FROM far',
      `SELECT dblink_connect('host=127.0.0.1 port=1')`,
      `SELECT FROM dblink('host=127.0.0.1 port=1', 'SELECT 1') AS d (a integer)`,
      `SELECT dblink_connect('${database.adminUrl}');
       SELECT dblink_exec('SELECT pg_terminate_backend(pg_backend_pid())')`,
      'SELECT a FROM ending',
    ]) {
      const error = await failureOf(statement);
      assert.match(error.code!, /^(08|57P)/, statement);
      assert.ok(isOfForeignServer(error), `${statement}: ${error.routine}`);
    }
  } finally {
    await admin.end();
  }
});

test('a row that a policy forbids is distinguished from a missing privilege', async () => {
  const table = 'CREATE TABLE t (a integer)';
  const policy = [
    'ALTER TABLE t ENABLE ROW LEVEL SECURITY',
    'ALTER TABLE t FORCE ROW LEVEL SECURITY',
    'CREATE POLICY p ON t WITH CHECK (a > 0)',
  ];
  const forbidden = await errorOf(table, ...policy, 'INSERT INTO t VALUES (0)');
  assert.deepEqual([conditionOf(forbidden), isPolicyViolation(forbidden)], ['insufficient_privilege', true]);
  const lacking = await errorOf(table, 'REVOKE ALL ON t FROM CURRENT_USER', 'INSERT INTO t VALUES (0)');
  assert.deepEqual([conditionOf(lacking), isPolicyViolation(lacking)], ['insufficient_privilege', false]);
});

test('a statement that uses an object which was just dropped gets a known internal error', async () => {
  const error = await errorOf(`
    DO $$ DECLARE id oid; BEGIN
      CREATE TYPE dropped AS (a integer);
      id := 'dropped'::regtype;
      DROP TYPE dropped;
      PERFORM pg_catalog.array_in('{}', id, -1);
    END $$`);
  assert.deepEqual([conditionOf(error), isChangeOfCatalogue(error)], ['internal_error', true], error.message);
});

test('a second update of the same row is distinguished from a query that returns several rows', async () => {
  const second = await errorOf(
    'CREATE TABLE t (a integer PRIMARY KEY)',
    'INSERT INTO t VALUES (1), (1) ON CONFLICT (a) DO UPDATE SET a = EXCLUDED.a',
  );
  assert.deepEqual([conditionOf(second), isSecondUpdate(second)], ['cardinality_violation', true]);
  const several = await errorOf('SELECT (SELECT generate_series(1, 2))');
  assert.deepEqual([conditionOf(several), isSecondUpdate(several)], ['cardinality_violation', false]);
});

test('the sizes of a row that is too large are found, and are not found for the entry of an index', async () => {
  const columns = Array.from({ length: 1600 }, (_, index) => `c${index} text DEFAULT 'ten letters'`);
  const row = await errorOf(`CREATE TABLE t (${columns})`, 'INSERT INTO t DEFAULT VALUES');
  assert.equal(conditionOf(row), 'program_limit_exceeded');
  assert.deepEqual(rowSizes(row)!.max, '8160');
  const entry = await errorOf(
    'CREATE TABLE t (a text UNIQUE)',
    `INSERT INTO t SELECT string_agg(md5(n::text), '') FROM generate_series(1, 500) n`,
  );
  assert.deepEqual([conditionOf(entry), rowSizes(entry)], ['program_limit_exceeded', undefined]);
});

test('COPY names the last collected row if it fails when it stores a row that is too large', async () => {
  const columns = Array.from({ length: 1600 }, (_, index) => `c${index} text`);
  const cells = (text: string) => `${columns.map(() => text).join('\t')}\n`;
  const lines = [cells(''), cells('ten letters'), cells(''), cells('')];
  const error = await copyErrorOf(`CREATE TABLE t (${columns})`, lines.join(''));
  assert.equal(storesRowsTogether(error), true, error.routine);
  const { line } = copyLineOf(error)!;
  assert(line > 2 && line <= lines.length + 1 && lines.length < maxRowsStoredTogether, `line ${line}`);
});

test('the line and the column of a COPY are found after the context of a trigger', async () => {
  const invalid = await copyErrorOf('CREATE TABLE t (a integer, b integer)', '1\t1\n2\tx\n');
  assert.deepEqual(copyLineOf(invalid), { line: 2, column: 'b' });
  const raised = await copyErrorOf(
    `CREATE TABLE t (a integer);
     CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF new.a = 2 THEN RAISE 'no'; END IF; RETURN new; END$$;
     CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION g()`,
    '1\n2\n',
  );
  assert.deepEqual(copyLineOf(raised)?.line, 2);
  assert.equal(copyLineOf(await errorOf(`SELECT 'x'::integer`)), undefined);
});

test('the partition key of a row without a partition is found, and not in the values of other errors', async () => {
  const table = 'CREATE TABLE t (k integer, "a b" text) PARTITION BY LIST (k)';
  const none = await errorOf(table, 'INSERT INTO t VALUES (200)');
  assert.deepEqual(partitionKeyOf(none), { columns: 'k', values: '200' });
  const other = await errorOf(
    table,
    'CREATE TABLE p PARTITION OF t FOR VALUES IN (1)',
    `INSERT INTO p VALUES (2, 'x) = (y')`,
  );
  assert.deepEqual([conditionOf(other), partitionKeyOf(other)], ['check_violation', undefined]);
});

test('a key that already exists is found with its values', async () => {
  const error = await errorOf(
    'CREATE TABLE t (a integer, "b c" text, UNIQUE (a, "b c"))',
    `INSERT INTO t VALUES (1, 'x)=(y'), (1, 'x)=(y')`,
  );
  assert.deepEqual(repeatedKeyOf(error), { columns: 'a, "b c"', values: '1, x)=(y' });
});

test('the time to search a detail for a key is proportional to its length', async () => {
  await assertLinear((size) => repeatedKeyOf({ detail: `Failing row contains ${'('.repeat(size)}` }), 5000);
  const routine = 'ExecFindPartition';
  await assertLinear((size) => partitionKeyOf({ routine, detail: '('.repeat(size) }), 5000);
});

test('a write to a standby is refused as a write to a read-only database', async () => {
  const server = await startThrowAwayServer(await findBinaries(), { isStandby: true });
  const pool = createPool(
    { url: server.adminUrl, poolSize: 1, statementTimeoutMs: 0 },
    { info() {}, warn() {} },
  );
  try {
    const refusal = await inTransaction(pool, {}, async () => {}).catch((error) => error);
    assert(refusal instanceof AppError, String(refusal));
    assert.equal(refusal.code, 'database-unavailable');
    assert.equal(refusal.detail, 'The database is currently read-only, so nothing can be changed.');
    assert.equal(await inTransaction(pool, { readOnly: true }, async () => 'read'), 'read');
  } finally {
    await pool.end();
    await server.stop();
  }
});
