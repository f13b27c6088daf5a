/** Collects the cells of the rows with problems while the rows are read once more. */
import { promisify } from 'node:util';
import { constants, deflateRaw } from 'node:zlib';
import type { LocateCell } from '../../../core/cells/cell-sink.ts';
import { partsOfAddress } from '../../../core/cells/parts-of-address.ts';
import { problemColumn } from '../../../core/identifiers.ts';
import type { FormatFit } from './format-fit.ts';
import { SentCellSink } from './sent-cell-sink.ts';
import type { SentColumn } from './sent-column.ts';
import { pieceBytes, SentRowWriter } from './sent-rows.ts';
import { keptRowLimits, type WantedRow } from './wanted-rows.ts';

/** The characters that a cell of a workbook can hold. A value of at most so many bytes fits, so its characters are not counted. */
const measuredBytes = 32_767;

/** Thrown after the last row that is wanted, so that the rows after it are not read. */
export class EndOfFaultyRows extends Error {
  override name = 'EndOfFaultyRows';
}

const deflate = promisify(deflateRaw);

export class FaultyRowSink extends SentCellSink {
  readonly pieces: Buffer[] = [];
  count = 0;
  /** true: a row with a problem was left out. */
  isIncomplete = false;
  longestValue = 0;
  readonly #wanted: readonly WantedRow[];
  readonly #locate: LocateCell;
  readonly #ownsProblemColumn: boolean;
  readonly #rows = new SentRowWriter();
  readonly #byName = new Map<string, number>();
  /** The letters of the columns of a sheet. */
  readonly #byLetters = new Map<string, number>();
  /** The place of the next row in `#wanted`. */
  #next = 0;
  #isTooLong = false;
  #bytes = 0;
  /** The column with the reasons, which the service added to an earlier file of faulty rows; -1: none. */
  #ignored = -1;

  /**
   * @param wanted in ascending order
   * @param ownsProblemColumn the table has a column with the name of the column with the reasons
   */
  constructor(
    wanted: readonly WantedRow[],
    locate: LocateCell,
    ownsProblemColumn: boolean,
    fit: FormatFit,
    columnOf: (name: string) => SentColumn,
  ) {
    super(fit, columnOf);
    this.#wanted = wanted;
    this.#locate = locate;
    this.#ownsProblemColumn = ownsProblemColumn;
  }

  /** Returns whether the file has the column. */
  isShown(column: number): boolean {
    return column !== this.#ignored;
  }

  override column(column: number, name: string, place?: number): void {
    super.column(column, name, place);
    this.#byName.set(name, column);
    if (name === problemColumn && !this.#ownsProblemColumn) this.#ignored = column;
  }

  beginRow(row: number): void {
    const wanted = this.#wanted[this.#next];
    if (wanted === undefined) throw new EndOfFaultyRows();
    this.isTaken = wanted.row === row;
    if (!this.isTaken) return;
    if (this.#bytes >= keptRowLimits.bytes) throw new EndOfFaultyRows();
    this.#next++;
    if (this.fit) this.fit.row = row;
    this.#isTooLong = false;
    this.#rows.beginRow(row, wanted.reason);
  }

  endRow(): void {
    if (!this.isTaken) return;
    this.isTaken = false;
    const wouldExceed = this.#bytes + this.#rows.rowBytes > keptRowLimits.bytes;
    if (this.#isTooLong || wouldExceed) {
      this.isIncomplete = true;
      this.#rows.dropRow();
      return;
    }
    this.#bytes += this.#rows.rowBytes;
    this.#rows.endRow(this.#markedColumns());
    this.count++;
  }

  drain(): Promise<void> | undefined {
    return this.#rows.complete < pieceBytes ? undefined : this.#pack();
  }

  /** Call this after the last row. */
  async finish(): Promise<void> {
    if (this.#next < this.#wanted.length) this.isIncomplete = true;
    if (this.#rows.complete > 0) await this.#pack();
  }

  async #pack(): Promise<void> {
    this.pieces.push(await deflate(this.#rows.take(), { level: constants.Z_BEST_SPEED }));
  }

  protected override add(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (column === this.#ignored || this.#isTooLong) return;
    this.#isTooLong = this.#rows.rowBytes + end - start > keptRowLimits.bytes;
    if (this.#isTooLong) return;
    if (end - start > measuredBytes)
      this.longestValue = Math.max(this.longestValue, bytes.toString('utf8', start, end).length);
    this.#rows.cell(column, kind, bytes, start, end);
  }

  /** Returns the columns that the problems of the row name, by their places or by their names. */
  #markedColumns(): Set<number> {
    const marked = new Set<number>();
    const { row, places } = this.#wanted[this.#next - 1]!;
    const rowPointer = this.#locate(row, -1, '').pointer;
    for (const { cell, pointer, column = '' } of places) {
      const letters = partsOfAddress(cell)?.letters;
      const found =
        letters !== undefined
          ? this.#columnOfLetters(letters)
          : rowPointer !== undefined && pointer?.startsWith(`${rowPointer}/`)
            ? this.#byName.get(keyOf(pointer.slice(rowPointer.length + 1)))
            : undefined;
      for (const one of [found, this.#byName.get(column)]) if (one !== undefined) marked.add(one);
    }
    return marked;
  }

  #columnOfLetters(letters: string): number | undefined {
    // All columns of a sheet are known before its rows, except for columns without a name.
    if (this.#byLetters.size < this.names.length) {
      for (const [column, name] of this.names.entries()) {
        const found = partsOfAddress(this.#locate(1, column, name).cell)?.letters;
        this.#byLetters.set(found ?? String(column), column);
      }
    }
    return this.#byLetters.get(letters);
  }
}

/** Returns the first key of a JSON Pointer without its first slash (RFC 6901 section 4). */
function keyOf(pointer: string): string {
  return pointer.split('/', 1)[0]!.replaceAll('~1', '/').replaceAll('~0', '~');
}
