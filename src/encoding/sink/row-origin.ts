/** The fields that say where a row came from (`provenance`). They are the same in each row except for its number, so a row needs only one copy of them. */
import type { CopyBuffer } from '../encoders/copy-buffer.ts';

export interface OriginField {
  /** The index of the column among the targets. */
  target: number;
  /** The value as PostgreSQL receives it; null: NULL. The last four bytes of the number of the row are those of an integer. */
  value: Buffer | null;
  isRowNumber: boolean;
}

export class RowOrigin {
  /** The columns, in the order of their fields. */
  readonly targets: readonly number[];
  readonly #fields: Buffer;
  readonly #lengths: readonly number[];
  /** The position of the row's number in `#fields`; -1: no column has it. */
  #numberAt = -1;
  readonly #rowsBefore: () => number;

  /** @param rowsBefore returns what to add to the number of a data row. It is called while a row is pushed. */
  constructor(fields: readonly OriginField[], rowsBefore: () => number) {
    const encoded = fields.map(({ value }) => fieldOf(value));
    this.targets = fields.map(({ target }) => target);
    this.#fields = Buffer.concat(encoded);
    this.#lengths = encoded.map(({ length }) => length);
    let end = 0;
    for (const [index, { isRowNumber }] of fields.entries()) {
      end += this.#lengths[index]!;
      if (isRowNumber) this.#numberAt = end - 4;
    }
    this.#rowsBefore = rowsBefore;
  }

  /** The number of bytes of all fields. */
  get length(): number {
    return this.#fields.length;
  }

  /** Appends the fields of a row, and notes for each column where its field starts and ends. */
  append(out: CopyBuffer, row: number, starts: Int32Array, ends: Int32Array): void {
    const fields = this.#fields;
    if (this.#numberAt >= 0) fields.writeInt32BE(row + this.#rowsBefore(), this.#numberAt);
    out.ensure(fields.length);
    let at = out.position;
    out.appendRange(fields, 0, fields.length);
    for (let index = 0; index < this.targets.length; index++) {
      const target = this.targets[index]!;
      starts[target] = at;
      at += this.#lengths[index]!;
      ends[target] = at;
    }
  }
}

function fieldOf(value: Buffer | null): Buffer {
  const field = Buffer.alloc(4 + (value?.length ?? 0));
  field.writeInt32BE(value?.length ?? -1);
  value?.copy(field, 4);
  return field;
}
