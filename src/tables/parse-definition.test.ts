import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkStructure } from './check-structure.ts';
import { parseDefinition } from './parse-definition.ts';

/** `pointer code` of every fault, those of the parts among each other included. */
function problems(table: unknown, name = 't'): string[] {
  const { definition, problems } = parseDefinition(table);
  return [...problems, ...checkStructure(name, definition)].map(({ pointer, code }) => `${pointer} ${code}`);
}

const column = { name: 'a', type: 'text' };

test('a definition with every part is parsed', () => {
  const { definition, problems } = parseDefinition({
    name: 'ignored',
    schema: 1,
    columns: [
      { id: 7, name: 'A "b"', type: 'text', is_nullable: false, default: '' },
      { name: 'b', type: 'serial', is_nullable: null, default: null, identity: 'always', generated: null },
    ],
    constraints: {
      primary_key: { name: '', columns: ['b'] },
      unique: [
        { name: '', columns: [] },
        { columns: ['A "b"', 'b'], name: 'u' },
      ],
      foreign_keys: [
        { name: 'f', column: 'b', reference_table: 'o', reference_column: 'x', reference_schema: 's' },
        { name: '', column: 'b', reference_table: 'o', reference_column: 'x' },
        { name: 'f', column: 'A "b"', reference_table: 'o', reference_column: 'y', reference_schema: 's' },
      ],
    },
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(definition, {
    columns: [
      { name: 'A "b"', type: 'text', isNullable: false, default: '', identityAlways: false },
      { name: 'b', type: 'serial', isNullable: true, default: undefined, identityAlways: true },
    ],
    primaryKey: { pointer: '/table/constraints/primary_key', name: undefined, columns: ['b'] },
    unique: [{ pointer: '/table/constraints/unique/1', name: 'u', columns: ['A "b"', 'b'] }],
    foreignKeys: [
      {
        name: 'f',
        schema: 's',
        table: 'o',
        pairs: [
          { pointer: '/table/constraints/foreign_keys/0', column: 'b', referenceColumn: 'x' },
          { pointer: '/table/constraints/foreign_keys/2', column: 'A "b"', referenceColumn: 'y' },
        ],
      },
      {
        name: undefined,
        schema: 'public',
        table: 'o',
        pairs: [{ pointer: '/table/constraints/foreign_keys/1', column: 'b', referenceColumn: 'x' }],
      },
    ],
  });
});

test('absent, null and initial shapes mean no key', () => {
  for (const constraints of [
    undefined,
    null,
    {},
    { unique: null, primary_key: null, foreign_keys: null, others: null },
    {
      unique: [{ name: '', columns: [] }, {}],
      primary_key: { name: '', columns: [] },
      foreign_keys: [],
      others: [],
    },
    { primary_key: { name: null, columns: null } },
  ]) {
    const { definition, problems } = parseDefinition({ columns: [column], constraints });
    assert.deepEqual(problems, []);
    assert.deepEqual([definition.primaryKey, definition.unique, definition.foreignKeys], [undefined, [], []]);
  }
});

test('wrong shapes are all reported, each with its place', () => {
  assert.deepEqual(problems(undefined), ['/table wrong-type']);
  assert.deepEqual(problems([]), ['/table wrong-type']);
  assert.deepEqual(problems({}), ['/table/columns missing']);
  assert.deepEqual(problems({ columns: [] }), ['/table/columns missing']);
  assert.deepEqual(problems({ columns: {} }), ['/table/columns wrong-type']);
  assert.deepEqual(
    problems({
      columns: [
        null,
        {},
        { name: 1, type: 2, is_nullable: 'yes', default: 0 },
        { name: '', type: '', typ: 'x', 'a/b~c': 1 },
        { name: 'ok', type: 'text\0', default: '\ud800' },
        { name: 'x'.repeat(64), type: 'text', identity: 'sometimes' },
        { name: 'g', type: 'text', generated: 'upper(x)' },
        { name: 'h', type: 'text', default: 'lower(x)', default_is_expression: true },
        { name: 'nul\0', type: 'text' },
        { name: '\udc00', type: 'text' },
      ],
      constraints: {
        unique: {},
        primary_key: [],
        foreign_keys: [1, { column: 'ok' }, { column: 'ok', reference_table: 7, reference_column: 'x' }],
        others: [{}],
        checks: [],
      },
    }),
    [
      '/table/columns/0 wrong-type',
      '/table/columns/1/name missing',
      '/table/columns/1/type missing',
      '/table/columns/2/name wrong-type',
      '/table/columns/2/type wrong-type',
      '/table/columns/2/default wrong-type',
      '/table/columns/2/is_nullable wrong-type',
      '/table/columns/3/typ unknown-property',
      '/table/columns/3/a~1b~0c unknown-property',
      '/table/columns/3/name missing',
      '/table/columns/3/type missing',
      '/table/columns/4/type invalid-text',
      '/table/columns/4/default invalid-text',
      '/table/columns/5/name invalid-name',
      '/table/columns/5/identity wrong-type',
      '/table/columns/6/generated not-supported',
      '/table/columns/7/default not-supported',
      '/table/columns/8/name invalid-name',
      '/table/columns/9/name invalid-name',
      '/table/constraints/checks unknown-property',
      '/table/constraints/primary_key wrong-type',
      '/table/constraints/unique wrong-type',
      '/table/constraints/foreign_keys/0 wrong-type',
      '/table/constraints/foreign_keys/1/reference_table missing',
      '/table/constraints/foreign_keys/1/reference_column missing',
      '/table/constraints/foreign_keys/2/reference_table wrong-type',
      '/table/constraints/others not-supported',
    ],
  );
});

test('a default that a definition cannot have is refused without being checked', () => {
  const table = {
    columns: [{ ...column, type: 'integer', default: 'now() + 1', default_is_expression: true }],
  };
  const { definition, problems } = parseDefinition(table);
  assert.deepEqual(
    problems.map(({ code }) => code),
    ['not-supported'],
  );
  assert.equal(definition.columns[0]!.default, undefined);
});

test('a misspelled property gets a suggestion', () => {
  const { problems } = parseDefinition({
    columns: [{ ...column, nullable: true, is_nulable: false }],
    constraint: {},
  });
  assert.match(problems[0]!.detail, /"constraints"/);
  assert.match(problems[2]!.detail, /"is_nullable"/);
});

test('a number as a default is refused with the text to write', () => {
  const { problems } = parseDefinition({ columns: [{ ...column, default: 0 }] });
  assert.match(problems[0]!.detail, /write "0"/);
});

test('a name has at most 63 bytes, whatever its characters', () => {
  assert.deepEqual(problems({ columns: [{ name: `${'é'.repeat(31)}x`, type: 'text' }] }), []);
  assert.deepEqual(problems({ columns: [{ name: 'é'.repeat(32), type: 'text' }] }), [
    '/table/columns/0/name invalid-name',
  ]);
});

test('repeated column names are refused', () => {
  const columns = [
    column,
    { ...column, name: 'A' },
    column,
    { ...column, name: 'ctid' },
    { ...column, name: 'xmin ' },
  ];
  assert.deepEqual(problems({ columns }), [
    '/table/columns/2/name duplicate-column',
    '/table/columns/3/name reserved-name',
  ]);
  const many = Array.from({ length: 1601 }, (_, index) => ({ name: `c${index}`, type: 'int' }));
  assert.deepEqual(problems({ columns: many }), ['/table/columns too-many-columns']);
  assert.deepEqual(problems({ columns: many.slice(1) }), []);
});

test('constraints with repeated names or unknown columns are refused', () => {
  const columns = Array.from({ length: 40 }, (_, index) => ({ name: `c${index}`, type: 'int' }));
  const fk = { column: 'c1', reference_table: 'o', reference_column: 'x' };
  assert.deepEqual(
    problems({
      columns,
      constraints: {
        primary_key: { name: 'same', columns: ['c0', 'nope', 'c0'] },
        unique: [
          { name: 'u', columns: ['c1', 'c2'] },
          { name: '', columns: ['c2', 'c1'] },
          { name: '', columns: ['c1', 'c2'] },
          { name: 'x', columns: [] },
          { name: 't', columns: ['c3'] },
          { name: 'same', columns: [1, ''] },
          { columns: columns.slice(0, 33).map(({ name }) => name) },
        ],
        foreign_keys: [
          { ...fk, name: 'u' },
          { ...fk, column: 'nope' },
          { ...fk, name: 'f' },
          { ...fk, name: 'f' },
          { ...fk, name: 'f', column: 'c5', reference_table: 'other' },
          { ...fk, name: 'f', column: 'c6', reference_table: '' },
          { ...fk, name: 'f', column: 'c7', reference_table: 'third' },
        ],
      },
    }),
    [
      '/table/constraints/unique/3/columns missing',
      '/table/constraints/unique/5/columns/0 wrong-type',
      '/table/constraints/unique/5/columns/1 missing',
      '/table/constraints/foreign_keys/4 mixed-reference',
      '/table/constraints/foreign_keys/5/reference_table missing',
      '/table/constraints/primary_key/columns/1 unknown-column',
      '/table/constraints/primary_key/columns/2 repeated-column',
      '/table/constraints/unique/6/columns too-many-columns',
      '/table/constraints/unique/2 duplicate-constraint',
      '/table/constraints/foreign_keys/1/column unknown-column',
      '/table/constraints/foreign_keys/3/column repeated-column',
      '/table/constraints/unique/4/name duplicate-name',
      '/table/constraints/unique/5/name duplicate-name',
      '/table/constraints/foreign_keys/0/name duplicate-name',
    ],
  );
});

test('any JSON is parsed without an exception, and problems have only valid Unicode', () => {
  const anything = fc.jsonValue();
  const shaped = fc.record(
    {
      columns: fc.oneof(
        anything,
        fc.array(fc.record({ name: anything, type: anything, default: anything, is_nullable: anything })),
      ),
      constraints: fc.oneof(
        anything,
        fc.record({
          unique: fc.array(fc.record({ name: anything, columns: anything })),
          primary_key: anything,
          foreign_keys: fc.array(anything),
        }),
      ),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(anything, shaped), (table) => {
      const { definition, problems } = parseDefinition(table);
      assert.ok(JSON.stringify([...problems, ...checkStructure('t', definition)]).isWellFormed());
    }),
  );
});
