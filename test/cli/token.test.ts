import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { jwtVerify } from 'jose';
import { allScopes } from '../../src/service/start/dev-token.ts';
import { scriptEnvironment } from '../support/child-environment.ts';

/** `npm run token` prints the token, and nothing else. */

const execute = promisify(execFile);
const script = join(import.meta.dirname, '..', '..', 'scripts', 'token.ts');

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-token-'));
});

after(async () => {
  await rm(folder, { recursive: true });
});

interface Failure {
  code: number;
  stdout: string;
  stderr: string;
}

function failureOf(running: Promise<unknown>): Promise<Failure> {
  return running.then(
    () => assert.fail('no failure'),
    (error) => error,
  );
}

/** Each runs in a separate folder, so that a `.env` of the person who runs the tests has no effect. */
function run(parameters: string[], environment: Record<string, string> = {}) {
  return execute(process.execPath, [script, ...parameters], {
    cwd: folder,
    env: { ...scriptEnvironment(), DATA_DIR: join(folder, 'data'), ...environment },
  });
}

test('a token allows everything for an hour, and the generated secret is kept', async () => {
  const { stdout, stderr } = await run([]);
  assert.match(stderr, /^There was no secret in .*data, so one was made\. .*another DATA_DIR.*\n$/);
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const secretFile = join(folder, 'data', 'token-secret');
  const secret = Buffer.from((await readFile(secretFile, 'utf8')).trim());
  const { payload } = await jwtVerify(stdout.trim(), secret, { algorithms: ['HS256'] });
  assert.equal(payload.scope, allScopes);
  assert.equal(payload.exp! - payload.iat!, 3600);
  assert(!('schemas' in payload) && !('role' in payload) && !('iss' in payload));
  assert.equal((await stat(secretFile)).mode & 0o777, 0o600);

  const again = await run([]);
  assert.equal(again.stderr, '');
  await jwtVerify(again.stdout.trim(), secret);
});

test('a token has the requested claims, and those of the settings', async () => {
  const secret = 's'.repeat(32);
  const { stdout } = await run(
    ['--scope', 'table:read table:load', '--schemas', 'public, sales_*', '--role', 'analyst', '--ttl', '7d'],
    { TOKEN_SECRET: secret, TOKEN_ISSUER: 'us', TOKEN_AUDIENCE: 'them' },
  );
  const { payload } = await jwtVerify(stdout.trim(), Buffer.from(secret), { issuer: 'us', audience: 'them' });
  assert.equal(payload.scope, 'table:read table:load');
  assert.deepEqual(payload.schemas, ['public', 'sales_*']);
  assert.equal(payload.role, 'analyst');
  assert.equal(payload.exp! - payload.iat!, 7 * 86_400);
});

test('without a secret there is no token, but the reason and exit code 2', async () => {
  const { publicKey } = generateKeyPairSync('ed25519');
  const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
  const failure = await failureOf(run([], { TOKEN_PUBLIC_KEY: pem }));
  assert.deepEqual([failure.code, failure.stdout], [2, '']);
  assert.match(failure.stderr, /cannot sign one\. Get a token from your identity provider\./);
});

test('an unknown option gives no token, the reason and exit code 2', async () => {
  for (const parameters of [
    ['--ttl', '0s'],
    ['--scope', 'table:delete'],
    ['--schemas', ' , '],
    ['--role', ''],
    ['--frobnicate'],
    ['public'],
  ]) {
    const failure = await failureOf(run(parameters));
    assert.equal(failure.code, 2, parameters.join(' '));
    assert.equal(failure.stdout, '');
    assert.match(failure.stderr, /Usage: npm run -s token/);
  }
  const failure = await failureOf(run([], { PORT: 'x', TOKEN_SECRET: 'short' }));
  assert.match(failure.stderr, /PORT must be.*TOKEN_SECRET must be/s);
});
