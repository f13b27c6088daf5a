/** Bodies with a Content-Encoding: which are unpacked, which are refused, and what hostile ones cost. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';
import { until } from '../support/until.ts';

/** The streams of node:zlib that received bytes during the tests of this file, including those of the service. */
const unpackers = new Set<{ destroyed: boolean }>();
const zlibStream = Object.getPrototypeOf(Object.getPrototypeOf(zlib.Gunzip.prototype));
const transform = zlibStream._transform;
assert.equal(typeof transform, 'function');

const MIB = 1024 * 1024;
const packers: Record<string, (body: Buffer) => Buffer> = {
  gzip: (body) => zlib.gzipSync(body),
  'x-gzip': (body) => zlib.gzipSync(body),
  deflate: (body) => zlib.deflateSync(body),
  br: (body) => zlib.brotliCompressSync(body),
  zstd: (body) => zlib.zstdCompressSync(body),
};

let service: TestService;
before(async () => {
  zlibStream._transform = function (this: { destroyed: boolean }, ...all: unknown[]) {
    unpackers.add(this);
    return transform.apply(this, all);
  };
  service = await startTestService({ MAX_BODY_BYTES: String(64 * MIB) });
});
after(() => {
  zlibStream._transform = transform;
  return service.stop();
});

const nextTable = tableNames('t');

const rows = Array.from({ length: 5000 }, (_, id) => ({ id, text: `é ${Math.sin(id)}` }));
const body = Buffer.from(JSON.stringify({ data: rows }));

const send = (path: string, packed: Buffer | ReadableStream, encoding: string, type = 'application/json') =>
  service.request('POST', path, {
    body: packed,
    headers: { 'content-type': type, 'content-encoding': encoding },
  });

async function assertLoaded(name: string): Promise<void> {
  const [found] = await service.rows(
    `SELECT count(*)::int AS count, min(text) FILTER (WHERE id = 4999) AS last FROM ${name}`,
  );
  assert.deepEqual(found, { count: 5000, last: rows.at(-1)!.text });
}

suite('a packed body', () => {
  for (const [encoding, pack] of Object.entries(packers)) {
    test(`a packed body in ${encoding} is unpacked on every path`, async () => {
      const name = nextTable();
      const table = {
        columns: [
          { name: 'id', type: 'int' },
          { name: 'text', type: 'text' },
        ],
      };
      const created = await send(`/table/${name}`, pack(Buffer.from(JSON.stringify({ table }))), encoding);
      assert.equal(created.status, 201, JSON.stringify(created.body));
      const loaded = await send(`/table/${name}/upload/json?if_exists=append`, pack(body), encoding);
      assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
      await assertLoaded(name);
      const inferred = nextTable();
      assert.equal(
        (await send(`/table/${inferred}/upload/json`, pack(body), encoding.toUpperCase())).status,
        201,
      );
      await assertLoaded(inferred);

      const form = new FormData();
      form.append('file', new Blob([await readFile(new URL('../../examples/orders.xlsx', import.meta.url))]));
      const request = new Request('http://localhost', { method: 'POST', body: form });
      const type = request.headers.get('content-type')!;
      const multipart = pack(Buffer.from(await request.arrayBuffer()));
      const inspected = await send('/api/v1/inspect/excel', multipart, encoding, type);
      assert.equal(inspected.status, 200, JSON.stringify(inspected.body));
      const workbook = await send(`/table/${nextTable()}/upload/excel`, multipart, encoding, type);
      assert.equal(workbook.body.load?.rows, 300, JSON.stringify(workbook.body));
    });
  }

  test('a packed body may be several gzip members, zstd frames, deflate without a header, or packed twice', async () => {
    const [first, second] = [body.subarray(0, 1000), body.subarray(1000)];
    const cases: [string, Buffer][] = [
      ['gzip', Buffer.concat([zlib.gzipSync(first), zlib.gzipSync(second)])],
      ['zstd', Buffer.concat([zlib.zstdCompressSync(first), zlib.zstdCompressSync(second)])],
      ['deflate', zlib.deflateRawSync(body)],
      ['deflate, gzip', zlib.gzipSync(zlib.deflateSync(body))],
      [' identity , br,ZSTD', zlib.zstdCompressSync(zlib.brotliCompressSync(body))],
      ['identity', body],
      ['', body],
    ];
    for (const [encoding, packed] of cases) {
      const name = nextTable();
      const loaded = await send(`/table/${name}/upload/json`, packed, encoding);
      assert.equal(loaded.status, 201, `${encoding} ${JSON.stringify(loaded.body)}`);
      await assertLoaded(name);
    }
  });

  test('a packed body is unpacked while it arrives, also byte by byte', async () => {
    const small = Buffer.from('{"data":[{"id":1}]}');
    for (const [encoding, pack] of Object.entries(packers)) {
      const packed = pack(small);
      const stream = new ReadableStream({
        async start(controller) {
          for (const byte of packed) {
            controller.enqueue(Uint8Array.of(byte));
            await sleep(1);
          }
          controller.close();
        },
      });
      const loaded = await send(`/table/${nextTable()}/upload/json`, stream, encoding);
      assert.equal(loaded.status, 201, `${encoding} ${JSON.stringify(loaded.body)}`);
    }
  });
});

