/**
 * examples/python loads a DataFrame without a lost digit. This needs Python with pandas and requests: they are taken from the Python of
 * `PYTHON` (default: python3), or installed into a temporary folder. Without them the test is skipped.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startTestService, type TestService } from '../support/service.ts';

const run = promisify(execFile);
const examples = join(import.meta.dirname, '..', '..', 'examples', 'python');
const installMs = 120_000;

let service: TestService;
let folder: string;
let python: string | undefined;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-python-'));
  [python, service] = await Promise.all([findPython(), startTestService()]);
});

after(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Returns a Python that has the packages; undefined: there is none, and they cannot be installed. */
async function findPython(): Promise<string | undefined> {
  const existing = process.env.PYTHON ?? 'python3';
  const hasPackages = (program: string) =>
    run(program, ['-c', 'import pandas, requests']).then(
      () => true,
      () => false,
    );
  if (await hasPackages(existing)) return existing;
  const own = join(folder, 'venv', 'bin', 'python');
  const requirements = join(examples, 'requirements.txt');
  try {
    // The existing packages and the existing pip are used, because copies of them would take longer than the test.
    await run(existing, ['-m', 'venv', '--system-site-packages', '--without-pip', join(folder, 'venv')]);
    const install = ['install', '--quiet', '--retries=0', '--requirement', requirements];
    await run(existing, ['-m', 'pip', '--python', own, ...install], { timeout: installMs });
  } catch {
    return undefined;
  }
  return own;
}

test('a DataFrame of pandas is loaded without a lost digit, and its missing values are null', async (context) => {
  if (python === undefined) {
    context.skip(
      'pandas and requests are not installed, and cannot be installed: set PYTHON to a Python that has them',
    );
    return;
  }
  const { stdout } = await run(python, [join(examples, 'load_frame.py')], {
    env: { ...process.env, TABLEWRIGHT_URL: service.url, TABLEWRIGHT_TOKEN: await service.token() },
  });
  assert.equal(stdout, '3 rows loaded into frame\n');
  const rows = await service.rows(`
    SELECT id::text, amount::text, ratio::text, quantity::text, (at AT TIME ZONE 'UTC')::text AS at, day::text, code
    FROM frame ORDER BY frame.id DESC`);
  assert.deepEqual(rows, [
    {
      id: '9007199254740993',
      amount: '12345678901234567890.0123456789',
      ratio: '0.1',
      quantity: '9223372036854775807',
      at: '2026-03-29 00:59:59.123456',
      day: '2024-02-29',
      code: '007',
    },
    {
      id: '3',
      amount: null,
      ratio: '1e-300',
      quantity: '5',
      at: '2026-07-01 11:00:00',
      day: '1999-12-31',
      code: 'a',
    },
    { id: '2', amount: '0.1000000000', ratio: null, quantity: null, at: null, day: null, code: null },
  ]);
});
