/** `GET /api/v1/types`: the types that a column may have. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import type { ErrorCode } from '../../src/core/errors.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let admin: pg.Client;
const role = `typist_${randomBytes(4).toString('hex')}`;

interface Listed {
  name: string;
  schema: string;
  type: string;
  [member: string]: unknown;
}

before(async () => {
  service = await startTestService();
  admin = new pg.Client(service.database.adminUrl ?? service.database.url);
  await admin.connect();
  const [own] = await service.rows('SELECT quote_ident(current_user) AS name');
  await admin.query(`CREATE ROLE ${role}; GRANT ${role} TO ${own!.name}; CREATE SCHEMA tools;
    GRANT USAGE ON SCHEMA tools TO PUBLIC; CREATE EXTENSION hstore SCHEMA tools`);
  await service.rows(`CREATE SCHEMA sales; CREATE SCHEMA closed;
    CREATE TYPE public."Mood" AS ENUM ('sad', 'it''s ok'); CREATE TYPE sales.empty AS ENUM ();
    CREATE DOMAIN sales.share AS numeric(3,2) CONSTRAINT b CHECK (VALUE <= 1) CONSTRAINT a CHECK (VALUE >= 0);
    CREATE TYPE sales.spot AS (x int, y int); CREATE TYPE sales.hours AS RANGE (subtype = timestamp);
    CREATE TYPE sales.string AS ENUM ('a'); CREATE TYPE closed.secret AS ENUM ('a');
    CREATE TYPE sales.mine AS ENUM ('a'); REVOKE USAGE ON TYPE sales.mine FROM PUBLIC;
    CREATE TABLE sales.orders (id int); GRANT USAGE ON SCHEMA sales TO ${role}`);
});
after(async () => {
  await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  await admin.end();
  await service.stop();
});

async function list(query: string, token?: string): Promise<Listed[]> {
  const { status, body } = await service.get(`/api/v1/types?${query}`, token ? { token } : {});
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.next, null);
  return body.types;
}
const namesOf = (types: Listed[]) => types.map(({ schema, name }) => `${schema}.${name}`);

suite('the list of types', () => {
  test('has enums with their labels, domains with their rule, ranges and composite types of a schema, and no table', async () => {
    const common = { schema: 'sales' };
    assert.deepEqual(await list('schema=sales'), [
      { ...common, name: 'empty', type: 'sales.empty', kind: 'enum', labels: [] },
      {
        ...{ ...common, name: 'hours', type: 'sales.hours', kind: 'range' },
        base: 'timestamp without time zone',
      },
      {
        ...common,
        name: 'hours_multirange',
        type: 'sales.hours_multirange',
        kind: 'range',
        base: 'sales.hours',
      },
      { ...common, name: 'mine', type: 'sales.mine', kind: 'enum', labels: ['a'] },
      {
        ...{ ...common, name: 'share', type: 'sales.share', kind: 'domain', base: 'numeric(3,2)' },
        check: '(VALUE >= (0)::numeric) AND (VALUE <= (1)::numeric)',
      },
      { ...common, name: 'spot', type: 'sales.spot', kind: 'composite' },
      { ...common, name: 'string', type: 'sales.string', kind: 'enum', labels: ['a'] },
    ]);
  });

  test('also has the types of PostgreSQL and of extensions, and the aliases, and a table can be made of them all', async () => {
    const types = await list('');
    const find = (name: string) => types.find((type) => type.name === name);
    assert.deepEqual(find('int4'), { name: 'int4', schema: 'pg_catalog', type: 'integer', kind: 'base' });
    assert.deepEqual(find('datetime'), {
      ...{ name: 'datetime', schema: 'pg_catalog', type: 'datetime', kind: 'alias' },
      base: 'timestamp without time zone',
    });
    assert.deepEqual(find('Mood')?.labels, ['sad', "it's ok"]);
    assert.deepEqual(find('hstore'), {
      ...{ name: 'hstore', schema: 'tools', type: 'tools.hstore', kind: 'base', extension: 'hstore' },
    });
    assert.equal(find('_int4'), undefined);
    const columns = types.map(({ type }, index) => ({ name: `c${index}`, type }));
    const { status, body } = await service.post('/api/v1/table/of_all_types', { table: { columns } });
    assert.equal(status, 201, JSON.stringify(body.errors));
    for (const [index, { name, kind, type, base }] of types.entries()) {
      // Without a length these have the length 1.
      if (type === 'bit' || type === 'character') assert.equal(body.table.columns[index].type, `${type}(1)`);
      else if (kind !== 'alias') assert.equal(body.table.columns[index].type, type);
      else if (!name.includes('serial')) assert.equal(body.table.columns[index].type, base);
    }
  });

  test('has only what the schemas of the token and the privileges of its role allow', async () => {
    const limited = await list('', await service.token({ schemas: ['sal*'] }));
    assert.deepEqual([...new Set(limited.map(({ schema }) => schema))], ['pg_catalog', 'sales', 'tools']);
    assert(!namesOf(limited).includes('pg_catalog.regclass'));
    assert(namesOf(await list('')).includes('pg_catalog.regclass'));
    const ofRole = namesOf(await list('', await service.token({ role })));
    assert(
      ofRole.includes('sales.share') && !ofRole.includes('sales.mine') && !ofRole.includes('closed.secret'),
    );
    assert.deepEqual(await list('schema=closed', await service.token({ role })), []);
  });

  test('comes in pages that end before their labels and checks are too long', async () => {
    await service.rows(`CREATE SCHEMA many; DO $$ BEGIN
      FOR i IN 1..1005 LOOP EXECUTE format('CREATE DOMAIN many.d%s AS int', 10000 + i); END LOOP;
      FOR i IN 1..8 LOOP EXECUTE format('CREATE TYPE many.e%s AS ENUM (%s)', i, (
        SELECT string_agg(quote_literal(rpad(x::text, 63, 'x')), ',') FROM generate_series(1, CASE i WHEN 8 THEN 10001 ELSE 3000 END) x)); END LOOP;
      FOR i IN 1..60 LOOP EXECUTE format('CREATE DOMAIN many.f%s AS numeric CHECK (VALUE < 1e131071)', i); END LOOP;
      EXECUTE format('CREATE DOMAIN many.g AS numeric CHECK (%s)', (SELECT string_agg('VALUE < 1e131071', ' AND ') FROM generate_series(1, 20)));
    END $$`);
    const found: Listed[] = [];
    let pages = 0;
    for (let after = ''; ; ) {
      pages++;
      const { status, body } = await service.get(`/api/v1/types?schema=many${after}`);
      assert.equal(status, 200);
      assert(JSON.stringify(body).length < 9 * 1024 * 1024);
      found.push(...body.types);
      if (body.next === null) break;
      after = `&after=${body.next}`;
    }
    assert.equal(pages, 3);
    assert.equal(found.length, 1005 + 8 + 60 + 1);
    assert.deepEqual(namesOf(found), namesOf(found).sort());
    const find = (name: string) => found.find((type) => type.name === name)!;
    assert.equal((find('e7').labels as string[]).length, 3000);
    assert.equal(find('e8').labels, undefined);
    assert.equal((find('f60').check as string).length > 131_072, true);
    assert.equal(find('g').check, undefined);
  });

  const refused: [string, number, ErrorCode][] = [
    ['schema=nowhere', 404, 'schema-not-found'],
    ['schema=pg_catalog', 403, 'schema-forbidden'],
    ['schema=', 422, 'invalid-parameter'],
    ['after=mood', 422, 'invalid-parameter'],
    ['limit=1', 422, 'invalid-parameter'],
  ];
  for (const [query, status, code] of refused) {
    test(`is refused for ${query} with ${code}`, async () => {
      assertProblem(await service.get(`/api/v1/types?${query}`), status, code);
    });
  }
});
