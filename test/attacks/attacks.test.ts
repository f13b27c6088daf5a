/**
 * Requests that try to cost the service memory or time. Each line of the table has what is sent, what must be answered, how
 * much memory the process may take, and how long the event loop may work while another client waits for a description. Hostile
 * workbooks are in hostile-workbooks.test.ts.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { openSocket } from '../support/raw-http.ts';
import { sized } from '../support/sized.ts';
import { type SteadyClient, startSteadyClient } from '../support/steady-client.ts';
import { buildZip } from '../support/xlsx-builder.ts';

const mebibyte = 2 ** 20;
/** The limit of the service for one value. */
const maxCellBytes = sized(2, 16) * mebibyte;
/** The length of one long value, key or run of white space in an attack. */
const hugeBytes = sized(4, 100) * mebibyte;
/** The number of small items in an attack. */
const many = sized(200_000, 1_000_000);

/** The default for all lines. The process takes about 120 MiB before the first attack. */
const mostMemory = 350 * mebibyte;
/** The most processor time of a probe, in milliseconds. A slow machine may need several times the measured time. */
const mostProbeMs = 300;

interface Attack {
  name: string;
  /** Sends the attack and returns the status of each answer; 0: the connection was closed without an answer. */
  send: () => Promise<number[]>;
  /** The allowed statuses. */
  statuses: number[];
  memoryBytes?: number;
  probeMs?: number;
}

let service: ChildWithDatabase;
let token: string;
let probe: SteadyClient;

before(async () => {
  service = await startChildWithDatabase({
    MAX_CELL_BYTES: String(maxCellBytes),
    MAX_ROW_BYTES: String(4 * maxCellBytes),
  });
  token = await service.token({ ttlSeconds: 3600 });
  await service.database.pool.query('CREATE TABLE probe (a int PRIMARY KEY, b text)');
  const url = new URL('/api/v1/table/probe', service.url);
  probe = startSteadyClient(url, token, 20, service.child.pid!);
  await probe.ready;
});
after(async () => {
  await probe?.stop(Date.now());
  await service?.stop('SIGKILL');
});

