/**
 * Runs the tests that depend on PostgreSQL with older versions of PostgreSQL, and through PgBouncer. It skips servers that this
 * machine cannot have.
 *
 * It takes the longest, so its name is the first one: the runner sorts the files, and it would run alone at the end.
 */
import { test } from 'node:test';
import type { Binaries } from '../../src/postgres/embedded/binaries.ts';
import { filesNamed, serviceTests } from '../support/groups.ts';
import { findPgBouncer } from '../support/pooler.ts';
import { startThrowAwayServer } from '../support/throw-away-server.ts';
import { findPrograms } from './find-programs.ts';
import { runTests } from './run-tests.ts';

/** The longest time of a run, which is several times that on two quiet cores. */
const timeoutMs = 1_800_000;

/**
 * Tests that do not depend on PostgreSQL's version or on the way to it, or that take long. The two tiers run them. Most of them are about
 * HTTP, files, tokens, processes or programs, and send PostgreSQL only statements that other tests send, too.
 */
const independent = [
  'access-log',
  'allowed-addresses',
  'amplification',
  'attacks',
  'audit-log',
  'auth',
  'base-path',
  'catalogue',
  'client',
  'command-line',
  'command-line-passwords',
  'command-line-signals',
  'concurrent-uploads',
  'connections',
  'console',
  'console-changes',
  'console-corrections',
  'console-follows',
  'console-mapping',
  'console-requests',
  'content-encoding',
  'corrections',
  'cors',
  'csv-gives-back',
  'definitions-injection',
  'demo',
  'digits-of-numbers',
  'docs-events',
  'docs-loading',
  'docs-recipes',
  'docs-spreadsheets',
  'embedded',
  'embedded-process',
  'empty-cells',
  'encrypted-workbooks',
  'expanding-files',
  'faulty-rows-file',
  'fetch-file',
  'fill-down',
  'flatten',
  'from-url',
  'full-disk-at-start',
  'fuzz-workbooks',
  'guards',
  'guessed-encodings',
  'guides',
  'held-bodies',
  'hidden-and-footer',
  'hostile-values',
  'hostile-workbooks',
  'house',
  'house-sizes',
  'http-errors',
  'identity-provider',
  'in-process-end',
  'inspect-excel',
  'inspect-json',
  'joined-commands',
  'json-forms',
  'keys-over-tls',
  'large-definitions',
  'launcher',
  'legacy-damage',
  'legacy-reader',
  'legacy-records',
  'limits',
  'lines-and-quotes',
  'load-deaths',
  'load-links',
  'load-packed-files',
  'load-progress',
  'load-says-what-was-guessed',
  'load-together',
  'log-output',
  'long-messages',
  'long-values',
  'many-problems',
  'mcp',
  'memory-of-exports',
  'memory-of-files',
  'memory-of-long-rows',
  'memory-of-postgresql',
  'memory-of-values',
  'messy-files',
  'metrics',
  'minus-zero',
  'mixed-columns',
  'named-tests',
  'natural-values',
  'openapi',
  'packaging',
  'packed-files',
  'parameters',
  'pipelined-requests',
  'places-in-workbooks',
  'plain-words',
  'poolers',
  'problem-groups',
  'problems-csv',
  'readme',
  'repaired-rows',
  'repeated-dates',
  'repeated-definition-keys',
  'repeated-headers',
  'request-limits',
  'returning-cells',
  'rounded-digits',
  'searched-values',
  'secret-links',
  'sent-bytes',
  'sheet-reading',
  'soak',
  'sorted-parts',
  'standby',
  'start-failures',
  'stored-values',
  'table-proposals',
  'table-range',
  'test-groups',
  'text-files',
  'text-reading',
  'tiny-chunks',
  'together-deaths',
  'together-links',
  'token',
  'token-keys',
  'tracing',
  'unhandled-errors',
  'upload-csv',
  'upload-excel',
  'upload-legacy',
  'upload-parquet',
  'waiting-lines',
  'worker-group',
  'workers',
  'written-elements',
  'written-expressions',
  'wrong-quotes',
];

/**
 * Tests of what may differ between two versions of PostgreSQL: SQL, types, the catalogue, messages and privileges. The versions between the
 * oldest and the newest one run only these. Anything else, such as the protocol, plans and locks, that works with both the oldest version
 * and the newest one, which `npm test` uses, works with the versions between them.
 */
const ofVersions = [
  'column-defaults',
  'create-table',
  'definitions',
  'definitions-round-trip',
  'existing-tables',
  'hidden-objects',
  'names-of-types',
  'on-conflict',
  'privileges',
  'search-path',
  'service-schema',
  'upload-json',
  'values-as-postgresql',
];

