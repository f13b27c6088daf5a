/**
 * Finds values that a format cannot give back. A file that is sent again must store the same values. A field of CSV is only a text, which the
 * request reads by its null words and in its notation of numbers. A workbook has no NULL, no empty text, and only one way to write a number.
 */
import { CR, isDigit, LF } from '../../../core/bytes/ascii.ts';
import { isBlank } from '../../../core/bytes/white-space.ts';
import * as kinds from '../../../core/cells/cell-kind.ts';
import { AppError } from '../../../core/errors.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import { isExactNumber } from '../../tables/export/workbook/cell-classes.ts';
import { isNumberColumn, type SentColumn } from './sent-column.ts';

export const rowsFileFormats = ['csv', 'ndjson', 'xlsx'] as const;
export type RowsFileFormat = (typeof rowsFileFormats)[number];

/** For each format: the error of the first value that it cannot give back. */
export type Misfits = Partial<Record<RowsFileFormat, string>>;

const formatNames = { csv: 'CSV', ndjson: 'NDJSON', xlsx: 'A workbook' };

/** How the request of the rows reads them. */
export interface SentNotation {
  decimalSign: string;
  nullValues: readonly string[];
  /** `trim=true` */
  trims: boolean;
  /** `values=natural`: each column has its own notation. */
  isNatural: boolean;
  /** `empty_cells=null`: an empty field is NULL. */
  emptyIsNull: boolean;
  /** An empty cell keeps the old value of a row (`on_conflict=update`) or gets that of the row above (`fill_down`). */
  fillsEmpty: boolean;
  /** `flatten=true` */
  flattens: boolean;
}

