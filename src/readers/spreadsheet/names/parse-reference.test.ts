import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeText } from '../cell-address.ts';
import { describeTarget, parseReference } from './parse-reference.ts';

const references: [text: string, sheet: string | undefined, range: string][] = [
  ["'Sales Data'!$B$4:$F$20", 'Sales Data', 'B4:F20'],
  ['Orders!A:F', 'Orders', 'A:F'],
  ['Orders!$A$1', 'Orders', 'A1:A1'],
  ['=Orders!$F$20:$A$1', 'Orders', 'A1:F20'],
  ["'It''s'!A1:B2", "It's", 'A1:B2'],
  ["'a, b'!A1:B2", 'a, b', 'A1:B2'],
  ["'a!b'!A1:B2", 'a!b', 'A1:B2'],
  ['b4:f20', undefined, 'B4:F20'],
  ['Übersicht!A1:B2', 'Übersicht', 'A1:B2'],
  ['Orders!$3:$9', 'Orders', 'A3:XFD9'],
];

for (const [text, sheet, range] of references) {
  test(`${text} is ${range} of ${sheet ?? 'any sheet'}`, () => {
    const found = parseReference(text);
    assert.equal(found?.sheet, sheet);
    assert.equal(found && rangeText(found.range), range);
  });
}

const others: [text: string, described: string][] = [
  ['', 'a formula'],
  ['12', 'the constant 12'],
  ['-1.5E-3', 'the constant -1.5E-3'],
  ['"a,b"', 'the constant "a,b"'],
  ['{1,2;3,4}', 'the constant {1,2;3,4}'],
  ['TRUE', 'the constant TRUE'],
  ['#N/A', 'the constant #N/A'],
  ['Orders!#REF!', 'cells that were deleted (Orders!#REF!)'],
  ["'a, b'!$A$1,'a, b'!$C$1", "several areas ('a, b'!$A$1,'a, b'!$C$1)"],
  ['One:Three!$A$1', 'cells of several sheets (One:Three!$A$1)'],
  ["'[Book.xlsx]Sheet 1'!$A$1", "cells of another workbook ('[Book.xlsx]Sheet 1'!$A$1)"],
  ['[1]Sheet1!$A$1', 'cells of another workbook ([1]Sheet1!$A$1)'],
  ['Orders[City]', 'a formula (Orders[City])'],
  ['SUM(Orders!$A$1:$A$9)', 'a formula (SUM(Orders!$A$1:$A$9))'],
  ['Orders!$A$1048577', 'a formula (Orders!$A$1048577)'],
];

for (const [text, described] of others) {
  test(`${text || 'an unknown formula'} is ${described.replace(/ \(.*/, '')}`, () => {
    assert.equal(parseReference(text), undefined);
    assert.equal(describeTarget(text), described);
  });
}

test('long texts are described in bounded time', () => {
  for (const long of [
    "'".repeat(300),
    '['.repeat(300),
    "'a,".repeat(100),
    '((('.repeat(100),
    'a!'.repeat(150),
  ]) {
    assert.equal(parseReference(long), undefined);
    assert.match(describeTarget(long), /^a formula|^the constant|^cells of/);
  }
});
