import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ColumnType } from '../columns/load-column.ts';
import * as problems from './cell-problems.ts';

/** The numbers of the problems in cell-kind.ts and in cell-problems.ts. */
const numbers = [
  ...Array.from({ length: problems.NOT_NULL - 1 }, (_, index) => index + 1),
  ...Object.values(problems).filter((value) => typeof value === 'number'),
];
const { describeCellProblem } = problems;

test('every problem has its own number, code and text', () => {
  assert.equal(new Set(numbers).size, numbers.length);
  const described = numbers.map((number) => describeCellProblem(number));
  assert.equal(new Set(described.map(({ code }) => code)).size, numbers.length);
  for (const { code, detail } of described) {
    assert.match(code, /^[a-z]+(-[a-z]+)*$/);
    assert.ok(detail.length > 10);
  }
  assert.throws(() => describeCellProblem(99));
});

test('the type that refuses the value is named with its limit', () => {
  const varchar: ColumnType = { oid: 1043, name: 'character varying(20)', typmod: 24, kind: 'base' };
  const domain: ColumnType = { oid: 9, name: 'code', typmod: -1, kind: 'domain', base: varchar };
  const element: ColumnType = { oid: 1043, name: 'character varying', typmod: -1, kind: 'base' };
  const array: ColumnType = {
    oid: 1015,
    name: 'character varying(20)[]',
    typmod: 24,
    kind: 'array',
    element,
  };
  for (const type of [varchar, domain, array]) {
    assert.equal(describeCellProblem(problems.TOO_LONG, type).detail, 'too long for character varying(20)');
  }
});

test('some labels of an enum are listed, and the rest are counted', () => {
  const mood = (labels: string[]): ColumnType => ({ oid: 9, name: 'mood', typmod: -1, kind: 'enum', labels });
  assert.equal(
    describeCellProblem(problems.NOT_A_LABEL, mood(['sad', 'ok'])).detail,
    "not a value of mood: expected 'sad', 'ok'",
  );
  assert.match(
    describeCellProblem(problems.NOT_A_LABEL, mood([...'abcdefgh'])).detail,
    /'a', 'b', 'c', 'd', 'e' or one of 3 more$/,
  );
});
