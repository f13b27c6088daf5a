/** What Citus cannot keep is refused by name before a row is sent, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { type CitusService, startCitusService } from '../support/citus.ts';
import { assertProblem } from '../support/problem.ts';

let service: CitusService;

before(async () => {
  service = await startCitusService();
  await service.rows(`CREATE SCHEMA sales;
    CREATE TABLE sales.plain (id bigint PRIMARY KEY);
    CREATE TABLE sales.customers (id bigint PRIMARY KEY);
    CREATE TABLE sales.others (id int PRIMARY KEY);
    CREATE TABLE sales.countries (id bigint PRIMARY KEY)`);
  await service.rows(`SELECT create_distributed_table('sales.customers', 'id')`);
  await service.rows(`SELECT create_distributed_table('sales.others', 'id')`);
  await service.rows(`SELECT create_reference_table('sales.countries')`);
  await service.rows('INSERT INTO sales.countries VALUES (1)');
  await service.rows('SET citus.enable_schema_based_sharding TO on; CREATE SCHEMA tenant');
  await service.rows('SET citus.enable_schema_based_sharding TO on; CREATE SCHEMA other_tenant');
  await service.rows('CREATE TABLE tenant.customers (id bigint PRIMARY KEY)');
});
after(() => service?.stop());

const columns = [
  { name: 'customer_id', type: 'bigint' },
  { name: 'order_id', type: 'bigint' },
  { name: 'body', type: 'json' },
];
const byCustomer = { kind: 'column', column: 'customer_id' };

function refersTo(table: string, schema = 'sales', column = 'customer_id') {
  return {
    foreign_keys: [{ column, reference_table: table, reference_column: 'id', reference_schema: schema }],
  };
}

interface Case {
  what: string;
  schema?: string;
  distribution?: unknown;
  constraints?: unknown;
  problem: { pointer: string; code: string; detail: RegExp };
}

const reference = '/table/constraints/foreign_keys/0/reference_table';
const conflict = (detail: RegExp) => ({ pointer: reference, code: 'reference-not-colocated', detail });

const cases: Case[] = [
  {
    what: 'a primary key without the distribution column',
    distribution: byCustomer,
    constraints: { primary_key: { name: 'orders_pk', columns: ['order_id'] } },
    problem: {
      pointer: '/table/constraints/primary_key/columns',
      code: 'key-without-distribution-column',
      detail: /"orders_pk" does not contain the distribution column "customer_id".* add "customer_id"/,
    },
  },
  {
    what: 'a unique key without the distribution column',
    distribution: byCustomer,
    constraints: { unique: [{ columns: ['order_id'] }] },
    problem: {
      pointer: '/table/constraints/unique/0/columns',
      code: 'key-without-distribution-column',
      detail: /does not contain/,
    },
  },
  {
    what: 'a distribution column of a type without a hash operator class',
    distribution: { kind: 'column', column: 'body' },
    problem: {
      pointer: '/table/distribution/column',
      code: 'type-not-hashable',
      detail: /"body" is of type json/,
    },
  },
  {
    what: 'a distribution column that the definition does not have',
    distribution: { kind: 'column', column: 'custommer_id' },
    problem: {
      pointer: '/table/distribution/column',
      code: 'unknown-column',
      detail: /no column "custommer_id"\. Did you mean "customer_id"/,
    },
  },
  {
    what: 'a foreign key from a distributed table to an ordinary table',
    distribution: byCustomer,
    constraints: refersTo('plain'),
    problem: conflict(/"sales"."plain" is an ordinary table.*reference table/),
  },
  {
    what: 'a foreign key from an ordinary table to a distributed table',
    constraints: refersTo('customers'),
    problem: conflict(/"sales"."customers" is distributed, and an ordinary table cannot refer to it/),
  },
  {
    what: 'a foreign key from an ordinary table to a distributed schema',
    constraints: refersTo('customers', 'tenant'),
    problem: conflict(/"tenant"."customers" is distributed, and an ordinary table/),
  },
  {
    what: 'a foreign key from a reference table to a distributed table',
    distribution: { kind: 'reference' },
    constraints: refersTo('customers'),
    problem: conflict(/a reference table cannot refer to it/),
  },
  {
    what: 'a foreign key that does not contain the distribution columns of both tables',
    distribution: byCustomer,
    constraints: refersTo('customers', 'sales', 'order_id'),
    problem: conflict(/must contain the pair "customer_id" and "id"/),
  },
  {
    what: 'a foreign key between distribution columns of different types',
    distribution: byCustomer,
    constraints: refersTo('others'),
    problem: conflict(/is of type bigint, and that of "sales"."others" of type integer/),
  },
  {
    what: 'a number of shards that the referenced table does not have',
    distribution: { ...byCustomer, shards: 7 },
    constraints: refersTo('customers'),
    problem: { pointer: '/table/distribution/shards', code: 'distribution-conflict', detail: /has 4 shards/ },
  },
  {
    what: 'a foreign key from a distributed schema to another one',
    schema: 'other_tenant',
    constraints: refersTo('customers', 'tenant'),
    problem: conflict(/"tenant"."customers" is distributed in another way/),
  },
  {
    what: 'a foreign key from a distributed schema to an ordinary table',
    schema: 'tenant',
    constraints: refersTo('plain'),
    problem: conflict(/"sales"."plain" is an ordinary table/),
  },
  {
    what: 'another distribution than that of a distributed schema',
    schema: 'tenant',
    distribution: { kind: 'reference' },
    problem: {
      pointer: '/table/distribution/kind',
      code: 'distribution-conflict',
      detail: /schema "tenant" is distributed/,
    },
  },
  {
    what: 'the distribution of the schema where the schema is not distributed',
    distribution: { kind: 'schema' },
    problem: {
      pointer: '/table/distribution/kind',
      code: 'distribution-conflict',
      detail: /schema "sales" is not distributed/,
    },
  },
];

suite('a definition is refused for', () => {
  for (const { what, schema = 'sales', distribution, constraints, problem } of cases) {
    test(what, async () => {
      const table = { columns, ...(constraints !== undefined && { constraints }), distribution };
      const answers = [
        await service.post(`/table/refused?schema=${schema}`, { table }),
        await service.post(`/table/refused/upload/json?schema=${schema}`, { table, data: [] }),
      ];
      for (const { status, body } of answers) {
        assert.equal(status, 422, JSON.stringify(body));
        assert.equal(body.code, 'invalid-definition');
        assert.equal(body.error_count, 1, JSON.stringify(body.errors));
        const [{ pointer, code, detail }] = body.errors;
        assert.deepEqual({ pointer, code }, { pointer: problem.pointer, code: problem.code });
        assert.match(detail, problem.detail);
        assert.doesNotMatch(JSON.stringify(body), /_\d{6}/);
      }
    });
  }
});

test('foreign keys to reference tables and to colocated tables are kept', async () => {
  for (const [name, distribution, target] of [
    ['of_customers', byCustomer, 'customers'],
    ['of_countries', byCustomer, 'countries'],
    ['local_of_countries', { kind: 'local' }, 'countries'],
    ['local_of_plain', undefined, 'plain'],
  ] as const) {
    const table = { columns, constraints: refersTo(target), distribution };
    const answer = await service.post(`/table/${name}?schema=sales`, { table });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.table.constraints.foreign_keys.length, 1);
  }
  const inSchema = { columns, constraints: refersTo('customers', 'tenant') };
  assert.equal((await service.post('/table/of_customers?schema=tenant', { table: inSchema })).status, 201);
});

test('NULL in the distribution column is a problem of its cell', async () => {
  const table = { columns, distribution: byCustomer };
  const data = [{ customer_id: 1 }, { customer_id: null }, { order_id: 3 }];
  for (const path of ['new', 'of_countries']) {
    const query = path === 'new' ? '' : '&if_exists=append';
    const body = path === 'new' ? { table, data } : { data };
    const answer = await service.post(`/table/${path}/upload/json?schema=sales${query}`, body);
    assert.equal(answer.status, 422, JSON.stringify(answer.body));
    const places = answer.body.errors.map(({ code, column, row }: Record<string, unknown>) => [
      code,
      column,
      row,
    ]);
    assert.deepEqual(places, [
      ['null-not-allowed', 'customer_id', 2],
      ['null-not-allowed', 'customer_id', 3],
    ]);
  }
});

test('a shard that does not exist at its worker is not a problem of the data', async () => {
  await service.rows('CREATE TABLE sales.moved (id bigint PRIMARY KEY)');
  await service.rows(`SELECT create_distributed_table('sales.moved', 'id', shard_count => 1)`);
  const [shard] = await service.rows(
    `SELECT shard_name AS name, nodeport AS port FROM citus_shards WHERE table_name = 'sales.moved'::regclass`,
  );
  const url = new URL(service.databaseUrl);
  url.port = String(shard!.port);
  const worker = new pg.Client(url.href);
  await worker.connect();
  try {
    await worker.query('SET citus.enable_manual_changes_to_shards TO on');
    await worker.query(`DROP TABLE ${shard!.name}`);
  } finally {
    await worker.end();
  }
  const answer = await service.post('/table/moved/upload/json?schema=sales&if_exists=append', {
    data: [{ id: 1 }],
  });
  assertProblem(answer, 409, 'write-conflict');
  assert.doesNotMatch(JSON.stringify(answer.body), /_\d{6}/);
});
