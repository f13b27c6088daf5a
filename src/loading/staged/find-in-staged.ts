/**
 * Which rows in the staging table break a rule of the table that they are for: those that the rows themselves tell, since what
 * PostgreSQL computes, its defaults and triggers come only on the way.
 */
import type { ClientBase } from 'pg';
import { queryInCallersPath } from '../../postgres/search-path.ts';
import { type Condition, conditionOf } from '../../postgres/sqlstate.ts';
import type { Problems } from '../problems.ts';
import { findViolations, type RowPlaces } from './find-violations.ts';
import { type MoveOptions, type Shapes, stagedNames, tryRows } from './move-rows.ts';
import { columnsRead, type RowRule } from './row-rules.ts';
import { analyzeStagingTable, indexRows } from './staging-table.ts';
import type { SentRows, Violation } from './violation-queries.ts';

export interface StagedLoad extends MoveOptions {
  /** The table has triggers that may change rows before they are stored. */
  changesRows: boolean;
  /** Rows in the staging table have the numbers of their data rows; otherwise they are numbered as they were copied, from 1. */
  hasDataRowNumbers: boolean;
}

/**
 * Adds them to the problems.
 *
 * @returns as `findViolations`
 */
export async function findInStaged(
  client: ClientBase,
  sent: SentRows,
  rules: RowRule[],
  places: RowPlaces,
  problems: Problems,
  load: StagedLoad,
  shapes: Shapes,
): Promise<string[]> {
  const told = rules.filter((rule) => isToldBySent(rule, load, places, shapes));
  const readNames = told.flatMap((rule) => [
    ...columnsRead(rule),
    ...(rule.kind === 'foreign key' && rule.isSelf ? rule.referencedColumns : []),
  ]);
  await client.query(analyzeStagingTable(stagedNames(readNames, load.columns)));
  const staged = { ...sent, shapesWithout: (names: string[]) => shapesWithout(names, load, shapes) };
  const isReal = load.changesRows
    ? (rule: RowRule, violation: Violation) => isRefused(client, rule, violation, load, shapes, places)
    : undefined;
  if (isReal) await queryInCallersPath(client, indexRows(load.conflict !== undefined).text);
  const unread = await findViolations(client, staged, told, places, problems, isReal);
  return [...unread, ...rules.filter((rule) => !told.includes(rule)).map((rule) => rule.name)];
}

/** Whether PostgreSQL refuses the row, which a trigger may have fixed. */
async function isRefused(
  client: ClientBase,
  rule: RowRule,
  { ordinal, other }: Violation,
  load: StagedLoad,
  shapes: Shapes,
  { rowNumbers }: RowPlaces,
): Promise<boolean> {
  const ordinals = other === null ? [ordinal] : [other, ordinal];
  const numbers = ordinals.map((one) => (load.hasDataRowNumbers ? rowNumbers.rowOf(one) : one + 1));
  if (numbers.includes(undefined)) return true;
  const refusal = await tryRows(client, load, shapes, numbers as number[]);
  return refusal !== undefined && conditionOf(refusal) === refusals[rule.kind];
}

/** How PostgreSQL refuses a row that breaks such a rule. */
const refusals: Partial<Record<RowRule['kind'], Condition>> = {
  unique: 'unique_violation',
  'foreign key': 'foreign_key_violation',
  'half reference': 'foreign_key_violation',
  check: 'check_violation',
};

/** Whether rows in the staging table say what a rule asks: those lack what PostgreSQL computes, and what triggers fill in. */
function isToldBySent(rule: RowRule, load: StagedLoad, { sourceColumn }: RowPlaces, shapes: Shapes): boolean {
  // What rows refer to may be numbers that PostgreSQL is to give.
  const referenced = rule.kind === 'foreign key' && rule.isSelf ? rule.referencedColumns : [];
  if (shapesWithout(referenced, load, shapes).length > 0) return false;
  return [...columnsRead(rule), ...referenced].every((name) => {
    const isGenerated = load.columns.some((column) => column.name === name && column.isGenerated);
    return !isGenerated && !(load.changesRows && sourceColumn(name) < 0);
  });
}

/** The numbers of the shapes without a value for one of the columns, where it is not NULL. */
function shapesWithout(names: string[], { columns, conflict }: StagedLoad, shapes: Shapes): number[] {
  return [...shapes.all.keys()].filter((number) => {
    const mayUpdate = conflict?.action === 'update' && conflict.shapes.includes(number);
    return columns.some(
      ({ name, default: value }, place) =>
        names.includes(name) && (value !== 'none' || mayUpdate) && !shapes.all[number]!.includes(place),
    );
  });
}
