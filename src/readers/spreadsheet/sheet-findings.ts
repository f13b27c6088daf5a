/** Counts what the warnings of a pass over a sheet are about, and writes these warnings. */

import type { Warning } from '../../core/errors.ts';
import { cellAddress } from './cell-address.ts';
import { quote } from './choose-sheet.ts';
import { CountedRows } from './left-out-parts.ts';
import type { MergedAreas } from './merged-areas.ts';
import type { SheetColumns } from './sheet-columns.ts';

/** What is known of the results of a column's formulas: all are 0, or one is not. */
const ALL_ZERO = 1;
const HAS_RESULT = 2;

export class SheetFindings {
  /** The rows with only white space. */
  readonly blankRows = new CountedRows();

  /** For each column of the sink: `ALL_ZERO`, `HAS_RESULT` or 0, which means no formula. */
  #formulas = new Uint8Array(64);
  /** For each column of the sink: the number of error cells that became NULL, and the first row of the sheet that had one. */
  readonly #nulls: (CountedRows | undefined)[] = [];
  /** The values that merged cells cover, and the column of the first one. */
  readonly #covered = new CountedRows();
  #firstCoveredColumn = 0;

  /** Counts an error cell that became NULL. */
  errorAsNull(sinkColumn: number, row: number): void {
    this.#nulls[sinkColumn] ??= new CountedRows();
    this.#nulls[sinkColumn].add(row);
  }

  /** Counts a value that merged cells cover, so that it is not read. @param column from 1 */
  coveredValue(row: number, column: number): void {
    if (this.#covered.count === 0) this.#firstCoveredColumn = column;
    this.#covered.add(row);
  }

  /** Records the result of a formula. If all results of a column are 0, the program that wrote the file probably did not compute them. */
  formula(sinkColumn: number, isZero: boolean): void {
    if (sinkColumn >= this.#formulas.length) {
      const larger = new Uint8Array(2 * sinkColumn);
      larger.set(this.#formulas);
      this.#formulas = larger;
    }
    this.#formulas[sinkColumn]! |= isZero ? ALL_ZERO : HAS_RESULT;
  }

  /** Returns the warning about rows with only white space. */
  blankRowWarnings(): Warning[] {
    const { count, first } = this.blankRows;
    if (count === 0) return [];
    const detail =
      count === 1
        ? `Row ${first} holds only white space and was left out.`
        : `${count} rows hold only white space and were left out. The first is row ${first}.`;
    return [{ code: 'blank-rows', detail }];
  }

  /** Returns the warnings about the values of cells. */
  cellWarnings(sheet: string, columns: SheetColumns, merged: MergedAreas | undefined): Warning[] {
    return [
      ...this.#uncalculatedFormulas(columns),
      ...this.#errorsAsNull(sheet, columns),
      ...this.#valuesBeneathMerged(sheet, merged),
    ];
  }

  /** Warns of columns whose formulas all have the result 0. Programs that do not calculate a workbook write this result. */
  #uncalculatedFormulas({ names }: SheetColumns): Warning[] {
    const columns = names.filter((_, column) => this.#formulas[column] === ALL_ZERO);
    if (columns.length === 0) return [];
    const listed = columns.slice(0, maxNamesListed).map(quote).join(', ');
    const more = columns.length > maxNamesListed ? ` and ${columns.length - maxNamesListed} more` : '';
    const subject =
      columns.length === 1
        ? `All formulas in the column ${listed} have`
        : `All formulas in the columns ${listed}${more} have`;
    const detail = `${subject} the result 0, and the workbook was probably never calculated. Open it in a spreadsheet program, save it and send it again.`;
    return [{ code: 'uncalculated-formulas', detail }];
  }

  /** Returns a warning for each column with error cells that became NULL. */
  #errorsAsNull(sheet: string, { names, sheetColumns }: SheetColumns): Warning[] {
    return [...this.#nulls.entries()].flatMap(([column, nulls]): Warning[] => {
      if (nulls === undefined) return [];
      const { count, first } = nulls;
      const name = names[column]!;
      const cell = cellAddress(sheet, first, sheetColumns[column]!);
      const detail =
        count === 1
          ? `The cell ${cell} of the column ${quote(name)} has no valid value and was read as NULL (cell_errors=null).`
          : `${count} cells of the column ${quote(name)} have no valid value and were read as NULL (cell_errors=null). The first is ${cell}.`;
      return [{ code: 'cell-errors-as-null', column: name, detail }];
    });
  }

  #valuesBeneathMerged(sheet: string, merged: MergedAreas | undefined): Warning[] {
    const { count, first: row } = this.#covered;
    if (count === 0) return [];
    const first = cellAddress(sheet, row, this.#firstCoveredColumn);
    const area = merged?.rangeAt(row, this.#firstCoveredColumn);
    const place = area === undefined ? first : `${first}, in the merged cells ${area}`;
    const values =
      count === 1
        ? `One value beneath merged cells was left out. It is in ${place}.`
        : `${count} values beneath merged cells were left out. The first is in ${place}.`;
    return [
      {
        code: 'merged-cells',
        detail: `${values} Only the top-left cell of merged cells has a value; to load the others, unmerge them.`,
      },
    ];
  }
}

const maxNamesListed = 20;
