/**
 * Infers a table's column types from all rows, never from a sample, while they stream by.
 *
 * A column gets the narrowest type that gives back every one of its values; the table below says it all. Numbers are
 * kept by value with every digit: `1.0` and `1e3` are `numeric` (`1.0`, `1000`), a `-0` is the number zero. A
 * date-time with an offset keeps its instant, not its offset. Where nothing but the text keeps a value, it is `text`.
 */
import { AppError } from '../errors.ts';
import {
  ARRAY,
  DATE,
  FALSE,
  INTERVAL,
  NULL,
  NUMBER,
  OBJECT,
  ROUNDED_NUMBER,
  STRING,
  TEXT,
  TIME,
  TIMESTAMP,
  TRUE,
} from '../sources/cell-kind.ts';
import type { CellSink } from '../sources/cell-sink.ts';
import { textKind } from '../sources/text-kind.ts';
import { formatMoment, momentText } from './encoders/moment-text.ts';
import { classifyNested } from './infer/nested-class.ts';
import { ALWAYS_NUMERIC_BYTES, classifyNumber } from './infer/number-class.ts';
import {
  BOOLEAN,
  DATE_CELL,
  DATE_STRING,
  DOUBLE_ONLY,
  EXACT,
  INTERVAL_CELL,
  NESTED,
  NESTED_AS_SENT,
  NOTHING,
  OTHER,
  TIME_CELL,
  TIMESTAMP_CELL,
  TIMESTAMP_STRING,
  TIMESTAMPTZ_STRING,
  UUID_STRING,
  WHOLE,
} from './infer/seen.ts';
import { classifyString } from './infer/string-class.ts';
import { shortenBytes } from './problems.ts';

/** As PostgreSQL's `format_type` writes them. */
export type InferredType =
  | 'boolean'
  | 'bigint'
  | 'numeric'
  | 'double precision'
  | 'date'
  | 'timestamp without time zone'
  | 'timestamp with time zone'
  | 'time without time zone'
  | 'interval'
  | 'uuid'
  | 'jsonb'
  | 'json'
  | 'text';

/**
 * The first type whose values cover all that was seen; no row covers it: `text`. So a column that is `text` stays
 * so whatever follows.
 */
const lattice: readonly (readonly [covers: number, type: InferredType])[] = [
  [BOOLEAN, 'boolean'],
  [WHOLE, 'bigint'],
  [WHOLE | EXACT, 'numeric'],
  [DOUBLE_ONLY, 'double precision'],
  [DATE_STRING | DATE_CELL, 'date'],
  // A date string would come back with a time that was never sent; a date cell of a sheet is its midnight.
  [TIMESTAMP_STRING | TIMESTAMP_CELL | DATE_CELL, 'timestamp without time zone'],
  [TIMESTAMPTZ_STRING, 'timestamp with time zone'],
  [TIME_CELL, 'time without time zone'],
  [INTERVAL_CELL, 'interval'],
  [UUID_STRING, 'uuid'],
  [NESTED, 'jsonb'],
  [NESTED | NESTED_AS_SENT, 'json'],
];

export interface InferredColumn {
  name: string;
  type: InferredType;
  /** The column's number in the sink. */
  column: number;
  /** Of a column that turned out to be text: the value that no other type would have held. */
  misfit?: Misfit;
}

interface Misfit {
  row: number;
  /** Shortened. */
  value: string;
  /** The type of the values before it. */
  before: InferredType;
}

export interface InferenceLimits {
  maxColumns: number;
  maxRows: number;
}

/** Called for every cell or row (`column` -1, `name` '') that the source reports as a problem; see `CellSink.fault`. */
export type InferenceFaultHandler = (
  row: number,
  column: number,
  name: string,
  fault: number,
  bytes: Buffer,
  start: number,
  end: number,
) => void;

const INITIAL_COLUMNS = 64;

/**
 * The sink that infers. Memory grows with the columns alone.
 *
 * A faulty cell counts as a missing one: whether it stops the load is for the fault handler to say.
 */
export class TypeInference implements CellSink {
  readonly #limits: InferenceLimits;
  readonly #onFault: InferenceFaultHandler;
  readonly #names: string[] = [];
  /** Per column the union of the classes of seen.ts; `OTHER` alone once the type can only be `text`. */
  #seen = new Uint16Array(INITIAL_COLUMNS);
  readonly #places: number[] = [];
  readonly #misfits: (Misfit | undefined)[] = [];
  readonly #firstRows: number[] = [];
  #rowCount = 0;
  #row = 0;

