/**
 * Finds the rules that the rows of a new table must meet after its keys are added. They are needed before PostgreSQL has the
 * keys.
 */
import type { ClientBase } from 'pg';
import { mapInTurns } from '../../../core/pause-for-others.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { quoteQualified } from '../../postgres/sql.ts';
import { type KeyDefinition, weightOfKey } from '../../tables/definition.ts';
import { isSharded } from '../../tables/distribution/placement.ts';
import { baseOfDomain, equalityOperator } from '../../tables/equality.ts';
import { readLoadColumns } from '../../tables/loading/read-load-columns.ts';
import type { ObjectNames } from '../../tables/object-names.ts';
import type { PreparedTable } from '../../tables/prepared-table.ts';
import type { ConflictKey } from './conflict-rule.ts';
import type { Equality } from './equality.ts';
import type { RowRule } from './row-rules.ts';

/** Returns the keys of a new table that `on_conflict` can use. It works in turns, because there may be thousands. */
export async function conflictKeysOf(table: PreparedTable, columns: LoadColumn[]): Promise<ConflictKey[]> {
  const own = byName(columns);
  const toConflictKey = ({ columns: names }: KeyDefinition): ConflictKey => ({
    columns: names,
    equals: equalitiesOf(names, own),
    nullsNotDistinct: false,
  });
  return mapInTurns(keysOf(table), toConflictKey, weightOfKey);
}

/**
 * Returns the rules of the keys and foreign keys.
 *
 * @param names the names that PostgreSQL knows while the table is built
 * @param columns the columns of the new table
 */
export async function rulesOfNewTable(
  client: ClientBase,
  table: PreparedTable,
  names: ObjectNames,
  columns: LoadColumn[],
): Promise<RowRule[]> {
  const ownColumns = byName(columns);
  const hidden = await hiddenTables(client, table);
  const referenced = await referencedColumns(client, table, ownColumns);
  const toUniqueRule = (key: KeyDefinition, name: string | undefined): RowRule => {
    return {
      kind: 'unique',
      name: name ?? '',
      columns: key.columns,
      equals: equalitiesOf(key.columns, ownColumns),
      isPrimary: key === table.primaryKey,
      nullsNotDistinct: false,
      isDeferrable: false,
    };
  };
  return [
    ...(table.primaryKey === undefined ? [] : [toUniqueRule(table.primaryKey, names.primaryKey)]),
    ...(await mapInTurns(table.unique, (key, index) => toUniqueRule(key, names.unique[index]), weightOfKey)),
    ...table.foreignKeys.map((key, index): RowRule => {
      const own = key.pairs.map((pair) => pair.column);
      const referencedNames = key.pairs.map((pair) => pair.referenceColumn);
      return {
        kind: 'foreign key',
        name: names.foreignKeys[index] ?? '',
        columns: own,
        isSelf: key.isSelf,
        isFull: false,
        isHidden: hidden.has(quoteQualified(key.schema, key.table)),
        referencedSchema: key.schema,
        referencedTable: key.table,
        referencedColumns: referencedNames,
        // The referenced table may be at any node. Its keys are copied unless it is known to be a table of the coordinator.
        isOfSharded: !key.isSelf && isSharded(table.placement),
        equals: equalitiesOf(referencedNames, referenced[index]!, own, ownColumns),
      };
    }),
  ];
}

function keysOf({ primaryKey, unique }: PreparedTable): KeyDefinition[] {
  return [...(primaryKey === undefined ? [] : [primaryKey]), ...unique];
}

type ColumnsByName = ReadonlyMap<string, LoadColumn>;

function byName(columns: LoadColumn[]): ColumnsByName {
  return new Map(columns.map((column) => [column.name, column]));
}

/** Returns the operators that compare columns with the referenced columns, or with themselves. */
function equalitiesOf(
  names: string[],
  columns: ColumnsByName,
  otherNames = names,
  others = columns,
): Equality[] {
  return names.map((name, index) => {
    const column = columns.get(name);
    return {
      operator: equalityOperator(column),
      leftBase: baseOfDomain(column),
      rightBase: baseOfDomain(others.get(otherNames[index]!)),
    };
  });
}

/** Reads the columns of the table that each foreign key refers to. It reads each table once. */
async function referencedColumns(
  client: ClientBase,
  { foreignKeys }: PreparedTable,
  own: ColumnsByName,
): Promise<ColumnsByName[]> {
  const byTable = new Map<string, ColumnsByName>();
  const columns: ColumnsByName[] = [];
  for (const { isSelf, schema, table } of foreignKeys) {
    const name = quoteQualified(schema, table);
    const found = isSelf ? own : (byTable.get(name) ?? byName(await readLoadColumns(client, schema, table)));
    if (!isSelf) byTable.set(name, found);
    columns.push(found);
  }
  return columns;
}

/** Returns the referenced tables (quoted) in which row-level security hides rows from the role. */
async function hiddenTables(client: ClientBase, { foreignKeys }: PreparedTable): Promise<Set<string>> {
  const others = foreignKeys.filter((key) => !key.isSelf).map((key) => quoteQualified(key.schema, key.table));
  if (others.length === 0) return new Set();
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM unnest($1::text[]) AS name WHERE row_security_active(to_regclass(name))',
    [others],
  );
  return new Set(rows.map(({ name }) => name));
}
