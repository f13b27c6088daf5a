import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Problem } from '../../core/errors.ts';
import { checkStructure } from './check-structure.ts';
import type { TableDefinition } from './definition.ts';
import { DefinitionProblems } from './definition-problems.ts';
import { noOptions } from './key-options.ts';
import { parseDefinition } from './parse-definition.ts';

async function parse(table: unknown): Promise<{ definition: TableDefinition; problems: Problem[] }> {
  const problems = new DefinitionProblems();
  const definition = await parseDefinition(table, problems);
  return { definition, problems: await problems.list() };
}

async function allProblems(table: unknown, name = 't'): Promise<Problem[]> {
  const problems = new DefinitionProblems();
  await checkStructure(name, await parseDefinition(table, problems), problems);
  return problems.list();
}

/** Returns `pointer code` of every problem of the parts and of the whole. */
async function problems(table: unknown, name?: string): Promise<string[]> {
  return (await allProblems(table, name)).map(({ pointer, code }) => `${pointer} ${code}`);
}

const column = { name: 'a', type: 'text' };

test('a definition with every part is parsed', async () => {
  const f = { name: 'f', reference_table: 'o', reference_schema: 's' };
  const pair = (index: number, column: string, referenceColumn: string) => ({
    pointer: `/table/constraints/foreign_keys/${index}`,
    columnPointer: `/table/constraints/foreign_keys/${index}/column`,
    referencePointer: `/table/constraints/foreign_keys/${index}/reference_column`,
    column,
    referenceColumn,
  });
  const { definition, problems } = await parse({
    name: 'ignored',
    schema: 1,
    comment: 'of the table',
    unlogged: true,
    columns: [
      { id: 7, name: 'A "b"', type: 'text', is_nullable: false, default: '', comment: 'c' },
      {
        name: 'b',
        type: 'serial',
        is_nullable: null,
        default: null,
        identity: 'always',
        numbering: { min: '5' },
      },
    ],
    constraints: {
      primary_key: { name: '', columns: ['b'] },
      unique: [
        { name: '', columns: [] },
        { columns: ['A "b"', 'b'], name: 'u', include: ['b'], nulls_not_distinct: true },
      ],
      foreign_keys: [
        { ...f, column: 'b', reference_column: 'x', on_delete: 'cascade' },
        { name: '', column: 'b', reference_table: 'o', reference_column: 'x', on_update: 'no action' },
        { ...f, column: 'A "b"', reference_column: 'y', deferrable: 'initially deferred' },
        {
          ...{ name: 'g', columns: ['b', 'A "b"'], reference_table: 'o', reference_columns: ['x', 'y'] },
          on_delete: 'set null',
          not_valid: true,
        },
      ],
    },
    types: [
      { name: 'e', labels: ['x', 'é'] },
      { name: 'd', base: 'e[]', check: null },
    ],
    distribution: { kind: 'column', column: 'b', shards: 8, bytes: 8192 },
  });
  assert.deepEqual(problems, []);
  const numbering = { start: 5n, increment: 1n, min: 5n, max: 2147483647n, cache: 1n, cycle: false };
  assert.deepEqual(definition, {
    columns: [
      {
        ...{ name: 'A "b"', type: 'text', isNullable: false, default: '' },
        ...{ identityAlways: false, comment: 'c', sequence: undefined, numbering: undefined },
        ...{ defaultIsExpression: false, generated: undefined },
      },
      {
        ...{ name: 'b', type: 'serial', isNullable: true, default: undefined },
        ...{ identityAlways: true, comment: undefined, sequence: undefined, numbering },
        ...{ defaultIsExpression: false, generated: undefined },
      },
    ],
    comment: 'of the table',
    isUnlogged: true,
    primaryKey: {
      pointer: '/table/constraints/primary_key',
      name: undefined,
      columns: ['b'],
      options: noOptions,
    },
    unique: [
      {
        ...{ pointer: '/table/constraints/unique/1', name: 'u', columns: ['A "b"', 'b'] },
        options: { include: ['b'], deferrable: undefined, areNullsDistinct: false },
      },
    ],
    foreignKeys: [
      {
        name: 'f',
        schema: 's',
        table: 'o',
        pairs: [pair(0, 'b', 'x'), pair(2, 'A "b"', 'y')],
        rules: {
          onDelete: 'cascade',
          onUpdate: undefined,
          deferrable: 'initially deferred',
          notValid: undefined,
        },
      },
      {
        name: undefined,
        schema: 'public',
        table: 'o',
        pairs: [pair(1, 'b', 'x')],
        rules: { onDelete: undefined, onUpdate: 'no action', deferrable: undefined, notValid: undefined },
      },
      {
        name: 'g',
        schema: 'public',
        table: 'o',
        pairs: [0, 1].map((index) => ({
          pointer: '/table/constraints/foreign_keys/3',
          columnPointer: `/table/constraints/foreign_keys/3/columns/${index}`,
          referencePointer: `/table/constraints/foreign_keys/3/reference_columns/${index}`,
          column: ['b', 'A "b"'][index],
          referenceColumn: ['x', 'y'][index],
        })),
        rules: { onDelete: 'set null', onUpdate: undefined, deferrable: undefined, notValid: true },
      },
    ],
    checks: [],
    indexes: [],
    saysIndexes: false,
    types: [
      { pointer: '/table/types/0', name: 'e', labels: ['x', 'é'], base: undefined, check: undefined },
      { pointer: '/table/types/1', name: 'd', labels: undefined, base: 'e[]', check: undefined },
    ],
    distribution: { kind: 'column', column: 'b', shards: 8 },
  });
});

