/**
 * Copies the rows of sharded tables that the search for violations needs.
 *
 * The search asks for each staged row whether the table, or a referenced table, has a row with the key. Citus does not run such a query
 * if one table is temporary and the other one is sharded. So the rows with the keys of the staged rows are first copied into temporary
 * tables. These have at most as many rows as there are staged rows, unless the key has NULLS NOT DISTINCT.
 */

import type { ClientBase } from 'pg';
import { queryWithSavepoint } from '../../../postgres/savepoints.ts';
import { quoteIdentifier, quoteQualified, randomName } from '../../../postgres/sql.ts';
import { isLackOfPrivilege, isRefusalOfInput } from '../../../postgres/sqlstate.ts';
import { allEqual } from '../../tables/rules/equality.ts';
import type { ForeignKeyRule, RowRule } from '../../tables/rules/row-rules.ts';
import { columnsOf } from '../../tables/rules/rule-conditions.ts';
import { type ConflictKey, nameOfKey } from '../staged/conflict-rule.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import type { SentRows } from './violation-queries.ts';

export interface CopiedForSearch {
  /** The staged rows, with the copies of the target table that the queries read instead of it. */
  sent: SentRows;
  /** The rules, with the copies of the tables that foreign keys refer to. Rules that cannot be checked are left out. */
  rules: RowRule[];
  /** The names of the rules that were left out, because the role may not read a table. */
  unreadable: string[];
}

/** Makes the copies. It does nothing if no table is sharded. */
export async function copyShardedRows(
  client: ClientBase,
  { isSharded, conflict }: Pick<StagedLoad, 'isSharded' | 'conflict'>,
  sent: SentRows,
  rules: RowRule[],
): Promise<CopiedForSearch> {
  const copied: CopiedForSearch = { sent: { ...sent, copies: new Map() }, rules: [], unreadable: [] };
  const keys = rules.filter((rule) => rule.kind === 'unique');
  const read = keys.flatMap((key) => [...key.columns, ...(key.predicateColumns ?? [])]);
  const needed = [...new Set([...read, ...(conflict?.key.columns ?? [])])];
  const copyKey = async (key: ConflictKey): Promise<boolean> => {
    if (!isSharded || sent.existing === undefined || copied.sent.copies!.has(nameOfKey(key))) return true;
    const compared = { ...key, relation: sent.existing, ofTable: key.columns, ofRows: key.columns };
    const relation = await copyMatching(client, sent, { ...compared, columns: needed });
    if (relation !== undefined) copied.sent.copies!.set(nameOfKey(key), relation);
    return relation !== undefined;
  };
  const isConflictReadable = conflict === undefined || (await copyKey(conflict.key));
  for (const rule of rules) {
    const [made, isReadable] =
      rule.kind === 'foreign key' && rule.isOfSharded
        ? await copyReferenced(client, sent, rule)
        : [rule, rule.kind !== 'unique' || (await copyKey(rule))];
    if (isReadable && isConflictReadable) copied.rules.push(made);
    else copied.unreadable.push(rule.name);
  }
  return copied;
}

async function copyReferenced(
  client: ClientBase,
  sent: SentRows,
  rule: ForeignKeyRule,
): Promise<[RowRule, boolean]> {
  if (rule.isSelf && !sent.existing) return [rule, true];
  const { columns, referencedColumns, referencedSchema, referencedTable, equals } = rule;
  const relation = await copyMatching(client, sent, {
    relation: quoteQualified(referencedSchema, referencedTable),
    ofTable: referencedColumns,
    ofRows: columns,
    columns: [...new Set(referencedColumns)],
    equals,
    nullsNotDistinct: false,
  });
  return [{ ...rule, referencedCopy: relation }, relation !== undefined];
}

interface Matching extends Pick<ConflictKey, 'equals' | 'nullsNotDistinct'> {
  /** The table, quoted. */
  relation: string;
  /** The columns of the table, and the column of the staged rows with which each is compared. */
  ofTable: string[];
  ofRows: string[];
  /** The columns of the copy. */
  columns: string[];
}

/** Copies the rows of a table that match a staged row. Returns the name of the copy; undefined: the role may not read the table. */
async function copyMatching(
  client: ClientBase,
  sent: SentRows,
  { relation, ofTable, ofRows, columns, equals, nullsNotDistinct }: Matching,
): Promise<string | undefined> {
  const [copy, keys] = ['copy', 'keys'].map((name) => `pg_temp.${quoteIdentifier(randomName(name))}`);
  const isSame = allEqual(columnsOf('t', ofTable), columnsOf('s', ofRows), equals, nullsNotDistinct);
  const compared = [...new Set(ofRows)].map(quoteIdentifier).join(', ');
  const listed = columnsOf('t', columns).join(', ');
  const statements = [
    // The keys are stored in a table first, because reading the staged rows may set savepoints, and Citus accepts no savepoint while its workers run a query.
    `CREATE TEMPORARY TABLE ${keys} ON COMMIT DROP AS SELECT DISTINCT ${compared} FROM ${sent.relation} sent`,
    `CREATE TEMPORARY TABLE ${copy} ON COMMIT DROP AS SELECT ${listed} FROM ${relation} t JOIN ${keys} s ON ${isSame}`,
    `ANALYZE ${copy}`,
  ];
  try {
    await queryWithSavepoint(client, 'copy', statements);
    return copy;
  } catch (error) {
    if (isLackOfPrivilege(error) || isRefusalOfInput(error)) return undefined;
    throw error;
  }
}
