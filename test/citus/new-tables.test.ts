/** Uploads into new tables that Citus distributes, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type CitusService, startCitusService } from '../support/citus.ts';

let service: CitusService;

before(async () => {
  service = await startCitusService();
  await service.rows('CREATE SCHEMA sales');
  await service.rows('SET citus.enable_schema_based_sharding TO on; CREATE SCHEMA tenant');
});
after(() => service?.stop());

const columns = [
  { name: 'customer_id', type: 'bigint', is_nullable: false },
  { name: 'id', type: 'bigserial', is_nullable: false },
  { name: 'note', type: 'text' },
];
const constraints = {
  primary_key: { name: '', columns: ['customer_id', 'id'] },
  unique: [{ name: '', columns: ['note', 'customer_id'] }],
};
const byCustomer = { kind: 'column', column: 'customer_id' };
const data = Array.from({ length: 50 }, (_, index) => ({ customer_id: index % 7, note: `n${index}` }));

async function upload(path: string, body: object): Promise<{ table: Record<string, unknown> }> {
  const answer = await service.post(path, body);
  assert.ok([200, 201].includes(answer.status), `${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function count(table: string): Promise<unknown> {
  return (await service.rows(`SELECT count(*)::int AS count FROM ${table}`))[0]!.count;
}

/** Returns the number of the group of tables whose rows are together. */
async function colocation(table: string): Promise<unknown> {
  return (
    await service.rows('SELECT colocation_id AS id FROM citus_tables WHERE table_name = $1::regclass', [
      table,
    ])
  )[0]?.id;
}

suite('an upload with a definition', () => {
  test('creates a table by a column with its keys', async () => {
    const { table } = await upload('/table/by_column/upload/json?schema=sales', {
      table: { columns, constraints, distribution: byCustomer },
      data,
    });
    assert.deepEqual(table.distribution, { ...byCustomer, shards: 4 });
    assert.equal(await count('sales.by_column'), 50);
  });

  test('creates a reference table, and a table that refers to it', async () => {
    await upload('/table/kinds/upload/json?schema=sales', {
      table: {
        columns: [{ name: 'kind', type: 'text' }],
        constraints: { primary_key: { columns: ['kind'] } },
        distribution: { kind: 'reference' },
      },
      data: [{ kind: 'a' }, { kind: 'b' }],
    });
    const { table } = await upload('/table/of_kinds/upload/json?schema=sales', {
      table: {
        columns: [...columns, { name: 'kind', type: 'text' }],
        constraints: {
          ...constraints,
          unique: [],
          foreign_keys: [
            { column: 'kind', reference_table: 'kinds', reference_column: 'kind', reference_schema: 'sales' },
          ],
        },
        distribution: byCustomer,
      },
      data: data.map((row) => ({ ...row, kind: 'b' })),
    });
    assert.deepEqual(table.distribution, { ...byCustomer, shards: 4 });
  });

  test('creates a table in a distributed schema', async () => {
    const { table } = await upload('/table/orders/upload/json?schema=tenant', {
      table: { columns, constraints },
      data,
    });
    assert.deepEqual(table.distribution, { kind: 'schema', shards: 1 });
  });
});

test('an upload without a definition creates a table in a distributed schema', async () => {
  const { table } = await upload('/table/inferred/upload/json?schema=tenant&primary_key=note', { data });
  assert.deepEqual(table.distribution, { kind: 'schema', shards: 1 });
  assert.equal(await count('tenant.inferred'), 50);
});

