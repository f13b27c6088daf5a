/** The access log: one line of JSON for each request, with facts for operators and without secrets. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { type LogLine, logLines } from '../support/log-lines.ts';
import { beginUpload, rawRequest } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

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

test('no token, query string or value of a cell is in the log', async () => {
  const token = await service.token({ scope: 'table:read' });
  await lineOf(await service.get('/table/orders?access_token=secret-in-query', { token }));
  await lineOf(await service.get('/table/orders', { token: 'secret-token' }));
  const output = service.output();
  for (const secret of [token, 'secret-in-query', 'secret-token', 'cell-value', 'Bearer']) {
    assert(!output.includes(secret), secret);
  }
});