const attacks: Attack[] = [
  // JSON.
  { name: 'arrays within arrays', statuses: [413], send: () => inRow(['{"a":', repeated('[', hugeBytes)]) },
  {
    name: 'objects within objects',
    statuses: [413],
    send: () => inRow(['{"a":', repeated('{"a":', hugeBytes)]),
  },
  { name: 'a text without end', statuses: [413], send: () => inRow(['{"a":"', repeated('x', hugeBytes)]) },
  {
    name: 'a text of escapes',
    statuses: [413],
    send: () => inRow(['{"a":"', repeated('\\u00e9', hugeBytes * 3)]),
  },
  { name: 'a key without end', statuses: [413], send: () => inRow(['{"', repeated('k', hugeBytes)]) },
  { name: 'a number without end', statuses: [413], send: () => inRow(['{"a":', repeated('7', hugeBytes)]) },
  {
    name: 'a number that a column cannot hold',
    statuses: [422],
    send: () => upload([definition('numeric'), '"data":[{"a":', repeated('7', maxCellBytes - 1), '}]}']),
  },
  {
    name: 'blanks before the document',
    statuses: [413],
    send: () => upload([repeated(' ', hugeBytes), '{}']),
  },
  {
    name: 'blanks before the rows',
    statuses: [413],
    send: () => upload(['{', repeated(' ', 3 * hugeBytes), '"data":[{"a":1}]}']),
  },
  {
    name: 'blanks between rows',
    statuses: [200],
    send: () => upload(['{"data":[{"a":1}', repeated(' ', hugeBytes), ']}']),
  },
  {
    name: 'a row of very many keys',
    statuses: [413, 422],
    send: () => inRow(['{', ...numbered(many, (n) => `"k${n}":1,`), '"z":1}]}']),
  },
  {
    name: 'a new key in each row',
    statuses: [413, 422],
    send: () => upload(['{"data":[', ...numbered(many, (n) => `{"k${n}":1},`), '{}]}']),
  },
  {
    name: 'the same key again and again in a row',
    probeMs: 600,
    statuses: [422],
    send: () => inRow(['{', repeated('"a":1,', many * 6), '"a":1}]}']),
  },
  {
    name: 'rows without a value',
    statuses: [422],
    send: () => upload(['{"data":[{}', repeated(',{}', many * 3), ']}']),
  },
  {
    name: 'nothing but faulty cells',
    probeMs: 600,
    statuses: [422],
    send: () => upload([definition('integer'), '"data":[{"a":"x"}', repeated(',{"a":"x"}', many * 10), ']}']),
  },
  {
    name: 'an XML bomb in a column of type xml',
    statuses: [422],
    send: () => upload([definition('xml'), `"data":[${JSON.stringify({ a: xmlBomb() })}]}`]),
  },
  // Definitions.
  {
    name: 'a definition of many columns',
    statuses: [413, 422],
    probeMs: 800,
    send: () => create({ columns: numberedColumns(20_000, { type: 'int' }) }),
  },
  {
    name: 'a definition of many constraints',
    statuses: [201],
    send: () => {
      const unique = Array.from({ length: 100 }, (_, n) => ({
        name: '',
        columns: [`c${n % 100}`, `c${(n * 7 + Math.floor(n / 100) + 1) % 100}`],
      }));
      const columns = numberedColumns(100, { type: 'int' });
      return create({ columns, constraints: { unique } }, 'attack_constraints');
    },
  },
  {
    name: 'a definition whose defaults PostgreSQL would pad to gigabytes',
    statuses: [422],
    send: () => create({ columns: numberedColumns(60, { type: 'char(10485760)', default: 'x' }) }),
  },
  {
    name: 'a row that PostgreSQL would pad to gigabytes',
    statuses: [422],
    send: () => {
      const columns = numberedColumns(60, { type: 'char(10485760)' });
      const row = Object.fromEntries(columns.map(({ name }) => [name, 'x']));
      return upload([JSON.stringify({ table: { columns }, data: [row] })]);
    },
  },
  {
    name: 'a default within a default',
    statuses: [422],
    send: () =>
      create({ columns: [{ name: 'a', type: 'json', default: `${'json_build_array('.repeat(50_000)}1` }] }),
  },
  {
    name: 'a definition over the limit',
    statuses: [413],
    send: () => send('POST', '/api/v1/table/attack', json, [repeated(' ', 2 * mebibyte), '{}']),
  },
  {
    name: 'large definitions at the same time',
    statuses: [201, 409, 503],
    probeMs: 1000,
    send: () =>
      together(sized(6, 30), (n) =>
        create(
          { columns: [{ name: 'a', type: 'text', default: 'x'.repeat(500_000) }] },
          `attack_definition_${n}`,
        ),
      ),
  },
  // Forms and text files.
  {
    name: 'very many parts',
    statuses: [400, 413, 422],
    send: () => form([repeated(`--p\r\n${partHead('x')}\r\n`, many * 60)]),
  },
  {
    name: 'very many headers in a part',
    statuses: [400, 413, 422],
    send: () => form(['--p\r\n', repeated('X-A: b\r\n', many * 8), '\r\n\r\n--p--\r\n']),
  },
  {
    name: 'a form without its boundary',
    statuses: [400, 413, 422],
    send: () => form([repeated('x', hugeBytes)]),
  },
  { name: 'a line without end', statuses: [413], send: () => file([repeated('x', hugeBytes)]) },
  { name: 'an open quote', statuses: [413, 422], send: () => file(['a,b\n1,"', repeated('x\n', hugeBytes)]) },
  { name: 'nothing but separators', statuses: [413, 422], send: () => file([repeated(',', hugeBytes)]) },
  {
    name: 'nothing but NULs',
    statuses: [400, 413, 422],
    send: () => file(['a\n', repeated('\0', hugeBytes)]),
  },
  // Packed bodies.
  ...(['gzip', 'deflate', 'br', 'zstd'] as const).map(
    (encoding): Attack => ({
      name: `a body in ${encoding} that unpacks to a thousand times its size`,
      statuses: [413],
      send: () => packed(encoding),
    }),
  ),
  // Rows whose values are allowed one by one.
  {
    name: 'a row of many long values, into a table that is known',
    statuses: [413],
    memoryBytes: 400 * mebibyte,
    send: () => upload([longColumns(), '"data":[{', ...longCells((n) => `"c${n}":"`, '"'), '}]}']),
  },
  {
    name: 'a row of many long values, whose types are inferred',
    statuses: [413],
    memoryBytes: 400 * mebibyte,
    send: () => inRow(['{', ...longCells((n) => `"c${n}":"`, '"'), '}]}']),
  },
  {
    name: 'a line of many long values',
    statuses: [413],
    send: () => file([`${longNames.join(',')}\n`, ...longCells(() => '', '')]),
  },
  {
    name: 'an .ods that repeats a long value thousands of times',
    statuses: [413],
    send: () => file([repeatingOds()]),
  },
  // HTTP.
  { name: 'a body that states a size over the limit', statuses: [413], send: () => stated('11000000000') },
  {
    name: 'a token of a megabyte',
    statuses: [431, 0],
    send: () => raw(`Authorization: Bearer ${'x'.repeat(mebibyte)}`),
  },
  {
    name: 'a body with two lengths',
    statuses: [400, 0],
    send: () => raw('Content-Length: 5\r\nContent-Length: 6'),
  },
  {
    name: 'a body with a length and chunks',
    statuses: [400, 0],
    send: () => raw('Content-Length: 5\r\nTransfer-Encoding: chunked'),
  },
  {
    name: 'one byte in each chunk, by eight clients without a token',
    statuses: [400, 401, 0],
    send: () => together(8, () => tinyChunks()),
  },
  {
    name: 'thousands of requests in one piece',
    statuses: [200],
    send: () => pipelined(sized(5000, 20_000)),
  },
  { name: 'connections that say nothing', statuses: [200], send: () => silent(sized(200, 1500)) },
  {
    name: 'uploads that wait for a place',
    statuses: [200, 429],
    send: () => together(60, () => upload(['{"data":[{"a":1}', repeated(',{"a":1}', 100_000), ']}'])),
  },
];

