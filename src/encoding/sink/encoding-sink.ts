/**
 * Encodes cells as rows of PostgreSQL's binary COPY format, for the columns of one table.
 *
 * A *shape* is the list of columns that rows are sent with, in their order. While cells arrive in the order of the current shape, each cell is
 * encoded directly in its place. A row in another order is put together from its encoded cells at its end. A row with a problem is
 * removed from the output, and the scan continues.
 *
 * A missing cell gets the fill of its column: NULL, or the default if it is a constant. PostgreSQL evaluates every other default (a
 * sequence, `now()`). Such a column has no fill, and a row without it goes into another shape that leaves the column out. Each shape
 * has its own buffer, and one COPY after the other sends them.
 */

import { ARRAY, NULL, NUMBER, SERIAL_OUT_OF_RANGE, STRING, TEXT } from '../../core/cells/cell-kind.ts';
import { type CellSink, type LocateCell, NUMBER_VALUE, TEXT_VALUE } from '../../core/cells/cell-sink.ts';
import { formatMoment, momentText } from '../../core/cells/moment-text.ts';
import { rowTooLong } from '../../core/cells/row-limit.ts';
import type { Warning } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { COMPUTED, type ColumnMatcher, computedColumn } from '../columns/column-matching.ts';
import { countCostInTurns, MOST_COPIED_DIGITS, MOST_MADE_DIGITS } from '../columns/reading-cost.ts';
import { faultyElement, faultyElementPath } from '../encoders/array-shape.ts';
import { type ColumnEncoder, isArrayEncoder } from '../encoders/column-encoder.ts';
import { CopyBuffer } from '../encoders/copy-buffer.ts';
import { encodeCell, encodeMoment } from '../encoders/encode-cell.ts';
import { checkJsonb } from '../encoders/json.ts';
import { takeKnown } from '../encoders/long-json.ts';
import { losses } from '../encoders/losses.ts';
import { encodePlain } from '../encoders/plain-values.ts';
import { LONG_VALUE_BYTES, ownUnitsOf, RowCost } from '../encoders/row-cost.ts';
import * as codes from '../encoders/type-codes.ts';
import { WrittenBytes, type WrittenLimits } from '../encoders/written-bytes.ts';
import { groupedByPoint } from '../infer/inferred-columns.ts';
import { cellProblemCode, describeCellProblem, NOT_NULL, TOO_COSTLY } from '../problems/cell-problems.ts';
import { addRowFault, type Problems, shortenBytes } from '../problems/problems.ts';
import type { Misfits } from '../widening/misfits.ts';
import { hintAtWidening } from '../widening/suggest-type.ts';
import { hintFor, notationHint, shortenElement } from './cell-hints.ts';
import { CellLosses } from './cell-losses.ts';
import { CopyShape, unnumbered } from './copy-shape.ts';
import { GroupedPoints, NO_POINTS } from './grouped-points.ts';
import { Padding } from './padding.ts';
import { RowNumbers } from './row-numbers.ts';
import type { RowOrigin } from './row-origin.ts';
import { type TargetColumn, valueFor } from './target-column.ts';

/** Takes encoded rows. `columns` are indexes into the target columns. The buffer is reused after the call. */
export interface RowOutput {
  /** @param heldBytes the bytes of the rows in PostgreSQL, which adds defaults and pads values */
  write(columns: readonly number[], rows: Buffer, rowCount: number, heldBytes: number): Promise<void>;
  /** If this is set, the rows of an earlier call may still be on their way to PostgreSQL, although it has refused them. */
  readonly refusal?: unknown;
}

export interface EncodingOptions {
  targets: TargetColumn[];
  matcher: ColumnMatcher;
  locate: LocateCell;
  problems: Problems;
  output: RowOutput;
  /** If this is set, every row begins with two `integer` fields: its data row number, and the number of its shape, which this function returns. */
  numberOfSet?: ((columns: readonly number[]) => number) | undefined;
  /** The columns that say where each row came from; undefined: none. */
  origin?: RowOrigin | undefined;
  maxRows: number;
  /** After this many refused rows the sink stops loading rows, because the upload is refused in any case. It only collects problems. */
  maxRefusedRows?: number;
  /** The limit on a row as PostgreSQL receives it. */
  maxRowBytes: number;
  writtenLimits: WrittenLimits;
  /** The count of the written bytes, if it already includes other rows of the upload. */
  written?: WrittenBytes | undefined;
  /** The types of the columns were inferred. So a text column is not a decision of the caller. */
  typesAreInferred?: boolean;
  /** A row may update an existing row (`on_conflict=update`). */
  mayUpdate?: boolean;
  /** Notes values that do not fit the types of the columns; undefined: they are only problems. */
  misfits?: Misfits | undefined;
  /** The upload could widen the columns (`misfits=widen`), so problems may say this. */
  mayWiden?: boolean;
  onTooManyRows: () => never;
  /** Waits for a place for a row that takes much memory. The result gives the place back. undefined: no row needs a place. */
  enterLongRow?: EnterLongRow | undefined;
}

