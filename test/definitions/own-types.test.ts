/** The enums and domains of a definition: made with the table if they are missing, and used if they are there. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { columns } from '../support/columns.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let admin: pg.Client;
const role = `typer_${randomBytes(4).toString('hex')}`;

before(async () => {
  service = await startTestService();
  admin = new pg.Client(service.database.adminUrl ?? service.database.url);
  await admin.connect();
  const [own] = await service.rows('SELECT quote_ident(current_user) AS name');
  await admin.query(`CREATE ROLE ${role}; GRANT ${role} TO ${own!.name}`);
  await service.rows(`CREATE SCHEMA shop; CREATE SCHEMA closed; CREATE TYPE closed.inner AS ENUM ('a')`);
});
after(async () => {
  await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  await admin.end();
  await service.stop();
});

const state = { name: 'State', labels: ['new', "paid's", 'x\\y'] };
const table = {
  types: [
    state,
    { name: 'share', base: 'numeric(5, 2)' },
    { name: 'shares', base: 'share[]' },
    { name: 'not needed', labels: ['a'] },
  ],
  columns: [
    { name: 'id', type: 'serial' },
    { name: 'state', type: '"State"', default: 'new' },
    { name: 'before', type: '"State"[]', default: `'{new}'::"State"[]` },
    { name: 'part', type: 'shop.shares' },
  ],
};

async function typesOf(schema: string): Promise<string[]> {
  const rows = await service.rows(
    `SELECT t.typname FROM pg_type t WHERE t.typnamespace = $1::regnamespace AND typtype IN ('e', 'd') ORDER BY 1`,
    [schema],
  );
  return rows.map(({ typname }) => typname as string);
}
const clear = (schema: string) =>
  service.rows(
    `DROP SCHEMA ${schema} CASCADE; CREATE SCHEMA ${schema}; GRANT ALL ON SCHEMA ${schema} TO PUBLIC`,
  );

suite('types of a definition', () => {
  test('are made with the table, and come back, so that the answer makes the same table in another database', async () => {
    const answer = await service.post('/table/orders?schema=shop', { table });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(answer.body.table.types, [
      state,
      { name: 'share', base: 'numeric(5,2)' },
      { name: 'shares', base: 'shop.share[]' },
    ]);
    assert.deepEqual(await typesOf('shop'), ['State', 'share', 'shares']);
    assert.deepEqual((await service.get('/table/orders?schema=shop')).body.table, answer.body.table);
    const again = await service.post('/table/orders?schema=shop&if_not_exists=true', {
      table: answer.body.table,
    });
    assert.deepEqual([again.status, again.body.differences], [200, []]);
    await clear('shop');
    const elsewhere = await service.post('/table/orders?schema=shop', { table: answer.body.table });
    assert.equal(elsewhere.status, 201, JSON.stringify(elsewhere.body));
    assert.deepEqual(elsewhere.body.table, answer.body.table);
  });

  test('are made by uploads, and not by dry runs or uploads that are refused', async () => {
    await clear('shop');
    const data = [{ state: "paid's", before: ['new', 'x\\y'], part: [1.5] }];
    const load = (query: string, rows: object[] = data) =>
      service.post(`/table/orders/upload/json?schema=shop&${query}`, { table, data: rows });
    assert.equal((await load('dry_run=true')).status, 200);
    assert.deepEqual(await typesOf('shop'), []);
    assertProblem(await load('', [{ state: 'old' }]), 422, 'invalid-data');
    assert.deepEqual(await typesOf('shop'), []);
    const made = await load('faulty_rows=leave_out', [...data, { state: 'old' }]);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal(made.body.load.left_out_count, 1);
    for (const query of ['if_exists=append', 'if_exists=truncate', 'if_exists=replace'])
      assert((await load(query)).status < 300, query);
    assert.deepEqual(await service.rows('SELECT state::text, before::text, part::text FROM shop.orders'), [
      { state: "paid's", before: '{new,"x\\\\y"}', part: '{1.50}' },
    ]);
    assert.deepEqual(await typesOf('shop'), ['State', 'share', 'shares']);
  });

  test('of a table that exists are compared and not made', async () => {
    await clear('shop');
    await service.rows('CREATE TABLE shop.orders (id int, state text)');
    const sent = { types: [state], columns: columns(['id', 'integer'], ['state', '"State"']) };
    const { status, body } = await service.post('/table/orders?schema=shop&if_not_exists=true', {
      table: sent,
    });
    assert.deepEqual(
      [status, body.differences],
      [200, ['the column "state" is of type text, not shop."State"']],
    );
    const append = await service.post('/table/orders/upload/json?schema=shop&if_exists=append', {
      table: sent,
      data: [{ id: 1 }],
    });
    assert.equal(assertProblem(append, 422, 'invalid-definition').errors![0]!.code, 'differs');
    assert.deepEqual(await typesOf('shop'), []);
  });

  test('that exist with another content are refused with the difference, and nothing is made', async () => {
    await clear('shop');
    await service.rows(`CREATE TYPE shop."State" AS ENUM ('new'); CREATE DOMAIN shop.share AS numeric(5,3);
      CREATE DOMAIN shop.small AS int CHECK (VALUE < 10); CREATE DOMAIN shop.full AS int NOT NULL;
      CREATE TYPE shop.pair AS (a int)`);
    const types = [
      state,
      { name: 'share', base: 'numeric(5,2)' },
      { name: 'small', base: 'int' },
      { name: 'full', base: 'int4' },
      { name: 'pair', labels: [] },
      { name: 'fresh', labels: ['a'] },
    ];
    const sent = { types, columns: types.map(({ name }) => ({ name, type: `"${name}"` })) };
    const answer = await service.post('/table/t?schema=shop', { table: sent });
    const { errors } = assertProblem(answer, 422, 'invalid-definition');
    assert.deepEqual(
      errors!.map(({ pointer, code, detail }) => [pointer, code, /, and (.*)\. Use/.exec(detail)?.[1]]),
      [
        ['/table/types/0', 'type-differs', 'its labels are "new"'],
        ['/table/types/1', 'type-differs', 'its base is numeric(5,3)'],
        ['/table/types/2', 'type-differs', 'its check is (VALUE < 10)'],
        ['/table/types/3', 'type-differs', 'it has a default, NOT NULL or a collation of its own'],
        ['/table/types/4', 'type-differs', 'it is no enum'],
      ],
    );
    assert(!(await typesOf('shop')).includes('fresh'));
    const used = {
      types: [{ name: 'small', base: 'int', check: '(VALUE < 10)' }],
      columns: columns(['a', 'small']),
    };
    const made = await service.post('/table/t?schema=shop', { table: used });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.deepEqual(made.body.table.types, [{ name: 'small', base: 'integer', check: '(VALUE < 10)' }]);
  });

  test('may have checks, which refuse rows, come back, and are compared as PostgreSQL writes them', async () => {
    await clear('shop');
    const sent = (check: string) => ({
      types: [{ name: 'level', base: 'int', check }],
      columns: columns(['a', 'level']),
    });
    const made = await service.post('/table/t?schema=shop', { table: sent('value > 0 AND VALUE < 10') });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const check = '((VALUE > 0) AND (VALUE < 10))';
    assert.deepEqual(made.body.table.types, [{ name: 'level', base: 'integer', check }]);
    const path = '/table/t/upload/json?schema=shop&if_exists=append';
    const refused = await service.post(path, { data: [{ a: 9 }, { a: 10 }] });
    assert.equal(assertProblem(refused, 422, 'invalid-data').errors![0]!.code, 'check-violation');
    for (const same of [check, 'VALUE > 0 AND VALUE < 10']) {
      const again = await service.post('/table/t?schema=shop&if_not_exists=true', { table: sent(same) });
      assert.deepEqual([again.status, again.body.differences], [200, []], JSON.stringify(again.body));
    }
    for (const [wrong, place, code] of [
      ['VALUE > 1', '', 'type-differs'],
      ['VALUE', '/check', 'invalid-expression'],
      ['a > 1', '/check', 'unknown-column'],
      ['now() > now()', '/check', 'invalid-expression'],
    ] as const) {
      const answer = await service.post('/table/t?schema=shop&if_not_exists=true', { table: sent(wrong) });
      assert.deepEqual(
        assertProblem(answer, 422, 'invalid-definition').errors!.map((error) => [error.pointer, error.code]),
        [[`/table/types/0${place}`, code]],
      );
    }
  });

  test('that are wrong are refused with their places', async () => {
    await clear('shop');
    const types = [
      { name: 'a' },
      { name: 'b', labels: ['x'], base: 'int' },
      { name: 'c', labels: ['x', 'x', 'é'.repeat(32), 1] },
      { name: 'd', base: 'serial' },
      { name: 'e', base: 'varchar(0)' },
      { name: 'f', base: 'no_such_type' },
      { name: 'g', base: 'closed.inner' },
      { name: 'h', base: 'int', check: 'other > 0' },
      { name: 't', labels: ['x'] },
      { name: 'e', labels: ['x'] },
      'mood',
    ];
    const sent = { types, columns: ['e', 'f', 'g', 'h'].map((name) => ({ name, type: name })) };
    const token = await service.token({ schemas: ['shop'] });
    const answer = await service.post('/table/t?schema=shop', { table: sent }, { token });
    const { errors } = assertProblem(answer, 422, 'invalid-definition');
    assert.deepEqual(
      errors!
        .filter(({ pointer }) => pointer!.startsWith('/table/types'))
        .map(({ pointer, code }) => `${pointer} ${code}`),
      [
        '/table/types/0/labels missing',
        '/table/types/1/labels unknown-property',
        '/table/types/2/labels/1 duplicate-name',
        '/table/types/2/labels/2 invalid-text',
        '/table/types/2/labels/3 wrong-type',
        '/table/types/3/base unsupported-type',
        '/table/types/4/base invalid-type-modifier',
        '/table/types/5/base unknown-type',
        '/table/types/6/base unknown-type',
        '/table/types/7/check unknown-column',
        '/table/types/8/name duplicate-name',
        '/table/types/9/name duplicate-name',
        '/table/types/10 wrong-type',
      ],
    );
    assert.deepEqual(await typesOf('shop'), []);
  });

  test('with the name of a type of PostgreSQL need their schema', async () => {
    await clear('shop');
    const sent = {
      types: [
        { name: 'date', labels: ['a'] },
        { name: 'uuid', labels: ['b'] },
      ],
      columns: columns(['plain', 'date'], ['own', 'shop.uuid']),
    };
    const { body } = await service.post('/table/t?schema=shop', { table: sent });
    assert.deepEqual(
      body.table.columns.map(({ type }: { type: string }) => type),
      ['date', 'shop.uuid'],
    );
    assert.deepEqual(await typesOf('shop'), ['uuid']);
  });

  test('need CREATE on the schema', async () => {
    await service.rows(`CREATE SCHEMA fenced; GRANT USAGE ON SCHEMA fenced TO ${role}`);
    const token = await service.token({ role });
    const answer = await service.post(
      '/table/t?schema=fenced',
      { table: { types: [state], columns: columns(['a', '"State"']) } },
      { token },
    );
    assert.match(
      assertProblem(answer, 403, 'permission-denied').detail,
      /permission denied for schema fenced/,
    );
    const nowhere = await service.post('/table/t?schema=nowhere', {
      table: { types: [state], columns: columns(['a', '"State"']) },
    });
    assertProblem(nowhere, 404, 'schema-not-found');
  });

  test('that several requests make at the same moment are made once', async () => {
    await clear('shop');
    const sent = (index: number) => ({
      types: [state, { name: 'share', base: 'int' }, { name: 'mood', labels: ['ok'] }].sort(() => index - 3),
      columns: columns(['a', '"State"'], ['b', 'share'], ['c', 'mood']),
    });
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        service.post(`/table/t${index}?schema=shop`, { table: sent(index) }),
      ),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array(6).fill(201),
      JSON.stringify(answers.map(({ body }) => body)),
    );
  });
});