suite('a new table', () => {
  const open = columns.map(({ name, type }) => ({ name, type }));
  const distributions = [
    ['by a column', 'sales', byCustomer],
    ['by its schema', 'tenant', { kind: 'schema' }],
  ] as const;
  for (const [how, schema, distribution] of distributions) {
    test(`${how} stores a row without values, unless the row needs a value for the distribution column`, async () => {
      const answer = await service.post(`/table/empty_rows/upload/json?schema=${schema}`, {
        table: { columns: open, distribution },
        data: [{}, {}],
      });
      if (distribution.kind === 'schema') {
        assert.equal(answer.status, 201, JSON.stringify(answer.body));
        assert.equal(await count('tenant.empty_rows'), 2);
      } else {
        assert.equal(answer.status, 422, JSON.stringify(answer.body));
        const { code, column, row } = answer.body.errors[0];
        assert.deepEqual([code, column, row], ['null-not-allowed', 'customer_id', 1]);
      }
    });

    test(`${how} stores all rows of a body above 1 MiB, and finds the last row that repeats a key`, async () => {
      const note = 'x'.repeat(100);
      const rows = Array.from({ length: 12_000 }, (_, id) => ({ customer_id: id % 100, id, note }));
      const path = `/table/large/upload/json?schema=${schema}`;
      const { primary_key } = constraints;
      const table = { columns, constraints: { primary_key }, distribution };
      const refused = await service.post(path, { table, data: [...rows, rows[0]] });
      assert.equal(refused.status, 422, JSON.stringify(refused.body));
      assert.deepEqual([refused.body.errors[0].code, refused.body.errors[0].row], ['not-unique', 12_001]);
      await upload(path, { table, data: rows });
      const [stored] = await service.rows(
        `SELECT count(*)::int AS count, sum(id)::int AS sum, sum(length(note))::int AS length FROM ${schema}.large`,
      );
      assert.deepEqual(stored, { count: 12_000, sum: 71_994_000, length: 1_200_000 });
    });
  }
});

suite('if_exists=replace makes a table that is distributed as the old one', () => {
  test('by a column, with and without a definition', async () => {
    const path = '/table/replaced/upload/json?schema=sales&if_exists=replace';
    const definition = { columns, constraints, distribution: { ...byCustomer, shards: 3 } };
    await upload(path, { table: definition, data });
    const before = await colocation('sales.replaced');
    const { table } = await upload(path, { table: { columns, constraints }, data });
    assert.deepEqual(table.distribution, { ...byCustomer, shards: 3 });
    assert.equal(await colocation('sales.replaced'), before);
    const inferred = await upload(path, { data });
    assert.deepEqual(inferred.table.distribution, { ...byCustomer, shards: 3 });
    assert.equal(await colocation('sales.replaced'), before);
    assert.equal(await count('sales.replaced'), 50);
  });

  test('as a reference table and by its schema', async () => {
    const definition = { columns, constraints, distribution: { kind: 'reference' } };
    await upload('/table/replaced_reference/upload/json?schema=sales', { table: definition, data });
    for (const path of ['replaced_reference/upload/json?schema=sales', 'orders/upload/json?schema=tenant']) {
      const { table } = await upload(`/table/${path}&if_exists=replace`, {
        table: { columns, constraints },
        data,
      });
      const kind = path.startsWith('orders') ? 'schema' : 'reference';
      assert.deepEqual(table.distribution, { kind, shards: 1 });
    }
  });
});

test('numbers that rows bring are followed by the next numbers, and a replacement keeps comment and grants', async () => {
  const numbered = data.slice(0, 5).map((row, index) => ({ ...row, id: 100 + index }));
  for (const [place, distribution] of [
    ['numbered?schema=sales', byCustomer],
    ['numbered_reference?schema=sales', { kind: 'reference' }],
    ['numbered?schema=tenant', undefined],
  ] as const) {
    const [name, query] = place.split('?');
    const schema = query!.split('=')[1]!;
    const path = `/table/${name}/upload/json?${query}`;
    await upload(path, { table: { columns, distribution }, data: numbered });
    await service.rows(`COMMENT ON TABLE ${schema}.${name} IS 'kept'`);
    await service.rows(`GRANT SELECT ON ${schema}.${name} TO PUBLIC`);
    await upload(`${path}&if_exists=replace`, { table: { columns }, data: numbered });
    await upload(`${path}&if_exists=append`, { data: [{ customer_id: 1 }] });
    const [row] = await service.rows(`SELECT max(id)::int AS id FROM ${schema}.${name}`);
    assert.deepEqual(row, { id: 105 }, place);
    const [kept] = await service.rows(
      `SELECT obj_description($1::regclass) AS comment, has_table_privilege('public', $1::regclass, 'SELECT') AS granted`,
      [`${schema}.${name}`],
    );
    assert.deepEqual(kept, { comment: 'kept', granted: true }, place);
  }
});

