/** An error that nobody has handled stops the process in order, and the log says what was running. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { logLines } from '../support/log-lines.ts';
import { until } from '../support/until.ts';
import { openUpload } from '../support/uploads.ts';
import { workerPids } from '../support/worker-pids.ts';

/** Code that runs in each process before the service, and throws outside of every request when a signal arrives. */
function throwingOnSignal(code: string): Record<string, string> {
  const text = `process.on('SIGUSR2', () => { ${code} })`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(text)}` };
}

const linesOf = (service: ChildWithDatabase, start: string) =>
  logLines(service.output()).filter(({ msg }) => String(msg).startsWith(start));

/** Begins an upload, and returns a function that sends its end. */
async function beginUpload(service: ChildWithDatabase): Promise<() => Promise<[number, unknown]>> {
  const request = await openUpload(service, '/table/t/upload/json?if_exists=append');
  const answered = once(request, 'response');
  request.write('{"table":{"columns":[{"name":"a","type":"integer"}]},"data":[{"a":1}');
  await until('the load', async () => (await service.get('/api/v1/loads')).body.loads.length === 1);
  return async () => {
    request.end(',{"a":2}]}');
    const [response] = (await answered) as [IncomingMessage];
    return [response.statusCode!, await json(response)];
  };
}

for (const [what, code] of [
  ['an exception', `throw new Error('a bug')`],
  ['a rejected promise', `Promise.reject(new Error('a bug'))`],
])
  test(`${what} that nobody handles stops the service with the exit code 1, after the running requests`, async (t) => {
    const service = await startChildWithDatabase({ ...throwingOnSignal(code!), SHUTDOWN_GRACE_MS: '30000' });
    t.after(() => service.stop('SIGKILL'));
    const endUpload = await beginUpload(service);
    const ended = once(service.child, 'close');
    service.child.kill('SIGUSR2');
    await until('the stop', () => linesOf(service, 'The service is stopping').length > 0);
    // Another such error does not end the running requests either.
    service.child.kill('SIGUSR2');
    await until('the second error', () => linesOf(service, 'An error was not handled').length === 2);
    const [status, body] = await endUpload();
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(await ended, [1, null]);

    const [line] = linesOf(service, 'An error was not handled');
    assert.deepEqual([line!.level, (line!.err as { message: string }).message], [60, 'a bug']);
    const { requests, loads } = line!.running as { requests: Record<string, string>[]; loads: string[] };
    assert.deepEqual(
      requests.map(({ method, path }) => [method, path]),
      [['POST', '/api/v1/table/t/upload/json']],
    );
    assert.match(requests[0]!.reqId!, /^[0-9a-f-]{36}$/);
    assert.equal(loads.length, 1);
  });

test('an exception in a worker stops only this worker, and another one takes its place', async (t) => {
  const service = await startChildWithDatabase({
    ...throwingOnSignal(`throw new Error('a bug')`),
    WORKERS: '2',
  });
  t.after(() => service.stop('SIGKILL'));
  await until('all workers', () => service.output().includes('Tablewright is up'));
  const before = workerPids(service.child);
  process.kill(before[0]!, 'SIGUSR2');
  await until('another worker', () => {
    const now = workerPids(service.child);
    return now.length === 2 && !now.includes(before[0]!);
  });
  assert.equal(linesOf(service, 'An error was not handled').length, 1);
  await until('an answer', async () => (await service.get('/readyz')).status === 200);
});

test('an exception in the primary process stops all workers in order', async (t) => {
  const service = await startChildWithDatabase({
    ...throwingOnSignal(`throw new Error('a bug')`),
    WORKERS: '2',
  });
  t.after(() => service.stop('SIGKILL'));
  await until('all workers', () => service.output().includes('Tablewright is up'));
  const ended = once(service.child, 'close');
  service.child.kill('SIGUSR2');
  assert.deepEqual(await ended, [1, null]);
  assert.equal(linesOf(service, 'The service is stopping').length, 2);
});