for (const { name, send, statuses, memoryBytes = mostMemory, probeMs = mostProbeMs } of attacks) {
  test(`${name} takes bounded memory, and other requests are answered`, async (context) => {
    await probe.take();
    service.resetPeakMemory();
    const startedAt = performance.now();
    const answered = await send();
    const elapsedMs = performance.now() - startedAt;
    const longest = (await probe.take()).at(-1)!;
    const peak = service.peakMemoryBytes() ?? 0;
    const counts = Object.entries(Object.groupBy(answered, String)).map(
      ([status, all]) => `${all!.length} × ${status}`,
    );
    context.diagnostic(
      `${counts.join(', ')} in ${Math.round(elapsedMs)} ms, ${Math.round(peak / mebibyte)} MiB, probe ${Math.round(longest)} ms`,
    );
    for (const status of answered) assert.ok(statuses.includes(status), `answered ${status}`);
    assert.ok(peak < memoryBytes, `${Math.round(peak / mebibyte)} MiB`);
    assert.ok(longest < probeMs, `another client was held up for ${longest} ms of processor time`);
    assert.equal((await service.get('/readyz')).status, 200);
  });
}

type Piece = string | Buffer | Repeated;

/** Yields a text again and again, without holding all of it in memory. */
interface Repeated {
  text: string;
  bytes: number;
}

function repeated(part: string, bytes: number): Repeated {
  return { text: part, bytes };
}

