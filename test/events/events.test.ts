/** Events: they exist exactly if their change was committed, and a feed has all of them in one order. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import type { Log } from '../../src/postgres/log.ts';
import { EventFeed } from '../../src/service/events/event-feed.ts';
import type { StoredEvent } from '../../src/service/events/outbox.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Event {
  id: string;
  type: string;
  source: string;
  data: Record<string, unknown>;
}

let service: TestService;
const schema = 'tablewright_service';
before(async () => {
  service = await startTestService();
  await service.rows('CREATE SCHEMA other');
});
after(() => service.stop());

const upload = (table: string, data: unknown[], query = '') =>
  service.post(`/table/${table}/upload/json${query}`, { data });

const move = (path: string, change: Record<string, unknown>) =>
  service.request('PATCH', path, {
    body: JSON.stringify(change),
    headers: { 'content-type': 'application/json' },
  });

/** Returns the events about a table, in the order in which they were inserted. */
async function eventsOf(table: string): Promise<Event[]> {
  const rows = await service.rows(
    `SELECT event FROM ${schema}.events WHERE event->'data'->>'table' = $1 ORDER BY created_at, event->>'type' DESC`,
    [table],
  );
  return rows.map(({ event }) => event as Event);
}

const typesOf = async (table: string) => (await eventsOf(table)).map(({ type }) => type);

suite('the events of uploads', () => {
  test('the events of uploads say what happened to the table and how many rows were loaded', async () => {
    const first = await upload('told', [{ a: 1 }, { a: 2 }]);
    await upload('told', [{ a: 3 }], '?if_exists=append');
    await upload('told', [{ a: 4 }], '?if_exists=truncate');
    await upload('told', [{ b: 'x' }], '?if_exists=replace');
    const events = await eventsOf('told');
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'table.created',
        'rows.loaded',
        'rows.loaded',
        'table.emptied',
        'rows.loaded',
        'table.replaced',
        'rows.loaded',
      ],
    );
    const counts = { rows: 2, inserted: 2, updated: 0, changed: 0, unchanged: 0 };
    const numbers = { ...counts, skipped: 0, rows_left_out: 0 };
    assert.deepEqual(events[1]!.data, {
      schema: 'public',
      table: 'told',
      load: first.body.load.id,
      ...numbers,
    });
    assert.equal(events[1]!.source, '/api/v1/table/told?schema=public');
  });

  test('an upload that only deletes rows has an event with their number', async () => {
    const query = '?if_exists=append&on_conflict=skip&primary_key=a&missing_rows=delete&max_missing_rows=1';
    await upload('shrunk', [{ a: 1 }, { a: 2 }], '?primary_key=a');
    const { body } = await upload('shrunk', [{ a: 1 }], query);
    const [, , last, ...more] = await eventsOf('shrunk');
    const numbers = {
      rows: 0,
      inserted: 0,
      updated: 0,
      changed: 0,
      unchanged: 0,
      skipped: 1,
      missing: 1,
      deleted: 1,
      rows_left_out: 0,
    };
    assert.deepEqual(last!.data, { schema: 'public', table: 'shrunk', load: body.load.id, ...numbers });
    await upload('shrunk', [{ a: 1 }], query);
    assert.deepEqual([more.length, (await eventsOf('shrunk')).length], [0, 3]);
  });

  test('the event of a refused load says why, without a value', async () => {
    await upload('refused', [{ a: 1 }]);
    const answer = await upload('refused', [{ a: 'secret' }], '?if_exists=append');
    const event = (await eventsOf('refused')).at(-1)!;
    assert.equal(event.type, 'load.refused');
    const load = answer.headers.get('load-id');
    assert.deepEqual(event.data, {
      schema: 'public',
      table: 'refused',
      load,
      status: 422,
      code: 'invalid-data',
    });
    assert(!JSON.stringify(event).includes('secret'));
  });

  test('a dry run has no event, and neither has an upload whose commit fails', async () => {
    await upload('never', [{ a: 1 }], '?dry_run=true');
    assert.deepEqual(await typesOf('never'), []);
    await service.rows(`CREATE TABLE public.late (a int UNIQUE DEFERRABLE INITIALLY DEFERRED);
      CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
      CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON public.late DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.fail()`);
    const answer = await upload('late', [{ a: 1 }], '?if_exists=append');
    assert(answer.status >= 400);
    assert(!(await typesOf('late')).includes('rows.loaded'));
  });

  test('the events of uploads can have table names with any characters', async () => {
    const name = 'Größe "1" %\\/☃';
    await upload(encodeURIComponent(name), [{ a: 1 }]);
    const [event] = await eventsOf(name);
    assert.deepEqual([event!.type, event!.data.table], ['table.created', name]);
  });

  test('the events of uploads are announced to PostgreSQL clients by their ids', async () => {
    const client = new pg.Client(service.database.url);
    await client.connect();
    const heard: string[] = [];
    client.on('notification', ({ payload }) => heard.push(payload!));
    await client.query('LISTEN tablewright');
    await upload('heard', [{ a: 1 }]);
    const ids = (await eventsOf('heard')).map(({ id }) => id);
    assert.equal(ids.length, 2);
    const ofTable = () => heard.filter((id) => ids.includes(id));
    await until('two notifications', () => ofTable().length >= 2);
    await client.end();
    assert.deepEqual(ofTable().toSorted(), ids.toSorted());
  });
});

