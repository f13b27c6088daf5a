/** Watching and cancelling loads, at the replica that runs them and at another one. */
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { openUpload } from '../support/uploads.ts';

/** The service that runs the loads, and another one on its database. */
let service: TestService;
let other: TestService;

before(async () => {
  service = await startTestService();
  other = await startTestService({ DATABASE_URL: service.database.serviceUrl });
});

after(async () => {
  await other.stop();
  await service.stop();
});

const rows = (count: number) => ',{"a":1}'.repeat(count);

/** Starts an upload that has sent one row. */
async function startUpload(table: string) {
  const request = await openUpload(service, `/table/${table}/upload/json?if_exists=append`);
  const answer = new Promise<{ status: number; body: string }>((resolve) => {
    request.once('response', async (response) =>
      resolve({ status: response.statusCode!, body: await text(response).catch(() => '') }),
    );
  });
  request.write('{"table":{"columns":[{"name":"a","type":"bigint"}]},"data":[{"a":1}');
  return { request, answer, id: await recordedLoad(table) };
}

/** Waits until the load into a table is recorded. */
async function recordedLoad(table: string): Promise<string> {
  let id: string | undefined;
  await until('the record of the load', async () => {
    const [row] = await service.rows(
      'SELECT id FROM tablewright_service.loads WHERE table_name = $1 AND ended_at IS NULL',
      [table],
    );
    id = row?.id as string | undefined;
    return id !== undefined;
  });
  return id!;
}

/** Makes a type whose values PostgreSQL compares for minutes when it builds an index. */
async function makeSlowType(adminUrl: string): Promise<void> {
  const admin = new pg.Client(adminUrl);
  await admin.connect();
  const operators = ['<', '<=', '=', '>=', '>'];
  const { rows } = await admin.query(`SELECT to_regtype('public.slow_text') IS NULL AS "isNew"`);
  if (rows[0].isNew) {
    await admin.query(`CREATE TYPE public.slow_text AS (t text);
      CREATE FUNCTION public.slow_cmp(a public.slow_text, b public.slow_text) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
        IF EXISTS (SELECT FROM pg_catalog.pg_stat_progress_create_index WHERE pid = pg_catalog.pg_backend_pid()) THEN
          PERFORM pg_catalog.pg_sleep(0.1);
        END IF;
        RETURN CASE WHEN a.t < b.t THEN -1 WHEN a.t = b.t THEN 0 ELSE 1 END; END $$;
      ${operators.map(comparison).join('')}
      CREATE OPERATOR CLASS public.slow_ops DEFAULT FOR TYPE public.slow_text USING btree AS
        ${operators.map((operator, index) => `OPERATOR ${index + 1} public.${operator}`).join(', ')},
        FUNCTION 1 public.slow_cmp(public.slow_text, public.slow_text)`);
  }
  await admin.end();
}

function comparison(operator: string, index: number): string {
  const types = 'public.slow_text, public.slow_text';
  return `CREATE FUNCTION public.slow_${index}(${types}) RETURNS boolean LANGUAGE sql IMMUTABLE
      AS 'SELECT public.slow_cmp($1, $2) ${operator} 0';
    CREATE OPERATOR public.${operator} (LEFTARG = public.slow_text, RIGHTARG = public.slow_text, FUNCTION = public.slow_${index});`;
}

interface Event {
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the service, for assertions
  data: any;
}

/** Reads events as they arrive. */
async function watch(
  at: TestService,
  id: string,
  token?: string,
): Promise<{ events: Event[]; ended: Promise<void> }> {
  const answer = await fetch(new URL(`/api/v1/loads/${id}/events`, at.url), {
    headers: { authorization: `Bearer ${token ?? (await at.token())}`, accept: 'text/event-stream' },
  });
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type')!, /^text\/event-stream/);
  const events: Event[] = [];
  const read = async () => {
    let buffered = '';
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (buffered + chunk).split('\n\n');
      buffered = parts.pop()!;
      for (const part of parts) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? [];
        if (name !== undefined) events.push({ name, data: JSON.parse(data!) });
      }
    }
  };
  return { events, ended: read() };
}

