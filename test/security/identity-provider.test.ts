/** Tests tokens of a real identity provider: discovery, changes of its keys, and its outages. */
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { after, before, beforeEach, mock, test } from 'node:test';
import { readConfig } from '../../src/core/settings/config.ts';
import { startTokenVerifier, type TokenVerifier } from '../../src/service/http/tokens/token-verifier.ts';
import { resolveTokenSettings } from '../../src/service/start/dev-token.ts';
import { hangUp, type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const minuteMs = 60_000;

let provider: IdentityProvider;
let service: TestService;

before(async () => {
  // Only `advance` changes the time of the clock.
  mock.timers.enable({ apis: ['Date'], now: Date.now() });
  provider = await startIdentityProvider();
  service = await startTestService({
    TOKEN_SECRET: '',
    TOKEN_ISSUER: provider.issuer,
    TOKEN_AUDIENCE: 'tablewright',
    MAX_ANONYMOUS_REQUESTS_PER_MINUTE: '30',
  });
});
after(async () => {
  mock.timers.reset();
  await service.stop();
  await provider.stop();
});
beforeEach(() => provider.answerWith(undefined));

/** Returns the status of a request: 404, because the table does not exist, means that the token is valid. */
async function statusFor(token: string): Promise<number> {
  return (await service.get('/table/none', { token })).status;
}

/** Sets the clock of this process, in which the service and the provider run, forward. */
function advance(ms: number): void {
  mock.timers.setTime(Date.now() + ms);
}

const environment = () => ({
  DATABASE_URL: 'postgres://u@127.0.0.1/d',
  TOKEN_JWKS_URL: provider.jwksUrl,
  TOKEN_ISSUER: provider.issuer,
  TOKEN_AUDIENCE: 'tablewright',
});

/** Starts a verifier with settings of its own, without a service around it. */
async function startVerifier(more: Record<string, string> = {}) {
  const warnings: string[] = [];
  const log = {
    info: () => {},
    warn: (details: object) => warnings.push(String((details as { err?: unknown }).err)),
  };
  const settings = await resolveTokenSettings(readConfig({ ...environment(), ...more }));
  return { verifier: await startTokenVerifier(settings, log), warnings };
}

/** Returns `valid`, or the code of the error. */
async function verdictOf(verifier: TokenVerifier, token: string): Promise<string> {
  return verifier.verify(token).then(
    () => 'valid',
    (error) => error.code,
  );
}

test('a program gets a token from the provider and uploads rows with it', async () => {
  const claims = { schemas: ['public'] };
  const token = await provider.token({ scope: 'table:create', claims });
  const uploaded = await service.post('/table/t/upload/json', { data: [{ a: 1 }] }, { token });
  assert.equal(uploaded.status, 201, JSON.stringify(uploaded.body));
  const described = await service.get('/table/t', { token });
  assert.match(assertProblem(described, 403, 'insufficient-scope').detail, /table:read/);
  const elsewhere = await service.post('/table/t/upload/json?schema=other', { data: [{ a: 1 }] }, { token });
  assertProblem(elsewhere, 403, 'schema-forbidden');
});

for (const [title, options, reason] of [
  ['for another audience', { audience: 'other' }, /"aud"/],
  ['of another issuer', { issuer: 'https://other.example.com' }, /"iss"/],
  ['whose role is no text', { claims: { role: 7 } }, /"role"/],
] as const) {
  test(`a token of the provider ${title} is refused`, async () => {
    const answer = await service.get('/table/none', { token: await provider.token(options) });
    assert.match(assertProblem(answer, 401, 'invalid-token').detail, reason);
  });
}

test('an expired token of the provider is refused', async () => {
  const token = await provider.token({ ttlSeconds: 60 });
  assert.equal(await statusFor(token), 404);
  advance(2 * minuteMs);
  const known = await service.get('/table/none', { token });
  assert.match(assertProblem(known, 401, 'invalid-token').detail, /expired/);
});

test('a new key needs no restart, and unknown keys cause one fetch in 30 seconds', async () => {
  advance(minuteMs);
  const before = provider.fetches();
  provider.rotate(1);
  const tokens = await Promise.all(Array.from({ length: 4 }, () => provider.token()));
  assert.deepEqual(await Promise.all(tokens.map(statusFor)), [404, 404, 404, 404]);
  assert.equal(provider.fetches(), before + 1);
  provider.rotate(2);
  const tooEarly = await provider.token();
  assert.deepEqual([await statusFor(tooEarly), await statusFor(tooEarly)], [401, 401]);
  assert.equal(provider.fetches(), before + 1);
  advance(minuteMs / 2);
  assert.equal(await statusFor(tooEarly), 404);
  assert.equal(provider.fetches(), before + 2);
});

test('a token of a removed key is refused after ten minutes without any other request', async () => {
  advance(minuteMs);
  const token = await provider.token({ ttlSeconds: 3600 });
  assert.equal(await statusFor(token), 404);
  provider.rotate(0);
  assert.equal(await statusFor(token), 404);
  advance(10 * minuteMs);
  const answer = await service.get('/table/none', { token });
  assert.match(assertProblem(answer, 401, 'invalid-token').detail, /another key/);
});

test('after a long pause several requests with a removed key wait for one fetch and are refused', async () => {
  const { verifier, warnings } = await startVerifier();
  const token = await provider.token({ ttlSeconds: 86_400 });
  const valid = await verdictOf(verifier, token);
  provider.answerWith(hangUp);
  advance(6 * minuteMs);
  const inOutage = await verdictOf(verifier, token);
  await until('the failed fetch', () => warnings.length === 1);
  provider.answerWith(undefined);
  provider.rotate(0);
  advance(60 * minuteMs);
  const before = provider.fetches();
  const verdicts = await Promise.all([1, 2, 3].map(() => verdictOf(verifier, token)));
  assert.deepEqual([valid, inOutage, ...verdicts], ['valid', 'valid', ...Array(3).fill('invalid-token')]);
  assert.equal(provider.fetches(), before + 1);
});

test('after five minutes a request causes a fetch and does not wait for it', async () => {
  const { verifier } = await startVerifier();
  const token = await provider.token();
  await verifier.verify(token);
  const answering = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  provider.answerWith(async (request, response) => {
    asked.resolve();
    await answering.promise;
    hangUp(request, response);
  });
  advance(5 * minuteMs);
  // This would never resolve if it waited for the provider.
  await verifier.verify(token);
  await asked.promise;
  answering.resolve();
});

test('in an outage tokens of known keys are valid, and others are answered with 503', async () => {
  const { verifier, warnings } = await startVerifier();
  const known = await provider.token({ ttlSeconds: 3600 });
  const sameKey = await provider.token({ ttlSeconds: 3600 });
  await verifier.verify(known);
  provider.rotate(1);
  const newKey = await provider.token({ ttlSeconds: 3600 });
  provider.answerWith(hangUp);
  advance(20 * minuteMs);
  assert.equal(await verdictOf(verifier, known), 'valid');
  assert.equal(await verdictOf(verifier, sameKey), 'valid');
  assert.equal(await verdictOf(verifier, newKey), 'token-keys-unavailable');
  assert.equal(warnings.length, 1, 'there was one attempt within 30 seconds');
  provider.answerWith(undefined);
  advance(minuteMs / 2);
  assert.equal(await verdictOf(verifier, newKey), 'valid');
});

test('in an outage requests with unknown keys are limited by address', async () => {
  advance(minuteMs);
  provider.rotate(1);
  const token = await provider.token();
  provider.answerWith(hangUp);
  const statuses = new Set<number>();
  for (let n = 0; n <= 30; n += 1) statuses.add(await statusFor(token));
  assert.deepEqual([...statuses], [503, 429]);
});

test('keys are kept for a day of an outage, and not longer', async () => {
  const { verifier } = await startVerifier();
  const token = await provider.token({ ttlSeconds: 7 * 86_400 });
  await verifier.verify(token);
  provider.answerWith(hangUp);
  advance(23 * 60 * minuteMs);
  assert.equal(await verdictOf(verifier, token), 'valid');
  advance(60 * minuteMs);
  assert.equal(await verdictOf(verifier, token), 'token-keys-unavailable');
  provider.answerWith(undefined);
  advance(minuteMs / 2);
  assert.equal(await verdictOf(verifier, token), 'valid');
});

test('a service whose provider is away starts, and is ready when the provider is back', async () => {
  provider.answerWith(hangUp);
  const { verifier } = await startVerifier();
  assert.throws(() => verifier.check(), { code: 'token-keys-unavailable' });
  provider.answerWith(undefined);
  const token = await provider.token();
  assert.equal(await verdictOf(verifier, token), 'token-keys-unavailable');
  advance(minuteMs / 2);
  assert.equal(await verdictOf(verifier, token), 'valid');
  verifier.check();
});

test('a provider whose document is of another issuer stops the start', async () => {
  const issuer = `${provider.issuer}/`;
  await assert.rejects(
    startVerifier({ TOKEN_JWKS_URL: '', TOKEN_ISSUER: issuer }),
    new RegExp(
      `TOKEN_ISSUER is "${RegExp.escape(issuer)}", but .* is of the issuer "${RegExp.escape(provider.issuer)}"`,
    ),
  );
});

const wrongAnswers: [
  string,
  (text: string) => { status?: number; location?: string; body?: string },
  RegExp,
][] = [
  ['is not JSON', () => ({ body: '<html>secret' }), /did not answer with JSON$/],
  ['is a redirect', () => ({ status: 302, location: '/elsewhere' }), /status 302/],
  ['has the status 500', () => ({ status: 500 }), /status 500/],
  ['is over 256 KiB', (text) => ({ body: text + ' '.repeat(256 * 1024) }), /more than 262144 bytes/],
  ['is no JWK set', () => ({ body: '[]' }), /not a JWK set/],
  ['has no key', () => ({ body: '{"keys": []}' }), /no key that the service can use/],
  ['has only a secret', () => ({ body: '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}' }), /no key that/],
  ['has 101 keys', () => ({ body: JSON.stringify({ keys: Array(101).fill({}) }) }), /more than 100 keys/],
];

test('a provider that answers without any key is not an outage', async () => {
  const { verifier } = await startVerifier();
  const token = await provider.token({ ttlSeconds: 3600 });
  await verifier.verify(token);
  provider.answerWith((_, response) => {
    response.end('{"keys": []}');
  });
  advance(10 * minuteMs);
  assert.equal(await verdictOf(verifier, token), 'token-keys-unavailable');
});

test('the query of the URL of the keys is not in the log', async () => {
  for (const body of ['{', ' '.repeat(300_000), '{"keys": []}']) {
    provider.answerWith((_, response) => {
      response.end(body);
    });
    const { warnings } = await startVerifier({ TOKEN_JWKS_URL: `${provider.jwksUrl}?key=hunter2` });
    assert.equal(warnings.length, 1);
    assert.ok(!warnings.join().includes('hunter2'), warnings.join());
  }
});

test('keys at an address without TLS are not fetched', async () => {
  const jwksUrl = 'http://keys.example.com/jwks';
  provider.answerWith((_, response) => {
    response.end(JSON.stringify({ issuer: provider.issuer, jwks_uri: jwksUrl }));
  });
  const { verifier, warnings } = await startVerifier({ TOKEN_JWKS_URL: '' });
  assert.throws(() => verifier.check(), { code: 'token-keys-unavailable' });
  assert.match(warnings.join(), /no "jwks_uri" that is an https URL/);
});

test('a wrong answer of the provider is not used, and the log has the reason', async () => {
  const set = await (await fetch(provider.jwksUrl)).text();
  for (const [title, answer, reason] of wrongAnswers) {
    const { status = 200, location, body = '' } = answer(set);
    provider.answerWith((_, response) => {
      response
        .writeHead(status, { 'content-type': 'application/json', ...(location && { location }) })
        .end(body);
    });
    const { verifier, warnings } = await startVerifier();
    assert.throws(() => verifier.check(), { code: 'token-keys-unavailable' }, title);
    assert.match(warnings.join(), reason, title);
    assert(!warnings.join().includes('secret'), title);
  }
});

/** Returns a token that anybody can sign for a key with the exponent 1: the signature is the padded hash itself (RFC 8017 section 9.2). */
function forgedForExponent1(kid: string, payload: string): string {
  const text = `${Buffer.from(JSON.stringify({ alg: 'RS256', kid })).toString('base64url')}.${payload}`;
  const hash = createHash('sha256').update(text).digest();
  const encoded = Buffer.concat([Buffer.from('3031300d060960864801650304020105000420', 'hex'), hash]);
  const padding = Buffer.alloc(256 - 3 - encoded.length, 0xff);
  const signature = Buffer.concat([Buffer.from([0, 1]), padding, Buffer.from([0]), encoded]);
  return `${text}.${signature.toString('base64url')}`;
}

test('a token that anybody can sign, for a key of the provider with the exponent 1, is refused', async () => {
  const { n } = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
  const { keys } = (await (await fetch(provider.jwksUrl)).json()) as { keys: JsonWebKey[] };
  provider.answerWith((_, response) => {
    response.end(JSON.stringify({ keys: [...keys, { kty: 'RSA', n, e: 'AQ', kid: 'open' }] }));
  });
  const { verifier } = await startVerifier();
  provider.answerWith(undefined);
  const token = await provider.token();
  assert.equal(await verdictOf(verifier, token), 'valid');
  assert.equal(await verdictOf(verifier, forgedForExponent1('open', token.split('.')[1]!)), 'invalid-token');
});

test('weak, private and unknown keys of the provider are left out, and of two keys with one kid both are tried', async () => {
  const { keys } = (await (await fetch(provider.jwksUrl)).json()) as { keys: JsonWebKey[] };
  const own = keys[0]!;
  const weak = { kty: 'RSA', e: 'AQAB', n: 'x'.repeat(171), alg: 'RS256', kid: 'weak' };
  const strange = [
    weak,
    { ...own, d: 'AAAA' },
    { ...own, use: 'enc' },
    { ...own, x: 7 },
    { kty: 'future' },
    null,
  ];
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const sameId = { ...own, ...publicKey.export({ format: 'jwk' }) };
  const answerKeys = (all: unknown[]) =>
    provider.answerWith((_, response) => {
      response.end(JSON.stringify({ keys: all }));
    });
  answerKeys([...strange, sameId, own]);
  const { verifier } = await startVerifier();
  answerKeys([...strange, sameId]);
  const { verifier: other } = await startVerifier();
  provider.answerWith(undefined);
  const token = await provider.token();
  assert.equal(await verdictOf(verifier, token), 'valid');
  assert.equal(await verdictOf(other, token), 'invalid-token');
});