suite('a body that is not what its Content-Encoding says', () => {
  const path = () => `/table/${nextTable()}/upload/json`;
  for (const [encoding, pack] of Object.entries(packers)) {
    test(`a body in ${encoding} that is not what its Content-Encoding says is refused with 400 and the reason`, async () => {
      const packed = pack(body);
      const cases: [string, Buffer, RegExp][] = [
        ['cut off', packed.subarray(0, -3), /data is cut off\.$/],
        ['cut in half', packed.subarray(0, packed.length >> 1), /data is cut off\.$/],
        ['empty', Buffer.alloc(0), /data is empty\.$/],
        [
          'with garbage',
          Buffer.concat([packed, Buffer.from('{}')]),
          /data is (damaged|followed by other bytes|cut off)\.$/,
        ],
        [
          'with zeros',
          Buffer.concat([packed, Buffer.alloc(9)]),
          /data is (damaged|followed by other bytes)\.$/,
        ],
        ['not packed', Buffer.from('{"data":[{"id":1}]}'), /data is (damaged|cut off)\.$/],
      ];
      for (const [what, sent, detail] of cases) {
        const problem = assertProblem(await send(path(), sent, encoding), 400, 'invalid-content-encoding');
        assert.match(problem.detail, detail, what);
        assert.ok(problem.detail.startsWith(`The body is sent with Content-Encoding: ${encoding}, `));
      }
      const definition = await send(`/table/${nextTable()}`, packed.subarray(0, -3), encoding);
      assertProblem(definition, 400, 'invalid-content-encoding');
    });
  }

  test('a body that is not what its Content-Encoding says leaves no table', async () => {
    const name = nextTable();
    const garbage = Buffer.concat([zlib.deflateSync(body), Buffer.from('more')]);
    assertProblem(
      await send(`/table/${name}/upload/json`, garbage, 'deflate'),
      400,
      'invalid-content-encoding',
    );
    assert.deepEqual(await service.rows('SELECT to_regclass($1) AS found', [name]), [{ found: null }]);
  });

  test('a body in an unknown coding, or in more than two, is refused with 415 and Accept-Encoding', async () => {
    for (const encoding of ['compress', 'gzip, lzma', 'gzip, gzip, gzip', '*', 'gzip;q=1']) {
      for (const to of [path(), `/table/${nextTable()}`]) {
        const answer = await send(to, zlib.gzipSync(body), encoding);
        assertProblem(answer, 415, 'unsupported-media-type');
        assert.equal(answer.headers.get('accept-encoding'), 'gzip, deflate, br, zstd');
      }
    }
  });
});

