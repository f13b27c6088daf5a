/** Who sees keys of stored rows in the record of a load that was refused because other rows refer to them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { endOf } from '../support/load-ends.ts';
import { planForm } from '../support/plan-form.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';

const role = `values_${process.pid}_${Date.now()}`;
let service: TestService;
let admin: pg.Client;
let owner: string;

before(async () => {
  service = await startTestService();
  admin = new pg.Client(service.database.adminUrl ?? service.database.url);
  await admin.connect();
  const [{ name }] = (await service.rows('SELECT quote_ident(current_user) AS name')) as [{ name: string }];
  owner = name;
  await admin.query(`CREATE ROLE ${role}; GRANT ${role} TO ${owner}`);
});
after(async () => {
  await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  await admin.end();
  await service.stop();
});

const nextTable = tableNames('keys');
const parameters = {
  if_exists: 'append',
  on_conflict: 'update',
  missing_rows: 'delete',
  max_missing_rows: '100%',
};
const scope = 'table:load table:replace table:read';
const secrets = [{ id: 'SECRET1' }, { id: 'SECRET2' }];

/** Makes a table two of whose rows cannot be deleted, and returns its name. */
async function create(): Promise<string> {
  const table = nextTable();
  await admin.query(`CREATE TABLE ${table} (id text PRIMARY KEY, note text);
    INSERT INTO ${table} VALUES ('SECRET1'), ('SECRET2'), ('sent');
    CREATE TABLE ${table}_lines (of text REFERENCES ${table}); INSERT INTO ${table}_lines VALUES ('SECRET1'), ('SECRET2');
    ALTER TABLE ${table} OWNER TO ${owner}; ALTER TABLE ${table}_lines OWNER TO ${owner};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}; GRANT SELECT ON ${table}_lines TO ${role}`);
  return table;
}

/** Sends an upload that lacks the two rows. */
function send(table: string, token: string, headers = {}): Promise<TestAnswer> {
  const path = `/table/${table}/upload/json?${new URLSearchParams(parameters)}`;
  return service.post(path, { data: [{ id: 'sent' }] }, { token, headers });
}

const idOf = ({ headers }: TestAnswer): string => headers.get('load-id')!;
// biome-ignore lint/suspicious/noExplicitAny: whatever JSON the service answers
const keysOf = (problems: any[]) => problems.flatMap(({ key }) => key ?? []);

/** Returns the keys that a token sees in the record of a load, after it has seen the same everywhere. */
async function keysSeen(id: string, token: string): Promise<unknown[]> {
  const path = `/api/v1/loads/${id}`;
  const { body: load } = await service.get(path, { token });
  const keys = keysOf(load.answer.body.errors);
  const { body } = await service.get(`${path}/problems`, { token });
  assert.deepEqual(keysOf(body.problems), keys);
  assert.equal(body.problems.length, 2);
  const { body: events } = await service.get(`${path}/events`, { token });
  assert.deepEqual(JSON.parse(events.match(/^data: (.*)$/m)[1]), load);
  const csv = await service.get(`${path}/problems`, { token, headers: { accept: 'text/csv' } });
  assert.doesNotMatch(csv.body, /SECRET/);
  return keys;
}

test('keys of stored rows are shown to the uploader with table:read and the role of the load only', async () => {
  const table = await create();
  const token = await service.token({ subject: 'ann', scope });
  const answer = await send(table, token);
  assert.deepEqual(keysOf(assertProblem(answer, 409, 'dependent-objects').errors), secrets);
  const seen = async (options: object) => keysSeen(idOf(answer), await service.token(options));
  assert.deepEqual(await seen({ subject: 'ann', scope: 'table:read' }), secrets);
  assert.deepEqual(await seen({ subject: 'ann', scope: 'table:load' }), []);
  assert.deepEqual(await seen({ subject: 'ann', scope, role }), []);
  assert.deepEqual(await seen({ subject: 'ben', scope: 'load:read-all table:read' }), []);
  await service.rows(`ALTER TABLE ${table} RENAME TO ${table}_kept`);
  await service.rows(`CREATE TABLE ${table} (id text)`);
  assert.deepEqual(await seen({ subject: 'ann', scope }), secrets);
  await service.rows(`DROP TABLE ${table}_kept CASCADE`);
  assert.deepEqual(await seen({ subject: 'ann', scope }), []);
});

test('the role of the load sees the columns of a key that it may still read, also of an asynchronous load', async () => {
  const table = await create();
  const token = await service.token({ subject: 'ann', scope, role });
  const id = idOf(await send(table, token, { prefer: 'respond-async' }));
  assert.equal((await endOf(service, id, token)).answer.status, 409);
  assert.deepEqual(await keysSeen(id, token), secrets);
  assert.deepEqual(await keysSeen(id, await service.token({ subject: 'ann', scope })), []);
  await service.rows(`REVOKE SELECT ON ${table} FROM ${role}; GRANT SELECT (note) ON ${table} TO ${role}`);
  assert.deepEqual(await keysSeen(id, token), []);
  await service.rows(`GRANT SELECT (id) ON ${table} TO ${role}`);
  assert.deepEqual(await keysSeen(id, token), secrets);
});

test('keys in a load of several tables are those of the table that its part names', async () => {
  const tables = [await create(), await create()];
  await service.rows(`DELETE FROM ${tables[0]}_lines`);
  const parts = tables.map((table) => ({ table, file: 'f', ...parameters }));
  const token = await service.token({ subject: 'ann', scope });
  const body = planForm({ tables: parts }, { f: 'id\nsent\n' });
  const answer = await service.request('POST', '/api/v1/loads', { body, token });
  const { errors } = assertProblem(answer, 409, 'dependent-objects');
  assert.deepEqual(
    errors.map(({ part, key }) => [part, key]),
    secrets.map((key) => [2, key]),
  );
  assert.deepEqual(await keysSeen(idOf(answer), token), secrets);
  assert.deepEqual(await keysSeen(idOf(answer), await service.token({ subject: 'ann', scope, role })), []);
  await service.rows(`DROP TABLE ${tables[0]} CASCADE`);
  assert.deepEqual(await keysSeen(idOf(answer), token), secrets);
  await service.rows(`DROP TABLE ${tables[1]} CASCADE`);
  assert.deepEqual(await keysSeen(idOf(answer), token), []);
});

test('the problem of a missing row that a trigger cannot archive has no value of the row', async () => {
  const table = await create();
  await service.rows(`DROP TABLE ${table}_lines;
    CREATE TABLE ${table}_archive (id text) PARTITION BY LIST (id);
    CREATE FUNCTION ${table}_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO ${table}_archive VALUES (old.id); RETURN old; END $$;
    CREATE TRIGGER t BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_f()`);
  const answer = await send(table, await service.token({ scope: 'table:load table:replace' }));
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  assert.match(errors[0]!.detail, /no partition of relation/);
  assert.doesNotMatch(JSON.stringify(answer.body), /SECRET/);
});
