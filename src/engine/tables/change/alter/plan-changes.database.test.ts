import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../../../../test/support/database.ts';
import { inTransaction } from '../../../../postgres/transaction.ts';
import { planChanges } from './plan-changes.ts';
import { findTable } from './run-changes.ts';

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const definitions = {
  'a new type': { columns: [{ name: 'a', type: 'bigint' }] },
  'a new name': { columns: [{ name: 'b', renamed_from: 'a' }] },
  'a new default': { columns: [{ name: 'a', default: '1' }] },
};
for (const [name, table] of Object.entries(definitions))
  test(`a table that another session drops before its changes are planned is a conflict: ${name}`, async () => {
    await inTransaction(database.pool, { rollback: true }, async (client) => {
      const options = { schema: 'public', name: 't', table, admitSchema: () => {} };
      await client.query('CREATE TABLE public.t (a int)');
      const found = (await findTable(client, options))!;
      await client.query('DROP TABLE public.t');
      await assert.rejects(planChanges(client, found, options), { code: 'write-conflict' });
    });
  });
