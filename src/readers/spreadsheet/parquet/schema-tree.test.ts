import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SchemaElement } from 'hyparquet';
import { type Field, readSchema } from './schema-tree.ts';

type Repetition = SchemaElement['repetition_type'];

const group = (
  name: string,
  num_children: number,
  repetition_type: Repetition,
  converted_type?: string,
): SchemaElement => ({ name, num_children, repetition_type, converted_type }) as SchemaElement;
const leaf = (name: string, repetition_type: Repetition = 'OPTIONAL'): SchemaElement => ({
  name,
  type: 'INT32',
  repetition_type,
});

function shapeOf({ kind, name, children }: Field): unknown {
  return kind === 'leaf' ? name : { [kind]: children.map(shapeOf) };
}

/** The rules for older files are those of LogicalTypes.md. */
const shapes: [name: string, elements: SchemaElement[], shape: unknown][] = [
  [
    'a list',
    [group('l', 1, 'OPTIONAL', 'LIST'), group('list', 1, 'REPEATED'), leaf('element')],
    { list: ['element'] },
  ],
  [
    'a list whose repeated field is the element',
    [group('l', 1, 'OPTIONAL', 'LIST'), leaf('item', 'REPEATED')],
    { list: ['item'] },
  ],
  [
    'a list of groups with several fields',
    [group('l', 1, 'OPTIONAL', 'LIST'), group('element', 2, 'REPEATED'), leaf('a'), leaf('b')],
    { list: [{ struct: ['a', 'b'] }] },
  ],
  [
    'a list whose repeated group is called array',
    [group('l', 1, 'OPTIONAL', 'LIST'), group('array', 1, 'REPEATED'), leaf('a')],
    { list: [{ struct: ['a'] }] },
  ],
  [
    'a list whose repeated group is called like the list',
    [group('l', 1, 'OPTIONAL', 'LIST'), group('l_tuple', 1, 'REPEATED'), leaf('a')],
    { list: [{ struct: ['a'] }] },
  ],
  ['a repeated field without an annotation', [leaf('r', 'REPEATED')], { list: ['r'] }],
  [
    'a repeated group without an annotation',
    [group('r', 2, 'REPEATED'), leaf('a'), leaf('b')],
    { list: [{ struct: ['a', 'b'] }] },
  ],
  [
    'a map',
    [
      group('m', 1, 'OPTIONAL', 'MAP'),
      group('key_value', 2, 'REPEATED'),
      leaf('key', 'REQUIRED'),
      leaf('value'),
    ],
    { map: ['key', 'value'] },
  ],
  [
    'a map without values',
    [group('m', 1, 'OPTIONAL', 'MAP_KEY_VALUE'), group('map', 1, 'REPEATED'), leaf('key', 'REQUIRED')],
    { map: ['key'] },
  ],
  [
    'a map whose key is a struct',
    [
      group('m', 1, 'OPTIONAL', 'MAP'),
      group('map', 2, 'REPEATED'),
      group('key', 1, 'REQUIRED'),
      leaf('a'),
      leaf('value'),
    ],
    { list: [{ struct: [{ struct: ['a'] }, 'value'] }] },
  ],
];

for (const [name, elements, shape] of shapes) {
  test(`the schema of ${name}`, () => {
    const { columns } = readSchema([group('root', 1, undefined), ...elements]);
    assert.deepEqual(columns.map(shapeOf), [shape]);
  });
}

test('the levels of a leaf count the optional and repeated fields above it', () => {
  const { leaves } = readSchema([
    group('root', 1, undefined),
    group('l', 1, 'OPTIONAL', 'LIST'),
    group('list', 1, 'REPEATED'),
    leaf('element'),
  ]);
  const [{ path, definition, repetition }] = leaves as [(typeof leaves)[0]];
  assert.deepEqual(
    { path, definition, repetition },
    { path: ['l', 'list', 'element'], definition: 3, repetition: 1 },
  );
});

test('a schema that ends too early, has fields too many or is too deep is refused', () => {
  const deep = Array.from({ length: 5000 }, () => group('g', 1, 'OPTIONAL'));
  for (const elements of [
    [],
    [group('root', 2, undefined), leaf('a')],
    [group('root', 1, undefined), leaf('a'), leaf('b')],
    [group('root', 2 ** 31, undefined), leaf('a')],
    [group('root', 1, undefined), ...deep, leaf('a')],
    [group('root', 1, undefined), { name: 'a', repetition_type: 'OPTIONAL' } as SchemaElement],
  ])
    assert.throws(() => readSchema(elements), { fault: 'broken' });
});

test('a VARIANT is refused with its name', () => {
  const variant = { ...group('v', 2, 'OPTIONAL'), logical_type: { type: 'VARIANT' } } as SchemaElement;
  const elements = [group('root', 1, undefined), variant, leaf('metadata'), leaf('value')];
  assert.throws(() => readSchema(elements), { fault: 'variant', message: 'v' });
});
