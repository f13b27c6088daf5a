/**
 * Numbers the different sets of columns that are sent for the rows of an upload. Such a set is a *shape*. Each COPY sends rows of one
 * shape, and one statement moves all rows of a shape.
 */
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';

/**
 * The maximum number of shapes in a load that is staged from the start or may leave rows out, and of refused rows that are moved to find their
 * problems. There is a limit because each shape is moved by its own statement. Rows that are copied straight into the table have no such limit.
 */
export const maxMovedShapes = 200;

/**
 * The maximum number of shapes times the columns of the table, if PostgreSQL keeps the plans of the statements of all shapes at the same time. The plans take
 * about 5 KB for each, so 400 MB.
 */
const maxPlannedColumns = 80_000;

const remedy = 'Give every row the same keys, with null for missing values.';

export class Shapes {
  /** The columns of each shape, as indexes. */
  readonly all: (readonly number[])[] = [];
  /** The same columns as bits. Rules ask for each shape, and there may be as many shapes as rows, each with many columns. */
  readonly #bits: Uint8Array[] = [];
  /** For each column: the number of shapes that have it. */
  readonly #counts: number[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Returns the number of a shape.
   *
   * @throws AppError `limit-exceeded`
   */
  numberOf(columns: readonly number[]): number {
    const key = columns.toSorted((a, b) => a - b).join();
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.all.length === this.#max) {
      throw limitExceeded('The rows have too many different sets of keys', this.#max, 'sets', remedy);
    }
    this.#numbers.set(key, this.all.length);
    this.all.push(columns);
    const bits = new Uint8Array(Math.floor(Math.max(0, ...columns) / 8) + 1);
    for (const column of new Set(columns)) {
      bits[column >> 3]! |= 1 << (column & 7);
      this.#counts[column] = (this.#counts[column] ?? 0) + 1;
    }
    this.#bits.push(bits);
    return this.all.length - 1;
  }

  /**
   * Checks whether PostgreSQL may plan the statements of all shapes at the same time.
   *
   * @param columns the number of columns of the table
   * @throws AppError `limit-exceeded`
   */
  refuseToPlan(columns: number): void {
    if (this.all.length * columns <= maxPlannedColumns) return;
    const what =
      'The rows refer to each other or must be tried one by one, and have too many different sets of keys for so wide a table';
    throw limitExceeded(what, Math.max(1, Math.floor(maxPlannedColumns / columns)), 'sets', remedy);
  }

  has(shape: number, column: number): boolean {
    return (this.#bits[shape]![column >> 3]! & (1 << (column & 7))) !== 0;
  }

  /** Returns whether every row has the column. */
  isCommon(column: number): boolean {
    return (this.#counts[column] ?? 0) === this.all.length;
  }

  /** Returns the columns that every row has. */
  common(): number[] {
    return (this.all[0] ?? []).filter((column) => this.isCommon(column));
  }

  /** Returns the numbers of the shapes that do not have the column. */
  without(column: number): number[] {
    return [...this.all.keys()].filter((shape) => !this.has(shape, column));
  }
}

/**
 * Returns the columns that decide the value of a column: the column itself, or the columns from which PostgreSQL computes it.
 */
export function sourcesOf(name: string, columns: LoadColumn[]): string[] {
  return columns.find((column) => column.name === name)?.generatedFrom ?? [name];
}
