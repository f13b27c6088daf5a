/** Loads of several tables at every place that Citus has for a table: all of them, or nothing. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type CitusService, startCitusService } from '../support/citus.ts';
import { planForm } from '../support/plan-form.ts';

let service: CitusService;

before(async () => {
  service = await startCitusService();
  await service.rows('CREATE SCHEMA sales');
});
after(() => service.stop());

const local = { kind: 'local' };
const reference = { kind: 'reference' };
const byColumn = { kind: 'column', column: 'k' };

const plans: Record<string, [parent: object, child: object]> = {
  'ordinary tables': [local, local],
  'reference tables': [reference, reference],
  'an ordinary table that refers to a reference table': [reference, local],
  'a table by column that refers to a reference table': [reference, byColumn],
  'tables by column': [byColumn, byColumn],
};

function definitionOf(distribution: object, target?: { table: string; isByColumn: boolean }) {
  const columns = ['k', ...(target ? ['parent'] : [])].map((name) => ({ name, type: 'bigint' }));
  const key = { name: '', reference_table: target?.table, reference_schema: 'sales' };
  const column = target?.isByColumn ? 'k' : 'parent';
  return {
    columns,
    constraints: {
      primary_key: { name: '', columns: ['k'] },
      ...(target && { foreign_keys: [{ ...key, column, reference_column: 'k' }] }),
    },
    distribution,
  };
}

for (const [name, [parent, child]] of Object.entries(plans)) {
  test(name, async () => {
    const target = { table: 'parents', isByColumn: parent === byColumn };
    const plan = (more: object) => ({
      tables: [
        { table: 'children', schema: 'sales', file: 'c', definition: definitionOf(child, target), ...more },
        { table: 'parents', schema: 'sales', file: 'p', definition: definitionOf(parent), ...more },
      ],
    });
    const send = (c: string, p: string, more = {}) =>
      service.request('POST', '/api/v1/loads', { body: planForm(plan(more), { c, p }) });
    const tables = () =>
      service.rows(
        "SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'sales'::regnamespace AND relkind = 'r' ORDER BY 1",
      );
    const broken = await send('k,parent\n1,1\n3,9\n', 'k\n1\n2\n');
    assert.equal(broken.status, 422, JSON.stringify(broken.body));
    assert.match(broken.body.detail, /Table 1 of the plan/);
    assert.deepEqual(await tables(), []);
    const made = await send('k,parent\n1,1\n2,2\n', 'k\n1\n2\n');
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const added = await send('k,parent\n3,3\n', 'k\n3\n', { if_exists: 'append' });
    assert.equal(added.status, 200, JSON.stringify(added.body));
    const left = await send('k,parent\n4,9\n9,9\n', 'k\n4\n', { if_exists: 'append' });
    assert.equal(left.status, 422, JSON.stringify(left.body));
    for (const more of [{ if_exists: 'truncate' }, { if_exists: 'append', on_conflict: 'update' }]) {
      const again = await send('k,parent\n5,5\n', 'k\n5\n', more);
      assert.equal(again.status, 200, JSON.stringify(again.body));
      assert.deepEqual(await service.rows('SELECT k::int FROM sales.children'), [{ k: 5 }]);
    }
    await service.rows('DROP TABLE sales.children, sales.parents');
  });
}
