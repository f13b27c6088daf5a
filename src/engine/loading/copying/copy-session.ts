/**
 * Sends encoded rows into one relation by COPY. It runs one COPY after the other, each for one list of columns.
 *
 * After PostgreSQL has refused a row, the session keeps that error and sends nothing more. It still accepts the rows that follow,
 * so that the caller also finds the problems in their cells.
 */
import type { ClientBase, DatabaseError } from 'pg';
import type { RowOutput } from '../../../encoding/sink/encoding-sink.ts';
import { hideLocalShard, lacksSqlstate } from '../../../postgres/citus/worker-errors.ts';
import { type CopyWriter, copyFrom } from '../../../postgres/copy.ts';
import { inCallersPath, queryInCallersPath } from '../../../postgres/search-path.ts';
import { maxRowsStoredTogether } from '../../../postgres/server-internals.ts';
import { isFailureOfExpression } from '../../../postgres/sqlstate.ts';
import * as statements from '../../tables/loading/load-statements.ts';

/**
 * The header of PostgreSQL's binary COPY format: signature, flags, length of the header's extension (documentation of COPY).
 */
export const copyHeader = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
export const copyTrailer = Buffer.from([0xff, 0xff]);

/**
 * The maximum number of bytes of the rows that PostgreSQL collects before it stores them (`maxRowsStoredTogether`). PostgreSQL limits their bytes only
 * in the text format. So if rows are long, the COPY is ended before the rows fill PostgreSQL's memory, and another COPY is started.
 */
export const maxHeldBytes = 64 * 1024 * 1024;

export interface CopySessionOptions {
  /** The name of the table, quoted. */
  relation: string;
  columnNames: string[];
  /** The columns of the first fields of each row, which come before the columns of the data. */
  leadingColumns?: readonly string[] | undefined;
  /** The rows are copied frozen. This transaction must have created the table, and the table must be empty. */
  freezes: boolean;
  /** Citus stores the table at its workers. */
  isSharded: boolean;
  /** PostgreSQL must store each row before it reads the next one. Has no effect with `freezes`, and on tables of Citus, whose COPY takes no WHERE clause. */
  isRowByRow: boolean;
}

export class CopySession implements RowOutput {
  /** The error with which PostgreSQL refused a row, or with which the evaluation of a default failed. The transaction has failed then. */
  refusal: DatabaseError | undefined;
  /** The number of rows sent in the COPYs before the refused one. "line 1" of the refused COPY is the row with this ordinal. */
  rowsBefore = 0;
  /** The number of rows that PostgreSQL stored. It is lower than the number of rows sent if a trigger leaves rows out. */
  rowsTaken = 0;
  /** The rows need several COPYs, because they have different lists of columns or are very long. This is also set for rows that were not sent after a refusal. */
  hasSeveralLists = false;

  readonly #client: ClientBase;
  readonly #relation: string;
  readonly #columnNames: string[];
  readonly #leadingColumns: readonly string[];
  readonly #isSharded: boolean;
  readonly #isRowByRow: boolean;
  /** The rows of one call were too long together, so PostgreSQL stores each row before it reads the next one, even with FREEZE. */
  #areLong = false;
  #freezes: boolean;
  #writer: CopyWriter | undefined;
  #columns: readonly number[] = [];
  #firstList: readonly number[] | undefined;
  #rowsOfWriter = 0;
  /** The rows of the current COPY that PostgreSQL has probably not written yet, and their number of bytes. */
  #heldRows = 0;
  #heldBytes = 0;

  constructor(client: ClientBase, options: CopySessionOptions) {
    this.#client = client;
    this.#relation = options.relation;
    this.#columnNames = options.columnNames;
    this.#leadingColumns = options.leadingColumns ?? [];
    this.#freezes = options.freezes && !options.isSharded;
    this.#isSharded = options.isSharded;
    this.#isRowByRow = options.isRowByRow && !options.isSharded;
  }

  /** Returns the columns of the COPY that PostgreSQL refused, as indexes. */
  get refusedColumns(): readonly number[] {
    return this.#columns;
  }