function numbered(count: number, make: (n: number) => string): string[] {
  const pieces: string[] = [];
  for (let first = 0; first < count; first += 10_000) {
    let piece = '';
    for (let n = first; n < Math.min(first + 10_000, count); n += 1) piece += make(n);
    pieces.push(piece);
  }
  return pieces;
}

function* chunksOf(pieces: Piece[]): Generator<Buffer> {
  for (const piece of pieces) {
    if (typeof piece === 'string' || Buffer.isBuffer(piece)) {
      yield Buffer.from(piece as string);
      continue;
    }
    const unit = Buffer.from(piece.text);
    const block = Buffer.alloc(Math.max(1, Math.floor(65_536 / unit.length)) * unit.length, unit);
    for (let left = piece.bytes; left >= unit.length; left -= block.length) {
      yield left >= block.length ? block : block.subarray(0, left - (left % unit.length));
    }
  }
}

const json = { 'content-type': 'application/json' };

function definition(type: string): string {
  return `{"table":{"columns":[{"name":"a","type":"${type}"}]},`;
}

const longNames = Array.from({ length: 30 }, (_, n) => `c${n}`);

function longColumns(): string {
  return `{"table":${JSON.stringify({ columns: longNames.map((name) => ({ name, type: 'text' })) })},`;
}

/** Values that are as long as MAX_CELL_BYTES allows. */
function longCells(begin: (n: number) => string, end: string): Piece[] {
  return longNames.flatMap((_, n) => [
    `${n === 0 ? '' : ','}${begin(n)}`,
    repeated('x', maxCellBytes - 1),
    end,
  ]);
}

/** Sends a compressed body with very much white space between two rows. */
function packed(encoding: keyof typeof packers): Promise<number[]> {
  const blanks = Buffer.alloc(sized(60, 300) * mebibyte, ' ');
  const body = packers[encoding](Buffer.concat([Buffer.from('{"data":[{"a":1}'), blanks, Buffer.from(']}')]));
  const headers = { ...json, 'content-encoding': encoding };
  return send('POST', '/api/v1/table/attack/upload/json?dry_run=true', headers, [body]);
}

const packers = {
  gzip: (bytes: Buffer) => gzipSync(bytes),
  deflate: (bytes: Buffer) => deflateSync(bytes),
  br: (bytes: Buffer) =>
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MIN_QUALITY } }),
  zstd: (bytes: Buffer) => zstdCompressSync(bytes),
};