/** Returns a packed body whose content begins as an upload and continues with so many bytes of white space. */
async function bomb(coding: 'gzip' | 'br' | 'zstd', bytes: number): Promise<Buffer> {
  const make = { gzip: zlib.createGzip, br: zlib.createBrotliCompress, zstd: zlib.createZstdCompress }[
    coding
  ];
  const options = coding === 'br' ? { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } } : {};
  const packer = make(options);
  const packed: Buffer[] = [];
  packer.on('data', (chunk: Buffer) => packed.push(chunk));
  packer.write('{"data":[');
  const blanks = Buffer.alloc(MIB, ' ');
  for (let sent = 0; sent < bytes; sent += MIB) if (!packer.write(blanks)) await once(packer, 'drain');
  packer.end(']}');
  await once(packer, 'end');
  return Buffer.concat(packed);
}

/** More than the memory that a bomb may take. */
const bombBytes = sized(160, 256) * MIB;

suite('a bomb', () => {
  for (const coding of ['gzip', 'br', 'zstd'] as const) {
    test(`a bomb in ${coding} is refused because of its ratio, in bounded memory`, async () => {
      const packed = await bomb(coding, bombBytes);
      assert.ok(packed.length < MIB, String(packed.length));
      global.gc?.();
      const before = process.memoryUsage.rss();
      let peak = before;
      const watch = setInterval(() => {
        peak = Math.max(peak, process.memoryUsage.rss());
      }, 2);
      try {
        for (const to of [`/table/${nextTable()}/upload/json`, `/table/${nextTable()}`]) {
          const { detail } = assertProblem(await send(to, packed, coding), 413, 'limit-exceeded');
          assert.match(detail, to.endsWith('json') ? /MAX_UNPACK_RATIO/ : /MAX_DEFINITION_BYTES/);
        }
      } finally {
        clearInterval(watch);
      }
      assert.ok(peak - before < 128 * MIB, `${Math.round((peak - before) / MIB)} MiB`);
    });
  }

  test('a bomb inside another bomb is refused, too', async () => {
    const packed = zlib.gzipSync(await bomb('gzip', 64 * MIB));
    const answer = await send(`/table/${nextTable()}/upload/json`, packed, 'gzip, gzip');
    assert.match(assertProblem(answer, 413, 'limit-exceeded').detail, /MAX_UNPACK_RATIO/);
  });

  test('a bomb with a normal ratio is refused because of its unpacked size', async () => {
    const piece = Buffer.concat([body, Buffer.from(',')]);
    const pieces = Array.from({ length: Math.ceil((64 * MIB) / piece.length) }, () => piece);
    const packed = zlib.gzipSync(Buffer.concat([Buffer.from('{"x":['), ...pieces]), { level: 1 });
    assert.ok(packed.length > 1 * MIB && packed.length < 64 * MIB);
    const answer = await send(`/table/${nextTable()}/upload/json?rows_at=/y`, packed, 'gzip');
    assert.equal(
      assertProblem(answer, 413, 'limit-exceeded').detail,
      'The unpacked body is too long: the limit is 64 MiB (MAX_BODY_BYTES).',
    );
  });

  test('a zstd window over 8 MiB is refused', async () => {
    const params = { [zlib.constants.ZSTD_c_windowLog]: 25, [zlib.constants.ZSTD_c_contentSizeFlag]: 0 };
    const packed = zlib.zstdCompressSync(Buffer.alloc(40 * MIB, ' '), { params });
    assertProblem(
      await send(`/table/${nextTable()}/upload/json`, packed, 'zstd'),
      400,
      'invalid-content-encoding',
    );
  });
});

test('a client that disconnects in the middle leaves no unpacker open', async () => {
  unpackers.clear();
  const token = await service.token();
  for (const [encoding, pack] of Object.entries(packers)) {
    const packed = pack(Buffer.concat([body, body]));
    const request = httpRequest(new URL(`/api/v1/table/${nextTable()}/upload/json`, service.url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-encoding': encoding,
        'content-length': packed.length,
      },
    });
    request.on('error', () => {});
    const opened = unpackers.size;
    request.write(packed.subarray(0, packed.length >> 1));
    await until('the unpacker', () => unpackers.size > opened);
    request.destroy();
  }
  await until('the end of the unpackers', () => [...unpackers].every(({ destroyed }) => destroyed));
  assert.equal(unpackers.size, Object.keys(packers).length);
});
