/** Finds out whether a row repeats a key only because PostgreSQL filled in columns of the key that the row did not send. */
import type { ClientBase } from 'pg';
import { repeatedKeyOf } from '../../../postgres/server-internals.ts';
import { quoteQualified, type Statement } from '../../../postgres/sql.ts';
import { conditionOf } from '../../../postgres/sqlstate.ts';
import { columnsRead, type RowRule, type UniqueRule } from '../../tables/rules/row-rules.ts';
import type { Refusal } from '../copying/refusal.ts';
import { sourcesOf } from '../staged/shapes.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import { areAllSent } from './decided-by-rows.ts';
import type { Judgement } from './judgement.ts';
import type { GeneratedKey } from './row-problem.ts';

/**
 * Returns the columns of a refused key that PostgreSQL filled in. Returns undefined if the error is about something else, or if a value
 * that the row sent caused it.
 */
export async function generatedKey(
  { client, target, load, rules }: Judgement,
  { error, moved, row = moved?.row, sentColumns = moved?.sentColumns }: Refusal,
): Promise<GeneratedKey | undefined> {
  const rule = repeatedKey(error, rules);
  if (!rule || !sentColumns || !mayFillIn(rule.columns, load)) return undefined;
  // A sharded table cannot have triggers that write to other tables, so the error is about this table. Citus does not report the schema.
  if (!load.isSharded && !(await isOfTable(client, error, load.relation))) return undefined;
  const lacking = lackingColumns(columnsRead(rule), sentColumns, load);
  const isOfAnother = lacking.length === 0;
  if (isOfAnother && (load.changesRows || areAllSent(rule, load))) return undefined;
  const filled = isOfAnother ? rule.columns : lacking;
  return {
    rule,
    row,
    value: repeatedKeyOf(error)?.values ?? null,
    lacking,
    numbered: await numberedColumn(client, load, filled),
    isOfNewTable: target.isNew,
    computed: load.columns.find(({ name, isGenerated }) => isGenerated && rule.columns.includes(name))?.name,
    conflictAction:
      rule.columns.join() === load.conflict?.key.columns.join() ? load.conflict.action : undefined,
  };
}

/**
 * Returns the key that the error is about; undefined for a key that is checked at the end of the transaction. The index of a
 * partition has another name than the key, so the columns are compared, too.
 */
function repeatedKey(error: Error, rules: RowRule[]): UniqueRule | undefined {
  if (conditionOf(error) !== 'unique_violation') return undefined;
  const { constraint } = error as { constraint?: string };
  const columns = repeatedKeyOf(error)?.columns;
  const keys = rules.filter((rule) => rule.kind === 'unique').filter((rule) => !rule.isDeferrable);
  const named = keys.find(({ name }) => name === constraint);
  return named ?? keys.find((key) => unquoted(key.columns.join(', ')) === unquoted(columns));
}

/** Returns whether the error is about this table or a partition of it. A trigger may write to another table with a key of the same columns. */
async function isOfTable(client: ClientBase, error: Error, relation: string): Promise<boolean> {
  const { schema, table } = error as { schema?: string; table?: string };
  if (schema === undefined || table === undefined) return false;
  return (await client.query(isTableOrPartition(relation, quoteQualified(schema, table)))).rows[0].answer;
}

function unquoted(names: string | undefined): string | undefined {
  return names?.replaceAll('"', '');
}

function lackingColumns(key: string[], sentColumns: readonly number[], { columns }: StagedLoad): string[] {
  const names = sentColumns.map((position) => columns[position]!.name);
  return key.flatMap((name) => sourcesOf(name, columns)).filter((name) => !names.includes(name));
}

/** Returns whether PostgreSQL gives one of the columns a value in rows without it. */
function mayFillIn(key: string[], { columns }: StagedLoad): boolean {
  return columns.some(
    (column) => key.includes(column.name) && (column.isGenerated || column.default !== 'none'),
  );
}

/** Returns the first of the columns that has its own sequence. */
async function numberedColumn(
  client: ClientBase,
  { relation, columns }: StagedLoad,
  names: string[],
): Promise<string | undefined> {
  for (const { name } of columns.filter(
    (column) => column.default === 'computed' && names.includes(column.name),
  )) {
    const { rows } = await client.query<{ sequence: string | null }>(findSequence(relation, name));
    if (rows[0]!.sequence !== null) return name;
  }
  return undefined;
}

/** Finds the sequence that belongs to a column; null: there is none. @param relation quoted */
function findSequence(relation: string, column: string): Statement {
  return { text: 'SELECT pg_get_serial_sequence($1, $2) AS sequence', values: [relation, column] };
}

/** Finds out whether a table is the other table or a partition of it: one row, `answer`. Both names are quoted. */
function isTableOrPartition(relation: string, other: string): Statement {
  return {
    text: `SELECT to_regclass($2) = $1::regclass OR EXISTS (
  SELECT FROM pg_partition_tree($1::regclass) WHERE relid = to_regclass($2)) AS answer`,
    values: [relation, other],
  };
}
