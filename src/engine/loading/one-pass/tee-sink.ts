/** Passes each cell to the inference of types and, as long as both have the same types, to the encoder. */

import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { AppError } from '../../../core/errors.ts';
import type { TypeInference } from '../../../encoding/infer/infer-types.ts';

/**
 * Passes the rows to the inference and to the encoder. A cell that tells the inference nothing new goes to the encoder alone. If the
 * inference finds another type than the encoder has, or if the encoder throws, the encoder gets nothing more, and the inference continues.
 * The encoder never gets the cell that has the other type.
 */
export class TeeSink implements CellSink {
  readonly #inference: TypeInference;
  readonly #headRows: number;
  readonly #headTypes: string;
  /** undefined: the encoder gets nothing more. */
  #encoder: CellSink | undefined;
  /** The error of the encoder, if the encoder would throw it again in a second pass. */
  #error: AppError | undefined;
  /**
   * The value of `TypeInference.changes` at the end of the head, where both had the same types; -1: the inference has not had all rows of the head yet.
   */
  #changes = -1;
  #row = 0;
  #differingRow: number | undefined;

  /** @param head the inference of the first rows, whose types the encoder has */
  constructor(inference: TypeInference, encoder: CellSink, head: TypeInference) {
    this.#inference = inference;
    this.#encoder = encoder;
    this.#headRows = head.rowCount;
    this.#headTypes = typesOf(head);
  }

  /**
   * Returns whether the encoder took all rows, with the types that all rows have. Call it after the last row.
   *
   * @throws the AppError of the encoder, if it had these types
   */
  hasAgreed(): boolean {
    const isSame = typesOf(this.#inference) === this.#headTypes;
    if (isSame && this.#error !== undefined) throw this.#error;
    return isSame && this.#encoder !== undefined;
  }

  /**
   * The first data row that needs other types than the head, if the encoder has encoded all rows before it. The encoder may have received
   * a part of this row. undefined: there is no such row, or the encoder has not encoded the rows before it.
   */
  get differingRow(): number | undefined {
    return this.#differingRow;
  }

  column(column: number, name: string, place?: number, type?: string): void {
    this.#inference.column(column, name, place, type);
    if (this.#inference.changes !== this.#changes) this.#noteChange();
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.column(column, name, place, type);
    } catch (error) {
      this.#fail(error);
    }
  }

  beginRow(row: number): void {
    this.#inference.beginRow(row);
    this.#row = row;
    if (this.#changes < 0 && this.#inference.rowCount > this.#headRows) this.#compareWithHead();
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.beginRow(row);
    } catch (error) {
      this.#fail(error);
    }
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#takesPlain(column, kind, bytes, start, end)) return;
    this.#inference.cell(column, kind, bytes, start, end);
    if (this.#inference.changes !== this.#changes) this.#noteChange();
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.cell(column, kind, bytes, start, end);
    } catch (error) {
      this.#fail(error);
    }
  }

  async longCell(column: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
    await this.#inference.longCell(column, kind, bytes, start, end);
    if (this.#inference.changes !== this.#changes) this.#noteChange();
    const encoder = this.#encoder;
    if (encoder === undefined) return;
    try {
      if (encoder.longCell === undefined) encoder.cell(column, kind, bytes, start, end);
      else await encoder.longCell(column, kind, bytes, start, end);
    } catch (error) {
      this.#fail(error);
    }
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    if (!this.#inference.isMomentKnown(column, kind)) {
      this.#inference.moment(column, kind, days, microseconds);
      if (this.#inference.changes !== this.#changes) this.#noteChange();
    }
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.moment(column, kind, days, microseconds);
    } catch (error) {
      this.#fail(error);
    }
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    this.#inference.fault(column, fault, bytes, start, end);
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.fault(column, fault, bytes, start, end);
    } catch (error) {
      this.#fail(error);
    }
  }

  endRow(): void {
    // The row is complete for the encoder. A column that appears from here on belongs to the next row.
    this.#row++;
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.endRow();
    } catch (error) {
      this.#fail(error);
    }
  }

  drain(rowBytes?: number): Promise<void> | undefined {
    if (this.#encoder === undefined) return undefined;
    try {
      return this.#encoder.drain(rowBytes)?.catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** Returns whether the encoder has taken the cell and the inference need not see it, because the cell would not change a type. */
  #takesPlain(column: number, kind: number, bytes: Buffer, start: number, end: number): boolean {
    const classes = this.#inference.classesKnown(column, kind);
    if (classes === 0 || this.#encoder === undefined) return false;
    try {
      return this.#encoder.plainCell?.(column, kind, bytes, start, end, classes) === true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** Compares the types after the last row of the head. The head may lack cells of this row. */
  #compareWithHead(): void {
    this.#changes = this.#inference.changes;
    if (typesOf(this.#inference) !== this.#headTypes) this.#stop();
  }

  /**
   * Stops the encoder at the current row, which needs other types. Does nothing before the end of the head: the inference has then
   * seen fewer rows than the encoder's types come from, so a difference means nothing.
   */
  #noteChange(): void {
    if (this.#changes < 0 || this.#encoder === undefined) return;
    this.#differingRow = this.#row;
    this.#stop();
  }

  #fail(error: unknown): void {
    // Only an AppError is certain to occur again if the rows are loaded once more. Other errors, such as a lost connection, are not.
    if (error instanceof AppError) this.#error = error;
    this.#stop();
  }

  /** The pass may go on for long, so the encoder gives back what a long row has taken. */
  #stop(): void {
    this.#encoder?.stop?.();
    this.#encoder = undefined;
  }
}

function typesOf(inference: TypeInference): string {
  return JSON.stringify(
    inference.columns().map(({ name, type, reading }) => [name, type, reading?.notation]),
  );
}
