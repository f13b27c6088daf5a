/** What a killed process leaves, the record of a load and a key, is free or has ended when the lease of the process has expired. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { openUpload } from '../support/uploads.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows('CREATE TABLE public.counted (a bigint)');
});

after(() => service.stop());

const schema = 'tablewright_service';

/** Starts an upload at the process that sends one row and then nothing. */
async function startUpload(child: ChildService, path: string, headers = {}): Promise<void> {
  const request = await openUpload(child, path, headers);
  request.write('{"data":[{"a":1}');
}

test('the record of a load whose process was killed becomes failed when its lease has expired', async () => {
  const child = await startChildService(service.database);
  await startUpload(child, '/table/killed/upload/json');
  let id: unknown;
  await until('the load', async () => {
    const [load] = await service.rows(`SELECT id FROM ${schema}.loads WHERE table_name = 'killed'`);
    id = load?.id;
    return id !== undefined;
  });
  await child.end('SIGKILL');
  const load = async () => (await service.get(`/api/v1/loads/${id}`)).body;
  assert.equal((await load()).state, 'receiving');
  await service.rows(
    `UPDATE ${schema}.processes SET seen_at = now() - interval '1 minute'
    WHERE id = (SELECT process FROM ${schema}.loads WHERE id = $1)`,
    [id],
  );
  const next = await startTestService({ DATABASE_URL: service.database.serviceUrl });
  try {
    const { state, answer } = await load();
    assert.deepEqual([state, answer.status], ['failed', 503]);
  } finally {
    await next.stop();
  }
});

test('a key whose process was killed is free when the lease has expired, and the work is done once', async () => {
  const append = '/table/counted/upload/json?if_exists=append';
  const headers = { 'idempotency-key': 'killed' };
  const send = () => service.post(append, { data: [{ a: 1 }] }, { headers });
  const count = async () => (await service.rows('SELECT FROM public.counted')).length;
  const child = await startChildService(service.database);
  await startUpload(child, append, headers);
  const keys = `SELECT FROM ${schema}.idempotency_keys WHERE key = 'killed'`;
  await until('the key', async () => (await service.rows(keys)).length === 1);
  await child.end('SIGKILL');
  const before = await count();
  assertProblem(await send(), 409, 'idempotency-key-in-use');
  await service.rows(`UPDATE ${schema}.processes SET seen_at = now() - interval '1 minute'
    WHERE id = (SELECT process FROM ${schema}.idempotency_keys WHERE key = 'killed')`);
  assert.equal((await send()).status, 200);
  assert.equal(await count(), before + 1);
});
