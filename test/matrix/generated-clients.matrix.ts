/**
 * Clients that are generated from the OpenAPI document compile, and work with the service. This needs the package registry: the
 * generators are installed into a temporary folder, because they need TypeScript 5.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { startTestService, type TestService } from '../support/service.ts';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

let service: TestService;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-clients-'));
  await cp(join(import.meta.dirname, 'clients'), folder, { recursive: true });
  await run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund');
  service = await startTestService();
  const { body } = await service.get('/openapi.json', { token: null });
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(body));
});

after(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a program in the folder, with this Node.js first on the path. */
async function run(program: string, ...parameters: string[]): Promise<void> {
  const path = [dirname(process.execPath), join(folder, 'node_modules', '.bin'), process.env.PATH];
  const env = { ...process.env, PATH: path.join(delimiter) };
  try {
    await execute(program, parameters, { cwd: folder, env });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${parameters.join(' ')} failed:\n${stdout}\n${stderr}`);
  }
}

test('the clients that two generators make are generated and compile with a use of every operation', async () => {
  await run('openapi-typescript', 'openapi.json', '-o', 'generated/openapi-typescript.d.ts');
  await run('openapi-ts', '-i', 'openapi.json', '-o', 'generated/hey-api', '-c', '@hey-api/client-fetch');
  await run('tsc');
});

for (const name of ['use-openapi-fetch', 'use-hey-api']) {
  test(`${name}: the generated client works against the service`, async () => {
    await service.database.pool.query('DROP TABLE IF EXISTS orders, customers, shipments, from_workbook');
    const { useEveryOperation } = await import(pathToFileURL(join(folder, 'built', `${name}.js`)).href);
    const workbook = new Blob([await readFile(join(root, 'examples', 'orders.xlsx'))]);
    const statuses = await useEveryOperation(service.url, await service.token(), workbook);
    assert.deepEqual(statuses, [200, 200, 201, 201, 200, 200, 201, 200, 201, 422]);
    const [{ count }] = (await service.rows('SELECT count(*)::int FROM from_workbook')) as [
      { count: number },
    ];
    assert.equal(count, 300);
  });
}
