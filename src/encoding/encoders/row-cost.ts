/** Decides whether PostgreSQL would need too much for the values of a row (columns/reading-cost.ts). */
import { BYTES, STRING, TEXT } from '../../core/cells/cell-kind.ts';
import { longestNumber } from '../../core/cells/number-lengths.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { UNITS_OF_COPY } from '../columns/key-cost.ts';
import type { ColumnType, LoadColumn } from '../columns/load-column.ts';
import * as reading from '../columns/reading-cost.ts';
import { ZoneNames } from '../columns/zone-names.ts';
import { knownFacts } from './long-json.ts';
import { ARRAY, codeOfOid, NUMERIC as NUMERIC_CODE } from './type-codes.ts';

/** The maximum number of digits of all numbers in a row. The limit is for messages, which may repeat whole values, for example one about a key or a check. */
const MOST_DIGITS = 16 * 1024 * 1024;
/** A value of up to `SHORT_BYTES` is not measured, as most values are short. A row may have `FREE_BYTES` of such values. */
const SHORT_BYTES = 1000;
const FREE_BYTES = 8192;
/** The values of a column with many expressions are always measured. */
const MOST_UNITS_OF_FREE = 1;
/** Shorter values of types without a cost are not counted: a row of 1,600 of them has only 6 MiB. */
export const LONG_VALUE_BYTES = 4096;

/** Returns the cost of the values of a type; undefined: PostgreSQL needs a few times the length of the text. */
export function readingCost(type: ColumnType): reading.ReadingCost | undefined {
  const cost = costOfReading(type);
  if (type.keyCost === undefined) return cost;
  const whole = { ...(cost ?? reading.ownCost(0)) };
  reading.addCost(whole, type.keyCost);
  const { kind, oid } = type.base ?? type;
  // An array of `jsonb` may be sent as a text, in which the JSON is in quotes.
  whole.isJson = (whole.isJson && kind !== 'array') || oid === JSON_TEXT;
  return whole;
}

function costOfReading(type: ColumnType): reading.ReadingCost | undefined {
  const base = type.base ?? type;
  const isArray = base.kind === 'array';
  const element = base.element?.base ?? base.element;
  if (!isArray && base.oid === NUMERIC) return undefined;
  // An array of a built-in type with an encoder is sent in binary form, so the cost of its text does not apply, except for `name`.
  const isBinary = isArray && element !== undefined && codeOfOid.has(element.oid);
  if (isBinary && element.oid === JSONB)
    return { ...reading.ownCost(JSONB), elementUnits: reading.unitsOfElement(JSONB, null) };
  if (isBinary && element.oid === NUMERIC)
    return { ...reading.ownCost(NUMERIC), partDigits: type.cost?.partDigits ?? 0 };
  if (isBinary && element.oid !== NAME) return undefined;
  const cost = type.cost ?? reading.ownCost(base.oid);
  const isSorted = cost.keyTime + cost.partTime + cost.wordTime > 0;
  const isFree =
    cost.partUnits === 0 &&
    cost.objectUnits === 0 &&
    cost.unitsPerByte <= reading.UNITS_PER_BYTE &&
    !isSorted;
  // Dates and times with an encoder are sent in binary form, without names of time zones.
  const hasZones = cost.hasZones && !codeOfOid.has(base.oid);
  return isFree && !cost.hasNumbers && !hasZones && cost.mostBytes === Number.POSITIVE_INFINITY
    ? undefined
    : cost;
}

const NAME = 19;
const NUMERIC = 1700;
const JSON_TEXT = 114;
const JSONB = 3802;
/** The cost of the text of an array of `jsonb`, which has the JSON in quotes. */
const jsonbArrayText = { ...reading.ownCost(3807), elementUnits: reading.unitsOfElement(JSONB, null) };

/**
 * Returns what defaults, generated values, padding and the expressions themselves cost in each row, whatever is sent.
 *
 * @throws AppError `limit-exceeded` if it is too much for any row
 */
export function ownUnitsOf(columns: readonly LoadColumn[]): number {
  let units = 0;
  for (const { type, defaultBytes = 0, virtualBytes = 0, ownWork = 0 } of columns) {
    const padding = type.repeatsPadding ? 0 : (type.paddedBytes ?? 0);
    units += (Math.max(defaultBytes, padding) + virtualBytes) * (type.keyCost?.unitsPerByte ?? 0);
    units += ownWork * UNITS_OF_COPY;
  }
  if (units <= reading.MOST_UNITS) return units;
  const what = 'What PostgreSQL needs for the expressions of the table in each row';
  throw limitExceeded(
    what,
    reading.MOST_UNITS * reading.BYTES_OF_UNIT,
    'bytes',
    'Use fewer or shorter expressions, defaults and types.',
  );
}

/** The fields of an encoder that decide what the values of its column cost. */
interface CostOfColumn {
  readonly code: number;
  readonly readingCost: reading.ReadingCost | undefined;
  readonly readsText: boolean;
  readonly scale: number;
  readonly digitCopies: number;
  readonly storedDigits: number;
  readonly hasTextNumbers: boolean;
}

