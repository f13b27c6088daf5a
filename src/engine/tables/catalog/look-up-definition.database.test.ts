import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { draftDefinition } from '../draft-definition.ts';
import { commonNames, lookUpDefinition } from './look-up-definition.ts';

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const spellings = [
  'bigint',
  'varchar',
  'char',
  'float(3)',
  'bit varying',
  'time with time zone',
  'interval year',
  'string',
  'blob',
];

/** Returns what is found of the types of columns, which are also a key. */
async function typesOf(types: string[]): Promise<{ name: string }[]> {
  const columns = types.map((type, index) => ({ name: `c${index}`, type }));
  const unique = [{ name: '', columns: columns.map(({ name }) => name) }];
  const table = { columns, constraints: { unique } };
  const { request } = await draftDefinition({ schema: 'public', name: 't', table });
  const { rows } = await database.pool.query(await lookUpDefinition(request));
  return rows[0].found.types;
}

test('common types are found like all others, also if other schemas have types with their names', async () => {
  await database.pool.query(
    `CREATE TYPE public.text AS ENUM ('a'); CREATE DOMAIN public.jsonb AS int; CREATE TABLE public.uuid (a int)`,
  );
  const types = [...commonNames, ...spellings];
  const all = types.flatMap((type) => [type, `${type}[]`]);
  // PostgreSQL has at most 32 columns in a key.
  for (let first = 0; first < all.length; first += 30) {
    const some = all.slice(first, first + 30);
    const found = await typesOf(some);
    const uncommon = await typesOf([...some, 'regclass']);
    assert.equal(uncommon.pop()!.name, 'regclass');
    assert.deepEqual(found, uncommon);
    assert.ok(!found.includes(null!));
  }
});
