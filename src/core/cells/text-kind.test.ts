import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cellText } from '../../../test/support/recorded-cells.ts';
import { isNumberWithExponent, textKind } from './text-kind.ts';

function kindOf(text: string): string {
  const bytes = Buffer.from(`1${text}1`);
  const end = bytes.length - 1;
  return cellText(textKind(bytes, 1, end), bytes, 1, end);
}

test('whole numbers and plain decimals are numbers', () => {
  for (const text of ['0', '7', '-7', '10', '0.5', '-0.50', '12345678901234567890.1200', '-0']) {
    assert.equal(kindOf(text), `number ${text}`);
  }
});

test('text that a number would not return unchanged is text', () => {
  const texts = [
    '007 00 -01 00.5 +49 +1 1e5 1E5 1.5e3 0x1F 1_000 1,5 1.234,56 .5 5. -.5 - -- . 1-2 1.2.3 192.168.0.1',
    '2024-01-15 12:30 1/2 12a NaN Infinity TRUE FALSE True tru truee fals falsey t f null #N/A ,',
  ];
  for (const text of texts.join(' ').split(' ')) assert.equal(kindOf(text), `string ${text}`);
  for (const text of [' 1', '1 ', ' ', 'true ', '١٢']) assert.equal(kindOf(text), `string ${text}`);
});

test('numbers with an exponent are those of JSON', () => {
  const isOne = (text: string) => isNumberWithExponent(Buffer.from(`1${text}1`), 1, text.length + 1);
  for (const text of ['1e5', '-0.50E+07', '1.5e-3', '0e0']) assert(isOne(text), text);
  for (const text of '1 e5 1e 1e+ +1e5 01e5 1.e5 .5e1 1e5e5 1e5.0 1e+-5 x e'.split(' '))
    assert(!isOne(text), text);
});

test('true and false are booleans', () => {
  assert.equal(kindOf('true'), 'true');
  assert.equal(kindOf('false'), 'false');
});

test("numbers have JSON's grammar without exponent", () => {
  const anyText = fc.string({ unit: fc.constantFrom(...'0019-.e+ '), minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(anyText, (text) => {
      const isNumber = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/.test(text);
      assert.equal(kindOf(text), `${isNumber ? 'number' : 'string'} ${text}`);
    }),
    { numRuns: 2000 },
  );
});
