/** Requests that a client sends on one connection before it has the answers to earlier ones. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { openSocket } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

let service: ChildWithDatabase;

before(async () => {
  service = await startChildWithDatabase();
});
after(async () => {
  await service?.stop('SIGKILL');
});

const small = 'GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n';

/**
 * Sends everything and reads until the service closes the connection.
 *
 * @returns the answers with their heads and bodies
 */
async function answersTo(bytes: string): Promise<string[]> {
  const socket = await openSocket(service.url);
  const received: Buffer[] = [];
  socket.on('data', (data: Buffer) => received.push(data));
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  return Buffer.concat(received)
    .toString()
    .split(/(?=HTTP\/1\.1 \d)/);
}

function statusOf(answer: string): number {
  return Number(answer.split(' ')[1]);
}

test('a request sees the effects of the request before it on the same connection', async () => {
  const head = `HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${await service.token()}\r\n`;
  const post = (path: string, body: string) =>
    `POST /api/v1/table/${path} ${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const create = post('piped', '{"table":{"columns":[{"name":"a","type":"int"}]}}');
  const append = post('piped/upload/json?if_exists=append', '{"data":[{"a":1}]}');
  const again = post('piped', '{"table":{"columns":[{"name":"a","type":"int"}]}}');
  const describe = `GET /api/v1/table/piped ${head}Connection: close\r\n\r\n`;
  const answers = await answersTo(create + append + again + describe);
  assert.deepEqual(answers.map(statusOf), [201, 200, 409, 200]);
});

test('only 101 of many pipelined requests are answered, and the last answer closes the connection', async () => {
  const answers = await answersTo(small.repeat(20_000));
  assert.equal(answers.length, 101);
  for (const answer of answers) assert.equal(statusOf(answer), 200);
  assert.match(answers.at(-1)!, /^connection: close/im);
  for (const answer of answers.slice(0, -1)) assert.doesNotMatch(answer, /^connection: close/im);
  assert.equal((await service.get('/healthz')).status, 200);
});

test('a client that pipelines thousands of requests again and again costs little processor time', async (context) => {
  const bytes = small.repeat(20_000);
  await answersTo(bytes);
  const before = service.processorMs() ?? 0;
  const rounds = 5;
  for (let round = 0; round < rounds; round += 1) await answersTo(bytes);
  const each = ((service.processorMs() ?? 0) - before) / rounds;
  context.diagnostic(`${each} ms of processor time for 20,000 requests`);
  assert.ok(each < 400, `${each} ms`);
});

test('the error for bytes that are not HTTP comes after the answer to the request before', async () => {
  const head = `HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${await service.token()}\r\n`;
  const answers = await answersTo(`GET /api/v1/table/nowhere ${head}\r\nnonsense\r\n\r\n`);
  assert.deepEqual(answers.map(statusOf), [404]);
});

test('waiting requests are not run after the client has disconnected', async () => {
  await service.database.pool.query('CREATE TABLE locked (a int)');
  const other = await service.database.pool.connect();
  await other.query('BEGIN; LOCK TABLE locked');
  const socket = await openSocket(service.url);
  const head = `HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${await service.token()}\r\nContent-Type: application/json\r\n`;
  const post = (path: string, body: string) =>
    `POST /api/v1/table/${path} ${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  socket.write(
    post('locked/upload/json?if_exists=append', '{"data":[{"a":1}]}') +
      post('unwanted', '{"table":{"columns":[{"name":"a","type":"int"}]}}'),
  );
  const isWaiting = async () => {
    const { rowCount } = await service.database.pool.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    return rowCount === 1;
  };
  await until('the first request to wait for the lock', isWaiting);
  socket.destroy();
  await until('the first request to end', async () => !(await isWaiting()));
  await other.query('ROLLBACK');
  other.release();
  assert.equal((await service.get('/healthz')).status, 200);
  const { rows } = await service.database.pool.query("SELECT to_regclass('unwanted') AS found");
  assert.equal(rows[0].found, null);
});
