import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertLinear } from '../../../../test/support/growth.ts';
import * as numbers from './number-text.ts';
import { checkNumber, normalizeNumber, padNumber, roundNumber } from './number-text.ts';

const check = (text: string): number => {
  const bytes = Buffer.from(`9${text}9`);
  return checkNumber(bytes, 1, bytes.length - 1);
};

function round(text: string): string {
  const target = Buffer.alloc(text.length + 1);
  return target.toString('latin1', 0, roundNumber(Buffer.from(text), 0, text.length, target));
}

test("numbers in JSON's grammar are unchanged", () => {
  const texts = [
    '0',
    '-0',
    '7',
    '12345678901234567890',
    '-9007199254740993',
    '1.5',
    '0.1',
    '1E-300',
    '1e+200',
  ];
  for (const text of [...texts, '0.12345678901234', '1.2345678901234567E+190', '72.0']) {
    assert.equal(check(text), numbers.UNCHANGED, text);
  }
});

test('fractions with more than 15 digits are too precise', () => {
  for (const text of ['1.1000000000000001', '0.30000000000000004', '1.2345678901234567E-50']) {
    assert.equal(check(text), numbers.TOO_PRECISE, text);
  }
});

test('texts that are not numbers are refused', () => {
  const texts = [
    '',
    '-',
    '+',
    '.',
    'x',
    '1x',
    '1.2.3',
    '1e',
    '1e+',
    'NaN',
    'INF',
    '0x10',
    '1 2',
    '--1',
    '1,5',
  ];
  for (const text of texts) assert.equal(check(text), numbers.NOT_A_NUMBER, text);
});

test('numbers in other forms are normalized', () => {
  const normal: [text: string, expected: string][] = [
    ['007', '7'],
    ['+5', '5'],
    ['.5', '0.5'],
    ['-.5', '-0.5'],
    ['5.', '5'],
    ['5.e3', '5000'],
    ['5.e300', '5e300'],
    ['1.2345678E7', '12345678'],
    ['-1.2345678901234567E+19', '-12345678901234567000'],
    ['1.25E1', '12.5'],
    ['12.0E0', '12.0'],
    ['1E-3', '0.001'],
    ['12.5e-1', '1.25'],
    ['0E5', '0'],
    ['1e30', `1${'0'.repeat(30)}`],
    ['1e-30', `0.${'0'.repeat(29)}1`],
    ['000', '0'],
    ['-01.50', '-1.50'],
    ['+.5E-3', '0.0005'],
    ['1e0000000000000000000000000000005', '100000'],
    ['1.5E+0000000000000000000000000000002', '150'],
    ['0.1234567890123456789012e-005', '0.000001234567890123456789012'],
    ['00000000000000000000000000000000012e5', '1200000'],
    ['.5e-000000000000000000000000000000000099', '0.5e-99'],
  ];
  for (const [text, expected] of normal) {
    assert.equal(check(text), numbers.UNUSUAL, text);
    assert.equal(normalizeNumber(text), expected);
  }
});

test('a normalized number is not changed again', () => {
  const digits = fc.string({ unit: fc.constantFrom('0', '0', '1', '9'), maxLength: 30 });
  const exponent = fc.tuple(
    fc.constantFrom('e', 'E+', 'e-'),
    fc.constantFrom('', '0', '0'.repeat(30)),
    fc.nat(60),
  );
  const text = fc
    .tuple(fc.constantFrom('', '-', '+'), digits, fc.constantFrom('', '.'), digits, fc.option(exponent))
    .map(
      ([sign, whole, dot, fraction, power]) => `${sign}${whole}${dot}${fraction}${(power ?? []).join('')}`,
    );
  fc.assert(
    fc.property(text, (text) => {
      if (check(text) !== numbers.UNUSUAL) return;
      const normal = normalizeNumber(text);
      assert.ok([numbers.UNCHANGED, numbers.TOO_PRECISE].includes(check(normal)), `${text} → ${normal}`);
      assert.equal(Number(normal), Number(text));
    }),
    { numRuns: 5000 },
  );
});

