/** Uploads that the client, the service or PostgreSQL interrupts leave no table, no row and no busy connection. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { logLines } from '../support/log-lines.ts';
import { assertProblem } from '../support/problem.ts';
import { beginUpload, chunk, openSocket, parseAnswer } from '../support/raw-http.ts';
import {
  type ServiceClient,
  startTestService,
  type TestAnswer,
  type TestService,
} from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { until } from '../support/until.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('i');
const table = {
  columns: [
    { name: 'a', type: 'integer' },
    { name: 'b', type: 'text' },
  ],
};
const row = `{"a":1,"b":"${'x'.repeat(90)}"},`;
const lastRow = '{"a":2,"b":null}';

/** The phases of an upload: how it begins and how it continues. */
const kinds = {
  'JSON rows that stream into COPY': {
    path: 'json',
    type: 'application/json',
    start: `{"table":${JSON.stringify(table)},"data":[`,
    more: row,
    isCopying: true,
  },
  'JSON rows whose definition is inferred': {
    path: 'json',
    type: 'application/json',
    start: '{"data":[',
    more: row,
    isCopying: false,
  },
  'a workbook': {
    path: 'excel',
    type: 'multipart/form-data; boundary=x',
    start: '--x\r\nContent-Disposition: form-data; name="file"; filename="a.xlsx"\r\n\r\nPK\x03\x04',
    more: 'x'.repeat(100),
    isCopying: false,
  },
};

/**
 * Begins an upload, sends a megabyte of it and leaves it open. Returns when its COPY runs. For uploads whose COPY begins later it returns
 * when all bytes have left the client.
 */
async function underWay(
  client: ServiceClient,
  name: string,
  kind: keyof typeof kinds,
  query = '',
): Promise<Socket> {
  const { path, type, start, more, isCopying } = kinds[kind];
  const socket = await beginUpload(client.url, `/${name}/upload/${path}${query}`, await client.token(), type);
  let early = '';
  const listen = (data: Buffer): void => {
    early += data;
  };
  socket.on('data', listen);
  socket.write(chunk(start));
  for (let n = 0; n < 100; n += 1) socket.write(chunk(more.repeat(100)));
  // A table is emptied only when all new rows have arrived.
  const isUnderWay =
    isCopying && !query.includes('truncate')
      ? async () => (await activity()).some(({ query }) => /\bCOPY\b/.test(query))
      : async () => socket.writableLength === 0;
  await until('the upload to get under way', async () => early !== '' || (await isUnderWay()));
  assert.equal(early, '', 'no answer before the end');
  socket.off('data', listen);
  return socket;
}

/** Returns the states of the service's connections that are not idle. */
async function activity(): Promise<{ pid: number; query: string }[]> {
  const rows = await service.rows(
    `SELECT pid, query FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tablewright' AND state <> 'idle'`,
  );
  return rows as { pid: number; query: string }[];
}

async function assertNothingLeft(name: string): Promise<void> {
  await until('the connections to be idle', async () => (await activity()).length === 0);
  assert.deepEqual(await service.rows('SELECT to_regclass($1) AS found', [name]), [{ found: null }]);
}

/** Returns the answer when it has arrived. Only the service waits for the end of the connection. */
function answerOf(socket: Socket): Promise<TestAnswer> {
  const { promise, resolve } = Promise.withResolvers<TestAnswer>();
  let text = '';
  socket.on('data', (data) => {
    text += data;
    if (!text.endsWith('}')) return;
    resolve(parseAnswer(text));
  });
  socket.once('close', () => resolve(parseAnswer(text)));
  return promise;
}

