import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import Type, { type TObject, type TSchema } from 'typebox';
import Schema from 'typebox/schema';
import type { Problem } from '../../core/errors.ts';
import { checkStructure } from './check-structure.ts';
import { PrimaryKeySchema, type TableDefinition, TableDefinitionSchema } from './definition.ts';
import { DefinitionProblems } from './definition-problems.ts';
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
    columns: [
      { id: 7, name: 'A "b"', type: 'text', is_nullable: false, default: '', comment: 'c' },
      { name: 'b', type: 'serial', is_nullable: null, default: null, identity: 'always', generated: null },
    ],
    constraints: {
      primary_key: { name: '', columns: ['b'] },
      unique: [
        { name: '', columns: [] },
        { columns: ['A "b"', 'b'], name: 'u' },
      ],
      foreign_keys: [
        { ...f, column: 'b', reference_column: 'x', on_delete: 'cascade' },
        { name: '', column: 'b', reference_table: 'o', reference_column: 'x', on_update: 'no action' },
        { ...f, column: 'A "b"', reference_column: 'y', deferrable: 'initially deferred' },
        {
          ...{ name: 'g', columns: ['b', 'A "b"'], reference_table: 'o', reference_columns: ['x', 'y'] },
          on_delete: 'set null',
        },
      ],
    },
    distribution: { kind: 'column', column: 'b', shards: 8, bytes: 8192 },
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(definition, {
    columns: [
      {
        ...{ name: 'A "b"', type: 'text', isNullable: false, default: '' },
        ...{ identityAlways: false, comment: 'c', sequence: undefined },
      },
      {
        ...{ name: 'b', type: 'serial', isNullable: true, default: undefined },
        ...{ identityAlways: true, comment: undefined, sequence: undefined },
      },
    ],
    comment: 'of the table',
    primaryKey: { pointer: '/table/constraints/primary_key', name: undefined, columns: ['b'] },
    unique: [{ pointer: '/table/constraints/unique/1', name: 'u', columns: ['A "b"', 'b'] }],
    foreignKeys: [
      {
        name: 'f',
        schema: 's',
        table: 'o',
        pairs: [pair(0, 'b', 'x'), pair(2, 'A "b"', 'y')],
        rules: { onDelete: 'cascade', onUpdate: undefined, deferrable: 'initially deferred' },
      },
      {
        name: undefined,
        schema: 'public',
        table: 'o',
        pairs: [pair(1, 'b', 'x')],
        rules: { onDelete: undefined, onUpdate: 'no action', deferrable: undefined },
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
        rules: { onDelete: 'set null', onUpdate: undefined, deferrable: undefined },
      },
    ],
    indexes: [],
    saysIndexes: false,
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
      '/table/columns/6/generated not-supported',
      '/table/columns/7/default not-supported',
      '/table/columns/8/name invalid-name',
      '/table/columns/9/name invalid-name',
      '/table/constraints/checks unknown-property',
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

test('a default that a definition cannot have is refused without being checked', async () => {
  const table = {
    columns: [{ ...column, type: 'integer', default: 'now() + 1', default_is_expression: true }],
  };
  const { definition, problems } = await parse(table);
  assert.deepEqual(
    problems.map(({ code }) => code),
    ['not-supported'],
  );
  assert.equal(definition.columns[0]!.default, undefined);
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

/** A definition with every member of the schemas. */
const whole = {
  name: 't',
  schema: 's',
  columns: [
    {
      id: 1,
      name: 'a',
      type: 'serial',
      is_nullable: false,
      default: null,
      comment: 'c',
      sequence: { name: 's' },
      identity: 'always',
      generated: null,
      default_is_expression: false,
    },
  ],
  comment: 'd',
  constraints: {
    unique: [{ name: '', columns: ['a'] }],
    primary_key: { name: '', columns: ['a'] },
    foreign_keys: [
      {
        ...{ name: 'f', column: 'a', reference_table: 'o', reference_column: 'x', reference_schema: 's' },
        ...{ on_delete: 'cascade', on_update: 'set null', deferrable: 'initially deferred' },
      },
      {
        ...{
          name: 'g',
          columns: ['a'],
          reference_table: 'o',
          reference_columns: ['x'],
          reference_schema: 's',
        },
        ...{ on_delete: 'restrict', on_update: 'set default', deferrable: 'initially immediate' },
      },
    ],
    others: [],
  },
  indexes: [
    {
      ...{ name: 'i', unique: true, method: 'btree' },
      columns: [{ column: 'a', order: 'desc', nulls: 'last', operator_class: 'int4_ops' }],
      include: ['a'],
    },
  ],
  distribution: { kind: 'column', column: 'a', shards: 8, bytes: 1 },
};

/** Each object in a value, with its pointer and the schema that describes it. */
function objectsOf(schema: TSchema, value: unknown, pointer: string): [TObject, object, string][] {
  const all = 'anyOf' in schema ? (schema.anyOf as TSchema[]) : [schema];
  const keys = Object.keys(Object(value));
  // Of several forms of an object, the one that has its members.
  const choices = all.filter(
    (choice) => !('properties' in choice) || keys.every((key) => key in (choice as TObject).properties),
  );
  return choices.flatMap((choice) => {
    if (Array.isArray(value)) {
      if (!('items' in choice)) return [];
      return value.flatMap((entry, index) =>
        objectsOf(choice.items as TSchema, entry, `${pointer}/${index}`),
      );
    }
    if (typeof value !== 'object' || value === null || !('properties' in choice)) return [];
    const members = Object.entries((choice as TObject).properties).flatMap(([name, member]) =>
      objectsOf(member, (value as Record<string, unknown>)[name], `${pointer}/${name}`),
    );
    return [[choice as TObject, value, pointer], ...members];
  });
}

test('the schemas say which members there are, which must be there, and of which types they are', async () => {
  const objects = objectsOf(TableDefinitionSchema, whole, '/table');
  assert.deepEqual(
    objects.map(([, , pointer]) => pointer),
    [
      '/table',
      '/table/columns/0',
      '/table/columns/0/sequence',
      '/table/constraints',
      '/table/constraints/unique/0',
      '/table/constraints/primary_key',
      '/table/constraints/foreign_keys/0',
      '/table/constraints/foreign_keys/1',
      '/table/indexes/0',
      '/table/indexes/0/columns/0',
      '/table/distribution',
    ],
  );
  assert.deepEqual(await problems(whole), []);
  const values = [null, true, 1.5, 'always', [], {}];
  for (const [schema, object, pointer] of objects) {
    const changed = object as Record<string, unknown>;
    const original = { ...object };
    assert.deepEqual(Object.keys(object), Object.keys(schema.properties), pointer);
    for (const [name, member] of Object.entries(schema.properties)) {
      const isRequired = !Type.IsOptional(member);
      const ofForm = (codes: string[]) => codes.filter((code) => /(wrong-type|missing)$/.test(code));
      for (const value of values) {
        changed[name] = value;
        const refused = ofForm(await problems(whole)).filter(
          (problem) =>
            problem.startsWith(`${pointer}/${name} `) ||
            // A distribution is the only optional object with a required member.
            (name === 'distribution' && problem.startsWith(`${pointer}/${name}/kind missing`)),
        );
        const isValid = Schema.Check(member, value) || (value === null && !isRequired);
        // A table without columns is refused because of what it means.
        const means = Array.isArray(value) && pointer === '/table' && name === 'columns';
        assert.equal(refused.length > 0, !isValid || means, `${pointer}/${name} ${JSON.stringify(value)}`);
      }
      delete changed[name];
      const at = `${pointer}/${name} missing`;
      assert.equal(ofForm(await problems(whole)).includes(at), isRequired, at);
      Object.assign(changed, original);
    }
  }
});

test('the schemas allow each definition that is accepted, and each name that PostgreSQL allows', async () => {
  const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 70 });
  const type = fc.constantFrom('text', 'serial');
  const value = fc.oneof(
    fc.string(),
    fc.constant(null),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
  );
  const column = fc.record(
    { name, type, default: value, is_nullable: fc.constantFrom(true, false, null) },
    { requiredKeys: ['name', 'type'] },
  );
  const key = (columns: { name: string }[]) =>
    fc.record(
      {
        name: fc.oneof(name, fc.constantFrom('', null)),
        columns: fc.subarray(columns.map(({ name }) => name)),
      },
      { requiredKeys: [] },
    );
  const table = fc.array(column, { minLength: 1, maxLength: 4 }).chain((columns) =>
    fc.record({
      columns: fc.constant(columns),
      constraints: fc.record({ primary_key: key(columns), unique: fc.array(key(columns)) }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(table, async (table) => {
      if ((await problems(table)).length === 0) assert.ok(Schema.Check(TableDefinitionSchema, table));
    }),
  );
  // 63 characters may be more than 63 bytes, which only the parser can count.
  const long = { columns: [{ name: 'é'.repeat(63), type: 'text' }] };
  assert.ok(Schema.Check(TableDefinitionSchema, long));
  assert.deepEqual(await problems(long), ['/table/columns/0/name invalid-name']);
});

test('a table and a key can have as many columns as the schemas say', async () => {
  const columns = Array.from({ length: 1601 }, (_, index) => ({ name: `c${index}`, type: 'int' }));
  const names = columns.map(({ name }) => name);
  for (const [count, keyed] of [
    [1600, 32],
    [1601, 33],
  ] as const) {
    const primary_key = { columns: names.slice(0, keyed) };
    const table = { columns: columns.slice(0, count), constraints: { primary_key } };
    const refused = [
      '/table/columns too-many-columns',
      '/table/constraints/primary_key/columns too-many-columns',
    ];
    assert.deepEqual(await problems(table), count === 1600 ? [] : refused);
    assert.equal(Schema.Check(TableDefinitionSchema.properties.columns, table.columns), count === 1600);
    assert.equal(Schema.Check(PrimaryKeySchema, primary_key), count === 1600);
  }
});