/** @throws the error of a wait that was too long or was cancelled */
export type EnterLongRow = () => Promise<() => void>;

/**
 * The size of a buffer at which its rows are sent. With several shapes the size is larger, so that COPYs take turns less often.
 */
const flushBytes = 64 * 1024;
const flushBytesOfManyShapes = 2 * 1024 * 1024;
const maxShapes = 256;
/** A longer row needs a place (`enterLongRow`). */
export const longRowBytes = 8 * 1024 * 1024;
/** How much larger than a value its buffer may become, because some encoders reserve more bytes than they need. */
const reservedBytes = 32 * 1024 * 1024;

/** The initial size of the buffer for one row. It is small because most uploads need little of it, and many large buffers would keep the garbage collector busy. */
const initialScratchBytes = 1024;

const noBytes = Buffer.alloc(0);

/**
 * The default of `maxRefusedRows`. After this many refused rows the sink stops encoding and only collects problems, because the
 * upload will be refused.
 */
export const manyRefusedRows = 100_000;

export class EncodingSink implements CellSink {
  /** The number of rows encoded and passed to the output. */
  loaded = 0;
  /** The data row of each loaded row, in the order in which the output received them. */
  readonly rowNumbers = new RowNumbers();

  readonly #options: EncodingOptions;
  readonly #problems: Problems;
  readonly #losses: CellLosses;
  readonly #misfits: Misfits | undefined;
  readonly #origin: RowOrigin | undefined;
  readonly #originBytes: number;
  readonly #maxRowBytes: number;
  readonly #encoders: ColumnEncoder[];
  readonly #isNullable: boolean[];
  readonly #points: GroupedPoints;
  /** The states of `#points` (grouped-points.ts). There is a reference here because they are read for each cell. */
  readonly #pointsOf: Uint8Array;
  readonly #required: number[] = [];
  /** For each required column that no row has had so far: the number of rows and the first ones. */
  readonly #missingColumns = new Map<number, { count: number; firstRows: number[] }>();
  readonly #mustLeaveOut: boolean[];
  /** For each target: whether a row must have the column, because it has no fill, or is NOT NULL without a default. A row without it needs more work: it goes into another shape or is refused. */
  readonly #cannotFill: boolean[];
  readonly #fills: (Buffer | undefined)[];
  /** The fills of the columns that a row may leave out. */
  readonly #skippedFills: (Buffer | undefined)[];
  /** For each target: about how many bytes PostgreSQL writes in a row that leaves the column out. At the end are those that every row gets in indexes. */
  readonly #defaultBytes: number[];
  /** How many bytes of copies PostgreSQL writes for each byte of a row beyond those that count as ordinary. */
  readonly #surplusCopies: number;
  readonly #written: WrittenBytes;
  readonly #padding: Padding;
  readonly #cost: RowCost;
  readonly #names: string[] = [];
  readonly #targetOf: number[] = [];
  readonly #sourceOf: Int32Array;

  /** For each target: the row in which it was last seen, and the position of its field in `#out`. */
  readonly #seenIn: Int32Array;
  readonly #fieldStart: Int32Array;
  readonly #fieldEnd: Int32Array;

  /** The newest shape comes first. A row goes into the first shape that it fits. */
  #shapes: CopyShape[] = [];
  readonly #scratch = new CopyBuffer(initialScratchBytes);
  readonly #mostBytes = (needed: number): number => this.#limitGrowth(needed);
  #shape: CopyShape;
  #out: CopyBuffer;
  #positionOf: Int32Array;

  /** The bytes and range of the last call of `original`. They are the original text of the next cell if its bytes are `#rewritten`. */
  #rewritten: Buffer | undefined;
  #original: Buffer = noBytes;
  #originalStart = 0;
  #originalEnd = 0;

  #row = 0;
  #stamp = 0;
  #isInRow = false;
  #rowStart = 0;
  /** For the current row: the bytes of its fills, and how many of the fills are defaults and not NULL. */
  #filledBytes = 0;
  #filledDefaults = 0;
  /** The number of bytes by which the values of the current row grow when PostgreSQL pads them. */
  #paddedBytes = 0;
  #next = 0;
  #isOrdered = true;
  /** Bytes of the buffers may still be on their way to PostgreSQL, so their memory must not be given back. */
  #mayBeSending = false;
  /** The place of a long row; undefined: it has none. */
  #place: { stamp: number; leave: () => void } | undefined;
  /** For how many reasons the current row is refused. */
  #refusals = 0;
  #refused = 0;

