/** A short run of the fault loop (soak/), and that docs/reliability.md names tests that exist. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { faults } from '../soak/faults.ts';
import { runSoak } from '../soak/run-soak.ts';
import { sized } from './support/sized.ts';

const root = join(import.meta.dirname, '..');
const kinds = Object.keys(faults).length;

const faultCount = sized(kinds, 3 * kinds);
const operationCount = sized(6 * kinds, 400);

const seed = Number(process.env.SOAK_SEED ?? Math.floor(Math.random() * 1_000_000));

test('everything that was acknowledged is there in whole, nothing else is there in part, and nothing is left behind', async (context) => {
  context.diagnostic(`SOAK_SEED=${seed}`);
  const figures = await runSoak({
    seed,
    operations: operationCount,
    faults: faultCount,
    clients: 5,
    log: (line) => context.diagnostic(line),
  });
  assert.deepEqual(figures.violations, [], `with SOAK_SEED=${seed}`);
  assert.ok(figures.operations >= operationCount);
  assert.ok(figures.acknowledged > 0 && figures.failed + figures.unanswered > 0, JSON.stringify(figures));
  const times = Object.values(figures.faults).map((fault) => fault.times);
  assert.equal(times.length + figures.leftOutFaults.length, kinds, 'each kind of fault was injected');
});

test('each test that docs/reliability.md names exists', () => {
  const page = readFileSync(join(root, 'docs', 'reliability.md'), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| .* \| `.*\.test\.ts`: /.test(line));
  assert.ok(rows.length > 20);
  for (const row of rows) {
    const cell = row.split(' | ').at(-1)!;
    for (const [, file, titles] of cell.matchAll(/`([\w/.-]+\.test\.ts)`: ((?:"[^"]+"(?:, )?)+)/g)) {
      const source = readFileSync(join(root, file!), 'utf8');
      for (const [, title] of titles!.matchAll(/"([^"]+)"/g)) {
        const named = new RegExp(`\\b(test|suite|describe)\\(\\s*(['"\`])${RegExp.escape(title!)}`);
        assert.match(source, named, `${file} has no test "${title}"`);
      }
    }
  }
});
