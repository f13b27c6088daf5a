/**
 * Workbooks changed token by token end in rows or in a refusal, soon. The long version: `bench/fuzz-workbooks.ts`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomNumbers } from './support/random-numbers.ts';
import { sized } from './support/sized.ts';
import { mutant, outcomeOf, readSeeds } from './support/workbook-mutants.ts';

/** Of processor time, since others may have the machine too. */
const maxMs = 2000;

test('mutated XML ends in rows or in a refusal', async () => {
  const seeds = await readSeeds();
  const random = randomNumbers(20);
  const runs = sized(300, 800);
  const outcomes = new Map<string, number>();
  for (let run = 0; run < runs; run++) {
    const bytes = mutant(seeds[random(seeds.length)]!, random);
    const before = process.cpuUsage();
    const outcome = await outcomeOf(bytes);
    const { user, system } = process.cpuUsage(before);
    assert.ok((user + system) / 1000 < maxMs, `mutant ${run} took ${(user + system) / 1000} ms`);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  // The mutants reach the scanners, and some of them are harmless.
  const told = JSON.stringify([...outcomes]);
  assert.ok(outcomes.get('read')! > runs / 5 && outcomes.get('invalid-file')! > runs / 5, told);
});
