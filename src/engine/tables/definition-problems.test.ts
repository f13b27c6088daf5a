import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Problem } from '../../core/errors.ts';
import { comparePointers, DefinitionProblems } from './definition-problems.ts';

function problemAt(pointer: string, detail = ''): Problem {
  return { pointer, code: 'missing', detail };
}

test('pointers are in the order of the request: numbers as numbers, and a value before its parts', () => {
  const ordered = [
    '',
    '/table',
    '/table/columns',
    '/table/columns/0',
    '/table/columns/0/name',
    '/table/columns/1/default',
    '/table/columns/1/name',
    '/table/columns/2/name',
    '/table/columns/9',
    '/table/columns/10',
    '/table/columns/10/name',
    '/table/columns/100/name',
    '/table/constraints/unique/2/columns/3',
    '/table/constraints/unique/2/columns/20',
    '/table/constraints/unique-2',
    '/table/x2',
    '/table/x10',
    '/table/xa',
  ];
  for (const [index, a] of ordered.entries()) {
    for (const [other, b] of ordered.entries()) {
      assert.equal(Math.sign(comparePointers(a, b)), Math.sign(index - other), `${a} ${b}`);
    }
  }
});

test('the order of pointers is an order, whatever they contain', () => {
  const pointer = fc.string({ unit: fc.constantFrom(...'/019ab-'), maxLength: 8 });
  fc.assert(
    fc.property(pointer, pointer, pointer, (a, b, c) => {
      assert.ok(Math.sign(comparePointers(a, b)) === -Math.sign(comparePointers(b, a)));
      if (comparePointers(a, b) <= 0 && comparePointers(b, c) <= 0) assert.ok(comparePointers(a, c) <= 0);
    }),
    { numRuns: 5000 },
  );
});

test('all problems are counted, and the first hundred by their place are listed, whatever their order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(3000), { minLength: 1, maxLength: 3000 }), async (numbers) => {
      const problems = new DefinitionProblems();
      for (const [index, number] of numbers.entries()) {
        problems.add(problemAt(`/table/columns/${number}`, String(index)));
      }
      assert.equal(problems.count, numbers.length);
      const expected = numbers
        .map((number, index) => ({ number, index }))
        .sort((a, b) => a.number - b.number || a.index - b.index)
        .slice(0, 100)
        .map(({ number, index }) => problemAt(`/table/columns/${number}`, String(index)));
      assert.deepEqual(await problems.list(), expected);
    }),
    { numRuns: 50 },
  );
});

test('only listed problems get the names that are similar, and at most twenty of them', async () => {
  const problems = new DefinitionProblems();
  let searches = 0;
  const among = {
    *[Symbol.iterator]() {
      searches++;
      yield 'customer';
    },
  };
  for (let index = 999; index >= 0; index--) {
    problems.add(problemAt(`/table/columns/${index}`, 'unknown.'), { name: 'costumer', among });
  }
  const listed = await problems.list();
  assert.equal(searches, 20);
  assert.equal(listed[0]!.detail, 'unknown. Did you mean "customer"?');
  assert.equal(listed[20]!.detail, 'unknown.');
});
