import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readOtherBase, readShortOtherBase } from './other-base.ts';
import { readDecimal } from './read-decimal.ts';

const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });

test('a decimal number is the double that a parser of whole texts reads', () => {
  fc.assert(
    fc.property(digits(0, 12), digits(1, 24), (whole, decimals) => {
      const bytes = Buffer.from(`x${whole}.${decimals}x`);
      const pointAt = 1 + whole.length;
      const found = readDecimal(bytes, 1, pointAt, bytes.length - 1);
      assert.equal(found, Number(`0${whole}.${decimals}`));
    }),
    { numRuns: 5000 },
  );
});

test('a short number in another base is read as a long one', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('0x', '0X', '0o', '0b', '0B', '0', '1x', '0y'),
      fc.string({ unit: fc.constantFrom(...'01789afAFg_'), maxLength: 15 }),
      (prefix, rest) => {
        const bytes = Buffer.from(`-${prefix}${rest}`);
        const short = readShortOtherBase(bytes, 1, bytes.length);
        if (short >= 0) assert.equal(BigInt(short), readOtherBase(bytes, 1, bytes.length));
      },
    ),
    { numRuns: 5000 },
  );
  const bytes = Buffer.from('0xFfFfFfFfFfFfF');
  assert.equal(readShortOtherBase(bytes, 0, bytes.length), 2 ** 52 - 1);
});
