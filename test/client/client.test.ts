/** The client for programs (`client/`) against the real service: every method, repeated requests, progress, and its size. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { openAsBlob, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import {
  type Client,
  ConnectionError,
  createClient,
  hasEnded,
  type Load,
  ProblemError,
  resultOf,
} from '../../client/client.ts';
import { fetchTransport, type Transport } from '../../client/transport.ts';
import { digestLine, structureDigest } from '../../scripts/client-types/structure.ts';
import { freePort } from '../support/free-port.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const root = join(import.meta.dirname, '..', '..');
const workbook = join(root, 'examples', 'orders.xlsx');

let service: TestService;
let client: Client;
let token: string;

before(async () => {
  service = await startTestService();
  token = await service.token();
  client = createClient({ url: `${service.url}/`, token });
});

after(() => service.stop());

const countOf = async (table: string): Promise<number> =>
  (await service.rows(`SELECT count(*)::int AS count FROM ${table}`))[0]!.count as number;

const problemOf = async (work: Promise<unknown>): Promise<ProblemError> => {
  const error = await work.then(
    () => assert.fail('the request was not refused'),
    (reason: unknown) => reason,
  );
  assert(error instanceof ProblemError, String(error));
  return error;
};

test('the types of the client are those of the OpenAPI document', async () => {
  const { body } = await service.get('/openapi.json', { token: null });
  const types = readFileSync(join(root, 'client', 'api-types.ts'), 'utf8');
  assert(types.includes(digestLine(structureDigest(body))), 'run "npm run types"');
});

test('the client has less than 6 KB when it is minified and compressed', async () => {
  const bundle = await rolldown({ input: join(root, 'client', 'client.ts'), platform: 'neutral' });
  const { output } = await bundle.generate({ minify: true });
  await bundle.close();
  assert.equal(output.length, 1);
  assert.deepEqual(output[0].imports, []);
  const bytes = gzipSync(output[0].code, { level: 9 }).length;
  assert(bytes < 6_000, `${bytes} bytes`);
});

test('a table is created, described, listed and filled, and its rows come back with all digits', async () => {
  const definition = {
    columns: [
      { name: 'id', type: 'bigint' },
      { name: 'amount', type: 'numeric' },
    ],
    constraints: { primary_key: { columns: ['id'] } },
  };
  const created = await client.createTable('Año 1/2', definition);
  assert.equal(created.table.columns[1]!.type, 'numeric');
  const again = await client.createTable('Año 1/2', definition, { if_not_exists: true });
  assert.deepEqual(again.differences, []);
  const { table } = await client.describeTable('Año 1/2');
  assert.deepEqual(table, created.table);
  const rows = [
    { id: 9007199254740993n, amount: 0.1 },
    { id: 2, amount: null },
    { id: 3, amount: '10.50' },
  ];
  const { load } = await client.load({ table: 'Año 1/2', rows, if_exists: 'append' });
  assert.equal(load.rows, 3);
  const first = await client.rows('Año 1/2', { limit: 2, order: 'id.desc' });
  assert.deepEqual(first.rows, [
    { id: '9007199254740993', amount: 0.1 },
    { id: 3, amount: '10.50' },
  ]);
  const others = await client.rows('Año 1/2', { order: 'id.desc', after: first.next! });
  assert.deepEqual(others.rows, [{ id: 2, amount: null }]);
  const file = await client.exportRows('Año 1/2', { format: 'csv', order: 'id.desc' });
  assert.equal(await new Response(file).text(), 'id,amount\n9007199254740993,0.1\n3,10.50\n2,\n');
  const tables = await Array.fromAsync(client.tables({ limit: 1 }));
  assert(tables.some(({ name }) => name === 'Año 1/2'));
  const renamed = await client.renameTable('Año 1/2', { name: 'old "1"', comment: 'x' });
  assert.deepEqual([renamed.table.name, renamed.table.comment], ['old "1"', 'x']);
  const altered = await client.alterTable('old "1"', { comment: null }, { dry_run: true });
  assert.deepEqual(
    altered.changes.map(({ change }) => change),
    ['set-comment'],
  );
  const { etag: ifMatch } = await client.describeTable('old "1"');
  assert.equal((await client.alterTable('old "1"', { comment: 'y' }, { ifMatch })).table.comment, 'y');
  const late = await client.alterTable('old "1"', { comment: 'z' }, { ifMatch }).catch((thrown) => thrown);
  assert.equal(late.code, 'precondition-failed');
  await client.dropTable('old "1"', { dry_run: true });
  await client.dropTable('old "1"');
  const error = await client.dropTable('old "1"').catch((thrown) => thrown);
  assert.equal(error.code, 'table-not-found');
  await client.dropTable('old "1"', { if_exists: true });
});

suite('every source of rows is loaded', () => {
  const rows = Array.from({ length: 2000 }, (_, n) => ({ n, text: 'ř'.repeat(20) }));
  const bytes = new TextEncoder().encode(JSON.stringify(rows));
  const lines = rows.map((row) => JSON.stringify(row)).join('\n');
  async function* generate() {
    yield* rows;
  }
  const sources = {
    array: { rows },
    set: { rows: new Set(rows) },
    generator: { rows: generate() },
    function: { rows: generate },
    bytes: { file: bytes, name: 'rows.JSON' },
    buffer: { file: bytes.buffer, kind: 'json' },
    blob: { file: new File([bytes], 'rows.json') },
    lines: { file: new File([lines], 'rows.jsonl') },
    stream: { file: new Blob([bytes]).stream(), kind: 'json' },
    'function of streams': { file: () => new Blob([bytes]).stream(), kind: 'json' },
  } as const;
  for (const [name, source] of Object.entries(sources)) {
    test(name, async () => {
      const { load } = await client.load({ table: 'sources', ...source, if_exists: 'replace' });
      assert.equal(load.rows, 2000);
    });
  }

  for (const kind of ['blob', 'stream', 'bytes'] as const) {
    test(`a workbook with a definition, as ${kind}`, async () => {
      const blob = await openAsBlob(workbook);
      const file =
        kind === 'blob' ? blob : kind === 'stream' ? () => blob.stream() : await blob.arrayBuffer();
      const name = 'a "book"\r\n.xlsx';
      const { table, load } = await client.load({
        table: 'books',
        file,
        name,
        definition: { constraints: { primary_key: { columns: ['Order no', 'Article code'] } } },
        extra_columns: 'add',
        if_exists: 'replace',
        dry_run: true,
      });
      assert.equal(load.rows, 300);
      assert.equal(table.constraints.primary_key.columns.length, 2);
    });
  }

  test('bytes that were sent are counted', async () => {
    const sent: number[] = [];
    const file = new Blob([bytes]).stream();
    await client.load({ table: 'counted', file, kind: 'json', onSent: (count) => sent.push(count) });
    assert.equal(sent.at(-1), bytes.length);
    await client.inspect({
      file: new Blob([bytes]).stream(),
      kind: 'json',
      onSent: (count) => sent.push(count),
    });
    assert.deepEqual(sent.splice(sent.length / 2), sent);
  });
});

test('rows and files are inspected', async () => {
  const json = await client.inspect({ rows: [{ a: 1 }] });
  assert('data' in json);
  assert.equal(json.data.row_count, 1);
  const sheet = await client.inspect({ file: await openAsBlob(workbook), name: 'orders.xlsx' });
  assert('sheet' in sheet);
  assert.equal(sheet.sheet.header[0], 'Order no');
});

test('cells of rows and of files are corrected', async () => {
  const patch = [{ row: 2, column: 'n', value: 2 }];
  await client.load({ table: 'corrected', rows: [{ n: 1 }, { n: 'x' }], patch });
  const file = new Blob(['n\n1\nx\n']);
  const { load } = await client.load({ table: 'corrected', file, patch, if_exists: 'append' });
  assert.deepEqual(load.corrected, [{ cell: 'A3', row: 2, column: 'n', from: 'x', to: '2' }]);
  assert.deepEqual(await service.rows('SELECT sum(n)::int AS sum FROM corrected'), [{ sum: 6 }]);
});

test('a source that is missing or doubled is an error before anything is sent', async () => {
  const file = new Blob(['[]']);
  await assert.rejects(client.load({ table: 'none' }), TypeError);
  await assert.rejects(client.load({ table: 'none', rows: [], file }), TypeError);
  await assert.rejects(client.load({ table: 'none', file, kind: 'json', definition: {} }), TypeError);
});

test('a refused upload is a ProblemError with its problems and the id of its load', async () => {
  await client.load({ table: 'whole', rows: [{ a: 1 }] });
  const rows = [{ a: 'x' }, { a: 2 }, { a: 'y' }];
  const error = await problemOf(client.load({ table: 'whole', rows, if_exists: 'append' }));
  assert.equal(error.status, 422);
  assert.equal(error.code, 'invalid-data');
  assert.deepEqual(
    error.errors.map(({ row, column, value }) => [row, column, value]),
    [
      [1, 'a', 'x'],
      [3, 'a', 'y'],
    ],
  );
  assert.equal(error.errorCount, 2);
  assert.equal(error.errorGroups[0]!.count, 2);
  assert.deepEqual(await Array.fromAsync(client.problems(error.loadId!, { limit: 1 })), error.errors);
  const load = await client.describeLoad(error.loadId!);
  assert.throws(() => resultOf(load), {
    name: 'ProblemError',
    code: 'invalid-data',
    errorCount: 2,
    loadId: load.id,
  });
});

test('all problems of a load are yielded, and come as CSV', async () => {
  const rows = Array.from({ length: 150 }, (_, n) => ({ a: n === 0 ? 0 : `x${n}` }));
  await client.load({ table: 'many', rows: rows.slice(0, 1) });
  const error = await problemOf(client.load({ table: 'many', rows, if_exists: 'append' }));
  assert.equal(error.errors.length, 100);
  const all = await Array.fromAsync(client.problems(error.loadId!));
  assert.deepEqual(
    all.map(({ value }) => value),
    rows.slice(1).map(({ a }) => a),
  );
  const csv = await client.problemsCsv(error.loadId!);
  assert.equal(csv.trim().split('\n').length, 150);
  const { body, isComplete } = await client.faultyRows(error.loadId!, { format: 'csv' });
  assert.equal(isComplete, true);
  assert.equal((await new Response(body).text()).trim().split('\n').length, 150);
});

test('the changes of a load are yielded from all pages, and a page has the counts', async () => {
  const rows = [1, 2, 3].map((id) => ({ id, a: 'x' }));
  await client.load({ table: 'revised', rows: rows.slice(0, 1), primary_key: 'id' });
  const changed = { table: 'revised', if_exists: 'append', on_conflict: 'update' } as const;
  const { load } = await client.load({ ...changed, rows: rows.map(({ id }) => ({ id, a: `y${id}` })) });
  const all = await Array.fromAsync(client.changes(load.id!, { limit: 1 }));
  assert.deepEqual(
    all.map(({ kind, cells }) => [kind, cells[0]!.old, cells[0]!.new]),
    [
      ['changed', 'x', 'y1'],
      ['inserted', undefined, 'y2'],
      ['inserted', undefined, 'y3'],
    ],
  );
  const { counts, next } = await client.changesPage(load.id!, { limit: 2 });
  assert.deepEqual([counts, next], [{ inserted: 2, changed: 1, unchanged: 0 }, 2]);
});

test('loads are listed in pages, and the state of each is its own', async () => {
  const listed: string[] = [];
  for await (const { state, table } of client.loads({ table: 'many', limit: 1 }))
    listed.push(`${table.name} ${state}`);
  assert.deepEqual(listed, ['many refused', 'many committed']);
});

suite('progress', () => {
  const followed = async (watching: Client, table: string): Promise<Load[]> => {
    const queued = await client.enqueue({ table, rows: [{ a: 1 }] });
    assert('state' in queued);
    return Array.fromAsync(watching.watch(queued.id));
  };

  test('a load is watched until it has ended, with its answer', async () => {
    const loads = await followed(client, 'watched');
    assert(hasEnded(loads.at(-1)!));
    assert.equal(resultOf(loads.at(-1)!)!.load.rows, 1);
    assert(loads.slice(0, -1).every((load) => !hasEnded(load)));
  });

  test('a load is watched by asking if a proxy answers the stream with a page', async () => {
    const transport: Transport = async (url, request) =>
      url.endsWith('/events') ? new Response('<p>proxy</p>') : fetchTransport(url, request);
    const loads = await followed(createClient({ url: service.url, token, transport }), 'polled');
    assert.equal(loads.at(-1)!.state, 'committed');
  });

  test('a stream that ends before the load is opened again', async () => {
    let opened = 0;
    const transport: Transport = async (url, request) => {
      if (url.endsWith('/events') && opened++ === 0) {
        const view = { ...(await client.describeLoad(url.split('/').at(-2)!)), state: 'running' };
        const headers = { 'content-type': 'text/event-stream' };
        return new Response(`event: state\ndata: ${JSON.stringify(view)}\n\n`, { headers });
      }
      return fetchTransport(url, request);
    };
    const loads = await followed(createClient({ url: service.url, token, transport }), 'reopened');
    assert.equal(loads[0]!.state, 'running');
    assert.equal(loads.at(-1)!.state, 'committed');
  });

  test('a signal that is already aborted ends watching at once', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await assert.rejects(client.watch('none', { signal }).next(), /enough/);
  });

  test('an unknown load cannot be watched', async () => {
    const watching = client.watch('0199d3a1-7f2b-7c44-9a3e-5d6f7a8b9c0d').next();
    assert.equal((await problemOf(watching)).code, 'load-not-found');
  });
});

suite('an upload that does not end', () => {
  /** Rows that never end: the upload runs until it is stopped. */
  async function* endless(signal: AbortSignal) {
    for (let n = 0; !signal.aborted; n++) {
      yield { n, text: 'x'.repeat(1000) };
      await new Promise((resolve) => setTimeout(resolve, n < 200 ? 0 : 20));
    }
  }
  const running = async (table: string): Promise<string> => {
    let id: string | undefined;
    await until('the record of the load', async () => {
      for await (const load of client.loads({ table, limit: 1 })) id = hasEnded(load) ? undefined : load.id;
      return id !== undefined;
    });
    return id!;
  };

  test('an upload that does not end is stopped by its signal, and its load becomes cancelled', async () => {
    const stop = new AbortController();
    const rows = () => endless(stop.signal);
    const loading = client.load({ table: 'stopped', rows, signal: stop.signal });
    loading.catch(() => {});
    const id = await running('stopped');
    stop.abort(new Error('enough'));
    await assert.rejects(loading, /enough/);
    const loads = await Array.fromAsync(client.watch(id));
    assert.equal(loads.at(-1)!.state, 'cancelled');
  });

  test('an upload that does not end is cancelled by its id', async () => {
    const end = new AbortController();
    const loading = problemOf(client.load({ table: 'cancelled', rows: endless(end.signal) }));
    loading.catch(() => {});
    const id = await running('cancelled');
    await client.cancel(id);
    assert.equal((await loading).code, 'load-cancelled');
    end.abort();
    assert.equal((await problemOf(client.cancel(id))).code, 'load-ended');
  });
});

