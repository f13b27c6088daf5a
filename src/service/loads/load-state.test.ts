import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { uploadFacts } from '../../../test/support/load-records.ts';
import { LoadRun } from './load-run.ts';
import { canReach, hasEnded, type LoadState, loadStates, nextStates } from './load-state.ts';

test('the states are those of docs/loads.md, and the last five have no next state', () => {
  const text = readFileSync(new URL('../../../docs/loads.md', import.meta.url), 'utf8');
  assert.deepEqual(
    [...text.matchAll(/^\| `(\w+)` \| /gm)].map(([, state]) => state),
    loadStates,
  );
  assert.deepEqual(loadStates.filter(hasEnded), loadStates.slice(-5));
  for (const state of loadStates.slice(-5)) assert.deepEqual(nextStates[state], []);
});

test('each load can end in each of the last five states, unless it has ended', () => {
  for (const from of loadStates)
    for (const to of loadStates.slice(-5)) assert.equal(canReach(from, to), !hasEnded(from), `${from} ${to}`);
});

test('a load never leaves the state in which it ended, in whatever order it progresses, is cancelled, ends and ends again', () => {
  type Step = 'start' | 'receive' | 'cancel' | 'commit' | LoadState;
  const step = fc.constantFrom<Step>('start', 'receive', 'cancel', 'commit', ...loadStates);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      let isReceived = false;
      const run = runOf(() => isReceived);
      let before = run.state;
      for (const one of steps) {
        if (one === 'start') run.start();
        else if (one === 'receive') isReceived = true;
        else if (one === 'cancel') run.cancel(new Error('cancelled'));
        else if (one === 'commit') run.commitStatements();
        else if (canReach(before, one) && hasEnded(one)) run.end(one, undefined);
        else if (hasEnded(one)) assert.throws(() => run.end(one, undefined), /cannot become/);
        const now = run.state;
        assert(now === before || canReach(before, now), `${before} → ${now}`);
        assert.equal(run.snapshot().endedAt !== undefined, hasEnded(now));
        before = now;
      }
    }),
  );
});

function runOf(isReceived: () => boolean): LoadRun {
  return new LoadRun({
    id: '01a2034e-08b4-7732-a995-a608bebf4157',
    schema: { name: 's', quoted: '"s"' },
    process: '01a2034e-08b4-7732-a995-a608bebf4158',
    facts: uploadFacts,
    bytesReceived: () => 0,
    isReceived,
  });
}
