/** Runs the loop of the folder soak/ for a short time: uploads that meet failures of the network and of PostgreSQL. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Fault, type FaultKind, faults } from '../../soak/faults.ts';
import { runSoak } from '../../soak/run-soak.ts';
import { sized } from '../support/sized.ts';

/** Some faults need two replicas or a way to PostgreSQL of their own: test/matrix/. */
const allKinds = (Object.keys(faults) as FaultKind[]).filter((kind) => !(faults[kind] as Fault).ways);
/** One fault of each process, one of the network and one of the disk. The whole size has all kinds. */
const someKinds: FaultKind[] = ['service-killed', 'postmaster-killed', 'client-vanished', 'spool-full'];

const kinds = sized(0, 1) ? allKinds : someKinds;
const faultCount = sized(1, 3) * kinds.length;
const operationCount = sized(24, 400);

/** A fixed seed, so that a failure is caused by a change and not by chance. `npm run soak` uses other seeds. */
const seed = Number(process.env.SOAK_SEED ?? 1);

test('acknowledged uploads are complete, other uploads are complete or absent, and nothing is left behind', async (context) => {
  context.diagnostic(`SOAK_SEED=${seed}`);
  const figures = await runSoak({
    seed,
    operations: operationCount,
    faults: faultCount,
    kinds,
    clients: 5,
    log: (line) => context.diagnostic(line),
  });
  assert.deepEqual(figures.violations, [], `with SOAK_SEED=${seed}`);
  assert.ok(figures.operations >= operationCount);
  assert.ok(figures.acknowledged > 0 && figures.failed + figures.unanswered > 0, JSON.stringify(figures));
  assert.ok(figures.events > 0);
  const times = Object.values(figures.faults).map((fault) => fault.times);
  assert.equal(times.length + figures.leftOutFaults.length, kinds.length, 'each kind of fault was injected');
});
