import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as numbers from './number-texts.ts';
import { RecordBuffer } from './record-buffer.ts';

function textOf(append: (out: RecordBuffer) => void): string {
  const out = new RecordBuffer(1000);
  const start = out.length;
  append(out);
  return out.bytes.toString('latin1', start, out.length);
}

const scaled = (value: bigint, scale: number): string => {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return (value < 0n ? '-' : '') + text;
};

const longs = fc.oneof(
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  fc.bigInt(-(2n ** 54n), 2n ** 54n),
  fc.bigInt(-1000n, 1000n),
);

test('an integer of 64 bits has all of its digits, with and without a sign, and as a decimal', () => {
  fc.assert(
    fc.property(longs, fc.integer({ min: 0, max: 20 }), (value, scale) => {
      const [low, high] = [Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n))];
      assert.equal(
        textOf((out) => numbers.appendLong(out, low, high, true)),
        String(value),
      );
      assert.equal(
        textOf((out) => numbers.appendLong(out, low, high, false)),
        String(BigInt.asUintN(64, value)),
      );
      assert.equal(
        textOf((out) => numbers.appendScaledLong(out, low, high, scale)),
        scaled(value, scale),
      );
    }),
    { numRuns: 2000 },
  );
});

test('a decimal of any bytes has all of its digits', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 20 }),
      fc.integer({ min: 0, max: 40 }),
      (array, scale) => {
        const bytes = Buffer.from(array);
        const value = BigInt.asIntN(8 * bytes.length, BigInt(`0x${bytes.toString('hex')}`));
        const text = textOf((out) => numbers.appendScaledBytes(out, bytes, 0, bytes.length, scale));
        assert.equal(text, scaled(value, scale));
      },
    ),
    { numRuns: 2000 },
  );
});

test('a float has digits that give it back, and not those of a double', () => {
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = textOf((out) => numbers.appendFloat(out, value));
      assert.ok(Object.is(Math.fround(Number(text)), value), text);
      assert.ok(text.replace(/e.*|[-.]/g, '').replace(/^0+|0+$/g, '').length <= 9, text);
    }),
    { numRuns: 5000 },
  );
  assert.equal(
    textOf((out) => numbers.appendFloat(out, Math.fround(0.1))),
    '0.1',
  );
});

test('a double has digits that give it back', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      assert.ok(Object.is(Number(textOf((out) => numbers.appendDouble(out, value))), value));
    }),
  );
});

test('a float of 16 bits has its exact value', () => {
  const cases: [number, number][] = [
    [0x3c00, 1],
    [0xc000, -2],
    [0x0001, 2 ** -24],
    [0x7bff, 65_504],
    [0x8000, -0],
    [0x7c00, Number.POSITIVE_INFINITY],
    [0x7e00, Number.NaN],
  ];
  for (const [bits, value] of cases) assert.ok(Object.is(numbers.halfOf(bits), value), String(value));
});
