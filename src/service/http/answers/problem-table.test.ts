import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../../../core/errors.ts';
import { maxCollectedProblems } from '../../loads/problem-lines.ts';
import { ProblemTable } from './problem-table.ts';

const problem = (more: Partial<Problem>): Problem => ({
  code: 'not-a-number',
  detail: 'not a number',
  ...more,
});

function tableOf(...problems: Partial<Problem>[]): string {
  const table = new ProblemTable();
  for (const one of problems) table.add(problem(one));
  return table.toBuffer().toString();
}

const header = 'sheet,cell,row,column,value,code,reason\r\n';

test('a table without problems has its header', () => {
  assert.equal(tableOf(), header);
});

test('lines are in the order of the rows, and problems of one row in the order in which they came', () => {
  const text = tableOf(
    { row: 3, value: 'c' },
    { row: 1, value: 'a' },
    { row: 3, value: 'b' },
    { value: 'whole' },
  );
  assert.equal(
    text,
    `${header},,,,whole,not-a-number,not a number\r\n,,1,,a,not-a-number,not a number\r\n,,3,,c,not-a-number,not a number\r\n,,3,,b,not-a-number,not a number\r\n`,
  );
});

test('quotes, commas and line breaks are quoted', () => {
  const text = tableOf({ sheet: 'A, B', cell: "'A, B'!C2", row: 1, column: 'say "x"', value: 'ä\n😀' });
  assert.equal(text, `${header}"A, B","'A, B'!C2",1,"say ""x""","ä\n😀",not-a-number,not a number\r\n`);
});

for (const [value, shown] of [
  ['=1+1', "'=1+1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['+49 30', "'+49 30"],
  ['-cmd', "'-cmd"],
  ['\tx', `"'\tx"`.replace(/"/g, '')],
  ['-5', '-5'],
  ['+1.234,50', '"+1.234,50"'],
  ['5=5', '5=5'],
] as const) {
  test(`the value ${JSON.stringify(value)} is written as ${shown}`, () => {
    assert.equal(tableOf({ value }), `${header},,,,${shown},not-a-number,not a number\r\n`);
  });
}

test('a table has a limited number of problems', () => {
  const table = new ProblemTable();
  for (let row = maxCollectedProblems + 5; row > 0; row -= 1) table.add(problem({ row }));
  const lines = table.toBuffer().toString().split('\r\n');
  assert.equal(lines.length, maxCollectedProblems + 2);
  assert.match(lines[1]!, /^,,6,/);
});

test('a cleared table holds what comes next', () => {
  const table = new ProblemTable();
  table.add(problem({ row: 1 }));
  table.clear();
  table.add(problem({ row: 2 }));
  assert.equal(table.toBuffer().toString(), `${header},,2,,,not-a-number,not a number\r\n`);
});
