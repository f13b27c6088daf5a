/** Enums and domains that a definition makes for tables of every kind of Citus, and options of their keys. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type CitusService, startCitusService } from '../support/citus.ts';

let service: CitusService;
before(async () => {
  service = await startCitusService();
  await service.rows('SET citus.enable_schema_based_sharding TO on; CREATE SCHEMA tenant');
});
after(() => service?.stop());

const table = (name: string, distribution: object | undefined) => ({
  types: [
    { name: `${name}_state`, labels: ['new', 'paid'] },
    { name: `${name}_share`, base: 'numeric(5,2)' },
  ],
  columns: [
    { name: 'id', type: 'bigint' },
    { name: 'state', type: `${name}_state`, default: 'new' },
    { name: 'share', type: `${name}_share` },
  ],
  constraints: {
    primary_key: { columns: ['id'], include: ['share'] },
    unique: [{ columns: ['id', 'state'], nulls_not_distinct: true, deferrable: 'initially deferred' }],
  },
  ...(distribution && { distribution }),
});
const data = [
  { id: 1, state: 'paid', share: 1.5 },
  { id: 2, share: 2 },
];

for (const [name, schema, distribution] of [
  ['by_column', 'public', { kind: 'column', column: 'id' }],
  ['reference', 'public', { kind: 'reference' }],
  ['local', 'public', { kind: 'local' }],
  ['tenant', 'tenant', undefined],
] as const) {
  test(`a table of the kind ${name} gets its types on all nodes, created and loaded`, async () => {
    const sent = table(name, distribution);
    const created = await service.post(`/table/${name}?schema=${schema}`, { table: sent });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    assert.deepEqual(created.body.table.types[0], sent.types[0]);
    await service.rows(
      `DROP TABLE ${schema}.${name}; DROP DOMAIN ${schema}.${name}_share; DROP TYPE ${schema}.${name}_state`,
    );
    const loaded = await service.post(`/table/${name}/upload/json?schema=${schema}`, { table: sent, data });
    assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
    assert.deepEqual(
      await service.rows(`SELECT id::int, state::text, share::text FROM ${schema}.${name} ORDER BY id`),
      [
        { id: 1, state: 'paid', share: '1.50' },
        { id: 2, state: 'new', share: '2.00' },
      ],
    );
    const replaced = await service.post(
      `/table/${name}/upload/json?schema=${schema}&if_exists=replace&faulty_rows=leave_out`,
      { table: loaded.body.table, data: [...data, { id: 1 }, { id: 3, state: 'old' }] },
    );
    assert.equal(replaced.status, 201, JSON.stringify(replaced.body));
    assert.equal(replaced.body.load.left_out_count, 2);
    assert.deepEqual(replaced.body.table, loaded.body.table);
  });
}
