import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findRepeatedKey, repeatedKey } from './repeated-keys.ts';

function find(text: string): string | undefined {
  // There are other bytes around the value, so that the test fails if the scan reads too far.
  const bytes = Buffer.from(`"k":${text},"k":`);
  if (!findRepeatedKey(bytes, 4, 4 + Buffer.byteLength(text))) return undefined;
  return bytes.toString('utf8', repeatedKey.start, repeatedKey.end);
}

test('a key is repeated only within one object', () => {
  const repeated = [
    '{"k":1,"k":2}',
    '{"k" : 1 , "k"\n: 1}',
    '[{"a":{"k":1,"b":{"k":2},"k":3}}]',
    '{"k":{"k":1},"k":2}',
  ];
  for (const text of [...repeated, '{"a":"{","k":1,"k":"}"}']) assert.equal(find(text), 'k', text);
  assert.equal(find('{"":1,"":2}'), '');
  const single = [
    '{}',
    '[]',
    '{"k":1,"K":2}',
    '[{"k":1},{"k":2}]',
    '{"k":{"k":{"k":1}}}',
    '{"a":"k","b":"k","k":["k","k"]}',
  ];
  for (const text of [...single, '["k","k"]', '{"a":"\\":","k":"\\"k\\":"}'])
    assert.equal(find(text), undefined, text);
});

test('an escaped key equals the unescaped key', () => {
  assert.equal(find('{"k":1,"\\u006b":2}'), '\\u006b');
  assert.equal(find('{"\\u006b":1,"k":2}'), 'k');
  assert.equal(find('{"\\ud83d\\ude00":1,"😀":2}'), '😀');
  assert.equal(find('{"a\\nb":1,"a\\u000Ab":2}'), 'a\\u000Ab');
  assert.equal(find('{"\\\\":1,"\\"":2}'), undefined);
});

test('repeated keys are found as with a set, whatever values came before', () => {
  const key = fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom('a', 'b', 'é', '"'));
  const objects = fc.array(fc.array(key, { maxLength: 40 }), { maxLength: 6 });
  fc.assert(
    fc.property(objects, (all) => {
      const text = `[${all.map((keys) => `{${keys.map((name) => `${JSON.stringify(name)}:[{}]`).join()}}`).join()}]`;
      const isRepeated = all.some((keys) => new Set(keys).size < keys.length);
      assert.equal(find(text) !== undefined, isRepeated, text);
    }),
    { numRuns: 300 },
  );
  const names = Array.from({ length: 5000 }, (_, index) => `"key ${index}":${index}`);
  assert.equal(find(`{${names.join()}}`), undefined);
  assert.equal(find(`{${names.join()},"key 77":0}`), 'key 77');
});

test('the keys of an object are forgotten when it ends, and those around it are not', () => {
  type Node = { name: string; within: Node[] | undefined }[];
  const { node } = fc.letrec<{ node: Node }>((tie) => ({
    node: fc.array(
      fc.record({
        name: fc.nat(60).map((n) => `k${n}`),
        within: fc.option(fc.array(tie('node'), { maxLength: 3 }), { nil: undefined, depthSize: 'small' }),
      }),
      { maxLength: 24 },
    ),
  }));
  const write = (members: Node): string =>
    `{${members.map(({ name, within }) => `"${name}":${within ? `[${within.map(write).join()}]` : 1}`).join()}}`;
  const hasRepeated = (members: Node): boolean =>
    new Set(members.map(({ name }) => name)).size < members.length ||
    members.some(({ within = [] }) => within.some(hasRepeated));
  /** Gives the members of each object different names, except perhaps two. */
  const nearlyDistinct = (members: Node): Node =>
    members.map(({ name, within }, index) => ({
      name: name === 'k7' ? 'k7' : `${name}.${index}`,
      within: within?.map(nearlyDistinct),
    }));
  fc.assert(
    fc.property(node, (members) => {
      const text = nearlyDistinct(members);
      assert.equal(find(write(text)) !== undefined, hasRepeated(text), write(text));
    }),
    { numRuns: 300 },
  );
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => `"m${from + n}":1`).join();
  const inner = `{${many(0, 200)}}`;
  assert.equal(find(`{${many(0, 20)},"a":[${Array(50).fill(inner)}],${many(20, 300)}}`), undefined);
  assert.equal(find(`{${many(0, 20)},"a":[${Array(50).fill(inner)}],${many(20, 300)},"m3":1}`), 'm3');
  assert.equal(find(`{${many(0, 15)},"a":[${Array(50).fill(inner)}],"m14":1}`), 'm14');
});
