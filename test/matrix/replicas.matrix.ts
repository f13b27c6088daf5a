/** Two replicas of the service on one PostgreSQL and one folder of stored uploads, while their processes hang, end, or have a wrong clock. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Fault, type FaultKind, faults } from '../../soak/faults.ts';
import { runSoak } from '../../soak/run-soak.ts';

/** The faults that only this way has, and one of each other process. */
const kinds = (Object.keys(faults) as FaultKind[]).filter((kind) => {
  const { ways }: Fault = faults[kind];
  return ways?.includes('replicas') || ['service-killed', 'postmaster-killed'].includes(kind);
});
const seed = Number(process.env.SOAK_SEED ?? 1);

test('every acknowledged operation is done once, and each event is sent once and is true, after faults of two replicas', {
  skip: process.platform !== 'linux' && 'the processes of this system cannot be measured',
  timeout: 600_000,
}, async (context) => {
  context.diagnostic(`SOAK_SEED=${seed}`);
  const log = (line: string) => context.diagnostic(line);
  const options = { seed, operations: 15 * kinds.length, faults: kinds.length, clients: 6, kinds, log };
  const figures = await runSoak({ ...options, way: 'replicas' });
  assert.deepEqual(figures.violations, [], `with SOAK_SEED=${seed}`);
  assert.equal(Object.keys(figures.faults).length + figures.leftOutFaults.length, kinds.length);
  for (const manner of ['asynchronous', 'repeated', 'parallel']) assert.ok(figures.manners[manner]! > 0);
  context.diagnostic(`${Math.round(figures.durationMs / 1000)} s, ${JSON.stringify(figures.faults)}`);
});