suite('a source of rows', () => {
  /** Sends streams as a service that refuses the request after the first bytes. */
  const refusing: Transport = async (_, { body }) => {
    if (body instanceof ReadableStream) await body.getReader().read();
    return new Response('{}', { status: 409 });
  };

  for (const kind of ['rows', 'file', 'workbook'] as const) {
    test(`the error of a source of rows is the error of the upload, and the upload is not run again: ${kind}`, async () => {
      let runs = 0;
      const failure = new Error('row 2 cannot be read');
      async function* failing() {
        runs++;
        yield { a: 1 };
        throw failure;
      }
      const file = () => ReadableStream.from(failing()) as unknown as ReadableStream<Uint8Array>;
      const bytes = () =>
        file().pipeThrough(
          new TransformStream({
            transform: (row, to) => to.enqueue(new TextEncoder().encode(JSON.stringify(row))),
          }),
        );
      const source =
        kind === 'rows' ? { rows: failing } : { file: bytes, name: kind === 'file' ? 'a.json' : 'a.xlsx' };
      const onSent = kind === 'file' ? () => {} : undefined;
      await assert.rejects(
        client.load({ table: 'failing', ...source, onSent }),
        (error) => error === failure,
      );
      assert.equal(runs, 1);
    });
  }

  test('a service that answers the same page again and again ends the list with an error', async () => {
    const page = JSON.stringify({ tables: [{ schema: 'public', name: 'a' }], next: 'public.a' });
    const transport: Transport = async () =>
      new Response(page, { headers: { 'content-type': 'application/json' } });
    const repeating = createClient({ url: service.url, transport });
    await assert.rejects(Array.fromAsync(repeating.tables()), /the same page/);
  });

  test('a source of rows is ended when the request is refused or aborted, also if the transport does not cancel the body', async () => {
    let ended = 0;
    async function* endless() {
      try {
        for (;;) {
          yield { text: 'x'.repeat(1000) };
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        ended++;
      }
    }
    const early = createClient({ url: service.url, transport: refusing });
    assert.equal((await problemOf(early.load({ table: 'early', rows: endless() }))).status, 409);
    await until('the end of the rows', () => ended === 1);
    const file = new ReadableStream<Uint8Array>({
      pull: (to) => to.enqueue(new Uint8Array(100)),
      cancel: () => void ended++,
    });
    await problemOf(early.load({ table: 'early', file, name: 'a.xlsx' }));
    assert.equal(ended, 2);
    const stop = new AbortController();
    const deaf = createClient({ url: service.url, transport: () => new Promise(() => {}) });
    const rows = {
      [Symbol.iterator]: () => ({
        next: () => ({ value: { a: 1 } }),
        return: () => ({ done: true, value: ended++ }),
      }),
    };
    void deaf.load({ table: 'deaf', rows: rows as Iterable<object>, signal: stop.signal });
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    assert.equal(ended, 3);
  });
});

test('an address that is none, and answers that are not from the service, are errors that are not repeated', async () => {
  for (const [url, found] of [
    ['127.0.0.1:8080', 'is "127.0.0.1:8080"'],
    [undefined, 'is missing'],
    ['http://user:secret@localhost/', 'has a user name'],
    ['http://localhost/?', 'is "http://localhost/?"'],
  ] as const) {
    assert.throws(() => createClient({ url: url! }), {
      name: 'TypeError',
      message: `The option "url" of createClient ${found}. It must be the address of the service, such as http://127.0.0.1:8080, without a user name, "?" and "#".`,
    });
  }
  const page = () => new Response('<p>proxy</p>', { headers: { 'content-type': 'text/html' } });
  const moved = new Response(null, { status: 302, headers: { location: 'https://login/' } });
  const none = new Response('null', { status: 502, headers: { 'content-type': 'application/problem+json' } });
  const answers: [Response, (client: Client) => Promise<unknown>, RegExp][] = [
    [page(), (client) => client.describeTable('a'), /not from Tablewright/],
    [new Response(null, { status: 204 }), (client) => client.describeTable('a'), /not from Tablewright/],
    [new Response('<p>'), (client) => client.describeTable('a'), /not from Tablewright/],
    [page(), (client) => client.dropTable('a'), /not from Tablewright/],
    [page(), (client) => client.deleteProfile('a'), /not from Tablewright/],
    [page(), (client) => client.exportRows('a', { format: 'csv' }), /not from Tablewright/],
    [page(), (client) => client.faultyRows('a', { format: 'csv' }), /not from Tablewright/],
    [moved, (client) => client.describeTable('a'), /redirects to https:\/\/login\//],
    [none, (client) => client.describeTable('a'), /HTTP status 502/],
  ];
  for (const [answer, call, said] of answers) {
    const onRetry = () => assert.fail('it was repeated');
    const other = createClient({ url: service.url, transport: async () => answer, onRetry, retryMs: 0 });
    const error = await problemOf(call(other));
    assert.match(error.title, said);
    assert.equal(error.status, answer.status);
  }
});

test('the fetch transport does not follow redirections', async () => {
  const server = createHttpServer((_, answer) => void answer.writeHead(307, { location: service.url }).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const moved = createClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token });
    assert.equal((await problemOf(moved.load({ table: 'moved', rows: [{ a: 1 }] }))).status, 307);
  } finally {
    server.close();
  }
});

