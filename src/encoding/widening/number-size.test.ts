import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fractionDigits, hasDigit, wholeDigits } from './number-size.ts';

function sizes(text: string): [number, number] {
  const bytes = Buffer.from(text);
  return [wholeDigits(bytes, 0, bytes.length), fractionDigits(bytes, 0, bytes.length)];
}

test('a number has as many digits as its value needs, in every notation', () => {
  const expected: Record<string, [number, number]> = {
    '1': [1, 0],
    '-12.5': [2, 1],
    '0012.500': [2, 1],
    '1200': [4, -2],
    '0.001': [-2, 3],
    ' 1e3 ': [4, -3],
    '1.25E-1': [0, 3],
    '1_000.5': [4, 1],
    '.5': [0, 1],
  };
  for (const [text, size] of Object.entries(expected)) assert.deepEqual(sizes(text), size, text);
  assert.deepEqual(sizes('0'), [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]);
  const [whole, fraction] = sizes('0xFFFF');
  assert.ok(whole >= 5 && fraction === 0);
});

test('moving the point by an exponent moves the digits', () => {
  const digits = fc.stringMatching(/^[1-9][0-9]{0,8}[1-9]$/);
  fc.assert(
    fc.property(digits, fc.integer({ min: -20, max: 20 }), (text, exponent) => {
      assert.deepEqual(sizes(`${text}e${exponent}`), [text.length + exponent, 0 - exponent]);
    }),
  );
});

test('NaN and the infinities have no digit', () => {
  for (const text of ['NaN', '-Infinity', 'inf'])
    assert.equal(hasDigit(Buffer.from(text), 0, text.length), false);
});
