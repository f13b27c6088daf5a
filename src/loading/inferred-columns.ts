/**
 * What a person should know of columns whose types were inferred: names that no table can have, and the value that made
 * text of a column.
 */
import type { Problem } from '../errors.ts';
import type { LocateCell } from '../sources/cell-sink.ts';
import type { SourceWarning } from '../sources/row-source.ts';
import { identifierFault, isSystemColumn } from '../tables/identifiers.ts';
import type { InferredColumn, TypeInference } from './infer-types.ts';
import { shortenValue } from './problems.ts';

/** What names a column of the data is not always a name for one of a table. */
export function unfitNames(inference: TypeInference, locate: LocateCell): Problem[] {
  return inference.columns().flatMap(({ name, column }): Problem[] => {
    const fault = isSystemColumn(name) ? 'is taken by a system column of every table' : identifierFault(name);
    if (fault === undefined) return [];
    const row = inference.firstRow(column);
    return [
      {
        ...locate(row, column, name),
        ...(row > 0 && { row }),
        column: shortenValue(name),
        code: 'invalid-name',
        detail: `cannot name a column of a table: it ${fault}`,
      },
    ];
  });
}

/** One for each column that is text because of a value in the midst of others. */
export function mixedColumns(columns: InferredColumn[], locate: LocateCell): SourceWarning[] {
  return columns.flatMap(({ name, column, misfit }): SourceWarning[] => {
    if (misfit === undefined) return [];
    const { row, value, before } = misfit;
    const place = locate(row, column, name).cell ?? `row ${row}`;
    return [
      {
        code: 'mixed-column',
        column: name,
        detail: `The column "${shortenValue(name)}" is text because of ${JSON.stringify(value)} in ${place}; what stands before it is ${before}.`,
      },
    ];
  });
}
