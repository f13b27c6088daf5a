/** Drop Table and Rename Table: a table goes or changes its name as a whole, or nothing changes. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { columns } from '../support/columns.ts';
import { untilWaitsForLock } from '../support/locks.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.database.pool.query('CREATE SCHEMA archive');
});
after(() => service.stop());

const nextTable = tableNames('life');

async function newTable(): Promise<string> {
  const name = nextTable();
  const table = {
    columns: columns(['id', 'serial'], ['code', 'text']),
    constraints: { primary_key: { name: '', columns: ['id'] }, unique: [{ name: '', columns: ['code'] }] },
  };
  const answer = await service.post(`/table/${name}`, { table });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  await service.post(`/table/${name}/upload/json?if_exists=append`, { data: [{ code: 'a' }, { code: 'b' }] });
  return name;
}

const drop = (name: string, query = '', headers: Record<string, string> = {}): Promise<TestAnswer> =>
  service.request('DELETE', `/table/${name}${query}`, { headers });
const rename = (
  name: string,
  body: unknown,
  query = '',
  headers: Record<string, string> = {},
): Promise<TestAnswer> =>
  service.request('PATCH', `/table/${name}${query}`, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });
const sql = (text: string) => service.database.pool.query(text);
const relations = async (name: string): Promise<unknown[]> =>
  (await service.rows(`SELECT oid FROM pg_class WHERE relname LIKE $1`, [`${name}%`])).map(({ oid }) => oid);
const eventsOf = async (name: string): Promise<unknown[]> =>
  (
    await service.rows(
      `SELECT event ->> 'type' AS type, event -> 'data' AS data FROM tablewright_service.events
       WHERE event -> 'data' ->> 'table' = $1 AND event ->> 'type' IN ('table.changed', 'table.dropped') ORDER BY created_at, table_schema`,
      [name],
    )
  ).map(({ type, data }) => ({ type, ...(data as object) }));

suite('Drop Table', () => {
  test('drops the table with its sequences and indexes, and reports it', async () => {
    const name = await newTable();
    const answer = await drop(name);
    assert.equal(answer.status, 204);
    assert.deepEqual(await relations(name), []);
    assert.deepEqual(await eventsOf(name), [{ type: 'table.dropped', schema: 'public', table: name }]);
    assertProblem(await drop(name), 404, 'table-not-found');
    assert.equal((await drop(name, '?if_exists=true')).status, 204);
    assert.equal((await drop(name, '?if_exists=true&schema=nowhere')).status, 204);
    assert.equal((await eventsOf(name)).length, 1);
  });

  test('a dry run drops nothing and reports nothing', async () => {
    const name = await newTable();
    assert.equal((await drop(name, '?dry_run=true')).status, 204);
    assert.equal((await relations(name)).length, 4);
    assert.deepEqual(await eventsOf(name), []);
  });

  test('names everything that needs the table, and keeps it', async () => {
    const name = await newTable();
    await sql(`CREATE VIEW ${name}_view AS SELECT code FROM ${name};
      CREATE TABLE ${name}_child (a int REFERENCES ${name});
      CREATE TABLE ${name}_heir () INHERITS (${name});
      CREATE TABLE ${name}_numbered (a int DEFAULT nextval('${name}_id_seq'));
      CREATE FUNCTION ${name}_of(${name}) RETURNS int LANGUAGE sql RETURN 1;
      CREATE TRIGGER own BEFORE INSERT ON ${name} FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`);
    for (const query of ['', '?dry_run=true']) {
      const { errors } = assertProblem(await drop(name, query), 409, 'dependent-objects');
      assert.deepEqual(
        errors.map(({ value }) => value),
        [
          `constraint ${name}_child_a_fkey on table ${name}_child`,
          `default value for column a of table ${name}_numbered`,
          `function ${name}_of(${name})`,
          `table ${name}_heir`,
          `view ${name}_view`,
        ],
      );
    }
    assert.equal((await service.rows(`SELECT FROM ONLY ${name}`)).length, 2);
    assert.deepEqual(await eventsOf(name), []);
  });

  test('partitions are parts of their table, and what needs a partition is named', async () => {
    const name = nextTable();
    await sql(`CREATE TABLE ${name} (a int) PARTITION BY LIST (a); CREATE TABLE ${name}_1 PARTITION OF ${name} FOR VALUES IN (1);
      CREATE TABLE ${name}_2 PARTITION OF ${name} FOR VALUES IN (2); CREATE INDEX ON ${name} (a); CREATE VIEW ${name}_view AS SELECT * FROM ${name}_1`);
    const { errors } = assertProblem(await drop(name), 409, 'dependent-objects');
    assert.deepEqual(
      errors.map(({ value }) => value),
      [`view ${name}_view`],
    );
    await sql(`DROP VIEW ${name}_view`);
    assert.equal((await drop(`${name}_2`)).status, 204);
    assert.equal((await drop(name)).status, 204);
    assert.deepEqual(await relations(name), []);
  });

  test('a foreign key over partitions is named once, and always as the key that can be dropped', async () => {
    const name = nextTable();
    const partitions = (table: string) => `CREATE TABLE ${table}_1 PARTITION OF ${table} FOR VALUES IN (1);
      CREATE TABLE ${table}_2 PARTITION OF ${table} FOR VALUES IN (2)`;
    await sql(`CREATE TABLE ${name} (a int PRIMARY KEY) PARTITION BY LIST (a); ${partitions(name)};
      CREATE TABLE ${name}_child (a int CONSTRAINT up REFERENCES ${name}, b int) PARTITION BY LIST (b); ${partitions(`${name}_child`)}`);
    const upload = (table: string) =>
      service.post(`/table/${table}/upload/json?if_exists=truncate`, { data: [{ a: 1 }] });
    const expected = [`constraint up on table ${name}_child`];
    for (const refused of [
      await drop(name),
      await drop(`${name}_1`),
      await upload(name),
      await upload(`${name}_1`),
    ]) {
      const { errors } = assertProblem(refused, 409, 'dependent-objects');
      assert.deepEqual(
        errors.map(({ value }) => value),
        expected,
      );
    }
    await sql(
      `ALTER TABLE ${name}_child DROP CONSTRAINT up; ALTER TABLE ${name}_child ADD CONSTRAINT up FOREIGN KEY (a) REFERENCES ${name}_1`,
    );
    const { errors } = assertProblem(await upload(name), 409, 'dependent-objects');
    assert.deepEqual(
      errors.map(({ value }) => value),
      expected,
    );
    await sql(`DROP TABLE ${name}_child`);
    assert.equal((await drop(name)).status, 204);
  });

  test('a partition in a schema that the token may not use keeps its table', async () => {
    const name = nextTable();
    await sql(`CREATE TABLE ${name} (a int) PARTITION BY LIST (a);
      CREATE TABLE archive.${name}_1 PARTITION OF ${name} FOR VALUES IN (1)`);
    const token = await service.token({ scope: 'table:drop', schemas: ['public'] });
    assertProblem(await service.request('DELETE', `/table/${name}`, { token }), 403, 'schema-forbidden');
    assert.equal((await drop(name)).status, 204);
  });

  test('refuses what is no table, and a table of another role', async () => {
    const name = nextTable();
    await sql(`CREATE VIEW ${name} AS SELECT 1 AS a`);
    for (const query of ['', '?if_exists=true']) {
      const { detail } = assertProblem(await drop(name, query), 404, 'table-not-found');
      assert.match(detail, /is a view, not a table/);
    }
    assertProblem(await drop('pg_class', '?schema=pg_catalog'), 403, 'schema-forbidden');
    assertProblem(await drop('events', '?schema=tablewright_service'), 403, 'schema-forbidden');
    const token = await service.token({ scope: 'table:replace table:create' });
    assertProblem(await service.request('DELETE', `/table/${name}`, { token }), 403, 'insufficient-scope');
  });

  test('a repeated request with the same key gets the answer of the first one', async () => {
    const name = await newTable();
    const headers = { 'idempotency-key': name };
    assert.equal((await drop(name, '', headers)).status, 204);
    await newTable();
    await sql(`CREATE TABLE ${name} ()`);
    const again = await drop(name, '', headers);
    assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [204, 'true']);
    assert.equal((await relations(name)).length, 1);
  });

  test('waits for a session that uses the table, and lets readers pass', async () => {
    const name = await newTable();
    const other = await service.database.pool.connect();
    try {
      await other.query(`BEGIN; SELECT FROM ${name}`);
      const dropping = drop(name);
      await untilWaitsForLock(service.database);
      assert.equal((await service.get(`/table/${name}/rows`)).body.rows.length, 2);
      await other.query('COMMIT');
      assert.equal((await dropping).status, 204);
    } finally {
      other.release();
    }
  });

  test('never drops another table that has got the name', async () => {
    const name = await newTable();
    const other = await service.database.pool.connect();
    try {
      await other.query(`BEGIN; ALTER TABLE ${name} RENAME TO ${name}_old; CREATE TABLE ${name} (other int)`);
      const dropping = drop(name);
      await untilWaitsForLock(service.database);
      await other.query('COMMIT');
      assertProblem(await dropping, 409, 'write-conflict');
    } finally {
      other.release();
    }
    assert.equal((await service.rows(`SELECT FROM ${name}_old`)).length, 2);
    assert.equal((await service.rows(`SELECT FROM ${name}`)).length, 0);
  });
});

suite('Rename Table', () => {
  test('gives a table another name, schema and comment, and keeps its rows', async () => {
    const name = await newTable();
    const answer = await rename(name, {
      name: `${name}_new`,
      schema: 'archive',
      comment: 'Since "2020"; it\'s old',
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.headers.get('location'), `/api/v1/table/${name}_new?schema=archive`);
    const { table } = answer.body;
    assert.deepEqual(
      [table.schema, table.name, table.comment],
      ['archive', `${name}_new`, 'Since "2020"; it\'s old'],
    );
    const described = await service.get(`/table/${name}_new?schema=archive`);
    assert.deepEqual(described.body, answer.body);
    assert.equal((await service.rows(`SELECT FROM archive.${name}_new`)).length, 2);
    const from = { schema: 'public', table: name };
    const to = { schema: 'archive', table: `${name}_new` };
    assert.deepEqual(await eventsOf(name), [{ type: 'table.changed', ...from, renamed_to: to }]);
    assert.deepEqual(await eventsOf(`${name}_new`), [{ type: 'table.changed', ...to, renamed_from: from }]);
    const last = await rename(`${name}_new`, { comment: null }, '?schema=archive');
    assert.equal(last.body.table.comment, undefined);
    assert.deepEqual((await eventsOf(`${name}_new`))[1], { type: 'table.changed', ...to });
  });

  test('moves into a schema in which the old name is used, and out of one in which the new name is used', async () => {
    const [name, target] = [await newTable(), await newTable()];
    await sql(
      `CREATE TABLE archive.${name} (); ALTER TABLE ${target} SET SCHEMA archive; CREATE TABLE ${target} ()`,
    );
    await sql(`ALTER TABLE archive.${target} RENAME TO ${target}_kept`);
    const answer = await rename(name, { name: target, schema: 'archive' });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal((await service.rows(`SELECT FROM archive.${target}`)).length, 2);
  });

  test('refuses a name that is used, with nothing changed', async () => {
    const [name, taken] = [await newTable(), await newTable()];
    assertProblem(await rename(name, { name: taken, comment: 'x' }), 409, 'table-exists');
    await sql(`CREATE TABLE archive.${name}_pkey ()`);
    const { detail } = assertProblem(await rename(name, { schema: 'archive' }), 409, 'table-exists');
    assert.match(detail, new RegExp(`"${name}_pkey"`));
    assertProblem(await rename(name, { schema: 'nowhere' }), 404, 'schema-not-found');
    assertProblem(await rename(`${name}_x`, { name: 'b' }), 404, 'table-not-found');
    const { body } = await service.get(`/table/${name}`);
    assert.deepEqual([body.table.schema, body.table.name, body.table.comment], ['public', name, undefined]);
    assert.deepEqual(await eventsOf(name), []);
  });

  test('refuses bodies that say nothing or too much, and schemas that the token may not use', async () => {
    const name = await newTable();
    for (const body of [
      {},
      [],
      null,
      { name: 'a'.repeat(64) },
      { name: 'a\0' },
      { title: 'x' },
      { name: 1 },
      { comment: 'x'.repeat(16_385) },
    ])
      assertProblem(await rename(name, body), 422, 'invalid-definition');
    for (const schema of ['pg_catalog', 'tablewright_service'])
      assertProblem(await rename(name, { schema }), 403, 'schema-forbidden');
    const token = await service.token({ scope: 'table:alter', schemas: ['public'] });
    const options = { token, body: '{"schema": "archive"}', headers: { 'content-type': 'application/json' } };
    assertProblem(await service.request('PATCH', `/table/${name}`, options), 403, 'schema-forbidden');
  });

  test('a repeated request with the same key gets the answer of the first one', async () => {
    const name = await newTable();
    const headers = { 'idempotency-key': name };
    const first = await rename(name, { name: `${name}_b` }, '', headers);
    const again = await rename(name, { name: `${name}_b` }, '', headers);
    assert.deepEqual(
      [again.status, again.body, again.headers.get('idempotency-replayed')],
      [200, first.body, 'true'],
    );
  });

  test('a repeated request gets the answer only with a token for the new schema', async () => {
    const name = await newTable();
    const headers = { 'content-type': 'application/json', 'idempotency-key': name };
    const move = async (schemas?: string[]) => {
      const token = await service.token({ scope: 'table:alter', ...(schemas && { schemas }) });
      return service.request('PATCH', `/table/${name}`, { token, body: '{"schema": "archive"}', headers });
    };
    assert.equal((await move()).status, 200);
    assertProblem(await move(['public']), 403, 'schema-forbidden');
    assert.equal((await move()).headers.get('idempotency-replayed'), 'true');
  });

  test('a table of an extension keeps its name and its schema, and may get a comment', async () => {
    const name = await newTable();
    await sql(`CREATE EXTENSION IF NOT EXISTS hstore; ALTER EXTENSION hstore ADD TABLE ${name}`);
    for (const change of [{ name: `${name}_new` }, { schema: 'archive' }]) {
      const { errors } = assertProblem(await rename(name, change), 409, 'dependent-objects');
      assert.deepEqual(
        errors.map(({ value }) => value),
        ['extension hstore'],
      );
    }
    assert.equal((await rename(name, { name, comment: 'x' })).status, 200);
    await sql(`ALTER EXTENSION hstore DROP TABLE ${name}`);
    assert.equal((await rename(name, { name: `${name}_new` })).status, 200);
  });

  test('never renames another table that has got the name', async () => {
    const name = await newTable();
    const other = await service.database.pool.connect();
    try {
      await other.query(`BEGIN; ALTER TABLE ${name} RENAME TO ${name}_old; CREATE TABLE ${name} (other int)`);
      const renaming = rename(name, { name: `${name}_new` });
      await untilWaitsForLock(service.database);
      await other.query('COMMIT');
      assertProblem(await renaming, 409, 'write-conflict');
    } finally {
      other.release();
    }
    assert.equal((await service.rows(`SELECT FROM ${name}`)).length, 0);
  });

  test('an append to a table that was dropped and made again between two uploads finds the new one', async () => {
    const name = await newTable();
    const append = () =>
      service.post(`/table/${name}/upload/json?if_exists=append`, { data: [{ code: 'c' }] });
    assert.equal((await append()).status, 200);
    assert.equal((await drop(name)).status, 204);
    assertProblem(await service.get(`/table/${name}`), 404, 'table-not-found');
    assert.equal((await append()).status, 201);
    assert.equal((await service.rows(`SELECT FROM ${name}`)).length, 1);
  });
});
