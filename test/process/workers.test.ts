/** A service with several processes on one port (`WORKERS`), run as a separate process. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { serviceEnvironment } from '../support/child-environment.ts';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { logLines } from '../support/log-lines.ts';
import { testEnvironment } from '../support/service.ts';
import { until } from '../support/until.ts';
import { openUpload } from '../support/uploads.ts';
import { workerPids } from '../support/worker-pids.ts';

let database: TestDatabase;
let service: ChildService;

before(async () => {
  database = await createTestDatabase();
  service = await startChildService(database, {
    WORKERS: '2',
    METRICS_PORT: '0',
    SHUTDOWN_GRACE_MS: '20000',
  });
  await allListen();
});

after(async () => {
  await service.end('SIGKILL');
  await database.drop();
});

/** Waits for the banner. */
const allListen = () => until('all workers', () => service.output().includes('Tablewright is up'));

const lines = (message: string) => logLines(service.output()).filter(({ msg }) => msg === message);

/** Starts an upload on a connection of its own. It sends one row and then nothing until `finish` is called. */
async function startUpload(table: string) {
  const request = await openUpload(service, `/table/${table}/upload/json`);
  const status = new Promise<number | undefined>((resolve) => {
    request.once('error', () => resolve(undefined));
    request.once('response', async (response) => {
      await text(response);
      resolve(response.statusCode);
    });
  });
  request.write('{"table":{"columns":[{"name":"a","type":"bigint"}]},"data":[{"a":1}');
  return { status, finish: () => request.end(']}') };
}

async function loadStates(): Promise<string[]> {
  const { body } = await service.get('/api/v1/loads');
  return body.loads.map(({ state }: { state: string }) => state).toSorted();
}

async function readMetrics(): Promise<string> {
  return (await fetch(lines('metrics')[0]!.url as string)).text();
}

const isLinux = process.platform === 'linux' ? {} : { skip: 'the processes are found in /proc' };

test('both workers serve the port, and their log lines have their numbers', async () => {
  const uploads = await Promise.all(['first', 'second'].map(startUpload));
  for (const { finish } of uploads) finish();
  assert.deepEqual(await Promise.all(uploads.map(({ status }) => status)), [201, 201]);
  await until(
    'the log of both uploads',
    () => lines('request').filter(({ status }) => status === 201).length === 2,
  );
  const workers = lines('request').map(({ worker }) => worker);
  assert.deepEqual([...new Set(workers)].toSorted(), [1, 2]);
  assert.equal(service.output().match(/Tablewright is up/g)?.length, 1);
});

test('the metrics have the series of both workers, and the number of workers', async () => {
  const metrics = await readMetrics();
  const rows = [...metrics.matchAll(/^tablewright_rows_loaded_total\{(.*)\} (\d+)$/gm)];
  assert.deepEqual(
    rows.map(([, labels, count]) => [labels, count]).toSorted(),
    [1, 2].map((worker) => [`format="json",worker="${worker}"`, '1']),
  );
  assert.equal(metrics.match(/^# TYPE tablewright_rows_loaded_total counter$/gm)?.length, 1);
  assert.match(metrics, /^tablewright_workers 2$/m);
  assert.match(metrics, /^tablewright_worker_restarts_total 0$/m);
});

test(
  'a worker that is killed is started again, and its load has failed before its lease expires',
  isLinux,
  async () => {
    const uploads = await Promise.all(['third', 'fourth'].map(startUpload));
    const arriving = ['committed', 'committed', 'receiving', 'receiving'];
    await until('the records of both loads', async () => (await loadStates()).join() === arriving.join());
    const before = workerPids(service.child);
    process.kill(before[0]!, 'SIGKILL');
    await until('a new worker', () => lines('Tablewright starts').length === 3);
    const ended = ['committed', 'committed', 'failed', 'receiving'];
    await until('the end of one load', async () => (await loadStates()).join() === ended.join());
    for (const { finish } of uploads) finish();
    const statuses = await Promise.all(uploads.map(({ status }) => status));
    assert.deepEqual(statuses.toSorted(), [201, undefined]);
    const again = lines('A worker ended by itself. It is started again')[0]!;
    assert.equal(again.reason, 'SIGKILL');
    assert.equal(lines('Tablewright starts').at(-1)!.worker, again.worker);
    assert.match(await readMetrics(), /^tablewright_worker_restarts_total 1$/m);
  },
);

test('SIGTERM lets the requests of all workers end, and leaves no process', isLinux, async () => {
  const uploads = await Promise.all(['fifth', 'sixth'].map(startUpload));
  await until(
    'both uploads',
    async () => (await loadStates()).filter((state) => state === 'receiving').length === 2,
  );
  const pids = workerPids(service.child);
  assert.equal(pids.length, 2);
  const ended = service.end('SIGTERM');
  await until('the stop of both workers', () => lines('The service is stopping').length === 2);
  for (const { finish } of uploads) finish();
  assert.deepEqual(await Promise.all(uploads.map(({ status }) => status)), [201, 201]);
  assert.equal(await ended, 0);
  for (const pid of pids) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  const stopped = lines('The service has stopped');
  assert.deepEqual(stopped.map(({ worker, rolledBack }) => [worker, rolledBack]).toSorted(), [
    [1, 0],
    [2, 0],
  ]);
});

test('a start that fails says why in one message, whatever the number of workers', async () => {
  const wrong = new URL(database.serviceUrl);
  wrong.password = 'wrong';
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const [wrongPassword, portInUse] = await Promise.all([
    failedStart({ DATABASE_URL: wrong.href }),
    failedStart({ PORT: String(port) }),
  ]);
  other.close();
  assert.match(wrongPassword, /^Tablewright cannot start: password authentication failed/);
  assert.match(portInUse, /^Tablewright cannot start: .*EADDRINUSE.*\nAnother program listens there\./);
});

/** Returns what a service with three workers that cannot start prints. */
async function failedStart(environment: Record<string, string>): Promise<string> {
  const settings = testEnvironment(database, tmpdir(), { WORKERS: '3', ...environment });
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', '..', 'src', 'main.ts')], {
    env: { ...serviceEnvironment(), ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [message, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  assert.equal(code, 1);
  assert.equal(message.match(/Tablewright cannot start/g)?.length, 1);
  return message;
}
