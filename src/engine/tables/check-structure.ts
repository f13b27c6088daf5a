/** Checks whether the parts of a definition fit each other. These checks need no query. */

import { isSystemColumn, shorten } from '../../core/identifiers.ts';
import { overLimit } from '../../core/limit-exceeded.ts';
import { forEachInTurns } from '../../core/pause-for-others.ts';
import { maxCommentBytes } from './catalog/describe-relation.ts';
import {
  columnPointer,
  type KeyDefinition,
  keysOf,
  maxColumns,
  maxKeyColumns,
  type TableDefinition,
  weightOfKey,
} from './definition.ts';
import type { DefinitionProblems } from './definition-problems.ts';
import type { ForeignKeyDefinition } from './foreign-keys.ts';
import { namedRelations } from './free-names.ts';
import { type IndexDefinition, weightOfIndex } from './indexes/index-definition.ts';

/** Adds the problems of the definition of a table with the name `table`. It works in turns. */
export async function checkStructure(
  table: string,
  definition: TableDefinition,
  problems: DefinitionProblems,
): Promise<void> {
  checkColumns(definition, problems);
  checkComments(definition, problems);
  checkCounts(definition, problems);
  const names = new Set(definition.columns.map((column) => column.name));
  const keys = keysOf(definition);
  await forEachInTurns(keys, (key) => checkKey(key, names, problems), weightOfKey);
  await checkIdenticalKeys(definition.unique, problems);
  const weightOfPairs = ({ pairs }: ForeignKeyDefinition) => pairs.length;
  await forEachInTurns(definition.foreignKeys, (key) => checkForeignKey(key, names, problems), weightOfPairs);
  await forEachInTurns(definition.indexes, (index) => checkIndex(index, names, problems), weightOfIndex);
  refuseGenerated(definition, problems);
  checkNames(table, definition, problems);
}

/** PostgreSQL has no keys of virtual columns, and changes no generated column for a foreign key. */
function refuseGenerated(definition: TableDefinition, problems: DefinitionProblems): void {
  const kinds = new Map(definition.columns.map(({ name, generated }) => [name, generated?.kind]));
  const refuse = (pointer: string, detail: string) =>
    problems.add({ pointer, code: 'not-supported', detail });
  for (const { pointer, columns } of keysOf(definition))
    if (columns.some((column) => kinds.get(column) === 'virtual'))
      refuse(`${pointer}/columns`, 'a virtual generated column cannot be in a key');
  for (const { pairs, rules } of definition.foreignKeys) {
    const kind = pairs.map(({ column }) => kinds.get(column)).find((found) => found !== undefined);
    const { onDelete = '', onUpdate = '' } = rules;
    if (kind === 'virtual' || (kind && (/^set/.test(onDelete) || /^(set|cascade)/.test(onUpdate))))
      refuse(
        pairs[0]!.pointer,
        'PostgreSQL cannot change a generated column for these rules of a foreign key',
      );
  }
}

/** Reports comments that would be too long, in all, to be described. */
function checkComments({ comment = '', columns }: TableDefinition, problems: DefinitionProblems): void {
  let bytes = Buffer.byteLength(comment);
  for (const [index, column] of columns.entries()) {
    bytes += Buffer.byteLength(column.comment ?? '');
    if (bytes <= maxCommentBytes) continue;
    const detail = overLimit('the comments up to this one are too long', maxCommentBytes, 'bytes');
    problems.add({ pointer: `${columnPointer(index)}/comment`, code: 'invalid-text', detail });
    return;
  }
}

function checkColumns(definition: TableDefinition, problems: DefinitionProblems): void {
  const { columns } = definition;
  if (columns.length > maxColumns) {
    problems.add({
      pointer: '/table/columns',
      code: 'too-many-columns',
      detail: `a table can have at most ${maxColumns} columns; this one has ${columns.length}`,
    });
  }
  const firstIndex = new Map<string, number>();
  for (const [index, { name }] of columns.entries()) {
    if (name === '') continue;
    const pointer = `${columnPointer(index)}/name`;
    const first = firstIndex.get(name);
    if (first !== undefined) {
      const detail = `the column name "${name}" occurs twice; it is also at ${columnPointer(first)}`;
      problems.add({ pointer, code: 'duplicate-column', detail, value: name });
    } else firstIndex.set(name, index);
    if (isSystemColumn(name)) {
      const detail = `every table has a system column "${name}"; rename this column`;
      problems.add({ pointer, code: 'reserved-name', detail, value: name });
    }
  }
}

function checkCounts({ unique, indexes, foreignKeys }: TableDefinition, problems: DefinitionProblems): void {
  const count = unique.length + indexes.length;
  checkCount('/table/indexes', count, 'indexes and unique constraints together', problems);
  checkCount('/table/constraints/foreign_keys', foreignKeys.length, 'foreign keys', problems);
}

/**
 * The limit for the indexes, for the foreign keys and for the sequences of a table. A transaction that writes rows locks each of them, and
 * PostgreSQL has room for some thousand locks of all sessions together (`max_locks_per_transaction`).
 */
const maxLocked = 100;

