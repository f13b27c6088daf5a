import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type BudgetOptions, type Claim, MemoryBudget } from './memory-budget.ts';

const mib = 1024 * 1024;
/** Ends the waiting claims, whose timers would keep the process running. */
const stopping = new AbortController();
after(() => stopping.abort());

function budgetOf(options: Partial<BudgetOptions> = {}) {
  const budget = new MemoryBudget({
    maxBytes: 400 * mib,
    maxReaders: 3,
    waitMs: 3_600_000,
    refusal: (wanted) => new Error(`no ${wanted}`),
    ...options,
  });
  const granted: string[] = [];
  const refused: string[] = [];
  const claims = new Map<string, Claim>();
  /** Claims MiB for the subject that the name begins with. */
  const claim = async (name: string, amount: number, isReader = false, signal = stopping.signal) => {
    const file = budget.forFile(name[0]!);
    const made = isReader ? file.claimReader(amount * mib, signal) : file.claim(amount * mib, signal);
    made.then(
      (one) => {
        granted.push(name);
        claims.set(name, one);
      },
      (error: Error) => refused.push(`${name} ${error.message}`),
    );
    await turn();
    return file;
  };
  const keep = async (name: string, amount: number) => {
    claims.get(name)!.keep(amount * mib);
    await turn();
  };
  return { granted, refused, claim, keep };
}

test('claims wait until others have given back enough, also when a file is closed', async () => {
  const { granted, claim, keep } = budgetOf();
  const a = await claim('a', 250);
  await claim('b', 150);
  await claim('c', 100);
  await claim('d', 100);
  assert.deepEqual(granted, ['a', 'b']);
  await keep('b', 60);
  assert.deepEqual(granted, ['a', 'b']);
  await keep('b', 20);
  assert.deepEqual(granted, ['a', 'b', 'c']);
  a.close();
  a.close();
  await turn();
  assert.deepEqual(granted, ['a', 'b', 'c', 'd']);
  await claim('e', 180);
  await claim('f', 1 + 16);
  assert.deepEqual(granted, ['a', 'b', 'c', 'd', 'e']);
});

test('small claims never wait', async () => {
  const { granted, claim } = budgetOf();
  await claim('a', 400);
  for (let n = 0; n < 100; n++) await claim('b', 16);
  assert.equal(granted.length, 101);
});

test('room goes to the subject that has the least, and no other claim overtakes it', async () => {
  const { granted, claim, keep } = budgetOf();
  await claim('a1', 200);
  await claim('b1', 100);
  await claim('a2', 100);
  assert.deepEqual(granted, ['a1', 'b1', 'a2']);
  await claim('b2', 150);
  await claim('c1', 150);
  await claim('c2', 50);
  await keep('a2', 0);
  assert.deepEqual(granted, ['a1', 'b1', 'a2', 'c2']);
  await claim('a3', 20);
  assert.equal(granted.at(-1), 'c2');
  await keep('a1', 0);
  assert.deepEqual(granted.slice(4), ['a3', 'c1']);
});

test('no later claim of a subject that holds as little overtakes a large claim', async () => {
  const { granted, claim, keep } = budgetOf();
  await claim('a', 200);
  await claim('b', 100);
  await claim('c', 300);
  await claim('d', 50);
  assert.deepEqual(granted, ['a', 'b']);
  await keep('b', 50);
  assert.deepEqual(granted, ['a', 'b']);
  await keep('a', 0);
  assert.deepEqual(granted, ['a', 'b', 'c', 'd']);
});

test('a claim that waits for a reader keeps no memory from others', async () => {
  const { granted, claim } = budgetOf();
  for (const name of ['a', 'b', 'c', 'd']) await claim(name, 20, true);
  await claim('e', 100);
  assert.deepEqual(granted, ['a', 'b', 'c', 'e']);
});

test('a subject leaves memory and a reader to others, but its first claim may have everything', async () => {
  const { granted, claim } = budgetOf();
  await claim('a1', 200);
  await claim('a2', 101);
  assert.deepEqual(granted, ['a1']);
  await claim('b', 190, true);
  assert.deepEqual(granted, ['a1', 'b']);
  const other = budgetOf();
  await other.claim('a', 400, true);
  assert.deepEqual(other.granted, ['a']);
  const readers = budgetOf();
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1']) await readers.claim(name, 20, true);
  assert.deepEqual(readers.granted, ['a1', 'a2', 'b1']);
  await readers.keep('a1', 20);
  assert.deepEqual(readers.granted, ['a1', 'a2', 'b1', 'c1']);
});

test('a claim that has waited too long is refused, and lets others go on', async () => {
  const { granted, refused, claim } = budgetOf({ waitMs: 0 });
  await claim('a', 400);
  await claim('b', 100);
  await claim('c', 100, true);
  assert.deepEqual(granted, ['a']);
  assert.deepEqual(refused, ['b no memory', 'c no reader']);
});

test('a cancelled claim leaves the line and takes nothing', async () => {
  const { granted, refused, claim, keep } = budgetOf();
  const cancelled = new AbortController();
  await claim('a', 300);
  await claim('b', 400, false, cancelled.signal);
  await claim('a2', 20);
  assert.deepEqual(granted, ['a']);
  cancelled.abort(new Error('cancelled'));
  await turn();
  await claim('b2', 100, false, cancelled.signal);
  assert.deepEqual(refused, ['b cancelled', 'b2 cancelled']);
  await keep('a', 0);
  await claim('c', 400);
  assert.deepEqual(granted, ['a', 'a2']);
  await keep('a2', 0);
  assert.deepEqual(granted, ['a', 'a2', 'c']);
});
