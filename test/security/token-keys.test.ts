/** Tests the settings that name keys for tokens, and a service with a public key. */
import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { parseEnv } from 'node:util';
import { ConfigError, readConfig } from '../../src/core/settings/config.ts';
import { startTokenVerifier } from '../../src/service/http/tokens/token-verifier.ts';
import {
  allScopes,
  resolveTokenSettings,
  signDevToken,
  signingSettings,
} from '../../src/service/start/dev-token.ts';
import { assertProblem } from '../support/problem.ts';
import { secret, startTestService, type TestService } from '../support/service.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const otherRsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const ed = generateKeyPairSync('ed25519');
const pem = pemOf(rsa.publicKey);

function pemOf(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }) as string;
}

function jwkOf(key: KeyObject, more: object = {}): string {
  return JSON.stringify({ ...key.export({ format: 'jwk' }), ...more });
}

const log = { info: () => {}, warn: () => {} };
const claims = () => ({ scope: allScopes, exp: Math.floor(Date.now() / 1000) + 60 });

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Signs a token with a private key by hand, so that its header can be wrong in any way. */
function signed(header: object, key: KeyObject, hash: string | null = 'sha256'): string {
  const text = `${encode(header)}.${encode(claims())}`;
  const signature = sign(hash, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

/** Signs a token with a secret by hand. */
function keyed(header: object, key: string | Buffer): string {
  const text = `${encode(header)}.${encode(claims())}`;
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
}

const ownDatabase = { DATABASE_URL: 'postgres://u@h/d' };

function errorsOf(environment: Record<string, string>): string[] {
  try {
    readConfig({ ...ownDatabase, ...environment });
  } catch (error) {
    assert(error instanceof ConfigError);
    return error.errors;
  }
  return [];
}

async function verifierOf(environment: Record<string, string>) {
  const config = readConfig({ ...ownDatabase, ...environment });
  return startTokenVerifier(await resolveTokenSettings(config), log);
}

suite('a service does not start with', () => {
  const weakRsa = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const encrypting = generateKeyPairSync('x25519');
  const jwks = { TOKEN_JWKS_URL: 'https://login.example.com/keys' };
  const provider = { TOKEN_ISSUER: 'https://login.example.com/', TOKEN_AUDIENCE: 'tablewright' };
  const privatePem = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const bare = pem.replaceAll(/-----.*-----|\n/g, '');
  const cases: [string, Record<string, string>, RegExp][] = [
    [
      'two keys',
      { TOKEN_SECRET: secret, TOKEN_PUBLIC_KEY: pem },
      /^TOKEN_PUBLIC_KEY and TOKEN_SECRET are set, but only one/,
    ],
    [
      'three keys',
      { TOKEN_SECRET: secret, TOKEN_PUBLIC_KEY: pem, ...jwks, ...provider },
      /^TOKEN_JWKS_URL, TOKEN_PUBLIC_KEY and TOKEN_SECRET are set/,
    ],
    ['a short secret', { TOKEN_SECRET: 'short' }, /^TOKEN_SECRET must be at least 32 bytes/],
    [
      'a secret that is short for its algorithm',
      { TOKEN_SECRET: 'x'.repeat(63), TOKEN_ALGORITHMS: 'HS256 HS512' },
      /at least 64 bytes for HS512/,
    ],
    [
      'a public key as its secret',
      { TOKEN_SECRET: pem },
      /^TOKEN_SECRET is a key in PEM or JWK form\. Set TOKEN_PUBLIC_KEY/,
    ],
    ['a public key without its lines as its secret', { TOKEN_SECRET: bare }, /^TOKEN_SECRET is a key/],
    ['a JWK as its secret', { TOKEN_SECRET: jwkOf(rsa.publicKey) }, /^TOKEN_SECRET is a key/],
    [
      'an RSA key of 1024 bits',
      { TOKEN_PUBLIC_KEY: pemOf(weakRsa.publicKey) },
      /1024 bits, which is too weak/,
    ],
    ...[
      ['the exponent 1', { e: 'AQ' }],
      ['the exponent 3', { e: 'Aw' }],
      ['an even exponent', { e: 'AQAC' }],
      ['an even modulus', { n: Buffer.alloc(256, 0xfe).toString('base64url') }],
    ].map(([title, change]): (typeof cases)[number] => [
      `an RSA key with ${title}`,
      {
        TOKEN_PUBLIC_KEY: JSON.stringify({
          ...rsa.publicKey.export({ format: 'jwk' }),
          ...(change as object),
        }),
      },
      /must be odd and at least 65537/,
    ]),
    ['an RSA key of 1024 bits as JWK', { TOKEN_PUBLIC_KEY: jwkOf(weakRsa.publicKey) }, /1024 bits/],
    ['a private key', { TOKEN_PUBLIC_KEY: privatePem }, /^TOKEN_PUBLIC_KEY is a private key/],
    ['a private JWK', { TOKEN_PUBLIC_KEY: jwkOf(ed.privateKey) }, /^TOKEN_PUBLIC_KEY is a private key/],
    [
      'a secret as JWK',
      { TOKEN_PUBLIC_KEY: '{"kty":"oct","k":"c2VjcmV0"}' },
      /shared secret, which belongs in TOKEN_SECRET/,
    ],
    [
      'a key for encryption',
      { TOKEN_PUBLIC_KEY: pemOf(encrypting.publicKey) },
      /of a kind that is not supported/,
    ],
    [
      'a JWK for encryption',
      { TOKEN_PUBLIC_KEY: jwkOf(rsa.publicKey, { use: 'enc' }) },
      /not for signatures/,
    ],
    [
      'a JWK whose alg is of another kind',
      { TOKEN_PUBLIC_KEY: jwkOf(ec.publicKey, { alg: 'ES256' }) },
      /"alg" that is not one of ES384/,
    ],
    ['a damaged PEM', { TOKEN_PUBLIC_KEY: pem.slice(0, 200) }, /not a valid public key in PEM form/],
    ['a damaged JWK', { TOKEN_PUBLIC_KEY: '{"kty":"RSA"' }, /not a valid JWK/],
    [
      'a file that does not exist',
      { TOKEN_PUBLIC_KEY: '/nowhere/key.pem' },
      /nor a file that can be read \(ENOENT\)/,
    ],
    [
      'a secret algorithm for a public key',
      { TOKEN_PUBLIC_KEY: pem, TOKEN_ALGORITHMS: 'RS256 HS256' },
      /^TOKEN_ALGORITHMS has HS256, but the key of TOKEN_PUBLIC_KEY allows only RS256,/,
    ],
    [
      'a public algorithm for a secret',
      { TOKEN_SECRET: secret, TOKEN_ALGORITHMS: 'RS256' },
      /^TOKEN_ALGORITHMS has RS256, but the key of TOKEN_SECRET/,
    ],
    [
      'a secret algorithm for a provider',
      { ...jwks, ...provider, TOKEN_ALGORITHMS: 'HS256' },
      /^TOKEN_ALGORITHMS has HS256, but the key of TOKEN_JWKS_URL/,
    ],
    [
      'the algorithm none',
      { TOKEN_SECRET: secret, TOKEN_ALGORITHMS: 'none' },
      /^TOKEN_ALGORITHMS must be some of HS256/,
    ],
    [
      'keys without TLS',
      { TOKEN_JWKS_URL: 'http://login.example.com/keys', ...provider },
      /^TOKEN_JWKS_URL must be an https URL/,
    ],
    [
      'a password in the URL of keys',
      { TOKEN_JWKS_URL: 'https://u:p@login.example.com/keys', ...provider },
      /^TOKEN_JWKS_URL must be an https URL/,
    ],
    [
      'an issuer without TLS',
      { ...provider, TOKEN_ISSUER: 'http://login.example.com/' },
      /^TOKEN_ISSUER must be an https URL/,
    ],
    [
      'keys of a provider without an audience',
      { ...jwks, TOKEN_ISSUER: 'us' },
      /^TOKEN_AUDIENCE is needed with TOKEN_JWKS_URL/,
    ],
    [
      'keys of a provider without an issuer',
      { ...jwks, TOKEN_AUDIENCE: 'us' },
      /^TOKEN_ISSUER is needed with TOKEN_JWKS_URL/,
    ],
    [
      'discovery without an audience',
      { TOKEN_ISSUER: 'https://login.example.com/' },
      /^TOKEN_AUDIENCE is needed with OpenID/,
    ],
    [
      'a default role that is none',
      { TOKEN_SECRET: secret, TOKEN_DEFAULT_ROLE: 'none' },
      /^TOKEN_DEFAULT_ROLE must be/,
    ],
    [
      'a pointer that is none',
      { TOKEN_SECRET: secret, TOKEN_ROLE_CLAIM: '/a~b' },
      /^TOKEN_ROLE_CLAIM must be/,
    ],
  ];
  for (const [title, environment, error] of cases) {
    test(title, () => {
      const errors = errorsOf(environment);
      assert.equal(errors.length, 1, errors.join('\n'));
      assert.match(errors[0]!, error);
      const { TOKEN_SECRET, TOKEN_PUBLIC_KEY, TOKEN_JWKS_URL } = environment;
      for (const value of [TOKEN_SECRET, TOKEN_PUBLIC_KEY, TOKEN_JWKS_URL]) {
        if (value !== undefined) assert(!errors[0]!.includes(value));
      }
    });
  }

  test('several of these, and all are reported at once', () => {
    const errors = errorsOf({
      TOKEN_SECRET: pem,
      TOKEN_PUBLIC_KEY: jwkOf(weakRsa.publicKey),
      TOKEN_ROLE_CLAIM: '/~',
    });
    assert.equal(errors.length, 4, errors.join('\n'));
  });
});

suite('a public key', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tablewright-keys-'));
  });
  after(() => rm(folder, { recursive: true }));

  const forms: [string, () => string | Promise<string>, () => string][] = [
    ['RSA in PEM form', () => pem, () => signed({ alg: 'RS256' }, rsa.privateKey)],
    [
      'RSA in PEM form on one line',
      () => pem.trim().replaceAll('\n', '\\n'),
      () => signed({ alg: 'RS256' }, rsa.privateKey),
    ],
    [
      'RSA without the lines of PEM',
      () => pem.replaceAll(/-----.*-----|\n/g, ''),
      () => signed({ alg: 'RS256' }, rsa.privateKey),
    ],
    [
      'P-384 as JWK',
      () => jwkOf(ec.publicKey, { kid: 'a', use: 'sig' }),
      () => signed({ alg: 'ES384', kid: 'b' }, ec.privateKey, 'sha384'),
    ],
    [
      'Ed25519 in a file in PEM form',
      () => fileOf(pemOf(ed.publicKey)),
      () => signed({ alg: 'EdDSA' }, ed.privateKey, null),
    ],
    [
      'Ed25519 in a file as JWK',
      () => fileOf(jwkOf(ed.publicKey, { alg: 'Ed25519' })),
      () => signed({ alg: 'Ed25519' }, ed.privateKey, null),
    ],
  ];
  for (const [title, value, token] of forms) {
    test(`a public key may be ${title}`, async () => {
      const verifier = await verifierOf({ TOKEN_PUBLIC_KEY: await value() });
      assert.ok((await verifier.verify(token())).scopes.has('table:create'));
      await assert.rejects(verifier.verify(signed({ alg: 'RS256' }, otherRsa.privateKey)), {
        code: 'invalid-token',
      });
    });
  }

  async function fileOf(text: string): Promise<string> {
    const path = join(folder, 'key');
    await writeFile(path, `${text}\n`);
    return path;
  }
});

