/** Nested rows that are written in random ways and cut at random places, compared with a model. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertLinear } from '../../../test/support/growth.ts';
import { type RecordedRows, recordRows } from '../../../test/support/recorded-cells.ts';
import { AppError } from '../../core/errors.ts';
import { FlatteningSink } from './flattening-sink.ts';
import { JsonRowScanner } from './json-row-scanner.ts';
import { LineCounter } from './line-counter.ts';

const limits = { maxDepth: 128, maxTableBytes: 1000, maxColumns: 100, maxCellBytes: 1e7, maxRowBytes: 1e7 };

function flatten(text: string, chunkBytes = 1e9, known: string[] = [], whole: string[] = []): RecordedRows {
  const recorded = recordRows();
  const sink = new FlatteningSink(recorded, {
    separator: '_',
    ...limits,
    hasColumn: (name) => known.includes(name),
    keepsObject: (name) => whole.includes(name),
  });
  const scanner = new JsonRowScanner(limits, new LineCounter(false));
  const bytes = Buffer.from(text.slice(text.indexOf('[') + 1));
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const chunk = Buffer.from(bytes.subarray(at, at + chunkBytes));
    scanner.scan(chunk, 0, chunk.length, sink);
  }
  assert.ok(scanner.isDone);
  sink.finish();
  return recorded;
}

const cellsOf = (text: string, ...more: [number?, string[]?, string[]?]) =>
  flatten(text, ...more).rows.map(({ cells }) => Object.fromEntries(Object.entries(cells)));

type Value = null | boolean | number | string | Value[] | { [key: string]: Value };

const key = fc.constantFrom('a', 'b', 'c"\\', 'é', '__proto__', 'constructor', '');
const scalar = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.string(),
  fc.constantFrom('"}', '\\', '🙂\n', '[{'),
);
const { value } = fc.letrec<{ value: Value; object: { [key: string]: Value } }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    tie('object'),
    fc.array(fc.oneof(scalar, fc.constant({ x: '}]' }))) as fc.Arbitrary<Value>,
  ),
  object: fc.dictionary(key, tie('value'), { maxKeys: 4 }) as fc.Arbitrary<{ [key: string]: Value }>,
}));
const row = fc.dictionary(key, value, { maxKeys: 4 });

/** Returns the cells of a row by path. Null and empty objects have none. */
function model(object: object, owner = ''): [string, string][] {
  return Object.entries(object).flatMap(([name, inner]): [string, string][] => {
    const column = owner + name;
    if (inner === null) return [];
    if (Array.isArray(inner)) return [[column, `array ${JSON.stringify(inner)}`]];
    if (typeof inner === 'object') return model(inner, `${column}_`);
    if (typeof inner === 'boolean') return [[column, String(inner)]];
    return [[column, `${typeof inner} ${typeof inner === 'string' ? inner : JSON.stringify(inner)}`]];
  });
}

/** Returns a cell without the white space of an array; undefined for NULL. */
function compact(text: string): string | undefined {
  if (text.startsWith('array ')) return `array ${JSON.stringify(JSON.parse(text.slice(6)))}`;
  return text === 'null' ? undefined : text;
}

test('nested rows give the cells of their paths, whatever the chunks', () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 1, max: 60 }), (rows, chunkBytes) => {
      for (const space of [undefined, 2]) {
        const { rows: found } = flatten(JSON.stringify(rows, undefined, space), chunkBytes);
        const cells = found.map((one) =>
          Object.entries(one.cells).flatMap(([name, text]) => {
            const value = compact(text);
            return value === undefined ? [] : [[name, value]];
          }),
        );
        const sorted = (all: string[][][]) =>
          all.map((one) => one.toSorted(([a], [b]) => (a! < b! ? -1 : 1)));
        assert.deepEqual(sorted(cells), sorted(rows.map((one) => model(one))));
      }
    }),
    { numRuns: 300 },
  );
});

test('a member is known again after escapes, and names may be those of prototypes', () => {
  const rows = '[{"a":{"b":1}},{"a":{"\\u0062":2}},{"\\u0061":{"__proto__":{"x":3}}}]';
  assert.deepEqual(cellsOf(rows), [{ a_b: 'number 1' }, { a_b: 'number 2' }, { a___proto___x: 'number 3' }]);
});

test('a key may be a scalar in one row and an object in another', () => {
  const rows = '[{"a":1},{"a":{"b":2}},{"a":null},{"a":[{"b":1}]}]';
  assert.deepEqual(cellsOf(rows), [
    { a: 'number 1' },
    { a_b: 'number 2' },
    { a: 'null' },
    { a: 'array [{"b":1}]' },
  ]);
});

test('null in place of an object, and an empty object, give no column and no value, whatever the order of the rows', () => {
  for (const rows of ['[{"a":null},{"a":{}},{"a":{"b":1}}]', '[{"a":{"b":1}},{"a":{}},{"a":null}]'])
    assert.deepEqual(flatten(rows).columns, ['a_b']);
  assert.deepEqual(flatten('[{"a":null,"c":{"d":null}},{"b":1}]').columns, ['b', 'a', 'c_d']);
  assert.deepEqual(flatten('[{"a":{}}]').columns, []);
});

test('null of a column of the table is null, also before another value', () => {
  assert.deepEqual(cellsOf('[{"a":null},{"a":{"b":1}}]', 1e9, ['a']), [{ a: 'null' }, { a_b: 'number 1' }]);
});

test('an object goes as a whole into a column that keeps objects', () => {
  const rows = '[{"a":{"b":1},"c":{"d":{"e":2}}}]';
  const expected = [{ a: 'object {"b":1}', c_d: 'object {"e":2}' }];
  assert.deepEqual(cellsOf(rows, 1e9, ['a', 'c_d'], ['a', 'c_d']), expected);
});

test('two keys with one name, and a key that occurs twice, are problems in both orders', () => {
  for (const rows of ['[{"a":{"b":1}},{"a_b":2}]', '[{"a_b":2},{"a":{"b":1}}]']) {
    const [first, second] = cellsOf(rows);
    assert.match(first!.a_b!, /^number/);
    assert.match(second!.a_b!, /^fault/);
  }
  assert.match(cellsOf('[{"a":{"b":1,"b":2,"b":3}}]')[0]!.a_b!, /^fault REPEATED_KEY 2/);
});

test('more members than the limit, and names without end, are refused', () => {
  const isTooMany = (error: unknown) => error instanceof AppError && error.code === 'limit-exceeded';
  const many = (inner: string) => Array.from({ length: 201 }, (_, index) => `"k${index}":${inner}`).join(',');
  assert.throws(() => flatten(`[{"a":{${many('1')}}}]`), isTooMany);
  assert.throws(() => flatten(`[{"a":{${many('{}')}}}]`), isTooMany);
  const deep = `${`{"${'x'.repeat(100)}":`.repeat(20)}1${'}'.repeat(20)}`;
  assert.throws(() => flatten(`[${deep}]`), isTooMany);
});

test('the time is linear in the size of an object, however deep it is', async () => {
  const deep = (size: number) =>
    `[${'{"":'.repeat(100)}{"a":"${'x'.repeat(size)}","b":[${'"]",'.repeat(size / 4)}1]}${'}'.repeat(100)}]`;
  await assertLinear((size) => flatten(deep(size)), 200_000);
});