suite('a client that disconnects in the middle', () => {
  for (const kind of Object.keys(kinds) as (keyof typeof kinds)[]) {
    for (const how of ['breaks the connection', 'closes the connection'] as const) {
      test(`a client that disconnects in the middle of ${kind} (${how}) leaves no table`, async () => {
        const name = nextTable();
        const socket = await underWay(service, name, kind);
        if (how === 'breaks the connection') socket.resetAndDestroy();
        else socket.end();
        await assertNothingLeft(name);
        const answer = await service.post(`/table/${name}/upload/json`, { data: [{ a: 1 }] });
        assert.equal(answer.status, 201, 'the service goes on');
      });
    }
  }

  for (const value of ['append', 'truncate', 'replace']) {
    test(`a client that disconnects in the middle of an upload with if_exists=${value} keeps the old rows`, async () => {
      const name = nextTable();
      await service.post(`/table/${name}/upload/json`, { table, data: [{ a: 0 }] });
      const socket = await underWay(service, name, 'JSON rows that stream into COPY', `?if_exists=${value}`);
      socket.resetAndDestroy();
      await until('the connections to be idle', async () => (await activity()).length === 0);
      assert.deepEqual(await service.rows(`SELECT a FROM ${name}`), [{ a: 0 }]);
    });
  }

  test('clients that disconnect again and again use up neither connections nor places', async () => {
    for (let n = 0; n < 22; n += 1) {
      const socket = await underWay(service, nextTable(), 'JSON rows that stream into COPY');
      socket.resetAndDestroy();
      await until('the connections to be idle', async () => (await activity()).length === 0);
    }
    assert.equal((await service.post(`/table/${nextTable()}`, { table })).status, 201);
  });

  test('a client that disconnects while PostgreSQL works for it has its statement cancelled', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (a integer)`);
    await service.rows(
      `CREATE FUNCTION ${name}_slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NEW; END'`,
    );
    await service.rows(
      `CREATE TRIGGER slow BEFORE INSERT ON ${name} FOR EACH ROW EXECUTE FUNCTION ${name}_slow()`,
    );
    const gone = new AbortController();
    const upload = service.post(
      `/table/${name}/upload/json?if_exists=append`,
      { data: [{ a: 1 }] },
      { signal: gone.signal },
    );
    await until('the COPY', async () => (await activity()).some(({ query }) => /\bCOPY\b/.test(query)));
    gone.abort();
    await assert.rejects(upload);
    await until('the connections to be idle', async () => (await activity()).length === 0);
    assert.deepEqual(await service.rows(`SELECT * FROM ${name}`), []);
  });

  test('a client that disconnects after the whole body has all rows loaded or none', async () => {
    for (const moment of moments) {
      const name = nextTable();
      const socket = await underWay(service, name, 'JSON rows that stream into COPY');
      socket.write(Buffer.concat([chunk(`${lastRow}]}`), Buffer.from('0\r\n\r\n')]));
      await moment();
      socket.resetAndDestroy();
      await until('the connections to be idle', async () => (await activity()).length === 0);
      await assertAllOrNothing(name);
    }
  });
});

/** The moments at which the client disconnects after it has sent the whole body: at once, and when the rows are copied. */
const moments = [
  async () => {},
  () => until('the COPY to end', async () => !(await activity()).some(({ query }) => /\bCOPY\b/.test(query))),
];

async function assertAllOrNothing(name: string): Promise<void> {
  const [{ found }] = (await service.rows('SELECT to_regclass($1) AS found', [name])) as [
    { found: string | null },
  ];
  if (found === null) return;
  assert.deepEqual(await service.rows(`SELECT count(*)::int AS rows FROM ${name}`), [{ rows: 10_001 }]);
}

suite('a connection to PostgreSQL that ends in the middle', () => {
  test('a connection to PostgreSQL that ends in the middle of an upload is answered with 503, and the next upload gets another connection', async () => {
    const name = nextTable();
    const socket = await underWay(service, name, 'JSON rows that stream into COPY');
    const answer = answerOf(socket);
    const [copying] = (await activity()).filter(({ query }) => /\bCOPY\b/.test(query));
    await service.rows('SELECT pg_terminate_backend($1)', [copying!.pid]);
    const more = setInterval(() => socket.write(chunk(row.repeat(1000))), 5);
    const result = await answer;
    clearInterval(more);
    socket.destroy();
    assertProblem(result, 503, 'database-unavailable');
    assert.ok(Number(result.headers.get('retry-after')) > 0);
    await assertNothingLeft(name);
    assert.equal((await service.post(`/table/${name}/upload/json`, { data: [{ a: 1 }] })).status, 201);
  });

  test('a connection to PostgreSQL that ends while it waits for rows is reported when the next row comes', async () => {
    const name = nextTable();
    const socket = await underWay(service, name, 'JSON rows that stream into COPY');
    const answer = answerOf(socket);
    await service.rows(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tablewright'",
    );
    await until('the connections to end', async () => (await activity()).length === 0);
    socket.write(Buffer.concat([chunk(`${lastRow}]}`), Buffer.from('0\r\n\r\n')]));
    assertProblem(await answer, 503, 'database-unavailable');
    await assertNothingLeft(name);
    assert.equal((await service.get('/readyz')).status, 200);
  });
});