suite('a service with a public key refuses a token', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ TOKEN_SECRET: '', TOKEN_PUBLIC_KEY: pem, TOKEN_ALGORITHMS: 'RS256' });
  });
  after(() => service.stop());

  const get = (token: string) => service.get('/table/none', { token });
  const otherJwk = otherRsa.publicKey.export({ format: 'jwk' });
  const url = 'https://keys.example.com/keys';
  const der = rsa.publicKey.export({ type: 'spki', format: 'der' });
  const wrong: [string, () => string][] = [
    ['of another key', () => signed({ alg: 'RS256' }, otherRsa.privateKey)],
    ['of another algorithm for the key', () => signed({ alg: 'RS384' }, rsa.privateKey, 'sha384')],
    ['of a key in its own header (jwk)', () => signed({ alg: 'RS256', jwk: otherJwk }, otherRsa.privateKey)],
    [
      'of a key at an address in its own header (jku)',
      () => signed({ alg: 'RS256', jku: url, kid: '1' }, otherRsa.privateKey),
    ],
    [
      'of a certificate at an address in its own header (x5u)',
      () => signed({ alg: 'RS256', x5u: url }, otherRsa.privateKey),
    ],
    ['whose secret is the public key in PEM form', () => keyed({ alg: 'HS256' }, pem)],
    [
      'whose secret is the public key in PEM form without the last line break',
      () => keyed({ alg: 'HS256' }, pem.trim()),
    ],
    ['whose secret is the public key in DER form', () => keyed({ alg: 'HS256' }, der)],
    [
      'whose secret is the modulus',
      () => keyed({ alg: 'HS256' }, Buffer.from(rsa.publicKey.export({ format: 'jwk' }).n!, 'base64url')),
    ],
    ['of alg RS256 with an HMAC', () => keyed({ alg: 'RS256' }, pem)],
    ['of another type', () => signed({ alg: 'RS256', typ: 'logout+jwt' }, rsa.privateKey)],
    ['whose type is a number', () => signed({ alg: 'RS256', typ: 7 }, rsa.privateKey)],
    ['of alg none', () => `${encode({ alg: 'none' })}.${encode(claims())}.`],
    ['of alg None', () => `${encode({ alg: 'None' })}.${encode(claims())}.`],
    ['without alg', () => `${encode({ typ: 'JWT' })}.${encode(claims())}.`],
  ];
  for (const [title, token] of wrong) {
    test(title, async () => {
      assertProblem(await get(token()), 401, 'invalid-token');
    });
  }

  test('a service with a public key accepts a token of its key, also of a type for access tokens', async () => {
    for (const typ of [undefined, 'JWT', 'at+jwt', 'application/at+jwt'])
      assertProblem(await get(signed({ alg: 'RS256', typ }, rsa.privateKey)), 404, 'table-not-found');
  });
});

