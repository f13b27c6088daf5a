import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { until } from '../../../../test/support/until.ts';
import { type LineKeys, type LineOptions, WaitingLine } from './waiting-line.ts';

/** Ends the waiting requests, whose timers would keep the process running. */
const stopping = new AbortController();
after(() => stopping.abort());

/** Makes a line whose requests run until `end` is called. */
function lineOf(options: Partial<LineOptions>) {
  const line = new WaitingLine({
    places: 2,
    placesPerCaller: 2,
    maxWaiting: 100,
    waitMs: 3_600_000,
    refusal: ({ isOwn }) => new Error(isOwn ? 'own' : 'busy'),
    ...options,
  });
  const begun: string[] = [];
  const refused: string[] = [];
  const ends = new Map<string, () => void>();
  const send = async (name: string, keys: LineKeys) => {
    const used = line.use(keys, stopping.signal, () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
    used.catch((error: Error) => refused.push(`${name} ${error.message}`));
    await setImmediate();
  };
  const end = async (name: string) => {
    ends.get(name)!();
    await setImmediate();
  };
  return { begun, refused, send, end };
}

test('a free place goes to the caller with the fewest places, then to the table with the fewest, then to the oldest request', async () => {
  const { begun, send, end } = lineOf({ places: 4, placesPerCaller: 4, placesPerTable: 3 });
  for (const n of [1, 2, 3]) await send(`a${n}`, { caller: 'a', table: 's' });
  await send('b1', { caller: 'b', table: 't' });
  await send('a4', { caller: 'a', table: 'u' });
  await send('b2', { caller: 'b', table: 's' });
  await send('b3', { caller: 'b', table: 'u' });
  await end('a1');
  assert.equal(begun.at(-1), 'b3');
  await end('a2');
  assert.equal(begun.at(-1), 'a4');
  await end('a3');
  assert.equal(begun.at(-1), 'b2');
});

test('requests for one table do not use the places of other tables, whoever sends them', async () => {
  const { begun, send } = lineOf({ places: 3, placesPerCaller: 3, placesPerTable: 2 });
  for (const caller of ['a', 'b', 'c']) await send(caller, { caller, table: 't' });
  await send('d', { caller: 'd', table: 'u' });
  assert.deepEqual(begun, ['a', 'b', 'd']);
});

test('if the line is full, the caller with the most waiting requests is refused because of its own number, and others only if no caller has more', async () => {
  const { refused, send } = lineOf({ places: 1, placesPerCaller: 1, maxWaiting: 3 });
  for (const n of [1, 2, 3, 4, 5]) await send(`a${n}`, { caller: 'a' });
  assert.deepEqual(refused, ['a5 own']);
  await send('b1', { caller: 'b' });
  assert.deepEqual(refused, ['a5 own', 'a4 own']);
  await send('c1', { caller: 'c' });
  await send('d1', { caller: 'd' });
  assert.deepEqual(refused.slice(2), ['a3 own', 'd1 busy']);
});

test('the end of one request begins all waiting requests that may run then, also those of other limits', async () => {
  const { begun, send, end } = lineOf({ places: 6, placesPerCaller: 5, placesPerTable: 2 });
  for (const [name, table] of ['X', 'X', 'Y', 'Z', 'W'].entries())
    await send(`a${name}`, { caller: 'a', table });
  await send('bX', { caller: 'b', table: 'X' });
  await send('aV', { caller: 'a', table: 'V' });
  await end('a0');
  assert.deepEqual(begun.slice(5), ['bX', 'aV']);
});

test('whatever begins and ends, no request waits that may run', async () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  for (let round = 0; round < 30; round++) {
    const places = 1 + random(6);
    const placesPerCaller = 1 + random(places);
    const placesPerTable = 1 + random(places);
    const { begun, send, end } = lineOf({ places, placesPerCaller, placesPerTable, maxWaiting: 1000 });
    const sent = new Map<string, { caller: string; table: string }>();
    const ended = new Set<string>();
    for (let step = 0; step < 60; step++) {
      const running = begun.filter((name) => !ended.has(name));
      if (running.length > 0 && random(2) === 0) {
        const name = running[random(running.length)]!;
        ended.add(name);
        await end(name);
      } else {
        const keys = { caller: 'abc'[random(3)]!, table: 'tuvw'[random(4)]! };
        sent.set(String(step), keys);
        await send(String(step), keys);
      }
      const now = begun.filter((name) => !ended.has(name)).map((name) => sent.get(name)!);
      assert.ok(now.length <= places);
      for (const [name, { caller, table }] of sent) {
        const ofCaller = now.filter((one) => one.caller === caller).length;
        const ofTable = now.filter((one) => one.table === table).length;
        assert.ok(ofCaller <= placesPerCaller && ofTable <= placesPerTable);
        const mayRun = now.length < places && ofCaller < placesPerCaller && ofTable < placesPerTable;
        assert.ok(begun.includes(name) || !mayRun, `round ${round}, step ${step}: ${name} waits`);
      }
    }
  }
});

test('a request that waits ends the newest work of the caller with the most places, until no caller has two more', async () => {
  const line = new WaitingLine({
    places: 4,
    placesPerCaller: 3,
    maxWaiting: 100,
    waitMs: 3_600_000,
    displaceAfterMs: 5,
    refusal: ({ isOwn }) => new Error(isOwn ? 'own' : 'busy'),
  });
  const events: string[] = [];
  const begin = (name: string, isFixed = false) => {
    const ending = Promise.withResolvers<void>();
    const displace = () => {
      events.push(`${name} displaced`);
      ending.resolve();
    };
    const work = () => {
      events.push(name);
      return ending.promise;
    };
    line
      .use({ caller: name[0]! }, stopping.signal, work, isFixed ? undefined : displace)
      .catch(() => events.push(`${name} refused`));
  };
  begin('a1');
  begin('a2');
  begin('a3', true);
  begin('b1');
  begin('c1');
  await until('the place of the newest work that may end', () => events.includes('c1'));
  assert.deepEqual(events.slice(4), ['a2 displaced', 'c1']);
  begin('d1');
  begin('b2');
  await until('the place of the next newest work', () => events.includes('d1'));
  await setTimeout(100);
  assert.deepEqual(events.slice(6), ['a1 displaced', 'd1'], 'nobody has two places more than another one');
});
