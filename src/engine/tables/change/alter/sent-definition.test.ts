import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TableDescription } from '../../definition.ts';
import { DefinitionProblems } from '../../definition-problems.ts';
import { keptEntry } from '../../read-members.ts';
import { matchColumns } from './match-columns.ts';
import { completeSent } from './sent-definition.ts';

const existing: TableDescription = {
  name: 't',
  schema: 'public',
  columns: [
    { id: 1, name: 'a', type: 'integer', is_nullable: false, default: "'0'::integer", comment: 'x' },
    { id: 2, name: 'b', type: 'text', is_nullable: true, default: 'f()', default_is_expression: true },
    { id: 3, name: 'c', type: 'integer', is_nullable: true, default: null, generated: '(a * 2)' },
  ],
  constraints: {
    primary_key: { name: 't_pkey', columns: ['a'], deferrable: 'initially deferred' },
    unique: [{ name: 't_b_key', columns: ['b'], nulls_not_distinct: true }],
    foreign_keys: ['a', 'b'].map((column) => ({
      ...{ name: 'fk', column, reference_table: 'o', reference_column: column },
      ...{ reference_schema: 'public', on_delete: 'cascade' },
    })),
    checks: [
      { name: 'one', expression: '(a > 0)' },
      { name: 'two', expression: '(a > 0)' },
    ],
    others: [{ name: 'x', definition: 'EXCLUDE …' }],
  },
  indexes: [{ name: 'i', columns: [{ column: 'b', order: 'desc' }] }],
};

// biome-ignore lint/suspicious/noExplicitAny: the completed JSON, for assertions
function complete(sent: unknown, fallen: string[] = []): any {
  const problems = new DefinitionProblems();
  const matched = matchColumns(existing, sent, problems);
  const { definition, ...rest } = completeSent(existing, sent, matched, new Set(fallen), problems);
  return { ...rest, definition, problems: problems.count };
}

test('what the request does not have comes from the table, or is not read', () => {
  const { definition, columns, checks, foreignKeys, indexes } = complete({});
  assert.deepEqual(definition.columns, [
    { name: 'a', type: 'integer', is_nullable: false },
    { name: 'b', type: 'text', is_nullable: true },
    { name: 'c', type: 'integer', is_nullable: true },
  ]);
  assert.deepEqual(definition.constraints, {
    primary_key: existing.constraints.primary_key,
    unique: existing.constraints.unique,
  });
  assert.ok(columns.every((one: { keepsDefault: boolean }) => one.keepsDefault));
  assert.deepEqual([checks, foreignKeys, indexes], [undefined, undefined, undefined]);
});

test('what is as the table has it is marked, and keeps the places of the others', () => {
  const { definition, checks, foreignKeys, indexes, problems } = complete({
    ...existing,
    constraints: { ...existing.constraints, checks: [...existing.constraints.checks!, { expression: 'b' }] },
  });
  const { constraints } = definition;
  assert.deepEqual(constraints.checks, [keptEntry, keptEntry, { expression: 'b' }]);
  assert.deepEqual(constraints.foreign_keys, [keptEntry, keptEntry]);
  assert.deepEqual(definition.indexes, [keptEntry]);
  const named = (parts: { name: string }[]) => parts.map(({ name }) => name);
  assert.deepEqual([named(checks), named(foreignKeys), named(indexes)], [['one', 'two'], ['fk'], ['i']]);
  assert.equal(problems, 0);
});

test('an older client keeps what it does not know', () => {
  const columns = existing.columns.map(({ name, type, default: text }) => ({ name, type, default: text }));
  const sent = complete({
    columns,
    constraints: {
      primary_key: { name: '', columns: ['a'] },
      unique: [{ name: '', columns: ['b'] }],
      foreign_keys: existing.constraints.foreign_keys.map(({ on_delete: _, ...pair }) => pair),
    },
  });
  const { constraints } = sent.definition;
  assert.deepEqual(constraints.primary_key, { ...existing.constraints.primary_key, name: '' });
  assert.deepEqual(constraints.unique, [{ ...existing.constraints.unique[0], name: '' }]);
  assert.deepEqual(constraints.foreign_keys, [keptEntry, keptEntry]);
  for (const one of sent.columns) assert.ok(one.keepsDefault && one.keepsGenerated && one.keepsComment);
});