/**
 * Tests of what a PgBouncer in session mode may change: settings, prepared statements, temporary objects, locks, notifications, the
 * cancellation of statements, and connections that end. In this mode each connection of the service has a session of its own,
 * as without a PgBouncer. Most other tests run in transaction mode, in which a statement may rely on less.
 */
const ofSessions = [
  'async-loads',
  'authenticator',
  'events',
  'faults',
  'interrupted-uploads',
  'killed-processes',
  'left-in-sessions',
  'load-faults',
  'load-states',
  'replace-among-sessions',
  'search-path',
  'stored-uploads',
  'webhooks',
];

/** Tests of processes and machines that end, which take long. They run with the newest version, also through a PgBouncer in session mode. */
const ofDeaths = ['killed-processes', 'load-faults', 'load-states', 'stored-uploads'];

/** Tests of locks, events and computed values, which are the same in every version. They run with the newest one, and most of them through a PgBouncer. */
const ofNewest = [
  'changes-under-readers',
  'concurrent-definitions',
  'concurrent-missing-rows',
  'concurrent-widening',
  'console-together',
  'docs-definitions',
  'event-announcements',
  'faults',
  'hanging-commits',
  'interrupted-uploads',
  'lost-rights',
  'numbers-in-expressions',
  'parallel-upserts',
  'profiles',
  'renamed-schemas',
  'replace-among-sessions',
  'replace-under-readers',
  'sets-of-keys',
  'webhooks',
];

/** Tests of what PostgreSQL does with definitions, types, values, rows and privileges. The statements go through a PgBouncer unchanged. */
const ofValues = [
  'alter-model',
  'casts-of-others',
  'checks-inside-values',
  'column-defaults',
  'comments',
  'constraint-names',
  'create-table',
  'default-functions',
  'definitions',
  'definitions-round-trip',
  'docs-definitions',
  'drop-and-rename',
  'export-model',
  'export-round-trip',
  'expressions',
  'foreign-key-rules',
  'frozen-rows',
  'generated-keys',
  'hidden-objects',
  'hostile-expressions',
  'hostile-functions',
  'indexes',
  'internal-errors',
  'key-options',
  'keys-at-import',
  'keys-of-domains',
  'left-out-parts',
  'left-out-rows',
  'list-types',
  'load-problems',
  'long-refusals',
  'misfits',
  'missing-rows',
  'names-of-types',
  'new-names',
  'not-valid',
  'numbering',
  'numbers-in-expressions',
  'numbers-taken',
  'objects-in-defaults',
  'on-conflict',
  'one-judge',
  'one-pass',
  'own-types',
  'problems-of-cells',
  'provenance',
  'reading',
  'remedies',
  'returning-rows-model',
  'round-trips',
  'row-numbers',
  'row-triggers',
  'same-file',
  'sets-of-keys',
  'skip-with-triggers',
  'staged-plans',
  'tables-below',
  'together-model',
  'token-matrix',
  'unchanged-rows',
  'update-model',
  'upload-json',
  'upload-model',
  'values-as-postgresql',
  'widen-model',
];

/** These tests use one separate connection without the service, so a pooler makes no difference for them. */
const withoutService = ['src/**/*.database.test.ts', 'src/postgres/*.test.ts'];

const oldestVersion = 15;

for (const version of [oldestVersion, 16, 17]) {
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
      const [files, cases] =
        version === oldestVersion
          ? [allExcept([...independent, ...ofDeaths, ...ofNewest]), { TEST_CASES: 'all' }]
          : [filesNamed(ofVersions), {}];
      await runTests(t, `PostgreSQL ${version}`, { ...environment, ...cases }, [...files, ...withoutService]);
    } finally {
      await server.stop();
    }
  });
}

for (const [mode, files] of [
  ['session', filesNamed(ofSessions)],
  ['transaction', allExcept([...independent, ...ofValues, ...ofDeaths])],
] as const) {
  const skip = findPgBouncer() === undefined && 'this machine has no pgbouncer';
  test(`the tests over HTTP pass with PgBouncer in ${mode} mode`, { timeout: timeoutMs, skip }, async (t) => {
    await runTests(t, `PgBouncer in ${mode} mode`, { TEST_POOLER: mode }, files);
  });
}

/** Returns the test files of `test/` except those with these names. */
function allExcept(names: string[]): string[] {
  const left = new Set(filesNamed(names));
  return serviceTests().filter((file) => !left.has(file));
}
