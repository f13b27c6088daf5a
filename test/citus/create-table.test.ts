/** Creates tables that Citus distributes, over HTTP. */
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

const byCustomer = { kind: 'column', column: 'customer_id' };

function ordersBy(
  distribution: unknown,
  keys: object = { primary_key: { name: '', columns: ['customer_id', 'id'] } },
) {
  return {
    table: {
      columns: [
        { name: 'id', type: 'bigserial', is_nullable: false },
        { name: 'customer_id', type: 'bigint', is_nullable: false },
        { name: 'Note "x"', type: 'text' },
      ],
      constraints: keys,
      ...(distribution !== undefined && { distribution }),
    },
  };
}

/** Returns the kind of each table as Citus itself names it. */
async function kindOf(table: string): Promise<unknown> {
  const [row] = await service.rows(
    'SELECT citus_table_type AS kind, distribution_column AS column, shard_count::int AS shards FROM citus_tables WHERE table_name = $1::regclass',
    [table],
  );
  return row;
}

suite('a table is created with the distribution of its definition', () => {
  test('by a column', async () => {
    const answer = await service.post('/table/orders?schema=sales', ordersBy(byCustomer));
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(answer.body.table.distribution, { ...byCustomer, shards: 4 });
    assert.deepEqual(await kindOf('sales.orders'), { kind: 'distributed', column: 'customer_id', shards: 4 });
  });

  test('as a reference table', async () => {
    const answer = await service.post('/table/countries?schema=sales', ordersBy({ kind: 'reference' }));
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(answer.body.table.distribution, { kind: 'reference', shards: 1 });
  });

  test('as an ordinary table', async () => {
    for (const distribution of [{ kind: 'local' }, undefined]) {
      const name = distribution ? 'local_orders' : 'plain_orders';
      const answer = await service.post(`/table/${name}?schema=sales`, ordersBy(distribution));
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(answer.body.table.distribution, { kind: 'local' });
      assert.equal(await kindOf(`sales.${name}`), undefined);
    }
  });

  test('by its schema', async () => {
    const answer = await service.post('/table/orders?schema=tenant', ordersBy(undefined));
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(answer.body.table.distribution, { kind: 'schema', shards: 1 });
    assert.equal(((await kindOf('tenant.orders')) as { kind: string }).kind, 'schema');
  });
});

test('an answer makes an equal table again, and reports what differs', async () => {
  const { body } = await service.get('/table/orders?schema=sales');
  const { bytes, ...distribution } = body.table.distribution;
  assert.deepEqual(distribution, { ...byCustomer, shards: 4 });
  assert.ok(bytes > 0);
  const names = { primary_key: { ...body.table.constraints.primary_key, name: '' } };
  const table = { ...body.table, constraints: names };
  const again = await service.post('/table/orders_again?schema=sales', { table });
  assert.equal(again.status, 201, JSON.stringify(again.body));
  assert.deepEqual(again.body.table.distribution, distribution);
  const same = await service.post('/table/orders?schema=sales&if_not_exists=true', body);
  assert.deepEqual(same.body.differences, []);
  const other = { table: { ...body.table, distribution: { kind: 'reference' } } };
  const { body: answer } = await service.post('/table/orders?schema=sales&if_not_exists=true', other);
  assert.deepEqual(answer.differences, ['the table is distributed by the column "customer_id"']);
});

test('the list of tables has distributions and sizes on all nodes', async () => {
  const { body } = await service.get('/api/v1/tables');
  const found = new Map(
    body.tables.map((table: { schema: string; name: string }) => [`${table.schema}.${table.name}`, table]),
  );
  const listed = (name: string) => {
    const { distribution, bytes, estimated_rows: rows } = found.get(name) as Record<string, unknown>;
    return { distribution, isMeasured: (bytes as number) > 0, rows };
  };
  assert.deepEqual(listed('sales.orders'), {
    distribution: { ...byCustomer, shards: 4 },
    isMeasured: true,
    rows: null,
  });
  assert.deepEqual(listed('tenant.orders').distribution, { kind: 'schema', shards: 1 });
  assert.deepEqual(listed('sales.plain_orders').distribution, { kind: 'local' });
});

test('events have the distribution of the table', async () => {
  const data = [{ customer_id: 1 }];
  await service.post('/table/seen?schema=sales', ordersBy(byCustomer));
  await service.post('/table/seen/upload/json?schema=sales&if_exists=append', { data });
  await service.post('/table/seen/upload/json?schema=tenant', { data });
  await service.post('/table/seen/upload/json?schema=tenant&if_exists=append', {
    data: [{ customer_id: {} }],
  });
  await service.post('/table/seen_local?schema=sales', ordersBy(undefined));
  const events = await service.rows(
    `SELECT event->>'type' AS type, event->'data'->'distribution' AS distribution FROM tablewright_service.events
      WHERE event->'data'->>'table' LIKE 'seen%' ORDER BY created_at, event->>'type' DESC`,
  );
  const [column, schema] = [
    { ...byCustomer, shards: 4 },
    { kind: 'schema', shards: 1 },
  ];
  assert.deepEqual(
    events.map(({ type, distribution }) => [type, distribution]),
    [
      ['table.created', column],
      ['rows.loaded', column],
      ['table.created', schema],
      ['rows.loaded', schema],
      ['load.refused', null],
      ['table.created', { kind: 'local' }],
    ],
  );
});
