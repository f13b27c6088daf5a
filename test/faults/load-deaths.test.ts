/** Asynchronous loads whose process is killed while it runs them. A lock on their table keeps them running until then. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { PoolClient } from 'pg';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const schema = 'tablewright_service';
const maxAttempts = 5;

let database: TestDatabase;
let folder: string;

before(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'tablewright-deaths-'));
  const tables = ['deadly', 'beside', 'other'].map((name) => `CREATE TABLE public.${name} (a bigint)`);
  await database.pool.query(tables.join('; '));
});

after(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const start = () => startChildService(database, { SPOOL_DIR: folder, METRICS_PORT: '0' });

async function rows(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  return (await database.pool.query(sql, values)).rows;
}

async function accept(service: ChildService, table: string): Promise<string> {
  const answer = await service.post(
    `/table/${table}/upload/json?if_exists=append`,
    { data: [{ a: 1 }] },
    { headers: { prefer: 'respond-async' } },
  );
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body.id;
}

async function recordOf(id: string): Promise<{ state: string; attempts: number; waits: boolean }> {
  const [row] = await rows(
    `SELECT state, (request->>'attempts')::int AS attempts,
      coalesce((request->>'notBefore')::float8 > extract(epoch FROM clock_timestamp()), false) AS waits
    FROM ${schema}.loads WHERE id = $1`,
    [id],
  );
  return row as { state: string; attempts: number; waits: boolean };
}

const begins = (id: string, attempt: number) =>
  until(`attempt ${attempt}`, async () => {
    const { state, attempts } = await recordOf(id);
    return state === 'running' && attempts === attempt;
  });

const reaches = (id: string, state: string) =>
  until(`the load to be ${state}`, async () => (await recordOf(id)).state === state);

/** Kills the process. Its lease ends at once, and not only after 15 seconds. */
async function killed(service: ChildService): Promise<void> {
  await service.end('SIGKILL');
  await rows(`UPDATE ${schema}.processes SET seen_at = '-infinity'`);
}

async function lock(...tables: string[]): Promise<PoolClient> {
  const client = await database.pool.connect();
  await client.query(`BEGIN; LOCK TABLE ${tables.map((table) => `public.${table}`).join(', ')}`);
  return client;
}

async function metric(service: ChildService, name: string): Promise<string | undefined> {
  const [url] = /http:\/\/[\d.]+:\d+\/metrics/.exec(service.output())!;
  const text = await (await fetch(url)).text();
  return new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1];
}

test('a load whose process dies each time fails after five attempts, and a load beside it and the next ones are loaded', async () => {
  const locked = await lock('deadly', 'beside');
  let service = await start();
  // The pause before the next attempt is over at once.
  await rows(`CREATE FUNCTION public.no_pause() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN NEW.request = NEW.request - 'notBefore'; RETURN NEW; END $$;
    CREATE TRIGGER no_pause BEFORE UPDATE ON ${schema}.loads FOR EACH ROW WHEN (NEW.request ? 'notBefore')
      EXECUTE FUNCTION public.no_pause()`);
  try {
    const deadly = await accept(service, 'deadly');
    const beside = await accept(service, 'beside');
    await reaches(beside, 'running');
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      await begins(deadly, attempt);
      await killed(service);
      service = await start();
    }
    await reaches(deadly, 'failed');
    const { body } = await service.get(`/api/v1/loads/${deadly}`);
    assert.deepEqual([body.answer.status, body.answer.body.code], [500, 'internal-error']);
    assert.match(body.answer.body.detail, /begun 5 times, and each time the process .* ended/);
    assert.match(service.output(), /"load given up, because no attempt came to an end"/);
    assert.match(
      service.output(),
      new RegExp(`"audit":"upload-json".*"load":"${deadly}","outcome":"failed"`),
    );
    assert.equal(await metric(service, 'tablewright_loads_given_up_total'), '1');
    const events = await rows(
      `SELECT event->>'type' AS type FROM ${schema}.events WHERE event::text LIKE $1`,
      [`%${deadly}%`],
    );
    assert.equal(events.length, 1, JSON.stringify(events));
    assert.match(String(events[0]!.type), /load\.failed$/);
    await until('the body to be removed', async () => {
      const names = await readdir(folder, { recursive: true });
      return !names.some((name) => name.includes(deadly));
    });
    await locked.query('ROLLBACK');
    await reaches(beside, 'committed');
    await reaches(await accept(service, 'other'), 'committed');
    await service.end('SIGTERM');
    service = await start();
    await reaches(await accept(service, 'deadly'), 'committed');
    assert.doesNotMatch(service.output(), /given up/);
  } finally {
    locked.release(true);
    await service.end('SIGKILL');
    await rows('DROP FUNCTION public.no_pause CASCADE');
  }
});

test('a load whose process died twice waits before it is taken again, can be cancelled meanwhile, and other loads run', async () => {
  const locked = await lock('deadly');
  let service = await start();
  try {
    const id = await accept(service, 'deadly');
    for (let attempt = 1; attempt <= 2; attempt++) {
      await begins(id, attempt);
      await killed(service);
      service = await start();
    }
    await reaches(id, 'queued');
    assert.deepEqual(await recordOf(id), { state: 'queued', attempts: 2, waits: true });
    await reaches(await accept(service, 'other'), 'committed');
    assert.equal((await service.request('POST', `/api/v1/loads/${id}/cancel`)).status, 202);
    assert.equal((await recordOf(id)).state, 'cancelled');
  } finally {
    locked.release(true);
    await service.end('SIGKILL');
  }
});

test('a load that stops in order with its service is not an attempt', async () => {
  const locked = await lock('deadly');
  let service = await start();
  try {
    const id = await accept(service, 'deadly');
    for (let stop = 0; stop <= maxAttempts; stop++) {
      await reaches(id, 'running');
      await service.end('SIGTERM');
      assert.deepEqual(await recordOf(id), { state: 'queued', attempts: 0, waits: false });
      service = await start();
    }
    await locked.query('ROLLBACK');
    await reaches(id, 'committed');
  } finally {
    locked.release(true);
    await service.end('SIGKILL');
  }
});
