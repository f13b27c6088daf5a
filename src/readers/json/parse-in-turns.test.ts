import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sized } from '../../../test/support/sized.ts';
import { parseInTurns } from './parse-in-turns.ts';

interface Parsed {
  value: unknown;
  /** The number of parts. */
  parts: number;
  longestPart: number;
}

async function parse(text: string): Promise<Parsed> {
  const parsed: Parsed = { value: undefined, parts: 0, longestPart: 0 };
  const bytes = Buffer.from(text);
  parsed.value = await parseInTurns(bytes, {
    parse: (part, offset) => {
      parsed.parts++;
      parsed.longestPart = Math.max(parsed.longestPart, part.length);
      // Except for its first and last byte, a part is the text at this place.
      assert.ok(bytes.subarray(offset + 1, offset + part.length - 1).equals(part.subarray(1, -1)));
      return JSON.parse(part.toString());
    },
    refuseRepeated: (key, position) => {
      throw new Error(`${key} ${position}`);
    },
  });
  return parsed;
}

const blanks = (count: number) => ' \n\t\r'.repeat(count);

test('a text is the same value as for JSON.parse, whatever its size and its white space', async () => {
  // The values are repeated until they are larger than a part. `","` and brackets inside strings are not separators.
  const small = fc.oneof(fc.jsonValue(), fc.constantFrom('"],}\\', '', '__proto__', -1.5e-7));
  const large = fc.oneof(
    fc.array(small, { minLength: 1, maxLength: 5 }).map((list) => Array(6000).fill(list).flat()),
    small.map((value) =>
      Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`k${index}`, value])),
    ),
    fc.constant('x'.repeat(70_000)),
  );
  const item = fc.oneof(small, large);
  const value = fc.oneof(
    fc.array(item, { maxLength: 6 }),
    fc
      .array(fc.tuple(fc.oneof(fc.string(), fc.constant('__proto__')), item), { maxLength: 6 })
      .map(ownMembers),
    fc.array(large, { maxLength: 3 }).map((list) => [[[list]]]),
  );
  const space = fc.constantFrom(0, 1, 4);
  await fc.assert(
    fc.asyncProperty(value, space, async (value, indent) => {
      const text = `${blanks(indent)}${JSON.stringify(value, undefined, indent)}${blanks(indent)}`;
      const parsed = await parse(text);
      assert.equal(JSON.stringify(parsed.value), JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: sized(25, 100) },
  );
});

function ownMembers(members: [string, unknown][]): object {
  return JSON.parse(`{${members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)}}`);
}

test('a large text has many small parts', async () => {
  const texts = [
    JSON.stringify({ a: { b: Array(200_000).fill(1), c: Array(50_000).fill({ d: 'x' }) } }),
    `{${Array.from({ length: 90_000 }, (_, index) => `"x${index}":1`)}}`,
    `${'['.repeat(100)}${Array(200_000).fill('[]')}${']'.repeat(100)}`,
    `[${blanks(30_000)}]`,
    `{"a":[${blanks(30_000)}1${blanks(30_000)},2]}`,
  ];
  for (const text of texts) {
    const { value, longestPart } = await parse(text);
    assert.equal(JSON.stringify(value), JSON.stringify(JSON.parse(text)));
    assert.ok(longestPart < 300_000, `${longestPart}`);
  }
  assert.ok((await parse(texts[0]!)).parts > 10);
});

test('a key that two parts of an object have is refused', async () => {
  const members = Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`);
  await assert.rejects(parse(`{${members},"k1":[]}`), /^Error: k1 /);
  const large = `[${Array(40_000).fill(1)}]`;
  await assert.rejects(parse(`{"a":${large},"a":${large}}`), /^Error: a /);
  await assert.rejects(parse(`{"a":1,"b":${large},"a":2}`), /^Error: a /);
});
