import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertLinear } from '../../../test/support/growth.ts';
import { parseRelationName, tokenize } from './sql-tokens.ts';

function texts(text: string): string | undefined {
  return tokenize(text)
    ?.map((token) => `${token.kind}:${token.text}`)
    .join(' ');
}

test('words are folded, quoted words are not, and doubled quotes become one', () => {
  assert.equal(texts('Now ( )'), 'word:now symbol:( symbol:)');
  assert.equal(texts('ÄB_1$'), 'word:Äb_1$');
  assert.equal(texts('"A ""b"""."C"'), 'quoted:A "b" symbol:. quoted:C');
  assert.equal(texts(`'it''s'::TEXT`), "string:it's symbol::: word:text");
  assert.equal(texts("b'101'"), 'bits:101');
  assert.equal(texts("'\\'"), 'string:\\');
});

test('numbers are tokens', () => {
  assert.equal(texts('1 1.5 .5 1e-3'), 'number:1 number:1.5 number:.5 number:1e-3');
  assert.equal(texts('-1'), 'symbol:- number:1');
  for (const text of ['1a', '1.2.3', '1_000', '0x1f$']) assert.equal(texts(text), undefined, text);
});

test('text that a definition never needs has no tokens', () => {
  const refused = [
    "'open",
    '"open',
    '""',
    '$$x$$',
    "E'x'",
    "U&'x'",
    "N'x'",
    "x'1f'",
    "xb'1'",
    'U&"x"',
    "'a' 'b'",
    "'a'\n'b'",
    'a || b',
    'a;b',
    '/* c */',
    'a -> b',
    '@x',
    '{}',
    'a\\b',
  ];
  for (const text of refused) assert.equal(texts(text), undefined, text);
});

test('two dashes are two signs and never begin a comment that hides the rest', () => {
  assert.equal(texts('a -- b'), 'word:a symbol:- symbol:- word:b');
});

test('a quoted value is read back, whatever it contains', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), (value) => {
      assert.deepEqual(tokenize(`'${value.replaceAll("'", "''")}'`), [{ kind: 'string', text: value }]);
      assert.deepEqual(tokenize(`"${value.replaceAll('"', '""')}"`), [{ kind: 'quoted', text: value }]);
    }),
  );
});

test('any text is read in time that grows linearly with its length', async () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...`ab'"1.e:()-[]$& `) }), (text) => void tokenize(text)),
  );
  for (const piece of ["''", '""', "'", '"', '1', 'a', '1.', "a'", '((', 'a('])
    await assertLinear((size) => tokenize(piece.repeat(size)), 50_000);
  await assertLinear((size) => {
    assert.equal(tokenize(`'${"x''".repeat(size)}'`)?.[0]?.text.length, 2 * size);
  }, 50_000);
});

test('names of relations are read as regclass reads them', () => {
  const name = (text: string) => Object.values(parseRelationName(text) ?? {});
  assert.deepEqual(name('Seq'), [undefined, 'seq']);
  assert.deepEqual(name(' "A ""b""" . C '), ['A "b"', 'c']);
  for (const text of ['', 'a.b.c', 'a b', 'a.', '16400', "'a'", 'a()', 'a,b'])
    assert.deepEqual(name(text), [], text);
});
