/**
 * A PostgreSQL on another machine goes away and comes back, hangs, or moves to another address behind its name, also behind a
 * PgBouncer. The service is not restarted.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultKind } from '../../soak/faults.ts';
import { runSoak } from '../../soak/run-soak.ts';
import { findPgBouncer } from '../support/pooler.ts';

const kinds: FaultKind[] = [
  'postgres-away',
  'postgres-hung',
  'postgres-moved',
  'postmaster-killed',
  'backends-terminated',
  'service-stopped',
];
const seed = Number(process.env.SOAK_SEED ?? 1);
const onLinux = process.platform !== 'linux' && 'the loopback of this system has only one address';
const withPooler = onLinux || (findPgBouncer() === undefined && 'this machine has no pgbouncer');

for (const [way, skip] of [
  ['name', onLinux],
  ['name-and-pooler', withPooler],
] as const) {
  test(`every acknowledged operation is there and no other is after faults of an external database (${way})`, {
    skip,
    timeout: 600_000,
  }, async (context) => {
    context.diagnostic(`SOAK_SEED=${seed}`);
    const log = (line: string) => context.diagnostic(line);
    const faults = 3 * kinds.length;
    const figures = await runSoak({ seed, operations: 15 * faults, faults, clients: 5, way, kinds, log });
    assert.deepEqual(figures.violations, [], `with SOAK_SEED=${seed}`);
    assert.equal(Object.keys(figures.faults).length, kinds.length);
    assert.ok(figures.acknowledged > 0 && figures.failed + figures.unanswered > 0, JSON.stringify(figures));
    context.diagnostic(`${Math.round(figures.durationMs / 1000)} s, ${JSON.stringify(figures.faults)}`);
  });
}
