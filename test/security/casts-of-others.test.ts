/**
 * A role that owns a type can make casts from and to it with functions of its own. No expression of a definition runs them: not when it is tried,
 * not when PostgreSQL computes constants, and not for the rows. The sequence `evil.ran` counts the calls, also those that are rolled back.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import type { AppError } from '../../src/core/errors.ts';
import { createTableWithin } from '../../src/engine/tables/create-table.ts';
import { columns } from '../support/columns.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
const role = `loader_${randomBytes(4).toString('hex')}`;

before(async () => {
  service = await startTestService();
  await service.rows(`CREATE SCHEMA evil; CREATE SEQUENCE evil.ran; CREATE TYPE evil.pair AS (a text);
    CREATE TYPE evil.mood AS ENUM ('sad', 'ok'); CREATE TYPE evil.inert AS ENUM ('sad', 'ok')`);
  for (const [name, from, to, value] of [
    ['pair_text', 'evil.pair', 'text', `'x'`],
    ['int_pair', 'integer', 'evil.pair', `ROW('x')`],
    ['mood_text', 'evil.mood', 'text', `'x'`],
    ['mood_int', 'evil.mood', 'integer', '1'],
    ['mood_bool', 'evil.mood', 'boolean', 'true'],
    ['int_mood', 'integer', 'evil.mood', `'ok'`],
  ])
    await service.rows(`
      CREATE FUNCTION evil.${name}(${from}) RETURNS ${to} IMMUTABLE LANGUAGE plpgsql
        AS $$ BEGIN PERFORM pg_catalog.nextval('evil.ran'); RETURN ${value}; END $$;
      CREATE CAST (${from} AS ${to}) WITH FUNCTION evil.${name}(${from}) AS IMPLICIT`);
});
after(() => service.stop());

const own = columns(['n', 'integer'], ['t', 'text'], ['m', 'evil.mood'], ['p', 'evil.pair']);
const expression = (type: string, text: string) => ({
  columns: [...own, { name: 'd', type, default: text, default_is_expression: true }],
});
const generated = (type: string, text: string) => ({
  columns: [...own, { name: 'g', type, generated: text }],
});
const check = (text: string) => ({ columns: own, constraints: { checks: [{ expression: text }] } });
const index = (members: object) => ({ columns: own, indexes: [members] });

const definitions: [string, object][] = [
  ['/columns/4/default', expression('text', `'sad'::evil.mood::text`)],
  ['/columns/4/default', expression('varchar(3)', `'sad'::evil.mood`)],
  ['/columns/4/default', expression('evil.pair', '1 + 1')],
  ['/columns/4/default', expression('integer', `'sad'::evil.mood`)],
  ['/columns/4/default', { columns: [...own, { name: 'd', type: 'evil.mood', default: `'1'::integer` }] }],
  ['/columns/4/generated', generated('text', `'sad'::evil.mood::text`)],
  ['/columns/4/generated', generated('text', 'm::text')],
  ['/columns/4/generated', generated('evil.mood', 'n')],
  ['/constraints/checks/0/expression', check('m::integer > 0')],
  ['/constraints/checks/0/expression', check('m')],
  ['/constraints/checks/0/expression', check(`lower(p) = 'x'`)],
  ['/constraints/checks/0/expression', check(`m + 1 > 0`)],
  ['/indexes/0/columns/0/expression', index({ columns: [{ expression: `('sad'::evil.mood)::text` }] })],
  ['/indexes/0/columns/0/expression', index({ columns: [{ expression: 'lower(p)' }] })],
  ['/indexes/0/where', index({ columns: [{ column: 'n' }], where: `('sad'::evil.mood)::integer > n` })],
];

test('an expression with a cast of the owner of a type is refused before anything runs', async () => {
  await service.rows('CREATE TABLE existing (n integer, t text, m evil.mood, p evil.pair)');
  const ways: [string, object][] = [
    ['/table/made', {}],
    ['/table/made/upload/json', { data: [{ n: 1, t: 'a' }] }],
    ['/table/existing?if_not_exists=true', {}],
    ['/table/existing/upload/json?if_exists=append', { data: [{ n: 1, t: 'a' }] }],
    ['/table/existing/upload/json?if_exists=replace', { data: [{ n: 1, t: 'a' }] }],
  ];
  for (const [pointer, table] of definitions) {
    for (const [path, members] of ways) {
      const answer = await service.post(path, { table, ...members });
      const what = `${path} ${JSON.stringify(table)}`;
      assert.equal(answer.status, 422, `${what} ${JSON.stringify(answer.body)}`);
      const { errors } = assertProblem(answer, 422, 'invalid-definition');
      assert.equal(errors![0]!.pointer, `/table${pointer}`, `${what} ${JSON.stringify(errors)}`);
      assert.equal(errors![0]!.code, 'invalid-expression', what);
      assert.match(errors![0]!.detail, /calls evil\.\w+\(\) through a cast/, what);
    }
  }
  assert.deepEqual(await service.rows('SELECT is_called FROM evil.ran'), [{ is_called: false }]);
});

test('a role that may only load rows gets the same answer', async () => {
  await service.rows('CREATE TABLE loaded (n integer, m evil.mood)');
  const [own] = await service.rows('SELECT quote_ident(current_user) AS name');
  const admin = new pg.Client(service.database.adminUrl ?? service.database.url);
  await admin.connect();
  await admin.query(`CREATE ROLE ${role}; GRANT ${role} TO ${own!.name}`);
  try {
    await service.rows(`GRANT USAGE ON SCHEMA evil TO ${role}; GRANT SELECT, INSERT ON loaded TO ${role}`);
    const table = {
      columns: columns(['n', 'integer'], ['m', 'evil.mood']),
      constraints: { checks: [{ expression: 'm::integer > 0' }] },
    };
    const token = await service.token({ role });
    const path = '/table/loaded/upload/json?if_exists=append';
    const answer = await service.post(path, { table, data: [{ n: 1 }] }, { token });
    assert.match(assertProblem(answer, 422, 'invalid-definition').detail, /calls evil\.mood_int\(\)/);
  } finally {
    await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
    await admin.end();
  }
});

test('it is refused also if the definition has other problems', async () => {
  const answer = await service.post('/table/made', {
    table: {
      columns: [
        ...columns(['a', 'no_such_type']),
        { name: 'd', type: 'evil.mood', default: `'1'::integer` },
        { name: 'e', type: 'integer', default: 'x' },
      ],
    },
  });
  assertProblem(answer, 422, 'invalid-definition');
  assert.deepEqual(await service.rows('SELECT is_called FROM evil.ran'), [{ is_called: false }]);
});

test('the check of a domain is refused in the same way', async () => {
  const answer = await service.post('/table/made', {
    table: {
      types: [{ name: 'level', base: 'evil.mood', check: 'VALUE::integer > 0' }],
      columns: [{ name: 'a', type: 'level', default: 'sad' }],
    },
  });
  const { errors } = assertProblem(answer, 422, 'invalid-definition');
  assert.equal(errors![0]!.pointer, '/table/types/0/check', JSON.stringify(errors));
  assert.match(errors![0]!.detail, /calls evil\.mood_int\(\)/);
  assert.deepEqual(await service.rows('SELECT is_called FROM evil.ran'), [{ is_called: false }]);
});

test('types of other roles without casts are used in expressions as before', async () => {
  const answer = await service.post('/table/fine', {
    table: {
      columns: [
        { name: 'm', type: 'evil.inert', default: `'ok'::evil.inert` },
        { name: 't', type: 'text', default: `'ok'::evil.inert::text`, default_is_expression: true },
      ],
      constraints: { checks: [{ expression: `m IN ('ok', 'sad') AND m::text <> ''` }] },
      indexes: [{ columns: [{ column: 'm' }], where: `m > 'sad'` }],
    },
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const loaded = await service.post('/table/fine/upload/json?if_exists=append', { data: [{ m: 'ok' }] });
  assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
});

test('a cast that is made after the expression was proven refuses the creation', async () => {
  const { pool } = service.database;
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    // The cast is made when the statement that creates the table is sent.
    client.query = ((...args: unknown[]) => {
      const [text] = args;
      if (typeof text === 'string' && text.includes('"late"') && text.includes('CREATE TABLE'))
        args[0] = `CREATE FUNCTION evil.inert_text(evil.inert) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT 1';
          CREATE CAST (evil.inert AS text) WITH FUNCTION evil.inert_text(evil.inert) AS IMPLICIT; ${text}`;
      return query(...args);
    }) as typeof client.query;
    const table = {
      columns: columns(['m', 'evil.inert'], ['n', 'integer']),
      constraints: { checks: [{ expression: `m::text <> '' AND n > 0` }] },
    };
    const options = { schema: 'public', name: 'late', table, ifNotExists: false };
    await assert.rejects(
      createTableWithin(client, options),
      (error: AppError) => error.code === 'write-conflict' && error.message.includes('a cast of a type'),
    );
  } finally {
    await client.query('ROLLBACK');
    client.release(true);
  }
});