test('a later row may give the distribution column of a replacement another type', async () => {
  const path = '/table/retyped/upload/json?schema=sales';
  const table = { columns: columns.slice(0, 1), distribution: { ...byCustomer, shards: 3 } };
  await upload(path, { table, data: [{ customer_id: 1 }] });
  const rows = Array.from({ length: 60_000 }, (_, index) => ({ customer_id: index }));
  const { table: made } = await upload(`${path}&if_exists=replace`, {
    data: [...rows, { customer_id: 'none' }],
  });
  assert.deepEqual(made.distribution, { ...byCustomer, shards: 3 });
  assert.equal((made.columns as { type: string }[])[0]!.type, 'text');
});

test('a replacement keeps foreign keys to itself and to a colocated table, and names the row that breaks one', async () => {
  const keys = { primary_key: { name: '', columns: ['customer_id', 'id'] } };
  const pair = (name: string, column: string, table: string, referenced: string) => ({
    name,
    column,
    reference_schema: 'sales',
    reference_table: table,
    reference_column: referenced,
  });
  const parents = { columns, constraints: keys, distribution: byCustomer };
  const rows = data.slice(0, 5).map(({ customer_id }, index) => ({ customer_id, id: index, parent: index }));
  const ids = rows.map(({ customer_id, id }) => ({ customer_id, id }));
  await upload('/table/parents/upload/json?schema=sales', { table: parents, data: ids });
  const children = {
    ...parents,
    columns: [...columns, { name: 'parent', type: 'bigint' }],
    constraints: {
      ...keys,
      foreign_keys: [
        pair('of_parent', 'customer_id', 'parents', 'customer_id'),
        pair('of_parent', 'parent', 'parents', 'id'),
        pair('of_itself', 'customer_id', 'children', 'customer_id'),
        pair('of_itself', 'parent', 'children', 'id'),
      ],
    },
  };
  const path = '/table/children/upload/json?schema=sales&if_exists=replace';
  for (const _ of ['created', 'replaced']) {
    const { table } = await upload(path, { table: children, data: rows });
    assert.equal((table.constraints as { foreign_keys: unknown[] }).foreign_keys.length, 4);
  }
  const orphan = { customer_id: 0, id: 77, parent: 77 };
  const refused = await service.post(path, { table: children, data: [...rows, orphan] });
  assert.equal(refused.status, 422);
  assert.deepEqual(
    refused.body.errors.map(({ code, row }: Record<string, unknown>) => [code, row]),
    [['no-such-reference', 6]],
  );
  assert.doesNotMatch(JSON.stringify(refused.body), /_\d{6}/);
});

test('a replacement may change the distribution, and a dry run answers it', async () => {
  const table = { columns, constraints };
  for (const distribution of [{ kind: 'local' }, { kind: 'reference' }, byCustomer, { kind: 'local' }]) {
    const path = '/table/changing/upload/json?schema=sales&if_exists=replace';
    const dry = await upload(`${path}&dry_run=true`, { table: { ...table, distribution }, data });
    const made = await upload(path, { table: { ...table, distribution }, data });
    const { shards: _, ...answered } = made.table.distribution as Record<string, unknown>;
    assert.deepEqual(answered, distribution);
    assert.deepEqual(dry.table.distribution, made.table.distribution);
  }
});