for (const [where, at] of [
  ['the replica that runs it', () => service],
  ['another replica', () => other],
] as const) {
  suite(`at ${where}`, () => {
    test('a load is watched until its end', async () => {
      const table = where.replaceAll(' ', '_');
      const { request, answer, id } = await startUpload(table);
      const { events, ended } = await watch(at(), id);
      await until('the first state', () => events.length > 0);
      assert.deepEqual(
        [events[0]!.name, events[0]!.data.state, events[0]!.data.id],
        ['state', 'receiving', id],
      );
      request.write(rows(20_000));
      await until('progress', () =>
        events.some(({ name, data }) => name === 'progress' && data.rows_read > 10_000),
      );
      request.end(']}');
      const { status, body } = await answer;
      assert.equal(status, 201, body);
      await ended;
      const last = events.at(-1)!;
      assert.deepEqual([last.name, last.data.state, last.data.rows_read], ['state', 'committed', 20_001]);
      assert.deepEqual(last.data.answer.body, JSON.parse(body));
    });

    test('a load is cancelled while its body arrives, and is never committed', async () => {
      const { answer, id, request } = await startUpload('cancelled');
      const cancelled = await at().request('POST', `/api/v1/loads/${id}/cancel`);
      assert.deepEqual([cancelled.status, cancelled.body.cancel_requested], [202, true]);
      request.end(']}');
      const { status, body } = await answer;
      assert.deepEqual([status, JSON.parse(body).code], [409, 'load-cancelled']);
      assert.equal((await at().get(`/api/v1/loads/${id}`)).body.state, 'cancelled');
      assert.equal((await service.get('/table/cancelled')).status, 404);
      assertProblem(await at().request('POST', `/api/v1/loads/${id}/cancel`), 409, 'load-ended');
    });

    for (const [what, slow] of [
      [
        'runs a trigger',
        `CREATE OR REPLACE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          PERFORM pg_catalog.pg_sleep(300); RETURN NEW; END $$;
        CREATE TRIGGER t AFTER INSERT ON public.slow EXECUTE FUNCTION public.slow()`,
      ],
      [
        'computes the key of an index',
        `CREATE OR REPLACE FUNCTION public.slow_key(a bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
          PERFORM pg_catalog.pg_sleep(300); RETURN a; END $$;
        CREATE UNIQUE INDEX ON public.slow (public.slow_key(a))`,
      ],
    ] as const) {
      test(`a load is cancelled while PostgreSQL ${what}`, async () => {
        await service.rows(`DROP TABLE IF EXISTS public.slow; CREATE TABLE public.slow (a bigint); ${slow}`);
        const { request, answer, id } = await startUpload('slow');
        request.end(']}');
        await until('the function to run', async () => {
          const sleeping = await service.rows(
            "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
          );
          return sleeping.length > 0;
        });
        assert.equal((await at().get(`/api/v1/loads/${id}`)).body.cancel_requested, false);
        assert.equal((await at().request('POST', `/api/v1/loads/${id}/cancel`)).status, 202);
        assert.equal((await answer).status, 409);
        assert.equal((await at().get(`/api/v1/loads/${id}`)).body.state, 'cancelled');
        assert.deepEqual(await service.rows('SELECT FROM public.slow'), []);
      });
    }

    test('a load is cancelled while PostgreSQL builds the index of the key of its new table', async (context) => {
      const { adminUrl } = service.database;
      if (adminUrl === undefined) return context.skip('only a superuser may make the order of a type');
      await makeSlowType(adminUrl);
      const table = {
        columns: [{ name: 'a', type: 'public.slow_text' }],
        constraints: { primary_key: { columns: ['a'] } },
      };
      const data = Array.from({ length: 500 }, (_, n) => ({ a: `(${(n * 7919) % 500})` }));
      const uploading = service.post('/table/indexed/upload/json', { table, data });
      await until('the index', async () => {
        const built = 'SELECT FROM pg_stat_progress_create_index WHERE datname = current_database()';
        return (await service.rows(built)).length > 0;
      });
      const id = await recordedLoad('indexed');
      assert.equal((await at().request('POST', `/api/v1/loads/${id}/cancel`)).status, 202);
      assertProblem(await uploading, 409, 'load-cancelled');
      assert.equal((await at().get(`/api/v1/loads/${id}`)).body.state, 'cancelled');
      assert.equal((await service.get('/table/indexed')).status, 404);
    });

    test('the stream of a load that goes on ends when its token is no longer valid', async () => {
      const { answer, id, request } = await startUpload('outlives_its_token');
      // The token is valid for about three more seconds. A slow machine may need several tokens.
      const open = async (): ReturnType<typeof watch> =>
        watch(at(), id, await at().token({ ttlSeconds: -27 })).catch((error) => {
          if (error instanceof assert.AssertionError && error.actual === 401) return open();
          throw error;
        });
      const { events, ended } = await open();
      await ended;
      assert.equal(events.at(-1)!.data.state, 'receiving');
      request.end(']}');
      assert.match(String((await answer).status), /^20[01]$/);
    });

    test('a load of another subject is neither watched nor cancelled', async () => {
      const { answer, id, request } = await startUpload('others');
      const token = await service.token({ subject: 'somebody else', scope: 'table:load' });
      assertProblem(
        await at().request('POST', `/api/v1/loads/${id}/cancel`, { token }),
        404,
        'load-not-found',
      );
      assertProblem(await at().get(`/api/v1/loads/${id}/events`, { token }), 404, 'load-not-found');
      request.end(']}');
      assert.match(String((await answer).status), /^20[01]$/);
    });
  });
}