test('a created table is told, and one that existed already is not', async () => {
  const definition = { table: { columns: [{ name: 'a', type: 'int' }] } };
  await service.post('/table/made', definition);
  await service.post('/table/made?if_not_exists=true', definition);
  await service.post('/table/made', definition);
  assert.deepEqual(await typesOf('made'), ['table.created']);
  assert.equal((await eventsOf('made'))[0]!.data.load, undefined);
});

interface Stream {
  status: number;
  headers: Headers;
  body: string;
  /** The events that have arrived, with their ids. */
  events: { id: string; event: Event }[];
  /** Resolves when the stream has ended. */
  ended: Promise<void>;
  stop(): void;
}

async function openStream(options: { token?: string; lastEventId?: string } = {}): Promise<Stream> {
  const stopping = new AbortController();
  const answer = await fetch(`${service.url}/api/v1/events`, {
    headers: {
      authorization: `Bearer ${options.token ?? (await service.token())}`,
      ...(options.lastEventId !== undefined && { 'last-event-id': options.lastEventId }),
    },
    signal: stopping.signal,
  });
  const stream: Stream = {
    status: answer.status,
    headers: answer.headers,
    body: '',
    events: [],
    ended: Promise.resolve(),
    stop: () => stopping.abort(),
  };
  if (answer.status !== 200) stream.body = await answer.text();
  else stream.ended = readStream(answer, stream).catch(() => {});
  return stream;
}

async function readStream(answer: Response, stream: Stream): Promise<void> {
  for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
    stream.body += text;
    const found = stream.body.matchAll(/^id: (\d+)\nevent: [a-z.]+\ndata: (.*)\n\n/gm);
    stream.events = [...found].map(([, id, json]) => ({ id: id!, event: JSON.parse(json!) }));
  }
}

/** Opens the feed as another process of the service has it. */
function openFeed(): EventFeed {
  return new EventFeed({ name: schema, quoted: schema }, service.database.pool, {
    warn: () => {},
  } as unknown as Log);
}

