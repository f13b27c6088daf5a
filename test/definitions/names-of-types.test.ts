/** Names of types mean the same whatever other roles have made, and an answer makes the same columns again. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { AppError } from '../../src/core/errors.ts';
import { reservedTypeNames, serialBase } from '../../src/engine/tables/column-types.ts';
import { createTableWithin } from '../../src/engine/tables/create-table.ts';
import { rolledBack } from '../support/rolled-back.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());
beforeEach(() => service.rows('DROP SCHEMA public CASCADE; CREATE SCHEMA public'));

const create = (name: string, columns: object[]) => service.post(`/table/${name}`, { table: { columns } });

/** Returns the types of a table with a column of each type. */
async function typesOf(name: string, types: string[]): Promise<string[]> {
  const { status, body } = await create(
    name,
    types.map((type, index) => ({ name: `c${index}`, type })),
  );
  assert.equal(status, 201, JSON.stringify(body));
  return body.table.columns.map(({ type }: { type: string }) => type);
}

test('a type with the name of an alias is used only in quotes or with its schema', async () => {
  const aliases = reservedTypeNames.filter((name) => serialBase(name) === undefined);
  const before = await typesOf('before', aliases);
  for (const name of aliases) await service.rows(`CREATE DOMAIN public."${name}" AS inet`);
  assert.deepEqual(await typesOf('behind', aliases), before);
  assert.deepEqual(
    await typesOf(
      'upper',
      aliases.map((name) => ` ${name.toUpperCase()} [3]`),
    ),
    before.map((type) => `${type}[]`),
  );
  const written = aliases.flatMap((name) => [`"${name}"`, `public.${name}`, `Public."${name}"[]`]);
  // PostgreSQL writes its own keywords, such as binary, in quotes.
  const [{ names }] = (await service.rows(
    'SELECT array_agg(quote_ident(n)) AS names FROM unnest($1::text[]) AS n',
    [aliases],
  )) as [{ names: string[] }];
  const shown = names.flatMap((name) => [`public.${name}`, `public.${name}`, `public.${name}[]`]);
  assert.deepEqual(await typesOf('own', written), shown);
  assert.deepEqual(await typesOf('again', shown), shown);
  const limited = await create('limited', [
    { name: 'a', type: 'blob(20)' },
    { name: 'b', type: 'string(20)' },
  ]);
  assert.deepEqual(
    limited.body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code]),
    [['/table/columns/0/type', 'unknown-type']],
  );
});

test('a table with the name of a type changes nothing for other callers', async () => {
  for (const name of ['string', 'datetime', 'serial', 'email'])
    assert.equal((await create(name, [{ name: 'a', type: 'int' }])).status, 201);
  const types = ['string', 'datetime', 'serial', 'string[]'];
  const expected = ['text', 'timestamp without time zone', 'serial', 'text[]'];
  assert.deepEqual(await typesOf('orders', types), expected);
  const { status } = await service.post('/table/letters/upload/json', {
    table: { columns: [{ name: 'a', type: 'string', default: "'x'::string" }] },
    data: [{ a: 'text' }, {}],
  });
  assert.equal(status, 201);
  for (const type of ['email', 'email[]', '_email']) {
    const { body } = await create('refused', [{ name: 'a', type }]);
    const advice = type === 'email' ? 'public.email' : 'public.email[]';
    const detail = `there is no type "${type}". For the row type of the table send "${advice}"`;
    assert.deepEqual(body.errors, [
      { pointer: '/table/columns/0/type', code: 'unknown-type', detail, value: type },
    ]);
  }
  assert.deepEqual(await typesOf('rows', ['"email"', 'public.serial[]']), [
    'public.email',
    'public.serial[]',
  ]);
});

test('the casts in a default mean the same types when the answer is sent again', async () => {
  await service.rows(`CREATE DOMAIN public.string AS text; CREATE DOMAIN public."serial" AS int; CREATE TABLE public.pairs (a int, b text);
    CREATE TABLE public.made (a text DEFAULT 'x::string'::public.string, b public.string[] DEFAULT '{"::string"}', c text DEFAULT (1)::public."serial",
      d public.pairs DEFAULT '(1,"''::pairs")'::public.pairs, e text DEFAULT ('a'::text)::public.string)`);
  const made = (await service.get('/table/made')).body.table;
  const again = await service.post('/table/again', { table: made });
  assert.equal(again.status, 201, JSON.stringify(again.body));
  assert.deepEqual(again.body.table.columns, made.columns);
  const used = (table: string) =>
    service.rows(
      `SELECT a.attname, d.refobjid::regtype::text AS type FROM pg_attrdef f JOIN pg_depend d ON d.objid = f.oid AND d.refclassid = 'pg_type'::regclass
       JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum WHERE f.adrelid = $1::regclass ORDER BY 1, 2`,
      [table],
    );
  assert.ok((await used('made')).length >= 4);
  assert.deepEqual(await used('again'), await used('made'));
});

test('a built-in type comes before a type of the search path, and is not hidden by one', async () => {
  const host = await startTestService({}, async ({ url, pool }) => {
    await pool.query(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$`,
    );
    return url;
  });
  try {
    await host.rows(`SET search_path TO pg_catalog; CREATE DOMAIN public.jsonb AS text; CREATE DOMAIN public."char" AS text; CREATE DOMAIN public.regclass AS text;
      CREATE DOMAIN public.unknown AS text; CREATE SEQUENCE public.numbers; RESET search_path`);
    const columns = [
      { name: 'a', type: 'jsonb' },
      { name: 'b', type: '"char"' },
      { name: 'c', type: 'public."char"' },
      { name: 'd', type: 'public.jsonb[]' },
      { name: 'e', type: 'bigint', default: "nextval('numbers'::regclass)" },
      { name: 'f', type: 'text', default: "'x'::unknown" },
      { name: 'g', type: 'text', default: "'y'::public.unknown" },
    ];
    const { body } = await host.post('/table/made', { table: { columns } });
    const expected = [
      'pg_catalog.jsonb',
      'pg_catalog."char"',
      'public."char"',
      'public.jsonb[]',
      'bigint',
      'text',
      'text',
    ];
    assert.deepEqual(
      body.table?.columns.map(({ type }: { type: string }) => type),
      expected,
      JSON.stringify(body),
    );
    const again = await host.post('/table/again', { table: body.table });
    assert.deepEqual(again.body.table?.columns, body.table.columns, JSON.stringify(again.body));
  } finally {
    await host.stop();
  }
});

test('what a function left in the temporary schema has no name in a definition', async () => {
  await rolledBack(service.database.pool, async (client) => {
    await client.query('CREATE TEMPORARY TABLE left_type (a int); CREATE TEMPORARY SEQUENCE left_numbers');
    const columns = [
      { name: 'b', type: '"left_type"' },
      { name: 'c', type: 'int', default: "nextval('left_numbers')" },
    ];
    const made = createTableWithin(client, {
      schema: 'public',
      name: 'made',
      table: { columns },
      ifNotExists: false,
    });
    const error = await made.then(
      () => undefined,
      (reason: AppError) => reason,
    );
    assert.deepEqual(
      error?.errors?.map(({ code }) => code),
      ['unknown-type', 'unknown-sequence'],
    );
  });
});
