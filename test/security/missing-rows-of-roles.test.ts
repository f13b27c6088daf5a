/** Missing rows (`missing_rows`) for roles that may not see or change all rows. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';

let service: TestService;
let admin: pg.Client;
let token: string;
const role = `keeper_${process.pid}_${Date.now()}`;

before(async () => {
  service = await startTestService();
  admin = new pg.Client(service.database.adminUrl);
  await admin.connect();
  const [{ user }] = (await service.rows('SELECT current_user AS user')) as [{ user: string }];
  await admin.query(`CREATE ROLE ${role}; GRANT ${role} TO "${user}"`);
  token = await service.token({ role });
});
after(async () => {
  await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await admin.end();
  await service.stop();
});

function send(table: string, ids: number[], query: string, more: object = { token }): Promise<TestAnswer> {
  const path = `/table/${table}/upload/json?if_exists=append&on_conflict=skip&max_missing_rows=100%25&${query}`;
  return service.post(path, { data: ids.map((id) => ({ id })) }, more);
}

async function create(table: string, privileges: string): Promise<void> {
  await service.rows(`
    CREATE TABLE ${table} (id int PRIMARY KEY, region text DEFAULT 'n', gone boolean);
    INSERT INTO ${table} SELECT n, CASE WHEN n < 6 THEN 'n' ELSE 's' END FROM generate_series(1, 9) n;
    GRANT ${privileges} ON ${table} TO ${role}`);
}

test('rows that row-level security hides are not missing, and rows that policies keep from the role refuse the upload', async () => {
  await create('policed', 'SELECT, INSERT, UPDATE, DELETE');
  await service.rows(`
    ALTER TABLE policed ENABLE ROW LEVEL SECURITY;
    CREATE POLICY see ON policed FOR ALL TO ${role} USING (region = 'n')`);
  const { status, body } = await send('policed', [1, 2, 3, 4], 'missing_rows=delete');
  assert.deepEqual([status, body.load?.missing, body.load?.deleted], [200, 1, 1], JSON.stringify(body));
  await service.rows(`CREATE POLICY stay ON policed AS RESTRICTIVE FOR DELETE TO ${role} USING (id <> 2)`);
  const refused = await send('policed', [1], 'missing_rows=delete');
  assert.match(assertProblem(refused, 403, 'permission-denied').detail, /see 1 of the missing rows/);
  const marked = await send('policed', [1], 'missing_rows=mark:gone');
  assert.equal(marked.body.load.marked, 3, JSON.stringify(marked.body));
  assert.equal((await service.rows('SELECT FROM policed')).length, 8);
});

test('a role that may not lock rows is told so if a DELETE could change rows of other tables', async () => {
  await create('unlocked', 'SELECT, INSERT, DELETE');
  assert.equal((await send('unlocked', [1, 2, 3], 'missing_rows=delete')).body.load?.deleted, 6);
  await service.rows(`CREATE TABLE locking (of int REFERENCES unlocked ON DELETE CASCADE);
    GRANT SELECT ON locking TO ${role}`);
  const refused = await send('unlocked', [1], 'missing_rows=delete');
  assert.match(assertProblem(refused, 403, 'permission-denied').detail, /needs the privilege UPDATE/);
});

test('a role without SELECT on referring rows deletes nothing that they would follow', async () => {
  await create('followed', 'SELECT, INSERT, UPDATE, DELETE');
  await service.rows('CREATE TABLE following (of int REFERENCES followed ON DELETE SET NULL)');
  const refused = assertProblem(await send('followed', [1], 'missing_rows=delete'), 409, 'dependent-objects');
  assert.match(
    refused.errors[0]!.detail,
    /^the role may not read which rows of the table "public"."following"/,
  );
  await service.rows(
    'ALTER TABLE following DROP CONSTRAINT following_of_fkey, ADD FOREIGN KEY (of) REFERENCES followed; INSERT INTO following VALUES (5)',
  );
  assertProblem(await send('followed', [1], 'missing_rows=delete'), 422, 'invalid-data');
  assert.equal((await send('followed', [1, 5], 'missing_rows=delete')).body.load.deleted, 7);
});

test('DELETE and SELECT on the table are enough, and the keys of rows are shown with the scope table:read only', async () => {
  await create('referred', 'SELECT, INSERT, DELETE');
  await service.rows(`
    CREATE TABLE referring (of int REFERENCES referred); INSERT INTO referring VALUES (9); GRANT SELECT ON referring TO ${role}`);
  const blind = await service.token({ role, scope: 'table:load table:replace' });
  const hidden = assertProblem(
    await send('referred', [1], 'missing_rows=delete', { token: blind }),
    409,
    'dependent-objects',
  );
  assert.deepEqual(
    hidden.errors.map(({ key }) => key),
    [undefined],
  );
  const shown = assertProblem(await send('referred', [1], 'missing_rows=delete'), 409, 'dependent-objects');
  assert.deepEqual(
    shown.errors.map(({ key }) => key),
    [{ id: '9' }],
  );
  assert.equal((await send('referred', [1, 9], 'missing_rows=delete')).body.load.deleted, 7);
  const columns = await send('referred', [1], 'missing_rows=mark:gone');
  assertProblem(columns, 403, 'permission-denied');
  const weak = await service.token({ role, scope: 'table:load' });
  assertProblem(
    await send('referred', [1], 'missing_rows=mark:gone', { token: weak }),
    403,
    'insufficient-scope',
  );
  assert.equal(
    (await send('referred', [1], 'missing_rows=keep&max_missing_rows=1', { token: weak })).status,
    422,
  );
});
