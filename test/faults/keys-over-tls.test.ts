/** Keys of an identity provider whose certificate a private authority has signed: rotation and outage over real TLS. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { SignJWT } from 'jose';
import { readConfig } from '../../src/core/settings/config.ts';
import { startTokenVerifier } from '../../src/service/http/tokens/token-verifier.ts';
import { resolveTokenSettings } from '../../src/service/start/dev-token.ts';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { assertProblem } from '../support/problem.ts';
import { until } from '../support/until.ts';

const certificates = join(import.meta.dirname, '..', 'support', 'certificates');
const issuer = 'https://login.example.com';

/** Sets the clock of the service forward by the pause between two fetches. */
const clock = `const now = Date.now; let ahead = 0; Date.now = () => now() + ahead;
process.on('SIGUSR2', () => { ahead += 31_000; console.log('clock ' + ahead); });`;

let provider: Server;
let url: string;
let folder: string;
let database: TestDatabase;
let service: ChildService;
/** The keys that the provider has at the moment. */
let current: { kid: string; privateKey: KeyObject; publicKey: KeyObject };

before(async () => {
  current = newKey('one');
  provider = createServer(
    {
      cert: readFileSync(join(certificates, 'server.pem')),
      key: readFileSync(join(certificates, 'server.key')),
    },
    (_, response) => {
      const { kid, publicKey } = current;
      response.end(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid }] }));
    },
  );
  url = `https://localhost:${await listen(0)}/jwks`;
  folder = await mkdtemp(join(tmpdir(), 'tablewright-keys-'));
  await writeFile(join(folder, 'clock.mjs'), clock);
  database = await createTestDatabase();
  service = await startChildService(database, {
    ...keySettings(),
    NODE_EXTRA_CA_CERTS: join(certificates, 'ca.pem'),
    NODE_OPTIONS: `--import=${pathToFileURL(join(folder, 'clock.mjs'))}`,
  });
});

after(async () => {
  await service.end('SIGTERM');
  await database.drop();
  stop();
  await rm(folder, { recursive: true, force: true });
});

const keySettings = () => ({
  TOKEN_SECRET: '',
  TOKEN_JWKS_URL: url,
  TOKEN_ISSUER: issuer,
  TOKEN_AUDIENCE: 'tablewright',
});

function newKey(kid: string): typeof current {
  return { kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
}

async function listen(port: number): Promise<number> {
  provider.listen(port, 'localhost');
  await once(provider, 'listening');
  return (provider.address() as AddressInfo).port;
}

function stop(): void {
  provider.close();
  provider.closeAllConnections();
}

function tokenOf({ kid, privateKey }: typeof current): Promise<string> {
  return new SignJWT({ scope: 'table:read' })
    .setProtectedHeader({ alg: 'ES256', kid })
    .setIssuer(issuer)
    .setAudience('tablewright')
    .setExpirationTime('1h')
    .sign(privateKey);
}

/** Returns the answer to a request with a token. If the token is valid, it is 404, because there is no such table. */
async function answerTo(key: typeof current) {
  return service.get('/table/none', { token: await tokenOf(key) });
}

async function advance(): Promise<void> {
  const ticks = () => service.output().split('clock ').length;
  const before = ticks();
  service.child.kill('SIGUSR2');
  await until('the clock to be set', () => ticks() > before);
}

test('without the certificate of the authority no key is used, and the log says why', async () => {
  const reasons: string[] = [];
  const log = {
    info: () => {},
    warn: (details: object) => reasons.push(String((details as { err: { cause?: unknown } }).err.cause)),
  };
  const environment = { DATABASE_URL: 'postgres://u@127.0.0.1/d', ...keySettings() };
  const verifier = await startTokenVerifier(await resolveTokenSettings(readConfig(environment)), log);
  assert.throws(() => verifier.check(), { code: 'token-keys-unavailable' });
  assert.match(reasons.join(), /certificate/);
});

test('with NODE_EXTRA_CA_CERTS keys are fetched, a new key needs no restart, and known keys last through an outage', async () => {
  const [first, second, third] = [current, newKey('two'), newKey('three')];
  assertProblem(await answerTo(first), 404, 'table-not-found');
  current = second;
  await advance();
  assertProblem(await answerTo(second), 404, 'table-not-found');
  assertProblem(await answerTo(first), 401, 'invalid-token');
  const { port } = provider.address() as AddressInfo;
  stop();
  current = third;
  await advance();
  assertProblem(await answerTo(third), 503, 'token-keys-unavailable');
  assertProblem(await answerTo(second), 404, 'table-not-found');
  assert.match(service.output(), /The keys of the identity provider cannot be fetched/);
  await listen(port);
  await advance();
  assertProblem(await answerTo(third), 404, 'table-not-found');
});