  constructor(options: EncodingOptions) {
    const { targets } = options;
    this.#options = options;
    this.#problems = options.problems;
    this.#losses = new CellLosses(targets.length);
    this.#misfits = options.misfits;
    this.#misfits?.begin(targets);
    this.#origin = options.origin;
    this.#originBytes = options.origin?.length ?? 0;
    // An encoder of an earlier sink may have thrown an error and left the losses of its cell, so they are reset.
    losses.ofCell = 0;
    this.#maxRowBytes = options.maxRowBytes;
    this.#encoders = targets.map((target) => target.encoder);
    this.#fills = targets.map((target) => target.fill);
    const indexBytes = targets.reduce((sum, { column: { indexBytes = 0 } }) => sum + indexBytes, 0);
    this.#defaultBytes = [...targets.map(({ column }) => column.defaultBytes ?? 0), indexBytes];
    const mostCopies = targets.reduce((most, { column }) => Math.max(most, column.storedCopies ?? 0), 0);
    this.#surplusCopies = Math.max(0, mostCopies - options.writtenLimits.maxUnpackRatio);
    this.#written = options.written ?? new WrittenBytes(options.writtenLimits);
    this.#padding = new Padding(targets);
    const ownUnits = ownUnitsOf(targets.map(({ column }) => column));
    this.#cost = new RowCost(options.maxRowBytes, ownDigitsOf(targets), ownUnits);
    // If types are inferred, the inference itself warns of such points.
    const mayWarn = options.typesAreInferred !== true;
    this.#points = new GroupedPoints(targets.map((target) => mayWarn && valueFor(target) === NUMBER_VALUE));
    this.#pointsOf = this.#points.states;
    this.#isNullable = targets.map(({ column }) => column.isNullable && column.type.domainNotNull !== true);
    this.#mustLeaveOut = targets.map((target) => target.fill === undefined);
    targets.forEach(({ column }, index) => {
      if (column.isGenerated) return;
      if (!this.#isNullable[index] && column.default === 'none') this.#required.push(index);
    });
    this.#cannotFill = targets.map(
      (_, index) => this.#mustLeaveOut[index]! || this.#required.includes(index),
    );
    this.#skippedFills = this.#fills.map((fill, index) => (this.#cannotFill[index] ? undefined : fill));
    this.#sourceOf = new Int32Array(targets.length).fill(-1);
    this.#seenIn = new Int32Array(targets.length);
    this.#fieldStart = new Int32Array(targets.length);
    this.#fieldEnd = new Int32Array(targets.length);
    // The first row may have any order, so it must go through `#placeRow`. A shape without columns causes that.
    this.#shape = this.#shapeOf([], unnumbered);
    this.#out = this.#shape.out;
    this.#positionOf = this.#shape.positionOf;
  }

  /** The bytes that PostgreSQL keeps for the values until the connection ends. */
  /** How many bytes the values of the rows have that the caller sent. */
  get ownBytes(): number {
    return this.#written.own;
  }

  get keptBytes(): number {
    return this.#cost.keptBytes;
  }

  /** The number of rows with problems, which were not passed to the output. */
  get refused(): number {
    return this.#refused;
  }

  column(column: number, name: string, _place?: number, type?: string): void {
    const match = this.#options.matcher.match(name);
    this.#names[column] = name;
    this.#targetOf[column] = match.target;
    if (match.target >= 0) {
      this.#sourceOf[match.target] = column;
      this.#addRowsBefore(match.target);
      // The file states that the values are JSON, so its strings are JSON strings, whatever they contain.
      if (type === 'jsonb')
        this.#encoders[match.target] = { ...this.#encoders[match.target]!, readsText: false };
    }
    if (match.problem) {
      // If a header names the column, there is no row yet.
      const row = this.#row > 0 && { row: this.#row };
      this.#problems.addOfUpload({ ...this.#locate(column, name), ...row, column: name, ...match.problem });
    }
  }

