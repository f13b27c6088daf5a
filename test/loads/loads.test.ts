/** Loads as things: their ids, states and answers, who sees them, and that `committed` is true exactly if the rows are there. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { Loads } from '../../src/service/loads/loads.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { openUpload } from '../support/uploads.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});

after(() => service.stop());

const schema = 'tablewright_service';
const uuidV7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

const load = (id: string, options = {}) => service.get(`/api/v1/loads/${id}`, options);

/** Returns the load that an answer names. */
async function loadOf({ headers }: TestAnswer) {
  const id = headers.get('load-id');
  assert.match(id ?? '', uuidV7);
  const { status, body } = await load(id!);
  assert.equal(status, 200);
  return body;
}

/** Starts an upload that sends one row and then nothing. */
async function startUpload(path: string, at = service, token?: string) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const request = await openUpload(at, `/table/${path}`, headers);
  const answer = new Promise<{ status: number; id: string; body: string }>((resolve, reject) => {
    request.once('error', reject);
    request.once('response', async (response) =>
      resolve({
        status: response.statusCode!,
        id: String(response.headers['load-id']),
        body: await text(response).catch(() => ''),
      }),
    );
  });
  answer.catch(() => {});
  request.write('{"table":{"columns":[{"name":"a","type":"bigint"}]},"data":[{"a":1}');
  return { request, answer };
}

/** Waits until the only load of a table that has not ended is recorded. */
async function runningLoad(table: string): Promise<string> {
  let id: string | undefined;
  await until('the record of the load', async () => {
    const rows = await service.rows(
      `SELECT id FROM ${schema}.loads WHERE table_name = $1 AND ended_at IS NULL`,
      [table],
    );
    id = rows[0]?.id as string | undefined;
    return id !== undefined;
  });
  return id!;
}

suite('an upload', () => {
  test('an upload that is committed has a record with its answer', async () => {
    const answer = await service.post('/table/orders/upload/json', { data: [{ a: 1 }, { a: 2 }] });
    assert.equal(answer.status, 201);
    assert.equal(answer.body.load.id, answer.headers.get('load-id'));
    const found = await loadOf(answer);
    assert.equal(found.state, 'committed');
    assert.deepEqual(found.table, { schema: 'public', name: 'orders' });
    assert.equal(found.operation, 'upload-json');
    assert.equal(found.subject, 'development');
    assert.equal(found.rows_read, 2);
    assert.equal(found.bytes_received, found.bytes_expected);
    assert.equal(found.answer.status, 201);
    assert.equal(found.answer.headers.location, answer.headers.get('location'));
    assert.deepEqual(found.answer.body, answer.body);
    assert(found.created_at <= found.started_at && found.started_at <= found.ended_at);
  });

  for (const ifExists of ['append', 'truncate', 'replace']) {
    test(`an upload with if_exists=${ifExists} has a record`, async () => {
      await service.post(`/table/${ifExists}d/upload/json`, { data: [{ a: 1 }] });
      const answer = await service.post(`/table/${ifExists}d/upload/json?if_exists=${ifExists}`, {
        data: [{ a: 2 }],
      });
      const found = await loadOf(answer);
      assert.deepEqual(
        [found.state, found.answer.status, found.answer.body],
        ['committed', answer.status, answer.body],
      );
    });
  }

  test('an upload of a workbook has a record', async () => {
    const path = '/table/sheet/upload/excel?sheet=1&rename=a:b';
    const answer = await service.upload(path, sheetOf([['a'], [1]]));
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const found = await loadOf(answer);
    assert.deepEqual([found.state, found.operation, found.rows_read], ['committed', 'upload-excel', 1]);
    assert.deepEqual([found.file, found.parameters], ['upload.xlsx', { sheet: '1', rename: 'a:b' }]);
  });

  test('a dry run is recorded as checked', async () => {
    const answer = await service.post('/table/dry/upload/json?dry_run=true', { data: [{ a: 1 }] });
    const found = await loadOf(answer);
    assert.deepEqual([found.state, found.dry_run, found.answer.body], ['checked', true, answer.body]);
    assert.equal((await service.get('/table/dry')).status, 404);
  });

  test('an upload with problems is refused, and its record has the answer', async () => {
    const table = { columns: [{ name: 'a', type: 'integer' }] };
    const answer = await service.post('/table/refused/upload/json', {
      table,
      data: [{ a: 'x' }, { a: 'y' }],
    });
    assertProblem(answer, 422, 'invalid-data');
    const found = await loadOf(answer);
    assert.deepEqual([found.state, found.problems_found, found.rows_read], ['refused', 2, 2]);
    assert.deepEqual([found.answer.status, found.answer.body], [422, answer.body]);
  });

  test('an upload that is refused before its body is read has a record', async () => {
    const answer = await service.post('/table/orders/upload/json', { data: [{ a: 1 }] });
    assertProblem(answer, 409, 'table-exists');
    assert.equal((await loadOf(answer)).state, 'refused');
  });

  test('an upload that fails is recorded as failed', async () => {
    await service.rows(`CREATE TABLE public.failing (a text);
      CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE 'XX001'; END $$;
      CREATE TRIGGER t BEFORE INSERT ON public.failing FOR EACH ROW EXECUTE FUNCTION public.fail()`);
    const answer = await service.post('/table/failing/upload/json?if_exists=append', { data: [{ a: 1 }] });
    assertProblem(answer, 500, 'internal-error');
    assert.equal((await loadOf(answer)).state, 'failed');
  });

  test('an upload whose client goes away is recorded as cancelled', async () => {
    const { request } = await startUpload('gone/upload/json');
    const id = await runningLoad('gone');
    assert.equal((await load(id)).body.state, 'receiving');
    request.destroy();
    await until('the end of the load', async () => (await load(id)).body.state === 'cancelled');
    assert.equal((await load(id)).body.answer, null);
  });

  test('an upload on a service without a schema of its own has no id, and the endpoints for loads answer 501', async () => {
    const other = await startTestService({ SERVICE_SCHEMA: 'none' });
    try {
      const answer = await other.post('/table/t/upload/json', { data: [{ a: 1 }] });
      assert.deepEqual(
        [answer.status, answer.headers.get('load-id'), answer.body.load.id],
        [201, null, undefined],
      );
      for (const path of ['', `/${randomUUID()}`])
        assertProblem(await other.get(`/api/v1/loads${path}`), 501, 'not-enabled');
    } finally {
      await other.stop();
    }
  });
});

