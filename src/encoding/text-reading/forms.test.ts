/** Numbers and dates in other notations: every value that is written in a notation is read in it, and no other text is. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { APOSTROPHE, COMMA, POINT, SPACE } from '../../core/bytes/ascii.ts';
import { DAY_MONTH_YEAR, lastDate, MONTH_DAY_YEAR, readDate, YEAR_MONTH_DAY } from './date-form.ts';
import { readNumber } from './number-form.ts';

const out = Buffer.alloc(256);

function numberOf(text: string, decimal: number, thousands: number): string | undefined {
  const bytes = Buffer.from(` ${text} `);
  const length = readNumber(bytes, 1, bytes.length - 1, { decimal, thousands }, out);
  return length < 0 ? undefined : out.toString('latin1', 0, length);
}

function dateOf(text: string, order: number): string | undefined {
  const bytes = Buffer.from(`1${text}1`);
  const length = readDate(bytes, 1, bytes.length - 1, order, out);
  return length < 0 ? undefined : out.toString('latin1', 0, length);
}

const signs: [decimal: string, thousands: string, decimalCode: number, thousandsCode: number][] = [
  [',', '', COMMA, 0],
  [',', '.', COMMA, POINT],
  [',', ' ', COMMA, SPACE],
  [',', '\u00a0', COMMA, SPACE],
  [',', '\u202f', COMMA, SPACE],
  ['.', ',', POINT, COMMA],
  ['.', "'", POINT, APOSTROPHE],
  ['.', '\u2019', POINT, APOSTROPHE],
];

suite('numbers', () => {
  test('a number in any notation is read as the same number', () => {
    const number = fc.record({
      sign: fc.constantFrom('', '-'),
      whole: fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String),
      fraction: fc.option(fc.stringMatching(/^[0-9]{1,12}$/), { nil: undefined }),
    });
    fc.assert(
      fc.property(number, fc.constantFrom(...signs), ({ sign, whole, fraction }, notation) => {
        const [decimal, thousands, decimalCode, thousandsCode] = notation;
        const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, thousands);
        const text = sign + grouped + (fraction === undefined ? '' : decimal + fraction);
        const expected = sign + whole + (fraction === undefined ? '' : `.${fraction}`);
        assert.equal(numberOf(text, decimalCode, thousandsCode), expected);
      }),
    );
  });

  test('any other text of digits and signs is not a number', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0123456789.,- +e'), maxLength: 12 });
    const german = /^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+|[1-9]\d?(\.\d{2})+\.\d{3})?(,\d+)?([eE][+-]?\d+)?$/;
    fc.assert(
      fc.property(text, (candidate) => {
        const isNumber = german.test(candidate) && /^[+-]?,?\d/.test(candidate);
        assert.equal(numberOf(candidate, COMMA, POINT) !== undefined, isNumber, candidate);
      }),
      { numRuns: 20_000 },
    );
  });

  for (const [text, expected] of [
    ['12.34.567', '1234567'],
    ['1.23.45.678,9', '12345678.9'],
    ['123.45.678', undefined],
    ['1.2345', undefined],
    ['0.500', undefined],
    ['-0.500', undefined],
    ['1.5', undefined],
    ['1..234', undefined],
    ['1.234.', undefined],
    ['.234', undefined],
    ['1,', undefined],
    [',5', '.5'],
    ['\u22121,5', '-1.5'],
    ['1,5E3', '1.5E3'],
    ['', undefined],
    ['-', undefined],
  ] as const) {
    test(`${JSON.stringify(text)} with a decimal comma and points between thousands is ${expected}`, () => {
      assert.equal(numberOf(text, COMMA, POINT), expected);
    });
  }
});

suite('dates', () => {
  const two = (value: number) => String(value).padStart(2, '0');

  test('a date in any order is read as the same date', () => {
    const date = fc.record({
      year: fc.integer({ min: 1000, max: 9999 }),
      month: fc.integer({ min: 1, max: 12 }),
      day: fc.integer({ min: 1, max: 31 }),
      separator: fc.constantFrom('/', '.', '-', '. '),
      isPadded: fc.boolean(),
    });
    fc.assert(
      fc.property(date, ({ year, month, day, separator, isPadded }) => {
        const [d, m] = isPadded ? [two(day), two(month)] : [day, month];
        const expected = `${year}-${two(month)}-${two(day)}`;
        assert.equal(dateOf([d, m, year].join(separator), DAY_MONTH_YEAR), expected);
        assert.equal(dateOf([m, d, year].join(separator), MONTH_DAY_YEAR), expected);
        assert.equal(dateOf([year, m, d].join(separator), YEAR_MONTH_DAY), expected);
        assert.equal(lastDate.hasShortYear, false);
      }),
    );
  });

  for (const [text, order, expected] of [
    ['21.11.26', DAY_MONTH_YEAR, '2026-11-21'],
    ['21.11.69', DAY_MONTH_YEAR, '2069-11-21'],
    ['21.11.70', DAY_MONTH_YEAR, '1970-11-21'],
    ['26/11/21', YEAR_MONTH_DAY, '2026-11-21'],
    ['21/11/2026 14:30', DAY_MONTH_YEAR, '2026-11-21T14:30:00'],
    ['11/21/2026, 2:30:05 PM', MONTH_DAY_YEAR, '2026-11-21T14:30:05'],
    ['11/21/2026 12:00 am', MONTH_DAY_YEAR, '2026-11-21T00:00:00'],
    ['11/21/2026 12:00pm', MONTH_DAY_YEAR, '2026-11-21T12:00:00'],
    ['11/21/2026 0:30 am', MONTH_DAY_YEAR, undefined],
    ['11/21/2026 13:30 pm', MONTH_DAY_YEAR, undefined],
    ['21/11/2026T08:09:10.123+01:00', DAY_MONTH_YEAR, '2026-11-21T08:09:10.123+01:00'],
    ['21/11/2026 08:09:10Z', DAY_MONTH_YEAR, '2026-11-21T08:09:10Z'],
    ['21/11/2026 08:09:10+0130', DAY_MONTH_YEAR, '2026-11-21T08:09:10+01:30'],
    ['21/11-2026', DAY_MONTH_YEAR, undefined],
    ['21/11/202', DAY_MONTH_YEAR, undefined],
    ['21/11/20261', DAY_MONTH_YEAR, undefined],
    ['211/11/2026', DAY_MONTH_YEAR, undefined],
    ['21/11/2026 ', DAY_MONTH_YEAR, undefined],
    ['21/11/2026 x', DAY_MONTH_YEAR, undefined],
    ['21/11/2026 8', DAY_MONTH_YEAR, undefined],
    ['2026-11-21', DAY_MONTH_YEAR, undefined],
    ['', DAY_MONTH_YEAR, undefined],
  ] as const) {
    test(`${JSON.stringify(text)} in the order ${order} is ${expected}`, () => {
      assert.equal(dateOf(text, order), expected);
    });
  }
});
