/** A token that is limited to some schemas or to a PostgreSQL role finds out nothing about other objects. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let admin: pg.Client;
const role = `writer_${randomBytes(4).toString('hex')}`;

before(async () => {
  service = await startTestService();
  admin = new pg.Client(service.database.adminUrl ?? service.database.url);
  await admin.connect();
  await admin.query(
    `CREATE ROLE ${role}; GRANT ${role} TO ${(await service.rows('SELECT current_user AS name'))[0]!.name}`,
  );
  await service.rows(`CREATE SCHEMA secret; CREATE SCHEMA tenant; GRANT USAGE, CREATE ON SCHEMA tenant, public TO ${role};
    CREATE TABLE secret.users (id int PRIMARY KEY, email text UNIQUE); CREATE TYPE secret.mood AS ENUM ('launch', 'abort');
    CREATE SEQUENCE secret.numbers; CREATE TABLE public.private (a int PRIMARY KEY, email text);
    CREATE TYPE tenant.state AS ENUM ('new', 'old')`);
});

after(async () => {
  await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  await admin.end();
  await service.stop();
});

const limited = () => service.token({ schemas: ['tenant'] });
const asRole = () => service.token({ role });
const column = (type: string, value?: string) => ({
  table: { columns: [{ name: 'a', type, ...(value !== undefined && { default: value }) }] },
});
const reference = (schema: string, table: string, referenced: string) => ({
  table: {
    columns: [{ name: 'a', type: 'int' }],
    constraints: {
      foreign_keys: [
        {
          name: '',
          column: 'a',
          reference_schema: schema,
          reference_table: table,
          reference_column: referenced,
        },
      ],
    },
  },
});

for (const type of ['secret.mood', 'secret.users', 'secret.users[]', 'private', 'public.private']) {
  test(`a token for another schema gets the same answer for ${type} as for a type that does not exist`, async () => {
    const token = await limited();
    const missing = type.replace(/(users|mood|private)/, 'unheard');
    const answers = [];
    for (const name of [type, missing]) {
      const answer = await service.post('/table/t?schema=tenant', column(name), { token });
      const { errors } = assertProblem(answer, 422, 'invalid-definition');
      answers.push(JSON.stringify(errors).replaceAll(name, '…'));
      assert.doesNotMatch(answers.at(-1)!, /Did you mean|secret\.(?!unheard)/);
    }
    assert.equal(answers[0], answers[1]);
  });
}

test('a token gets no suggestion from a schema that it does not allow', async () => {
  const answer = await service.post('/table/t?schema=tenant', column('moodd'), { token: await limited() });
  assert.doesNotMatch(assertProblem(answer, 422, 'invalid-definition').errors[0]!.detail, /secret/);
  const open = await service.post('/table/t?schema=tenant', column('state'), { token: await limited() });
  assert.match(assertProblem(open, 422, 'invalid-definition').errors[0]!.detail, /tenant\.state/);
});

test('a token for a schema uses the types of that schema and of extensions', async () => {
  await admin.query('CREATE EXTENSION citext SCHEMA public');
  const table = {
    columns: [
      { name: 'a', type: 'tenant.state' },
      { name: 'b', type: 'citext' },
    ],
  };
  const answer = await service.post('/table/typed?schema=tenant', { table }, { token: await limited() });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
});

for (const type of ['regclass', 'regnamespace[]', 'regrole']) {
  test(`a token for some schemas cannot look up names with the type ${type}`, async () => {
    const answer = await service.post('/table/t?schema=tenant', column(type), { token: await limited() });
    assertProblem(answer, 403, 'permission-denied');
    const body = { ...column(type), data: [{ a: 'secret' }] };
    const upload = await service.post('/table/t/upload/json?schema=tenant', body, { token: await limited() });
    assertProblem(upload, 403, 'permission-denied');
    const all = await service.post(`/table/${type.slice(0, 6)}?schema=tenant`, column(type));
    assert.equal(all.status, 201);
  });
}

test('a token for another schema gets the same answer for a sequence that exists and one that does not', async () => {
  const token = await limited();
  for (const name of ['secret.numbers', 'secret.unheard']) {
    const body = column('bigint', `nextval('${name}')`);
    assertProblem(await service.post('/table/t?schema=tenant', body, { token }), 403, 'schema-forbidden');
  }
});

test('a role without a privilege on a table gets the answer of a table that does not exist', async () => {
  const token = await asRole();
  for (const [schema, name] of [
    ['public', 'private'],
    ['secret', 'users'],
  ]) {
    const hidden = assertProblem(
      await service.get(`/table/${name}?schema=${schema}`, { token }),
      404,
      'table-not-found',
    );
    const missing = assertProblem(
      await service.get(`/table/unheard?schema=${schema}`, { token }),
      404,
      'table-not-found',
    );
    assert.equal(hidden.detail.replace(name!, 'unheard'), missing.detail);
  }
  await service.rows(`GRANT INSERT (a) ON public.private TO ${role}`);
  assert.equal((await service.get('/table/private', { token })).status, 200);
  await service.rows(`REVOKE INSERT (a) ON public.private FROM ${role}`);
});

test('if_not_exists does not describe a table to a role without a privilege on it', async () => {
  const answer = await service.post('/table/private?if_not_exists=true', column('int'), {
    token: await asRole(),
  });
  const { detail } = assertProblem(answer, 403, 'permission-denied');
  assert.doesNotMatch(detail, /email/);
});

test('a table that a role may not see is not reported as dropped', async () => {
  const token = await asRole();
  for (const query of ['', '&dry_run=true']) {
    const answer = await service.request('DELETE', `/table/private?if_exists=true${query}`, { token });
    const { detail } = assertProblem(answer, 403, 'permission-denied');
    assert.doesNotMatch(detail, /email|\btable\b/);
  }
  const missing = await service.request('DELETE', '/table/unheard?if_exists=true', { token });
  assert.equal(missing.status, 204);
});

test('errors of references show a role nothing about columns and tables that it may not see', async () => {
  const token = await asRole();
  const details = [];
  for (const [schema, name, referenced] of [
    ['secret', 'users', 'emai'],
    ['secret', 'users', 'id'],
    ['public', 'private', 'emai'],
    ['public', 'Private', 'a'],
  ] as const) {
    const answer = await service.post('/table/t?schema=tenant', reference(schema, name, referenced), {
      token,
    });
    const { errors } = assertProblem(answer, 422, 'invalid-definition');
    details.push(errors[0]!.detail);
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['unknown-reference'],
    );
  }
  assert.doesNotMatch(details.join(), /email|Did you mean/);
});