test('absent, null and initial shapes mean no key', async () => {
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
    const { definition, problems } = await parse({ columns: [column], constraints });
    assert.deepEqual(problems, []);
    assert.deepEqual([definition.primaryKey, definition.unique, definition.foreignKeys], [undefined, [], []]);
  }
});

test('wrong shapes are all reported, each with its place', async () => {
  assert.deepEqual(await problems(undefined), ['/table wrong-type']);
  assert.deepEqual(await problems([]), ['/table wrong-type']);
  assert.deepEqual(await problems({}), ['/table/columns missing']);
  assert.deepEqual(await problems({ columns: [] }), ['/table/columns missing']);
  assert.deepEqual(await problems({ columns: {} }), ['/table/columns wrong-type']);
  assert.deepEqual(
    await problems({
      columns: [
        null,
        {},
        { name: 1, type: 2, is_nullable: 'yes', default: [0] },
        { name: '', type: '', typ: 'x', 'a/b~c': 1 },
        { name: 'ok', type: 'text\0', default: '\ud800' },
        { name: 'x'.repeat(64), type: 'text', identity: 'sometimes' },
        { name: 'g', type: 'text', generated: 'upper(x)', default: 'x' },
        { name: 'h', type: 'text', default: 'lower(x)', default_is_expression: 'yes' },
        { name: 'nul\0', type: 'text' },
        { name: '\udc00', type: 'text' },
      ],
      constraints: {
        unique: {},
        primary_key: [],
        foreign_keys: [1, { column: 'ok' }, { column: 'ok', reference_table: 7, reference_column: 'x' }],
        others: [{}],
        checks: [{ expression: '' }, 'a > 0'],
      },
    }),
    [
      '/table/columns/0 wrong-type',
      '/table/columns/1/name missing',
      '/table/columns/1/type missing',
      '/table/columns/2/default wrong-type',
      '/table/columns/2/is_nullable wrong-type',
      '/table/columns/2/name wrong-type',
      '/table/columns/2/type wrong-type',
      '/table/columns/3/a~1b~0c unknown-property',
      '/table/columns/3/name missing',
      '/table/columns/3/typ unknown-property',
      '/table/columns/3/type missing',
      '/table/columns/4/default invalid-text',
      '/table/columns/4/type invalid-text',
      '/table/columns/5/identity wrong-type',
      '/table/columns/5/name invalid-name',
      '/table/columns/6/default not-supported',
      '/table/columns/7/default_is_expression wrong-type',
      '/table/columns/8/name invalid-name',
      '/table/columns/9/name invalid-name',
      '/table/constraints/checks/0/expression missing',
      '/table/constraints/checks/1 wrong-type',
      '/table/constraints/foreign_keys/0 wrong-type',
      '/table/constraints/foreign_keys/1/reference_column missing',
      '/table/constraints/foreign_keys/1/reference_table missing',
      '/table/constraints/foreign_keys/2/reference_table wrong-type',
      '/table/constraints/others not-supported',
      '/table/constraints/primary_key wrong-type',
      '/table/constraints/unique wrong-type',
    ],
  );
});

