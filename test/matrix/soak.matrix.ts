/** A longer run of the fault loop (soak/) than the one of `npm test`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSoak } from '../../soak/run-soak.ts';

const seed = Number(process.env.SOAK_SEED ?? Math.floor(Math.random() * 1_000_000));

test('400 operations under 30 faults lose nothing and leave nothing behind', async (context) => {
  context.diagnostic(`SOAK_SEED=${seed}`);
  const log = (line: string): void => context.diagnostic(line);
  const { violations } = await runSoak({ seed, operations: 400, faults: 30, clients: 6, log });
  assert.deepEqual(violations, [], `with SOAK_SEED=${seed}`);
});
