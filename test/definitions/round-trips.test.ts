/** Counts the round trips to PostgreSQL of Create Table and Describe Table. */
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
