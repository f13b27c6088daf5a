import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spreadHeader } from './spread-header.ts';

/** Returns the joined texts of each column. @param merged by `row,column` of a cell: the last column of its merged area */
function join(rows: string[][], merged?: Record<string, number>): string[] {
  const columns = Math.max(...rows.map(({ length }) => length));
  const lastMerged =
    merged && ((row: number, column: number): number => merged[`${row},${column}`] ?? column);
  const hasText = (row: number, column: number): boolean => !!rows[row]![column];
  const spread = spreadHeader({ rows: rows.length, columns, hasText, lastMerged });
  return Array.from({ length: columns }, (_, column) => {
    return spread.flatMap((from, row) => rows[row]![from[column]!] ?? []).join(' ');
  });
}

test('the name of a group reaches the columns of its group', () => {
  const quarters = ['', 'Q1', 'Q2', 'Q1', 'Q2'];
  const all = ['Region', '2025 Q1', '2025 Q2', '2026 Q1', '2026 Q2'];
  assert.deepEqual(join([['Region', '2025', '', '2026', ''], quarters]), all);
  const three = [['', 'Sales', '', '', ''], ['Region', '2025', '', '2026', ''], quarters];
  assert.deepEqual(
    join(three),
    all.map((name, column) => (column === 0 ? name : `Sales ${name}`)),
  );
});

test('a text without a text below it is a whole name', () => {
  assert.deepEqual(
    join([
      ['Unit', '', '2025', ''],
      ['', 'Code', 'Q1', 'Q2'],
    ]),
    ['Unit', 'Code', '2025 Q1', '2025 Q2'],
  );
  assert.deepEqual(
    join([
      ['Region', 'Sales', '', 'Note'],
      ['', 'Q1', 'Q2'],
    ]),
    ['Region', 'Sales Q1', 'Sales Q2', 'Note'],
  );
});

test('a column without a text below the group stays blank', () => {
  assert.deepEqual(
    join([
      ['', 'Sales', '', ''],
      ['Region', 'Q1', '', 'Q2'],
    ]),
    ['Region', 'Sales Q1', '', 'Sales Q2'],
  );
});

test('a title above the first column belongs to this column only', () => {
  const names = ['Total (m3)', 'per head', 'Cost'];
  assert.deepEqual(join([['Water use', '', ''], names]), ['Water use Total (m3)', 'per head', 'Cost']);
  assert.deepEqual(
    join([
      ['', 'Sales', ''],
      ['Region', 'Q1', 'Q2'],
    ]),
    ['Region', 'Sales Q1', 'Sales Q2'],
  );
  assert.deepEqual(
    join(
      [
        ['2025', '', ''],
        ['Q1', 'Q2', 'Q3'],
      ],
      { '0,0': 2 },
    ),
    ['2025 Q1', '2025 Q2', '2025 Q3'],
  );
});

test('a group ends where a group above it ends', () => {
  const rows = [
    ['2025', '', '2026', ''],
    ['net', '', '', 'gross'],
    ['a', 'b', 'c', 'd'],
  ];
  assert.deepEqual(join(rows), ['2025 net a', '2025 net b', '2026 c', '2026 gross d']);
});

test('with merged areas a text reaches the columns of its area only', () => {
  const rows = [
    ['Region', '2025', '', 'Total'],
    ['', 'Q1', 'Q2', 'all', 'rest'],
  ];
  assert.deepEqual(join(rows, { '0,1': 2 }), ['Region', '2025 Q1', '2025 Q2', 'Total all', 'rest']);
});
