import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ConfigError, readConfig, settings } from './config.ts';

const secret = 'x'.repeat(32);

function errorsOf(environment: Record<string, string>): string[] {
  try {
    readConfig(environment);
  } catch (error) {
    assert(error instanceof ConfigError);
    for (const text of error.errors) assert(error.message.includes(text));
    return error.errors;
  }
  return [];
}

test('without any setting every default applies', () => {
  const config = readConfig({});
  assert.deepEqual(config.http, {
    host: '127.0.0.1',
    port: 8080,
    maxConnections: 1000,
    corsOrigins: [],
    basePath: '',
    trustProxy: undefined,
    shutdownGraceMs: 5000,
  });
  assert.equal(config.database.url, undefined);
  assert.equal(config.database.poolSize, 20);
  assert.equal(config.dataDir, '.tablewright');
  assert.equal(config.tokens.secret, undefined);
  assert.equal(config.limits.maxColumns, 1600);
  assert.equal(config.limits.maxBodyBytes, 10 * 1024 ** 3);
});

test('every default passes its own check', () => {
  for (const setting of settings) {
    if (setting.default !== undefined) assert(setting.fits(setting.default), setting.name);
  }
});

test('settings are read, and an empty value counts as absent', () => {
  const config = readConfig({
    HOST: '::1',
    PORT: '0',
    LOG_LEVEL: '',
    DATABASE_URL: 'postgres://u@h/d',
    TOKEN_SECRET: secret,
    TOKEN_ISSUER: ' ',
    STATEMENT_TIMEOUT_MS: '0',
    CORS_ORIGINS: 'https://a.example  http://b.example:81',
    BASE_PATH: '/data/tables',
  });
  assert.deepEqual(config.http, {
    host: '::1',
    port: 0,
    maxConnections: 1000,
    corsOrigins: ['https://a.example', 'http://b.example:81'],
    basePath: '/data/tables',
    trustProxy: undefined,
    shutdownGraceMs: 5000,
  });
  assert.equal(config.logLevel, 'info');
  assert.equal(config.database.url, 'postgres://u@h/d');
  assert.equal(config.database.statementTimeoutMs, 0);
  assert.deepEqual(config.tokens, {
    jwksUrl: undefined,
    publicKey: undefined,
    secret,
    algorithms: [],
    issuer: undefined,
    audience: undefined,
    scopeClaim: ['scope', 'scp'],
    schemasClaim: undefined,
    roleClaim: 'role',
    defaultRole: undefined,
    requireRole: false,
  });
});

test('all errors are reported at once, each with its name, its rule and an example', () => {
  const errors = errorsOf({
    HOST: '1.2.3',
    PORT: '80a',
    LOG_LEVEL: 'loud',
    MAX_COLUMNS: '1601',
    MAX_ROWS: '-1',
  });
  assert.deepEqual(
    errors.map((error) => error.split(' ', 1)[0]),
    ['HOST', 'PORT', 'LOG_LEVEL', 'MAX_COLUMNS', 'MAX_ROWS'],
  );
  assert.equal(errors[1], 'PORT must be a whole number from 0 to 65535, not "80a"; for example 8080');
});

test('a number has only digits', () => {
  for (const value of ['1e3', '0x10', '1.5', '+1', '65536', '99999999999999999999', '１']) {
    assert.equal(errorsOf({ PORT: value }).length, 1, value);
  }
});

test('secrets are not repeated in the message', () => {
  const errors = errorsOf({ TOKEN_SECRET: 'too-short', DATABASE_URL: 'mysql://u:hunter2@h/d' });
  assert.equal(errors.length, 2);
  assert(!errors.join().includes('too-short'));
  assert(!errors.join().includes('hunter2'));
});

test('DATABASE_URL needs a key for tokens', () => {
  assert.match(
    errorsOf({ DATABASE_URL: 'postgres://u@h/d', TOKEN_ISSUER: 'us' }).join(),
    /^TOKEN_SECRET, TOKEN_PUBLIC_KEY, .* is needed/,
  );
});

test('uploads must leave a connection for other requests', () => {
  assert.match(errorsOf({ MAX_UPLOADS: '20' }).join(), /^DATABASE_POOL_SIZE must be above MAX_UPLOADS/);
});

test('the limit of a row must not be below the limit of a value', () => {
  assert.match(
    errorsOf({ MAX_CELL_BYTES: '100000000' }).join(),
    /^MAX_ROW_BYTES must be at least MAX_CELL_BYTES, which is 100000000, not 67108864/,
  );
  assert.deepEqual(errorsOf({ MAX_CELL_BYTES: '100000000', MAX_ROW_BYTES: '100000000' }), []);
});

test('.env.example has every setting with its purpose and its default, in the order of their declaration', () => {
  const file = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8');
  const [, ...shown] = file.trim().split('\n\n');
  const expected = settings.map(
    ({ name, purpose, default: byDefault = '' }) => `${purpose} ${name}=${byDefault}`,
  );
  assert.deepEqual(
    shown.map((entry) => entry.replaceAll(/\n?# /g, ' ').trim()),
    expected,
  );
});

test('an origin that no browser would send is refused', () => {
  for (const value of [
    'https://a.example/',
    'https://A.example',
    'https://a.example:443',
    'a.example',
    '* https://a.example',
  ])
    assert.deepEqual(errorsOf({ CORS_ORIGINS: value }).length, 1, value);
  assert.deepEqual(errorsOf({ CORS_ORIGINS: '*' }), []);
  for (const value of ['/', '/a/', 'a', '/a//b', '/..', '/a b', '/a?b', 'https://a.example/b'])
    assert.deepEqual(errorsOf({ BASE_PATH: value }).length, 1, value);
  assert.deepEqual(errorsOf({ BASE_PATH: '/.a/b.c/-._' }), []);
  // The time does not depend on where the segments could be divided.
  assert.deepEqual(errorsOf({ BASE_PATH: `/${'tablewright-data/'.repeat(30)}` }).length, 1);
});

test('TRUST_PROXY is a number of proxies, or addresses and networks', () => {
  for (const value of ['1', '10', '10.0.0.1', '10.0.0.0/8 fd00::/8 ::1']) {
    assert.deepEqual(errorsOf({ TRUST_PROXY: value }), []);
  }
  for (const value of [
    '0',
    '11',
    'true',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'fe80::1%eth0',
    '1 10.0.0.1',
  ]) {
    assert.equal(errorsOf({ TRUST_PROXY: value }).length, 1, value);
  }
});

test('one token subject never gets all places for uploads unless that is set', () => {
  const places = (environment: Record<string, string>) => readConfig(environment).limits.maxUploadsPerSubject;
  assert.equal(places({}), 6);
  for (const [uploads, expected] of [
    ['1', 1],
    ['2', 1],
    ['4', 3],
    ['16', 12],
  ] as const) {
    assert.equal(places({ MAX_UPLOADS: uploads, DATABASE_POOL_SIZE: '40' }), expected);
  }
  assert.equal(places({ MAX_UPLOADS_PER_SUBJECT: '8' }), 8);
});
