/**
 * Counts the round trips to PostgreSQL of Create Table and Describe Table. Both describe the table, a new one with a shorter query, and must say the same.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';
import { startTurnCounter, type TurnCounter } from '../support/turn-counter.ts';

let service: TestService;
let counter: TurnCounter;

before(async () => {
  service = await startTestService({}, async (database) => {
    const url = new URL(database.serviceUrl);
    counter = await startTurnCounter(url.hostname, Number(url.port));
    url.hostname = '127.0.0.1';
    url.port = String(counter.port);
    return url.href;
  });
  await service.rows('CREATE TABLE customers (id bigint PRIMARY KEY)');
});
after(async () => {
  await service?.stop();
  await counter?.stop();
});

const columns = [
  { name: 'id', type: 'bigint', is_nullable: false },
  { name: 'customer_id', type: 'bigint' },
  { name: 'status', type: 'varchar(20)', default: 'pending' },
  { name: 'created_at', type: 'timestamptz', default: 'now()' },
];
const constraints = {
  primary_key: { name: '', columns: ['id'] },
  unique: [{ name: '', columns: ['status'] }],
  foreign_keys: [],
};
const foreign_keys = [
  { name: '', column: 'customer_id', reference_table: 'customers', reference_column: 'id' },
];

const tables = {
  'keys only': { columns, constraints },
  'a foreign key': { columns, constraints: { ...constraints, foreign_keys } },
};

for (const [what, table] of Object.entries(tables)) {
  test(`creating a table with ${what} takes two round trips, and describing it one`, async () => {
    const suffix = what.replaceAll(' ', '_');
    for (const name of [`first_${suffix}`, `second_${suffix}`]) {
      counter.reset();
      const created = await service.post(`/table/${name}`, { table });
      assert.equal(created.status, 201, JSON.stringify(created.body));
      assert.equal(counter.turnsWith(`CREATE TABLE "public"."${name}"`), 2);

      counter.reset();
      const described = await service.get(`/table/${name}`);
      assert.deepEqual(described.body, { table: created.body.table });
      assert.equal(counter.turnsWith(name), 1);
    }
  });
}

test('a new table is described like an existing one', async () => {
  await service.rows("CREATE TYPE mood AS ENUM ('glad', 'sad'); CREATE SEQUENCE numbers");
  const wide = {
    columns: [
      { name: 'a', type: 'serial' },
      { name: 'b', type: 'smallserial', identity: 'always' },
      { name: 'c', type: 'numeric(12,2)', default: '-0.50' },
      { name: 'd', type: 'double precision', default: '1e3' },
      { name: 'e', type: 'money', default: '12' },
      { name: 'f', type: 'text[]', default: '{a,"b c"}' },
      { name: 'g', type: 'varchar(9)', default: "it's" },
      { name: 'h', type: 'char(3)', default: 'abc' },
      { name: 'i', type: 'date', default: "'2026-01-02'::date" },
      { name: 'j', type: 'timestamp(3)', default: 'CURRENT_TIMESTAMP' },
      { name: 'k', type: 'interval day to second(2)', default: '1 day' },
      { name: 'l', type: 'bit(4)', default: "B'1010'" },
      { name: 'm', type: 'jsonb', default: '{"a": [1]}' },
      { name: 'n', type: 'uuid', default: 'gen_random_uuid()' },
      { name: 'o', type: 'bigint', default: "nextval('numbers')" },
      { name: 'p', type: 'boolean', default: 'true' },
      { name: 'q', type: 'bytea', default: '\\x00ff' },
      { name: 'r', type: 'int4range', default: '[1,5)' },
    ],
  };
  const composite = {
    columns: [
      { name: 'x', type: 'int' },
      { name: 'y', type: 'int' },
      { name: 'z', type: 'int' },
    ],
    constraints: {
      primary_key: { name: 'Its Key', columns: ['y', 'x'] },
      unique: [
        { name: '', columns: ['z'] },
        { name: '', columns: ['x', 'y', 'z'] },
      ],
      foreign_keys: [
        {
          name: 'pair',
          columns: ['y', 'z'],
          reference_table: 'composite',
          reference_columns: ['y', 'x'],
          on_delete: 'cascade',
          deferrable: 'initially deferred',
        },
        { column: 'x', reference_table: 'composite', reference_column: 'z', on_update: 'set null' },
      ],
    },
  };
  const definitions: Record<string, object> = {
    wide,
    composite,
    keyed: { ...composite, constraints: { unique: composite.constraints.unique } },
    of_users: { columns: [{ name: 'a', type: 'mood', default: 'glad' }] },
    indexed: {
      ...composite,
      constraints: {},
      indexes: [{ name: '', columns: [{ column: 'x', order: 'desc' }] }],
    },
    commented: { comment: 'it', columns: [{ name: 'a', type: 'text', comment: 'its' }] },
    numbered: { columns: [{ name: 'a', type: 'bigserial', sequence: { name: 'of_its_own' } }] },
    empty: { columns: [{ name: 'a', type: 'text' }] },
  };
  for (const [name, table] of Object.entries(definitions)) {
    const created = await service.post(`/table/${name}`, { table });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const described = await service.get(`/table/${name}`);
    assert.equal(JSON.stringify(described.body.table), JSON.stringify(created.body.table));
  }
});
