/** Lists the warnings of a load that has succeeded. */
import type { Warning } from '../../core/errors.ts';
import { problemColumn } from '../../core/identifiers.ts';
import type { ColumnMatcher } from '../../encoding/columns/column-matching.ts';
import { headerOfValues } from '../../encoding/infer/header-of-values.ts';
import type { TypeInference } from '../../encoding/infer/infer-types.ts';
import { mixedColumns, naturalColumns, otherReadings } from '../../encoding/infer/inferred-columns.ts';
import type { LoadInput } from './inputs/load-input.ts';
import { type LoadedRows, receivedRows } from './loaded-rows.ts';
import type { LoadRequest, WidenedColumn } from './request/load-request.ts';
import { addedColumn } from './target/existing-table.ts';
import { columnsMade } from './target/infer-definition.ts';
import type { LoadTarget } from './target/load-target.ts';

/** What the warnings are about. */
export interface EndedUpload {
  request: LoadRequest;
  input: LoadInput;
  inferred: TypeInference | undefined;
  target: LoadTarget;
  matcher: ColumnMatcher;
  loaded: LoadedRows;
  widened: WidenedColumn[];
  /** The warnings about the name of a new table. */
  ofName: Warning[];
  /** The warnings about the end of the load. */
  ofEnd: Warning[];
}

export function loadWarnings(upload: EndedUpload): Warning[] {
  const { input, inferred, target, matcher, loaded } = upload;
  return [
    ...input.warnings,
    ...upload.ofName,
    ...target.warnings,
    ...(receivedRows(loaded) === 0 ? noRows(input) : []),
    ...ignoredColumns(matcher),
    ...upload.widened.map(widenedColumn),
    ...inferredColumns(inferred, input, target),
    ...suppressedRows(loaded.suppressed),
    ...rowsLeftOut(loaded.leftOut ?? 0),
    ...ownNumbers(target, matcher),
    ...loaded.warnings,
    ...upload.ofEnd,
  ];
}

/** Warns that there were no rows. For a workbook the source itself gives a more exact warning. */
function noRows(input: LoadInput): Warning[] {
  if (input.warnings.some(({ code }) => code === 'no-rows')) return [];
  return [{ code: 'no-rows', detail: 'The upload has no rows.' }];
}

function ignoredColumns(matcher: ColumnMatcher): Warning[] {
  return matcher.ignored.map(({ name, isComputed }) => ({
    code: 'ignored-column',
    column: name,
    detail:
      name === problemColumn
        ? `The column "${name}" has the reasons of faulty rows; its values were left out. They are loaded if the table has this column.`
        : `${isComputed ? 'PostgreSQL computes the' : 'The table has no'} column "${name}"; its values were left out.`,
  }));
}

/** Returns the warnings about inferred columns: those that an existing table or the definition lacks, or all of them. */
function inferredColumns(
  inferred: TypeInference | undefined,
  input: LoadInput,
  target: LoadTarget,
): Warning[] {
  if (inferred === undefined) return [];
  const made = columnsMade(inferred, input, target);
  const isAdded = !target.isNew;
  const isAllInferred = !isAdded && input.definition === undefined;
  const headerRow = isAllInferred ? input.reading?.headerRow : undefined;
  return [
    ...(isAdded ? made.map(addedColumn) : []),
    ...headerOfValues(made, headerRow, input.headerTexts),
    ...mixedColumns(made, input.locate),
    ...otherReadings(made, input.locate),
    // If only some columns are inferred, the input itself warns of all columns that it reads naturally.
    ...(isAllInferred ? naturalColumns(made, input.locate) : []),
  ];
}

function widenedColumn({ column, from, to }: WidenedColumn): Warning {
  const detail = `Values did not fit the column "${column}" of type ${from}; its type is now ${to}.`;
  return { code: 'widened-column', column, detail };
}

/**
 * Warns of rows that set their own ids. The service does not advance the sequence of an existing table, because that could set it back
 * for a concurrent transaction.
 */
function ownNumbers(target: LoadTarget, matcher: ColumnMatcher): Warning[] {
  if (target.isNew) return [];
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
function rowsLeftOut(count: number): Warning[] {
  if (count === 0) return [];
  const detail =
    count === 1
      ? 'One row has a problem and was left out (faulty_rows=leave_out); left_out names it.'
      : `${count} rows have problems and were left out (faulty_rows=leave_out); left_out names the first problems.`;
  return [{ code: 'rows-left-out', detail }];
}

function suppressedRows(count: number): Warning[] {
  if (count === 0) return [];
  const rows = count === 1 ? 'one row' : `${count} rows`;
  return [{ code: 'suppressed-rows', detail: `A trigger or a rule of the table left out ${rows}.` }];
}
