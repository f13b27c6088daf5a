/** `tablewright load` and `inspect` with a link, in processes of their own, and the client with one. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { createClient } from '../../client/client.ts';
import { scriptEnvironment } from '../support/child-environment.ts';
import { allowsFileServer, type FileServer, startFileServer } from '../support/file-server.ts';
import { startTestService, type TestService } from '../support/service.ts';

const program = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');

let service: TestService;
let files: FileServer;
before(async () => {
  files = await startFileServer();
  service = await startTestService(allowsFileServer);
  files.files['/2026/orders.csv'] = 'id,name\n1,one\n';
});
after(async () => {
  await service.stop();
  files.close();
});

async function run(...parameters: string[]) {
  const env = {
    ...scriptEnvironment(),
    TABLEWRIGHT_URL: service.url,
    TABLEWRIGHT_TOKEN: await service.token(),
  };
  const child = spawn(process.execPath, [program, ...parameters], { env });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, out, err };
}

test('a link is loaded into the table of its file name, and its secret is not printed', async () => {
  const link = files.link('/2026/orders.csv');
  const loaded = await run('load', link);
  assert.equal(loaded.code, 0, loaded.err);
  assert.match(loaded.out, /^127\.0\.0\.1:\d+\/…\/orders\.csv → public\.orders: 1 row loaded/);
  const inspected = await run('inspect', link);
  assert.match(inspected.out, /id\s+bigint/);
  const failed = await run('load', files.link('/2026/missing.csv'), '--json');
  assert.match(failed.out, /"code":"link-refused"/);
  assert.doesNotMatch(JSON.stringify([loaded, inspected, failed]), /secret|2026/);
});

test('a client takes a link instead of rows or a file', async () => {
  const client = createClient({ url: service.url, token: () => service.token() });
  const fromUrl = files.link('/2026/orders.csv');
  const patch = [{ row: 1, column: 'name', value: 'eins' }];
  const { load } = await client.load({ table: 'by_client', fromUrl, patch });
  assert.deepEqual([load.rows, load.corrected_count], [1, 1]);
  const inspected = await client.inspect({ fromUrl });
  assert('sheets' in inspected);
  await assert.rejects(client.load({ table: 'x', fromUrl, rows: [] }), TypeError);
});
