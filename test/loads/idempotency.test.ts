/** Requests with an Idempotency-Key do their work once, however often they are sent. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows('CREATE TABLE public.counted (a bigint)');
});

after(() => service.stop());

const schema = 'tablewright_service';
const append = '/table/counted/upload/json?if_exists=append';
const data = [{ a: 1 }];

const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });
const count = async () => (await service.rows('SELECT count(*)::int AS n FROM public.counted'))[0]!.n;
const keysLike = (key: string) =>
  service.rows(`SELECT * FROM ${schema}.idempotency_keys WHERE key = $1`, [key]);

function assertReplay(again: TestAnswer, first: TestAnswer): void {
  assert.deepEqual([again.status, again.body], [first.status, first.body]);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  assert.equal(first.headers.get('idempotency-replayed'), null);
  for (const name of ['location', 'load-id', 'content-type'])
    assert.equal(again.headers.get(name), first.headers.get(name), name);
}

test('a key that a request of this process has left is free again', async () => {
  await service.post(append, { data }, keyed('before'));
  await service.rows(
    `UPDATE ${schema}.idempotency_keys SET load = $1, answer_status = NULL WHERE key = 'before'`,
    [randomUUID()],
  );
  const again = await service.post(append, { data }, keyed('before'));
  assert.equal(again.status, 200);
  assert.equal(again.headers.get('idempotency-replayed'), null);
});

suite('a request that is sent again', () => {
  test('a request that is sent again adds its rows once', async () => {
    const before = await count();
    const key = randomUUID();
    const first = await service.post(append, { data }, keyed(key));
    assert.equal(first.status, 200);
    assertReplay(await service.post(append, { data }, keyed(key)), first);
    // The header is a string in quotes in the draft.
    assertReplay(await service.post(append, { data }, keyed(`"${key}"`)), first);
    assert.equal(await count(), (before as number) + 1);
  });

  test('a request that is sent again creates its table once', async () => {
    const table = { columns: [{ name: 'a', type: 'bigint' }] };
    const first = await service.post('/table/once', { table }, keyed('create-once'));
    assert.equal(first.status, 201);
    assertReplay(await service.post('/table/once', { table }, keyed('create-once')), first);
    assertProblem(await service.post('/table/once', { table }, keyed('create-twice')), 409, 'table-exists');
    const found = await service.post('/table/once?if_not_exists=true', { table }, keyed('find'));
    assert.deepEqual([found.status, found.body.differences], [200, []]);
    assertReplay(await service.post('/table/once?if_not_exists=true', { table }, keyed('find')), found);
  });

  test('a request that is sent again loads its workbook once, although the boundary of the form is another', async () => {
    const file = sheetOf([['a'], [1]]);
    const send = async () => {
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(file)]), 'orders.xlsx');
      return service.request('POST', '/table/counted/upload/excel?if_exists=append', {
        body: form,
        ...keyed('sheet'),
      });
    };
    const before = (await count()) as number;
    const first = await send();
    assert.equal(first.status, 200, JSON.stringify(first.body));
    assertReplay(await send(), first);
    assert.equal(await count(), before + 1);
  });

  test('a request that is sent again gets the same refusal, also if it would succeed now', async () => {
    const table = { columns: [{ name: 'a', type: 'integer' }] };
    const body = { table, data: [{ a: 'x' }] };
    const first = await service.post('/table/refused/upload/json', body, keyed('refused'));
    assertProblem(first, 422, 'invalid-data');
    assertReplay(await service.post('/table/refused/upload/json', body, keyed('refused')), first);
  });

  test('a request that is sent again after its dry run gets the answer of the dry run', async () => {
    const path = '/table/dry/upload/json?dry_run=true';
    const first = await service.post(path, { data }, keyed('dry'));
    assertReplay(await service.post(path, { data }, keyed('dry')), first);
  });

  for (const [what, path, rows] of [
    ['body', append, [{ a: 2 }]],
    ['query', `${append}&dry_run=true`, data],
    ['path', '/table/counted2/upload/json?if_exists=append', data],
  ] as const) {
    test(`a request that is sent again with another ${what} is refused`, async () => {
      const key = `another-${what}`;
      await service.post(append, { data }, keyed(key));
      assertProblem(await service.post(path, { data: rows }, keyed(key)), 422, 'idempotency-key-reused');
    });
  }

  test('the same key from another subject is another key', async () => {
    const before = (await count()) as number;
    for (const subject of ['ann', 'bob']) {
      const token = await service.token({ subject });
      const answer = await service.post(append, { data }, { ...keyed('shared'), token });
      assert.equal(answer.headers.get('idempotency-replayed'), null);
    }
    assert.equal(await count(), before + 2);
  });

  test('a stored answer is not sent to a token of the subject with another role, other schemas or without table:read', async () => {
    const [{ role }] = (await service.rows('SELECT current_user AS role')) as [{ role: string }];
    await service.rows("CREATE TABLE public.hidden (s text); INSERT INTO public.hidden VALUES ('TOPSECRET')");
    const scope = 'table:alter table:load';
    const rights = {
      all: { scope: `${scope} table:read` },
      unread: { scope },
      role: { scope: `${scope} table:read`, role },
      'role, unread': { scope, role },
      schemas: { scope: `${scope} table:read`, schemas: ['public'] },
      'other schemas': { scope: `${scope} table:read`, schemas: ['public', 'sales_*'] },
    };
    const body = JSON.stringify({ table: { columns: [{ name: 's', type: 'integer' }] } });
    const headersOf = (key: string) => ({ 'content-type': 'application/json', ...keyed(key).headers });
    const sends = {
      put: (key: string, token: string) =>
        service.request('PUT', '/table/hidden', { headers: headersOf(key), body, token }),
      post: (key: string, token: string) => service.post(append, { data }, { ...keyed(key), token }),
    };
    for (const [kind, send] of Object.entries(sends)) {
      for (const [first, of] of Object.entries(rights)) {
        const key = `${kind} ${first}`.replaceAll(/\W+/g, '-');
        const answer = await send(key, await service.token({ subject: 'cat', ...of }));
        const isShown = JSON.stringify(answer.body).includes('TOPSECRET');
        assert.equal(isShown, kind === 'put' && !first.includes('unread'), JSON.stringify(answer.body));
        for (const [later, other] of Object.entries(rights)) {
          const again = await send(key, await service.token({ subject: 'cat', ...other }));
          if (later === first) assertReplay(again, answer);
          else assertProblem(again, 422, 'idempotency-key-reused');
        }
      }
    }
  });

  test('an answer that a version without rights in its digest has stored is sent to table:read without a role only', async () => {
    const digest = createHash('sha256')
      .update(JSON.stringify({ data }))
      .update(`\0POST /api/v1${append}`)
      .digest();
    const first = await service.post(append, { data }, keyed('older'));
    await service.rows(`UPDATE ${schema}.idempotency_keys SET fingerprint = $1 WHERE key = 'older'`, [
      digest,
    ]);
    assertReplay(await service.post(append, { data }, keyed('older')), first);
    const token = await service.token({ scope: 'table:load' });
    const again = await service.post(append, { data }, { ...keyed('older'), token });
    assertProblem(again, 422, 'idempotency-key-reused');
  });

  test('a request that is sent again after a failure of the service is run', async () => {
    await service.rows(`CREATE TABLE public.failing (a bigint);
      CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE 'XX001'; END $$;
      CREATE TRIGGER t BEFORE INSERT ON public.failing FOR EACH ROW EXECUTE FUNCTION public.fail()`);
    const path = '/table/failing/upload/json?if_exists=append';
    assertProblem(await service.post(path, { data }, keyed('failed')), 500, 'internal-error');
    assert.deepEqual(await keysLike('failed'), []);
    await service.rows('DROP TRIGGER t ON public.failing');
    assert.equal((await service.post(path, { data }, keyed('failed'))).status, 200);
  });

  test('a request that is sent again after 24 hours is run again', async () => {
    const before = (await count()) as number;
    await service.post(append, { data }, keyed('old'));
    await service.rows(
      `UPDATE ${schema}.idempotency_keys SET created_at = now() - interval '25 hours' WHERE key = 'old'`,
    );
    const again = await service.post(append, { data }, keyed('old'));
    assert.equal(again.headers.get('idempotency-replayed'), null);
    assert.equal(await count(), before + 2);
  });
});

test('100 requests with one key at the same time do the work once', async () => {
  const before = (await count()) as number;
  const send = () => service.post(append, { data }, keyed('parallel'));
  const answers = await Promise.all(Array.from({ length: 100 }, send));
  assert.equal(await count(), before + 1);
  const done = answers.filter(({ status }) => status === 200);
  const others = answers.filter(({ status }) => status !== 200);
  assert.equal(done.filter(({ headers }) => headers.get('idempotency-replayed') === null).length, 1);
  for (const answer of others) {
    assertProblem(answer, 409, 'idempotency-key-in-use');
    assert.equal(answer.headers.get('retry-after'), '1');
  }
  assertReplay(await send(), done.find(({ headers }) => headers.get('idempotency-replayed') === null)!);
});

test('a request that lost its key to another one changes nothing', async () => {
  const before = (await count()) as number;
  const client = await service.database.pool.connect();
  await client.query('BEGIN; LOCK TABLE public.counted');
  const slow = service.post(append, { data }, keyed('lost'));
  await until('the key', async () => (await keysLike('lost')).length === 1);
  await service.rows(`UPDATE ${schema}.idempotency_keys SET load = $1 WHERE key = 'lost'`, [randomUUID()]);
  await client.query('ROLLBACK');
  client.release();
  assertProblem(await slow, 409, 'idempotency-key-in-use');
  assert.equal(await count(), before);
});

test('a key that is no text of visible ASCII characters is refused', async () => {
  for (const key of ['', 'a b', 'x'.repeat(256), 'Möhre'])
    assertProblem(
      await service.post(append, { data }, keyed(Buffer.from(key).toString('latin1'))),
      422,
      'invalid-parameter',
    );
});

test('a service without a schema of its own refuses keys', async () => {
  const other = await startTestService({ SERVICE_SCHEMA: 'none' });
  try {
    for (const path of ['/table/t', '/table/t/upload/json'])
      assertProblem(await other.post(path, { data }, keyed('a')), 501, 'not-enabled');
  } finally {
    await other.stop();
  }
});