  /**
   * Sends encoded rows.
   *
   * @throws the connection's error; PostgreSQL's error if it is not about the rows
   */
  async write(columns: readonly number[], rows: Buffer, rowCount: number, heldBytes: number): Promise<void> {
    const isFirst = this.#firstList === undefined;
    this.#firstList ??= columns;
    if (columns !== this.#firstList) this.hasSeveralLists = true;
    if (this.refusal) return;
    // COPY cannot send rows without columns, so they are inserted. If the first rows have no columns, FREEZE is not used, because
    // it needs a TRUNCATE, which would remove these rows.
    if (isFirst) this.#freezes &&= columns.length > 0;
    try {
      if (columns.length === 0 && this.#leadingColumns.length === 0)
        return await this.#insertDefaults(columns, rowCount);
      const areHeld = this.#freezes || !this.#isRowByRow;
      if (areHeld && this.#heldBytes + heldBytes > maxHeldBytes) await this.#limitHeld(rowCount, heldBytes);
      if (!this.#writer || columns !== this.#columns) await this.#begin(columns, isFirst);
      this.#noteHeld(rowCount, heldBytes);
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

  /** Ends the current COPY, so that the connection can be used again. */
  async abort(cause: Error): Promise<void> {
    const writer = this.#writer;
    this.#writer = undefined;
    await writer?.abort(cause);
  }

  #noteHeld(rowCount: number, heldBytes: number): void {
    this.#heldRows += rowCount;
    this.#heldBytes += heldBytes;
    if (this.#heldRows < maxRowsStoredTogether) return;
    this.#heldRows %= maxRowsStoredTogether;
    this.#heldBytes = this.#heldRows === 0 ? 0 : heldBytes;
  }

  /** Lets PostgreSQL store the rows that it has, and if even the next ones are too long together, store each of them at once. */
  async #limitHeld(rowCount: number, heldBytes: number): Promise<void> {
    const areLong = heldBytes > maxHeldBytes && rowCount > 1 && !this.#isSharded;
    if (this.#writer && !(areLong && this.#areLong)) {
      // This is set before the COPY ends, because its end may fail if a row refers to a row of a later COPY. The caller then knows the reason.
      this.hasSeveralLists = true;
      await this.#end();
    }
    this.#areLong = areLong;
  }

  async #begin(columns: readonly number[], isFirst: boolean): Promise<void> {
    await this.#end();
    this.#columns = columns;
    const names = [...this.#leadingColumns, ...columns.map((column) => this.#columnNames[column]!)];
    const copyOfAll = this.#freezes ? statements.copyFrozenInto : statements.copyInto;
    const isRowByRow = this.#areLong || (this.#isRowByRow && !this.#freezes);
    const copy = copyOfAll(this.#relation, names);
    const before = this.#freezes && isFirst ? [statements.truncate(this.#relation)] : [];
    this.#writer = copyFrom(
      this.#client,
      inCallersPath(...before, isRowByRow ? statements.copyRowByRow(copy) : copy),
    );
    await this.#writer.write(copyHeader);
  }

  /** Inserts rows without columns, which COPY cannot send. */
  async #insertDefaults(columns: readonly number[], rowCount: number): Promise<void> {
    await this.#end();
    this.#columns = columns;
    if (this.#isSharded) await this.#commitInTwoPhases();
    const statement = this.#isSharded
      ? statements.insertDefaultsIntoShards(this.#relation, this.#columnNames[0]!, rowCount)
      : statements.insertDefaults(this.#relation, rowCount);
    const { rowCount: taken } = await queryInCallersPath(this.#client, statement);
    this.rowsTaken += taken ?? 0;
    this.rowsBefore += rowCount;
  }

  /** Lets Citus commit the transaction in two phases (`commitInTwoPhases`), by a COPY without rows. */
  async #commitInTwoPhases(): Promise<void> {
    const writer = copyFrom(
      this.#client,
      inCallersPath(statements.copyInto(this.#relation, this.#columnNames.slice(0, 1))),
    );
    await writer.write(Buffer.concat([copyHeader, copyTrailer]));
    await writer.end();
  }

  async #end(): Promise<void> {
    const writer = this.#writer;
    if (!writer) return;
    await writer.write(copyTrailer);
    this.rowsTaken += await writer.end();
    this.#writer = undefined;
    this.rowsBefore += this.#rowsOfWriter;
    this.#rowsOfWriter = 0;
    this.#heldRows = 0;
    this.#heldBytes = 0;
  }

  async #refuse(error: unknown): Promise<void> {
    const writer = this.#writer;
    this.#writer = undefined;
    if (!isFailureOfExpression(error) && !lacksSqlstate(error)) {
      await writer?.abort(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
    if (this.#isSharded) hideLocalShard(error, this.#relation);
    this.refusal = error;
  }
}