suite('the record', () => {
  test('a load is not recorded as committed if its transaction fails at the end', async () => {
    await service.rows(`CREATE TABLE public.parent (a bigint PRIMARY KEY); CREATE TABLE public.child (a bigint);
      CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        SET CONSTRAINTS ALL DEFERRED; INSERT INTO public.late VALUES (NEW.a); RETURN NEW; END $$;
      CREATE TABLE public.late (a bigint REFERENCES public.parent DEFERRABLE INITIALLY DEFERRED);
      CREATE CONSTRAINT TRIGGER t AFTER INSERT ON public.child DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.refuse()`);
    const answer = await service.post('/table/child/upload/json?if_exists=append', { data: [{ a: 5 }] });
    assert.equal(answer.status, 422);
    assert.equal((await loadOf(answer)).state, 'refused');
    assert.deepEqual(await service.rows('SELECT FROM public.child'), []);
  });

  test('an upload whose load another process has taken is answered with 503, and not as one that was cancelled', async () => {
    await service.rows(`CREATE TABLE public.taken (a bigint);
      CREATE FUNCTION public.take() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
        UPDATE tablewright_service.loads SET process = gen_random_uuid() WHERE table_name = 'taken'; RETURN NEW; END $$;
      CREATE TRIGGER t BEFORE INSERT ON public.taken FOR EACH ROW EXECUTE FUNCTION public.take()`);
    // An upload with a key has a record when it begins.
    const headers = { 'idempotency-key': 'taken' };
    const answer = await service.post(
      '/table/taken/upload/json?if_exists=append',
      { data: [{ a: 1 }] },
      { headers },
    );
    assertProblem(answer, 503, 'database-unavailable');
    assert.deepEqual(await service.rows('SELECT FROM public.taken'), []);
  });

  test('the record of a load that was answered shows its end, although the end is not recorded yet', async () => {
    const { pool } = service.database;
    const answer = { status: 422, headers: {}, body: Buffer.from('{}') };
    const log = { info() {}, warn() {} };
    const own = { name: schema, quoted: `"${schema}"` };
    const pools = { pool, recordPool: pool, leasePool: pool };
    const options = { schema: own, ...pools, log, historyDays: 1, abandonedAnswer: answer };
    const loads = new Loads(options);
    const facts = {
      operation: 'upload-json',
      schema: 'public',
      table: 'late',
      dryRun: false,
      owner: Buffer.alloc(1),
      subject: undefined,
      role: undefined,
      bytesExpected: 1,
    } as const;
    const body = { bytesReceived: () => 1, isReceived: () => true };
    const all = { owner: undefined, schemas: undefined, maySee: () => true };
    const stateOf = async ({ id }: { id: string }) => (await loads.reader.read(id, all))?.state;
    const [recorded, unrecorded, unknown] = [1, 2, 3].map(() => loads.begin(loads.create(facts, body)));
    await loads.record(recorded!);
    await loads.record(unknown!);
    const holder = await pool.connect();
    try {
      await holder.query(`BEGIN; LOCK TABLE ${schema}.loads IN SHARE MODE`);
      const ending = Promise.all([
        loads.end(recorded!, 'refused', answer),
        loads.end(unrecorded!, 'refused', answer),
        // The connection broke at the COMMIT.
        loads.end(unknown!, 'failed', answer, false),
      ]);
      assert.equal(await stateOf(recorded!), 'refused');
      assert.equal((await loads.reader.read(recorded!.id, all))!.answer!.status, 422);
      assert.equal(await stateOf(unrecorded!), 'refused');
      assert.equal(await stateOf(unknown!), 'running');
      await holder.query('ROLLBACK');
      await ending;
      for (const run of [recorded!, unrecorded!]) assert.equal(await stateOf(run), 'refused');
      assert.equal(await stateOf(unknown!), 'failed');
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
      await loads.stop();
    }
  });

  test('the record cannot be read or written by a trigger under the role of a token', async () => {
    const admin = new pg.Client(service.database.adminUrl ?? service.database.url);
    await admin.connect();
    const role = `writer_${randomBytes(4).toString('hex')}`;
    try {
      const [{ own }] = (await service.rows('SELECT current_user AS own')) as [{ own: string }];
      await admin.query(`CREATE ROLE ${role}; GRANT ${role} TO "${own}"; CREATE SCHEMA hostile AUTHORIZATION ${role};
        SET ROLE ${role}; CREATE TABLE hostile.t (a bigint); CREATE TABLE hostile.seen (what text);
        CREATE FUNCTION hostile.spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          SET CONSTRAINTS ALL DEFERRED;
          INSERT INTO hostile.seen VALUES (current_setting('role'));
          BEGIN
            INSERT INTO hostile.seen SELECT id::text FROM ${schema}.loads;
          EXCEPTION WHEN insufficient_privilege THEN INSERT INTO hostile.seen VALUES ('denied'); END;
          IF TG_TABLE_NAME = 't' THEN INSERT INTO hostile.again VALUES (1); END IF;
          RETURN NEW; END $$;
        CREATE TABLE hostile.again (a bigint);
        CREATE CONSTRAINT TRIGGER spy AFTER INSERT ON hostile.t DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION hostile.spy();
        CREATE CONSTRAINT TRIGGER spy AFTER INSERT ON hostile.again DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION hostile.spy();
        RESET ROLE`);
      const token = await service.token({ role });
      const answer = await service.post(
        '/table/t/upload/json?schema=hostile&if_exists=append',
        { data: [{ a: 1 }] },
        { token },
      );
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal((await loadOf(answer)).state, 'committed');
      const { rows } = await admin.query('SELECT what FROM hostile.seen');
      assert.deepEqual(
        rows.map(({ what }) => what),
        [role, 'denied', role, 'denied'],
      );
    } finally {
      await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
      await admin.end();
    }
  });

  test('the record is removed after LOAD_HISTORY_DAYS', async () => {
    const answer = await service.post('/table/old/upload/json', { data: [{ a: 1 }] });
    const id = answer.headers.get('load-id')!;
    // More than one statement removes.
    await service.rows(
      `INSERT INTO ${schema}.loads (id, state, operation, table_schema, table_name, dry_run, owner, created_at, ended_at)
        SELECT ('01a00000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, state, operation, table_schema, table_name, dry_run, owner,
          created_at - interval '9 days', ended_at - interval '8 days'
        FROM generate_series(1, 2500) n, ${schema}.loads WHERE id = $1`,
      [id],
    );
    const keys = `SELECT key FROM ${schema}.idempotency_keys WHERE key LIKE 'old %' ORDER BY key`;
    await service.rows(
      `INSERT INTO ${schema}.idempotency_keys (owner, key, process, created_at, answer_status)
        SELECT '', key, process, now() - age, status FROM (VALUES ('old and answered', interval '25 hours', 200),
          ('old and of a dead process', interval '25 hours', NULL), ('old no more', interval '23 hours', 200)) AS k (key, age, status),
          (SELECT gen_random_uuid() AS process) p`,
    );
    const next = await startTestService({
      DATABASE_URL: service.database.serviceUrl,
      LOAD_HISTORY_DAYS: '7',
    });
    try {
      const old = `SELECT id FROM ${schema}.loads WHERE table_name = 'old'`;
      await until('old loads to be removed', async () => (await service.rows(old)).length === 1);
      assert.equal((await load(id)).status, 200);
      assertProblem(await load('01a00000-0000-7000-8000-000000000001'), 404, 'load-not-found');
      assert.deepEqual(await service.rows(keys), [{ key: 'old no more' }]);
    } finally {
      await next.stop();
    }
  });
});

