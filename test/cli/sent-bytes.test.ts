/** The bytes that the command line sends. The buffers of a file are used again while it is sent. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { truncateSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { nodeTransport } from '../../cli/node-transport.ts';
import { openSource, type Source } from '../../cli/source.ts';
import { withDefinition } from '../../cli/with-definition.ts';
import { createClient } from '../../client/client.ts';
import { until } from '../support/until.ts';

/** The file has many chunks. */
const rowCount = 60_000;
const definition = { columns: [{ name: 'a', type: 'text' }] };

let folder: string;
let server: Server;
let received: Promise<Buffer>;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-sent-'));
  server = createServer((request, response) => {
    // Nothing reads the body.
    if (request.url?.includes('refused')) return void response.writeHead(413).end('too large');
    received = buffer(request);
    received.then(
      () => response.end('{}'),
      () => {},
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

after(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

function send(source: Source, onSent?: (bytes: number) => void, table = 'sent') {
  const { port } = server.address() as AddressInfo;
  const client = createClient({ url: `http://127.0.0.1:${port}`, transport: nodeTransport, retryMs: 0 });
  const { file, bytes, name, kind } = source;
  const form = kind === 'spreadsheet' && { definition };
  return client.load({ table, file, bytes, name, kind, onSent, ...form });
}

function lineOf(index: number): string {
  return `{"a":"${index} ${'x'.repeat(index % 97)}"}`;
}

const rows = Array.from({ length: rowCount }, (_, index) => lineOf(index));

suite('all bytes of a large file arrive in their order', () => {
  const opening = JSON.stringify({ table: definition }).slice(0, -1);
  for (const { name, content, isDefined = false, expected } of [
    { name: 'rows.json', content: `[${rows}]`, expected: `[${rows}]` },
    { name: 'defined.json', content: `[${rows}]`, isDefined: true, expected: `${opening},"data":[${rows}]}` },
    {
      name: 'defined.ndjson',
      content: rows.join('\n'),
      isDefined: true,
      expected: `${opening},"data":[${rows.join('\n,')}]}`,
    },
  ]) {
    test(name, async () => {
      const path = join(folder, name);
      await writeFile(path, content);
      const source = await openSource(path, undefined);
      await send(isDefined ? await withDefinition(source, definition) : source);
      // `assert.equal` would print both.
      assert((await received).equals(Buffer.from(expected)));
    });
  }

  test('a form', async () => {
    const path = join(folder, 'rows.csv');
    await writeFile(path, `a\n${rows.join('\n')}\n`);
    await send(await openSource(path, undefined));
    const body = await received;
    const file = await readFile(path);
    const start = body.indexOf('a\n{"a"');
    assert(body.subarray(start, start + file.length).equals(file));
    assert.match(body.toString('latin1', start + file.length), /^\r\n--tablewright-[^\r]+--\r\n$/);
  });
});

test('a chunk is sent before the next one is read', async () => {
  // No connection holds so many bytes, so a part of each chunk waits in the process.
  const chunk = Buffer.alloc(16 * 1024 * 1024);
  async function* chunks() {
    for (const value of [1, 2, 3]) yield chunk.fill(value);
  }
  await send({
    path: '-',
    name: '-',
    kind: 'json',
    bytes: undefined,
    start: '',
    file: ReadableStream.from(chunks()),
  });
  const body = await received;
  for (const value of [1, 2, 3]) {
    const part = body.subarray((value - 1) * chunk.length, value * chunk.length);
    assert(part.equals(chunk.fill(value)), `chunk ${value}`);
  }
});

test('an answer that comes before the end of the body ends the upload, and its source', async () => {
  let hasEnded = false;
  async function* chunks() {
    try {
      for (;;) yield Buffer.alloc(1024 * 1024);
    } finally {
      hasEnded = true;
    }
  }
  const file = ReadableStream.from(chunks());
  const source: Source = { path: '-', name: '-', kind: 'json', bytes: undefined, start: '', file };
  await assert.rejects(send(source, undefined, 'refused'), { name: 'ProblemError', status: 413 });
  await until('the end of the source', () => hasEnded);
});

test('an empty file is sent as an empty body', async () => {
  const path = join(folder, 'empty.ndjson');
  await writeFile(path, '');
  await send(await openSource(path, undefined));
  assert.equal((await received).length, 0);
});

test('a file that becomes shorter while it is sent is an error', async () => {
  const path = join(folder, 'shorter.ndjson');
  await writeFile(path, rows.join('\n'));
  const source = await openSource(path, undefined);
  const sending = send(source, () => truncateSync(path, 10));
  await assert.rejects(sending, /was changed while it was sent/);
});
