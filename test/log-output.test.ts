/** The service when nobody reads its log any more, for example because the process that started it has crashed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startChildWithDatabase } from './support/child-service.ts';

test('a service whose log was not read to its end ends with SIGTERM', async () => {
  const service = await startChildWithDatabase();
  service.child.stdout!.removeAllListeners('data').pause();
  for (let n = 0; n < 20; n++) await service.get('/api/v1/tables');
  service.child.stdout!.destroy();
  const ended = await service.end('SIGTERM');
  await service.database.drop();
  assert.equal(ended, 0);
});

test('a service whose log has no reader answers requests, and ends with SIGTERM', async () => {
  const service = await startChildWithDatabase();
  service.child.stdout!.destroy();
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await service.get('/readyz')).status);
  const created = await service.post('/table/unread', { table: { columns: [{ name: 'a', type: 'int' }] } });
  const ended = await service.end('SIGTERM');
  await service.database.drop();
  assert.deepEqual([...statuses, created.status, ended], [200, 200, 200, 201, 0]);
});
