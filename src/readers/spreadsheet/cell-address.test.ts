import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellAddress, columnLetters, parseRange, rowAddress } from './cell-address.ts';

test('columns are written with letters', () => {
  const expected: [number, string][] = [
    [1, 'A'],
    [26, 'Z'],
    [27, 'AA'],
    [702, 'ZZ'],
    [703, 'AAA'],
    [16_384, 'XFD'],
  ];
  for (const [column, letters] of expected) assert.equal(columnLetters(column), letters);
});

test('addresses quote a sheet name if Excel does', () => {
  assert.equal(cellAddress('Orders', 1483, 3), 'Orders!C1483');
  assert.equal(cellAddress('My sheet', 3, 3), "'My sheet'!C3");
  assert.equal(cellAddress("Bob's", 3, 3), "'Bob''s'!C3");
  assert.equal(cellAddress('Übersicht', 1, 1), 'Übersicht!A1');
  for (const name of ['2024', 'A1', 'R1C1', 'RC', 'true', 'a-b', '']) {
    assert.equal(rowAddress(name, 7), `'${name}'!7:7`);
  }
});

test('ranges are parsed', () => {
  const range = (firstColumn: number, firstRow: number, lastColumn: number, lastRow: number) => ({
    firstColumn,
    firstRow,
    lastColumn,
    lastRow,
    hasFirstRow: true,
  });
  assert.deepEqual(parseRange('B3:F200'), range(2, 3, 6, 200));
  assert.deepEqual(parseRange(' $b$3:$f$200 '), range(2, 3, 6, 200));
  assert.deepEqual(parseRange('B3:F'), range(2, 3, 6, 1_048_576));
  assert.deepEqual(parseRange('B:F'), { ...range(2, 1, 6, 1_048_576), hasFirstRow: false });
  assert.deepEqual(parseRange('3:200'), range(1, 3, 16_384, 200));
  assert.deepEqual(parseRange('C3'), range(3, 3, 3, 3));
});

test('texts that are not ranges are refused', () => {
  for (const text of [
    '',
    ':',
    'B',
    '3',
    'B3:',
    'F2:B9',
    'A9:B3',
    'A0:B3',
    'XFE1:XFE2',
    'A1:B1048577',
    'x y',
    'A1:B2:C3',
  ]) {
    assert.equal(parseRange(text), undefined, text);
  }
});
