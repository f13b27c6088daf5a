import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TableDescription } from '../../definition.ts';
import { DefinitionProblems } from '../../definition-problems.ts';
import { matchColumns } from './match-columns.ts';

const table = (...names: string[]) => ({ columns: names.map((name) => ({ name })) }) as TableDescription;

/** Writes a column as `new<old`. */
function match(existing: string, sent: string) {
  const problems = new DefinitionProblems();
  const columns = sent.split(' ').map((text) => {
    const [name, from] = text.split('<');
    return { name, ...(from !== undefined && { renamed_from: from }) };
  });
  const { renames, dropped, oldNames } = matchColumns(table(...existing.split(' ')), { columns }, problems);
  const kept = [...oldNames].map(([now, old]) => (now === old ? now : `${now}<${old}`)).join(' ');
  return [renames.map((pair) => pair.join('>')).join(' '), dropped.join(' '), kept, problems.count];
}

test('columns match by name, in any order, and the others are dropped or new', () => {
  assert.deepEqual(match('a b c', 'c a d'), ['', 'b', 'a c', 0]);
  assert.deepEqual(matchColumns(table('a'), {}, new DefinitionProblems()).dropped, []);
});

test('a rename that was made before is no rename', () => {
  assert.deepEqual(match('a b', 'x<a b'), ['a>x', '', 'x<a b', 0]);
  assert.deepEqual(match('x b', 'x<a b'), ['', '', 'x b', 0]);
  assert.deepEqual(match('a b', 'a<a b'), ['', '', 'a b', 0]);
});

test('renames in a chain come in an order in which each name is free, and are known again', () => {
  assert.deepEqual(match('a b', 'b<a c<b'), ['b>c a>b', '', 'b<a c<b', 0]);
  assert.deepEqual(match('b c', 'b<a c<b'), ['', '', 'b c', 0]);
});

test('a name can be taken by a new column after a rename', () => {
  assert.deepEqual(match('a', 'x<a a'), ['a>x', '', 'x<a', 0]);
  assert.deepEqual(match('x a', 'x<a a'), ['', '', 'x a', 0]);
});

test('refuses what is not clear', () => {
  assert.equal(match('a b', 'b<a')[3], 1);
  assert.equal(match('a b', 'x<a y<a b')[3], 1);
  assert.equal(match('a b', 'x<c a b')[3], 1);
  assert.deepEqual(match('a b', 'a<b b<a'), ['', '', 'a b', 1]);
});
