import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ARRAY, NULL } from '../../core/cells/cell-kind.ts';
import { countCost, countCostInTurns, ownCost } from '../columns/reading-cost.ts';
import { classifyNested, takeClassified } from '../infer/nested-class.ts';
import { NESTED, NESTED_AS_SENT, OTHER } from '../text-reading/seen.ts';
import { columnEncoder } from './column-encoder.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { checkJsonb, encodeJson } from './json.ts';
import { knownFacts, takeKnown } from './long-json.ts';
import { KEYS_REPEATED, losses } from './losses.ts';
import { findRepeatedKey, repeatedKey, searchInTurns } from './repeated-keys.ts';

const jsonb = { oid: 3802, name: 'jsonb', typmod: -1, kind: 'base' } as const;
const cost = ownCost(jsonb.oid);
const encoder = columnEncoder(jsonb)!;

/** Tokens that the end of a part may cut, about 100 KB of them. */
const tokens = Array.from(
  { length: 800 },
  (_, index) =>
    `{"x${index}":"a\\"{,\\\\","\\u006b${index % 7}":[-1.5e3,1E-2,{}],"é\\ud83d\\ude00":{"z":1,"y":[true,null]}, "${index}":12345}`,
).join();
const manyKeys = Array.from(
  { length: 8000 },
  (_, index) => `"key ${(index * 7919) % 8000}" : "${index}"`,
).join();

const values: [text: string, nestedClass: number, fitsJsonb: boolean, repeated?: string][] = [
  [`[${tokens}]`, NESTED, true],
  [`[${tokens},"\\u0000"]`, OTHER, false],
  [`[${tokens},1e200000]`, OTHER, false],
  [`[${tokens},{"a":1,"b":[${tokens}],"\\u0061":2}]`, NESTED_AS_SENT, true, '\\u0061'],
  [`{${manyKeys}}`, NESTED, true],
  [`{${manyKeys},"key 4321":[]}`, NESTED_AS_SENT, true, 'key 4321'],
];

test('checks in turns find the same as checks at once, wherever the parts end', async () => {
  for (let shift = 0; shift < 40; shift++)
    for (const [text, nestedClass, fitsJsonb, repeated] of values) {
      const bytes = Buffer.from(`${'"'.repeat(shift)}${text}"k":`);
      const end = bytes.length - 4;
      const keysRepeat = repeated !== undefined;
      assert.equal(findRepeatedKey(bytes, shift, end), keysRepeat);
      assert.equal(await searchInTurns(bytes, shift, end), keysRepeat);
      if (keysRepeat) assert.equal(bytes.toString('utf8', repeatedKey.start, repeatedKey.end), repeated);
      const facts = await checkJsonb(bytes, shift, end);
      assert.deepEqual(facts, fitsJsonb ? { fitsJsonb, keysRepeat } : { fitsJsonb });
      const atOnce = { ...countCost(cost, bytes, shift, end) };
      assert.deepEqual(await countCostInTurns(cost, bytes, shift, end), atOnce);
      assert.equal(classifyNested(bytes, shift, end), nestedClass);
      await takeClassified(bytes, shift, end, () =>
        assert.equal(knownFacts(bytes, shift, end)?.nestedClass, nestedClass),
      );
    }
});

test('what is known about a value is used for this value, and only while its cell is taken', () => {
  const bytes = Buffer.from('[{"a":1,"a":2}] ');
  const encode = (end: number) => {
    losses.ofCell = 0;
    encodeJson(new CopyBuffer(64), encoder, ARRAY, bytes, 0, end);
    return losses.ofCell;
  };
  const facts = { fitsJsonb: true, keysRepeat: false, nestedClass: NULL };
  takeKnown({ bytes, start: 0, end: 15, facts }, () => {
    assert.equal(knownFacts(bytes, 0, 15), facts);
    assert.equal(classifyNested(bytes, 0, 15), NULL);
    assert.equal(encode(16), KEYS_REPEATED);
    assert.equal(classifyNested(bytes, 0, 16), NESTED_AS_SENT);
    assert.equal(classifyNested(Buffer.from(bytes), 0, 15), NESTED_AS_SENT);
  });
  assert.equal(knownFacts(bytes, 0, 15), undefined);
  assert.equal(encode(15), KEYS_REPEATED);
  const fails = () => {
    throw new Error('refused');
  };
  assert.throws(() => takeKnown({ bytes, start: 0, end: 15, facts }, fails), /refused/);
  assert.equal(classifyNested(bytes, 0, 15), NESTED_AS_SENT);
});

test('searches for repeated keys in turns run one after the other, and each finds its own key', async () => {
  const texts = values.map(([text]) => Buffer.from(text));
  const found = await Promise.all(texts.map((bytes) => searchInTurns(bytes, 0, bytes.length)));
  assert.deepEqual(
    found,
    values.map(([, , , repeated]) => repeated !== undefined),
  );
});
