/**
 * Clients that are generated from the OpenAPI document compile, and work with the service. This needs the package registry: the
 * generators are installed into a temporary folder, because they need TypeScript 5. The generator for Python is used if the machine has it.
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

/** Returns the command of openapi-python-client; undefined: the machine does not have it. */
async function pythonGenerator(): Promise<string[] | undefined> {
  const python = process.env.PYTHON ?? 'python3';
  for (const command of [['openapi-python-client'], [python, '-m', 'openapi_python_client']]) {
    const [program = '', ...parameters] = command;
    const isThere = await execute(program, [...parameters, '--version']).then(
      () => true,
      () => false,
    );
    if (isThere) return command;
  }
  return undefined;
}

test('the client that openapi-python-client makes has every operation, and loads rows', async (context) => {
  const generator = await pythonGenerator();
  if (generator === undefined) {
    context.skip('openapi-python-client is neither on the PATH nor a module of the Python of PYTHON');
    return;
  }
  const [program = '', ...parameters] = generator;
  const target = ['--path', 'openapi.json', '--output-path', 'python', '--meta', 'none', '--overwrite'];
  // A warning is about a part of the document that the client does not have.
  await run(program, ...parameters, 'generate', ...target, '--fail-on-warning');
  await service.database.pool.query('DROP TABLE IF EXISTS from_python');
  const use = `
import sys
from python import AuthenticatedClient
from python.api.tables import upload_table_from_json, describe_table
from python.models import JsonUpload
client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
body = JsonUpload.from_dict({"data": [{"id": "00042", "n": 1}, {"id": "00043", "n": 2}]})
loaded = upload_table_from_json.sync(client=client, table_name="from_python", body=body)
assert loaded.load.rows == 2, loaded
assert [column.name for column in describe_table.sync(client=client, table_name="from_python").table.columns] == ["id", "n"]
refused = upload_table_from_json.sync(client=client, table_name="from_python", body=body)
assert refused.code == "table-exists", refused
`;
  await run(process.env.PYTHON ?? 'python3', '-c', use, service.url, await service.token());
  assert.deepEqual(await service.rows('SELECT id FROM from_python ORDER BY id'), [
    { id: '00042' },
    { id: '00043' },
  ]);
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