test('the settings for identity providers in docs/tokens.md are valid', () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'tokens.md'), 'utf8');
  const blocks = page.matchAll(/```sh\n((?:TOKEN_\w+=.*\n)+)```/g);
  const examples = [...blocks].map(([, text]) => parseEnv(text!) as Record<string, string>);
  assert.equal(examples.length, 3);
  for (const example of examples) assert.deepEqual(errorsOf(example), [], JSON.stringify(example));
});

test('a token for development has the algorithm and the claims of the settings', async () => {
  const config = readConfig({
    ...ownDatabase,
    TOKEN_SECRET: 'x'.repeat(64),
    TOKEN_ALGORITHMS: 'HS512',
    TOKEN_SCOPE_CLAIM: '/resource_access/app.example~1x/roles scope',
    TOKEN_SCHEMAS_CLAIM: 'https://example.com/schemas',
    TOKEN_ROLE_CLAIM: '/resource_access/role',
  });
  const settings = await resolveTokenSettings(config);
  const token = await signDevToken(signingSettings(settings)!, {
    scope: 'table:read',
    schemas: ['sales'],
    role: 'clerk',
    ttlSeconds: 60,
  });
  const grants = await (await startTokenVerifier(settings, log)).verify(token);
  const { subject, schemas, role } = grants;
  assert.deepEqual(
    { subject, schemas, role, scopes: [...grants.scopes] },
    {
      subject: 'development',
      scopes: ['table:read'],
      schemas: ['sales'],
      role: 'clerk',
    },
  );
});