test('a bigint keeps all its digits in runtimes without JSON.rawJSON', async () => {
  const json = JSON as { rawJSON?: unknown };
  const { rawJSON } = json;
  delete json.rawJSON;
  try {
    const { toJson } = (await import(
      `${join(root, 'client', 'exact-json.ts')}?without`
    )) as typeof import('../../client/exact-json.ts');
    const written = toJson({ a: -9007199254740993n, b: '1', c: [2n] });
    assert.equal(written, '{"a":-9007199254740993,"b":"1","c":[2]}');
  } finally {
    json.rawJSON = rawJSON;
  }
});

suite('requests are repeated', () => {
  /** Passes connections on to the service. The first ones are lost: before the request, or before the answer. */
  async function startLossyProxy(
    lossOf: (connection: number) => 'request' | 'answer' | undefined,
    onAnswerLost: () => Promise<void> = async () => {},
  ) {
    let count = 0;
    const sockets = new Set<Socket>();
    const proxy = createServer((incoming) => {
      const loss = lossOf(count++);
      sockets.add(incoming);
      incoming.on('error', () => {});
      if (loss === 'request') {
        incoming.destroy();
        return;
      }
      const outgoing = connect(Number(new URL(service.url).port), '127.0.0.1');
      outgoing.on('error', () => incoming.destroy());
      outgoing.on('close', () => incoming.destroy());
      incoming.on('close', () => outgoing.destroy());
      incoming.pipe(outgoing);
      if (loss === 'answer') outgoing.once('data', () => onAnswerLost().finally(() => incoming.destroy()));
      else outgoing.pipe(incoming);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    return {
      url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
      count: () => count,
      close: async () => {
        for (const socket of sockets) socket.destroy();
        proxy.close();
        await once(proxy, 'close');
      },
    };
  }

  test('an upload whose answer is lost is loaded once', async () => {
    const proxy = await startLossyProxy((connection) => (connection < 2 ? 'answer' : undefined));
    try {
      const lossy = createClient({ url: proxy.url, token });
      const { load } = await lossy.load({ table: 'lossy', rows: [{ a: 1 }, { a: 2 }] });
      assert.equal(load.rows, 2);
      assert(proxy.count() >= 3);
      assert.equal(await countOf('lossy'), 2);
    } finally {
      await proxy.close();
    }
  });

  test('an upload of an iterator, and an upload with retryMs: 0, are not repeated', async () => {
    const proxy = await startLossyProxy(() => 'request');
    try {
      const once = createClient({ url: proxy.url, token });
      await assert.rejects(once.load({ table: 'once', rows: [{ a: 1 }].values() }), ConnectionError);
      const never = createClient({ url: proxy.url, token, retryMs: 0 });
      await assert.rejects(never.load({ table: 'once', rows: [{ a: 1 }] }), ConnectionError);
      assert.equal(proxy.count(), 2);
    } finally {
      await proxy.close();
    }
  });

  test('a request that is refused is sent once', async () => {
    let sent = 0;
    const transport: Transport = (url, request) => {
      sent++;
      return fetchTransport(url, request);
    };
    const refused = createClient({ url: service.url, token: () => 'no token', transport });
    assert.equal((await problemOf(refused.load({ table: 'refused', rows: [] }))).code, 'invalid-token');
    assert.equal(sent, 1);
  });

  suite('a refusal after a lost answer', () => {
    /** Loses the first answer, and passes everything on after `onLost`. */
    const afterLoss = async (onLost: () => Promise<void>, work: (url: string) => Promise<unknown>) => {
      const proxy = await startLossyProxy((connection) => (connection === 0 ? 'answer' : undefined), onLost);
      try {
        const refused = await problemOf(work(proxy.url));
        assert(proxy.count() >= 2);
        return refused;
      } finally {
        await proxy.close();
      }
    };
    const noWait = async (): Promise<void> => {};
    const isLoaded = (table: string) => () =>
      until(
        'the load',
        async () => (await service.rows(`SELECT to_regclass('${table}') AS t`))[0]!.t !== null,
      );
    const tokensOnce = (): (() => string) => {
      let asked = 0;
      return () => (asked++ === 0 ? token : 'expired');
    };

    test('says so if it does not end the load: the rows are in the table', async () => {
      const refused = await afterLoss(isLoaded('unseen'), (url) =>
        createClient({ url, token: tokensOnce() }).load({ table: 'unseen', rows: [{ a: 1 }] }),
      );
      assert.deepEqual([refused.code, refused.followsLostAnswer], ['invalid-token', true]);
      assert.equal(await countOf('unseen'), 1);
    });

    test('says so if the second attempt has other rows', async () => {
      let read = 0;
      const refused = await afterLoss(isLoaded('changing'), (url) =>
        createClient({ url, token }).load({ table: 'changing', rows: () => [{ a: read++ }].values() }),
      );
      assert.deepEqual([refused.code, refused.followsLostAnswer], ['idempotency-key-reused', true]);
      assert.deepEqual(await service.rows('SELECT a::int FROM changing'), [{ a: 0 }]);
    });

    test('ends the request if the service keeps it, or has begun the load again', async () => {
      const load = (options: object) => (url: string) =>
        createClient({ url, token }).load({ table: 'absent', rows: [{ a: 1 }], ...options });
      const refusals = {
        'invalid-parameter': load({ if_exists: 'never' }),
        'invalid-data': load({ table: 'unseen', rows: [{ a: 'x' }], if_exists: 'append' }),
        'table-exists': (url: string) =>
          createClient({ url, token }).createTable('unseen', { columns: [{ name: 'a', type: 'text' }] }),
        'table-not-found': load({ if_exists: 'append', if_missing: 'fail' }),
      };
      for (const [code, work] of Object.entries(refusals)) {
        const refused = await afterLoss(noWait, work);
        assert.deepEqual([refused.code, refused.followsLostAnswer], [code, false]);
      }
    });

    test('ends the request if nothing was sent before', async () => {
      const port = await freePort();
      let sent = 0;
      const transport: Transport = (url, request) =>
        fetchTransport(sent++ === 0 ? url.replace(/:\d+/, `:${port}`) : url, request);
      const unreached = createClient({ url: service.url, token: tokensOnce(), transport });
      const refused = await problemOf(unreached.load({ table: 'absent', rows: [] }));
      assert.deepEqual([sent, refused.code, refused.followsLostAnswer], [2, 'invalid-token', false]);
    });
  });

  test('a signal ends the pauses', async () => {
    const proxy = await startLossyProxy(() => 'request');
    try {
      const signal = AbortSignal.timeout(50);
      const unreached = createClient({ url: proxy.url, token });
      await assert.rejects(unreached.describeTable('none', { signal }), { name: 'TimeoutError' });
    } finally {
      await proxy.close();
    }
  });
});

test('a service without records is used without keys', async () => {
  const plain = await startTestService({ SERVICE_SCHEMA: 'none' });
  try {
    const without = createClient({ url: plain.url, token: await plain.token() });
    const { load } = await without.load({ table: 'plain', rows: [{ a: 1 }] });
    assert.equal(load.id, undefined);
    assert('load' in (await without.enqueue({ table: 'plain', rows: [{ a: 1 }], if_exists: 'append' })));
  } finally {
    await plain.stop();
  }
});

suite('docs/client.md', () => {
  const page = readFileSync(join(root, 'docs', 'client.md'), 'utf8');
  const examples = [...page.matchAll(/^```ts\n(.*?)^```$.*?^```text\n(.*?)^```$/gms)];

  for (const [index, [, code, printed]] of examples.entries()) {
    test(`example ${index + 1} prints what the page shows`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'tablewright-example-'));
      try {
        const file = join(folder, 'example.ts');
        await writeFile(
          file,
          code!.replaceAll("'tablewright/client'", `'${join(root, 'client', 'client.ts')}'`),
        );
        const env = { ...process.env, TABLEWRIGHT_URL: service.url, TABLEWRIGHT_TOKEN: token };
        const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
        assert.equal(stdout, printed);
      } finally {
        await rm(folder, { recursive: true });
      }
    });
  }

  test('docs/client.md names every method', () => {
    const rows = [...page.matchAll(/^\| `(\w+)\(/gm)].map(([, name]) => name);
    assert.deepEqual(rows.toSorted(), Object.keys(client).toSorted());
    assert.equal(examples.length, 2);
  });
});
