/** Drop Table and Rename Table for each kind of table of Citus. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type CitusService, startCitusService } from '../support/citus.ts';
import { assertProblem } from '../support/problem.ts';

let service: CitusService;

before(async () => {
  service = await startCitusService();
  await service.rows('SET citus.enable_schema_based_sharding TO on; CREATE SCHEMA tenant');
});
after(() => service?.stop());

const distributions = {
  column: { kind: 'column', column: 'id' },
  reference: { kind: 'reference' },
  local: { kind: 'local' },
  schema: undefined,
};

for (const [kind, distribution] of Object.entries(distributions)) {
  test(`a table of the kind ${kind} is renamed and dropped at all nodes`, async () => {
    const schema = kind === 'schema' ? 'tenant' : 'public';
    const of = `?schema=${schema}`;
    const table = {
      columns: [
        { name: 'id', type: 'bigserial' },
        { name: 'note', type: 'text' },
      ],
      constraints: { primary_key: { columns: ['id'] } },
      ...(distribution && { distribution }),
    };
    const data = Array.from({ length: 20 }, (_, index) => ({ note: `n${index}` }));
    const loaded = await service.post(`/table/${kind}_table/upload/json${of}`, { table, data });
    assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
    const renamed = await service.request('PATCH', `/table/${kind}_table${of}`, {
      body: JSON.stringify({ name: `${kind}_new`, comment: 'new' }),
      headers: { 'content-type': 'application/json' },
    });
    assert.equal(renamed.status, 200, JSON.stringify(renamed.body));
    assert.deepEqual(renamed.body.table.distribution, loaded.body.table.distribution);
    const [{ count }] = (await service.rows(`SELECT count(*)::int AS count FROM ${schema}.${kind}_new`)) as [
      { count: number },
    ];
    assert.equal(count, 20);
    await service.rows(`CREATE VIEW ${schema}.${kind}_view AS SELECT * FROM ${schema}.${kind}_new`);
    assertProblem(await service.request('DELETE', `/table/${kind}_new${of}`), 409, 'dependent-objects');
    await service.rows(`DROP VIEW ${schema}.${kind}_view`);
    assert.equal((await service.request('DELETE', `/table/${kind}_new${of}&dry_run=true`)).status, 204);
    assert.equal((await service.request('DELETE', `/table/${kind}_new${of}`)).status, 204);
    assertProblem(await service.get(`/table/${kind}_new${of}`), 404, 'table-not-found');
    assert.deepEqual(
      await service.rows('SELECT FROM citus_tables WHERE table_name::text LIKE $1', [`%${kind}_new`]),
      [],
    );
  });
}
