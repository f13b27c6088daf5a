import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ReaderSlots } from './reader-slots.ts';

const never = new AbortController().signal;

test('at most all slots are used, and the longest waiting request is next', async () => {
  const slots = new ReaderSlots(2);
  const order: number[] = [];
  const give: (() => void)[] = [];
  const takers = [0, 1, 2, 3].map(async (n) => {
    give[n] = await slots.take(never);
    order.push(n);
  });
  await turn();
  assert.deepEqual(order, [0, 1]);
  give[1]!();
  await turn();
  assert.deepEqual(order, [0, 1, 2]);
  give[0]!();
  await Promise.all(takers);
  assert.deepEqual(order, [0, 1, 2, 3]);
  give[2]!();
  give[3]!();
  (await slots.take(never))();
});

test('a cancelled request leaves the line and uses no slot', async () => {
  const slots = new ReaderSlots(1);
  const give = await slots.take(never);
  const controller = new AbortController();
  const cancelled = slots.take(controller.signal);
  const next = slots.take(never);
  controller.abort(new Error('cancelled'));
  await assert.rejects(cancelled, /cancelled/);
  await assert.rejects(slots.take(controller.signal), /cancelled/);
  give();
  (await next)();
  (await slots.take(never))();
});
