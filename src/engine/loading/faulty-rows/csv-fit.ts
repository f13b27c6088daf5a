/**
 * Finds a value that CSV cannot give back. A file of CSV has only texts, so a number, a boolean or NULL is read again as the request reads a text:
 * by its null words and in its notation of numbers.
 */
import { isDigit } from '../../../core/bytes/ascii.ts';
import { FALSE, NULL, NUMBER, ROUNDED_NUMBER, STRING, TEXT, TRUE } from '../../../core/cells/cell-kind.ts';
import { AppError } from '../../../core/errors.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';

/** How the request of the rows reads texts. */
export interface CsvNotation {
  decimalSign: string;
  nullValues: readonly string[];
  /** `values=natural`: each column has its own notation. */
  isNatural: boolean;
  /** `empty_cells=null`: an empty field is NULL. */
  emptyIsNull: boolean;
}

/** Returns the word that is written for NULL: it must have the same meaning with and without quotes. */
export function nullWordOf({ nullValues }: CsvNotation): string | undefined {
  return nullValues.find((word) => /^[^\s="](?:.*\S)?$/.test(word));
}

/** Formats whose rows have NULL for each missing value, as documented for their CSV. */
const formatsWithNull = ['json', 'ndjson', 'parquet'];

interface Misfit {
  row: number;
  column: number;
  /** What is wrong, for the message. */
  detail: string;
}

export class CsvFit {
  /** The number of the current row. */
  row = 0;
  /** NULL is a word, and not an empty field. */
  readonly writesNull: boolean;
  readonly #notation: CsvNotation;
  readonly #nullWords: ReadonlySet<string>;
  readonly #takesNull: boolean;
  /** For each column: its first number with a sign, and whether it has a text with a digit. */
  readonly #numbers: (Misfit | undefined)[] = [];
  readonly #hasText: boolean[] = [];
  #first: Misfit | undefined;

  /** @param format the format of the rows */
  constructor(notation: CsvNotation, format: string) {
    this.#notation = notation;
    this.#nullWords = new Set(notation.nullValues);
    this.writesNull = nullWordOf(notation) !== undefined;
    this.#takesNull = notation.emptyIsNull || this.writesNull || formatsWithNull.includes(format);
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (kind === STRING || kind === TEXT) {
      if (this.#notation.isNatural && !this.#hasText[column] && bytes.subarray(start, end).some(isDigit))
        this.#hasText[column] = true;
    } else if (kind === NULL) {
      if (!this.#takesNull) this.#note(column, noNull);
    } else if (this.#nullWords.size > 0 || kind === NUMBER || kind === ROUNDED_NUMBER) {
      if (kind === TRUE || kind === FALSE) this.#value(column, String(kind === TRUE));
      else this.#number(column, kind, bytes.toString('utf8', start, end));
    }
  }

  /** Takes a value that is no text, as it is written. */
  #value(column: number, text: string): void {
    if (this.#nullWords.has(text))
      this.#note(column, `${shortenValue(text)} is no text, but a word of null_values`);
  }

  /** Returns the error of the first value that CSV cannot give back. */
  detail(names: readonly string[]): string | undefined {
    const mixed = this.#numbers.filter((number) => number !== undefined && this.#hasText[number.column]);
    const first = this.#first ?? mixed[0];
    if (first === undefined) return undefined;
    return `CSV cannot give back row ${first.row}, column "${shortenValue(names[first.column]!)}": ${first.detail}.`;
  }

  #number(column: number, kind: number, text: string): void {
    const { decimalSign, isNatural } = this.#notation;
    this.#value(column, decimalSign === '.' ? text : text.replace('.', decimalSign));
    const isNumber = kind === NUMBER || kind === ROUNDED_NUMBER;
    if (!isNatural || !isNumber || this.#numbers[column] !== undefined || /^-?\d+$/.test(text)) return;
    const detail = `${shortenValue(text)} is a number, and the column also has texts with digits, whose notation values=natural finds`;
    this.#numbers[column] = { row: this.row, column, detail };
  }

  #note(column: number, detail: string): void {
    this.#first ??= { row: this.row, column, detail };
  }
}

const noNull =
  'NULL would be an empty field, which may get a default or keep an old value. With null_values in the request, the first of its words is written';

/** @throws AppError `invalid-parameter` if CSV cannot give back a value. @param remedy what to do instead */
export function requireCsvFit(detail: string | undefined, remedy: string): void {
  if (detail !== undefined) throw new AppError('invalid-parameter', `${detail} ${remedy}`);
}
