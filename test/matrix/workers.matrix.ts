/** Workers that are killed again and again. The test takes some seconds, because the service pauses before it starts a worker again. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startChildService } from '../support/child-service.ts';
import { createTestDatabase } from '../support/database.ts';
import { logLines } from '../support/log-lines.ts';
import { until } from '../support/until.ts';
import { workerPids } from '../support/worker-pids.ts';

test('workers that are killed again and again are started after pauses, and the service goes on', {
  skip: process.platform !== 'linux',
}, async () => {
  const database = await createTestDatabase();
  after(() => database.drop());
  const service = await startChildService(database, { WORKERS: '2' });
  after(() => service.end('SIGKILL'));
  await until('all workers', () => service.output().includes('Tablewright is up'));
  const messages = (message: string) => logLines(service.output()).filter(({ msg }) => msg === message);
  for (let killed = 1; killed <= 4; killed++) {
    const [pid] = workerPids(service.child).slice(-1);
    process.kill(pid!, 'SIGKILL');
    await until('the log', () => messages('A worker ended by itself. It is started again').length === killed);
    await until('the worker', () => messages('Tablewright starts').length === 2 + killed);
  }
  const again = messages('A worker ended by itself. It is started again');
  assert.ok(again.every(({ reason }) => reason === 'SIGKILL'));
  for (const number of [1, 2]) {
    const pauses = again.filter(({ worker }) => worker === number).map(({ pauseMs }) => pauseMs);
    assert.deepEqual(pauses, [0, 1000, 2000, 4000].slice(0, pauses.length));
  }
  await until('an answer', async () => (await service.get('/readyz')).status === 200);
});
