import assert from 'node:assert/strict';
import { after, before, mock, suite, test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import type { CellSink } from '../core/cells/cell-sink.ts';
import { pauseBetweenSlices } from './share-turns.ts';

const greedy = { drain: () => undefined } as CellSink;

/** A clock that only the work moves forward, so that a pause of this process does not change the result. */
let now = 0;
before(() => mock.method(performance, 'now', () => now));
after(() => mock.restoreAll());

function work(milliseconds: number): void {
  now += milliseconds;
}

async function pushFor(milliseconds: number, sliceMs: number): Promise<void> {
  for (const until = now + milliseconds; now < until; ) {
    work(sliceMs);
    await pauseBetweenSlices(greedy);
  }
}

suite('pauses between slices', () => {
  test('a source waits for its sink', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let isDrained = false;
    const waiting = pauseBetweenSlices({ drain: () => promise } as CellSink)!.then(() =>
      assert.ok(isDrained),
    );
    await immediate();
    isDrained = true;
    resolve();
    await waiting;
  });

  test('a sink that drains at once, again and again, leaves turns to others', async () => {
    const sink = { drain: () => Promise.resolve() } as CellSink;
    let hasTurn = false;
    setImmediate(() => {
      hasTurn = true;
    });
    for (let slices = 0; slices < 20; slices++) {
      work(2);
      await pauseBetweenSlices(sink);
    }
    assert.ok(hasTurn);
    await immediate();
  });

  test('a source that has used its part of a turn waits for the next turn', async () => {
    assert.equal(pauseBetweenSlices(greedy), undefined);
    work(10);
    const wait = pauseBetweenSlices(greedy);
    assert.ok(wait instanceof Promise);
    await wait;
    assert.equal(pauseBetweenSlices(greedy), undefined);
    await immediate();
  });

  test('all sources together use one part of a turn', async () => {
    let turns = 0;
    let isDone = false;
    const counting = (async () => {
      while (!isDone) {
        await immediate();
        turns += 1;
      }
    })();
    await Promise.all(Array.from({ length: 20 }, () => pushFor(200, 2)));
    isDone = true;
    await counting;
    // If each of the twenty gets one slice, there is time for at least ten turns.
    assert.ok(turns >= 10, `${turns} turns`);
  });
});
