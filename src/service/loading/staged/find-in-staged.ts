/**
 * Finds the staged rows that violate a rule of the target table, if the staged values are enough to decide that. Defaults,
 * generated columns and triggers change rows only later, when the rows are moved into the table.
 */
import type { ClientBase, DatabaseError } from 'pg';
import type { Problems } from '../../../encoding/problems/problems.ts';
import { queryWithSavepoint, runAndUndo } from '../../postgres/savepoints.ts';
import { queryInCallersPath } from '../../postgres/search-path.ts';
import { quoteIdentifier, randomName } from '../../postgres/sql.ts';
import { type Condition, conditionOf } from '../../postgres/sqlstate.ts';
import type { Refusal } from '../copying/refusal.ts';
import { isDecidedByRows, ownReferencedColumns, shapesWithout, stagedNames } from './decided-by-rows.ts';
import { findRefusedRow, type RefusedRow } from './find-refused-row.ts';
import { findViolations } from './find-violations.ts';
import type { Violation } from './row-problem.ts';
import { columnsRead, type ForeignKeyRule, isSelfReference, type RowRule } from './row-rules.ts';
import { copyShardedRows } from './sharded-copies.ts';
import type { StagedLoad } from './staged-load.ts';
import { analyzeStagingTable, indexByRow, keepOnly } from './staging-table.ts';
import { indexSurplusTable } from './surplus-rows.ts';
import { tryRows } from './try-rows.ts';
import { type SentRows, storeAnswer, violationQueries } from './violation-queries.ts';

/**
 * Adds the rows that violate a rule to the problems.
 *
 * @param sent the staged rows
 * @returns the result of `findViolations`, with the rules that cannot be checked here
 */
export async function findInStaged(
  client: ClientBase,
  load: StagedLoad,
  sent: SentRows,
  rules: RowRule[],
  problems: Problems,
): Promise<string[]> {
  const checked = rules.filter((rule) => isDecidedByRows(rule, load));
  const read = checked.flatMap((rule) => [...columnsRead(rule), ...ownReferencedColumns(rule)]);
  await client.query(analyzeStagingTable(stagedNames(read, load)));
  const copied = await copyShardedRows(client, load, sent, checked);
  const staged = { ...copied.sent, shapesWithout: (names: string[]) => shapesWithout(names, load) };
  const isReal = load.changesRows ? (violation: Violation) => isRefused(client, violation, load) : undefined;
  if (isReal) {
    await queryInCallersPath(client, indexByRow);
    if (load.conflict) await queryInCallersPath(client, indexSurplusTable);
  }
  const { places } = load;
  const ofQueries = await findViolations(client, staged, copied.rules, { places, problems, isReal });
  const unchecked = [...ofQueries, ...copied.unreadable];
  const unread = checked.filter(isSelfReference).filter(({ name }) => unchecked.includes(name));
  const named = await findOrphans(client, load, staged, unread, problems);
  const rest = unchecked.filter((name) => !named.includes(name));
  return [...rest, ...rules.filter((rule) => !checked.includes(rule)).map((rule) => rule.name)];
}

/**
 * Adds the rows that refer to no row of the table, for foreign keys to the table itself, which the role may not read. A query finds the
 * rows that refer to no staged row, and PostgreSQL then says which of these refer to no row of the table.
 *
 * @returns the names of the foreign keys for which rows were found
 */
async function findOrphans(
  client: ClientBase,
  load: StagedLoad,
  sent: SentRows,
  keys: ForeignKeyRule[],
  problems: Problems,
): Promise<string[]> {
  if (keys.length === 0) return [];
  await queryInCallersPath(client, indexByRow);
  const found: string[] = [];
  for (const key of keys) {
    const before = problems.count;
    const isReal = ({ row }: Violation) => isRefusedFor(client, key, row, load);
    const report = { places: load.places, problems, isReal };
    await findViolations(client, { ...sent, existing: undefined }, [key], report);
    if (problems.count > before) found.push(key.name);
  }
  return found;
}

/**
 * Finds the row that PostgreSQL refuses for a foreign key to the table itself, which the role may not read. Only the rows that refer to no
 * staged row are searched: the others are refused if they are moved without the rows to which they refer.
 */
export async function findOrphan(
  client: ClientBase,
  load: StagedLoad,
  sent: SentRows,
  key: ForeignKeyRule,
  refusal: Refusal,
): Promise<RefusedRow> {
  const [query] = violationQueries({ ...sent, existing: undefined }, [key], 'ALL');
  const found = `pg_temp.${quoteIdentifier(randomName('orphans'))}`;
  return runAndUndo(client, 'orphans', async () => {
    await queryWithSavepoint(client, 'rule', storeAnswer(query!, found));
    await client.query(keepOnly(found));
    return findRefusedRow(client, load, refusal);
  });
}

/** Returns whether PostgreSQL refuses the row, if it is moved alone, for this foreign key. */
async function isRefusedFor(
  client: ClientBase,
  { name }: ForeignKeyRule,
  row: number | undefined,
  load: StagedLoad,
): Promise<boolean> {
  const error = row === undefined ? undefined : await tryRows(client, load, [row]);
  return conditionOf(error) === 'foreign_key_violation' && (error as DatabaseError).constraint === name;
}

/** Returns whether PostgreSQL refuses the row. A trigger may have corrected it. */
async function isRefused(
  client: ClientBase,
  { rule, row, otherRow }: Violation,
  load: StagedLoad,
): Promise<boolean> {
  const rows = otherRow === null ? [row] : [otherRow, row];
  const known = rows.filter((one) => one !== undefined);
  const error = await tryRows(client, load, known);
  return error !== undefined && conditionOf(error) === refusals[rule.kind];
}

/** The errors with which PostgreSQL refuses a row that violates such a rule. */
const refusals: Partial<Record<RowRule['kind'], Condition>> = {
  unique: 'unique_violation',
  'foreign key': 'foreign_key_violation',
  'half reference': 'foreign_key_violation',
  check: 'check_violation',
};
