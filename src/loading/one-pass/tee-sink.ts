/** Passes each cell to the inference of types and, as long as both have the same types, to the encoder. */
import type { CellSink } from '../../sources/cell-sink.ts';
import type { TypeInference } from '../infer-types.ts';

/**
 * Passes the rows to the inference and to the encoder. If the inference finds other types than the encoder has, or if the
 * encoder throws, the encoder gets nothing more. Its error is not reported, because the rows are then loaded again: if they are
 * the cause of the error, it occurs again.
 */
export class TeeSink implements CellSink {
  readonly #inference: TypeInference;
  readonly #headRows: number;
  readonly #headTypes: string;
  #encoder: CellSink | undefined;
  /** `TypeInference.changes` when its types were last compared; -1: never. */
  #comparedAt = -1;

  /** @param head the inference of the first rows, whose types the encoder has */
  constructor(inference: TypeInference, encoder: CellSink, head: TypeInference) {
    this.#inference = inference;
    this.#encoder = encoder;
    this.#headRows = head.rowCount;
    this.#headTypes = typesOf(head);
  }

  /** Returns whether the encoder took all rows, and has the types that all rows have. */
  hasAgreed(): boolean {
    this.#compare();
    return this.#encoder !== undefined;
  }

  column(column: number, name: string, place?: number): void {
    this.#inference.column(column, name, place);
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.column(column, name, place);
    } catch {
      this.#encoder = undefined;
    }
  }

  beginRow(row: number): void {
    this.#inference.beginRow(row);
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.beginRow(row);
    } catch {
      this.#encoder = undefined;
    }
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#inference.cell(column, kind, bytes, start, end);
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.cell(column, kind, bytes, start, end);
    } catch {
      this.#encoder = undefined;
    }
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    this.#inference.moment(column, kind, days, microseconds);
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.moment(column, kind, days, microseconds);
    } catch {
      this.#encoder = undefined;
    }
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    this.#inference.fault(column, fault, bytes, start, end);
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.fault(column, fault, bytes, start, end);
    } catch {
      this.#encoder = undefined;
    }
  }

  endRow(): void {
    if (this.#encoder === undefined) return;
    try {
      this.#encoder.endRow();
    } catch {
      this.#encoder = undefined;
    }
  }

  drain(): Promise<void> | undefined {
    // Before the end of the head the inference has fewer types than the encoder, which proves nothing.
    if (this.#inference.rowCount > this.#headRows) this.#compare();
    if (this.#encoder === undefined) return undefined;
    try {
      return this.#encoder.drain()?.catch(() => {
        this.#encoder = undefined;
      });
    } catch {
      this.#encoder = undefined;
      return undefined;
    }
  }

  #compare(): void {
    const { changes } = this.#inference;
    if (changes === this.#comparedAt) return;
    this.#comparedAt = changes;
    if (typesOf(this.#inference) !== this.#headTypes) this.#encoder = undefined;
  }
}

function typesOf(inference: TypeInference): string {
  return JSON.stringify(inference.columns().map(({ name, type }) => [name, type]));
}