/** Returns the word that CSV has for NULL: it must have the same meaning with and without quotes. */
export function nullWordOf({ nullValues }: SentNotation): string | undefined {
  return nullValues.find((word) => /^[^\s="](?:.*\S)?$/.test(word));
}

/** Returns whether the request reads the cell as NULL. */
export function isNullCell(
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
  notation: SentNotation | undefined,
): boolean {
  if (kind === kinds.NULL) return true;
  return notation?.trims === true && kind === kinds.TEXT && start < end && isBlank(bytes, start, end);
}

/** Returns a number as a text in the notation of the request, if the column reads numbers. The values of `values=natural` are plain. */
export function numberText(text: string, column: SentColumn | undefined, notation?: SentNotation): string {
  const readsNotation = column === undefined || (isNumberColumn(column) && notation?.isNatural === false);
  return readsNotation && notation?.decimalSign === ',' ? text.replace('.', ',') : text;
}

/** Returns whether a workbook has the number as a text, because its reader, or a program that saves it again, would change the digits. */
export function isTextInSheet(
  bytes: Buffer,
  start: number,
  end: number,
  column: SentColumn | undefined,
): boolean {
  if (!isExactNumber(bytes, start, end)) return true;
  const keepsDigits = column === undefined || !isNumberColumn(column) || column.type === 'decimal';
  return keepsDigits && /\.\d*0$/.test(bytes.toString('latin1', start, end));
}

/** Formats whose rows have NULL for each missing value, as documented for their CSV. */
const formatsWithNull = ['json', 'ndjson', 'parquet'];
const jsonFormats = ['json', 'ndjson'];

/** A number that has another value if the point separates thousands. */
const twoWays = /^-?[1-9]\d{0,2}\.\d{3}$/;

interface Misfit {
  row: number;
  column: number;
  /** What is wrong, for the message. */
  detail: string;
}

export class FormatFit {
  /** The number of the current row. */
  row = 0;
  /** NULL is a word in CSV, and not an empty field. */
  readonly writesNull: boolean;
  readonly #notation: SentNotation;
  readonly #format: string;
  readonly #isTextFile: boolean;
  readonly #nullWords: ReadonlySet<string>;
  /** For each column: its first number with a sign, and whether it has a text with a digit. */
  readonly #numbers: (Misfit | undefined)[] = [];
  readonly #hasText: boolean[] = [];
  readonly #found: Partial<Record<RowsFileFormat, Misfit>> = {};

  /** @param format the format of the rows. @param isTextFile the rows were sent as a text file, whose texts CSV gives back */
  constructor(notation: SentNotation, format: string, isTextFile: boolean) {
    this.#notation = notation;
    this.#format = format;
    this.#isTextFile = isTextFile;
    this.#nullWords = new Set(notation.nullValues);
    this.writesNull = nullWordOf(notation) !== undefined;
  }

  /** @param at the column of the table; undefined: the table is not known */
  cell(column: number, at: SentColumn | undefined, kind: number, value: Buffer): void {
    const { length } = value;
    if (isNullCell(kind, value, 0, length, this.#notation)) this.#null(column, at, kind);
    else if (kind === kinds.STRING || kind === kinds.TEXT) this.#text(column, at, kind, value);
    else if (kind === kinds.NUMBER || kind === kinds.ROUNDED_NUMBER) {
      const isText = kind === kinds.NUMBER && at !== undefined && isTextInSheet(value, 0, length, at);
      this.#number(column, at, value.toString('latin1'), isText);
    } else if (kind === kinds.OBJECT || kind === kinds.ARRAY) this.#nested(column, at, kind, value);
    else if (this.#nullWords.size > 0) {
      const isBoolean = kind === kinds.TRUE || kind === kinds.FALSE;
      this.#value(column, isBoolean ? String(kind === kinds.TRUE) : value.toString(), ['csv']);
    }
  }

  /** Takes a text of the sender that is written as another one. */
  rewritten(column: number, text: string): void {
    this.#value(column, text, rowsFileFormats);
  }

  /** Returns the errors of the first values that cannot be given back. */
  misfits(names: readonly string[]): Misfits {
    const mixed = this.#numbers.find((number) => number !== undefined && this.#hasText[number.column]);
    const all = { ...(mixed && { csv: mixed }), ...this.#found };
    const details = Object.entries(all).map(([format, { row, column, detail }]) => [
      format,
      `${formatNames[format as RowsFileFormat]} cannot give back row ${row}, column "${shortenValue(names[column]!)}": ${detail}.`,
    ]);
    return Object.fromEntries(details);
  }

  #null(column: number, at: SentColumn | undefined, kind: number): void {
    if (this.#notation.emptyIsNull) return;
    const isLost =
      at === undefined ? !formatsWithNull.includes(this.#format) : at.hasDefault || this.#notation.fillsEmpty;
    if (!isLost) return;
    // A blank text comes back as it was sent.
    const isInCsv = this.writesNull || (this.#isTextFile && kind === kinds.TEXT);
    if (!isInCsv) this.#note(column, ['csv'], `${nullIsLost}. ${nullWord}`);
    const isOfJson = jsonFormats.includes(this.#format);
    this.#note(column, ['xlsx'], isOfJson ? nullIsLost : `${nullIsLost}. ${emptyAsNull}`);
  }

  #text(column: number, at: SentColumn | undefined, kind: number, value: Buffer): void {
    const { isNatural, trims } = this.#notation;
    if (isNatural && !this.#hasText[column] && value.some(isDigit)) this.#hasText[column] = true;
    if (value.length === 0) this.#note(column, ['xlsx'], 'the empty text would be an empty cell');
    else if (trims && kind === kinds.STRING && !this.#isTextFile && isBlank(value, 0, value.length))
      this.#note(column, ['csv'], 'with trim=true a blank text would be NULL');
    if (at?.type === 'json') this.#jsonText(column, kind, value.toString());
  }

  /** A text of JSON is a value in some formats, and a JSON string in others. */
  #jsonText(column: number, kind: number, text: string): void {
    if (!isJsonValue(text)) return;
    const isNested = /^\s*[[{]/.test(text);
    const isRead = kind === kinds.TEXT || (isNested && !formatsWithNull.includes(this.#format));
    const detail = `${shortenValue(text)} is ${isRead ? 'a JSON value' : 'a JSON string'} there, and would be another one`;
    if (!this.#isTextFile && !isRead) this.#note(column, ['csv'], detail);
    if (isRead !== isNested) this.#note(column, ['xlsx'], detail);
    if (isRead || (isNested && !jsonFormats.includes(this.#format))) this.#note(column, ['ndjson'], detail);
  }

  /** @param isText a workbook has the number as a text */
  #number(column: number, at: SentColumn | undefined, sent: string, isText: boolean): void {
    const text = numberText(sent, at, this.#notation);
    const formats: RowsFileFormat[] = isText ? ['csv', 'xlsx'] : ['csv'];
    this.#value(column, text, formats);
    if (at?.type === 'json') {
      const detail = `${shortenValue(sent)} would be a JSON string`;
      if (isText) this.#note(column, ['xlsx'], detail);
      if (/e/i.test(sent)) this.#note(column, ['csv'], detail);
    }
    if (!this.#notation.isNatural || /^-?\d+$/.test(sent)) return;
    if (at !== undefined) {
      if (isNumberColumn(at) && twoWays.test(text))
        this.#note(column, formats, `values=natural can read ${shortenValue(text)} in two ways`);
      return;
    }
    const detail = `${shortenValue(sent)} is a number, and the column also has texts with digits, whose notation values=natural finds`;
    this.#numbers[column] ??= { row: this.row, column, detail };
  }

  #nested(column: number, at: SentColumn | undefined, kind: number, value: Buffer): void {
    const { flattens, isNatural } = this.#notation;
    if (at?.type === 'array' && kind === kinds.ARRAY)
      this.#note(column, ['csv', 'xlsx'], 'the text of a JSON array is no array');
    if (at?.type === 'other' && (value.includes(LF) || value.includes(CR)))
      this.#note(column, ['ndjson'], 'its line breaks would be spaces');
    if (!flattens || kind !== kinds.OBJECT) return;
    this.#note(column, ['csv', 'xlsx'], 'only JSON has objects, whose members are columns (flatten)');
    if (isNatural) this.#note(column, ['ndjson'], 'values=natural finds the notation of members in all rows');
  }

  /** Takes a value that some formats have as a text. */
  #value(column: number, text: string, formats: readonly RowsFileFormat[]): void {
    if (this.#nullWords.has(text))
      this.#note(column, formats, `${shortenValue(text)} is no text, but a word of null_values`);
  }

  #note(column: number, formats: readonly RowsFileFormat[], detail: string): void {
    for (const format of formats) this.#found[format] ??= { row: this.row, column, detail };
  }
}

const nullIsLost = 'NULL would be an empty field, which may get a default or keep an old value';
const emptyAsNull = 'With empty_cells=null in the request, an empty cell is NULL';
const nullWord = 'With null_values in the request, the first of its words is written';

/** Longer texts are not parsed, because that would block the process. */
const maxParsedLength = 64 * 1024;

/** Returns whether a text file would have the text as a JSON value and not as a JSON string. */
function isJsonValue(text: string): boolean {
  if (text.length > maxParsedLength) return /^\s*[[{]/.test(text);
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value !== 'string';
  } catch {
    return false;
  }
}

/** @throws AppError `invalid-parameter` if the format cannot give back a value */
export function requireFit(misfits: Misfits, format: RowsFileFormat): void {
  const detail = misfits[format];
  if (detail === undefined) return;
  const fitting = rowsFileFormats.filter((other) => misfits[other] === undefined);
  const remedy =
    fitting.length > 0
      ? `Send format=${fitting.join(' or ')}.`
      : 'Send the whole file again with corrections (patch) instead.';
  throw new AppError('invalid-parameter', `${detail} ${remedy}`);
}
