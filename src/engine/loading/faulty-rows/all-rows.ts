/**
 * Writes all rows of an input as a text file, each cell as it was sent or corrected. The rows are read twice, because a file begins with the
 * names of all columns, and because an error of the rows must be known before the first byte.
 */
import { withSecondReading } from '../../../core/cells/row-source.ts';
import { AppError } from '../../../core/errors.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import { textFile } from './rows-file.ts';
import { SentCellSink } from './sent-cell-sink.ts';
import { pieceBytes, SentRowWriter } from './sent-rows.ts';

/**
 * Returns the bytes of the file.
 *
 * @throws AppError `invalid-data` if a row is no object; what the input throws
 */
export async function allRows(
  input: LoadInput,
  format: 'csv' | 'ndjson',
  signal: AbortSignal,
): Promise<AsyncGenerator<Buffer>> {
  const found = await withSecondReading(async () => {
    const sink = new AllRowsSink(undefined);
    await input.readAndKeep(sink, signal);
    return sink;
  });
  const columns = found.columnsInOrder();
  const names = columns.map((column) => found.names[column]!);
  const { delimiter, quoted } = input.reading ?? {};
  const table = { names, columns, delimiter, quoted, hasReasons: false };
  return textFile(table, piecesOf(input, signal), format);
}

async function* piecesOf(input: LoadInput, signal: AbortSignal): AsyncGenerator<Buffer> {
  const { readable, writable } = new TransformStream<Buffer, Buffer>();
  const writer = writable.getWriter();
  const stop = () => writer.abort(signal.reason).catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  const write = async (): Promise<void> => {
    const sink = new AllRowsSink((piece) => writer.write(piece));
    await input.read(sink, signal);
    await sink.finish();
    await writer.close();
  };
  write().catch((error) => writer.abort(error).catch(() => {}));
  yield* readable;
}

class AllRowsSink extends SentCellSink {
  readonly #write: ((piece: Buffer) => Promise<void>) | undefined;
  readonly #rows = new SentRowWriter();
  #row = 0;

  /** @param write undefined: only the names of the columns are wanted */
  constructor(write: ((piece: Buffer) => Promise<void>) | undefined) {
    super();
    this.#write = write;
    this.isTaken = write !== undefined;
  }

  beginRow(row: number): void {
    this.#row = row;
    if (this.isTaken) this.#rows.beginRow(row, noReason);
  }

  protected override add(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#rows.cell(column, kind, bytes, start, end);
  }

  override fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    if (column < 0) throw new AppError('invalid-data', `Row ${this.#row} is no object, so it has no cells.`);
    super.fault(column, fault, bytes, start, end);
  }

  endRow(): void {
    if (this.isTaken) this.#rows.endRow([]);
  }

  drain(): Promise<void> | undefined {
    return this.#rows.complete < pieceBytes ? undefined : this.#write!(this.#rows.take());
  }

  async finish(): Promise<void> {
    if (this.#rows.complete > 0) await this.#write!(this.#rows.take());
  }
}

const noReason = Buffer.alloc(0);
