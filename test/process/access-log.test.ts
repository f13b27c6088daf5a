/** The access log: one line of JSON for each request, with facts for operators and without secrets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  type ChildWithDatabase,
  startChildService,
  startChildWithDatabase,
} from '../support/child-service.ts';
import { type LogLine, logLines } from '../support/log-lines.ts';
import { assertProblem } from '../support/problem.ts';
import { beginUpload, openSocket, rawRequest } from '../support/raw-http.ts';
import { secret } from '../support/service.ts';
import { until } from '../support/until.ts';
import { sheetOf } from '../support/workbook.ts';

const workbook = readFileSync(join(import.meta.dirname, '..', '..', 'examples', 'orders.xlsx'));

let service: ChildWithDatabase;

before(async () => {
  service = await startChildWithDatabase();
});

after(async () => {
  await service?.stop('SIGTERM');
});

/** Returns the lines of a request, when there is one. It is written after the answer. */
async function linesOf(fits: (line: LogLine) => boolean): Promise<LogLine[]> {
  let lines: LogLine[] = [];
  await until('the line in the log', () => {
    lines = logLines(service.output()).filter(fits);
    return lines.length > 0;
  });
  return lines;
}

async function lineOf(answer: { headers: Headers }): Promise<Omit<LogLine, 'ms' | 'time'>> {
  const id = answer.headers.get('x-request-id');
  const lines = await linesOf((line) => line.reqId === id && 'status' in line);
  assert.equal(lines.length, 1);
  const { ms, time, level, ...rest } = lines[0]!;
  assert(Number.isInteger(ms));
  assert(Number.isInteger(time));
  return rest;
}

test('an upload of JSON is logged with its subject, table, rows and bytes', async () => {
  const body = { data: [{ secret: 'cell-value-1' }, { secret: 'cell-value-2' }] };
  const answer = await service.post('/table/Some%20table/upload/json?schema=public', body);
  assert.equal(answer.status, 201);
  assert.deepEqual(await lineOf(answer), {
    reqId: answer.headers.get('x-request-id'),
    msg: 'request',
    method: 'POST',
    path: '/api/v1/table/Some%20table/upload/json',
    route: '/api/v1/table/:table_name/upload/json',
    status: 201,
    subject: 'development',
    schema: 'public',
    table: 'Some table',
    rows: 2,
    bytes: JSON.stringify(body).length,
  });
});

test('an upload of a workbook is logged with its rows and the bytes of the whole form', async () => {
  const line = await lineOf(await service.upload('/table/orders/upload/excel', workbook));
  assert.equal(line.rows, 300);
  assert((line.bytes as number) > workbook.length);
});

test('a refused request is logged with the code of its error and all known facts', async () => {
  const refused = await lineOf(
    await service.post('/table/orders/upload/json?if_exists=append', { data: [{ EAN: 'cell-value-3' }] }),
  );
  assert.equal(refused.status, 422);
  assert.equal(refused.code, 'invalid-data');
  assert.equal(refused.table, 'orders');
  assert.equal(refused.rows, undefined);
  const withoutToken = await lineOf(await service.get('/table/orders', { token: null }));
  assert.equal(withoutToken.code, 'missing-token');
  assert.equal(withoutToken.subject, undefined);
});

test('a request that is answered in the middle of its body is logged once', async () => {
  const line = await lineOf(await service.post('/nowhere', { data: 'x'.repeat(300_000) }));
  assert.equal(line.status, 404);
});

test('a request whose path cannot be decoded is logged once', async () => {
  const answer = await rawRequest(
    service.url,
    'GET /%zz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n',
  );
  assert.equal(answer.status, 400);
  const lines = await linesOf((line) => line.path === '/%zz');
  assert.equal(lines.length, 1);
  assert.equal(lines[0]!.code, 'invalid-request');
});

