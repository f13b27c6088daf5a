/** The service connects as a role without rights, and each token names the role of its request. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { excessiveRights } from '../../src/postgres/role-rights.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let admin: pg.Client;
const suffix = randomBytes(4).toString('hex');
const authenticator = `authenticator_${suffix}`;
const writer = `writer_${suffix}`;

before(async () => {
  service = await startTestService({ REQUIRE_ROLE: 'true' }, async ({ url, adminUrl }) => {
    admin = new pg.Client(adminUrl ?? url);
    await admin.connect();
    await admin.query(`CREATE ROLE ${authenticator} LOGIN NOINHERIT PASSWORD 'secret'; CREATE ROLE ${writer};
      GRANT ${writer} TO ${authenticator}; GRANT USAGE, CREATE ON SCHEMA public TO ${writer};
      CREATE SCHEMA secret; CREATE TABLE secret.users (pw text); INSERT INTO secret.users VALUES ('hunter2')`);
    return Object.assign(new URL(url), { username: authenticator, password: 'secret' }).href;
  });
});

after(async () => {
  await admin.query(
    `DROP OWNED BY ${writer}, ${authenticator} CASCADE; DROP ROLE ${writer}, ${authenticator}`,
  );
  await admin.end();
  await service.stop();
});

const token = () => service.token({ role: writer });

test('all operations work under the role of the token', async () => {
  const table = {
    columns: [
      { name: 'id', type: 'bigserial' },
      { name: 'email', type: 'text' },
      { name: 'span', type: 'int4range' },
    ],
    constraints: { primary_key: { name: '', columns: ['id'] }, unique: [{ name: '', columns: ['email'] }] },
  };
  const options = { token: await token() };
  assert.equal((await service.post('/table/people', { table }, options)).status, 201);
  const path = '/table/people/upload/json?if_exists=append';
  assert.equal((await service.post(path, { data: [{ id: 1, email: 'a' }] }, options)).status, 200);
  const rows = {
    data: [
      { id: 1, email: 'b', span: '[1,2)' },
      { id: 2, email: 'c' },
    ],
  };
  const updated = await service.post(`${path}&on_conflict=update`, rows, options);
  assert.deepEqual([updated.status, updated.body.load?.updated], [200, 1]);
  const refused = assertProblem(
    await service.post(path, { data: [{ email: 'c' }] }, options),
    422,
    'invalid-data',
  );
  assert.equal(refused.errors[0]!.code, 'not-unique');
  const again = '/table/people/upload/json?if_exists=replace';
  assert.equal((await service.post(again, { table, data: [{ email: 'x' }] }, options)).status, 201);
  assert.equal((await service.get('/table/people', options)).status, 200);
  const { rows: owner } = await admin.query(`SELECT tableowner FROM pg_tables WHERE tablename = 'people'`);
  assert.deepEqual(owner, [{ tableowner: writer }]);
});

test('a function that leaves the role has no rights', async () => {
  await admin.query(`SET ROLE ${writer};
    CREATE TABLE public.mine (a int, stolen text);
    CREATE FUNCTION public.steal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RESET ROLE; NEW.stolen := (SELECT pw FROM secret.users); RETURN NEW; END $$;
    CREATE TRIGGER t BEFORE INSERT ON public.mine FOR EACH ROW EXECUTE FUNCTION public.steal();
    RESET ROLE`);
  const answer = await service.post(
    '/table/mine/upload/json?if_exists=append',
    { data: [{ a: 1 }] },
    { token: await token() },
  );
  assertProblem(answer, 403, 'permission-denied');
  assert.deepEqual((await admin.query('SELECT * FROM public.mine')).rows, []);
});

test('a token without a role is refused', async () => {
  const answer = await service.get('/table/people');
  assert.match(assertProblem(answer, 401, 'invalid-token').detail, /"role".*REQUIRE_ROLE/);
});

test('a token without a role runs under TOKEN_DEFAULT_ROLE', async () => {
  const { url } = service.database;
  const other = await startTestService({
    REQUIRE_ROLE: 'true',
    TOKEN_DEFAULT_ROLE: writer,
    DATABASE_URL: Object.assign(new URL(url), { username: authenticator, password: 'secret' }).href,
  });
  try {
    const table = { columns: [{ name: 'a', type: 'integer' }] };
    assert.equal((await other.post('/table/by_default', { table })).status, 201);
    const elsewhere = await other.token({ role: authenticator });
    assertProblem(
      await other.post('/table/elsewhere', { table }, { token: elsewhere }),
      403,
      'permission-denied',
    );
  } finally {
    await other.stop();
  }
  const { rows: owner } = await admin.query(
    `SELECT tableowner FROM pg_tables WHERE tablename = 'by_default'`,
  );
  assert.deepEqual(owner, [{ tableowner: writer }]);
});

test('a warning names the rights that the role should not have', async () => {
  const { database } = service;
  const own = Object.assign(new URL(database.url), { username: authenticator, password: 'secret' }).href;
  const pool = new pg.Pool({ connectionString: own });
  try {
    assert.deepEqual(await excessiveRights(pool), []);
    await admin.query(`ALTER ROLE ${authenticator} INHERIT; GRANT ${writer} TO ${authenticator};
      GRANT SELECT ON secret.users TO ${authenticator}; ALTER ROLE ${authenticator} CREATEROLE`);
    const rights = (await excessiveRights(pool)).join();
    for (const right of [/CREATEROLE/, /privileges on tables/]) assert.match(rights, right);
  } finally {
    await pool.end();
  }
  assert.match((await excessiveRights(database.pool)).join(), /owns the database/);
});
