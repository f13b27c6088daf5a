import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countPairs } from './sort-cost.ts';

const none = { keyTime: 0, partTime: 0, wordTime: 0, textTime: 0 };
const pairsOf = (cost: Partial<typeof none>, text: string, isJson = false) => {
  const bytes = Buffer.from(`  ${text}  `);
  return Math.floor(countPairs({ ...none, ...cost }, isJson, bytes, 2, bytes.length - 2));
};

/** The number of parts of a text that has only few bytes. */
const partsOf = (cost: Partial<typeof none>, text: string, isJson = false) =>
  Math.floor(Math.sqrt(pairsOf(cost, text, isJson)));

test('the keys of each object count, unless they are in the order of PostgreSQL', () => {
  for (const [text, pairs] of [
    ['{"b":1,"a":2}', 4],
    ['{"a":1,"b":2}', 0],
    ['{"b":1,"aa":2}', 0],
    ['{"aa":1,"b":2}', 4],
    ['{"a":1,"a":2}', 4],
    ['{"a":1,"b":{"z":1,"y":2},"c":3}', 4],
    ['{"c":1,"b":[{"z":1,"y":2},{"x":1}],"a":":,{"}', 13],
    ['{"a":1,"\\u0062":2}', 4],
    ['{"a":1,"é":2}', 4],
    ['["a","b:","{\\":"]', 0],
    ['{}', 0],
    ['"a', 0],
    ['}}{"b":1}', 0],
  ] as const)
    assert.equal(pairsOf({ keyTime: 1 }, text, true), pairs, text);
});

test('long keys count several times', () => {
  const [a, b] = ['a', 'b'].map((last) => 'x'.repeat(63) + last);
  assert.equal(pairsOf({ keyTime: 1 }, `{"${b}":1,"${a}":2}`, true), 2 * (2 + 128 / 32));
});

test('objects may be nested deeply', () => {
  const depth = 1000;
  assert.equal(
    pairsOf({ keyTime: 1 }, `${'{"b":1,"a":'.repeat(depth)}1${'}'.repeat(depth)}`, true),
    4 * depth + (2 * 2 * depth) / 32,
  );
});

test('JSON within other texts counts with all its colons, and other values with their commas', () => {
  assert.equal(pairsOf({ keyTime: 1 }, '(1,"{""a"":1,""b"":2}")'), 5);
  assert.equal(partsOf({ partTime: 1 }, 'a=>1,b=>2,c=>"\\u002c"'), 3);
  assert.equal(partsOf({ partTime: 1 }, '{"a":[1,",,"],"b":{}}', true), 4);
});

test('words and positions count wherever a word may end', () => {
  for (const [text, words] of [
    ['a', 1],
    ['a b\tc', 3],
    ["'a''b'", 3],
    ["'a'b", 2],
    ["'a' 'b'", 2],
    ['a\u3000b\u2003c\u00a0d\u1680e\u0085f', 6],
    ['ähm käse', 2],
    ['["a\\u0020b"]', 2],
  ] as const)
    assert.equal(partsOf({ wordTime: 1 }, text), words, text);
  assert.equal(pairsOf({ wordTime: 1 }, 'a:1,2'), 3);
});

test('the words of a text count, and characters that may separate words', () => {
  for (const [text, words] of [
    ['The quick, brown fox!', 4],
    ['  a-b.c/d_e ', 5],
    ['Käse über allem', 4],
    ['слово и слово', 3],
    ['a\u2190b\u3000c', 3],
    ['', 0],
  ] as const)
    assert.equal(partsOf({ textTime: 1 }, text), words, text);
});
