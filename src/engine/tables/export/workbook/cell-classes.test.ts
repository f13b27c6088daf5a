import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isExactDouble, isExactNumber, readMoment, serial } from './cell-classes.ts';

const exact = (text: string) => isExactNumber(Buffer.from(text), 0, text.length);
const exactDouble = (text: string) => isExactDouble(Buffer.from(text), 0, text.length);

test('numbers of at most 15 digits are exact, whatever zeros they have', () => {
  for (const text of [
    '0',
    '-1',
    '1.50',
    '123456789012345',
    '-0.00123456789012345',
    '12345678901234500000',
    '100000000000000000000',
  ])
    assert.equal(exact(text), true, text);
  for (const text of [
    '1234567890123456',
    '0.1234567890123456',
    '1.000000000000001',
    'NaN',
    'Infinity',
    '-Infinity',
    '1e5',
    '-0',
    `1${'0'.repeat(40)}`,
  ])
    assert.equal(exact(text), false, text);
});

test('a cell has all digits of a double, but neither NaN, infinite nor very small numbers', () => {
  for (const text of [
    '0.1',
    '0.30000000000000004',
    '1e+100',
    '-1.7976931348623157e-200',
    '123456789.12345678',
  ])
    assert.equal(exactDouble(text), true, text);
  for (const text of ['NaN', 'Infinity', '-Infinity', '-0', '5e-324', '1.7976931348623157e+308'])
    assert.equal(exactDouble(text), false, text);
});

const moment = (text: string, kind: Parameters<typeof readMoment>[3]) =>
  readMoment(Buffer.from(text), 0, text.length, kind) && [serial.days, serial.milliseconds];

test('dates and times are serials of Excel', () => {
  assert.deepEqual(moment('1900-03-01', 'date'), [61, 0]);
  assert.deepEqual(moment('2024-02-29', 'date'), [45351, 0]);
  assert.deepEqual(moment('9999-12-31', 'date'), [2958465, 0]);
  assert.deepEqual(moment('2024-02-29 12:00:00.25', 'timestamp'), [45351, 43_200_250]);
  assert.deepEqual(moment('2024-02-29 00:00:00+00', 'timestamp'), [45351, 0]);
  assert.deepEqual(moment('23:59:59.999', 'time'), [0, 86_399_999]);
});

test('moments that a cell cannot hold are texts', () => {
  for (const text of [
    '1900-02-28',
    '1899-12-31',
    '10000-01-01',
    'infinity',
    '-infinity',
    '2024-02-29 BC',
    '0044-03-15 BC',
  ])
    assert.equal(moment(text, 'date'), false, text);
  for (const text of [
    '2024-01-02 03:04:05.678901',
    '0044-03-15 12:00:00 BC',
    '2024-01-02',
    '2024-01-02 03:04:05+00 BC',
  ])
    assert.equal(moment(text, 'timestamp'), false, text);
  for (const text of ['24:00:00', '12:34:56.7891']) assert.equal(moment(text, 'time'), false, text);
});
