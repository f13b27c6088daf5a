import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { Shapes } from '../staged/shapes.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import { shapesWithout } from './decided-by-rows.ts';

const columns = ['none', 'computed', 'constant', 'none'].map(
  (value, place) => ({ name: `c${place}`, default: value }) as LoadColumn,
);

function loadOf(sets: number[][], updating?: number[]): StagedLoad {
  const shapes = new Shapes(sets.length);
  for (const set of sets) shapes.numberOf(set);
  const conflict = updating && { action: 'update', shapes: updating };
  return { columns, shapes, conflict } as unknown as StagedLoad;
}

test('PostgreSQL sets columns with a default that a shape does not have, and with `update` also other columns', () => {
  const sets = [[0, 1, 2], [0, 2], [1], [2, 1], []];
  assert.deepEqual(shapesWithout(['c1'], loadOf(sets)), [1, 4]);
  assert.deepEqual(shapesWithout(['c1', 'c2', 'c3'], loadOf(sets)), [1, 2, 4]);
  assert.deepEqual(shapesWithout(['c0', 'c3', 'unknown'], loadOf(sets)), []);
  assert.deepEqual(shapesWithout(['c0'], loadOf(sets, [0, 3])), [3]);
  assert.deepEqual(shapesWithout(['c1'], loadOf([[0, 1], [1]])), []);
});

test('the columns of the shapes are not read again for each rule', () => {
  let reads = 0;
  const counting = (set: number[]) =>
    new Proxy(set, {
      get: (target, name) => {
        reads += 1;
        return Reflect.get(target, name);
      },
    });
  const load = loadOf([[0, 1, 2, 3], [0, 2, 3], [0]].map(counting));
  reads = 0;
  for (const name of ['c0', 'c1', 'c2', 'c3']) shapesWithout([name], load);
  assert.equal(reads, 0);
});
