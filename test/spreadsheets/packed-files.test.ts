/** Files in the form that are packed as a whole, or that are in a zip file: what is read, and what is refused. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { brotliCompressSync, constants, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { assertNoTable, rowsOf, tableNames } from '../support/tables.ts';
import { fileInspector, fileUploader } from '../support/uploads.ts';
import { buildZip } from '../support/xlsx-builder.ts';

let service: TestService;
const maxBytes = 16 * 1024 * 1024;

before(async () => {
  service = await startTestService({ MAX_BODY_BYTES: String(maxBytes) });
});
after(() => service.stop());

const upload = fileUploader(() => service);
const inspect = fileInspector(() => service);
const nextTable = tableNames('packed');

const csv = 'sku,name,stock\n00042,Möhre,3\n00043,Bohne,4\n';
const rows = [
  { sku: '00042', name: 'Möhre', stock: '3' },
  { sku: '00043', name: 'Bohne', stock: '4' },
];
const orders = readFileSync(join(import.meta.dirname, '..', '..', 'examples', 'orders.xlsx'));

const packers: Record<string, (file: string | Buffer) => Buffer> = {
  gzip: (file) => gzipSync(file),
  // As the program zstd does. Without the checksum not all damage is noticed.
  zstd: (file) => zstdCompressSync(file, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
  brotli: (file) => brotliCompressSync(file, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
};

const zipOf = (...names: string[]) => buildZip(names.map((name) => ({ name, data: csv })));

async function assertRows(file: Buffer, query = ''): Promise<TestAnswer> {
  const table = nextTable();
  const answer = await upload(table, file, query);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(await rowsOf(service, table), rows);
  return answer;
}

async function refusal(file: Buffer, query = ''): Promise<TestAnswer> {
  const table = nextTable();
  const answer = await upload(table, file, query);
  await assertNoTable(service, table);
  return answer;
}

suite('a file that is packed is read like the file itself', () => {
  for (const [name, pack] of Object.entries(packers)) {
    test(`a text file that is packed with ${name}`, async () => {
      const { load } = (await assertRows(pack(csv))).body;
      assert.equal(load.format, 'csv');
      assert.equal(load.file_in_zip, undefined);
    });

    test(`a long text file that is packed with ${name}`, async () => {
      const lines = Array.from({ length: 60_000 }, (_, index) => `${index},${(index * 7919) % 10_007}`);
      const table = nextTable();
      const answer = await upload(table, pack(`a,b\n${lines.join('\n')}\n`));
      assert.equal(answer.body.load?.rows, 60_000, JSON.stringify(answer.body));
      assert.deepEqual(await service.rows(`SELECT sum(a)::text AS a, sum(b)::text AS b FROM ${table}`), [
        { a: '1799970000', b: String(lines.reduce((sum, line) => sum + Number(line.split(',')[1]), 0)) },
      ]);
    });
  }

  test('a workbook, which has a signature of its own', async () => {
    for (const pack of [packers.gzip!, packers.zstd!]) {
      const answer = await upload(nextTable(), pack(orders));
      assert.equal(answer.body.load.format, 'xlsx', JSON.stringify(answer.body));
    }
  });

  test('several members of gzip are one file', async () => {
    await assertRows(Buffer.concat([gzipSync(csv.slice(0, 30)), gzipSync(csv.slice(30))]));
  });

  test('frames of zstd without data are skipped, also the first one', async () => {
    const skipped = Buffer.from([0x5d, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
    await assertRows(Buffer.concat([skipped, packers.zstd!(Buffer.from(csv)), skipped]));
  });

  test('parameters of text files apply', async () => {
    await assertRows(gzipSync(csv.replaceAll(',', ';')), '?delimiter=;');
  });

  test('the inspection reads it, too', async () => {
    const { body } = await inspect(zipOf('2026/orders.csv'));
    assert.deepEqual(body.sheet.header, ['sku', 'name', 'stock']);
    assert.equal(body.file_in_zip, '2026/orders.csv');
  });
});

suite('a zip file', () => {
  test('with one file is read, whatever the name of the file is', async () => {
    const answer = await assertRows(zipOf('export-2026'));
    assert.equal(answer.body.load.file_in_zip, 'export-2026');
  });

  test('with one workbook is read', async () => {
    const zip = buildZip([{ name: 'orders.xlsx', data: orders }]);
    const { load } = (await upload(nextTable(), zip)).body;
    assert.deepEqual([load.format, load.file_in_zip, load.rows > 0], ['xlsx', 'orders.xlsx', true]);
  });

  test('with one table beside other files is read, and files of the system do not count', async () => {
    await assertRows(zipOf('README.txt', 'orders.csv', '__MACOSX/._orders.csv', '.DS_Store', 'x/Thumbs.db'));
    await assertRows(zipOf('only', '__MACOSX/._only', 'desktop.ini'));
  });

  test('has names in code page 437, and in UTF-8 with and without its flag', async () => {
    const named = (encoding: BufferEncoding, name: string, flags: number) => {
      return { name, nameBytes: Buffer.from(name, encoding), data: csv, stated: { flags } };
    };
    const zip = buildZip([
      named('latin1', 'K\x81he.csv', 0),
      named('utf8', 'Kühe2.csv', 0),
      named('utf8', 'Kühe3.csv', 0x800),
    ]);
    for (const name of ['Kühe', 'Kühe2', 'Kühe3']) {
      const { body } = await inspect(zip, `?file_in_zip=${encodeURIComponent(name)}.csv`);
      assert.equal(body.file_in_zip, `${name}.csv`);
    }
  });

  test('may hold a packed file', async () => {
    const zip = buildZip([
      { name: 'orders.csv.gz', data: gzipSync(csv) },
      { name: 'README', data: 'x' },
    ]);
    await assertRows(zip);
  });

  test('with several tables needs file_in_zip, and the error lists them', async () => {
    const zip = zipOf('a/orders.csv', 'items.tsv', 'README');
    const answer = await refusal(zip);
    assertProblem(answer, 422, 'invalid-parameter');
    assert.match(answer.body.detail, /"a\/orders.csv", "items.tsv"\. Choose one with `file_in_zip`/);
    assert.equal(answer.body.errors[0].parameter, 'file_in_zip');
    await assertRows(zip, '?file_in_zip=A/orders.csv');
    assert.equal((await inspect(zip, '?file_in_zip=items.tsv')).status, 200);
  });

  test('without the wanted file, or with no table, is refused', async () => {
    const missing = await refusal(zipOf('a.csv', 'b.csv'), '?file_in_zip=c.csv');
    assertProblem(missing, 422, 'invalid-parameter');
    assert.match(missing.body.detail, /no file "c.csv" in the zip file\. Its files are: "a.csv", "b.csv"/);
    assert.match((await refusal(zipOf('a.dat', 'b.dat'))).body.detail, /none has the extension of a table/);
    assertProblem(await refusal(buildZip([])), 422, 'unsupported-file');
    assertProblem(await refusal(zipOf('__MACOSX/._a')), 422, 'unsupported-file');
  });

  test('that is encrypted is refused with what to do', async () => {
    const zip = buildZip([{ name: 'a.csv', data: csv, stated: { flags: 1 } }]);
    const answer = await refusal(zip);
    assertProblem(answer, 422, 'unsupported-file');
    assert.match(answer.body.detail, /The zip file is encrypted/);
  });
});

suite('what is refused', () => {
  test('file_in_zip for a file that is no zip file, or that is a workbook', async () => {
    for (const file of [Buffer.from(csv), gzipSync(csv), orders]) {
      const answer = await refusal(file, '?file_in_zip=a.csv');
      assertProblem(answer, 422, 'invalid-parameter');
      assert.match(answer.body.detail, /is for zip files/);
    }
  });

  test('JSON, with the place to send it to', async () => {
    assert.match((await refusal(gzipSync('[{"a":1}]'))).body.detail, /upload\/json/);
  });

  test('packed data that is cut off, damaged or followed by other bytes', async () => {
    for (const pack of [packers.gzip!, packers.zstd!]) {
      const packed = pack(csv);
      const damaged = Buffer.from(packed);
      damaged[10]! ^= 0x55;
      for (const file of [packed.subarray(0, -9), damaged, Buffer.concat([packed, Buffer.from('more')])]) {
        const answer = await refusal(file);
        assertProblem(answer, 400, 'invalid-file');
        assert.match(answer.body.detail, /packed with (gzip|zstd), and the packed data is (cut|dam|fol)/);
      }
    }
  });

  test('a file that is packed three times', async () => {
    await assertRows(gzipSync(gzipSync(csv)));
    assertProblem(await refusal(gzipSync(gzipSync(gzipSync(csv)))), 422, 'unsupported-file');
  });

  test('tar and other archives, also within gzip', async () => {
    const tar = Buffer.alloc(1024);
    tar.write('orders.csv');
    tar.write('ustar', 257);
    for (const file of [gzipSync(tar), Buffer.from('7z\xbc\xaf\x27\x1c', 'latin1')]) {
      const answer = await refusal(file);
      assertProblem(answer, 422, 'unsupported-file');
      assert.match(answer.body.detail, /is an archive/);
    }
  });
});

suite('bombs', () => {
  const huge = Buffer.alloc(maxBytes + 1, 'a,b\n');

  for (const [name, pack] of Object.entries(packers)) {
    test(`a bomb of ${name} is refused by its ratio`, async () => {
      const answer = await refusal(pack(huge));
      assertProblem(answer, 413, 'limit-exceeded');
      assert.match(answer.body.detail, /The file unpacks to too many times its size.*MAX_UNPACK_RATIO/);
    });
  }

  test('so is one in a zip file, whatever size the zip file states', async () => {
    const zip = buildZip([{ name: 'a.csv', data: huge }]);
    assert.match((await refusal(zip)).body.detail, /MAX_UNPACK_RATIO/);
    const packed = deflateRawSync(huge);
    const small = buildZip([{ name: 'a.csv', data: csv, packed, stated: { packedSize: packed.length } }]);
    assertProblem(await refusal(small), 400, 'invalid-file');
  });

  test('the ratio counts from the bytes that were sent, through all layers', async () => {
    // Each layer alone has a ratio of less than 250.
    const line = `a,${'b'.repeat(400)}\n`;
    const text = `${line.repeat(60)}${'x'.repeat(200)}\n`;
    const random = (n: number) =>
      [1, 2, 3, 4, 5].map((k) => Math.imul(n * 7 + k, 0x9e3779b1).toString(36)).join('');
    const many = Array.from({ length: 600 }, (_, n) => text.replace('x', random(n))).join('');
    const inner = gzipSync(many, { level: 9 });
    const zip = buildZip([{ name: 'a.csv.gz', data: inner }]);
    assert.ok(many.length > 8 * 2 ** 20 && many.length < maxBytes);
    assert.ok(many.length / inner.length < 250 && many.length / zip.length > 250);
    const { body } = await refusal(zip);
    assert.match(body.detail, /The file unpacks to too many times its size.*MAX_UNPACK_RATIO/);
  });

  test('an honest file that is too large when it is unpacked is refused by its size', async () => {
    const lines = Array.from({ length: 1_400_000 }, (_, index) => `${Math.imul(index, 0x9e3779b1)},b`);
    const answer = await refusal(gzipSync(lines.join('\n'), { level: 1 }));
    assertProblem(answer, 413, 'limit-exceeded');
    assert.match(answer.body.detail, /The unpacked file is too long.*MAX_BODY_BYTES/);
  });

  test('a bomb in a bomb is refused', async () => {
    assertProblem(await refusal(gzipSync(gzipSync(huge))), 413, 'limit-exceeded');
  });
});
