/** A service that cannot start says in one sentence what to do. Also tests what each sslmode accepts. */
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { readConfig } from '../../src/core/settings/config.ts';
import { sendCancelRequest } from '../../src/postgres/cancel-request.ts';
import { findBinaries } from '../../src/postgres/embedded/binaries.ts';
import { connectionOptions } from '../../src/postgres/tls.ts';
import { type Service, startService } from '../../src/service/service.ts';
import { reasonAndRemedy, startFailure } from '../../src/service/start/start-failure.ts';
import { serviceEnvironment } from '../support/child-environment.ts';
import { serviceProgram, startChildService } from '../support/child-service.ts';
import { createTestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { findPgBouncer, startPooler } from '../support/pooler.ts';
import { assertProblem } from '../support/problem.ts';
import { type ServiceClient, secret, serviceClient } from '../support/service.ts';
import { startThrowAwayServer, type ThrowAwayServer } from '../support/throw-away-server.ts';
import { until } from '../support/until.ts';

const certificates = join(import.meta.dirname, '..', 'support', 'certificates');
const authority = join(certificates, 'ca.pem');

const run = promisify(execFile);
const keyPassword = 'the-password-of-the-key';
const skipCertificates =
  spawnSync('openssl', ['version']).error !== undefined && 'this machine has no openssl';

let server: ThrowAwayServer;
let admin: pg.Client;
/** The folder with the client certificates; undefined: this machine has no openssl. */
let clients: string | undefined;

before(async () => {
  clients = await makeClientCertificates();
  server = await startThrowAwayServer(await findBinaries(), {
    settings: {
      ssl: 'on',
      ssl_cert_file: 'server.pem',
      ssl_key_file: 'server.key',
      ...(clients && { ssl_ca_file: 'clients.pem' }),
      max_connections: 8,
      superuser_reserved_connections: 2,
    },
    files: {
      'server.pem': await readFile(join(certificates, 'server.pem')),
      'server.key': await readFile(join(certificates, 'server.key')),
      ...(clients && { 'clients.pem': await readFile(join(clients, 'ca.pem')) }),
    },
    hostRules: `${clients ? 'hostssl cert_only all 127.0.0.1/32 cert\n' : ''}hostssl tls_only all 127.0.0.1/32 scram-sha-256
hostnossl tls_only all 127.0.0.1/32 reject
host closed all 127.0.0.1/32 reject
host all all 127.0.0.1/32 scram-sha-256
`,
  });
  admin = new pg.Client(server.adminUrl);
  await admin.connect();
  for (const name of ['tls_only', 'closed', 'revoked', 'cert_only'])
    await admin.query(`CREATE DATABASE ${name}`);
  await admin.query('REVOKE CONNECT ON DATABASE revoked FROM PUBLIC');
  await admin.query(`CREATE ROLE no_login PASSWORD 'a password for tests'`);
});

after(async () => {
  await admin.end();
  await server.stop();
  if (clients !== undefined) await rm(clients, { recursive: true });
});

/**
 * Makes an authority, and a client certificate for the role `tablewright` with its key, also encrypted. Another certificate is for another role.
 *
 * @returns the folder; undefined: this machine has no openssl
 */
async function makeClientCertificates(): Promise<string | undefined> {
  if (skipCertificates) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-tls-'));
  const openssl = (command: string) => run('openssl', command.split(' '), { cwd: folder });
  const newKey = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 36500 -nodes';
  await openssl(`${newKey} -subj /CN=clients -keyout ca.key -out ca.pem`);
  for (const name of ['tablewright', 'somebody']) {
    await openssl(
      `${newKey} -CA ca.pem -CAkey ca.key -subj /CN=${name} -keyout ${name}.key -out ${name}.pem`,
    );
  }
  await openssl(`ec -in tablewright.key -aes256 -passout pass:${keyPassword} -out encrypted.key`);
  return folder;
}

/** Returns the server's URL with some parts changed. */
function urlWith(change: (url: URL) => void): string {
  const url = new URL(server.url);
  change(url);
  return url.href;
}

/** Returns the URL for TLS, with the host name of the certificate or another one. */
function tlsUrl(mode: string, parameters: Record<string, string> = {}, host = 'localhost'): string {
  return urlWith((url) => {
    url.hostname = host;
    url.searchParams.set('sslmode', mode);
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  });
}

/** Returns the URL of the database that only client certificates may enter. */
function certificateUrl(cert: string | undefined, key = 'tablewright.key', sslpassword = ''): string {
  const files: Record<string, string> =
    cert === undefined ? {} : { sslcert: join(clients!, cert), sslkey: join(clients!, key) };
  const url = new URL(
    tlsUrl('verify-full', { sslrootcert: authority, ...files, ...(sslpassword && { sslpassword }) }),
  );
  url.pathname = '/cert_only';
  url.password = '';
  return url.href;
}

interface Outcome {
  started: boolean;
  /** Returns everything that the person who starts the service sees of a failure. */
  errors: string;
}

/** Starts the service in this process. If it starts, ends it. */
async function start(databaseUrl: string): Promise<Outcome> {
  let warnings = '';
  const listen = (warning: Error) => {
    warnings += `Warning: ${warning.message}`;
  };
  process.on('warning', listen);
  try {
    const service = await startService(readConfig(environmentWith(databaseUrl)));
    await service.stop();
    return { started: true, errors: warnings };
  } catch (error) {
    return { started: false, errors: startFailure(error) + warnings };
  } finally {
    // Warnings are emitted in a later turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
  }
}

/** Starts the service in a separate process. */
async function startProcess(databaseUrl: string, environment: Record<string, string>): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-start-'));
  const child = spawn(process.execPath, [await serviceProgram()], {
    cwd: folder,
    env: { ...serviceEnvironment(), ...environmentWith(databaseUrl), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  let started = false;
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  child.stdout.on('data', (chunk) => {
    if (!String(chunk).includes('Tablewright is up')) return;
    started = true;
    child.kill('SIGTERM');
  });
  await once(child, 'close');
  await rm(folder, { recursive: true, force: true });
  return { started, errors };
}

function environmentWith(databaseUrl: string): Record<string, string> {
  return { PORT: '0', LOG_LEVEL: 'silent', DATABASE_URL: databaseUrl, TOKEN_SECRET: secret };
}

function assertRefused({ started, errors }: Outcome, remedy: RegExp): void {
  assert.equal(started, false);
  assert.match(errors, /^Tablewright cannot start: /);
  assert.match(errors, remedy);
  assert.doesNotMatch(errors, /\n +at |Warning/, 'neither a stack nor a warning of Node.js');
  assert.ok(!errors.includes('a password for tests') && !errors.includes('a%20password'), errors);
}

const cases: [what: string, url: () => string | Promise<string>, remedy: RegExp][] = [
  ['a wrong password', () => urlWith((url) => (url.password = 'wrong')), /Check the user and the password/],
  [
    'a role that does not exist',
    () => urlWith((url) => (url.username = 'nobody')),
    /Check the user and the password/,
  ],
  ['no password', () => urlWith((url) => (url.password = '')), /Write it in DATABASE_URL/],
  ['a role that may not log in', () => urlWith((url) => (url.username = 'no_login')), /ALTER ROLE … LOGIN/],
  ['a missing database', () => urlWith((url) => (url.pathname = '/missing')), /CREATE DATABASE/],
  [
    'a database that the role may not enter',
    () => urlWith((url) => (url.pathname = '/revoked')),
    /GRANT CONNECT ON DATABASE/,
  ],
  ['a database that pg_hba.conf closes', () => urlWith((url) => (url.pathname = '/closed')), /pg_hba\.conf/],
  [
    'a database that wants TLS',
    () => urlWith((url) => (url.pathname = '/tls_only')),
    /add sslmode=verify-full/,
  ],
  [
    'a slash in the password',
    () => 'postgresql://u:p@ss/word@localhost/d',
    /percent-encoded: write \/ as %2F/,
  ],
  ['a number sign in the password', () => 'postgresql://u:p#word@localhost/d', /# as %23/],
  ['a question mark in the password', () => 'postgresql://u:p?word@localhost/d', /\? as %3F/],
  [
    'more ports than hosts',
    () => 'postgresql://u:p@/d?host=one,two&port=1,2,3',
    /names 2 hosts and 3 ports\. Write one port for each host/,
  ],
  ['a list with an empty host', () => 'postgresql://u:p@one,,two/d', /the name of a host is missing/],
  [
    'a standby',
    () => 'postgresql://u:p@one,two/d?target_session_attrs=prefer-standby',
    /has a target_session_attrs that is not one of any, read-write, primary/,
  ],
  [
    'a parameter of libpq without effect',
    () => 'postgresql://u:p@one,two/d?load_balance_hosts=random',
    /has the parameter load_balance_hosts, which the service does not support\. Remove it/,
  ],
  [
    'an unknown parameter',
    () => 'postgresql://u:12?secret=x@h/d',
    /has a parameter that the service does not know\. Remove it/,
  ],
  [
    'an sslmode that does not exist',
    () => tlsUrl('verify_full'),
    /has an sslmode that is not one of disable, allow/,
  ],
  [
    'a certificate of a private authority',
    () => tlsUrl('verify-full'),
    /Add sslrootcert=.*NODE_EXTRA_CA_CERTS/,
  ],
  ['sslmode=require and a certificate of a private authority', () => tlsUrl('require'), /Add sslrootcert=/],
  ['sslmode=prefer and a certificate of a private authority', () => tlsUrl('prefer'), /Add sslrootcert=/],
  [
    'sslmode=verify-ca and a certificate of a private authority',
    () => tlsUrl('verify-ca'),
    /Add sslrootcert=/,
  ],
  [
    'a certificate for another host name',
    () => tlsUrl('verify-full', { sslrootcert: authority }, '127.0.0.1'),
    /is for another host name/,
  ],
  [
    'sslmode=require and a certificate for another host name',
    () => tlsUrl('require', { sslrootcert: authority }, '127.0.0.1'),
    /is for another host name/,
  ],
];

describe('a service does not start and says what to do, for', () => {
  for (const [what, url, remedy] of cases) {
    test(what, async () => assertRefused(await start(await url()), remedy));
  }

  test('a server without TLS', async () => {
    const plain = process.env.TEST_DATABASE_URL!;
    const url = new URL(plain);
    url.searchParams.set('sslmode', 'require');
    const client = new pg.Client(plain);
    await client.connect();
    const { rows } = await client.query('SHOW ssl');
    await client.end();
    if (rows[0].ssl === 'on') return;
    assertRefused(await start(url.href), /has no TLS.*sslmode=disable/);
  });

  test('a parameter that PgBouncer refuses', {
    skip: findPgBouncer() === undefined && 'this machine has no pgbouncer',
  }, async () => {
    const pooler = await startPooler('transaction', server.url);
    const url = new URL(pooler.urlOf(server.url));
    url.searchParams.set('options', '-c work_mem=64MB');
    assertRefused(await start(url.href), /ALTER ROLE or ALTER DATABASE/);
    await pooler.stop();
  });
});

const awayCases: [what: string, url: () => string | Promise<string>, remedy: RegExp][] = [
  [
    'a port that nobody listens on',
    async () => {
      const port = await freePort();
      return urlWith((url) => (url.port = String(port)));
    },
    /Nothing listens there/,
  ],
  [
    'a socket folder without a server',
    () => 'postgresql://u:p@localhost/d?host=/nowhere',
    /Nothing listens there/,
  ],
  [
    'a host that does not exist',
    () => urlWith((url) => (url.hostname = 'no-such-host.invalid')),
    /names a host that does not exist/,
  ],
];

/** Starts the service in this process, and checks that it waits. */
async function startWaiting(databaseUrl: string): Promise<Service & { client: ServiceClient }> {
  const service = await startService(readConfig(environmentWith(databaseUrl)));
  const client = await serviceClient(service.url);
  assert.equal((await client.get('/healthz')).status, 200);
  assertProblem(await client.get('/readyz'), 503, 'database-unavailable');
  assertProblem(await client.get('/table/t'), 503, 'database-unavailable');
  return { ...service, client };
}

describe('a service starts, waits for its database and says what to check, for', () => {
  for (const [what, url, remedy] of awayCases) {
    test(what, async () => {
      const databaseUrl = await url();
      const service = await startWaiting(databaseUrl);
      await service.stop();
      const error = await new pg.Client(connectionOptions(databaseUrl)).connect().catch((thrown) => thrown);
      assert.match(reasonAndRemedy(error).remedy!, remedy);
    });
  }

  test('a server whose connections are all in use', async () => {
    const taken: pg.Client[] = [];
    const takeAll = async () => {
      for (;;) {
        const client = new pg.Client(server.url);
        client.on('error', () => {});
        await client.connect();
        taken.push(client);
      }
    };
    await assert.rejects(takeAll(), { code: '53300' });
    const service = await startWaiting(server.url);
    await Promise.all(taken.map((client) => client.end()));
    await until('the service to be ready', async () => (await service.client.get('/readyz')).status === 200);
    await service.stop();
    // The server releases the place of a connection a moment later.
    const others = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = 'tablewright'`;
    await until('the connections to end', async () => (await admin.query(others)).rows[0].n === 0);
  });
});

test('a service that waited for its database keeps records, runs the loads that wait, and logs each reason once', async () => {
  const database = await createTestDatabase();
  const target = new URL(database.url);
  const port = await freePort();
  const forwarded = new Set<Socket>();
  const relay = createServer((from) => {
    const to = connect(Number(target.port), target.hostname);
    for (const socket of [from, to]) forwarded.add(socket.on('error', () => {}));
    from.pipe(to).pipe(from);
  });
  const url = Object.assign(new URL(target), { hostname: '127.0.0.1', port: String(port) });
  const service = await startChildService({ serviceUrl: url.href });
  try {
    assertProblem(await service.get('/api/v1/loads'), 503, 'database-unavailable');
    relay.listen(port, '127.0.0.1');
    await until('the service to be ready', async () => (await service.get('/readyz')).status === 200);
    const headers = { prefer: 'respond-async', 'idempotency-key': 'one' };
    const accepted = await service.post('/table/t/upload/json', { data: [{ a: 1 }] }, { headers });
    assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
    await until(
      'the load to be committed',
      async () => (await service.get(`/api/v1/loads/${accepted.body.id}`)).body.state === 'committed',
    );
    const waiting = service
      .output()
      .split('\n')
      .filter((line) => line.includes('The service waits for it'));
    assert.match(waiting.join(), /Nothing listens there/);
    assert.equal(waiting.length, 1);
    assert.ok(!service.output().includes(target.password));
    assert.match(service.output(), /"msg":"The database can be used\. The service is ready"/);
  } finally {
    await service.end('SIGTERM');
    relay.close();
    for (const socket of forwarded) socket.destroy();
    await database.drop();
  }
});

test('a service that waits ends with the reason when the database comes and refuses it', async () => {
  const port = await freePort();
  const wrong = urlWith((url) => Object.assign(url, { port: String(port), password: 'wrong' }));
  const service = await startChildService({ serviceUrl: wrong });
  const relay = createServer((from) => {
    from.on('error', () => {});
    from.pipe(connect(server.port, '127.0.0.1').on('error', () => {})).pipe(from);
  });
  const ended = once(service.child, 'close');
  relay.listen(port, '127.0.0.1');
  assert.deepEqual(await ended, [1, null]);
  relay.close();
  assert.match(service.output(), /^Tablewright cannot start: .*\nCheck the user and the password/m);
});

const certificateCases: [what: string, url: () => string, remedy: RegExp][] = [
  ['no client certificate', () => certificateUrl(undefined), /add sslcert=… and sslkey=…/],
  [
    'a client certificate for another role',
    () => certificateUrl('somebody.pem', 'somebody.key'),
    /common name \(CN\)/,
  ],
  [
    'a client certificate of another authority',
    () => certificateUrl(authority, join(certificates, 'server.key')),
    /\./,
  ],
  [
    'the key of another certificate',
    () => certificateUrl('tablewright.pem', 'somebody.key'),
    /files that belong together/,
  ],
  [
    'an encrypted key without its password',
    () => certificateUrl('tablewright.pem', 'encrypted.key'),
    /Add sslpassword=…/,
  ],
  [
    'an encrypted key with a wrong password',
    () => certificateUrl('tablewright.pem', 'encrypted.key', 'wrong'),
    /Add sslpassword=…/,
  ],
  [
    'a client certificate that does not exist',
    () => certificateUrl('missing.pem'),
    /sslcert of DATABASE_URL .*\nCheck the path/,
  ],
  [
    'a client certificate that is not PEM',
    () => certificateUrl('tablewright.key'),
    /must be in the format PEM/,
  ],
  ['sslcert without sslkey', () => tlsUrl('require', { sslcert: authority }), /both sslcert and sslkey/],
  ['sslcrl', () => tlsUrl('require', { sslcrl: authority }), /sslcrl, which the service does not support/],
];

describe('a service with a client certificate does not start and says what to do, for', {
  skip: skipCertificates,
}, () => {
  for (const [what, url, remedy] of certificateCases) {
    test(what, async () => assertRefused(await start(url()), remedy));
  }
});

describe('a client certificate', { skip: skipCertificates }, () => {
  test('a client certificate is accepted with a plain key, and with an encrypted key and sslpassword', async () => {
    const urls = [
      certificateUrl('tablewright.pem'),
      certificateUrl('tablewright.pem', 'encrypted.key', keyPassword),
    ];
    for (const url of urls) assert.deepEqual(await start(url), { started: true, errors: '' });
  });

  test('a client certificate is read anew for each connection, and one that cannot be used is answered with 503', async () => {
    const renewed = join(clients!, 'renewed.pem');
    await copyFile(join(clients!, 'tablewright.pem'), renewed);
    const service = await startService(readConfig(environmentWith(certificateUrl('renewed.pem'))));
    const { get } = await serviceClient(service.url);
    const endConnections = async () => {
      await admin.query(
        `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = 'cert_only'`,
      );
    };
    try {
      for (const damage of [() => writeFile(renewed, 'no certificate'), () => rm(renewed)]) {
        await damage();
        await endConnections();
        await until('the service to notice', async () => (await get('/readyz')).status === 503);
        assertProblem(await get('/table/missing'), 503, 'database-unavailable');
        await copyFile(join(clients!, 'tablewright.pem'), renewed);
        assert.equal((await get('/readyz')).status, 200);
        assertProblem(await get('/table/missing'), 404, 'table-not-found');
      }
    } finally {
      await service.stop();
    }
  });

  test('a client certificate is also shown by a request that cancels a statement', async () => {
    const client = new pg.Client(connectionOptions(certificateUrl('tablewright.pem')));
    await client.connect();
    const sleeping = assert.rejects(client.query('SELECT pg_sleep(60)'), { code: '57014' });
    const isRunning = `SELECT FROM pg_stat_activity WHERE datname = 'cert_only' AND query ~ '^SELECT pg_sleep' AND state = 'active'`;
    await until('the statement to run', async () => (await admin.query(isRunning)).rowCount === 1);
    await sendCancelRequest(client, 10_000);
    await sleeping;
    await client.end();
  });
});

describe('a service starts with', () => {
  const accepted: [string, () => string][] = [
    ['sslmode=disable', () => tlsUrl('disable')],
    ['sslmode=no-verify, whatever the certificate', () => tlsUrl('no-verify', {}, '127.0.0.1')],
    ['sslmode=require and sslrootcert', () => tlsUrl('require', { sslrootcert: authority })],
    [
      'TLS 1.3 as the oldest version',
      () => tlsUrl('verify-full', { sslrootcert: authority, ssl_min_protocol_version: 'TLSv1.3' }),
    ],
    ['sslmode=verify-full and sslrootcert', () => tlsUrl('verify-full', { sslrootcert: authority })],
    [
      'sslmode=verify-full and several hosts, each with its own name',
      () => tlsUrl('verify-full', { sslrootcert: authority }).replace('@', '@127.0.0.2:1,'),
    ],
    [
      'sslmode=verify-ca and sslrootcert, by another host name',
      () => tlsUrl('verify-ca', { sslrootcert: authority }, '127.0.0.1'),
    ],
  ];
  for (const [what, url] of accepted) {
    test(what, async () => {
      assert.deepEqual(await start(url()), { started: true, errors: '' });
    });
  }

  test('sslmode=verify-full and NODE_EXTRA_CA_CERTS', async () => {
    const url = tlsUrl('verify-full');
    const outcome = await startProcess(url, { NODE_EXTRA_CA_CERTS: authority });
    assert.deepEqual(outcome, { started: true, errors: '' });
    assertRefused(await startProcess(url, {}), /Add sslrootcert=/);
  });
});
