/**
 * Makes the problem of a row that PostgreSQL refuses. All such problems are made here, whether the row was copied into the table or
 * staged first. The row violates a rule, or PostgreSQL filled in a bad value, or only PostgreSQL's error describes the cause.
 */
import type { DatabaseError } from 'pg';
import type { Problem } from '../../../core/errors.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { CellPlaces } from '../../../encoding/problems/cell-places.ts';
import { describeCellProblem, NOT_NULL } from '../../../encoding/problems/cell-problems.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import {
  isOfFunction,
  isSecondUpdate,
  partitionKeyOf,
  rowSizes,
} from '../../../postgres/server-internals.ts';
import { conditionOf } from '../../../postgres/sqlstate.ts';
import type { RowRule, UniqueRule } from '../../tables/rules/row-rules.ts';
import { ruleProblem } from '../../tables/rules/rule-problem.ts';
import type { Refusal } from '../copying/refusal.ts';
import type { ConflictOption } from '../staged/conflict-rule.ts';

/** A row that violates a rule of the table. */
export interface Violation {
  rule: RowRule;
  /** The data row. */
  row: number;
  /** The data row with the same key; null: a row that was in the table before, or the rule is not a key. */
  otherRow: number | null;
  /** It is not known which row has the same key: an earlier row of the upload, or a row that was in the table before. */
  mayBeEarlier?: boolean;
  /** The value that violates the rule, shortened. */
  value: string | null;
  /** Rows with other problems were not searched, so the row may refer to one of them. */
  areRowsMissing: boolean;
}

/** A row that has the same key as another row because PostgreSQL filled in or computed columns of the key. */
export interface GeneratedKey {
  rule: UniqueRule;
  row: number | undefined;
  value: string | null;
  /** The columns of the key that the row did not send. Empty: it sent all, and PostgreSQL generated the same key for another row of the upload. */
  lacking: string[];
  /** The first column that PostgreSQL filled in and that has its own sequence: one of `lacking`, or of the whole key if that is empty. */
  numbered: string | undefined;
  /** The sequence is that of a new table. */
  isOfNewTable: boolean;
  /** The first column of the key that PostgreSQL computes from others. */
  computed: string | undefined;
  /** The value of `on_conflict`, if it compares rows by this key. */
  conflictAction: ConflictOption['action'] | undefined;
}

/** A default that cannot be evaluated. */
export interface FailingDefault {
  defaultOf: LoadColumn;
  error: Error;
  /** The data row that needed the default. */
  row: number | undefined;
}

/** A key that is too long for an index. */
export interface LongKey {
  error: Error;
  /** The largest key of the row. */
  largest: Pick<Violation, 'rule' | 'row' | 'value'>;
}

export type Cause = Violation | Refusal | GeneratedKey | FailingDefault | LongKey;

export function rowProblem(cause: Cause, places: CellPlaces): Problem {
  if ('lacking' in cause) return { ...violationPlace(cause, places), ...reasonOfGenerated(cause) };
  if ('rule' in cause)
    return {
      ...violationPlace(cause, places),
      ...ruleProblem(cause.rule, otherWithKey(cause, places), cause.areRowsMissing),
    };
  if ('defaultOf' in cause) return failingDefault(cause, places);
  if ('largest' in cause) {
    const { largest, error } = cause;
    return { ...violationPlace(largest, places), ...refusalProblem({ error }, places) };
  }
  return refusalProblem(cause, places);
}

function violationPlace(
  { rule, row, value }: Pick<Violation | GeneratedKey, 'rule' | 'row' | 'value'>,
  { locate, sourceColumn }: CellPlaces,
): Omit<Problem, 'code' | 'detail'> {
  const [column] = rule.columns;
  return {
    ...(row !== undefined && column !== undefined && locate(row, sourceColumn(column), column)),
    ...(row !== undefined && { row }),
    ...(rule.columns.length > 0 && { column: rule.columns.join(', ') }),
    ...(value !== null && { value: shortenValue(value) }),
  };
}

function otherWithKey({ rule, otherRow, mayBeEarlier }: Violation, places: CellPlaces): string {
  if (mayBeEarlier) return 'the table or an earlier row of the upload already has it';
  if (otherRow === null) return 'the table already has it';
  return `also in ${nameOfRow(otherRow, rule.columns[0], places)}`;
}

/** Returns a row in the caller's own terms: the cell of a spreadsheet, or otherwise the number of the data row. */
function nameOfRow(row: number, column: string | undefined, { locate, sourceColumn }: CellPlaces): string {
  const source = column === undefined ? -1 : sourceColumn(column);
  return locate(row, source, column ?? '').cell ?? `row ${row}`;
}

