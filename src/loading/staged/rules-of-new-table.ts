/** Returns the rules that the rows of a new table must meet once its keys are added. They are needed before PostgreSQL has the keys. */
import type { ClientBase } from 'pg';
import { quoteQualified } from '../../postgres/sql.ts';
import type { KeyDefinition } from '../../tables/definition.ts';
import { readLoadColumns } from '../../tables/describe-table.ts';
import { baseOfDomain, equalityOperator, type LoadColumn } from '../../tables/load-column.ts';
import type { PreparedTable } from '../../tables/prepared-table.ts';
import type { ConflictKey } from './conflict-rule.ts';
import type { Equality } from './equality.ts';
import type { RowRule } from './row-rules.ts';

/** Returns the keys that may decide between rows with equal values. */
export function conflictKeysOf(table: PreparedTable, columns: LoadColumn[]): ConflictKey[] {
  return keysOf(table).map((key) => ({
    columns: key.columns,
    equals: equalitiesOf(key.columns, columns),
    nullsNotDistinct: false,
  }));
}

/** @param own the columns of the new table */
export async function rulesOfNewTable(
  client: ClientBase,
  table: PreparedTable,
  own: LoadColumn[],
): Promise<RowRule[]> {
  const hidden = await hiddenTables(client, table);
  const referenced = await referencedColumns(client, table, own);
  return [
    ...keysOf(table).map((key): RowRule => {
      return {
        kind: 'unique',
        name: key.name ?? '',
        columns: key.columns,
        equals: equalitiesOf(key.columns, own),
        isPrimary: key === table.primaryKey,
        nullsNotDistinct: false,
        isDeferrable: false,
      };
    }),
    ...table.foreignKeys.map((key, index): RowRule => {
      const names = key.pairs.map((pair) => pair.column);
      const referencedNames = key.pairs.map((pair) => pair.referenceColumn);
      return {
        kind: 'foreign key',
        name: key.name ?? '',
        columns: names,
        isSelf: key.isSelf,
        isFull: false,
        isHidden: hidden.has(quoteQualified(key.schema, key.table)),
        referencedSchema: key.schema,
        referencedTable: key.table,
        referencedColumns: referencedNames,
        equals: equalitiesOf(referencedNames, referenced[index]!, names, own),
      };
    }),
  ];
}

function keysOf({ primaryKey, unique }: PreparedTable): KeyDefinition[] {
  return [...(primaryKey === undefined ? [] : [primaryKey]), ...unique];
}

/** Returns the operators that compare columns with the referenced columns, or with themselves. */
function equalitiesOf(
  names: string[],
  columns: LoadColumn[],
  otherNames = names,
  others = columns,
): Equality[] {
  const find = (name: string, among: LoadColumn[]) => among.find((column) => column.name === name);
  return names.map((name, index) => {
    const column = find(name, columns);
    return {
      operator: equalityOperator(column),
      leftBase: baseOfDomain(column),
      rightBase: baseOfDomain(find(otherNames[index]!, others)),
    };
  });
}

/** Reads the columns of the table that each foreign key refers to. */
async function referencedColumns(
  client: ClientBase,
  { foreignKeys }: PreparedTable,
  own: LoadColumn[],
): Promise<LoadColumn[][]> {
  const columns: LoadColumn[][] = [];
  for (const { isSelf, schema, table } of foreignKeys) {
    columns.push(isSelf ? own : await readLoadColumns(client, schema, table));
  }
  return columns;
}

/** Returns the referenced tables (quoted) in which row-level security hides rows from the role. */
async function hiddenTables(client: ClientBase, { foreignKeys }: PreparedTable): Promise<Set<string>> {
  const others = foreignKeys.filter((key) => !key.isSelf).map((key) => quoteQualified(key.schema, key.table));
  if (others.length === 0) return new Set();
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM pg_catalog.unnest($1::text[]) AS name WHERE pg_catalog.row_security_active(pg_catalog.to_regclass(name))',
    [others],
  );
  return new Set(rows.map(({ name }) => name));
}