/** Adds up what PostgreSQL needs to read the values of a row, because PostgreSQL reads all of them before it stores the row. */
export class RowCost {
  /** How many more bytes the values of the row have as `jsonb` than as text. */
  storedBytes = 0;
  /** How many digits generated columns and indexes may store that the values do not have in their binary form. */
  addedDigits = 0;
  readonly #mostUnits: number;
  readonly #ownDigits: number;
  readonly #ownUnits: number;
  #copiedDigits = 0;
  #units = 0;
  #digits = 0;
  #freeBytes = 0;
  readonly #zones = new ZoneNames();

  /**
   * @param maxRowBytes a row of up to this length is loaded if its types have no special cost
   * @param ownDigits the digits that the expressions make in each row whatever its values are
   * @param ownUnits see `ownUnitsOf`
   */
  constructor(maxRowBytes: number, ownDigits = 0, ownUnits = 0) {
    this.#ownDigits = ownDigits;
    this.#ownUnits = ownUnits;
    this.#mostUnits = Math.max(reading.MOST_UNITS, maxRowBytes * reading.UNITS_PER_BYTE);
  }

  /** How many bytes the connection keeps after the rows were loaded. */
  get keptBytes(): number {
    return this.#zones.keptBytes;
  }

  beginRow(): void {
    this.storedBytes = 0;
    this.addedDigits = 0;
    this.#copiedDigits = this.#ownDigits;
    this.#units = this.#ownUnits;
    this.#digits = 0;
    this.#freeBytes = 0;
  }

  /**
   * Adds a value. A value that costs too much is not added, because it is not loaded.
   *
   * @returns whether PostgreSQL would need too much for the row with this value
   */
  isTooMuch(encoder: CostOfColumn, kind: number, bytes: Buffer, start: number, end: number): boolean {
    const { code, readingCost, readsText } = encoder;
    const length = end - start;
    const isText = kind === STRING || kind === BYTES || kind === TEXT;
    const cost = code === ARRAY && readingCost?.isJson && isText ? jsonbArrayText : readingCost;
    let units = length * (cost === undefined ? reading.UNITS_PER_BYTE : cost.unitsPerByte);
    let digits = 0;
    let storedBytes = 0;
    // A JSON string is one value of jsonb, except if the text of the string is read as JSON.
    if (cost !== undefined && !(cost.isJson && kind === STRING && !readsText && cost.textTime === 0)) {
      const isCheap = cost.unitsPerByte <= MOST_UNITS_OF_FREE;
      const isFree = isCheap && length < SHORT_BYTES && this.#freeBytes + length < FREE_BYTES;
      if (isFree) this.#freeBytes += length;
      if (cost.hasZones && this.#zones.areTooMany(bytes, start, end)) return true;
      if (isFree && !cost.hasNumbers) return false;
      if (length > cost.mostBytes) return true;
      const counted = knownFacts(bytes, start, end)?.cost ?? reading.countCost(cost, bytes, start, end);
      digits = counted.digits;
      if (counted.units === Number.POSITIVE_INFINITY) return true;
      if (isFree) units = 0;
      else {
        units = Math.max(counted.units + counted.elements, counted.sorting, length * cost.unitsPerByte);
        if (cost.isJson) storedBytes = counted.units * BYTES_OF_JSON;
      }
    }
    if (this.#units + units > this.#mostUnits || this.#digits + digits > MOST_DIGITS) return true;
    if (
      code !== NUMERIC_CODE &&
      this.#copiesTooMuch(encoder, cost?.isJson && !encoder.hasTextNumbers ? 0 : length, digits)
    )
      return true;
    this.#units += units;
    this.#digits += digits;
    this.storedBytes += storedBytes;
    return false;
  }

  /**
   * Adds a number whose binary form begins in `bytes` at `start`, with its length. Expressions of the table read it (`digitCopies`).
   *
   * @returns whether PostgreSQL would need too much for the row with this number; then it is not added
   */
  hasTooManyDigits(encoder: CostOfColumn, bytes: Buffer, start: number): boolean {
    // A text may have been NULL.
    if (encoder.code !== NUMERIC_CODE || bytes.readInt32BE(start) < 0) return false;
    const groups = bytes.readInt16BE(start + 4);
    const whole = 4 * Math.max(0, bytes.readInt16BE(start + 6) + 1);
    const scale = Math.max(bytes.readUInt16BE(start + 10), encoder.scale);
    const stored = Math.min(4 * groups, whole + scale);
    return this.#copiesTooMuch(encoder, stored, whole + scale - stored);
  }

  /** @param stored the digits that the value itself has @param added the zeros that it does not have, because it has an exponent */
  #copiesTooMuch({ digitCopies, storedDigits }: CostOfColumn, stored: number, added: number): boolean {
    if (digitCopies === 0) return false;
    const copied = this.#copiedDigits + (Math.min(stored, longestNumber) + added) * digitCopies;
    if (copied > reading.MOST_COPIED_DIGITS) return true;
    this.#copiedDigits = copied;
    this.addedDigits += added * storedDigits;
    return false;
  }
}

/** How many bytes a short number takes in `jsonb`. In its text it has two, with its comma. */
const BYTES_OF_JSON = 12;
