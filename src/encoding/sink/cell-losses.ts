/**
 * Counts, for each column, the values that were rounded or lost a part, and makes one warning for each kind of loss.
 */

import type { LocateCell } from '../../core/cells/cell-sink.ts';
import type { Warning } from '../../core/errors.ts';
import type { WarningCode } from '../../core/warning-codes.ts';
import type { LoadColumn } from '../columns/load-column.ts';
import * as losses from '../encoders/losses.ts';
import { shortenValue } from '../problems/problems.ts';
import { asDoubles, describeRounded } from '../problems/rounded-digits.ts';

export class CellLosses {
  /** The counts, by column and kind of loss. */
  readonly #counts: Float64Array;
  readonly #firstRows: Int32Array;

  constructor(columnCount: number) {
    this.#counts = new Float64Array(columnCount * losses.lossKinds);
    this.#firstRows = new Int32Array(columnCount * losses.lossKinds);
  }

  /** Counts the losses of one value. @param bits bits of losses.ts */
  note(column: number, row: number, bits: number): void {
    for (let kind = 0; kind < losses.lossKinds; kind++) {
      if ((bits & (1 << kind)) === 0) continue;
      const at = column * losses.lossKinds + kind;
      if (this.#counts[at] === 0) this.#firstRows[at] = row;
      this.#counts[at]!++;
    }
  }

  /**
   * Returns the warnings about all losses.
   *
   * @param sourceColumn returns the column of the data that goes into a column of the table
   * @param areInferred the types of the columns were inferred, so a definition can name others
   */
  warnings(
    columns: LoadColumn[],
    locate: LocateCell,
    sourceColumn: (column: number) => number,
    areInferred: boolean,
  ): Warning[] {
    return columns.flatMap((column, index) =>
      descriptions.flatMap(({ bit, code, describe }): Warning[] => {
        const at = index * losses.lossKinds + Math.log2(bit);
        const count = this.#counts[at]!;
        if (count === 0) return [];
        const row = this.#firstRows[at]!;
        const place = locate(row, sourceColumn(index), column.name).cell ?? `row ${row}`;
        const values = count === 1 ? 'one value' : `${count} values`;
        const of = `${values} of "${shortenValue(column.name)}"`;
        const isOfDoubles = bit === losses.DIGITS_ROUNDED || bit === losses.SIGN_LEFT_OUT;
        const choices = isOfDoubles && areInferred ? { choices: [asDoubles] } : {};
        return [{ code, column: column.name, detail: describe(of, place, column.type.name), ...choices }];
      }),
    );
  }
}

interface LossDescription {
  bit: number;
  code: WarningCode;
  /**
   * Returns the text of the warning.
   *
   * @param of the number of values and their column, for example `3 values of "day"`
   */
  describe: (of: string, place: string, type: string) => string;
}

const descriptions: LossDescription[] = [
  {
    bit: losses.DIGITS_ROUNDED,
    code: 'digits-rounded',
    describe: (of, place) => describeRounded(of, place, 'were'),
  },
  {
    bit: losses.SIGN_LEFT_OUT,
    code: 'sign-left-out',
    describe: (of, place, type) =>
      `The minus sign before zero of ${of} was left out (first in ${place}), because the type ${type} has no -0. A column of the type double precision keeps it.`,
  },
  {
    bit: losses.ZEROS_LEFT_OUT,
    code: 'zeros-left-out',
    describe: (of, place, type) =>
      `The leading zeros of ${of} were left out (first in ${place}), because the type ${type} does not keep them. A column of the type text does.`,
  },
  {
    bit: losses.TIME_LEFT_OUT,
    code: 'time-left-out',
    describe: (of, place, type) =>
      `The time of day of ${of} was left out (first in ${place}), because the type ${type} does not hold it. A column of the type timestamp keeps it.`,
  },
  {
    bit: losses.DATE_LEFT_OUT,
    code: 'date-left-out',
    describe: (of, place, type) =>
      `The date of ${of} was left out (first in ${place}), because the type ${type} does not hold it. A column of the type timestamp keeps it.`,
  },
  {
    bit: losses.OFFSET_LEFT_OUT,
    code: 'offset-left-out',
    describe: (of, place, type) =>
      `The offset from UTC of ${of} was left out (first in ${place}), because the type ${type} does not hold it; the date and time were not converted. A column of the type timestamptz keeps the instant.`,
  },
  {
    bit: losses.FRACTION_ROUNDED,
    code: 'fraction-rounded',
    describe: (of, place) =>
      `The seconds of ${of} were rounded to microseconds (first in ${place}), the finest unit of PostgreSQL. A column of the type text keeps every digit.`,
  },
  {
    bit: losses.KEYS_REPEATED,
    code: 'repeated-keys',
    describe: (of, place) =>
      `In ${of} an object names a key twice (first in ${place}); jsonb kept only the last value of the key. A column of the type json keeps both.`,
  },
];