function reasonOfGenerated(key: GeneratedKey): Pick<Problem, 'code' | 'detail'> {
  const { lacking, conflictAction } = key;
  const reason = lacking.length > 0 ? reasonOfLacking(key) : reasonOfOther(key);
  const ofConflict =
    lacking.length > 0 && conflictAction
      ? `. on_conflict=${conflictAction} applies only to rows that have every column of the key`
      : '';
  return { code: 'not-unique', detail: `must be unique: ${reason}${ofConflict}` };
}

function reasonOfLacking({ lacking, numbered, isOfNewTable }: GeneratedKey): string {
  if (numbered !== undefined && isOfNewTable)
    return `PostgreSQL generated a value for "${numbered}" that another row already has. Send "${numbered}" in every row or in none`;
  if (numbered !== undefined) {
    return `PostgreSQL generated a value for "${numbered}" that another row already has. The sequence of "${numbered}" gives values that exist already: advance it with setval(), or send "${numbered}"`;
  }
  const names = lacking.map((name) => `"${name}"`).join(', ');
  return `the row has no value for ${names}, and the value that PostgreSQL fills in gives a key that another row already has. Send ${names}`;
}

function reasonOfOther({ computed, numbered }: GeneratedKey): string {
  if (computed !== undefined)
    return `PostgreSQL computes a value of "${computed}" that another row already has`;
  if (numbered === undefined) return 'PostgreSQL filled in the same key for another row of the upload';
  return `PostgreSQL generated the same value of "${numbered}" for another row of the upload. The sequence of "${numbered}" gives values that exist already: advance it with setval(), or send "${numbered}" in every row`;
}

function failingDefault({ defaultOf: { name }, error, row }: FailingDefault, places: CellPlaces): Problem {
  const { locate, sourceColumn } = places;
  const place = row === undefined ? {} : { ...locate(row, sourceColumn(name), name), row };
  const detail = `the column's default cannot be evaluated: ${error.message}; send a value`;
  return { ...place, column: name, code: 'failing-default', detail };
}

/** Replaces PostgreSQL's message for a statement that would change a row twice, although the sent keys were different. */
const sameInTheTable =
  'two rows get the same key in the table: PostgreSQL computes or fills in a column of the key, or a trigger changes it; send each key once, with the values that the table stores';

/** Makes a problem with PostgreSQL's own message, if no query can check the rule (triggers, exclusion constraints, partitions, sizes). */
function refusalProblem({ error, column: copyColumn, row, amongRows }: Refusal, places: CellPlaces): Problem {
  const { column = copyColumn, constraint } = error as { column?: string; constraint?: string };
  const key = partitionKeyOf(error);
  const name = key ? key.columns : column;
  const isNamed = constraint === undefined || error.message.includes(`"${constraint}"`);
  const message = messageOf(error);
  if (conditionOf(error) === 'not_null_violation' && name !== undefined)
    return missingValue(name, row, places);
  const among = row === undefined && amongRows ? `: ${oneOfRows(amongRows, places)}` : '';
  return {
    ...(row !== undefined && { ...places.locate(row, -1, ''), row }),
    ...(name !== undefined && { column: name }),
    ...(key && { value: shortenValue(key.values) }),
    code: 'refused-by-postgresql',
    detail: `${isNamed ? message : `${message} (constraint "${constraint}")`}${among}`,
  };
}

/** Returns PostgreSQL's message, or a message of the service if PostgreSQL's does not say what to do. */
function messageOf(error: Error): string {
  if (isSecondUpdate(error)) return sameInTheTable;
  // The INSERT may set the column (OVERRIDING SYSTEM VALUE), and ON CONFLICT may not. PostgreSQL's own error has a detail, and that of a trigger usually has none.
  const { detail } = error as Partial<DatabaseError>;
  if (conditionOf(error) === 'generated_always' && detail && !isOfFunction(error))
    return `on_conflict=update cannot set a column that is GENERATED ALWAYS AS IDENTITY (${error.message}): leave the column out, or send it as the conflict_key`;
  const sizes = rowSizes(error);
  // An index of a table that is replaced has another name until the end of the load.
  if (sizes === undefined) return error.message.replace(/ for index "tablewright table [^"]*"/, '');
  return `the row has too many values: they take ${sizes.size} bytes, and PostgreSQL stores at most ${sizes.max} bytes in a row (long texts are stored separately); load fewer columns, or split them over several tables`;
}

function oneOfRows([first, last]: [number, number], { locate }: CellPlaces): string {
  const nameOf = (row: number) => locate(row, -1, '').cell ?? row;
  return `one of the rows ${nameOf(first)} to ${nameOf(last)}`;
}

/** Returns the problem of a NULL that PostgreSQL refused after triggers and defaults could have set a value. */
function missingValue(column: string, row: number | undefined, places: CellPlaces): Problem {
  return {
    ...(row !== undefined && { ...places.locate(row, places.sourceColumn(column), column), row }),
    column,
    ...describeCellProblem(NOT_NULL),
  };
}