/** Reports that a definition has too many objects of a kind. */
export function checkCount(pointer: string, count: number, what: string, problems: DefinitionProblems): void {
  if (count <= maxLocked) return;
  const detail = `a table can have at most ${maxLocked} ${what}; this one has ${count}`;
  problems.add({ pointer, code: 'too-many-keys', detail });
}

function checkKey(key: KeyDefinition, names: ReadonlySet<string>, problems: DefinitionProblems): void {
  const count = weightOfKey(key);
  if (count > maxKeyColumns) {
    const detail = `a key can have at most ${maxKeyColumns} columns; this one has ${count}`;
    problems.add({ pointer: `${key.pointer}/columns`, code: 'too-many-columns', detail });
  }
  for (const [index, column] of key.options.include.entries()) {
    checkMember(column, names, new Set(), `${key.pointer}/include/${index}`, problems);
  }
  const seen = new Set<string>();
  for (const [index, column] of key.columns.entries()) {
    checkMember(column, names, seen, `${key.pointer}/columns/${index}`, problems);
  }
}

function checkForeignKey(
  key: ForeignKeyDefinition,
  names: ReadonlySet<string>,
  problems: DefinitionProblems,
): void {
  const seen = new Set<string>();
  for (const pair of key.pairs) checkMember(pair.column, names, seen, pair.columnPointer, problems);
  if (key.pairs.length > maxKeyColumns) {
    problems.add({
      pointer: key.pairs[0]!.pointer,
      code: 'too-many-columns',
      detail: `a foreign key can have at most ${maxKeyColumns} columns; this one has ${key.pairs.length}`,
    });
  }
}

/** For an index of the method `gin` PostgreSQL needs the memory of all its columns at once, so a column is in an index only once. */
function checkIndex(
  { pointer, columns, include }: IndexDefinition,
  names: ReadonlySet<string>,
  problems: DefinitionProblems,
): void {
  const seen = new Set<string>();
  for (const { column, pointer: at } of columns) checkMember(column, names, seen, `${at}/column`, problems);
  for (const [place, column] of include.entries())
    checkMember(column, names, new Set(), `${pointer}/include/${place}`, problems);
  const count = columns.length + include.length;
  if (count <= maxKeyColumns) return;
  const detail = `an index can have at most ${maxKeyColumns} columns; this one has ${count}`;
  problems.add({ pointer: `${pointer}/columns`, code: 'too-many-columns', detail });
}

function checkMember(
  column: string,
  names: ReadonlySet<string>,
  seen: Set<string>,
  pointer: string,
  problems: DefinitionProblems,
): void {
  if (column === '') return;
  const value = shorten(column);
  if (!names.has(column)) {
    const detail = `the table has no column "${value}".`;
    problems.add({ pointer, code: 'unknown-column', detail, value }, { name: column, among: names });
  } else if (seen.has(column)) {
    const detail = `the column "${value}" occurs twice`;
    problems.add({ pointer, code: 'repeated-column', detail, value });
  }
  seen.add(column);
}

async function checkIdenticalKeys(unique: KeyDefinition[], problems: DefinitionProblems): Promise<void> {
  const first = new Map<string, string>();
  await forEachInTurns(
    unique,
    (key) => {
      const content = JSON.stringify([key.columns, key.options]);
      const pointer = first.get(content);
      if (pointer === undefined) first.set(content, key.pointer);
      else {
        const detail = `the same unique constraint is also at ${pointer}`;
        problems.add({ pointer: key.pointer, code: 'duplicate-constraint', detail });
      }
    },
    weightOfKey,
  );
}

/** Checks that no name occurs twice. Constraints need different names within their table; indexes, sequences and tables within their schema. A key counts as both a constraint and an index. */
function checkNames(table: string, definition: TableDefinition, problems: DefinitionProblems): void {
  const keys = keysOf(definition);
  const foreignKeys = definition.foreignKeys.map(({ name, pairs }) => ({ name, pointer: pairs[0]!.pointer }));
  refuseRepeated('constraint', [...keys, ...foreignKeys, ...definition.checks], problems);
  const relations = namedRelations(definition);
  refuseRepeated('relation', relations, problems);
  refuseRepeated('type', definition.types, problems);
  for (const { name, pointer } of [...relations, ...definition.types]) {
    if (name !== table) continue;
    const detail = 'an index, a sequence or a type cannot have the name of its table';
    problems.add({ pointer: `${pointer}/name`, code: 'duplicate-name', detail, value: table });
  }
}

function refuseRepeated(
  what: 'constraint' | 'relation' | 'type',
  named: { name: string | undefined; pointer: string }[],
  problems: DefinitionProblems,
): void {
  const first = new Map<string, string>();
  for (const { name, pointer } of named) {
    if (name === undefined) continue;
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, pointer);
    // The name of a key is compared twice, as a constraint and as an index. If it was refused as a constraint, it is not refused again.
    else if (what === 'constraint' || !pointer.startsWith('/table/constraints')) {
      const detail = `the ${what === 'constraint' ? 'constraint name' : 'name'} "${name}" occurs twice; it is also at ${earlier}`;
      problems.add({ pointer: `${pointer}/name`, code: 'duplicate-name', detail, value: name });
    }
  }
}
