import assert from 'node:assert/strict';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { WorkerGroup } from '../../src/service/workers/worker-group.ts';

/** A worker that does what the test tells it, and stops in order. */
const program = `
process.on('message', ({ kind, does }) => {
  if (does === 'listen') process.send({ kind: 'listening', url: 'http://127.0.0.1:1', isWaiting: false });
  if (does === 'end') process.exit(3);
  if (does === 'fail') process.send({ kind: 'failed', detail: 'wrong password' }, () => process.exit(1));
  if (kind === 'stop') process.exit(0);
});
process.send({ kind: 'begun' });
`;

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-workers-'));
  const exec = join(folder, 'worker.mjs');
  await writeFile(exec, program);
  cluster.setupPrimary({ exec, execArgv: [], cwd: folder });
});
after(() => rm(folder, { recursive: true }));

function createGroup(count: number) {
  const failures: string[] = [];
  /** The pauses before workers are started again. */
  const pauses: unknown[] = [];
  const warn = (facts: object) => pauses.push((facts as { pauseMs: unknown }).pauseMs);
  const log = { info: () => {}, warn, error: () => {} };
  const onFailure = (detail: string) => failures.push(detail);
  const options = { count, databaseUrl: undefined, graceMs: 1000, log, onFailure, pauseMs: 1 };
  return { group: new WorkerGroup(options), failures, pauses };
}

/** Resolves when the group creates its next worker, and the worker can receive messages. */
async function nextWorker(): Promise<Worker> {
  const [worker] = (await once(cluster, 'fork')) as [Worker];
  await once(worker, 'message');
  return worker;
}

const tell = (worker: Worker, does: 'listen' | 'end' | 'fail') => worker.send({ does });

/** Starts a group with one worker. */
async function startOne() {
  const created = createGroup(1);
  const forked = nextWorker();
  const started = created.group.start();
  const worker = await forked;
  tell(worker, 'listen');
  await started;
  return { ...created, worker };
}

/** Folders in which no process can be created. Node.js emits the first error and throws the second one. */
const wrongFolders = [
  { name: 'missing', error: 'ENOENT' },
  { name: 'worker.mjs', error: 'ENOTDIR' },
];

for (const { name, error } of wrongFolders) {
  test(`a start fails if the process of the first worker cannot be created (${error})`, async () => {
    const { group } = createGroup(1);
    cluster.setupPrimary({ cwd: join(folder, name) });
    try {
      await assert.rejects(group.start(), new RegExp(`worker 1 ended: spawn .*${error}`));
    } finally {
      cluster.setupPrimary({ cwd: folder });
    }
    await group.stop(undefined);
  });

  test(`a service with no worker left ends with a message if none can be created (${error})`, async () => {
    const { group, failures, pauses, worker } = await startOne();
    cluster.setupPrimary({ cwd: join(folder, name) });
    try {
      tell(worker, 'end');
      while (failures.length === 0) await setImmediate();
    } finally {
      cluster.setupPrimary({ cwd: folder });
    }
    assert.equal(failures.length, 1);
    assert.match(failures[0]!, new RegExp(`no worker could be started, 6 times in a row: spawn .*${error}`));
    assert.deepEqual(pauses, [0, 1, 2, 4, 8, 16]);
    await group.stop(undefined);
  });

  test(`a worker that cannot be created is created later, and another one serves meanwhile (${error})`, async () => {
    const { group, failures, pauses } = createGroup(2);
    const forked = nextWorker();
    const started = group.start();
    const first = await forked;
    cluster.setupPrimary({ cwd: join(folder, name) });
    try {
      tell(first, 'listen');
      await started;
      while (pauses.length < 9) await setImmediate();
    } finally {
      cluster.setupPrimary({ cwd: folder });
    }
    assert.deepEqual(pauses, [0, 1, 2, 4, 8, 16, 32, 32, 32]);
    tell(await nextWorker(), 'listen');
    assert.deepEqual(failures, []);
    await group.stop(undefined);
  });
}

test('workers that end at once are started after longer and longer pauses, and then the service ends', async () => {
  const { group, failures, pauses, worker } = await startOne();
  const exec = join(folder, 'broken.mjs');
  await writeFile(exec, 'process.exit(7)');
  cluster.setupPrimary({ exec });
  try {
    tell(worker, 'end');
    while (failures.length === 0) await setImmediate();
  } finally {
    cluster.setupPrimary({ exec: join(folder, 'worker.mjs') });
  }
  assert.match(failures[0]!, /no worker could be started, 6 times in a row: exit code 7/);
  assert.deepEqual(pauses, [0, 1, 2, 4, 8, 16]);
  await group.stop(undefined);
});

test('a worker that is started again and says why no worker can continue ends the service', async () => {
  const { group, failures, pauses, worker } = await startOne();
  const replacing = nextWorker();
  tell(worker, 'end');
  const second = await replacing;
  const ended = once(second, 'exit');
  tell(second, 'fail');
  await ended;
  assert.deepEqual(failures, ['wrong password']);
  assert.deepEqual(pauses, [0]);
  await group.stop(undefined);
});

test('a worker that ends again and again after it has listened is started again without an end', async () => {
  const { group, failures, pauses, worker } = await startOne();
  let last = worker;
  for (let end = 0; end < 8; end++) {
    const replacing = nextWorker();
    tell(last, 'end');
    last = await replacing;
    tell(last, 'listen');
  }
  assert.deepEqual(pauses, [0, 1, 2, 4, 8, 16, 32, 32]);
  assert.deepEqual(failures, []);
  await group.stop(undefined);
});

test('a worker that ends after it has listened is replaced, although other workers have not listened yet', async () => {
  const { group, failures } = createGroup(2);
  const firstForked = nextWorker();
  const started = group.start();
  const first = await firstForked;
  const secondForked = nextWorker();
  tell(first, 'listen');
  const second = await secondForked;
  const replacing = nextWorker();
  tell(first, 'end');
  tell(await replacing, 'listen');
  tell(second, 'listen');
  await started;
  assert.deepEqual(failures, []);
  await group.stop(undefined);
});

test('a request for metrics does not wait for a worker that has ended', async (context) => {
  const { group, worker } = await startOne();
  // The time limit of a request for metrics never passes.
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const metrics = group.metrics();
  const replacing = nextWorker();
  tell(worker, 'end');
  await metrics;
  await replacing;
  context.mock.timers.reset();
  await group.stop(undefined);
});

test('a stop waits for the end of a worker, although a message to the worker fails', async () => {
  const { group, worker } = await startOne();
  const stopping = group.stop('SIGTERM');
  worker.emit('error', new Error('write EPIPE'));
  await stopping;
  assert.equal(worker.process.exitCode, 0);
});