test('numbers are rounded to the 15 digits that Excel shows', () => {
  const rounded: [text: string, expected: string][] = [
    ['1.1000000000000001', '1.1'],
    ['0.30000000000000004', '0.3'],
    ['-0.30000000000000004', '-0.3'],
    ['9.9999999999999999', '10'],
    ['-99.999999999999999', '-100'],
    ['0.99999999999999999', '1'],
    ['0.012345678901234567', '0.0123456789012346'],
    ['123456789012345678.5', '123456789012345679'],
    ['1.2345678901234567E-5', '1.23456789012346E-5'],
    ['2.0000000000000004E-10', '2E-10'],
    ['0.000000000000000000001', '0.000000000000000000001'],
  ];
  for (const [text, expected] of rounded) assert.equal(round(text), expected, text);
});

test('a 5 after the 15 digits is rounded towards the stored double', () => {
  const halves: [text: string, expected: string][] = [
    ['0.9659671015314805', '0.96596710153148'],
    ['0.965967101531480500', '0.96596710153148'],
    ['-0.9659671015314805', '-0.96596710153148'],
    ['0.96596710153148051', '0.965967101531481'],
    ['1.0000000000000005', '1'],
    ['1234567890123456789012.5', '1234567890123456789013'],
  ];
  for (const [text, expected] of halves) assert.equal(round(text), expected, text);
});

test('a whole number ends before its point and zeros', () => {
  const ends: [text: string, length: number][] = [
    ['72.0', 2],
    ['-5.000', 2],
    ['0.0', 1],
    ['100', 3],
    ['1.50', 4],
    ['1.050', 5],
    ['1E10', 4],
  ];
  for (const [text, length] of ends) {
    const bytes = Buffer.from(`9${text}9`);
    assert.equal(numbers.endOfWhole(bytes, 1, bytes.length - 1) - 1, length, text);
  }
});

test('rounding gives the same result as JavaScript', () => {
  fc.assert(
    fc.property(fc.double({ min: -1e9, max: 1e9, noNaN: true }), (value) => {
      const text = String(value);
      if (check(text) !== numbers.TOO_PRECISE) return;
      assert.equal(Number(round(text)), Number(value.toPrecision(15)), text);
    }),
    { numRuns: 3000 },
  );
});

test('endOfDecimal finds the end of a number and its check', () => {
  const digits = fc.string({ unit: fc.constantFrom('0', '0', '1', '5', '9'), maxLength: 12 });
  const odd = fc.constantFrom('', '', '', '', '.', '-', 'e5', 'x', ' ');
  const text = fc
    .tuple(fc.constantFrom('', '-'), digits, fc.constantFrom('', '.'), digits, odd)
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, (text) => {
      const bytes = Buffer.from(`9${text}<`);
      const end = numbers.endOfDecimal(bytes, 1);
      if (Math.abs(end) !== bytes.length - 1) {
        assert.ok(end === 0 || /[^\d.]$|\..*\.$|e5$/.test(text), text);
        return;
      }
      assert.equal(check(text), end > 0 ? numbers.UNCHANGED : numbers.TOO_PRECISE, text);
    }),
    { numRuns: 3000 },
  );
  assert.equal(numbers.endOfDecimal(Buffer.from('0.5<'), 0), 3);
  assert.equal(numbers.endOfDecimal(Buffer.from('-12<'), 0), 3);
  assert.equal(numbers.endOfDecimal(Buffer.from('0.30000000000000004<'), 0), -19);
});

test('the time to refuse a text that is not a number grows linearly with its length', async () => {
  for (const [start, digit] of [
    ['', '0'],
    ['1.', '1'],
    ['.', '1'],
  ] as const) {
    await assertLinear(
      (size) => assert.equal(check(`${start}${digit.repeat(size)}x`), numbers.NOT_A_NUMBER),
      200_000,
    );
  }
});

test('numbers are padded with zeros', () => {
  const padded: [digits: string, mask: string, expected: string][] = [
    ['501', '00000', '00501'],
    ['-5', '000', '-005'],
    ['123456', '000', '123456'],
    ['12345678', '000-00-0000', '012-34-5678'],
    ['123456789012', '00000-0000', '12345678-9012'],
    ['0', '(00)', '(00)'],
  ];
  for (const [digits, mask, expected] of padded) {
    const target = Buffer.alloc(64);
    const length = padNumber(Buffer.from(digits), 0, digits.length, Buffer.from(mask), target);
    assert.equal(target.toString('latin1', 0, length), expected);
  }
});
