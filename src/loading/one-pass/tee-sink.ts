/** Passes each cell to the inference of types and, as long as both have the same types, to the encoder. */
import { AppError } from '../../errors.ts';
import type { CellSink } from '../../sources/cell-sink.ts';
import type { TypeInference } from '../infer-types.ts';

/**
 * Passes the rows to the inference and to the encoder. If the inference finds other types than the encoder has, or if the encoder throws,
 * the encoder gets nothing more, and the inference continues.
 */
export class TeeSink implements CellSink {
  readonly #inference: TypeInference;
  readonly #headRows: number;
  readonly #headTypes: string;
  /** undefined: it gets nothing more. */
  #encoder: CellSink | undefined;
  #hasOtherTypes = false;
  /** The error of the encoder that it would throw again. */
  #error: AppError | undefined;
  /** `TypeInference.changes` when its types were last compared; -1: never. */
  #comparedAt = -1;

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
    this.#compare();
    if (!this.#hasOtherTypes && this.#error !== undefined) throw this.#error;
    return this.#encoder !== undefined;
  }

  column(column: number, name: string, place?: number): void {
    this.#inference.column(column, name, place);
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.column(column, name, place);
    } catch (error) {
      this.#fail(error);
    }
  }

  beginRow(row: number): void {
    this.#inference.beginRow(row);
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.beginRow(row);
    } catch (error) {
      this.#fail(error);
    }
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#inference.cell(column, kind, bytes, start, end);
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.cell(column, kind, bytes, start, end);
    } catch (error) {
      this.#fail(error);
    }
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    this.#inference.moment(column, kind, days, microseconds);
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
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.endRow();
    } catch (error) {
      this.#fail(error);
    }
  }

  drain(): Promise<void> | undefined {
    // Before the end of the head the inference has fewer types than the encoder, which proves nothing.
    if (this.#inference.rowCount > this.#headRows) this.#compare();
    if (this.#encoder === undefined) return undefined;
    try {
      return this.#encoder.drain()?.catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  #compare(): void {
    const { changes } = this.#inference;
    if (changes === this.#comparedAt) return;
    this.#comparedAt = changes;
    this.#hasOtherTypes = typesOf(this.#inference) !== this.#headTypes;
    if (this.#hasOtherTypes) this.#encoder = undefined;
  }

  #fail(error: unknown): void {
    // Other errors, such as a lost connection, need not occur again when the rows are loaded once more.
    if (error instanceof AppError) this.#error = error;
    this.#encoder = undefined;
  }
}

function typesOf(inference: TypeInference): string {
  return JSON.stringify(inference.columns().map(({ name, type }) => [name, type]));
}