test('a misspelled property gets a suggestion', async () => {
  const { problems } = await parse({
    columns: [{ ...column, nullable: true, is_nulable: false }],
    constraint: {},
  });
  assert.match(problems[0]!.detail, /"is_nullable"/);
  assert.match(problems[2]!.detail, /"constraints"/);
});

test('a number or a boolean as a default is its text', async () => {
  const columns = [0, 1.5, false].map((value, index) => ({ ...column, name: `c${index}`, default: value }));
  const { definition, problems } = await parse({ columns });
  assert.deepEqual(problems, []);
  assert.deepEqual(
    definition.columns.map((column) => column.default),
    ['0', '1.5', 'false'],
  );
});

test('a name has at most 63 bytes, whatever its characters', async () => {
  assert.deepEqual(await problems({ columns: [{ name: `${'é'.repeat(31)}x`, type: 'text' }] }), []);
  assert.deepEqual(await problems({ columns: [{ name: 'é'.repeat(32), type: 'text' }] }), [
    '/table/columns/0/name invalid-name',
  ]);
});

test('repeated column names are refused', async () => {
  const columns = [
    column,
    { ...column, name: 'A' },
    column,
    { ...column, name: 'ctid' },
    { ...column, name: 'xmin ' },
  ];
  assert.deepEqual(await problems({ columns }), [
    '/table/columns/2/name duplicate-column',
    '/table/columns/3/name reserved-name',
  ]);
  const many = Array.from({ length: 1601 }, (_, index) => ({ name: `c${index}`, type: 'int' }));
  assert.deepEqual(await problems({ columns: many }), ['/table/columns too-many-columns']);
  assert.deepEqual(await problems({ columns: many.slice(1) }), []);
});

test('constraints with repeated names or unknown columns are refused', async () => {
  const columns = Array.from({ length: 40 }, (_, index) => ({ name: `c${index}`, type: 'int' }));
  const fk = { column: 'c1', reference_table: 'o', reference_column: 'x' };
  assert.deepEqual(
    await problems({
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
      '/table/constraints/foreign_keys/0/name duplicate-name',
      '/table/constraints/foreign_keys/1/column unknown-column',
      '/table/constraints/foreign_keys/3/column repeated-column',
      '/table/constraints/foreign_keys/4 mixed-reference',
      '/table/constraints/foreign_keys/5/reference_table missing',
      '/table/constraints/primary_key/columns/1 unknown-column',
      '/table/constraints/primary_key/columns/2 repeated-column',
      '/table/constraints/unique/2 duplicate-constraint',
      '/table/constraints/unique/3/columns missing',
      '/table/constraints/unique/4/name duplicate-name',
      '/table/constraints/unique/5/columns/0 wrong-type',
      '/table/constraints/unique/5/columns/1 missing',
      '/table/constraints/unique/5/name duplicate-name',
      '/table/constraints/unique/6/columns too-many-columns',
    ],
  );
});

test('any JSON is parsed without an exception, and problems have only valid Unicode', async () => {
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
  await fc.assert(
    fc.asyncProperty(fc.oneof(anything, shaped), async (table) => {
      assert.ok(JSON.stringify(await allProblems(table)).isWellFormed());
    }),
  );
});