suite('a service that ends in the middle', () => {
  let child: ChildService;
  const started = async () => {
    child = await startChildService(service.database);
    return child;
  };
  after(() => child?.end('SIGKILL'));

  test('a service that ends with kill -9 leaves no part of an upload of any kind', async () => {
    await started();
    const names: string[] = [];
    for (const kind of Object.keys(kinds) as (keyof typeof kinds)[]) {
      names.push(nextTable());
      await underWay(child, names.at(-1)!, kind);
    }
    assert.equal(await child.end('SIGKILL'), 'SIGKILL');
    for (const name of names) await assertNothingLeft(name);
  });

  test('a service that ends with kill -9 after the whole body has all rows loaded or none', async () => {
    for (const moment of moments) {
      const name = nextTable();
      const socket = await underWay(await started(), name, 'JSON rows that stream into COPY');
      socket.write(Buffer.concat([chunk(`${lastRow}]}`), Buffer.from('0\r\n\r\n')]));
      await moment();
      await child.end('SIGKILL');
      await until('the connections to be idle', async () => (await activity()).length === 0);
      await assertAllOrNothing(name);
    }
  });

  test('a service that ends with SIGTERM lets requests end that end soon, and answers the others and all new ones with 503', async () => {
    const [quick, slow, silent] = [nextTable(), nextTable(), nextTable()];
    await started();
    const nothingSent = await openSocket(child.url);
    nothingSent.on('error', () => {});
    const quickSocket = await underWay(child, quick, 'JSON rows that stream into COPY');
    const slowSocket = await underWay(child, slow, 'JSON rows that stream into COPY');
    const silentSocket = await underWay(child, silent, 'JSON rows whose definition is inferred');
    const answers = [quickSocket, slowSocket, silentSocket].map(answerOf);
    const ended = child.end('SIGTERM');
    let readiness = await child.get('/readyz');
    await until('the service to be stopping', async () => {
      readiness = await child.get('/readyz');
      return readiness.status !== 200;
    });
    assertProblem(readiness, 503, 'shutting-down');
    // A process manager or npm may repeat the signal. It must not shorten the time.
    child.child.kill('SIGTERM');
    assert.equal((await child.get('/healthz')).status, 200);
    assertProblem(await child.post(`/table/${nextTable()}`, { table }), 503, 'shutting-down');
    quickSocket.write(Buffer.concat([chunk(`${lastRow}]}`), Buffer.from('0\r\n\r\n')]));
    const trickle = setInterval(() => slowSocket.write(chunk(row)), 100);
    const [quickAnswer, slowAnswer, silentAnswer] = (await Promise.all(answers)) as [
      TestAnswer,
      TestAnswer,
      TestAnswer,
    ];
    clearInterval(trickle);
    // The quick request keeps its connection open. The service must not wait for it.
    slowSocket.destroy();
    silentSocket.destroy();
    assert.equal(quickAnswer.status, 201, JSON.stringify(quickAnswer.body));
    for (const answer of [slowAnswer, silentAnswer]) {
      assertProblem(answer, 503, 'shutting-down');
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
    }
    assert.equal(await ended, 0);
    const [begun, late, last] = ['is stopping', 'has passed', 'has stopped'].map((text) =>
      logLines(child.output()).find(({ msg }) => String(msg).includes(text)),
    );
    assert.deepEqual([begun?.cause, late?.running, last?.rolledBack], ['SIGTERM', 2, 2]);
    assert.ok(Number(begun?.running) >= 3 && Number(last?.durationMs) >= Number(begun?.graceMs));
    await assertNothingLeft(slow);
    await assertNothingLeft(silent);
    assert.deepEqual(await service.rows(`SELECT count(*)::int AS rows FROM ${quick}`), [{ rows: 10_001 }]);
  });
});
