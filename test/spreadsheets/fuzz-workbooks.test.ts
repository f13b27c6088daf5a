/** Workbooks with changed tokens are loaded or refused within a short time. The long version is `bench/fuzz-workbooks.ts`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomNumbers } from '../support/random-numbers.ts';
import { sized } from '../support/sized.ts';
import { mutant, outcomeOf, readSeeds } from '../support/workbook-mutants.ts';

/** The most processor time. It is not elapsed time, because other programs may use the machine. */
const maxMs = 2000;

test('mutated XML ends in rows or in a refusal', async () => {
  const seeds = await readSeeds();
  const random = randomNumbers(20);
  const runs = sized(150, 800);
  const outcomes = new Map<string, number>();
  for (let run = 0; run < runs; run++) {
    const bytes = mutant(seeds[random(seeds.length)]!, random);
    const before = process.cpuUsage();
    const outcome = await outcomeOf(bytes);
    const { user, system } = process.cpuUsage(before);
    assert.ok((user + system) / 1000 < maxMs, `mutant ${run} took ${(user + system) / 1000} ms`);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  // The changed files reach the scanners, and some of them are valid.
  const told = JSON.stringify([...outcomes]);
  assert.ok(outcomes.get('read')! > runs / 5 && outcomes.get('invalid-file')! > runs / 5, told);
});
