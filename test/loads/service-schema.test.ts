/** The service's own schema: how it is made and migrated, and that no request can use it. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { createPool } from '../../src/postgres/pool.ts';
import { type Migration, migrations } from '../../src/service/loads/migrations.ts';
import { prepareServiceSchema } from '../../src/service/loads/service-schema.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

suite('the schema', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  before(async () => {
    database = await createTestDatabase();
    pool = openPool(database.serviceUrl);
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  const versions = async (schema: string) =>
    (await database.pool.query(`SELECT version FROM ${schema}.migrations ORDER BY version`)).rows.map(
      ({ version }) => version,
    );

  test('the schema of the service is created once by replicas that start at the same time', async () => {
    const prepared = await Promise.all(Array.from({ length: 6 }, () => prepareServiceSchema(pool, 'many')));
    assert(prepared.every(({ schema }) => schema?.name === 'many'));
    assert.deepEqual(
      await versions('many'),
      migrations.map(({ version }) => version),
    );
  });

  test('the schema of the service gets the migrations that it lacks, and an older replica accepts the migrations of a newer one', async () => {
    const [first] = migrations;
    const later: Migration = {
      version: 2,
      name: 'later',
      statements: (schema) => [`CREATE TABLE ${schema}.later (a pg_catalog.int4)`],
    };
    for (const steps of [[first!], [first!, later], [first!]]) {
      assert.equal((await prepareServiceSchema(pool, 'growing', steps)).reason, undefined);
    }
    assert.deepEqual(await versions('growing'), [1, 2]);
  });

  test('the schema of the service has no tables if a migration fails', async () => {
    const broken: Migration = { version: 2, name: 'broken', statements: () => ['SELECT 1 / 0'] };
    await assert.rejects(prepareServiceSchema(pool, 'broken', [migrations[0]!, broken]), /division by zero/);
    const { rows } = await database.pool.query("SELECT FROM pg_namespace WHERE nspname = 'broken'");
    assert.deepEqual(rows, []);
  });

  test('the schema of the service is not used if it has objects of others', async () => {
    await database.pool.query('CREATE SCHEMA taken; CREATE TABLE taken.customers (id int)');
    assert.match((await prepareServiceSchema(pool, 'taken')).reason ?? '', /has objects of others/);
  });

  test('the schema of the service may not have the name of the role, because the search_path of the role would find it', async () => {
    const { rows } = await database.pool.query('SELECT current_user AS name');
    assert.match((await prepareServiceSchema(pool, rows[0].name)).reason ?? '', /search_path/);
  });

  test('other roles have no rights in the schema of the service', async () => {
    await prepareServiceSchema(pool, 'closed');
    const { rows } = await database.pool.query(
      `SELECT n.nspname, c.relname FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid
       CROSS JOIN aclexplode(coalesce(c.relacl, n.nspacl)) a WHERE n.nspname = 'closed' AND a.grantee = 0`,
    );
    assert.deepEqual(rows, []);
  });

  test('a role that may not create schemas uses the schema of the service if it was created for the role', async () => {
    const admin = new pg.Client(database.adminUrl ?? database.url);
    await admin.connect();
    const role = `plain_${randomBytes(4).toString('hex')}`;
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    const own = openPool(Object.assign(new URL(database.url), { username: role, password: 'secret' }).href);
    try {
      assert.match(
        (await prepareServiceSchema(own, 'wanted')).reason ?? '',
        /may not create the schema "wanted"/,
      );
      await admin.query('CREATE SCHEMA foreign_one');
      await admin.query(`GRANT ALL ON SCHEMA foreign_one TO ${role}`);
      await admin.query(`CREATE SCHEMA wanted AUTHORIZATION ${role}`);
      assert.equal((await prepareServiceSchema(own, 'wanted')).schema?.name, 'wanted');
      assert.match((await prepareServiceSchema(pool, 'wanted')).reason ?? '', /belongs to another role/);
    } finally {
      await own.end();
      await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
      await admin.end();
    }
  });
});

suite('a request', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const rows = { data: [{ a: 1 }] };
  const table = { columns: [{ name: 'a', type: 'integer' }] };
  const reference = {
    name: '',
    column: 'a',
    reference_table: 'loads',
    reference_column: 'id',
    reference_schema: 'tablewright_service',
  };
  const withDefault = {
    columns: [{ name: 'a', type: 'bigint', default: "nextval('tablewright_service.x')" }],
  };
  const ofType = { columns: [{ name: 'a', type: 'tablewright_service.loads' }] };

  for (const [what, send] of Object.entries<
    (options: { token: string }) => Promise<{ status: number; headers: Headers; body: unknown }>
  >({
    'creates a table': (options) => service.post('/table/t?schema=tablewright_service', { table }, options),
    'describes a table': (options) => service.get('/table/loads?schema=tablewright_service', options),
    'loads rows': (options) =>
      service.post('/table/t?schema=tablewright_service'.replace('?', '/upload/json?'), rows, options),
    'adds rows': (options) =>
      service.post('/table/loads/upload/json?schema=tablewright_service&if_exists=append', rows, options),
    'refers to a table': (options) =>
      service.post('/table/t', { table: { ...table, constraints: { foreign_keys: [reference] } } }, options),
    'uses a sequence': (options) => service.post('/table/t', { table: withDefault }, options),
  })) {
    test(`a request that ${what} in the service's schema is refused`, async () => {
      for (const schemas of [undefined, ['*'], ['public', 'tablewright_service']]) {
        const answer = await send({ token: await service.token({ schemas }) });
        const { detail } = assertProblem(answer, 403, 'schema-forbidden');
        assert.equal(detail, 'The schema "tablewright_service" belongs to the service itself.');
      }
    });
  }

  test('a request that uses a type of the service as the type of a column is refused', async () => {
    const answer = await service.post('/table/t', { table: ofType });
    assertProblem(answer, 422, 'invalid-definition');
  });

  suite('to a service without a schema of its own', () => {
    let other: TestService;
    before(async () => {
      other = await startTestService({ SERVICE_SCHEMA: 'none' });
    });
    after(() => other.stop());

    test('makes none', async () => {
      assert.equal((await other.post('/table/made/upload/json', rows)).status, 201);
      assert.deepEqual(
        await other.rows("SELECT nspname FROM pg_namespace WHERE nspname = 'tablewright_service'"),
        [],
      );
    });

    test('is answered without the id of a load, however the upload ends', async () => {
      const path = '/table/u/upload/json';
      const append = `${path}?if_exists=append`;
      const later = { headers: { prefer: 'respond-async' } };
      for (const [answer, status] of [
        [await other.post(`${path}?dry_run=true`, rows), 200],
        [await other.post(path, rows, later), 201],
        [await other.post(append, rows), 200],
        [await other.post(append, { data: [{ a: 'x' }] }), 422],
        [await other.post(path, rows), 409],
      ] as const) {
        assert.equal(answer.status, status);
        assert.equal(answer.headers.get('load-id'), null);
        assert.equal(answer.body.load?.id, undefined);
      }
      assert.deepEqual(await other.rows('SELECT a FROM u'), [{ a: '1' }, { a: '1' }]);
    });

    test('has an id in the rows of the load, if a column asks for it', async () => {
      const answer = await other.post('/table/v/upload/json?provenance=load_id:_load', {
        data: [{ a: 1 }, {}],
      });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      const [first, second] = await other.rows('SELECT _load FROM v');
      assert.match(`${first!._load}`, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
      assert.deepEqual(first, second);
    });

    test('is answered with 501 if it needs records', async () => {
      const id = '0199d3a1-7f2b-7c44-9a3e-5d6f7a8b9c0d';
      for (const path of [
        `loads/${id}/problems`,
        `loads/${id}/changes`,
        `loads/${id}/events`,
        'events',
        'webhooks',
        'profiles',
      ])
        assertProblem(await other.get(`/api/v1/${path}`), 501, 'not-enabled');
      assert.equal((await other.post('/table/created', { table })).status, 201);
    });
  });
});

function openPool(url: string): pg.Pool {
  return createPool({ url, poolSize: 6, statementTimeoutMs: 0 }, { info() {}, warn() {} });
}