  constructor(limits: InferenceLimits, onFault: InferenceFaultHandler) {
    this.#limits = limits;
    this.#onFault = onFault;
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  /** In the order of the source: of their first appearance, or of the sheet. */
  columns(): InferredColumn[] {
    const columns = this.#names.map((name, column) => {
      const misfit = this.#misfits[column];
      return { name, type: typeOf(this.#seen[column]!), column, ...(misfit && { misfit }) };
    });
    return columns.sort((a, b) => this.#places[a.column]! - this.#places[b.column]!);
  }

  /** The data row that named the column; 0: none, it was named before the rows. */
  firstRow(column: number): number {
    return this.#firstRows[column]!;
  }

  /** @throws AppError `limit-exceeded` */
  column(column: number, name: string, place = column): void {
    if (column >= this.#limits.maxColumns) {
      throw new AppError(
        'limit-exceeded',
        `The data has more columns than the limit of ${this.#limits.maxColumns} (MAX_COLUMNS).`,
      );
    }
    if (column >= this.#seen.length) this.#growTo(column + 1);
    this.#names[column] = name;
    this.#places[column] = place;
    this.#firstRows[column] = this.#row;
  }

  /** @throws AppError `limit-exceeded` */
  beginRow(row: number): void {
    if (this.#rowCount >= this.#limits.maxRows) {
      throw new AppError(
        'limit-exceeded',
        `The data has more rows than the limit of ${this.#limits.maxRows} (MAX_ROWS).`,
      );
    }
    this.#rowCount++;
    this.#row = row;
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (kind === NULL) return;
    const seen = this.#seen[column]!;
    if (seen === OTHER) return;
    // In a `numeric` column most numbers need no second look: 6 ns for a cell instead of 19.
    if (kind === NUMBER && (seen & EXACT) !== 0 && end - start <= ALWAYS_NUMERIC_BYTES) return;
    const found = classify(kind === TEXT ? textKind(bytes, start, end) : kind, bytes, start, end);
    if ((seen & found) === 0 && this.#widen(column, found)) {
      this.#tellMisfit(column, seen, shortenBytes(bytes, start, end));
    }
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    const seen = this.#seen[column]!;
    if (seen === OTHER) return;
    const found = classifyMoment(kind);
    if ((seen & found) === 0 && this.#widen(column, found)) {
      const length = formatMoment(kind, days, microseconds);
      this.#tellMisfit(column, seen, momentText.toString('latin1', 0, length));
    }
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    const name = column < 0 ? '' : this.#names[column]!;
    this.#onFault(this.#row, column, name, fault, bytes, start, end);
  }

  endRow(): void {}

  drain(): undefined {
    return undefined;
  }

  /** @returns whether the column is text from now on; the cells that follow need not be looked at then */
  #widen(column: number, found: number): boolean {
    const union = this.#seen[column]! | found;
    const isText = typeOf(union) === 'text';
    this.#seen[column] = isText ? OTHER : union;
    return isText;
  }

  #tellMisfit(column: number, seen: number, value: string): void {
    if (seen !== NOTHING) this.#misfits[column] = { row: this.#row, value, before: typeOf(seen) };
  }

  #growTo(columns: number): void {
    const capacity = Math.max(columns, this.#seen.length * 2);
    const seen = new Uint16Array(capacity);
    seen.set(this.#seen);
    this.#seen = seen;
  }
}

function classify(kind: number, bytes: Buffer, start: number, end: number): number {
  switch (kind) {
    case STRING:
      return classifyString(bytes, start, end);
    case NUMBER:
    case ROUNDED_NUMBER:
      return classifyNumber(bytes, start, end);
    case FALSE:
    case TRUE:
      return BOOLEAN;
    case OBJECT:
    case ARRAY:
      return classifyNested(bytes, start, end);
    default:
      throw new TypeError(`A cell of the kind ${kind}`);
  }
}

function classifyMoment(kind: number): number {
  switch (kind) {
    case DATE:
      return DATE_CELL;
    case TIMESTAMP:
      return TIMESTAMP_CELL;
    case TIME:
      return TIME_CELL;
    case INTERVAL:
      return INTERVAL_CELL;
    default:
      throw new TypeError(`A moment of the kind ${kind}`);
  }
}

function typeOf(seen: number): InferredType {
  if (seen === NOTHING) return 'text';
  return lattice.find(([covers]) => (seen & ~covers) === 0)?.[1] ?? 'text';
}
