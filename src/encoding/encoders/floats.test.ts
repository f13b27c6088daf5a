/** Compares the rounding of long decimals with JavaScript's own reading of numbers, which rounds correctly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { NUMBER } from '../../core/cells/cell-kind.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { encodeFloat8 } from './floats.ts';

const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });

test('decimals with many digits are rounded correctly', () => {
  fc.assert(
    fc.property(digits(1, 16), digits(10, 26), (whole, fraction) => sameAsNumber(`${whole}.${fraction}`)),
    { numRuns: 20_000 },
  );
});

test('decimals with an exponent are rounded correctly', () => {
  const exponent = fc.integer({ min: -30, max: 10 });
  fc.assert(
    fc.property(digits(1, 40), exponent, (text, e) => sameAsNumber(`-1${text}e${e}`)),
    {
      numRuns: 20_000,
    },
  );
});

test('decimals at and near the middle of two doubles are rounded correctly', () => {
  const mantissa = fc.bigInt({ min: 2n ** 52n, max: 2n ** 53n - 1n });
  const scale = fc.integer({ min: 1, max: 12 });
  fc.assert(
    fc.property(mantissa, scale, fc.constantFrom('', '1', '0000001'), (even, places, further) => {
      const middle = ((2n * even + 1n) * 5n ** BigInt(places)).toString().padStart(places + 1, '0');
      const text = `${middle.slice(0, -places)}.${middle.slice(-places)}`;
      sameAsNumber(text + further);
      sameAsNumber(`${text.slice(0, -1)}4999`);
    }),
    { numRuns: 20_000 },
  );
});

const out = new CopyBuffer();

function sameAsNumber(text: string): void {
  const bytes = Buffer.from(text);
  out.rewind();
  const problem = encodeFloat8(out, NUMBER, bytes, 0, bytes.length);
  const expected = Number(text);
  if (expected === 0 && /[1-9]/.test(text)) {
    assert.notEqual(problem, 0);
    return;
  }
  assert.equal(problem, 0);
  assert.ok(Object.is(out.bytes.readDoubleBE(4), expected), text);
}
