import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DATE, TIME, TIMESTAMP } from '../../../core/cells/cell-kind.ts';
import { parseIsoMoment } from './iso-moment.ts';

test('existing moments are parsed', () => {
  const day = 7671;
  const time = ((10 * 60 + 11) * 60 + 12) * 1e6;
  assert.deepEqual(parseIsoMoment('2021-01-01'), { kind: DATE, days: day, microseconds: 0 });
  assert.deepEqual(parseIsoMoment('2021-01-01Z'), { kind: DATE, days: day, microseconds: 0 });
  assert.deepEqual(parseIsoMoment('2021-01-01T10:11:12'), { kind: TIMESTAMP, days: day, microseconds: time });
  assert.deepEqual(parseIsoMoment('2021-01-01T10:11:12.25Z'), {
    kind: TIMESTAMP,
    days: day,
    microseconds: time + 250_000,
  });
  assert.deepEqual(parseIsoMoment('10:11:12'), { kind: TIME, days: 0, microseconds: time });
  assert.deepEqual(parseIsoMoment('T10:11'), { kind: TIME, days: 0, microseconds: time - 12e6 });
  assert.deepEqual(parseIsoMoment('1899-12-30T00:00:00'), {
    kind: TIMESTAMP,
    days: -36_526,
    microseconds: 0,
  });
});

test('texts that are not existing moments are refused', () => {
  const texts = ['', 'Z', 'T', '2021-02-29', '2021-13-01', '2021-01-01T', '24:00:00', '10:60', '2021-1-1'];
  for (const text of [
    ...texts,
    '2021-01-01T10:00:00+02:00',
    '0000-01-01',
    '2021-01-0110:00',
    '9'.repeat(99),
  ]) {
    assert.equal(parseIsoMoment(text), undefined, text);
  }
});