suite('a token', () => {
  test('a token sees its own loads, and with load:read-all those of all tokens in its schemas', async () => {
    const scope = 'table:create table:load';
    const own = await service.token({ subject: 'ann', scope });
    const other = await service.token({ subject: 'bob', scope });
    const reader = await service.token({ subject: 'carl', scope: 'load:read-all' });
    const elsewhere = await service.token({ subject: 'carl', scope: 'load:read-all', schemas: ['sales_*'] });
    const answer = await service.post('/table/anns/upload/json', { data: [{ a: 1 }] }, { token: own });
    const id = answer.headers.get('load-id')!;
    const listed = async (token: string) =>
      (await service.get('/api/v1/loads?table=anns', { token })).body.loads.map(
        (one: { id: string }) => one.id,
      );
    const cancel = (token: string) => service.request('POST', `/api/v1/loads/${id}/cancel`, { token });
    assertProblem(await cancel(other), 404, 'load-not-found');
    assert.match(assertProblem(await cancel(reader), 403, 'insufficient-scope').detail, /load:cancel-all/);
    for (const scope of ['load:cancel-all', 'load:read-all load:cancel-all'])
      assertProblem(await cancel(await service.token({ subject: 'dora', scope })), 409, 'load-ended');
    for (const [token, isSeen] of [
      [own, true],
      [other, false],
      [reader, true],
      [elsewhere, false],
    ] as const) {
      assert.equal((await load(id, { token })).status, isSeen ? 200 : 404);
      assert.deepEqual(await listed(token), isSeen ? [id] : []);
    }
  });

  test('a token without a subject sees no loads of another such token', async () => {
    const sign = (ttlSeconds: number) => service.token({ subject: '', scope: 'table:create', ttlSeconds });
    const tokens = [await sign(500), await sign(600)];
    const answer = await service.post(
      '/table/nobodys/upload/json',
      { data: [{ a: 1 }] },
      { token: tokens[0]! },
    );
    assertProblem(await load(answer.headers.get('load-id')!, { token: tokens[1]! }), 404, 'load-not-found');
  });
});

