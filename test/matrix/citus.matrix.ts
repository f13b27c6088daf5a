/**
 * Runs test/citus/ against a cluster of Citus with a coordinator and two workers. It needs two folders: `CITUS_SCRIPTS` has the script
 * cluster.sh that starts such a cluster, and `CITUS_BUILD` has a build of Citus for this script. `.ci/run` sets both if it has them.
 */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { inDatabase, runStatement } from '../support/database.ts';
import { filesNamed, root } from '../support/groups.ts';
import { runTests } from './run-tests.ts';

const run = promisify(execFile);
const timeoutMs = 1_200_000;

const { CITUS_SCRIPTS: scripts = '', CITUS_BUILD: build = '' } = process.env;
const skip =
  (scripts === '' || build === '') && 'this machine has no Citus (CITUS_SCRIPTS and CITUS_BUILD are not set)';

test('Citus with two workers', { timeout: timeoutMs, skip }, async (t) => {
  // Another user than root runs the servers, so it must be able to reach the folder.
  const folder = await mkdtemp('/tmp/tablewright-citus-');
  const data = join(folder, 'data');
  const cluster = (...parameters: string[]) =>
    run('bash', [join(scripts, 'cluster.sh'), ...parameters], { env: { ...process.env, CITUS_DATA: data } });
  try {
    await run('chmod', ['755', folder]);
    const { stdout } = await cluster('start', build, String(await threeFreePorts()));
    const urls = Object.fromEntries(stdout.trim().split('\n').map(splitVariable));
    // The tests copy no template of a database: each of them makes its own database at all nodes.
    const environment = {
      ...urls,
      CITUS_DATA: data,
      TEST_DATABASE_URL: urls.CITUS_URL!,
      TEST_TEMPLATE: 'template0',
    };
    const files = globSync('test/citus/*.test.ts', { cwd: root });
    await runTests(
      t,
      t.name,
      environment,
      files.filter((file) => !changesRoles(file)),
    );
    await runTests(t, `${t.name}, with other roles`, environment, files.filter(changesRoles));
    const template = await createTemplate(urls.CITUS_SUPERUSER_URL!, new URL(urls.CITUS_URL!).username);
    const ofOrdinary = {
      TEST_TEMPLATE: template,
      TEST_ADMIN_DATABASE_URL: urls.CITUS_SUPERUSER_URL!,
      TEST_ORDINARY_TABLES_OF_CITUS: '1',
    };
    await runTests(t, `${t.name}, ordinary tables`, { ...environment, ...ofOrdinary }, filesNamed(ordinary));
    // These tests kill workers, so no other tests run with them.
    await runTests(
      t,
      `${t.name}, which are killed`,
      environment,
      globSync('test/citus/faults/*.test.ts', { cwd: root }),
    );
  } finally {
    await cluster('destroy', build).catch(() => {});
    await rm(folder, { recursive: true, force: true });
  }
});

/**
 * Returns whether the tests of the file change roles. The service of each file adds the nodes to a new database. Citus then alters all roles
 * of the cluster at the workers, which fails if another session changes a role at the same moment.
 */
function changesRoles(file: string): boolean {
  return file.endsWith('sessions.test.ts');
}

/**
 * The tests of an ordinary PostgreSQL that depend on what Citus may change for ordinary tables at a coordinator: SQL, types, the catalogue,
 * messages, plans, privileges and locks. The client of the tests removes the `distribution` from each answer, after it has checked it.
 *
 * Each file takes several times as long here as with an ordinary PostgreSQL, so a file whose statements have the same forms as those of
 * another one is left out.
 */
const ordinary = [
  'authenticator',
  'column-defaults',
  'create-table',
  'definitions',
  'definitions-round-trip',
  'existing-tables',
  'generated-keys',
  'hidden-objects',
  'idempotency',
  'keys-of-domains',
  'left-in-sessions',
  'left-out-rows',
  'on-conflict',
  'privileges',
  'reading',
  'replace',
  'replace-among-sessions',
  'search-path',
  'staged-plans',
  'upload-json',
  'values-as-postgresql',
];

/** Creates a database that has Citus, to be copied by each test file, and lets the role of the service copy it. Returns its name. */
async function createTemplate(superuserUrl: string, role: string): Promise<string> {
  const name = 'citus_template';
  await runStatement(superuserUrl, `ALTER ROLE ${role} CREATEDB CREATEROLE`);
  await runStatement(superuserUrl, `CREATE DATABASE ${name}`);
  await runStatement(inDatabase(superuserUrl, name), 'CREATE EXTENSION citus');
  await runStatement(superuserUrl, `ALTER DATABASE ${name} WITH IS_TEMPLATE true ALLOW_CONNECTIONS false`);
  return name;
}

/** Splits `NAME=value`. */
function splitVariable(line: string): [string, string] {
  const at = line.indexOf('=');
  return [line.slice(0, at), line.slice(at + 1)];
}

/** Returns the first of three free ports that follow each other. The system gives no port below 32768 to a connection. */
async function threeFreePorts(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const first = 20_000 + 3 * Math.floor(Math.random() * 4000);
    const free = await Promise.all([first, first + 1, first + 2].map(isFree));
    if (free.every(Boolean)) return first;
  }
  throw new Error('there are no three free ports');
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once('error', () => resolve(false));
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  return promise;
}