  wants(column: number): number {
    const target = this.#targetOf[column]!;
    return target < 0 ? TEXT_VALUE : valueFor(this.#options.targets[target]!);
  }

  original(rewritten: Buffer, bytes: Buffer, start: number, end: number): void {
    this.#rewritten = rewritten;
    this.#original = bytes;
    this.#originalStart = start;
    this.#originalEnd = end;
  }

  beginRow(row: number): void {
    this.#row = row;
    this.#stamp += 1;
    this.#next = 0;
    // The initial shape has no columns, so no row fits it, and it is never sent.
    this.#isOrdered = this.#shape.columns.length > 0;
    this.#refusals = 0;
    this.#misfits?.beginRow();
    this.#filledBytes = 0;
    this.#filledDefaults = 0;
    this.#cost.beginRow();
    const out = this.#out;
    this.#isInRow = true;
    this.#rowStart = out.position;
    this.#beginTuple(out, this.#shape);
    if (this.#origin !== undefined) this.#putOrigin(this.#origin, out);
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const target = this.#targetOf[column]!;
    if (target < 0) {
      if (target === COMPUTED && kind !== NULL) this.#refuseComputed(column, bytes, start, end);
      return;
    }
    const position = this.#positionOf[target]!;
    if (position !== this.#next) this.#skipTo(position);
    this.#next = position + 1;
    this.#seenIn[target] = this.#stamp;
    const out = this.#out;
    this.#fieldStart[target] = out.position;
    const encoder = this.#encoders[target]!;
    let problem = 0;
    if (kind === NULL && !this.#isNullable[target]) problem = NOT_NULL;
    else if (
      (encoder.readingCost !== undefined || end - start > LONG_VALUE_BYTES) &&
      this.#cost.isTooMuch(encoder, kind, bytes, start, end)
    )
      problem = TOO_COSTLY;
    else problem = encodeCell(out, encoder, kind, bytes, start, end);
    if (
      encoder.digitCopies > 0 &&
      problem === 0 &&
      kind !== NULL &&
      this.#cost.hasTooManyDigits(encoder, out.bytes, this.#fieldStart[target]!)
    )
      problem = TOO_COSTLY;
    // If the text was rewritten, the request has already decided what a point means in it.
    if (kind === TEXT && this.#pointsOf[target]! !== NO_POINTS && bytes !== this.#rewritten)
      this.#points.note(target, bytes, start, end);
    if (problem !== 0)
      this.#refuseCell(column, target, problem, bytes, start, kind === NULL ? start : end, kind);
    if (this.#misfits !== undefined)
      this.#misfits.cell(target, problem, out.bytes, this.#fieldStart[target]!, kind, bytes, start, end);
    if (losses.ofCell !== 0) this.#noteLosses(target, problem);
    this.#fieldEnd[target] = out.position;
  }

  async longCell(column: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
    const { code, readingCost } = this.#encoders[this.#targetOf[column]!] ?? {};
    const cost = readingCost && (await countCostInTurns(readingCost, bytes, start, end));
    const facts = code === codes.JSONB ? await checkJsonb(bytes, start, end) : {};
    takeKnown({ bytes, start, end, facts: { ...facts, cost } }, () =>
      this.cell(column, kind, bytes, start, end),
    );
  }

  plainCell(
    column: number,
    kind: number,
    bytes: Buffer,
    start: number,
    end: number,
    classes: number,
  ): boolean {
    const target = this.#targetOf[column]!;
    if (target < 0 || kind === NULL) return false;
    const position = this.#positionOf[target]!;
    if (position !== this.#next) this.#skipTo(position);
    const out = this.#out;
    const fieldStart = out.position;
    const encoder = this.#encoders[target]!;
    if (
      encoder.readingCost !== undefined ||
      end - start > LONG_VALUE_BYTES ||
      !encodePlain(out, encoder, classes, kind, bytes, start, end) ||
      (encoder.digitCopies > 0 && this.#cost.hasTooManyDigits(encoder, out.bytes, fieldStart))
    ) {
      out.rewind(fieldStart);
      return false;
    }
    if (kind === TEXT && this.#pointsOf[target]! !== NO_POINTS) this.#points.note(target, bytes, start, end);
    this.#next = position + 1;
    this.#seenIn[target] = this.#stamp;
    this.#fieldStart[target] = fieldStart;
    this.#fieldEnd[target] = out.position;
    return true;
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    const target = this.#targetOf[column]!;
    if (target < 0) {
      if (target === COMPUTED)
        this.#refuseComputed(column, momentText, 0, formatMoment(kind, days, microseconds));
      return;
    }
    const position = this.#positionOf[target]!;
    if (position !== this.#next) this.#skipTo(position);
    this.#next = position + 1;
    this.#seenIn[target] = this.#stamp;
    const out = this.#out;
    this.#fieldStart[target] = out.position;
    const problem = encodeMoment(out, this.#encoders[target]!, kind, days, microseconds);
    if (problem !== 0) {
      const length = formatMoment(kind, days, microseconds);
      this.#refuseCell(column, target, problem, momentText, 0, length, kind);
    }
    if (this.#misfits !== undefined)
      this.#misfits.moment(target, problem, out.bytes, this.#fieldStart[target]!, kind, days, microseconds);
    if (losses.ofCell !== 0) this.#noteLosses(target, problem);
    this.#fieldEnd[target] = out.position;
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    if (column >= 0) {
      const target = this.#targetOf[column]!;
      if (target === COMPUTED) this.#refuseComputed(column, bytes, start, end);
      // A cell of an ignored column is never a problem.
      if (target < 0) return;
      const isText = this.#encoders[target]!.code === codes.TEXT && !this.#options.typesAreInferred;
      if (fault === SERIAL_OUT_OF_RANGE && isText) {
        // The cell is not a date, but its number is a valid value for this column.
        this.cell(column, NUMBER, bytes, start, end);
        return;
      }
      this.#seenIn[target] = this.#stamp;
      this.#refuseCell(column, target, fault, bytes, start, end);
      this.#misfits?.fault(target, fault);
      return;
    }
    this.#refusals += 1;
    this.#seenIn.fill(this.#stamp);
    addRowFault(this.#problems, this.#options.locate, this.#row, fault, bytes, start, end);
  }

  endRow(): void {
    this.#isInRow = false;
    if (this.#isOrdered && this.#refusals === 0) this.#skipTo(this.#shape.columns.length);
    if (this.#out.position - this.#rowStart > this.#maxRowBytes) this.#failRowTooLong();
    if (this.#padding.isAny) this.#countPadding();
    if (this.#isOrdered && this.#refusals === 0 && this.#shape.unseenRequired.length === 0) {
      this.#shape.rowNumbers.add(this.#row);
      this.#countRow();
      return;
    }
    this.#refuseMissing();
    if (this.#refusals > 0) {
      this.#misfits?.endRow(this.#refusals);
      this.#out.rewind(this.#rowStart);
      this.#refused += 1;
      return;
    }
    this.#placeRow();
    this.#countRow();
  }

  /** Adds one problem for each required column that no row has. Call it after the last row. */
  endOfRows(): void {
    for (const [target, { count, firstRows }] of this.#missingColumns) {
      const more = count === 1 ? '' : `, and the column is missing in all ${count} rows`;
      this.#addMissing(target, firstRows[0]!, more);
    }
    this.#missingColumns.clear();
  }

  /** Warns of columns whose numbers may be a thousand times as large as they were read. */
  pointWarnings(): Warning[] {
    return this.#points.grouped().map((target) => groupedByPoint(this.#options.targets[target]!.column.name));
  }

  /** Returns one warning for each column and each kind of loss: parts of values that the column's type cannot store. */
  lossWarnings(): Warning[] {
    const columns = this.#options.targets.map(({ column }) => column);
    const { locate, typesAreInferred } = this.#options;
    return this.#losses.warnings(
      columns,
      locate,
      (target) => this.#sourceOf[target]!,
      typesAreInferred === true,
    );
  }

  drain(rowBytes = 0): Promise<void> | undefined {
    const encodedBytes = this.#isInRow ? this.#out.position - this.#rowStart : 0;
    if (encodedBytes > this.#maxRowBytes) this.#failRowTooLong();
    if (this.#place !== undefined && !this.#isInLongRow) return this.finish();
    if (Math.max(rowBytes, encodedBytes) > longRowBytes && this.#isInRow && this.#place === undefined)
      return this.#enterLongRow();
    let held = 0;
    for (const shape of this.#shapes) held += shape.out.position;
    const threshold = this.#shapes.length > 1 ? flushBytesOfManyShapes : flushBytes;
    return held >= threshold || this.#shapes.length > maxShapes ? this.finish() : undefined;
  }

  /** Returns the column of the data that goes into the table's column `name`; -1: none. */
  sourceColumn(name: string): number {
    const target = this.#options.targets.findIndex(({ column }) => column.name === name);
    return target < 0 ? -1 : this.#sourceOf[target]!;
  }

  /** Sends all rows that are still in buffers. The oldest shape comes first, so that rows stay in order if one shape replaced another. */
  async finish(): Promise<void> {
    for (const shape of this.#shapes.toReversed()) await this.#handOn(shape);
    // The older shapes are removed. If a later row needs one, it is made again.
    if (this.#shapes.length > 1) this.#shapes = [this.#shape];
    if (!this.#isInLongRow) this.#leaveLongRow();
  }

  stop(): void {
    if (this.#isInRow) this.#out.rewind(this.#rowStart);
    this.#out.shrink();
    this.#leaveLongRow();
  }

  /** Gives back the memory of long rows, also after an error. Nothing may be pushed any more. */
  close(): void {
    if (!this.#mayBeSending) {
      for (const { out } of [this.#shape, ...this.#shapes]) {
        out.rewind();
        out.shrink(true);
      }
    }
    this.#leaveLongRow();
  }

  #leaveLongRow(): void {
    this.#place?.leave();
    this.#place = undefined;
  }

  /** Returns whether the current row is the one that has the place. */
  get #isInLongRow(): boolean {
    return this.#isInRow && this.#place?.stamp === this.#stamp;
  }

  async #enterLongRow(): Promise<void> {
    const { enterLongRow } = this.#options;
    await this.finish();
    const leave = await enterLongRow?.();
    this.#place = { stamp: this.#stamp, leave: leave ?? (() => {}) };
  }

  #noteLosses(target: number, problem: number): void {
    if (problem === 0) this.#losses.note(target, this.#row, losses.ofCell);
    losses.ofCell = 0;
  }

  async #handOn(shape: CopyShape): Promise<void> {
    const { out } = shape;
    const { count } = shape.rowNumbers;
    // The input may have been cut within a row. The bytes of that row stay, because the row may still be refused or moved to another shape.
    const end = this.#isInRow && shape === this.#shape ? this.#rowStart : out.position;
    if (end === 0) {
      out.shrink(!this.#mayBeSending);
      return;
    }
    const isRefused = this.#refused > (this.#options.maxRefusedRows ?? manyRefusedRows);
    if (isRefused || this.#misfits?.areCertain) {
      shape.rowNumbers = new RowNumbers();
    } else {
      const heldBytes = shape.countWritten(this.#written, end, count, this.#surplusCopies);
      this.rowNumbers.take(shape.rowNumbers);
      const { output } = this.#options;
      this.#mayBeSending = true;
      await output.write(shape.columns, out.bytes.subarray(0, end), count, heldBytes);
      this.#mayBeSending = output.refusal !== undefined;
    }
    out.bytes.copyWithin(0, end, out.position);
    out.rewind(out.position - end);
    out.shrink(!this.#mayBeSending);
    if (shape === this.#shape) this.#moveRow(end);
  }

  /** Returns how large the buffer may become. The limit is for the current row, which may have a long value. The rows before it are small, because they come from one slice of the input. */
  #limitGrowth(needed: number): number {
    if (!this.#isInRow) return Number.POSITIVE_INFINITY;
    const most = this.#rowStart + this.#maxRowBytes + reservedBytes;
    if (needed > most) this.#failRowTooLong();
    return most;
  }

  #failRowTooLong(more = ''): never {
    const { cell = String(this.#row) } = this.#locate(-1, '');
    throw rowTooLong(`Row ${cell.slice(cell.lastIndexOf(':') + 1)}`, this.#maxRowBytes, more);
  }

  /** Corrects all positions in the current row after it has moved by `by` bytes. */
  #moveRow(by: number): void {
    this.#rowStart -= by;
    for (let target = 0; target < this.#fieldStart.length; target += 1) {
      this.#fieldStart[target]! -= by;
      this.#fieldEnd[target]! -= by;
    }
  }

  #beginTuple(out: CopyBuffer, shape: CopyShape): void {
    out.ensure(18);
    if (shape.number === unnumbered) {
      out.int16(shape.columns.length);
      return;
    }
    out.int16(shape.columns.length + 2);
    out.int32(4);
    out.int32(this.#row);
    out.int32(4);
    out.int32(shape.number);
  }

  /** Puts the columns of the origin before all others. Every shape begins with them, so the row is still in order. */
  #putOrigin(origin: RowOrigin, out: CopyBuffer): void {
    origin.append(out, this.#row, this.#fieldStart, this.#fieldEnd);
    for (const target of origin.targets) this.#seenIn[target] = this.#stamp;
    this.#next = origin.targets.length;
  }

  #countPadding(): void {
    const { bytes } = this.#out;
    this.#paddedBytes = 0;
    if (this.#refusals > 0) return;
    for (const target of this.#padding.targets) {
      if (this.#seenIn[target] !== this.#stamp) continue;
      this.#paddedBytes += this.#padding.ofField(
        target,
        bytes,
        this.#fieldStart[target]!,
        this.#fieldEnd[target]!,
      );
    }
    const length = this.#out.position - this.#rowStart;
    if (length + this.#paddedBytes > this.#maxRowBytes)
      this.#failRowTooLong(' when char(n) and bit(n) pad its values');
  }

  #countRow(): void {
    // The caller did not send the fields of the origin, so they count like defaults.
    const filled = this.#filledBytes + this.#originBytes;
    const defaults = this.#filledDefaults + this.#originBytes;
    const { addedDigits, storedBytes } = this.#cost;
    this.#shape.addRow(filled, defaults, this.#paddedBytes + addedDigits, storedBytes);
    this.loaded += 1;
    if (this.loaded > this.#options.maxRows) this.#options.onTooManyRows();
  }

  /** Fills the columns of the shape from the next expected one up to `position`. If one has no fill, the row is no longer in order. */
  #skipTo(position: number): void {
    if (!this.#isOrdered) return;
    const next = this.#next;
    if (next < position) {
      const { fills, fillStarts, fillableUntil } = this.#shape;
      const until = Math.min(position, fillableUntil[next]!);
      const start = fillStarts[next]!;
      const end = fillStarts[until]!;
      appendBytes(this.#out, fills, start, end);
      this.#filledBytes += end - start;
      this.#filledDefaults += end - start - lengthBytes * (until - next);
      this.#next = until;
    }
    if (this.#next !== position) this.#isOrdered = false;
  }

  #fill(out: CopyBuffer, field: Buffer): void {
    appendBytes(out, field, 0, field.length);
    this.#filledBytes += field.length;
    this.#filledDefaults += field.length - lengthBytes;
  }

  #refuseMissing(): void {
    for (const target of this.#required) {
      if (this.#seenIn[target] === this.#stamp) continue;
      this.#refusals += 1;
      if (this.#sourceOf[target]! < 0) this.#noteMissingColumn(target);
      else this.#addMissing(target, this.#row);
    }
  }

  /** Counts a row without a required column. Its problem is added later: if no row has the column, there is only one problem and not one for each row. */
  #noteMissingColumn(target: number): void {
    const missing = this.#missingColumns.get(target) ?? { count: 0, firstRows: [] };
    this.#missingColumns.set(target, missing);
    missing.count += 1;
    if (missing.firstRows.length < this.#problems.maxFound) missing.firstRows.push(this.#row);
  }

  /** Adds the problems of the earlier rows without the column when a later row has it. */
  #addRowsBefore(target: number): void {
    const missing = this.#missingColumns.get(target);
    if (missing === undefined) return;
    this.#missingColumns.delete(target);
    for (const row of missing.firstRows) this.#addMissing(target, row);
    const { name } = this.#options.targets[target]!.column;
    this.#problems.addUnlisted(missing.count - missing.firstRows.length, name, cellProblemCode(NOT_NULL));
  }

  #addMissing(target: number, row: number, more = ''): void {
    const { name, type } = this.#options.targets[target]!.column;
    const { code, detail } = describeCellProblem(NOT_NULL, type);
    if (!this.#problems.wants(name, code)) {
      this.#problems.addUnlisted(1, name, code);
      return;
    }
    const place = this.#options.locate(row, this.#sourceOf[target]!, name);
    this.#problems.add({
      ...place,
      row,
      column: name,
      code,
      detail: `${detail}${more}${this.#hintAtUpdate(name)}`,
    });
  }

  /** Returns a hint that a row needs the column even if it updates an existing row: PostgreSQL checks NOT NULL before it searches for that row. */
  #hintAtUpdate(name: string): string {
    if (this.#options.mayUpdate !== true) return '';
    return `, also in a row that only updates an existing one: "${name}" is NOT NULL without a default, so send it in every row`;
  }

  #refuseCell(
    column: number,
    target: number,
    problem: number,
    bytes: Buffer,
    start: number,
    end: number,
    kind: number = NULL,
  ): void {
    this.#refusals += 1;
    const { mayWiden = false, targets } = this.#options;
    const { name, type, default: byDefault } = targets[target]!.column;
    const code = cellProblemCode(problem);
    if (!this.#problems.wants(name, code)) {
      this.#problems.addUnlisted(1, name, code);
      return;
    }
    let place = this.#locate(column, this.#names[column] ?? name);
    let value = end > start || kind === STRING ? shortenBytes(bytes, start, end) : undefined;
    if (bytes === this.#rewritten)
      value = shortenBytes(this.#original, this.#originalStart, this.#originalEnd);
    if (kind === ARRAY && isArrayEncoder(this.#encoders[target]!) && faultyElement.depth > 0) {
      if (place.pointer !== undefined) place = { ...place, pointer: place.pointer + faultyElementPath() };
      value = shortenElement(bytes, faultyElement.start, faultyElement.end);
    }
    const { detail } = describeCellProblem(problem, type);
    const hasDefault = byDefault !== 'none';
    const isDispensable = start === end && (hasDefault || this.#isNullable[target]!);
    const hint =
      hintFor(problem, kind, isDispensable, hasDefault, place.cell !== undefined) +
      notationHint(problem, kind, bytes, start, end) +
      (mayWiden ? hintAtWidening(targets[target]!.column, kind, bytes, start, end) : '');
    this.#problems.add({
      ...place,
      row: this.#row,
      column: name,
      ...(value !== undefined && { value }),
      code,
      detail: `${detail}${hint}`,
    });
  }

  #refuseComputed(column: number, bytes: Buffer, start: number, end: number): void {
    this.#refusals += 1;
    const name = this.#names[column]!;
    if (!this.#problems.wants(name, computedColumn.code)) {
      this.#problems.addUnlisted(1, name, computedColumn.code);
      return;
    }
    const value = end > start ? { value: shortenBytes(bytes, start, end) } : {};
    this.#problems.add({
      ...this.#locate(column, name),
      row: this.#row,
      column: name,
      ...value,
      ...computedColumn,
    });
  }

  #locate(column: number, name: string): ReturnType<LocateCell> {
    return this.#options.locate(this.#row, column, name);
  }

  /** Puts a row that did not arrive in the order of the current shape into a shape that it fits. */
  #placeRow(): void {
    const source = this.#out;
    const sourceShape = this.#shape;
    const seen: number[] = [];
    let leftOut = 0;
    for (let target = 0; target < this.#seenIn.length; target += 1) {
      if (this.#seenIn[target] !== this.#stamp) continue;
      seen.push(target);
      if (this.#mustLeaveOut[target]) leftOut += 1;
    }
    const shape = this.#shapes.find((candidate) => fits(candidate, seen, leftOut)) ?? this.#addShape(seen);
    this.#filledBytes = 0;
    this.#filledDefaults = 0;
    if (this.#isAsEncoded(shape)) {
      source.bytes.writeInt16BE(shape.columns.length, 0);
      sourceShape.out = shape.out;
      shape.out = source;
    } else this.#moveFields(source, sourceShape, shape);
    shape.rowNumbers.add(this.#row);
    this.#shape = shape;
    this.#out = shape.out;
    this.#positionOf = shape.positionOf;
  }

  /**
   * Returns whether the row is the first one, and its bytes are already those of a row of the new shape, except for the number of columns. A copy of a
   * long row would take as much memory as the row.
   */
  #isAsEncoded(shape: CopyShape): boolean {
    const isFirst = this.#rowStart === 0 && this.#shape.columns.length === 0 && this.#shapes.length === 1;
    return (
      isFirst &&
      shape.number === unnumbered &&
      shape.columns.every((target) => this.#seenIn[target] === this.#stamp)
    );
  }

  /** Writes the fields of the row in the order of the shape. */
  #moveFields(source: CopyBuffer, sourceShape: CopyShape, shape: CopyShape): void {
    const into = shape === sourceShape ? this.#scratch : shape.out;
    if (into === this.#scratch) into.rewind();
    into.ensure(source.position - this.#rowStart);
    this.#beginTuple(into, shape);
    for (const target of shape.columns) {
      if (this.#seenIn[target] === this.#stamp) {
        appendBytes(into, source.bytes, this.#fieldStart[target]!, this.#fieldEnd[target]!);
      } else {
        this.#fill(into, this.#fills[target]!);
      }
    }
    source.rewind(this.#rowStart);
    source.shrink(!this.#mayBeSending);
    if (into === this.#scratch) {
      appendBytes(source, into.bytes, 0, into.position);
      into.rewind();
      into.shrink(!this.#mayBeSending);
    }
  }

  #shapeOf(columns: readonly number[], number: number): CopyShape {
    return new CopyShape(
      columns,
      this.#skippedFills,
      this.#defaultBytes,
      this.#required,
      number,
      this.#mostBytes,
    );
  }

  /**
   * Makes a shape for this row: first its own columns in their order, then columns of earlier rows that have a fill. The newest shape has those of all
   * shapes that wait.
   *
   * @param seen the columns of the row. They are sorted by their places in it
   */
  #addShape(seen: number[]): CopyShape {
    seen.sort((a, b) => this.#fieldStart[a]! - this.#fieldStart[b]!);
    const newest = this.#shapes[0]?.columns ?? [];
    const isFilled = (target: number) => !this.#mustLeaveOut[target] && this.#seenIn[target] !== this.#stamp;
    const columns = [...seen, ...newest.filter(isFilled)];
    // COPY cannot send a row without columns, so such a row gets a column that has a fill, if there is one.
    const anyFillable = this.#cannotFill.indexOf(false);
    if (columns.length === 0 && anyFillable >= 0) columns.push(anyFillable);
    const number = this.#options.numberOfSet?.(columns) ?? unnumbered;
    const shape = this.#shapeOf(columns, number);
    if (shape.leftOutBytes > this.#maxRowBytes)
      this.#failRowTooLong(' with the defaults of the columns that it leaves out');
    shape.leftOut = columns.filter((target) => this.#mustLeaveOut[target]).length;
    this.#shapes.unshift(shape);
    return shape;
  }
}

/** Returns whether the row has no other columns than the shape, and all of its columns that must be left out of rows without them. */
function fits(shape: CopyShape, seen: readonly number[], leftOut: number): boolean {
  if (shape.leftOut !== leftOut) return false;
  for (let index = 0; index < seen.length; index += 1) {
    if (shape.positionOf[seen[index]!]! < 0) return false;
  }
  return true;
}

/** @throws AppError `limit-exceeded` if the expressions of the table make too many digits in each row, whatever its values are */
function ownDigitsOf(targets: readonly TargetColumn[]): number {
  const digits = targets.reduce((sum, { column }) => sum + (column.ownDigits ?? 0), 0);
  const made = targets.reduce((sum, { column }) => sum + (column.madeDigits ?? 0), 0);
  const what = 'The expressions of the table may make numbers with too many digits in a row';
  const remedy = 'Use fewer expressions, or convert the numbers to numeric(p,s) at once.';
  if (digits > MOST_COPIED_DIGITS) throw limitExceeded(what, MOST_COPIED_DIGITS, 'digits', remedy);
  if (made > MOST_MADE_DIGITS) throw limitExceeded(what, MOST_MADE_DIGITS, 'digits', remedy);
  return digits;
}

/** The length that comes before the bytes of each field. NULL is a field with only a length. */
const lengthBytes = 4;

function appendBytes(out: CopyBuffer, source: Buffer, start: number, end: number): void {
  out.ensure(end - start);
  out.appendRange(source, start, end);
}