suite('the feed', () => {
  const tablesOf = (stream: Stream) => stream.events.map(({ event }) => `${event.type} ${event.data.table}`);

  test('the feed sends each event that comes after it has begun', async () => {
    await upload('before', [{ a: 1 }]);
    const stream = await openStream();
    assert.equal(stream.status, 200);
    assert.equal(stream.headers.get('x-accel-buffering'), 'no');
    await upload('fed', [{ a: 1 }]);
    await until('two events', () => stream.events.length >= 2);
    stream.stop();
    assert.deepEqual(tablesOf(stream).toSorted(), ['rows.loaded fed', 'table.created fed']);
  });

  test('the feed continues after the last event without a gap, also with events of slower transactions', async () => {
    const stream = await openStream();
    await upload('anchor', [{ a: 1 }]);
    await until('two events', () => stream.events.length >= 2);
    stream.stop();
    const { id: lastEventId } = stream.events.at(-1)!;
    // This event is inserted first and committed last.
    const slow = await service.database.pool.connect();
    await slow.query(`BEGIN; INSERT INTO ${schema}.events (id, table_schema, event)
      VALUES (gen_random_uuid(), 'public', '{"type": "rows.loaded", "data": {"table": "slow"}}')`);
    await upload('quick', [{ a: 1 }]);
    const next = await openStream({ lastEventId });
    await until('two events', () => next.events.length >= 2);
    await slow.query('COMMIT');
    slow.release();
    await until('the slow event', () => next.events.length >= 3);
    next.stop();
    assert.equal(tablesOf(next).at(-1), 'rows.loaded slow');
    const ids = next.events.map(({ id }) => Number(id));
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
  });

  test('the feed gives a client that has received no event yet an id from which it continues', async () => {
    const stream = await openStream();
    await until('the beginning', () => stream.body.endsWith('\n\n'));
    stream.stop();
    await upload('meanwhile', [{ a: 1 }]);
    const lastEventId = /^id: (\d+)\n/.exec(stream.body)![1]!;
    const next = await openStream({ lastEventId });
    await until('two events', () => next.events.length >= 2);
    next.stop();
    assert.deepEqual(tablesOf(next).toSorted(), ['rows.loaded meanwhile', 'table.created meanwhile']);
  });

  test('the feed gives a client that sees few schemas the id from which it continues', async () => {
    const stream = await openStream({ token: await service.token({ schemas: ['other'] }) });
    const all = await openStream();
    await upload('elsewhere', [{ a: 1 }]);
    await until('two events', () => all.events.length >= 2);
    all.stop();
    await until('the id', () => stream.body.endsWith(`\n\nid: ${all.events.at(-1)!.id}\n\n`));
    stream.stop();
    assert.deepEqual(stream.events, []);
  });

  test('the feed keeps an event that was committed days later until the newer ones before it are old', async () => {
    const all = await openStream();
    for (const table of ['aged_1', 'aged_2', 'aged_3']) await upload(table, [{ a: 1 }]);
    await until('six events', () => all.events.length >= 6);
    all.stop();
    const ids = all.events.map(({ id }) => Number(id));
    await service.rows(
      `UPDATE ${schema}.events SET created_at = now() - interval '8 days' WHERE position <= $1 OR position = $2`,
      [ids[2], ids[5]],
    );
    // More transactions than one are needed.
    await openFeed().removeOld(7, 2);
    const next = await openStream({ lastEventId: String(ids[2]) });
    await until('the rest', () => next.events.length >= 3);
    next.stop();
    assert.deepEqual(
      next.events.map(({ id }) => Number(id)),
      ids.slice(3),
    );
    assert.equal((await openStream({ lastEventId: String(ids[1]) })).status, 410);
  });

  test('the feed is the same in two processes, whatever the order in which transactions begin and end', async () => {
    const feeds = [openFeed(), openFeed()];
    const { last } = await feeds[0]!.range();
    const count = 30;
    let isOver = false;
    const readAll = async (feed: EventFeed): Promise<StoredEvent[]> => {
      const found: StoredEvent[] = [];
      for (let after = last, wasOver = false; ; wasOver = isOver) {
        await feed.range();
        const page = await feed.read(after);
        found.push(...page);
        after = page.at(-1)?.position ?? after;
        if (wasOver && page.length === 0) return found;
      }
    };
    const reading = feeds.map(readAll);
    const open: pg.PoolClient[] = [];
    for (let index = 0; index < count; index++) {
      const client = await service.database.pool.connect();
      await client.query(`BEGIN; INSERT INTO ${schema}.events (id, table_schema, event)
        VALUES (gen_random_uuid(), 'public', '{"type": "rows.loaded", "index": ${index}}')`);
      open.push(client);
      if (open.length < 4) continue;
      const [ended] = open.splice((index * 7) % open.length, 1);
      await ended!.query('COMMIT');
      ended!.release();
    }
    for (const client of open.reverse()) {
      await client.query('COMMIT');
      client.release();
    }
    isOver = true;
    const [one, other] = await Promise.all(reading);
    assert.deepEqual(one, other);
    const indexes = one!.map(({ json }) => JSON.parse(json).index).toSorted((a, b) => a - b);
    assert.deepEqual(indexes, [...Array(count).keys()]);
  });

  test('readers who come together share what is read, and see what was committed before they came', async (t) => {
    const feed = openFeed();
    await upload('shared', [{ a: 1 }]);
    const { last } = await feed.range();
    const connect = t.mock.method(service.database.pool, 'connect');
    const ranges = Array.from({ length: 50 }, () => feed.range());
    const pages = Array.from({ length: 50 }, () => feed.read(last - 1));
    for (const range of await Promise.all(ranges)) assert.equal(range.last, last);
    for (const page of await Promise.all(pages)) assert.equal(page.at(-1)?.position, last);
    assert.ok(connect.mock.callCount() <= 3, `${connect.mock.callCount()} connections`);
    const first = feed.range();
    await upload('shared', [{ a: 2 }]);
    assert.ok((await feed.range()).last > last);
    await first;
  });

  test('the feed has only events of schemas that the token allows', async () => {
    const stream = await openStream({ token: await service.token({ schemas: ['oth*'] }) });
    await upload('hidden', [{ a: 1 }]);
    await upload('shown', [{ a: 1 }], '?schema=other');
    await until('two events', () => stream.events.length >= 2);
    stream.stop();
    assert(stream.events.every(({ event }) => event.data.schema === 'other'));
  });

  test('the feed names the other schema of a renamed table only to readers who may see it', async () => {
    const limited = await service.token({ schemas: ['public'] });
    const stream = await openStream({ token: limited });
    await upload('moving', [{ a: 1 }], '?schema=other');
    await upload('staying', [{ a: 1 }]);
    await move('/table/moving?schema=other', { schema: 'public', name: 'moved' });
    await move('/table/staying', { name: 'stayed' });
    await move('/table/moved', { schema: 'other' });
    const renamesOf = ({ events }: Stream) =>
      events.filter(({ event }) => event.type === 'table.changed').map(({ event }) => event.data);
    await until('three events', () => renamesOf(stream).length >= 3);
    const lastEventId = /^id: (\d+)\n/.exec(stream.body)![1]!;
    const [again, all] = await Promise.all([
      openStream({ token: limited, lastEventId }),
      openStream({ lastEventId }),
    ]);
    await until('all events again', () => renamesOf(again).length >= 3 && renamesOf(all).length >= 5);
    for (const one of [stream, again, all]) one.stop();
    const [from, to] = [
      { schema: 'other', table: 'moving' },
      { schema: 'other', table: 'moved' },
    ];
    const moved = { schema: 'public', table: 'moved' };
    const stayed = {
      schema: 'public',
      table: 'stayed',
      renamed_from: { schema: 'public', table: 'staying' },
    };
    for (const one of [stream, again]) {
      assert.deepEqual(renamesOf(one), [moved, stayed, moved]);
      assert(!one.body.includes('other'));
    }
    const inPublic = renamesOf(all).filter(({ schema: own }) => own === 'public');
    assert.deepEqual(inPublic, [{ ...moved, renamed_from: from }, stayed, { ...moved, renamed_to: to }]);
  });

  test('a reader is refused if it continues after an event that was removed, or after an id that was never sent', async () => {
    const all = await openStream();
    await upload('aged', [{ a: 1 }]);
    await until('two events', () => all.events.length >= 2);
    all.stop();
    const lastEventId = String(Number(all.events[0]!.id) - 1);
    await service.rows(`WITH gone AS (DELETE FROM ${schema}.events RETURNING position)
      UPDATE ${schema}.event_state SET removed_to = (SELECT max(position) FROM gone)`);
    const removed = await openStream({ lastEventId });
    assert.equal(removed.status, 410);
    assert.equal(JSON.parse(removed.body).code, 'events-removed');
    for (const id of ['x', '-1', '1.5', '99999999', '1e3']) {
      assert.equal((await openStream({ lastEventId: id })).status, 422, id);
    }
    const last = await openStream({ lastEventId: all.events.at(-1)!.id });
    assert.equal(last.status, 200);
    last.stop();
  });

  test('the feed answers HEAD at once', async () => {
    const { status, headers } = await service.request('HEAD', '/api/v1/events');
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/event-stream; charset=utf-8']);
  });

  test('the feed needs the scope event:read, and allows 20 streams for one caller', async () => {
    assertProblem(
      await service.get('/api/v1/events', { token: await service.token({ scope: 'table:read' }) }),
      403,
      'insufficient-scope',
    );
    const streams = await Promise.all(Array.from({ length: 21 }, () => openStream()));
    const refused = streams.filter(({ status }) => status !== 200);
    for (const stream of streams) stream.stop();
    assert(refused.length > 0 && refused.every(({ status }) => status === 429));
    await until('a free place', async () => {
      const stream = await openStream();
      stream.stop();
      return stream.status === 200;
    });
  });
});