suite('a replace that waits for readers of the table', () => {
  test('a replace that waits for readers of the table is recorded, shows no answer, and can be cancelled at another instance', async () => {
    await service.post('/table/read/upload/json', { data: [{ a: 1 }] });
    const other = await startTestService({ DATABASE_URL: service.database.serviceUrl });
    const reader = await service.database.pool.connect();
    try {
      await reader.query('BEGIN; SELECT FROM public.read');
      const replacing = service.post('/table/read/upload/json?if_exists=replace', { data: [{ a: 2 }] });
      const id = await runningLoad('read');
      const { state, answer } = (await load(id)).body;
      assert.deepEqual([state, answer], ['running', null]);
      const cancelled = await other.request('POST', `/api/v1/loads/${id}/cancel`);
      assert.equal(cancelled.status, 202, JSON.stringify(cancelled.body));
      assertProblem(await replacing, 409, 'load-cancelled');
      assert.equal((await load(id)).body.state, 'cancelled');
    } finally {
      await reader.query('ROLLBACK');
      reader.release();
      await other.stop();
    }
  });
});

suite('the list of loads', () => {
  test('the list of loads has the newest first, by pages and filters', async () => {
    const token = await service.token({ subject: 'lister', scope: 'table:create' });
    const ids: string[] = [];
    for (const name of ['l1', 'l2', 'l3', 'l1']) {
      const answer = await service.post(`/table/${name}/upload/json`, { data: [{ a: 1 }] }, { token });
      ids.unshift(answer.headers.get('load-id')!);
    }
    const list = async (query: string) => (await service.get(`/api/v1/loads?${query}`, { token })).body;
    const idsOf = ({ loads }: { loads: { id: string }[] }) => loads.map(({ id }) => id);
    const first = await list('limit=3');
    assert.deepEqual(idsOf(first), ids.slice(0, 3));
    const second = await list(`limit=3&after=${first.next}`);
    assert.deepEqual([idsOf(second), second.next], [ids.slice(3), null]);
    assert.equal((await list('limit=4')).next, null);
    assert.deepEqual(idsOf(await list('state=refused')), [ids[0]]);
    assert.deepEqual(idsOf(await list('table=l1')), [ids[0], ids[3]]);
    assert.deepEqual(idsOf(await list('schema=other')), []);
    const dry = await service.post('/table/l4/upload/json?dry_run=true', { data: [{ a: 1 }] }, { token });
    assert.deepEqual(idsOf(await list('dry_run=true')), [dry.headers.get('load-id')]);
    assert.deepEqual(idsOf(await list('dry_run=false&limit=2')), ids.slice(0, 2));
    assert(first.loads.every((one: object) => !('answer' in one)));
  });

  test('the list of loads has the load of an idempotency key for its own subject, also while the load runs', async () => {
    const headers = { 'idempotency-key': 'key-of-the-list/1' };
    const tokens = {
      own: await service.token({ subject: 'key-owner' }),
      other: await service.token({ subject: 'another' }),
    };
    const idsOf = async (token: string, key = headers['idempotency-key']) => {
      const path = `/api/v1/loads?idempotency_key=${encodeURIComponent(key)}`;
      const { loads } = (await service.get(path, { token })).body as { loads: { id: string }[] };
      return loads.map(({ id }) => id);
    };
    const locked = await service.database.pool.connect();
    try {
      await locked.query('CREATE TABLE keyed (a int)');
      await locked.query('BEGIN; LOCK TABLE keyed');
      const options = { token: tokens.own, headers };
      const loading = service.post(
        '/table/keyed/upload/json?if_exists=append',
        { data: [{ a: 1 }] },
        options,
      );
      await until('the load', async () => (await idsOf(tokens.own)).length === 1);
      const ids = await idsOf(tokens.own);
      await locked.query('ROLLBACK');
      const answer = await loading;
      assert.deepEqual([answer.status, answer.headers.get('load-id')], [200, ids[0]]);
      assert.deepEqual(await idsOf(tokens.own), ids);
      assert.deepEqual(await idsOf(tokens.own, '"key-of-the-list/1"'), ids);
    } finally {
      locked.release(true);
    }
    assert.deepEqual(await idsOf(tokens.other), []);
    assert.deepEqual(await idsOf(tokens.own, 'unknown'), []);
    for (const key of ['', 'a b', 'x'.repeat(256)])
      assertProblem(
        await service.get(`/api/v1/loads?idempotency_key=${encodeURIComponent(key)}`),
        422,
        'invalid-parameter',
      );
  });

  test('the list of loads refuses NUL in every parameter', async () => {
    for (const path of [
      ...['state', 'schema', 'table', 'limit', 'after', 'idempotency_key'].map(
        (name) => `/api/v1/loads?${name}=a%00b`,
      ),
      '/api/v1/tables?schema=%00',
      '/table/orders?schema=%00',
      '/table/orders/rows?schema=a%00',
    ]) {
      const { errors } = assertProblem(await service.get(path), 422, 'invalid-parameter');
      assert.match(errors![0]!.detail, /must not contain the character NUL/, path);
      assert.equal(errors!.length, 1);
    }
    const upload = await service.post('/table/orders/upload/json?rename=%00', { data: [{ a: 1 }] });
    assertProblem(upload, 422, 'invalid-parameter');
  });

  test('the list of loads refuses a text that is not an id', async () => {
    assertProblem(await service.get('/api/v1/loads?after=x'), 422, 'invalid-parameter');
    assertProblem(await load('x'), 404, 'load-not-found');
    assertProblem(await load(randomUUID()), 404, 'load-not-found');
  });
});

test('a request that needs no body may have one, of any type', async () => {
  const cancel = `/api/v1/loads/${randomUUID()}/cancel`;
  const webhook = `/api/v1/webhooks/${randomUUID()}`;
  for (const [method, path] of [
    ['POST', cancel] as const,
    ['POST', `${webhook}/ping`] as const,
    ['DELETE', webhook] as const,
  ])
    for (const body of ['', '{}', '{"a'])
      for (const type of ['application/json', 'text/plain']) {
        const { status } = await service.request(method, path, { body, headers: { 'content-type': type } });
        assert.equal(status, 404, `${method} ${path} ${type} ${body}`);
      }
});

test('the headers of a body do not matter for a GET', async () => {
  const headers = { 'content-type': 'application/json; charset=utf-16', 'content-encoding': 'unknown' };
  for (const [path, expected] of [
    ['loads', 200] as const,
    ['tables', 200] as const,
    ['webhooks', 200] as const,
    ['table/not_there', 404] as const,
    ['table/not_there/rows', 404] as const,
    ['events?after=x', 422] as const,
  ]) {
    const { status } = await service.request('GET', `/api/v1/${path}`, { headers });
    assert.equal(status, expected, path);
  }
});