/** Returns a workbook of a few hundred kilobytes that unpack to gigabytes. */
function repeatingOds(): Buffer {
  const type = 'application/vnd.oasis.opendocument.spreadsheet';
  const cell = (value: string): string =>
    `<table:table-cell office:value-type="string"><text:p>${value}</text:p></table:table-cell>`;
  // The content is random, so that it cannot be packed to almost nothing.
  const value = randomBytes(mebibyte / 2).toString('hex');
  const rows = `<table:table-row>${cell('a')}</table:table-row><table:table-row table:number-rows-repeated="5000">${cell(value)}</table:table-row>`;
  const names = ['office', 'table', 'text'].map(
    (name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`,
  );
  const manifest = `<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="${type}"/></manifest:manifest>`;
  return buildZip([
    { name: 'mimetype', data: type, isStored: true },
    {
      name: 'content.xml',
      data: `<?xml version="1.0"?><office:document-content ${names.join(' ')}><office:body><office:spreadsheet><table:table table:name="S">${rows}</table:table></office:spreadsheet></office:body></office:document-content>`,
    },
    { name: 'META-INF/manifest.xml', data: `<?xml version="1.0"?>${manifest}` },
  ]);
}

function upload(pieces: Piece[]): Promise<number[]> {
  return send('POST', '/api/v1/table/attack/upload/json?dry_run=true', json, pieces);
}

function inRow(pieces: Piece[]): Promise<number[]> {
  return upload(['{"data":[', ...pieces]);
}

function create(table: unknown, name = 'attack'): Promise<number[]> {
  return send('POST', `/api/v1/table/${name}`, json, [JSON.stringify({ table })]);
}

function numberedColumns(count: number, column: { type: string; default?: string }) {
  return Array.from({ length: count }, (_, n) => ({ name: `c${n}`, ...column }));
}

function partHead(name: string): string {
  return `Content-Disposition: form-data; name="${name}"; filename="${name}"\r\n\r\n`;
}

function form(pieces: Piece[]): Promise<number[]> {
  const headers = { 'content-type': 'multipart/form-data; boundary=p' };
  return send('POST', '/api/v1/table/attack/upload/excel?dry_run=true', headers, pieces);
}

function file(pieces: Piece[]): Promise<number[]> {
  return form([`--p\r\n${partHead('file')}`, ...pieces, '\r\n--p--\r\n']);
}

/** Sends a body in pieces, as fast as the service reads it, and stops when the answer comes. */
async function send(
  method: string,
  path: string,
  headers: Record<string, string>,
  pieces: Piece[],
): Promise<number[]> {
  const request = httpRequest(new URL(path, service.url), {
    method,
    agent: false,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  let isAnswered = false;
  const status = new Promise<number>((resolve) => {
    request.once('response', async (response) => {
      isAnswered = true;
      await text(response).catch(() => {});
      resolve(response.statusCode!);
      request.destroy();
    });
    // Writing after the answer breaks the connection.
    request.on('error', () => isAnswered || resolve(0));
    request.once('close', () => isAnswered || resolve(0));
  });
  for (const chunk of chunksOf(pieces)) {
    if (isAnswered || request.destroyed) break;
    if (!request.write(chunk)) {
      await Promise.race([once(request, 'drain').catch(() => {}), status]);
    }
  }
  if (!isAnswered) request.end();
  return [await status];
}

async function together(count: number, work: (n: number) => Promise<number[]>): Promise<number[]> {
  return (await Promise.all(Array.from({ length: count }, (_, n) => work(n)))).flat();
}

/** Returns the status of each answer that comes until the connection closes. */
async function statusesOn(socket: Socket, bytes: string | Buffer): Promise<number[]> {
  let received = '';
  socket.on('data', (data: Buffer) => {
    received += data.toString('latin1');
  });
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  await Promise.race([closed, sleep(20_000, undefined, { ref: false })]);
  socket.destroy();
  const answers = [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  return answers.length === 0 ? [0] : answers;
}

async function raw(headers: string): Promise<number[]> {
  const head = `POST /api/v1/table/attack HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`;
  return statusesOn(await openSocket(service.url), `${head}{"a":1}`);
}

function stated(length: string): Promise<number[]> {
  const headers = { ...json, 'content-length': length, expect: '100-continue' };
  return send('POST', '/api/v1/table/attack/upload/json', headers, []);
}

async function tinyChunks(): Promise<number[]> {
  const head =
    'POST /api/v1/table/attack/upload/json HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
  return statusesOn(await openSocket(service.url), head + '1\r\n \r\n'.repeat(sized(100_000, 400_000)));
}

async function pipelined(count: number): Promise<number[]> {
  const requests = 'GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n'.repeat(count);
  return statusesOn(await openSocket(service.url), requests);
}

/**
 * Returns the status of another request that is sent meanwhile. It has a connection of its own, because the service may have closed the
 * idle ones of other requests for the silent ones.
 */
async function silent(count: number): Promise<number[]> {
  const sockets = await Promise.all(Array.from({ length: count }, () => openSocket(service.url)));
  try {
    const head = `GET /api/v1/table/probe HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    return await statusesOn(await openSocket(service.url), head);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Entities that expand to gigabytes. */
function xmlBomb(): string {
  const names = [...'abcdefghij'];
  const entities = names.map(
    (name, n) => `<!ENTITY ${name} "${n === 0 ? 'ha' : `&${names[n - 1]};`.repeat(10)}">`,
  );
  return `<!DOCTYPE x [${entities.join('')}]><x>&j;</x>`;
}