test('a client that disconnects in the middle of its body is logged without a status', async () => {
  const socket = await beginUpload(
    service.url,
    '/left/upload/json',
    await service.token(),
    'application/json',
  );
  socket.destroy();
  const [line] = await linesOf((line) => line.table === 'left' && 'status' in line);
  assert.equal(line!.msg, 'client disconnected');
  assert.equal(line!.status, null);
});

test('an answer that its client does not read to the end is logged once, as cut', async () => {
  await service.database.pool.query(
    `CREATE TABLE long_rows AS SELECT repeat('x', 1000000) AS a FROM generate_series(1, 15)`,
  );
  const socket = await openSocket(service.url);
  const token = await service.token();
  socket.write(
    `GET /api/v1/table/long_rows/rows HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  await once(socket, 'readable');
  socket.destroy();
  const lines = await linesOf((line) => line.table === 'long_rows' && 'status' in line);
  assert.deepEqual(
    lines.map(({ msg, status }) => ({ msg, status })),
    [{ msg: 'answer cut', status: 200 }],
  );
});

test('no token, query string or value of a cell is in the log', async () => {
  const token = await service.token({ scope: 'table:read' });
  await lineOf(await service.get('/table/orders?access_token=secret-in-query', { token }));
  await lineOf(await service.get('/table/orders', { token: 'secret-token' }));
  const output = service.output();
  for (const secret of [token, 'secret-in-query', 'secret-token', 'cell-value', 'Bearer']) {
    assert(!output.includes(secret), secret);
  }
});

test('the log has the id, the status and the time of each request, but no token and no cell', async () => {
  const child = await startChildService(service.database, { LOG_LEVEL: 'trace' });
  const token = await child.token();
  const cell = 'SECRETCELL4711';
  const path = '/table/logged/upload/json';
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(sheetOf([['a'], [cell]]))]), 'a.xlsx');
  const table = { columns: [{ name: 'a', type: 'integer' }] };
  const answers = [
    await child.post(path, { data: [{ a: cell }] }, { token }),
    await child.post(`${path}?if_exists=append`, { data: [{ a: cell, [cell]: 1 }] }, { token }),
    await child.post('/table/logged2/upload/json', { table, data: [{ a: cell }] }, { token }),
    await child.request('POST', path, {
      token,
      headers: { 'content-type': 'application/json' },
      body: `{"data":[{"a":${cell}`,
    }),
    await child.get('/table/logged', { token: `${token}x` }),
    await child.request('POST', '/table/logged3/upload/excel', {
      token,
      body: form,
    }),
    await child.get('/nowhere', { token }),
    await child.request('PUT', '/table/a', { token }),
  ];
  // Errors of the service are logged with their causes. PostgreSQL's message must not contain the cell.
  await service.database.pool.query(`CREATE TABLE failing (a text);`);
  await service.database.pool.query(
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE 'XX001' USING MESSAGE = NEW.a; END $$`,
  );
  await service.database.pool.query(
    'CREATE TRIGGER t BEFORE INSERT ON failing FOR EACH ROW EXECUTE FUNCTION fail()',
  );
  const ours = await child.post(
    '/table/failing/upload/json?if_exists=append',
    { data: [{ a: cell }] },
    { token },
  );
  assertProblem(ours, 500, 'internal-error');
  answers.push(ours);
  assert.equal(await child.end('SIGTERM'), 0);
  const output = child.output();
  const lines = output
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  for (const { status, headers } of answers) {
    const id = headers.get('x-request-id');
    const line = lines.find((one) => one.reqId === id && one.status !== undefined);
    assert.ok(line, `no line for a ${status}: ${output}`);
    assert.equal(line.status, status);
    assert.equal(typeof line.ms, 'number');
  }
  assert.ok(!output.includes(token.split('.')[2]!), 'no token');
  assert.ok(!output.includes(token.slice(0, 40)), 'no token');
  assert.ok(
    !output.includes(cell),
    output.split('\n').find((line) => line.includes(cell)),
  );
  assert.ok(!output.includes(secret), 'no secret');
  assert.ok(!output.includes(new URL(service.database.url).password), 'no password');
});
