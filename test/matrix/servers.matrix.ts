/**
 * Runs the tests that depend on PostgreSQL with older versions of PostgreSQL, and through PgBouncer. It skips servers that this
 * machine cannot have.
 */
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import type { Binaries } from '../../src/postgres/embedded/binaries.ts';
import { findPgBouncer } from '../support/pooler.ts';
import { startThrowAwayServer } from '../support/throw-away-server.ts';
import { findPrograms } from './find-programs.ts';
import { root, runTests } from './run-tests.ts';

/** The longest time of a run. It takes about two minutes on two cores. */
const timeoutMs = 900_000;

/** Tests that do not depend on PostgreSQL's version or on the way to it, or that take long. `npm test` runs them. */
const independent = [
  'access-log',
  'amplification',
  'attacks',
  'auth',
  'catalogue',
  'concurrent-uploads',
  'connections',
  'content-encoding',
  'cors',
  'definitions-injection',
  'demo',
  'docs-spreadsheets',
  'embedded',
  'embedded-process',
  'full-disk-at-start',
  'fuzz-workbooks',
  'guards',
  'guides',
  'hostile-workbooks',
  'house',
  'http-errors',
  'inspect-excel',
  'inspect-json',
  'json-forms',
  'launcher',
  'limits',
  'many-problems',
  'named-tests',
  'openapi',
  'packaging',
  'pipelined-requests',
  'poolers',
  'readme',
  'sheet-reading',
  'soak',
  'start-failures',
  'text-files',
  'text-reading',
  'tiny-chunks',
  'token',
  'upload-csv',
  'upload-legacy',
  'waiting-lines',
];

/** These tests use one separate connection without the service, so a pooler makes no difference for them. */
const withoutService = ['src/**/*.database.test.ts', 'src/postgres/*.test.ts'];

for (const version of [15, 16, 17]) {
  test(`the tests pass with PostgreSQL ${version}`, { timeout: timeoutMs }, async (t) => {
    let programs: Binaries;
    try {
      programs = await findPrograms(version);
    } catch (error) {
      t.skip((error as Error).message);
      return;
    }
    const server = await startThrowAwayServer(programs);
    try {
      const environment = { TEST_DATABASE_URL: server.url, TEST_ADMIN_DATABASE_URL: server.adminUrl };
      await runTests(`PostgreSQL ${version}`, environment, [...overHttp(), ...withoutService]);
    } finally {
      await server.stop();
    }
  });
}

for (const mode of ['session', 'transaction']) {
  const skip = findPgBouncer() === undefined && 'this machine has no pgbouncer';
  test(`the tests over HTTP pass with PgBouncer in ${mode} mode`, { timeout: timeoutMs, skip }, async () => {
    await runTests(`PgBouncer in ${mode} mode`, { TEST_POOLER: mode }, overHttp());
  });
}

function overHttp(): string[] {
  const files = globSync('test/*.test.ts', { cwd: root });
  return files.filter((file) => !independent.includes(basename(file, '.test.ts')));
}
