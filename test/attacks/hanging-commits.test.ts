/** A load whose COMMIT runs a trigger without an end delays nobody else: nothing waits for its records. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { openUpload } from '../support/uploads.ts';

let service: TestService;

/** The COMMIT of a load into `public.hangs` waits as long as another session holds this lock. Its trigger has switched off the time limits. */
const lock = 4711;

before(async () => {
  service = await startTestService();
  await service.rows(`CREATE TABLE public.hangs (a bigint);
    CREATE FUNCTION public.hang() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
      PERFORM set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false);
      PERFORM pg_advisory_xact_lock(${lock});
      RETURN NULL;
    END$$;
    CREATE FUNCTION public.defer() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
      SET CONSTRAINTS ALL DEFERRED;
      INSERT INTO public.later VALUES (1);
      RETURN NULL;
    END$$;
    CREATE TABLE public.later (a bigint);
    CREATE CONSTRAINT TRIGGER hang AFTER INSERT ON public.later DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION public.hang();
    CREATE CONSTRAINT TRIGGER defer AFTER INSERT ON public.hangs DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION public.defer()`);
});

after(() => service.stop());

/** Returns how many sessions wait for a lock. */
const waiting = async () =>
  (
    await service.rows(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
  ).length;

/** Runs the work while the COMMIT of a load hangs. */
async function whileHanging(
  send: () => Promise<TestAnswer | number>,
  work: (id: string) => Promise<void>,
): Promise<void> {
  const holder = await service.database.pool.connect();
  try {
    await holder.query('SELECT pg_advisory_lock($1)', [lock]);
    const sent = send();
    await until('the COMMIT to hang', async () => (await waiting()) === 1);
    const { body } = await service.get('/api/v1/loads?table=hangs&limit=1');
    await work(body.loads[0]?.id);
    await holder.query('SELECT pg_advisory_unlock($1)', [lock]);
    const answer = await sent;
    assert.equal(typeof answer === 'number' ? answer : answer.status, 200);
  } finally {
    holder.release(true);
  }
}

test('requests to cancel a load that is being committed are answered at once, and leave no waiting session', async () => {
  const send = async () => {
    const request = await openUpload(service, '/table/hangs/upload/json?if_exists=append', {});
    const answer = new Promise<number>((resolve, reject) => {
      request.once('error', reject);
      request.once('response', (response) => resolve(response.resume().statusCode!));
    });
    request.write('{"data":[{"a":1}');
    // A load that lasts long has a record before its COMMIT.
    await until('the record', async () => {
      const sql = `SELECT FROM tablewright_service.loads WHERE table_name = 'hangs' AND ended_at IS NULL`;
      return (await service.rows(sql)).length === 1;
    });
    request.end(']}');
    return answer;
  };
  await whileHanging(send, async (id) => {
    const cancels = Array.from({ length: 8 }, () => service.request('POST', `/api/v1/loads/${id}/cancel`));
    for (const answer of await Promise.all(cancels))
      assert.match(assertProblem(answer, 503, 'database-busy').detail, /being committed/);
    assert.equal(await waiting(), 1);
  });
});

test('a request with the key of a load that is being committed is answered at once, and gets the answer later', async () => {
  const body = JSON.stringify({ data: [{ a: 2 }] });
  const send = (key: string, table = 'hangs') =>
    service.request('POST', `/table/${table}/upload/json?if_exists=append`, {
      headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"` },
      body,
    });
  await service.rows('CREATE TABLE public.calm (a bigint)');
  await whileHanging(
    () => send('hangs'),
    async () => {
      for (const answer of await Promise.all([send('hangs'), send('hangs'), send('hangs')]))
        assertProblem(answer, 409, 'idempotency-key-in-use');
      assert.equal((await send('calm', 'calm')).status, 200);
      assert.equal(await waiting(), 1);
    },
  );
  const again = await send('hangs');
  assert.equal(again.status, 200);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
});
