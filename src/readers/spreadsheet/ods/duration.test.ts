import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDuration } from './duration.ts';

test('durations are parsed', () => {
  const hour = 3_600_000_000;
  const texts: [text: string, days: number, microseconds: number][] = [
    ['PT10H10M10S', 0, 10 * hour + 610_000_000],
    ['PT00H00M00.123456789S', 0, 123_457],
    ['PT36H15M00S', 1, 12 * hour + 900_000_000],
    ['P2DT1H', 2, hour],
    ['P1D', 1, 0],
    ['PT23H59M59.9999999S', 1, 0],
    ['PT1,5S', 0, 1_500_000],
    ['PT0S', 0, 0],
    ['-PT01H30M00S', 0, -1.5 * hour],
    ['-P1DT25H', -2, -hour],
    ['-PT0S', 0, 0],
  ];
  for (const [text, days, microseconds] of texts) {
    assert.deepEqual(parseDuration(text), { days, microseconds }, text);
  }
});

test('texts that are not durations are refused', () => {
  for (const text of [
    '',
    'P',
    'PT',
    'P1DT',
    '--PT1H',
    'P-1D',
    'P1Y',
    'P1M',
    'PT1',
    '10:10:10',
    `PT${'1'.repeat(99)}S`,
  ]) {
    assert.equal(parseDuration(text), undefined, text);
  }
});
