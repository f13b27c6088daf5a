/** Finds the column of the table for each column of the data. */

import { trimText } from '../../core/bytes/white-space.ts';
import { AppError, type Problem } from '../../core/errors.ts';
import { didYouMean, problemColumn } from '../../core/identifiers.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import { shortenValue } from '../problems/problems.ts';
import type { LoadColumn } from './load-column.ts';

/** What to do with columns of the data that the table lacks. */
export type ExtraColumns = 'fail' | 'ignore' | 'add';

/** Stands for a column that PostgreSQL computes (generated). A value for it is a problem of its row. NULL and missing values are not problems. */
export const COMPUTED = -2;

/** A column of the data that was left out, for the warnings. `isComputed`: the table has the column, but PostgreSQL computes it. */
export interface IgnoredColumn {
  name: string;
  isComputed: boolean;
}

export interface ColumnMatch {
  /** The index of the table's column, or `COMPUTED`; -1: the cells of this column are left out. */
  target: number;
  problem?: Pick<Problem, 'code' | 'detail'>;
}

export class ColumnMatcher {
  readonly ignored: IgnoredColumn[] = [];
  #columns: LoadColumn[] = [];
  readonly #byName = new Map<string, number>();
  readonly #byLooseName = new Map<string, number>();
  readonly #isLoose: boolean;
  readonly extraColumns: ExtraColumns;
  /** The columns of the table that the service itself fills (`provenance`). The data must not have them. */
  readonly filled: readonly string[];
  #shownColumns: string | undefined;
  /** The number of unknown columns so far. Only the first ones get a search for a similar name, because there may be thousands. */
  #refused = 0;
  readonly #taken = new Map<number, string>();

  /**
   * @param matching `exact`: names are used exactly as written. `loose`: if no name is exactly the same, case and outer space are
   *   ignored, if exactly one column then matches
   */
  constructor(
    columns: LoadColumn[],
    matching: 'exact' | 'loose',
    extraColumns: ExtraColumns,
    filled: readonly string[] = [],
  ) {
    this.#isLoose = matching === 'loose';
    this.extraColumns = extraColumns;
    this.filled = filled;
    this.restart(columns);
  }

  /** Starts again for the columns that the table has now. */
  restart(columns: LoadColumn[]): void {
    this.#columns = columns;
    this.ignored.length = 0;
    this.#byName.clear();
    this.#byLooseName.clear();
    this.#taken.clear();
    this.#shownColumns = undefined;
    this.#refused = 0;
    columns.forEach((column, index) => {
      this.#byName.set(column.name, index);
      if (!this.#isLoose) return;
      const loose = looseName(column.name);
      this.#byLooseName.set(loose, this.#byLooseName.has(loose) ? -1 : index);
    });
  }

  match(name: string): ColumnMatch {
    const target = this.#byName.get(name) ?? this.#byLooseName.get(looseName(name)) ?? -1;
    if (target < 0) return name === problemColumn ? this.#ignore(name, false) : this.#extra(name);
    const column = this.#columns[target]!;
    if (this.filled.includes(column.name)) {
      const detail = `goes into the column "${column.name}", which \`provenance\` fills. Leave it out, rename it with \`rename\`, or name another column in \`provenance\``;
      return refuse('repeated-column', detail);
    }
    const takenBy = this.#taken.get(target);
    if (takenBy !== undefined) {
      return refuse(
        'repeated-column',
        `goes into the column "${column.name}", like "${takenBy}"; each column of the table can have only one column of the data`,
      );
    }
    if (column.isGenerated)
      return this.extraColumns === 'ignore' ? this.#ignore(name, true) : { target: COMPUTED };
    this.#taken.set(target, name);
    return { target };
  }

  /** Returns whether the rows get a value in the table's column `name`: from a column of the data, or from the service. */
  isTaken(name: string): boolean {
    return this.#taken.has(this.#byName.get(name) ?? -1) || this.filled.includes(name);
  }

  /**
   * Refuses the data if all of its columns were left out, because every row would then be empty. Call it after the last row.
   *
   * @throws AppError `invalid-data`
   */
  refuseExtraColumns(): void {
    if (this.#taken.size > 0 || this.ignored.length === 0) return;
    const names = this.ignored.map(({ name }) => name);
    const lack = this.ignored.some(({ isComputed }) => isComputed)
      ? 'No column of the data can be loaded, because the table lacks or PostgreSQL computes it'
      : 'The table has none of the columns of the data';
    const detail = `${lack} (${showNames(names)}); its columns are ${showNames(this.#byName.keys())}${
      this.#isLoose ? '; if the names are in another row, send `header_row`' : ''
    }.`;
    throw new AppError('invalid-data', detail, {
      errors: [{ column: shortenValue(names[0]!), code: 'no-column-in-common', detail }],
    });
  }

  #ignore(name: string, isComputed: boolean): ColumnMatch {
    this.ignored.push({ name, isComputed });
    return { target: -1 };
  }

  #extra(name: string): ColumnMatch {
    if (this.extraColumns === 'ignore') return this.#ignore(name, false);
    this.#shownColumns ??= showNames(this.#byName.keys());
    const hint = didYouMean(name, this.#byName.keys(), this.#refused++);
    return refuse(
      'unknown-column',
      `is not a column of the table.${hint} Rename it with \`rename\`, leave it out, or send extra_columns=ignore or extra_columns=add. The columns are ${this.#shownColumns}`,
    );
  }
}

/** Returns whether the table has a column with the name of the column with the reasons. */
export function ownsProblemColumn(columns: readonly LoadColumn[]): boolean {
  return columns.some(({ name }) => name === problemColumn);
}

/** The problem of a value in a `COMPUTED` column. */
export const computedColumn: Pick<Problem, 'code' | 'detail'> = {
  code: 'generated-column',
  detail:
    'is computed by PostgreSQL, so no value can be loaded into it. Leave the value or the column out, or send extra_columns=ignore',
};

/** Returns the name in lower case and without outer space, to compare it with others. */
export function looseName(name: string): string {
  return trimText(name).toLowerCase();
}

const maxShownNames = 20;

function showNames(names: Iterable<string>): string {
  const all = [...names];
  const shown = all.slice(0, maxShownNames).map((name) => `"${shortenValue(name)}"`);
  return all.length > maxShownNames ? `${shown.join(', ')}, …` : shown.join(', ');
}

function refuse(code: ProblemCode, detail: string): ColumnMatch {
  return { target: -1, problem: { code, detail } };
}
