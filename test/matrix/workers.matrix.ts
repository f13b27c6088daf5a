/** The limit on how often workers are started again. The test starts seven processes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { startChildService } from '../support/child-service.ts';
import { createTestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { workerPids } from '../support/worker-pids.ts';

test('a service whose workers end again and again ends, too', {
  skip: process.platform !== 'linux',
}, async () => {
  const database = await createTestDatabase();
  after(() => database.drop());
  const service = await startChildService(database, { WORKERS: '2' });
  await until('all workers', () => service.output().includes('Tablewright is up'));
  const ended = once(service.child, 'exit');
  const seen = new Set<number>();
  while (service.child.exitCode === null) {
    const pid = workerPids(service.child).find((one) => !seen.has(one));
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    seen.add(pid ?? 0);
    await until(
      'a new worker or the end',
      () => service.child.exitCode !== null || workerPids(service.child).some((one) => !seen.has(one)),
    );
  }
  assert.deepEqual(await ended, [1, null]);
  assert.match(
    service.output(),
    /^Tablewright ends: workers ended by themselves 6 times in a minute: SIGKILL$/m,
  );
});
