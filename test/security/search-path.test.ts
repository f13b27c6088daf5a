/** Loads use PostgreSQL's own functions and each key's own operators, whatever the schemas of the search path have. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import pg from 'pg';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { appender } from '../support/uploads.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());
beforeEach(() => service.rows('DROP TABLE IF EXISTS items, other'));

const load = appender(() => service, 'items');

async function asAdministrator(sql: string): Promise<void> {
  const client = new pg.Client(service.database.adminUrl ?? service.database.url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

test('a key whose type has operators in another schema is compared by these operators', async () => {
  await asAdministrator(
    'CREATE SCHEMA extensions; GRANT USAGE ON SCHEMA extensions TO PUBLIC; CREATE EXTENSION ltree SCHEMA extensions; CREATE EXTENSION citext SCHEMA extensions',
  );
  for (const type of ['ltree', 'citext']) {
    await service.rows(`DROP TABLE IF EXISTS other, items;
      CREATE TABLE items (k extensions.${type} PRIMARY KEY, v integer, w integer);
      CREATE TABLE other (k extensions.${type} REFERENCES items)`);
    assert.equal((await load([{ k: 'a', v: 1 }])).status, 200);
    const updated = await load(
      [
        { k: 'a', v: 2 },
        { k: 'b', w: 3 },
      ],
      '&on_conflict=update',
    );
    assert.equal(updated.body.load?.updated, 1, JSON.stringify(updated.body));
    const [key, missing] = [await load([{ k: 'c' }, { k: 'a' }]), await loadOther([{ k: 'a' }, { k: 'x' }])];
    assert.deepEqual(found(key), [[2, 'k', 'a', 'not-unique']], type);
    assert.deepEqual(found(missing), [[2, 'k', 'x', 'no-such-reference']], type);
  }
  await service.rows("INSERT INTO items VALUES ('Key')");
  assert.deepEqual(found(await load([{ k: 'KEY' }])), [[1, 'k', 'KEY', 'not-unique']]);
});

const loadOther = (data: unknown[]) => service.post('/table/other/upload/json?if_exists=append', { data });

function found(answer: Awaited<ReturnType<typeof load>>): unknown[][] {
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  return errors.map(({ row, column, value, code }) => [row, column, value, code]);
}

test("a user's functions with the names of PostgreSQL's functions are not called", async () => {
  const raising = (signature: string, result: string) =>
    `CREATE FUNCTION public.${signature} RETURNS ${result} LANGUAGE plpgsql AS $$BEGIN RAISE 'called'; END$$;`;
  // These functions would match the arguments better than PostgreSQL's own.
  await asAdministrator(
    raising('setval(regclass, integer)', 'bigint') +
      raising('nextval(text)', 'bigint') +
      raising('concat_ws(text, text)', 'text') +
      raising('row_security_active(regclass)', 'boolean') +
      raising('unnest(smallint[])', 'SETOF smallint'),
  );
  await service.rows('CREATE TABLE items (id integer PRIMARY KEY, v text); INSERT INTO items VALUES (1)');
  const updated = await load([{ id: 1, v: 'a' }, { id: 2 }], '&on_conflict=update');
  assert.equal(updated.body.load?.updated, 1, JSON.stringify(updated.body));
  assert.deepEqual(found(await load([{ id: 3 }, { id: 1 }])), [[2, 'id', '1', 'not-unique']]);
});