test('a foreign key with another name or other rules is the one that the table has', () => {
  const [pair] = complete({
    constraints: { foreign_keys: existing.constraints.foreign_keys.map((one) => ({ ...one, name: 'new' })) },
  }).foreignKeys;
  assert.deepEqual(pair, { name: 'fk', newName: 'new' });
  const changed = complete({
    constraints: {
      foreign_keys: existing.constraints.foreign_keys.map((one) => ({ ...one, on_delete: null })),
    },
  });
  assert.deepEqual(changed.foreignKeys, []);
  assert.equal(changed.definition.constraints.foreign_keys[0].name, 'fk');
  const other = complete({
    constraints: {
      foreign_keys: existing.constraints.foreign_keys.map(({ on_delete: _, ...one }) => ({
        ...one,
        name: 'f2',
      })),
    },
  });
  assert.deepEqual(other.foreignKeys, []);
  assert.deepEqual(other.definition.constraints.foreign_keys[0].on_delete, undefined);
});

test('keys that fall with a column are left out unless the request names them', () => {
  const { definition } = complete({ columns: [{ name: 'a' }] }, ['t_b_key']);
  assert.deepEqual(definition.constraints.unique, []);
  const { unique } = existing.constraints;
  assert.equal(
    complete({ columns: [{ name: 'a' }], constraints: { unique } }, ['t_b_key']).definition.constraints.unique
      .length,
    1,
  );
});

test('what cannot be changed here is refused, and may be sent back', () => {
  assert.equal(complete({ constraints: { others: [] } }).problems, 1);
  assert.equal(complete({ constraints: { others: existing.constraints.others } }).problems, 0);
});

test('columns cannot exchange their names in one request, because it would do nothing if it is sent again', () => {
  const problemsOf = (...columns: { name: string; renamed_from?: string }[]) => {
    const problems = new DefinitionProblems();
    matchColumns(existing, { columns }, problems);
    return problems.count;
  };
  const [toB, toA] = [
    { name: 'b', renamed_from: 'a' },
    { name: 'a', renamed_from: 'b' },
  ];
  assert.equal(problemsOf(toB, toA, { name: 'c' }), 1);
  assert.equal(problemsOf({ name: 'c', renamed_from: 'b' }, toB, { name: 'a', renamed_from: 'c' }), 1);
  // A rename that is done already, and a new column with the old name.
  assert.equal(problemsOf(toB, { name: 'a' }, { name: 'c' }), 0);
});

test('a column gets the name of a column that is renamed in the same request, also if its own name is used again', () => {
  const matched = (...columns: { name: string; renamed_from?: string }[]) => {
    const problems = new DefinitionProblems();
    const { renames, oldNames, dropped } = matchColumns(existing, { columns }, problems);
    return { renames, oldNames: [...oldNames], dropped, problems: problems.count };
  };
  const toB = { name: 'b', renamed_from: 'a' };
  const toD = { name: 'd', renamed_from: 'b' };
  const ways = [
    [toB, toD, { name: 'a' }, { name: 'c' }],
    [{ name: 'c' }, { name: 'a' }, toD, toB],
  ];
  for (const columns of ways)
    assert.deepEqual(matched(...columns), {
      renames: [
        ['b', 'd'],
        ['a', 'b'],
      ],
      oldNames: [
        ['b', 'a'],
        ['d', 'b'],
        ['c', 'c'],
      ],
      dropped: [],
      problems: 0,
    });
  // The column `a` gets another name, so it is not a column `e` that was renamed.
  assert.equal(matched(toB, toD, { name: 'a', renamed_from: 'e' }, { name: 'c' }).problems, 1);
});
