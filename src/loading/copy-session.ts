/**
 * Encoded rows → COPY into one relation: a COPY per list of columns, one at a time.
 *
 * PostgreSQL's first refusal of a row is remembered and nothing more is sent; the rows that follow are taken all the same,
 * for the problems that their cells have. With a `tee` every row is also kept, so that those refused can be sent again to
 * where each fault can be looked for.
 */
import type { ClientBase, DatabaseError } from 'pg';
import { type CopyWriter, copyFrom } from '../postgres/copy.ts';
import { inCallersPath, queryInCallersPath } from '../postgres/search-path.ts';
import { quoteIdentifier } from '../postgres/sql.ts';
import { isFailureOfExpression } from '../postgres/sqlstate.ts';
import type { Spool } from '../sources/spool.ts';
import type { RowOutput } from './encoding-sink.ts';

/** PostgreSQL's binary COPY format: signature, flags, length of the header's extension (documentation of COPY). */
const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
/** A row without columns: the count of them. */
const emptyRowBytes = 2;
const trailer = Buffer.from([0xff, 0xff]);

/** Where in the kept bytes the rows of one COPY lie. */
interface KeptRows {
  columns: readonly number[];
  start: number;
  end: number;
}

export interface CopySessionOptions {
  /** Keeps every row. */
  tee?: Spool | undefined;
  /** Rows begin with a field for this column. */
  leadingColumn?: string;
  /** Runs before each COPY. */
  beforeCopy?: (columns: readonly number[]) => Promise<void>;
}

export class CopySession implements RowOutput {
  /** PostgreSQL's refusal of a row, or the error of a default; the transaction is failed then. */
  refusal: DatabaseError | undefined;
  /** How many rows were sent in the COPYs before the one refused: its "line 1" is the row of this ordinal. */
  rowsBefore = 0;
  /** How many rows PostgreSQL took: fewer than were sent where a trigger leaves rows out. */
  rowsTaken = 0;

  readonly #client: ClientBase;
  readonly #relation: string;
  readonly #columnNames: string[];
  readonly #tee: Spool | undefined;
  readonly #leadingColumn: string | undefined;
  readonly #beforeCopy: ((columns: readonly number[]) => Promise<void>) | undefined;
  readonly #kept: KeptRows[] = [];
  #writer: CopyWriter | undefined;
  #columns: readonly number[] = [];
  #rowsOfWriter = 0;

  /** @param relation quoted */
  constructor(client: ClientBase, relation: string, columnNames: string[], options: CopySessionOptions = {}) {
    this.#client = client;
    this.#relation = relation;
    this.#columnNames = columnNames;
    this.#tee = options.tee;
    this.#leadingColumn = options.leadingColumn;
    this.#beforeCopy = options.beforeCopy;
  }

  /** Of the rows that were kept some name other columns than others. */
  get hasShapes(): boolean {
    return new Set(this.#kept.map(({ columns }) => columns)).size > 1;
  }

  /** The columns that the refused COPY names, as indexes. */
  get refusedColumns(): readonly number[] {
    return this.#columns;
  }

  /** @throws the connection's error, or PostgreSQL's where it is not about the rows */
  async write(columns: readonly number[], rows: Buffer, rowCount: number): Promise<void> {
    await this.#keep(columns, rows);
    if (this.refusal) return;
    try {
      const isEmpty = columns.length === 0 && this.#leadingColumn === undefined;
      if (isEmpty) return await this.#insertDefaults(columns, rowCount);
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

  /**
   * Sends all kept rows again, into another relation with the same columns.
   *
   * @param beforeCopy see the option
   * @returns PostgreSQL's refusal of a row there, too; the transaction is failed then
   */
  async replay(
    relation: string,
    beforeCopy: (columns: readonly number[]) => Promise<void>,
  ): Promise<DatabaseError | undefined> {
    const session = new CopySession(this.#client, relation, this.#columnNames, { beforeCopy });
    for (const { columns, start, end } of this.#kept) {
      for await (const chunk of this.#tee!.chunks(start, end)) {
        const rowCount = columns.length === 0 ? chunk.length / emptyRowBytes : 0;
        await session.write(columns, Buffer.from(chunk), rowCount);
      }
    }
    await session.finish();
    return session.refusal;
  }

  async #begin(columns: readonly number[]): Promise<void> {
    await this.#end();
    await this.#beforeCopy?.(columns);
    this.#columns = columns;
    const names = columns.map((column) => quoteIdentifier(this.#columnNames[column]!));
    if (this.#leadingColumn !== undefined) names.unshift(quoteIdentifier(this.#leadingColumn));
    this.#writer = copyFrom(
      this.#client,
      inCallersPath(`COPY ${this.#relation} (${names.join(', ')}) FROM STDIN (FORMAT binary)`),
    );
    await this.#writer.write(header);
  }

  /** COPY knows no rows without columns. */
  async #insertDefaults(columns: readonly number[], rowCount: number): Promise<void> {
    await this.#end();
    await this.#beforeCopy?.(columns);
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

  async #keep(columns: readonly number[], rows: Buffer): Promise<void> {
    if (!this.#tee) return;
    const start = this.#tee.size;
    await this.#tee.write(rows);
    const last = this.#kept.at(-1);
    if (last?.columns === columns) last.end = this.#tee.size;
    else this.#kept.push({ columns, start, end: this.#tee.size });
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