/** Opens a stream as soon as the streams of earlier tests have given their places back. */
async function openWhenFree(token: string): Promise<Awaited<ReturnType<typeof openStream>>> {
  let stream = await openStream({ token });
  await until('a place', async () => {
    if (stream.status === 200) return true;
    stream.stop();
    stream = await openStream({ token });
    return stream.status === 200;
  });
  return stream;
}

test('a new caller takes the place of a stream of the caller with the most streams, which ends with a note', async () => {
  const open: Awaited<ReturnType<typeof openStream>>[] = [];
  try {
    for (let n = 0; n < 10; n++) {
      const token = await service.token({ subject: `reader ${n}` });
      open.push(...(await Promise.all(Array.from({ length: 20 }, () => openWhenFree(token)))));
    }
    const late = await openStream({ token: await service.token({ subject: 'late' }) });
    open.push(late);
    assert.equal(late.status, 200);
    await until('a stream to end', () =>
      open.some(({ body }) => /\n\n: This stream ended because/.test(body)),
    );
    await upload('displaced', [{ a: 1 }]);
    await until('the events', () => late.events.length >= 2);
  } finally {
    for (const stream of open) stream.stop();
  }
});

test('a stream of events ends when its token is no longer valid, 30 seconds after `exp`', async () => {
  const { stream, token, validUntilMs } = await openExpiring();
  await stream.ended;
  assert(Date.now() >= validUntilMs);
  await upload('too_late', [{ a: 1 }]);
  assert.equal((await openStream({ token })).status, 401);
  assert.match(stream.body, /^id: \d+\nretry: 2000\n\n/);
});

/** Opens a stream with a token that is valid for about three more seconds. A slow machine may need several tokens. */
async function openExpiring(): Promise<{ stream: Stream; token: string; validUntilMs: number }> {
  for (;;) {
    const token = await service.token({ ttlSeconds: -27 });
    const stream = await openStream({ token });
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
    if (stream.status === 200) return { stream, token, validUntilMs: (exp + 30) * 1000 };
  }
}

test('streams end when the service stops', async () => {
  const stopped = await startTestService({ SHUTDOWN_GRACE_MS: '60000' });
  const answer = await fetch(`${stopped.url}/api/v1/events`, {
    headers: { authorization: `Bearer ${await stopped.token()}` },
  });
  assert.equal(answer.status, 200);
  await stopped.stop();
  assert.match(await answer.text(), /^id: 0\nretry: 2000\n\n$/);
});
