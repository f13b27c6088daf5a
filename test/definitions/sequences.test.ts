/** Columns that own a sequence, as SERIAL makes them: they are made, come back, and take numbers after those of the rows. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** Everything about the numbering of a table but the names of its schema. */
async function numberingOf(table: string): Promise<unknown> {
  return service.rows(
    `SELECT a.attname, a.attidentity, a.attnotnull, pg_get_expr(d.adbin, d.adrelid) AS default,
       pg_get_serial_sequence('public.' || quote_ident($1), a.attname) AS sequence, s.seqtypid::regtype::text AS type
     FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     LEFT JOIN pg_sequence s ON s.seqrelid = pg_get_serial_sequence('public.' || quote_ident($1), a.attname)::regclass
     WHERE a.attrelid = ('public.' || quote_ident($1))::regclass ORDER BY a.attnum`,
    [table],
  );
}

for (const [type, numbers] of [['serial'], ['bigserial'], ['smallserial'], ['serial', 'bigint']] as const) {
  test(`a table with ${type} that SQL made comes back as the same table: numbers of ${numbers ?? type}`, async () => {
    const name = `of "${type}"`;
    await service.rows(`DROP TABLE IF EXISTS "of ""${type}""";
      CREATE TABLE "of ""${type}""" (id ${type} PRIMARY KEY, a text)`);
    if (numbers) await service.rows(`ALTER SEQUENCE "of ""${type}""_id_seq" AS ${numbers}`);
    const path = `/table/${encodeURIComponent(name)}`;
    const before = await numberingOf(name);
    const { body } = await service.get(path);
    const [column] = body.table.columns;
    assert.deepEqual(column, {
      ...{ id: 1, name: 'id', type, is_nullable: false, default: null },
      sequence: { name: `${name}_id_seq`, ...(numbers && { type: numbers }) },
    });
    const same = await service.post(`${path}?if_not_exists=true`, { table: body.table });
    assert.deepEqual(same.body.differences, []);
    await service.rows(`DROP TABLE "of ""${type}"""`);
    for (const [way, send] of [
      ['', { table: body.table }],
      ['/upload/json?if_exists=replace', { table: body.table, data: [{ id: 41, a: 'x' }] }],
      ['/upload/json?if_exists=append', { data: [{ a: 'y' }] }],
    ] as const) {
      const answer = await service.post(`${path}${way}`, send);
      assert.ok(answer.status < 300, JSON.stringify(answer.body));
      assert.deepEqual(answer.body.table, body.table, way);
      assert.deepEqual(await numberingOf(name), before, way);
    }
    assert.deepEqual(await service.rows(`SELECT id::int FROM "of ""${type}""" ORDER BY id`), [
      { id: 41 },
      { id: 42 },
    ]);
  });
}

test('the service chooses a name that is free, and refuses one that is not', async () => {
  await service.rows('CREATE SEQUENCE taken');
  await service.rows('CREATE SEQUENCE numbered_id_seq');
  const tableOf = (sequence: object) => ({ columns: [{ name: 'id', type: 'serial', sequence }] });
  const { status, body } = await service.post('/table/numbered', { table: tableOf({}) });
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual(body.table.columns[0].sequence, { name: 'numbered_id_seq1' });
  for (const [sequence, code, pointer] of [
    [{ name: 'taken' }, 'name-taken', '/table/columns/0/sequence/name'],
    [{ name: 'other' }, 'duplicate-name', '/table/columns/0/sequence/name'],
  ] as const) {
    const refused = await service.post('/table/other', { table: tableOf(sequence) });
    assert.deepEqual(
      refused.body.errors.map((error: { code: string; pointer: string }) => [error.code, error.pointer]),
      [[code, pointer]],
    );
  }
  for (const column of [
    { name: 'id', type: 'integer', sequence: {} },
    { name: 'id', type: 'serial', identity: 'always', sequence: {} },
  ]) {
    const refused = await service.post('/table/other', { table: { columns: [column] } });
    assert.deepEqual(
      refused.body.errors.map((error: { code: string }) => error.code),
      ['not-supported'],
    );
  }
});

test('an identity column is not a column with a sequence of its own', async () => {
  await service.post('/table/identified', { table: { columns: [{ name: 'id', type: 'serial' }] } });
  const wanted = { columns: [{ name: 'id', type: 'serial', sequence: {} }] };
  const { body } = await service.post('/table/identified?if_not_exists=true', { table: wanted });
  assert.deepEqual(body.differences, ['the column "id" is an identity column']);
});
