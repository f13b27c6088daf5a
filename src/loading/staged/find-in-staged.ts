/**
 * Finds the staged rows that violate a rule of the target table, if the staged values are enough to decide that. Defaults,
 * generated columns and triggers change rows only later, when the rows are moved into the table.
 */
import type { ClientBase } from 'pg';
import { queryInCallersPath } from '../../postgres/search-path.ts';
import { type Condition, conditionOf } from '../../postgres/sqlstate.ts';
import type { Problems } from '../problems.ts';
import { findViolations } from './find-violations.ts';
import type { Violation } from './row-problem.ts';
import { columnsRead, type RowRule } from './row-rules.ts';
import type { StagedLoad } from './staged-load.ts';
import { analyzeStagingTable, indexByRow } from './staging-table.ts';
import { indexSurplusTable } from './surplus-rows.ts';
import { tryRows } from './try-rows.ts';
import type { SentRows } from './violation-queries.ts';

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
  const staged = { ...sent, shapesWithout: (names: string[]) => shapesWithout(names, load) };
  const isReal = load.changesRows ? (violation: Violation) => isRefused(client, violation, load) : undefined;
  if (isReal) {
    await queryInCallersPath(client, indexByRow.text);
    if (load.conflict) await queryInCallersPath(client, indexSurplusTable.text);
  }
  const unchecked = await findViolations(client, staged, checked, load.places, problems, isReal);
  return [...unchecked, ...rules.filter((rule) => !checked.includes(rule)).map((rule) => rule.name)];
}

/** Returns the names that are columns of the staging table. A rule may read columns that no row has. */
export function stagedNames(names: readonly string[], { columns }: StagedLoad): string[] {
  return names.filter((name) => columns.some((column) => column.name === name));
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

/** Returns whether the staged rows have every value that the rule reads. */
export function isDecidedByRows(rule: RowRule, load: StagedLoad): boolean {
  // A row may refer to a number that PostgreSQL will generate.
  const referenced = ownReferencedColumns(rule);
  if (shapesWithout(referenced, load).length > 0) return false;
  return [...columnsRead(rule), ...referenced].every((name) => {
    const isGenerated = load.columns.some((column) => column.name === name && column.isGenerated);
    const mayTriggerFill = load.changesRows && load.places.sourceColumn(name) < 0;
    return !isGenerated && !mayTriggerFill;
  });
}

/** Returns the columns of the table itself that a foreign key refers to. */
export function ownReferencedColumns(rule: RowRule): string[] {
  return rule.kind === 'foreign key' && rule.isSelf ? rule.referencedColumns : [];
}

/** Returns the shapes whose rows get a value of one of these columns from PostgreSQL, if the value is not NULL. */
export function shapesWithout(names: string[], { columns, conflict, shapes }: StagedLoad): number[] {
  return [...shapes.all.keys()].filter((shape) => {
    const mayUpdate = conflict?.action === 'update' && conflict.shapes.includes(shape);
    return columns.some(
      ({ name, default: value }, place) =>
        names.includes(name) && (value !== 'none' || mayUpdate) && !shapes.all[shape]!.includes(place),
    );
  });
}
