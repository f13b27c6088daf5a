/** Checks whether the parts of a definition fit each other. These checks need no query. */
import type { Problem } from '../errors.ts';
import type { ForeignKeyDefinition, KeyDefinition, TableDefinition } from './definition.ts';
import { columnPointer, maxColumns, maxKeyColumns } from './definition.ts';
import { didYouMean, isSystemColumn, shorten } from './identifiers.ts';

/** Returns the problems of the definition of a table with the name `table`. */
export function checkStructure(table: string, definition: TableDefinition): Problem[] {
  const problems: Problem[] = [];
  checkColumns(definition, problems);
  const names = new Set(definition.columns.map((column) => column.name));
  const keys = definition.primaryKey ? [definition.primaryKey, ...definition.unique] : definition.unique;
  for (const key of keys) checkKey(key, names, problems);
  checkIdenticalKeys(definition.unique, problems);
  for (const key of definition.foreignKeys) checkForeignKey(key, names, problems);
  checkConstraintNames(table, keys, definition.foreignKeys, problems);
  return problems;
}

function checkColumns(definition: TableDefinition, problems: Problem[]): void {
  const { columns } = definition;
  if (columns.length > maxColumns) {
    problems.push({
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
      problems.push({ pointer, code: 'duplicate-column', detail, value: name });
    } else firstIndex.set(name, index);
    if (isSystemColumn(name)) {
      const detail = `every table has a system column "${name}"; rename this column`;
      problems.push({ pointer, code: 'reserved-name', detail, value: name });
    }
  }
}

function checkKey(key: KeyDefinition, names: ReadonlySet<string>, problems: Problem[]): void {
  if (key.columns.length > maxKeyColumns) {
    problems.push({
      pointer: `${key.pointer}/columns`,
      code: 'too-many-columns',
      detail: `a key can have at most ${maxKeyColumns} columns; this one has ${key.columns.length}`,
    });
  }
  const seen = new Set<string>();
  for (const [index, column] of key.columns.entries()) {
    checkMember(column, names, seen, `${key.pointer}/columns/${index}`, problems);
  }
}

function checkForeignKey(key: ForeignKeyDefinition, names: ReadonlySet<string>, problems: Problem[]): void {
  const seen = new Set<string>();
  for (const pair of key.pairs) checkMember(pair.column, names, seen, `${pair.pointer}/column`, problems);
  if (key.pairs.length > maxKeyColumns) {
    problems.push({
      pointer: key.pairs[0]!.pointer,
      code: 'too-many-columns',
      detail: `a foreign key can have at most ${maxKeyColumns} columns; this one has ${key.pairs.length}`,
    });
  }
}

function checkMember(
  column: string,
  names: ReadonlySet<string>,
  seen: Set<string>,
  pointer: string,
  problems: Problem[],
): void {
  if (column === '') return;
  const value = shorten(column.toWellFormed());
  if (!names.has(column)) {
    const detail = `the table has no column "${value}".${didYouMean(column, names, problems.length)}`;
    problems.push({ pointer, code: 'unknown-column', detail, value });
  } else if (seen.has(column)) {
    const detail = `the column "${value}" occurs twice in this constraint`;
    problems.push({ pointer, code: 'repeated-column', detail, value });
  }
  seen.add(column);
}

function checkIdenticalKeys(unique: KeyDefinition[], problems: Problem[]): void {
  const first = new Map<string, string>();
  for (const key of unique) {
    const columns = JSON.stringify(key.columns);
    const pointer = first.get(columns);
    if (pointer === undefined) first.set(columns, key.pointer);
    else {
      const detail = `the same unique constraint is also at ${pointer}`;
      problems.push({ pointer: key.pointer, code: 'duplicate-constraint', detail });
    }
  }
}

function checkConstraintNames(
  table: string,
  keys: KeyDefinition[],
  foreignKeys: ForeignKeyDefinition[],
  problems: Problem[],
): void {
  const first = new Map<string, string>();
  const add = (name: string | undefined, pointer: string) => {
    if (name === undefined) return;
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, pointer);
    else {
      const detail = `the constraint name "${name}" occurs twice; it is also at ${earlier}`;
      problems.push({ pointer: `${pointer}/name`, code: 'duplicate-name', detail, value: name });
    }
  };
  for (const key of keys) {
    add(key.name, key.pointer);
    // The index of a key is a relation of the schema, and so is the table: their names must differ.
    if (key.name === table) {
      const detail = 'the index of this constraint cannot have the name of the table';
      problems.push({ pointer: `${key.pointer}/name`, code: 'duplicate-name', detail, value: table });
    }
  }
  for (const key of foreignKeys) add(key.name, key.pairs[0]!.pointer);
}
