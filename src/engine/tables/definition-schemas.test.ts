/** The schemas of a definition and its parser agree. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import Type, { type TObject, type TSchema } from 'typebox';
import Schema from 'typebox/schema';
import { checkStructure } from './check-structure.ts';
import { PrimaryKeySchema, TableDefinitionSchema } from './definition.ts';
import { DefinitionProblems } from './definition-problems.ts';
import { parseDefinition } from './parse-definition.ts';

/** Returns `pointer code` of every problem. */
async function problems(table: unknown): Promise<string[]> {
  const problems = new DefinitionProblems();
  await checkStructure('t', await parseDefinition(table, problems), problems);
  return (await problems.list()).map(({ pointer, code }) => `${pointer} ${code}`);
}

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
      sequence: { name: 's', type: 'bigint' },
      numbering: { start: 2, increment: 2, min: 1, max: '9', cache: 1, cycle: true },
      identity: 'always',
      generated: null,
      generated_kind: 'virtual',
      default_is_expression: false,
    },
  ],
  comment: 'd',
  unlogged: true,
  constraints: {
    unique: [
      {
        ...{ name: '', columns: ['a'], include: ['a'] },
        ...{ deferrable: 'initially deferred', nulls_not_distinct: true },
      },
    ],
    primary_key: { name: '', columns: ['a'], include: ['a'], deferrable: 'initially deferred' },
    foreign_keys: [
      {
        ...{ name: 'f', column: 'a', reference_table: 'o', reference_column: 'x', reference_schema: 's' },
        ...{ on_delete: 'cascade', on_update: 'set null', deferrable: 'initially deferred' },
        not_valid: true,
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
        not_valid: false,
      },
    ],
    checks: [{ name: 'c', expression: 'a > 0', not_valid: true }],
    others: [],
  },
  indexes: [
    {
      ...{ name: 'i', unique: true, method: 'btree' },
      columns: [{ column: 'a', expression: null, order: 'desc', nulls: 'last', operator_class: 'int4_ops' }],
      include: ['a'],
      where: 'a > 0',
    },
  ],
  types: [
    { name: 'e', labels: ['l'] },
    { name: 'd', base: 'int', check: 'x' },
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
      '/table/columns/0/numbering',
      '/table/constraints',
      '/table/constraints/unique/0',
      '/table/constraints/primary_key',
      '/table/constraints/foreign_keys/0',
      '/table/constraints/foreign_keys/1',
      '/table/constraints/checks/0',
      '/table/indexes/0',
      '/table/indexes/0/columns/0',
      '/table/types/0',
      '/table/types/1',
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
