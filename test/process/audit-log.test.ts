/** The audit log: who changed what, and how it ended. And the ids of the caller's trace in all lines of a request. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { after, before, test } from 'node:test';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { logLines } from '../support/log-lines.ts';
import { assertProblem } from '../support/problem.ts';
import { beginUpload, chunk } from '../support/raw-http.ts';
import type { RequestOptions, TestAnswer } from '../support/service.ts';
import { until } from '../support/until.ts';
import { sheetOf } from '../support/workbook.ts';

let database: TestDatabase;
let service: ChildService;
/** Stands between the service and PostgreSQL. */
let relay: Server;
/** The text that PostgreSQL gets, after which the relay breaks the connection; undefined: it breaks no connection. */
let lastText: string | undefined;

before(async () => {
  database = await createTestDatabase();
  const { hostname, port } = new URL(database.serviceUrl);
  relay = createServer((from) => {
    const to = connect(Number(port), hostname).on('error', () => from.destroy());
    from.on('error', () => to.destroy()).on('close', () => to.destroy());
    from.on('data', (data) => {
      to.write(data);
      if (lastText !== undefined && data.includes(lastText)) from.destroy();
    });
    to.pipe(from);
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const url = new URL(database.serviceUrl);
  Object.assign(url, { hostname: '127.0.0.1', port: (relay.address() as AddressInfo).port });
  service = await startChildService({ serviceUrl: url.href }, { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' });
});

after(async () => {
  await service.end('SIGTERM');
  relay.close();
  await database.drop();
});

const lines = () => logLines(service.output());

/** Returns the audit lines of an answered request. The line in the access log comes after them. */
async function auditOf({ headers }: TestAnswer): Promise<object[]> {
  const id = headers.get('x-request-id');
  const ofRequest = () => lines().filter(({ reqId }) => reqId === id);
  await until('the line in the access log', () => ofRequest().some(({ msg }) => msg === 'request'));
  return ofRequest()
    .filter(({ msg }) => msg === 'audit')
    .map(({ level, time, reqId, msg, load, ...rest }) => rest);
}

const who = { subject: 'development', schema: 'public', table: 'audited' };
const path = '/table/audited';
const definition = {
  table: {
    columns: [{ name: 'a', type: 'int' }],
    constraints: { primary_key: { name: '', columns: ['a'] } },
  },
};

test('each change has one line with who, what, which table, rows and outcome', async () => {
  const upload = (query: string, rows: number[]) =>
    service.post(`${path}/upload/json?${query}`, { data: rows.map((a) => ({ a })) });
  const loaded = { ...who, audit: 'upload-json', outcome: 'committed' };
  for (const [answer, expected] of [
    [
      await service.post(path, definition),
      { ...who, audit: 'create-table', outcome: 'committed', change: 'created' },
    ],
    [await upload('if_exists=append', [1, 2]), { ...loaded, change: 'loaded', rows: 2 }],
    [
      await upload('if_exists=append&on_conflict=update', [2, 3]),
      { ...loaded, change: 'loaded', rows: 1, updated: 1, changed: 0, unchanged: 1 },
    ],
    [await upload('if_exists=truncate', [1]), { ...loaded, change: 'emptied', rows: 1 }],
    [await upload('if_exists=replace', [1, 2, 3]), { ...loaded, change: 'replaced', rows: 3 }],
    [
      await upload('if_exists=append&dry_run=true', [4]),
      { ...loaded, outcome: 'checked', change: 'loaded', rows: 1 },
    ],
    [
      await service.upload('/table/from_excel/upload/excel', sheetOf([['a'], [1]])),
      { ...loaded, table: 'from_excel', audit: 'upload-excel', change: 'created', rows: 1 },
    ],
  ] as const) {
    assert(answer.status < 300, JSON.stringify(answer.body));
    assert.deepEqual(await auditOf(answer), [expected]);
  }
});

test('a refused change has a line with the role and the code, and reading and requests without a valid token have none', async () => {
  const refused = await service.post(path, definition);
  assert.deepEqual(await auditOf(refused), [
    { ...who, audit: 'create-table', outcome: 'refused', code: 'table-exists' },
  ]);
  const token = await service.token({ role: 'nobody_of_this_name', subject: 'somebody' });
  const forbidden = await service.post(
    `${path}/upload/json?if_exists=append`,
    { data: [{ a: 1 }] },
    { token },
  );
  assert.deepEqual(await auditOf(forbidden), [
    {
      ...who,
      subject: 'somebody',
      role: 'nobody_of_this_name',
      audit: 'upload-json',
      outcome: 'refused',
      code: 'permission-denied',
    },
  ]);
  assert.deepEqual(await auditOf(await service.get(path)), []);
  assert.deepEqual(await auditOf(await service.post(`${path}?if_not_exists=true`, definition)), []);
  assert.deepEqual(await auditOf(await service.post(path, definition, { token: null })), []);
});

test('webhooks that are created and deleted, and loads that are cancelled, have a line without the path of the URL', async () => {
  const url = 'http://127.0.0.1:9/hunter2?key=hunter2';
  const created = await service.post('/api/v1/webhooks', { url, types: ['rows.loaded'] });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const facts = { subject: 'development', outcome: 'committed', origin: 'http://127.0.0.1:9' };
  const webhook = { ...facts, webhook: created.body.id };
  assert.deepEqual(await auditOf(created), [
    { ...webhook, audit: 'create-webhook', change: 'webhook-created' },
  ]);
  const removed = await service.request('DELETE', `/api/v1/webhooks/${created.body.id}`);
  assert.deepEqual(await auditOf(removed), [
    { ...webhook, audit: 'delete-webhook', change: 'webhook-deleted' },
  ]);
  const missing = await service.request('DELETE', `/api/v1/webhooks/${created.body.id}`);
  assert.deepEqual(await auditOf(missing), [
    { subject: 'development', audit: 'delete-webhook', outcome: 'refused', code: 'webhook-not-found' },
  ]);
  assert.ok(!service.output().includes('hunter2'));

  await service.post('/table/waited', definition);
  const holder = await database.pool.connect();
  try {
    await holder.query('BEGIN; LOCK TABLE waited');
    const headers = { prefer: 'respond-async' };
    const body = { data: [{ a: 1 }] };
    const waiting = await service.post('/table/waited/upload/json?if_exists=append', body, { headers });
    const cancelled = await service.request('POST', `/api/v1/loads/${waiting.body.id}/cancel`);
    assert.equal(cancelled.status, 202, JSON.stringify(cancelled.body));
    assert.deepEqual(await auditOf(cancelled), [
      {
        ...who,
        table: 'waited',
        audit: 'cancel-load',
        outcome: 'committed',
        change: 'cancel-requested',
      },
    ]);
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
});

test('a change whose COMMIT was sent before the connection broke has an unknown outcome in the audit log', async () => {
  // A statement of the protocol ends with a zero byte.
  lastText = 'COMMIT\0';
  const answer = await service.post('/table/unsure', definition).finally(() => {
    lastText = undefined;
  });
  assert.match(assertProblem(answer, 503, 'database-unavailable').detail, /not known whether/);
  assert.deepEqual(await auditOf(answer), [
    { ...who, table: 'unsure', audit: 'create-table', outcome: 'unknown', code: 'database-unavailable' },
  ]);
});

test('an upload whose client disconnects is cancelled in the audit log', async () => {
  const socket = await beginUpload(
    service.url,
    '/left/upload/json',
    await service.token(),
    'application/json',
  );
  socket.destroy();
  await until('the audit line', () =>
    lines().some(({ msg, table, outcome }) => msg === 'audit' && table === 'left' && outcome === 'cancelled'),
  );
});

test('a valid traceparent is in all lines of the request, and any other is ignored', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const span = '00f067aa0ba902b7';
  const send = (traceparent: string) => service.post(path, definition, { headers: { traceparent } });
  const traced = await send(`00-${trace}-${span}-01`);
  await auditOf(traced);
  const ofRequest = lines().filter(({ reqId }) => reqId === traced.headers.get('x-request-id'));
  assert.equal(ofRequest.length, 2);
  for (const line of ofRequest) assert.deepEqual([line.trace_id, line.parent_span_id], [trace, span]);
  for (const wrong of [
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `ff-${trace}-${span}-01`,
    `00-${trace}-${span}-01-more`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `00-${trace}-${span}`,
  ]) {
    const answer = await send(wrong);
    await auditOf(answer);
    assert(
      lines().every(({ reqId, trace_id }) => reqId !== answer.headers.get('x-request-id') || !trace_id),
      wrong,
    );
  }
  const later = await send(`01-${trace}-${span}-00-more`);
  await auditOf(later);
  assert(
    lines().some(({ reqId, trace_id }) => reqId === later.headers.get('x-request-id') && trace_id === trace),
  );
});

test('the log of requests with secrets in cells, headers, parameters, errors and tokens contains none of them', async () => {
  await database.pool.query(`
    CREATE TABLE guarded (a int, b text);
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.b LIKE '%fail%' THEN RAISE EXCEPTION 'internal %', NEW.b USING ERRCODE = 'XX001'; END IF;
        RAISE EXCEPTION 'not %', NEW.b;
      END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION refuse()`);
  const token = await service.token({ subject: 'careful' });
  const wrongToken = `${token.slice(0, -8)}hunter2x`;
  const to = (query: string, data: object[], options: RequestOptions = {}) =>
    service.post(`/table/guarded/upload/json?${query}`, { data }, { token, ...options });
  const sheet = [['hunter2-header'], ['hunter2-cell']];
  const answers = [
    await service.post('/table/kept/upload/json', { data: [{ 'hunter2-key': 'hunter2-cell' }] }, { token }),
    await to('if_exists=append', [{ a: 'hunter2-cell' }]),
    await to('if_exists=append', [{ a: 1, b: 'hunter2-refused' }]),
    await to('if_exists=append', [{ a: 1, b: 'hunter2-fail' }]),
    await to('if_exists=append', [{ a: 1, 'hunter2-column': 1 }]),
    await to('if_exists=hunter2-parameter', []),
    await to('if_exists=append&null_values=hunter2-null', [{ a: 'hunter2-null', b: 'x' }], {
      headers: { 'x-secret': 'hunter2-http', tracestate: 'a=hunter2-state', traceparent: 'hunter2-trace' },
    }),
    await to('if_exists=append', [{ a: 1 }], { token: wrongToken }),
    await to('if_exists=append', [{ a: 1 }], { token: 'hunter2-token' }),
    await service.post(
      '/table/typed',
      { table: { columns: [{ name: 'a', type: 'hunter2-type', default: 'hunter2-default' }] } },
      { token },
    ),
    await service.post('/table/typed/upload/json', '{"data": [{"a": hunter2-broken', { token }),
    await service.upload('/table/sheet/upload/excel', sheetOf(sheet)),
    await service.upload('/table/guarded/upload/excel?if_exists=append', sheetOf(sheet)),
    await service.upload('/table/broken/upload/excel', Buffer.from('hunter2-file')),
  ];
  const socket = await beginUpload(service.url, '/gone/upload/json', token, 'application/json');
  socket.write(chunk('{"data":[{"a":"hunter2-half"'));
  socket.destroy();
  await until('the last line', () =>
    lines().some(({ msg, table }) => msg === 'client disconnected' && table === 'gone'),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 422, 422, 500, 422, 422, 422, 401, 401, 422, 422, 201, 422, 422],
  );
  for (const answer of answers) await auditOf(answer);
  const output = service.output();
  assert.match(output, /"msg":"audit"/);
  assert.match(output, /"msg":"request failed"/);
  for (const secret of ['hunter2', token.split('.')[1]!, token.split('.')[2]!, 'Bearer']) {
    assert(
      !output.includes(secret),
      output.split('\n').find((line) => line.includes(secret)),
    );
  }
});

test('an export has a line with its rows, and one that broke off has the code and the reason in the log', async () => {
  await database.pool.query(`CREATE TABLE audited_export (a int, b text);
    INSERT INTO audited_export SELECT n, repeat('x', 200) FROM generate_series(1, 200000) AS n;
    INSERT INTO audited_export VALUES (0, repeat('x', 70000000))`);
  const ofExport = {
    subject: 'development',
    schema: 'public',
    table: 'audited_export',
    audit: 'export-table',
    format: 'csv',
  };
  const rowsPath = '/table/audited_export/rows?format=csv';
  const sent = await service.get(`${rowsPath}&limit=2`);
  assert.deepEqual(await auditOf(sent), [{ ...ofExport, outcome: 'sent', rows: 2 }]);
  const access = lines().find(
    ({ reqId, msg }) => msg === 'request' && reqId === sent.headers.get('x-request-id'),
  );
  assert.equal(access!.rows, 2);
  const refused = await service.get(`${rowsPath}&columns=c`);
  const { format: _, ...withoutFormat } = ofExport;
  assert.deepEqual(await auditOf(refused), [
    { ...withoutFormat, outcome: 'refused', code: 'invalid-parameter' },
  ]);

  await assert.rejects(service.get(rowsPath));
  const broken = () => lines().filter(({ outcome }) => outcome === 'broken');
  await until('the line of the broken export', () => broken().length === 1);
  const { level, time, reqId, msg, load, ...rest } = broken()[0]!;
  assert.deepEqual(rest, { ...ofExport, outcome: 'broken', code: 'limit-exceeded' });
  await until('the line with the reason', () =>
    lines().some((line) => line.reqId === reqId && line.msg === 'an export was broken off'),
  );
});
