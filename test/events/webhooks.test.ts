/** Webhooks: each event reaches its receiver, signed, and nothing reaches a private network that is not allowed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { readConfig } from '../../src/core/settings/config.ts';
import { startService } from '../../src/service/service.ts';
import { createTestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { assertProblem } from '../support/problem.ts';
import { serviceClient, startTestService, type TestService, testEnvironment } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Arrival {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  event: { id: string; type: string; data: Record<string, unknown> };
}

interface Receiver {
  url: string;
  arrivals: Arrival[];
  /** The statuses of the next answers; then 204. */
  statuses: number[];
  close(): Promise<void>;
}

/** Instead of a status: the receiver does not answer. */
const noAnswer = 0;

async function startReceiver(port = 0): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const statuses: number[] = [];
  const server: Server = createServer(async (request, response) => {
    const body = await text(request);
    arrivals.push({ path: request.url!, headers: request.headers, body, event: JSON.parse(body) });
    if (statuses[0] === noAnswer) return void statuses.shift();
    response.writeHead(statuses.shift() ?? 204, { location: '/elsewhere' }).end();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    arrivals,
    statuses,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const settings = { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8 ::1' };
const outbox = 'tablewright_service';
let service: TestService;
let receiver: Receiver;
before(async () => {
  service = await startTestService(settings);
  await service.rows('CREATE SCHEMA sales; CREATE SCHEMA other');
  receiver = await startReceiver();
});
after(async () => {
  await service.stop();
  await receiver.close();
});

const create = (body: Record<string, unknown>, token?: string) =>
  service.post('/api/v1/webhooks', body, token === undefined ? {} : { token });

const upload = (table: string, query = '') =>
  service.post(`/table/${table}/upload/json${query}`, { data: [{ a: 1 }] });

const arrivalsAbout = (table: string, at = receiver) =>
  at.arrivals.filter(({ event }) => event.data.table === table);

/** Returns the deliveries of a webhook, the newest first. */
async function deliveriesOf(id: string, query = '') {
  const { body } = await service.get(`/api/v1/webhooks/${id}/deliveries${query}`);
  return body.deliveries as Record<string, unknown>[];
}

/** Makes the next attempts due. */
const hurry = () => service.rows(`UPDATE ${outbox}.deliveries SET next_at = now() WHERE state = 'pending'`);

const remove = (id: string) => service.request('DELETE', `/api/v1/webhooks/${id}`);

suite('a webhook', () => {
  test('a webhook gets each event of its types and schemas once, signed with its secret', async () => {
    const { status, body } = await create({
      url: receiver.url,
      types: ['rows.loaded'],
      schemas: ['sa*', 'public'],
    });
    assert.equal(status, 201);
    assert.match(body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    await upload('hidden', '?schema=other');
    await upload('signed');
    await upload('signed', '?schema=sales');
    await until('two events', () => arrivalsAbout('signed').length >= 2);
    for (const { headers, body: json, event } of arrivalsAbout('signed')) {
      new Webhook(body.secret).verify(json, headers as Record<string, string>);
      assert.equal(headers['webhook-id'], event.id);
      assert.equal(event.type, 'rows.loaded');
      assert.match(headers['content-type']!, /^application\/cloudevents\+json/);
    }
    const states = async () => (await deliveriesOf(body.id)).map(({ state, status }) => [state, status]);
    await until('two deliveries', async () => (await states()).every(([state]) => state === 'delivered'));
    assert.deepEqual(await states(), [
      ['delivered', 204],
      ['delivered', 204],
    ]);
    assert.equal(arrivalsAbout('hidden').length, 0);
    await remove(body.id);
  });

  test('a webhook never gets an event of a schema that its token did not allow', async () => {
    const token = await service.token({ schemas: ['sales'] });
    const { body } = await create({ url: receiver.url, schemas: ['*'] }, token);
    await upload('outside');
    await upload('inside', '?schema=sales');
    await until('two events', () => arrivalsAbout('inside').length >= 2);
    assert.equal(arrivalsAbout('outside').length, 0);
    assertProblem(await create({ url: receiver.url, schemas: ['other'] }, token), 403, 'schema-forbidden');
    await remove(body.id);
  });

  test('a webhook names the other schema of a renamed table only if its token allowed that schema', async () => {
    const token = await service.token({ schemas: ['sales'] });
    const { body: limited } = await create({ url: `${receiver.url}?limited` }, token);
    const { body: free } = await create({ url: `${receiver.url}?free`, schemas: ['sales'] });
    const rename = (path: string, change: Record<string, unknown>) =>
      service.request('PATCH', path, {
        body: JSON.stringify(change),
        headers: { 'content-type': 'application/json' },
      });
    await upload('hidden_name', '?schema=other');
    receiver.statuses.push(500);
    await rename('/table/hidden_name?schema=other', { schema: 'sales', name: 'shown' });
    await rename('/table/shown?schema=sales', { name: 'shown_2' });
    await rename('/table/shown_2?schema=sales', { schema: 'other', name: 'hidden_2' });
    const changesAt = (query: string) =>
      receiver.arrivals.filter(({ path, event }) => path.endsWith(query) && event.type === 'table.changed');
    // One of the events was refused at first, so it arrives twice.
    await until('seven arrivals', async () => {
      await hurry();
      return changesAt('?limited').length + changesAt('?free').length >= 7;
    });
    const namesAt = (query: string) =>
      [
        ...new Set(
          changesAt(query).map(({ event }) =>
            JSON.stringify(event.data.renamed_from ?? event.data.renamed_to),
          ),
        ),
      ].toSorted();
    const named = (schema: string, table: string) => JSON.stringify({ table, schema });
    assert.deepEqual(namesAt('?limited'), [named('sales', 'shown'), undefined]);
    const others = [named('other', 'hidden_2'), named('other', 'hidden_name')];
    assert.deepEqual(namesAt('?free'), [...others, named('sales', 'shown')]);
    for (const { id } of [limited, free]) await remove(id);
  });

  test('a webhook can only be created by a token that may also read events, and operators see whose it is', async () => {
    const scope = 'webhook:manage table:read';
    const refused = await create({ url: receiver.url }, await service.token({ scope }));
    assert.match(assertProblem(refused, 403, 'insufficient-scope').detail, /event:read/);
    const token = await service.token({ scope: 'webhook:manage event:read', subject: 'owner' });
    const { body } = await create({ url: receiver.url }, token);
    const found = await service.rows(`SELECT id FROM ${outbox}.webhooks WHERE subject = 'owner'`);
    assert.deepEqual(found, [{ id: body.id }]);
    await service.rows(`DELETE FROM ${outbox}.webhooks WHERE subject = 'owner'`);
  });

  test('a caller has at most 100 webhooks, also if many are created at the same time', async () => {
    const token = await service.token({ subject: 'collector' });
    const first = await create({ url: receiver.url }, token);
    await service.rows(
      `INSERT INTO ${outbox}.webhooks (id, owner, subject, url, types, secret, position, disabled_at)
       SELECT gen_random_uuid(), owner, subject, url, types, secret, position, now()
       FROM ${outbox}.webhooks, generate_series(1, 98) WHERE id = $1`,
      [first.body.id],
    );
    // Both statements have begun when the first one can end.
    await service.rows(`CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_catalog.pg_advisory_xact_lock_shared(15); RETURN NEW; END $$;
      CREATE TRIGGER wait BEFORE INSERT ON ${outbox}.webhooks FOR EACH ROW EXECUTE FUNCTION public.wait()`);
    const holder = await service.database.pool.connect();
    await holder.query('SELECT pg_advisory_lock(15)');
    const both = Promise.all([1, 2].map(() => create({ url: receiver.url }, token)));
    await until('two waiting transactions', async () => {
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`;
      return (await service.rows(waiting)).length === 2;
    });
    await holder.query('SELECT pg_advisory_unlock(15)');
    holder.release();
    const statuses = (await both).map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [201, 422]);
    await service.rows(`DROP TRIGGER wait ON ${outbox}.webhooks`);
    await service.rows(`DELETE FROM ${outbox}.webhooks WHERE subject = 'collector'`);
  });

  test('a caller has at most 1,000 patterns in all webhooks', async () => {
    const token = await service.token({ subject: 'matcher' });
    const schemas = Array.from({ length: 100 }, (_, index) => `a*${index}`);
    for (let count = 0; count < 10; count++) {
      const answer = await create({ url: receiver.url, schemas }, token);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
    }
    const { detail } = assertProblem(
      await create({ url: receiver.url, schemas: ['b'] }, token),
      422,
      'invalid-webhook',
    );
    assert.match(detail, /too many patterns .* 1,000 patterns\. Delete a webhook first/);
    assert.equal((await create({ url: receiver.url }, token)).status, 201);
    await service.rows(`DELETE FROM ${outbox}.webhooks WHERE subject = 'matcher'`);
  });

  test('a pattern means its own characters, and * any, also those that LIKE reads in another way', async () => {
    const names = ['a!b', 'a%b', 'a_b', 'axb', 'a\\b', 'a*b', 'a!%b'];
    const patterns = ['a!b', 'a%b', 'a_b', 'a\\b', 'a!*b', 'axb*', 'A*'];
    for (const name of names) await service.rows(`CREATE SCHEMA "${name}"`);
    const types = ['table.created'];
    const made = await Promise.all(
      patterns.map((pattern) => create({ url: receiver.url, types, schemas: [pattern] })),
    );
    for (const name of names) await upload('marked', `?schema=${encodeURIComponent(name)}`);
    const got = (id: string) =>
      service.rows(
        `SELECT event->'data'->>'schema' AS name FROM ${outbox}.deliveries WHERE webhook = $1 ORDER BY 1`,
        [id],
      );
    const { body: all } = made[0]!;
    await until('all events', async () => {
      const [row] = await service.rows(
        `SELECT position >= (SELECT max(position) FROM ${outbox}.events) AND NOT EXISTS (SELECT FROM ${outbox}.events WHERE position IS NULL)
           AS done FROM ${outbox}.webhooks WHERE id = $1`,
        [all.id],
      );
      return row!.done === true;
    });
    const expected = names
      .map((_, index) => patterns[index]!)
      .map((pattern) => {
        const text = pattern.split('*').map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'));
        const matching = new RegExp(`^${text.join('.*')}$`);
        return names.filter((name) => matching.test(name)).toSorted();
      });
    for (const [index, { body }] of made.entries()) {
      const found = (await got(body.id)).map(({ name }) => name as string).toSorted();
      assert.deepEqual(found, expected[index], patterns[index]);
      await remove(body.id);
    }
  });

  test('a webhook gets its events while the webhooks of another caller are locked, and is removed when its lock is released', async () => {
    const token = await service.token({ subject: 'locked' });
    const { body: locked } = await create({ url: receiver.url }, token);
    const { body: removed } = await create({ url: receiver.url }, token);
    const { body } = await create({ url: receiver.url, types: ['table.created'] });
    const removeLocked = (id: string) => service.request('DELETE', `/api/v1/webhooks/${id}`, { token });
    const holder = await service.database.pool.connect();
    let removing: ReturnType<typeof removeLocked>[];
    try {
      await holder.query('BEGIN');
      await holder.query(`SELECT FROM ${outbox}.webhooks WHERE id = ANY ($1) FOR UPDATE`, [
        [locked.id, removed.id],
      ]);
      removing = [1, 2, 3].map(() => removeLocked(removed.id));
      await upload('unlocked');
      await until('the event', () => arrivalsAbout('unlocked').length === 1);
      assert.equal((await service.get('/api/v1/webhooks')).status, 200);
      const tries = new Set();
      await until('more tries than removals', async () => {
        const waiting = await service.rows(
          `SELECT xact_start::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%SET disabled_at%'`,
        );
        for (const { xact_start } of waiting) tries.add(xact_start);
        return tries.size > removing.length;
      });
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
    }
    // A removal that begins after another one has ended finds no webhook.
    const statuses = (await Promise.all(removing)).map(({ status }) => status);
    assert.ok(statuses.includes(200), statuses.join());
    assert.ok(
      statuses.every((status) => status === 200 || status === 404),
      statuses.join(),
    );
    assert.deepEqual(await service.rows(`SELECT FROM ${outbox}.webhooks WHERE id = $1`, [removed.id]), []);
    const about = `SELECT FROM ${outbox}.deliveries WHERE webhook = $1 AND event->'data'->>'table' = 'unlocked'`;
    await until(
      'the events of the other caller',
      async () => (await service.rows(about, [locked.id])).length > 0,
    );
    assert.equal((await removeLocked(locked.id)).status, 200);
    await remove(body.id);
  });

  test('a webhook with too many deliveries that wait is paused, gets each event later, and keeps a limited number', async () => {
    const token = await service.token({ subject: 'slow' });
    const types = ['table.created'];
    const { body } = await create({ url: receiver.url, types }, token);
    await service.rows(
      `INSERT INTO ${outbox}.deliveries (webhook, event_id, event, next_at)
       SELECT $1, gen_random_uuid(), '{}', now() + interval '1 day' FROM generate_series(1, 12000)`,
      [body.id],
    );
    const listed = async () => (await service.get('/api/v1/webhooks', { token })).body.webhooks[0];
    assert.equal((await listed()).paused, true);
    const ping = () => service.request('POST', `/api/v1/webhooks/${body.id}/ping`, { token });
    assert.match(assertProblem(await ping(), 422, 'invalid-webhook').detail, /paused/);
    const { body: other } = await create({ url: receiver.url, types });
    for (const table of ['late', 'later']) await upload(table);
    await until('the event of another caller', () => arrivalsAbout('later').length > 0);
    const own = async () =>
      (
        await service.rows(`SELECT count(*)::int4 AS count FROM ${outbox}.deliveries WHERE webhook = $1`, [
          body.id,
        ])
      )[0]!.count as number;
    assert.equal(await own(), 12_000);
    await service.rows(
      `UPDATE ${outbox}.deliveries SET state = 'dead', ended_at = now() WHERE webhook = $1`,
      [body.id],
    );
    await until('the late events', async () => {
      const found = await service.get(`/api/v1/webhooks/${body.id}/deliveries?state=delivered`, { token });
      return found.body.deliveries.length === 2;
    });
    assert.equal(await own(), 10_000);
    assert.equal((await listed()).paused, false);
    // A disabled webhook keeps only its share, too.
    await service.rows(`UPDATE ${outbox}.webhooks SET disabled_at = now() WHERE id = $1`, [body.id]);
    const { body: second } = await create({ url: receiver.url, types: ['load.failed'] }, token);
    await service.request('POST', `/api/v1/webhooks/${second.id}/ping`, { token });
    assert.equal(await own(), 5_000);
    await service.request('DELETE', `/api/v1/webhooks/${second.id}`, { token });
    await service.request('DELETE', `/api/v1/webhooks/${body.id}`, { token });
    await remove(other.id);
  });

  test('a webhook with very many deliveries is removed with all of them, and no statement removes more than 10,000', async () => {
    const { body } = await create({ url: receiver.url, types: ['load.failed'] });
    await service.rows(`CREATE TABLE public.removed (deliveries int);
      CREATE FUNCTION public.note_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.removed SELECT pg_catalog.count(*) FROM old_deliveries; RETURN NULL; END $$;
      CREATE TRIGGER note AFTER DELETE ON ${outbox}.deliveries REFERENCING OLD TABLE AS old_deliveries
        FOR EACH STATEMENT EXECUTE FUNCTION public.note_removed()`);
    await service.rows(
      `INSERT INTO ${outbox}.deliveries (webhook, event_id, event, next_at)
       SELECT $1, gen_random_uuid(), '{}', now() + interval '1 day' FROM generate_series(1, 20001)`,
      [body.id],
    );
    const answer = await remove(body.id);
    assert.deepEqual([answer.status, answer.body.id, answer.body.disabled_at], [200, body.id, null]);
    assert.equal((await remove(body.id)).status, 404);
    const removed = await service.rows('SELECT deliveries FROM public.removed WHERE deliveries > 0');
    assert.deepEqual(
      removed.map(({ deliveries }) => deliveries),
      [10_000, 10_000, 1],
    );
    await service.rows(`DROP TRIGGER note ON ${outbox}.deliveries`);
  });

  test('a webhook is removed although its only delivery changes meanwhile', async () => {
    const { body } = await create({ url: receiver.url, types: ['load.failed'] });
    await service.rows(
      `INSERT INTO ${outbox}.deliveries (webhook, event_id, event, next_at)
       SELECT $1, gen_random_uuid(), '{}', now() + interval '1 day'`,
      [body.id],
    );
    const holder = await service.database.pool.connect();
    let removing: ReturnType<typeof remove>;
    try {
      await holder.query('BEGIN');
      await holder.query(`UPDATE ${outbox}.deliveries SET attempts = 1 WHERE webhook = $1`, [body.id]);
      removing = remove(body.id);
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE%deliveries%'
        AND datname = current_database()`;
      await until('the lock', async () => (await service.rows(waiting)).length > 0);
      await holder.query('COMMIT');
    } finally {
      holder.release();
    }
    assert.equal((await removing).status, 200);
    assert.equal((await remove(body.id)).status, 404);
  });

  test('a webhook is removed in smaller steps if PostgreSQL cancels a statement that removes many deliveries', async () => {
    const { body } = await create({ url: receiver.url, types: ['load.failed'] });
    await service.rows(`CREATE FUNCTION public.take_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF (SELECT pg_catalog.count(*) FROM old_deliveries) > 3000 THEN RAISE 'too slow' USING ERRCODE = 'query_canceled'; END IF;
        RETURN NULL; END $$;
      CREATE TRIGGER slow AFTER DELETE ON ${outbox}.deliveries REFERENCING OLD TABLE AS old_deliveries
        FOR EACH STATEMENT EXECUTE FUNCTION public.take_long()`);
    await service.rows(
      `INSERT INTO ${outbox}.deliveries (webhook, event_id, event, next_at)
       SELECT $1, gen_random_uuid(), '{}', now() + interval '1 day' FROM generate_series(1, 6000)`,
      [body.id],
    );
    assert.equal((await remove(body.id)).status, 200);
    assert.equal((await remove(body.id)).status, 404);
    await service.rows(`DROP TRIGGER slow ON ${outbox}.deliveries`);
  });

  test('a webhook counts an answer that never comes after 101 as a failed attempt', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { body } = await create({ url: `http://127.0.0.1:${port}/`, types: ['table.created'] });
    await upload('switched');
    await until('a failed attempt', async () => (await deliveriesOf(body.id))[0]?.attempts === 1);
    await until('its error', async () => (await deliveriesOf(body.id))[0]?.error !== null);
    await remove(body.id);
    server.close();
  });

  test('a webhook gets an event again after an error or a redirect, and never follows the redirect', async () => {
    const other = await startReceiver();
    const { body } = await create({ url: other.url, types: ['table.created'] });
    other.statuses.push(500, 302);
    await upload('again');
    for (const attempts of [1, 2]) {
      await until('a failed attempt', async () => {
        const [delivery] = await deliveriesOf(body.id, '?state=pending');
        return delivery?.attempts === attempts && delivery.status === [500, 302][attempts - 1];
      });
      await hurry();
    }
    await until('the delivery', async () => (await deliveriesOf(body.id))[0]?.state === 'delivered');
    assert.equal(other.arrivals.length, 3);
    assert.equal(new Set(other.arrivals.map(({ headers }) => headers['webhook-id'])).size, 1);
    await remove(body.id);
    await other.close();
  });

  test('a webhook gets its events while 20 webhooks of another caller do not answer', async () => {
    const hanging = await startReceiver();
    hanging.statuses.push(...Array(40).fill(noAnswer));
    const token = await service.token({ subject: 'hanging' });
    const slow = await Promise.all(Array.from({ length: 20 }, () => create({ url: hanging.url }, token)));
    for (const { body } of slow) {
      await service.request('POST', `/api/v1/webhooks/${body.id}/ping`, { token });
    }
    await until('16 attempts', () => hanging.arrivals.length === 16);
    const { body } = await create({ url: receiver.url });
    await service.request('POST', `/api/v1/webhooks/${body.id}/ping`);
    await until('the ping', () => receiver.arrivals.some(({ event }) => event.data.webhook === body.id));
    const ended = `SELECT FROM ${outbox}.deliveries JOIN ${outbox}.webhooks w ON w.id = webhook WHERE subject = 'hanging' AND error IS NOT NULL`;
    assert.deepEqual(await service.rows(ended), []);
    assert.equal(hanging.arrivals.length, 16);
    await service.rows(`DELETE FROM ${outbox}.webhooks WHERE subject = 'hanging'`);
    await remove(body.id);
    await hanging.close();
  });

  test('a webhook has dead deliveries after 24 hours without success', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    const { body } = await create({ url, types: ['table.created'] });
    await upload('dead');
    await until('a failed attempt', async () => (await deliveriesOf(body.id))[0]?.error != null);
    assert.equal((await deliveriesOf(body.id))[0]!.error, 'the connection failed (ECONNREFUSED)');
    await service.rows(
      `UPDATE ${outbox}.deliveries SET created_at = now() - interval '24 hours', next_at = now()`,
    );
    await until('its end', async () => (await deliveriesOf(body.id, '?state=dead')).length === 1);
    await remove(body.id);
  });

  test('a webhook ends when its receiver answers 410', async () => {
    const other = await startReceiver();
    const { body } = await create({ url: other.url });
    other.statuses.push(410);
    assert.equal((await service.request('POST', `/api/v1/webhooks/${body.id}/ping`)).status, 202);
    await until('its end', async () => {
      const { webhooks } = (await service.get('/api/v1/webhooks')).body;
      return webhooks.find(({ id }: { id: string }) => id === body.id).disabled_at;
    });
    assert.equal((await deliveriesOf(body.id))[0]!.state, 'dead');
    const ping = await service.request('POST', `/api/v1/webhooks/${body.id}/ping`);
    assertProblem(ping, 422, 'invalid-webhook');
    await remove(body.id);
    await other.close();
  });

  test('a webhook is seen, pinged and removed by its caller only', async () => {
    const { body } = await create({ url: receiver.url });
    const token = await service.token({ subject: 'somebody else' });
    assert.deepEqual((await service.get('/api/v1/webhooks', { token })).body, { webhooks: [] });
    const path = `/api/v1/webhooks/${body.id}`;
    for (const answer of [
      await service.request('DELETE', path, { token }),
      await service.get(`${path}/deliveries`, { token }),
      await service.request('POST', `${path}/ping`, { token }),
    ]) {
      assertProblem(answer, 404, 'webhook-not-found');
    }
    const { secret, ...rest } = body;
    assert.deepEqual((await service.get('/api/v1/webhooks')).body, {
      webhooks: [{ ...rest, paused: false }],
    });
    assert.equal((await remove(body.id)).status, 200);
    assertProblem(await remove(body.id), 404, 'webhook-not-found');
  });

  test('a webhook with an invalid body is refused', async () => {
    const url = receiver.url;
    for (const body of [
      {},
      [],
      { url: 'x' },
      { url: 1 },
      { url: 'ftp://example.com/' },
      { url: 'https://user:password@example.com/' },
      { url, types: [] },
      { url, types: ['webhook.ping'] },
      { url, schemas: 'public' },
      { url, schemas: [''] },
      { url, secret: 'x' },
    ]) {
      assertProblem(await service.post('/api/v1/webhooks', body), 422, 'invalid-webhook');
    }
  });

  test('the error for an invalid webhook names the member and what its schema allows', async () => {
    const { url } = receiver;
    const cases: [body: unknown, detail: RegExp][] = [
      [[], /^The body must be an object, not an array\.$/],
      [{}, /"url" is missing\.$/],
      [{ url, type: 'x' }, /"type" is not known here\..*"types"/],
      [{ url, types: 'x' }, /^The member "types" must be an array, not a string\.$/],
      [{ url, types: [] }, /^The member "types" must be an array of 1 to \d of table\.created, /],
      [
        { url, schemas: [''] },
        /^The member "schemas" must be .* 1 to 100 strings, each a string of 1 to 200 characters\.$/,
      ],
      [
        { url, schemas: ['a\0'] },
        /^The member "schemas" must not contain NUL or half of a surrogate pair\.$/,
      ],
      [{ url, schemas: ['a*', '\ud800'] }, /^The member "schemas" must not contain NUL or half/],
      [{ url: `${url}\0` }, /^The member "url" must not contain NUL/],
    ];
    for (const [body, expected] of cases) {
      const answer = await service.post('/api/v1/webhooks', body);
      assert.match(assertProblem(answer, 422, 'invalid-webhook').detail, expected);
    }
  });
});

suite('the guard against private networks', () => {
  test('the guard against private networks refuses addresses that are not public, in every notation, and names of them', async () => {
    const guarded = await startTestService();
    const hosts =
      `127.0.0.1 localhost 0x7f.1 2130706433 0.0.0.0 10.1.2.3 100.64.0.1 169.254.169.254 172.31.0.1
      192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255 [::1] [::] [::ffff:127.0.0.1] [::ffff:a9fe:a9fe] [64:ff9b::7f00:1]
      [fd00::1] [fe80::1] [ff02::1] [2002:7f00:1::] [2001:0:1::] no-such-host.invalid`.split(/\s+/);
    const answers = await Promise.all(
      hosts.map((host) => guarded.post('/api/v1/webhooks', { url: `https://${host}/` })),
    );
    for (const [index, answer] of answers.entries()) {
      const { detail } = assertProblem(answer, 422, 'invalid-webhook');
      assert.match(detail, /WEBHOOK_PRIVATE_NETWORKS/, hosts[index]);
    }
    const plain = await guarded.post('/api/v1/webhooks', { url: 'http://1.1.1.1/' });
    assert.match(assertProblem(plain, 422, 'invalid-webhook').detail, /https/);
    assert.equal((await guarded.post('/api/v1/webhooks', { url: 'https://1.1.1.1/' })).status, 201);
    await guarded.stop();
  });

  test('the guard against private networks also refuses an address that a name got after the webhook was created', async () => {
    const guarded = await startTestService();
    // The webhook was created when its name had a public address.
    const { body } = await guarded.post('/api/v1/webhooks', { url: 'https://1.1.1.1/' });
    const url = receiver.url.replace('127.0.0.1', 'localhost');
    await guarded.rows(`UPDATE ${outbox}.webhooks SET url = $1`, [url]);
    const arrived = receiver.arrivals.length;
    await guarded.request('POST', `/api/v1/webhooks/${body.id}/ping`);
    await until('a refused attempt', async () => {
      const path = `/api/v1/webhooks/${body.id}/deliveries`;
      return /private/.test((await guarded.get(path)).body.deliveries[0]?.error);
    });
    assert.equal(receiver.arrivals.length, arrived);
    await guarded.stop();
  });

  test('the guard against private networks allows a name of an allowed network', async () => {
    const url = receiver.url.replace('127.0.0.1', 'localhost');
    const { body } = await create({ url });
    await service.request('POST', `/api/v1/webhooks/${body.id}/ping`);
    await until('the ping', () => receiver.arrivals.some(({ event }) => event.data.webhook === body.id));
    await remove(body.id);
  });
});

suite('several processes', () => {
  const secondService = async (dataDir: string) =>
    startService(readConfig(testEnvironment(service.database, dataDir, settings)));

  test('several processes deliver each event once', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'tablewright-webhooks-'));
    const { body } = await create({ url: receiver.url, types: ['table.created'] });
    const second = await secondService(dataDir);
    const tables = Array.from({ length: 20 }, (_, index) => `twice_${index}`);
    await Promise.all(tables.map((table) => upload(table)));
    await until('all deliveries', async () => {
      const found = await deliveriesOf(body.id, '?state=delivered');
      return found.length === tables.length;
    });
    for (const table of tables) assert.equal(arrivalsAbout(table).length, 1, table);
    await second.stop();
    await remove(body.id);
    await rm(dataDir, { recursive: true });
  });

  test('deliver an event whose process ended before the delivery', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'tablewright-webhooks-'));
    const database = await createTestDatabase();
    const config = readConfig(testEnvironment(database, dataDir, settings));
    const [hanging, port] = [await startReceiver(), await freePort()];
    hanging.statuses.push(noAnswer);
    const first = await startService(config);
    const client = await serviceClient(first.url);
    for (const url of [hanging.url, `http://127.0.0.1:${port}/`]) {
      await client.post('/api/v1/webhooks', { url, types: ['table.created'] });
    }
    await client.post('/table/late/upload/json', { data: [{ a: 1 }] });
    await until('an attempt without an answer', () => hanging.arrivals.length === 1);
    await until('a failed attempt', async () => {
      const sql = `SELECT FROM ${outbox}.deliveries WHERE error IS NOT NULL`;
      return (await database.pool.query(sql)).rows.length === 1;
    });
    await first.stop();
    const late = await startReceiver(port);
    await database.pool.query(`UPDATE ${outbox}.deliveries SET next_at = now() WHERE attempts = 1`);
    const second = await startService(config);
    await until('the events', () => arrivalsAbout('late', late).length + hanging.arrivals.length === 3);
    await second.stop();
    await Promise.all([late.close(), hanging.close()]);
    await database.drop();
    await rm(dataDir, { recursive: true });
  });
});
