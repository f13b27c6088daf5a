/**
 * Bounds what PostgreSQL stores in generated columns whose expressions may make long numbers of short values: `1e131000` has nine bytes, and divided by 7
 * it has 66 KB. Which values become long cannot be known before PostgreSQL computes them. So such rows are staged, and the statement that moves
 * them adds up the bytes of the computed values and fails when they are too many. Few rows need not be measured.
 */
import type { ClientBase } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { tooManyAdded } from '../../../encoding/encoders/written-bytes.ts';
import { failUnless, patternOf, type Reason, wasRefused } from '../../../postgres/refuse-unless.ts';
import { quoteIdentifier } from '../../../postgres/sql.ts';
import { maxHeldBytes } from '../copying/copy-session.ts';
import { areComputedLong } from '../copying/long-expressions.ts';
import { maxStagedColumns, shapeNumber, stagingTable } from './staging-table.ts';

const reason: Reason = 'the computed values are too long';

/** A sequence that holds the number of bytes so far. It is dropped with the staging table. */
const counter = 'pg_temp."tablewright computed"';
/** Creates this sequence. The number is negative while more is replaced than added. */
export const createCounter = `CREATE TEMPORARY SEQUENCE ${counter} MINVALUE ${Number.MIN_SAFE_INTEGER} OWNED BY ${stagingTable}.${shapeNumber}`;

/**
 * Returns how many bytes PostgreSQL may add to rows, as for what is counted before they are sent (core/cells/expanded-bytes.ts).
 *
 * @param ownBytes the bytes of the values that the caller sent
 * @param ratio how many bytes may be stored for each byte of the rows
 */
export function mostAdded(ownBytes: number, ratio: number): number {
  return Math.max(maxHeldBytes, Math.floor(ownBytes * ratio));
}

export interface ComputedBytes {
  /** The generated columns whose values may be long. */
  columns: readonly string[];
  /** The maximum number of bytes of their values in all rows. */
  limit: number;
}

/**
 * Returns the generated columns that must be measured while staged rows are moved; undefined: there are none, or they cannot be measured. Rows that are not
 * measured are stored as if their values were short, but one by one. They are those of a table of Citus, with rules, or with policies of row-level
 * security, and those of a role that may not read the columns or have temporary tables.
 */
export async function measuredColumns(
  client: ClientBase,
  target: MeasuredTarget,
): Promise<string[] | undefined> {
  const { relation, columns, isSharded, hasRules } = target;
  if (!areComputedLong(columns) || isSharded || hasRules || columns.length > maxStagedColumns)
    return undefined;
  const names = columns.filter((column) => (column.computedDigits ?? 0) > 0).map(({ name }) => name);
  const { rows } = await client.query<{ isMeasured: boolean }>(
    `SELECT NOT row_security_active($1::regclass) AND has_database_privilege(current_database(), 'TEMPORARY')
  AND bool_and(has_column_privilege($1::regclass, name, 'SELECT')) AS "isMeasured" FROM unnest($2::text[]) AS name`,
    [relation, names],
  );
  return rows[0]!.isMeasured ? names : undefined;
}

interface MeasuredTarget {
  /** Quoted. */
  relation: string;
  columns: readonly LoadColumn[];
  isSharded: boolean;
  hasRules: boolean;
}

/** Begins to count, before the rows are moved. */
export const startMeasuring = `SELECT setval('${counter}', 0)`;

/** Returns the expression of RETURNING that counts a row, whose table is called `t`, and fails when all rows have too many bytes. */
export function measureRow(computed: ComputedBytes): string {
  return failUnless(`${counted(computed, '+')} OPERATOR(pg_catalog.<=) ${computed.limit}`, reason);
}

/** Returns a condition that is always true, and takes a stored row off the count before it is updated: PostgreSQL may keep its values. */
export function measureBefore(computed: ComputedBytes): string {
  return `${counted(computed, '-')} IS NOT NULL`;
}

function counted({ columns }: ComputedBytes, operator: '+' | '-'): string {
  const sizes = columns.map(
    (name) => `coalesce(pg_catalog.pg_column_size(t.${quoteIdentifier(name)}), 0)::pg_catalog.int8`,
  );
  const sum = [`pg_catalog.currval('${counter}')`, ...sizes].join(` OPERATOR(pg_catalog.${operator}) `);
  return `pg_catalog.setval('${counter}', ${sum})`;
}

/** A regular expression of PostgreSQL over the SQLSTATE, a space and the message of this refusal, which is not about a single row. */
export const measuredPattern = patternOf(reason);

/** Returns whether the error comes from `measureRow`. */
export function isMeasured(error: unknown): boolean {
  return wasRefused(error, reason);
}

/** Returns `limit-exceeded` in place of the error of `measureRow`, and other errors as they are. */
export function asTooMuch(error: unknown, computed: ComputedBytes | undefined): unknown {
  return computed !== undefined && isMeasured(error) ? tooManyAdded(computed.limit) : error;
}

/**
 * Refuses a new table whose indexes are too long for its rows. They exist already while its rows are moved if an expression of an index fails for some
 * of them, and could not be measured before.
 *
 * @param relation quoted
 * @throws AppError `limit-exceeded`
 */
export async function refuseLongIndexes(client: ClientBase, relation: string, limit: number): Promise<void> {
  const { rows } = await client.query<{ bytes: number }>('SELECT pg_indexes_size($1)::float8 AS bytes', [
    relation,
  ]);
  if (rows[0]!.bytes > limit) throw tooManyAdded(limit);
}
