import assert from 'node:assert/strict';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { WorkerGroup } from './worker-group.ts';

/** A worker that does what the test tells it, and stops in order. */
const program = `
process.on('message', ({ kind, does }) => {
  if (does === 'listen') process.send({ kind: 'listening', url: 'http://127.0.0.1:1', isWaiting: false });
  if (does === 'end') process.exit(3);
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
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const onFailure = (detail: string) => failures.push(detail);
  const group = new WorkerGroup({ count, databaseUrl: undefined, graceMs: 1000, log, onFailure });
  return { group, failures };
}

/** Resolves when the group creates its next worker, and the worker can receive messages. */
async function nextWorker(): Promise<Worker> {
  const [worker] = (await once(cluster, 'fork')) as [Worker];
  await once(worker, 'message');
  return worker;
}

const tell = (worker: Worker, does: 'listen' | 'end') => worker.send({ does });

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

test('a start fails if the process of a worker cannot be created', async () => {
  const { group } = createGroup(1);
  cluster.setupPrimary({ cwd: join(folder, 'missing') });
  try {
    await assert.rejects(group.start(), /worker 1 ended: spawn .* ENOENT/);
  } finally {
    cluster.setupPrimary({ cwd: folder });
  }
  await group.stop(undefined);
});

test('a worker is not left out in silence if the process that replaces it cannot be created', async () => {
  const { group, failures, worker } = await startOne();
  cluster.setupPrimary({ cwd: join(folder, 'missing') });
  try {
    const ended = once(worker, 'exit');
    tell(worker, 'end');
    await ended;
    while (failures.length === 0) await new Promise(setImmediate);
  } finally {
    cluster.setupPrimary({ cwd: folder });
  }
  assert.match(failures[0]!, /workers ended by themselves 6 times in a minute: spawn .* ENOENT/);
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
