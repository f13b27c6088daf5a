import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { dayMicroseconds } from '../../../core/cells/calendar.ts';
import { parseSerial, serialToDays } from './serial-date.ts';

function parse(text: string): { days: number; microseconds: number } | undefined {
  const result = { days: -1, microseconds: -1 };
  const bytes = Buffer.from(` ${text} `);
  return parseSerial(bytes, 1, bytes.length - 1, result) ? result : undefined;
}

const dayOf = (text: string): number => Date.parse(text) / 86_400_000 - 10_957;

test('serials of the 1900 system become days, except the day that did not exist', () => {
  assert.equal(serialToDays(1, false), dayOf('1900-01-01'));
  assert.equal(serialToDays(59, false), dayOf('1900-02-28'));
  assert.ok(Number.isNaN(serialToDays(60, false)));
  assert.equal(serialToDays(61, false), dayOf('1900-03-01'));
  assert.equal(serialToDays(36_526, false), 0);
  assert.equal(serialToDays(44_197, false), dayOf('2021-01-01'));
  assert.equal(serialToDays(2_958_465, false), dayOf('9999-12-31'));
  assert.ok(Number.isNaN(serialToDays(2_958_466, false)));
  assert.ok(Number.isNaN(serialToDays(0, false)));
});

test('serials of the 1904 system become days', () => {
  assert.equal(serialToDays(0, true), dayOf('1904-01-01'));
  assert.equal(serialToDays(60, true), dayOf('1904-03-01'));
  assert.equal(serialToDays(42_735, true), dayOf('2021-01-01'));
  assert.equal(serialToDays(2_957_003, true), dayOf('9999-12-31'));
  assert.ok(Number.isNaN(serialToDays(2_957_004, true)));
});

test('serials are split into days and microseconds', () => {
  assert.deepEqual(parse('44197'), { days: 44_197, microseconds: 0 });
  assert.deepEqual(parse('44197.5'), { days: 44_197, microseconds: dayMicroseconds / 2 });
  assert.deepEqual(parse('0.25'), { days: 0, microseconds: dayMicroseconds / 4 });
  assert.deepEqual(parse('4.41975E4'), { days: 44_197, microseconds: dayMicroseconds / 2 });
  assert.deepEqual(parse('44197.99999999999'), { days: 44_198, microseconds: 0 });
  assert.deepEqual(parse('0.9999999999999'), { days: 1, microseconds: 0 });
});

test('texts that are not serials are refused', () => {
  for (const text of ['-1', '-0.5', '9999999999', '1e300', '1e9']) assert.equal(parse(text), undefined, text);
});

const milliseconds = fc.integer({ min: 0, max: 86_399_999 });
const days = fc.integer({ min: 1, max: 2_958_464 });

test('every millisecond is read as it was entered, whatever digits the program wrote', () => {
  fc.assert(
    fc.property(days, milliseconds, (day, millisecond) => {
      const serial = day + millisecond / 86_400_000;
      // Excel writes 17 digits, JavaScript and Python write the shortest text, LibreOffice and others write 15 digits.
      for (const text of [serial.toPrecision(17), String(serial), serial.toPrecision(15)]) {
        if (text.includes('e')) continue;
        assert.deepEqual(parse(text), { days: day, microseconds: millisecond * 1000 }, text);
      }
    }),
    { numRuns: 3000 },
  );
});

test('sums of tenths of a second remain exact', () => {
  let serial = 45_000;
  for (let tenth = 1; tenth <= 20; tenth++) {
    serial += 0.1 / 86_400;
    assert.deepEqual(parse(String(serial)), { days: 45_000, microseconds: tenth * 100_000 });
  }
});

test('microseconds of a time of day are kept', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: dayMicroseconds - 1 }), (microseconds) => {
      const text = (microseconds / dayMicroseconds).toFixed(17);
      assert.deepEqual(parse(text), { days: 0, microseconds });
    }),
  );
});
