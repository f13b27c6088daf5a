/**
 * Encoded rows → COPY into one relation: one COPY after the other, each for one list of columns.
 *
 * The session remembers PostgreSQL's first refusal of a row and sends nothing more. It still takes the rows that follow, so
 * that the problems of their cells are found, too.
 */
import type { ClientBase, DatabaseError } from 'pg';
import { type CopyWriter, copyFrom } from '../postgres/copy.ts';
import { inCallersPath, queryInCallersPath } from '../postgres/search-path.ts';
import { quoteIdentifier } from '../postgres/sql.ts';
import { isFailureOfExpression } from '../postgres/sqlstate.ts';
import type { RowOutput } from './encoding-sink.ts';

/** PostgreSQL's binary COPY format: signature, flags, length of the header's extension (documentation of COPY). */
const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const trailer = Buffer.from([0xff, 0xff]);

export class CopySession implements RowOutput {
  /** PostgreSQL's refusal of a row, or the error of a default; the transaction is failed then. */
  refusal: DatabaseError | undefined;
  /** How many rows were sent in the COPYs before the one refused: its "line 1" is the row of this ordinal. */
  rowsBefore = 0;
  /** How many rows PostgreSQL took: fewer than were sent where a trigger leaves rows out. */
  rowsTaken = 0;
  /** Rows came with different lists of columns, also those that were not sent: they need several COPYs. */
  hasSeveralLists = false;

  readonly #client: ClientBase;
  readonly #relation: string;
  readonly #columnNames: string[];
  readonly #leadingColumns: readonly string[];
  #writer: CopyWriter | undefined;
  #columns: readonly number[] = [];
  #firstList: readonly number[] | undefined;
  #rowsOfWriter = 0;

  /**
   * @param relation quoted
   * @param leadingColumns the columns of the fields that each row begins with
   */
  constructor(
    client: ClientBase,
    relation: string,
    columnNames: string[],
    leadingColumns: readonly string[] = [],
  ) {
    this.#client = client;
    this.#relation = relation;
    this.#columnNames = columnNames;
    this.#leadingColumns = leadingColumns;
  }

  /** The columns that the refused COPY names, as indexes. */
  get refusedColumns(): readonly number[] {
    return this.#columns;
  }

  /** @throws the connection's error, or PostgreSQL's where it is not about the rows */
  async write(columns: readonly number[], rows: Buffer, rowCount: number): Promise<void> {
    this.#firstList ??= columns;
    if (columns !== this.#firstList) this.hasSeveralLists = true;
    if (this.refusal) return;
    try {
      if (columns.length === 0 && this.#leadingColumns.length === 0)
        return await this.#insertDefaults(columns, rowCount);
      if (!this.#writer || columns !== this.#columns) await this.#begin(columns);
      this.#rowsOfWriter += rowCount;
      await this.#writer!.write(rows);
    } catch (error) {
      await this.#refuse(error);
    }
  }

  async finish(): Promise<void> {
    if (this.refusal) return;
    try {
      await this.#end();
    } catch (error) {
      await this.#refuse(error);
    }
  }

  /** Ends the COPY under way, so that the connection can be used again. */
  async abort(cause: Error): Promise<void> {
    const writer = this.#writer;
    this.#writer = undefined;
    await writer?.abort(cause);
  }

  async #begin(columns: readonly number[]): Promise<void> {
    await this.#end();
    this.#columns = columns;
    const names = [...this.#leadingColumns, ...columns.map((column) => this.#columnNames[column]!)];
    this.#writer = copyFrom(
      this.#client,
      inCallersPath(
        `COPY ${this.#relation} (${names.map(quoteIdentifier).join(', ')}) FROM STDIN (FORMAT binary)`,
      ),
    );
    await this.#writer.write(header);
  }

  /** COPY knows no rows without columns. */
  async #insertDefaults(columns: readonly number[], rowCount: number): Promise<void> {
    await this.#end();
    this.#columns = columns;
    const { rowCount: taken } = await queryInCallersPath(
      this.#client,
      `INSERT INTO ${this.#relation} SELECT FROM pg_catalog.generate_series(1, ${rowCount})`,
    );
    this.rowsTaken += taken ?? 0;
    this.rowsBefore += rowCount;
  }

  async #end(): Promise<void> {
    const writer = this.#writer;
    if (!writer) return;
    await writer.write(trailer);
    this.rowsTaken += await writer.end();
    this.#writer = undefined;
    this.rowsBefore += this.#rowsOfWriter;
    this.#rowsOfWriter = 0;
  }

  async #refuse(error: unknown): Promise<void> {
    const writer = this.#writer;
    this.#writer = undefined;
    if (!isFailureOfExpression(error)) {
      await writer?.abort(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
    this.refusal = error;
  }
}
