/** The warnings of a load that has succeeded. */
import type { Warning } from '../errors.ts';
import type { ColumnMatcher } from './column-matching.ts';
import type { InferredColumn } from './infer-types.ts';
import type { LoadInput } from './load-input.ts';
import type { LoadTarget } from './load-target.ts';

/** Warns that a table was created, because the name of an existing table may have been misspelled. */
export function createdTable(schema: string, name: string): Warning {
  const detail = `There was no table "${name}" in the schema "${schema}"; it was created.`;
  return { code: 'table-created', detail };
}

/** Warns that there were no rows. For a workbook the source itself gives a more exact warning. */
export function noRows(input: LoadInput): Warning[] {
  if (input.warnings.some(({ code }) => code === 'no-rows')) return [];
  return [{ code: 'no-rows', detail: 'The upload has no rows.' }];
}

export function ignoredColumns(matcher: ColumnMatcher): Warning[] {
  return matcher.ignored.map((column) => ({
    code: 'ignored-column',
    column,
    detail: `The table has no column "${column}"; its values were left out.`,
  }));
}

export function addedColumn({ name, type }: InferredColumn): Warning {
  const detail = `The table had no column "${name}"; it was added, of type ${type}.`;
  return { code: 'added-column', column: name, detail };
}

/** Warns of rows that set their own ids. The sequence is not advanced here, because that could set it back for a concurrent transaction. */
export function ownNumbers(target: LoadTarget, matcher: ColumnMatcher): Warning[] {
  if (target.isBare) return [];
  const numbered = target.columns.filter(
    ({ name, identity }) => identity !== 'none' && matcher.isTaken(name),
  );
  return numbered.map(({ name }) => ({
    code: 'own-numbers',
    column: name,
    detail: `The rows set "${name}" themselves and its sequence was not advanced, so generated values may collide later. Advance it with setval().`,
  }));
}

/** Warns of rows that were left out because they have problems. */
export function rowsLeftOut(count: number): Warning[] {
  if (count === 0) return [];
  const detail =
    count === 1
      ? 'One row has a problem and was left out (faulty_rows=leave_out); left_out names it.'
      : `${count} rows have problems and were left out (faulty_rows=leave_out); left_out names the first problems.`;
  return [{ code: 'rows-left-out', detail }];
}

export function suppressedRows(count: number): Warning[] {
  if (count === 0) return [];
  const rows = count === 1 ? 'one row' : `${count} rows`;
  return [{ code: 'suppressed-rows', detail: `A trigger or a rule of the table left out ${rows}.` }];
}
