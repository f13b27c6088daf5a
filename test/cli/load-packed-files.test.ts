/** `tablewright load` and `inspect` with packed files, in processes of their own. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { scriptEnvironment } from '../support/child-environment.ts';
import { parquetOf } from '../support/parquet-file.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { buildZip } from '../support/xlsx-builder.ts';

const program = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');

let service: TestService;
let folder: string;

before(async () => {
  service = await startTestService();
  folder = await mkdtemp(join(tmpdir(), 'tablewright-packed-'));
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

async function run(
  parameters: string[],
  input?: Buffer,
): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [program, ...parameters], {
    cwd: folder,
    env: {
      ...scriptEnvironment(),
      HOME: folder,
      TABLEWRIGHT_URL: service.url,
      TABLEWRIGHT_TOKEN: await service.token(),
    },
  });
  child.stdin.end(input);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, out, err };
}

async function loaded(
  name: string,
  file: Buffer,
  parameters: string[] = [],
): Promise<[string, number, string]> {
  await writeFile(join(folder, name), file);
  const { out, err } = await run(['load', name, '--json', ...parameters]);
  assert.notEqual(out, '', err);
  const { table, load, error } = JSON.parse(out);
  assert.equal(error, undefined, out);
  return [table.name, load.rows, load.format];
}

const csv = Buffer.from('a,b\n1,2\n3,4\n');
const lines = Buffer.from('{"a":1}\n{"a":2}\n{"a":3}\n');
const array = Buffer.from('\ufeff[{"a":1},{"a":2}]');

test('the table has the name of the file without the extensions', async () => {
  assert.deepEqual(await loaded('orders.csv.gz', gzipSync(csv)), ['orders', 2, 'csv']);
  assert.deepEqual(await loaded('items.csv.zst', zstdCompressSync(csv)), ['items', 2, 'csv']);
  assert.deepEqual(await loaded('parts.tsv.br', brotliCompressSync(csv)), ['parts', 2, 'csv']);
  const zip = buildZip([
    { name: 'a.csv', data: csv },
    { name: 'b.csv', data: 'x\n1\n' },
  ]);
  assert.deepEqual(await loaded('all.zip', zip, ['--file-in-zip', 'b.csv']), ['all', 1, 'csv']);
  const parquet = await parquetOf('SELECT 1 AS a');
  assert.deepEqual(await loaded('sales.parquet', parquet), ['sales', 1, 'parquet']);
});

test('JSON and lines of JSON are sent packed, and recognized by name and content', async () => {
  assert.deepEqual(await loaded('readings.ndjson.gz', gzipSync(lines)), ['readings', 3, 'ndjson']);
  assert.deepEqual(await loaded('lines.json.zst', zstdCompressSync(lines)), ['lines', 3, 'ndjson']);
  assert.deepEqual(await loaded('array.json.gz', gzipSync(array)), ['array', 2, 'json']);
  assert.deepEqual(await loaded('array2.json.br', brotliCompressSync(array)), ['array2', 2, 'json']);
  const piped = await run(['load', '-', '--table', 'piped', '--json'], gzipSync(lines));
  assert.equal(JSON.parse(piped.out).load.rows, 3, piped.out);
  const inspected = JSON.parse((await run(['inspect', 'array.json.gz', '--json'])).out);
  assert.equal(inspected.data.row_count, 2);
});

test('a definition is joined to packed JSON', async () => {
  const definition = { columns: [{ name: 'a', type: 'smallint' }] };
  await writeFile(join(folder, 'definition.json'), JSON.stringify(definition));
  const parameters = ['--definition', 'definition.json'];
  assert.deepEqual(await loaded('d1.ndjson.gz', gzipSync(lines), parameters), ['d1', 3, 'json']);
  assert.deepEqual(await loaded('d2.json.zst', zstdCompressSync(array), parameters), ['d2', 2, 'json']);
  assert.deepEqual(await loaded('d3.csv.gz', gzipSync(csv), [...parameters, '--infer', 'missing']), [
    'd3',
    2,
    'csv',
  ]);
  await writeFile(join(folder, 'cut.ndjson.gz'), gzipSync(lines).subarray(0, -6));
  const cut = await run(['load', 'cut.ndjson.gz', ...parameters]);
  assert.equal(cut.code, 2, cut.err);
  assert.match(cut.err, /The file cannot be unpacked: unexpected end of file/);
});
