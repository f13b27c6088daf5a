/**
 * Writes all rows of an input as a text file, each cell as it was sent or corrected. The rows are read twice, because a file begins with the
 * names of all columns, and because an error of the rows must be known before the first byte. The client decides how long a row is in memory, so a long one
 * needs a place.
 */
import { isBlank } from '../../../core/bytes/white-space.ts';
import { NULL, STRING, TEXT } from '../../../core/cells/cell-kind.ts';
import { withSecondReading } from '../../../core/cells/row-source.ts';
import { AppError } from '../../../core/errors.ts';
import { type EnterLongRow, longRowBytes } from '../../../encoding/sink/encoding-sink.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import type { LoadContext } from '../request/load-request.ts';
import { FormatFit, type SentNotation } from './format-fit.ts';
import { textFile } from './rows-file.ts';
import { SentCellSink } from './sent-cell-sink.ts';
import { pieceBytes, SentRowWriter } from './sent-rows.ts';

/**
 * Returns the bytes of the file.
 *
 * @param notation how the request reads texts; undefined: the file is NDJSON
 * @param enterLongRow waits for a place for a long row, and returns a function that gives it back. If the file ends early, the caller gives it back
 * @throws AppError `invalid-data` if a row is no object; `invalid-parameter` if CSV cannot give back a value; what the input throws
 */
export async function allRows(
  input: LoadInput,
  notation: SentNotation | undefined,
  signal: AbortSignal,
  enterLongRow: NonNullable<LoadContext['enterLongRow']>,
): Promise<AsyncGenerator<Buffer>> {
  const found = await withSecondReading(async () => {
    const { format = 'json', delimiter } = input.reading ?? {};
    const fit = notation && new FormatFit(notation, format, delimiter !== undefined);
    const sink = new AllRowsSink(undefined, fit);
    await input.readAndKeep(sink, signal);
    return sink;
  });
  const { delimiter, quoted } = input.reading ?? {};
  const areBlanksKept = delimiter === undefined || quoted === 'exact';
  const lost = notation && found.firstLost(areBlanksKept);
  const misfit = found.misfits.csv ?? lost;
  if (misfit !== undefined)
    throw new AppError(
      'invalid-parameter',
      `${misfit} Send the file with its corrections (patch) to the upload instead.`,
    );
  const columns = found.columnsInOrder();
  const names = columns.map((column) => found.names[column]!);
  const table = { names, columns, delimiter, quoted, notation, hasReasons: false };
  return textFile(
    table,
    piecesOf(input, signal, () => enterLongRow(signal)),
    notation ? 'csv' : 'ndjson',
  );
}

async function* piecesOf(
  input: LoadInput,
  signal: AbortSignal,
  enterLongRow: EnterLongRow,
): AsyncGenerator<Buffer> {
  const { readable, writable } = new TransformStream<Buffer, Buffer>();
  const writer = writable.getWriter();
  const stop = () => writer.abort(signal.reason).catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  const write = async (): Promise<void> => {
    const sink = new AllRowsSink((piece) => writer.write(piece), undefined, enterLongRow);
    await input.read(sink, signal);
    await sink.finish();
    await writer.close();
  };
  write().catch((error) => writer.abort(error).catch(() => {}));
  yield* readable;
}

const unknownColumn = () => undefined;

class AllRowsSink extends SentCellSink {
  readonly #write: ((piece: Buffer) => Promise<void>) | undefined;
  readonly #enterLongRow: EnterLongRow | undefined;
  readonly #rows = new SentRowWriter();
  #row = 0;
  /** Gives the place of a long row back. */
  #leave: (() => void) | undefined;
  /** The most that a cell of the current row has. */
  #content = EMPTY;
  /** For each content, the first row that has no more. */
  readonly #firstRows = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];

  /** @param write undefined: only the names of the columns and what `fit` finds are wanted */
  constructor(
    write: ((piece: Buffer) => Promise<void>) | undefined,
    fit?: FormatFit,
    enterLongRow?: EnterLongRow,
  ) {
    super(fit, unknownColumn);
    this.#write = write;
    this.#enterLongRow = enterLongRow;
    this.isTaken = write !== undefined || fit !== undefined;
  }

  beginRow(row: number): void {
    this.#row = row;
    this.#content = EMPTY;
    if (this.fit) this.fit.row = row;
    if (this.#write) this.#rows.beginRow(row, noReason);
  }

  protected override add(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#write) this.#rows.cell(column, kind, bytes, start, end);
    else if (kind === NULL && !this.fit!.writesNull) return;
    else if ((kind !== TEXT && kind !== STRING) || !isBlank(bytes, start, end)) this.#content = VALUE;
    else if (this.#content === EMPTY) this.#content = BLANK;
  }

  override fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    if (column < 0) throw new AppError('invalid-data', `Row ${this.#row} is no object, so it has no cells.`);
    super.fault(column, fault, bytes, start, end);
  }

  endRow(): void {
    if (this.#write) this.#rows.endRow([]);
    else if (this.#content !== VALUE)
      this.#firstRows[this.#content] = Math.min(this.#firstRows[this.#content]!, this.#row);
  }

  /** Returns the error of the first row that would be no row in CSV. @param areBlanksKept blank texts make a row */
  firstLost(areBlanksKept: boolean): string | undefined {
    const row = Math.min(
      this.#firstRows[EMPTY]!,
      areBlanksKept ? Number.POSITIVE_INFINITY : this.#firstRows[BLANK]!,
    );
    if (row === Number.POSITIVE_INFINITY) return undefined;
    return `CSV cannot give back row ${row}: all of its cells are empty, and uploads leave out such a row.`;
  }

  drain(): Promise<void> | undefined {
    if (this.#rows.complete >= pieceBytes) return this.#send();
    const isLong = this.#rows.rowBytes > longRowBytes && this.#leave === undefined;
    return isLong ? this.#beginLongRow() : undefined;
  }

  async finish(): Promise<void> {
    if (this.#rows.complete > 0) await this.#send();
  }

  async #beginLongRow(): Promise<void> {
    this.#leave = await this.#enterLongRow!();
  }

  async #send(): Promise<void> {
    await this.#write!(this.#rows.take());
    if (this.#leave === undefined) return;
    // The next piece is taken when the client has the rows of this one.
    await this.#write!(noRows);
    this.#leave();
    this.#leave = undefined;
  }
}

const noReason = Buffer.alloc(0);
const noRows = Buffer.alloc(0);

/** What a cell has for a reader of CSV: nothing, only white space, or a value. */
const EMPTY = 0;
const BLANK = 1;
const VALUE = 2;
