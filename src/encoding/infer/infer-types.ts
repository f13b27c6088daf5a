/**
 * Infers the column types of a table from all rows as they stream by, never from a sample.
 *
 * A column gets the narrowest type that returns every one of its values (type-of.ts). Numbers keep their value and every
 * digit: `1.0` and `1e3` are `numeric` (`1.0`, `1000`), and `-0` is the number zero. A date-time with an offset keeps its instant, not its
 * offset. If only text keeps a value, the column is `text`. A column whose type the file states has this type, whatever its values are.
 */

import { MINUS, ZERO } from '../../core/bytes/ascii.ts';
import { NULL, NUMBER, ROUNDED_NUMBER, STRING, TEXT } from '../../core/cells/cell-kind.ts';
import { type CellSink, READ_AS_MOMENT } from '../../core/cells/cell-sink.ts';
import { formatMoment, momentText } from '../../core/cells/moment-text.ts';
import { losesDigits } from '../../core/cells/rounded-number.ts';
import { textKind } from '../../core/cells/text-kind.ts';
import { problemColumn } from '../../core/identifiers.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { shortenBytes } from '../problems/problems.ts';
import { englishWords, type LanguageWords } from '../text-reading/natural/language-words.ts';
import { ANY_CLASS, EXACT, MIXED, NOTHING, OTHER, WHOLE, withCapacity } from '../text-reading/seen.ts';
import { isAlteredNumber } from './altered-number.ts';
import { classify, classifyMoment } from './cell-class.ts';
import { ALL_FORMS, COMMA_FORMS, DATE_FORMS } from './form-bits.ts';
import type { ShortYearSighting } from './natural-facts.ts';
import type { NaturalReading } from './natural-type.ts';
import { takeClassified } from './nested-class.ts';
import { ALWAYS_NUMERIC_BYTES } from './number-class.ts';
import { FEW, type Oddity, OddValues, type Sighting } from './odd-values.ts';
import { type FormHint, TextForms } from './text-forms.ts';
import { isNumberType, typeOf } from './type-of.ts';

export type { NaturalReading } from './natural-type.ts';
export type { InferredType } from './type-of.ts';

export interface InferredColumn {
  name: string;
  /** An `InferredType`, or the type that the file states. */
  type: string;
  /** The column's number in the sink. */
  column: number;
  /** The first value of a column of numbers. */
  firstValue?: string;
  /** Why a column is text although most of its values, or all values before one, have another type. */
  oddity?: Oddity;
  /** The first text of the column that a number type would change (altered-number.ts). It is looked for only if the column has an oddity. */
  altered?: Sighting;
  /** The parameters that would read the values of a text column as dates or numbers. */
  hint?: FormHint;
  /** The data row of the first number that loses digits, because it is rounded to 15 significant digits. */
  roundedIn?: number;
  /** In each of the column's numbers with a point, the point may separate thousands: `1.234`. */
  isGroupedByPoint?: boolean;
  /** How the texts of the column are read; undefined: as they are, in the notation of PostgreSQL. */
  reading?: ColumnReading;
}

/** How `values=natural` reads the texts of a column. */
export interface ColumnReading extends NaturalReading {
  first: Sighting;
  /** The first date with a year of two digits. */
  shortYear?: (ShortYearSighting & { readAs: string }) | undefined;
}

interface FirstValue {
  sighting: Sighting;
  /** The number of rows whose beginning the sink has received. */
  rowCount: number;
}

export interface InferenceLimits {
  maxColumns: number;
  maxRows: number;
}

/** What the caller has chosen about the types of columns. */
export interface TypeChoices {
  /** Every column is text. */
  allText: boolean;
  /** Columns whose values have one notation get its type (`values=natural`). */
  isNatural: boolean;
  /** The notations that decide if several fit: a union of bits of form-bits.ts. */
  preferred: number;
  words: LanguageWords;
}

/** The types of PostgreSQL's own notation. */
export const usualChoices: TypeChoices = {
  allText: false,
  isNatural: false,
  preferred: 0,
  words: englishWords,
};

const INITIAL_COLUMNS = 64;

/**
 * The sink that infers column types. Its memory grows only with the number of columns.
 *
 * A cell with a problem counts as a missing cell. The function `onFault` decides whether it stops the load.
 */
export class TypeInference implements CellSink {
  readonly #limits: InferenceLimits;
  readonly #onFault: CellSink['fault'] | undefined;
  readonly #names: string[] = [];
  /** For each column the union of the classes of its values (seen.ts). After the type can only be `text`, it is `MIXED` or `OTHER` alone. */
  #seen = new Uint16Array(INITIAL_COLUMNS);
  /** For each column the forms that all of its values so far may have (form-bits.ts). */
  #forms = new Int32Array(INITIAL_COLUMNS).fill(ALL_FORMS);
  /** For each column the classes of which a further value changes nothing: in cells of all kinds except `TEXT` (`#known`), and in `TEXT` cells (`#knownTexts`). */
  #known = new Uint16Array(INITIAL_COLUMNS);
  #knownTexts = new Uint16Array(INITIAL_COLUMNS);
  readonly #choices: TypeChoices;
  readonly #textForms: TextForms;
  /** With `isNatural`: how each column is read. */
  readonly #readings: (NaturalReading | undefined)[] = [];
  readonly #places: number[] = [];
  /** The types that the file states. */
  readonly #stated: (string | undefined)[] = [];
  /** The first value of each column. */
  readonly #firstValues: (FirstValue | undefined)[] = [];
  /** For text columns: the value that made the column text, if the values before it had another type. */
  readonly #turns: (Oddity | undefined)[] = [];
  /** For columns that are or were `MIXED`: the counts of their values by type. */
  readonly #oddValues: (OddValues | undefined)[] = [];
  /** For columns with odd values: the first text that a number type would change. */
  readonly #altered: (Sighting | undefined)[] = [];
  readonly #firstRows: number[] = [];
  /** For each column the data row of the first number that loses digits. */
  readonly #roundedRows: (number | undefined)[] = [];
  /** The columns that have had the number `-0`, which `bigint` stores as 0. */
  readonly #withMinusZero = new Set<number>();
  /** The arguments of the last call of `original`. */
  #rewritten: Buffer | undefined;
  #isMomentRewritten = false;
  #original: Buffer = READ_AS_MOMENT;
  #originalStart = 0;
  #originalEnd = 0;
  #rowCount = 0;
  #row = 0;
  #changes = 0;

  /** @param onFault called for every problem of the current row that the source reports; see `CellSink.fault` */
  constructor(limits: InferenceLimits, onFault?: CellSink['fault'], choices = usualChoices) {
    this.#limits = limits;
    this.#onFault = onFault;
    this.#choices = choices;
    this.#textForms = new TextForms(choices.words);
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  /** Returns the number of the current data row. */
  get row(): number {
    return this.#row;
  }

  /** How many times a column was added or the type of a column has changed. */
  get changes(): number {
    return this.#changes;
  }

  /** Returns the columns in the order of the sheet, or in the order in which they first appeared. The column with the reasons of faulty rows is left out. */
  columns(): InferredColumn[] {
    const columns = this.#names.map((name, column) => {
      if (this.#choices.allText) return { name, type: 'text', column };
      const stated = this.#stated[column];
      if (stated !== undefined) return { name, type: stated, column };
      const oddity = this.#oddValues[column]?.oddity ?? this.#turns[column];
      const type = typeOf(this.#seen[column]!);
      const reading = type === 'text' || type === 'numeric' ? this.#reading(column) : undefined;
      if (reading !== undefined) {
        const firstValue = this.#firstValues[column]!.sighting.value;
        return {
          name,
          type: reading.type,
          column,
          reading,
          ...(isNumberType(reading.type) && { firstValue }),
        };
      }
      const forms = this.#forms[column]!;
      const hint = type === 'text' ? this.#hint(column, forms, oddity) : undefined;
      const isGroupedByPoint = type === 'numeric' && this.#textForms.isGroupedByPoint(forms);
      return {
        name,
        type,
        column,
        ...(isNumberType(type) && { firstValue: this.#firstValues[column]!.sighting.value }),
        ...(oddity && { oddity }),
        ...(this.#altered[column] && { altered: this.#altered[column] }),
        ...(hint && { hint }),
        ...(isGroupedByPoint && { isGroupedByPoint }),
        ...(this.#roundedRows[column] !== undefined && { roundedIn: this.#roundedRows[column] }),
      };
    });
    const shown = columns.filter(({ name }) => name !== problemColumn);
    return shown.sort((a, b) => this.#places[a.column]! - this.#places[b.column]!);
  }

  #reading(column: number): ColumnReading | undefined {
    const reading = this.#readings[column];
    if (reading === undefined) return undefined;
    const first = this.#textForms.firstNeeding(column)!;
    return { ...reading, first, shortYear: this.#textForms.shortYear(column, reading.notation) };
  }

  #hint(column: number, forms: number, oddity: Oddity | undefined): FormHint | undefined {
    const hint =
      this.#textForms.hint(column, forms, this.#choices.preferred) ??
      this.#textForms.nullWordsHint(column, forms);
    // If the only odd value of a column is a word for no value, the hint is left out: the warning about the odd value already names `null_values`.
    const isOddValue = hint?.plain !== undefined && hint.nullWords.length === 1 && oddity !== undefined;
    return isOddValue ? undefined : hint;
  }

  /** Returns the data row that named the column; 0: the column was named before the rows. */
  firstRow(column: number): number {
    return this.#firstRows[column]!;
  }

  /** Returns the data row that has the first value of the column; undefined: no row has one. */
  firstValueRow(column: number): number | undefined {
    return this.#firstValues[column]?.sighting.row;
  }

  /** Returns whether a row has the number `-0` in the column. It is known as long as all values are whole numbers. */
  hasMinusZero(column: number): boolean {
    return this.#withMinusZero.has(column);
  }

  /**
   * Returns the classes of which no cell of this kind changes anything, so that such a cell need not be passed to `cell`. The
   * number `-0` and a `ROUNDED_NUMBER` must always be passed.
   *
   * @returns a union of classes of seen.ts; `ANY_CLASS`: no cell changes anything
   */
  classesKnown(column: number, kind: number): number {
    if (this.#choices.allText) return ANY_CLASS;
    return kind === TEXT ? this.#knownTexts[column]! : this.#known[column]!;
  }

  /** Returns whether no moment of this kind changes anything, so that it need not be passed to `moment`. */
  isMomentKnown(column: number, kind: number): boolean {
    return !this.#isMomentRewritten && (this.#known[column]! & classifyMoment(kind)) !== 0;
  }

  /** @throws AppError `limit-exceeded` */
  column(column: number, name: string, place = column, type?: string): void {
    if (column >= this.#limits.maxColumns) {
      throw limitExceeded('The data has too many columns', this.#limits.maxColumns, {
        setting: 'MAX_COLUMNS',
      });
    }
    if (column >= this.#seen.length) this.#growTo(column + 1);
    this.#names[column] = name;
    this.#places[column] = place;
    // `values=natural` asks for the types of texts.
    if (type !== undefined && !(type === 'text' && this.#choices.isNatural)) this.#state(column, type);
    this.#firstRows[column] = this.#row;
    this.#changes++;
  }

  /** Notes the type of a column. Its values tell nothing new. */
  #state(column: number, type: string): void {
    this.#stated[column] = type;
    this.#seen[column] = OTHER;
    this.#forms[column] = 0;
    this.#noteKnown(column);
  }

  /** @throws AppError `limit-exceeded` */
  original(rewritten: Buffer, bytes: Buffer, start: number, end: number): void {
    this.#rewritten = rewritten;
    this.#isMomentRewritten = rewritten === READ_AS_MOMENT;
    this.#original = bytes;
    this.#originalStart = start;
    this.#originalEnd = end;
  }

  beginRow(row: number): void {
    if (this.#rowCount >= this.#limits.maxRows) {
      throw limitExceeded('The data has too many rows', this.#limits.maxRows, { setting: 'MAX_ROWS' });
    }
    this.#rowCount++;
    this.#row = row;
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (kind === NULL || this.#choices.allText) return;
    if (
      kind === ROUNDED_NUMBER &&
      this.#roundedRows[column] === undefined &&
      losesDigits(bytes, start, end)
    ) {
      this.#roundedRows[column] = this.#row;
    }
    const seen = this.#seen[column]!;
    const forms = this.#forms[column]!;
    if (seen === OTHER && forms === 0) {
      if (this.#mayBeAltered(column)) this.#noteAltered(column, kind, bytes, start, end);
      return;
    }
    // This test is an optimization: in a `numeric` column most numbers need no more checks, and a cell takes 6 ns instead of 19.
    if (kind === NUMBER && (seen & EXACT) !== 0 && end - start <= ALWAYS_NUMERIC_BYTES) return;
    const found = classify(kind === TEXT ? textKind(bytes, start, end) : kind, bytes, start, end);
    const isNew = (seen & found) === 0;
    if (found === WHOLE && end - start === 2 && bytes[start] === MINUS && bytes[start + 1] === ZERO)
      this.#withMinusZero.add(column);
    const isPoint = found === EXACT && kind === TEXT && (forms & COMMA_FORMS) !== 0;
    if (forms !== 0 && (isNew || isPoint || found === OTHER)) {
      this.#noteForm(column, forms, kind, found, bytes, start, end);
    }
    if (isNew && seen !== OTHER && this.#take(column, seen, found)) {
      const value = bytes === this.#rewritten ? this.#originalText() : shortenBytes(bytes, start, end);
      this.#show(column, seen, found, value);
    }
    if (found === OTHER) this.#noteAltered(column, kind, bytes, start, end);
    this.#noteKnown(column);
  }

  async longCell(column: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
    // The class of a value changes nothing in a column that is text anyway.
    const isText = this.#choices.allText || (this.#seen[column] === OTHER && this.#forms[column] === 0);
    if (isText) this.cell(column, kind, bytes, start, end);
    else await takeClassified(bytes, start, end, () => this.cell(column, kind, bytes, start, end));
  }

  /** Returns whether a further text may show that a column must not be offered as numbers, although one odd value made it text. */
  #mayBeAltered(column: number): boolean {
    return isNumberType(this.#turns[column]?.type ?? '') && this.#altered[column] === undefined;
  }

  #noteAltered(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const isText = kind === STRING || kind === TEXT;
    if (!isText || this.#altered[column] !== undefined || !isAlteredNumber(bytes, start, end)) return;
    const value = bytes === this.#rewritten ? this.#originalText() : shortenBytes(bytes, start, end);
    this.#altered[column] = { row: this.#row, value };
    this.#noteKnown(column);
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    const isRewritten = this.#isMomentRewritten;
    this.#isMomentRewritten = false;
    if (this.#choices.allText) return;
    const seen = this.#seen[column]!;
    const forms = this.#forms[column]!;
    if (seen === OTHER && forms === 0) return;
    const found = classifyMoment(kind);
    if (forms !== 0)
      this.#forms[column] = isRewritten
        ? this.#formsOfOriginal(column, forms)
        : this.#textForms.withClass(forms, found, column);
    if (this.#choices.isNatural && forms !== 0) this.#noteReading(column, forms);
    if (seen !== OTHER && (seen & found) === 0 && this.#take(column, seen, found)) {
      const length = formatMoment(kind, days, microseconds);
      const value = isRewritten ? this.#originalText() : momentText.toString('latin1', 0, length);
      this.#show(column, seen, found, value);
    }
    this.#noteKnown(column);
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    this.#onFault?.(column, fault, bytes, start, end);
  }

  /** Removes the forms that the original text of a rewritten value cannot have: 31/12/2026, which was read as a date, cannot be in the order mdy. */
  #formsOfOriginal(column: number, forms: number): number {
    const [start, end] = [this.#originalStart, this.#originalEnd];
    return this.#textForms.withText(forms, STRING, column, this.#row, this.#original, start, end);
  }

  #originalText(): string {
    return shortenBytes(this.#original, this.#originalStart, this.#originalEnd);
  }

  endRow(): void {}

  drain(): undefined {}

  /** Records which further cells of the column would change nothing (`classesKnown`). */
  #noteKnown(column: number): void {
    const seen = this.#seen[column]!;
    const forms = this.#forms[column]!;
    // In a text column each value may remove forms, and in a mixed one the values are counted. So nothing is known until no form is left.
    const known = seen === OTHER && forms === 0 && !this.#mayBeAltered(column) ? ANY_CLASS : seen;
    this.#known[column] = known;
    // In a text file the point of a further number may be a thousands sign, so numbers with a point must be passed as long as such forms are possible.
    this.#knownTexts[column] = (forms & COMMA_FORMS) === 0 ? known : known & ~EXACT;
  }

  /** Removes the forms that this value cannot have from the forms of its column. */
  #noteForm(
    column: number,
    forms: number,
    kind: number,
    found: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    let left: number;
    if (found !== OTHER) left = this.#textForms.withClass(forms, found, column);
    else if (kind === STRING || kind === TEXT)
      left = this.#textForms.withText(forms, kind, column, this.#row, bytes, start, end);
    else left = 0;
    if (found === EXACT) {
      this.#textForms.facts.addExact(column, kind === TEXT, bytes, start, end);
      this.#textForms.row = this.#row;
      if (kind === TEXT) left = this.#textForms.withPoint(left, column, bytes, start, end);
    }
    this.#forms[column] = left;
    if (!this.#choices.isNatural) return;
    const before = this.#readings[column];
    this.#noteReading(column, forms);
    const rows = this.#rowCount - (this.#firstValues[column]?.rowCount ?? this.#rowCount);
    if (left !== 0 || rows < FEW) return;
    // The dates above may fit several orders, such as 03/04/2026. The type is the same in each order.
    const above = before ?? this.#textForms.naturalReading(column, forms, DATE_FORMS);
    const first = { row: this.#row, value: shortenBytes(bytes, start, end) };
    if (above !== undefined) this.#turns[column] = { first, type: above.type };
  }

  /** Decides again how a column is read if a value has changed the facts about it. @param forms the forms before the value */
  #noteReading(column: number, forms: number): void {
    const { facts } = this.#textForms;
    if (this.#forms[column] === forms && !facts.hasChanged) return;
    facts.hasChanged = false;
    const reading = this.#textForms.naturalReading(column, this.#forms[column]!, this.#choices.preferred);
    if (JSON.stringify(reading) !== JSON.stringify(this.#readings[column])) this.#changes++;
    this.#readings[column] = reading;
  }

  /**
   * Handles a value of a class that is new to its column, and every value of a `MIXED` column.
   *
   * @returns whether the caller must pass the value's text to `#show`; this happens at most a few times for each column
   */
  #take(column: number, seen: number, found: number): boolean {
    if (seen === MIXED) return this.#count(column, found);
    const union = seen | found;
    const type = typeOf(union);
    const isText = type === 'text';
    if (type !== typeOf(seen)) this.#changes++;
    this.#seen[column] = isText ? this.#afterTurn(column, seen) : union;
    return isText || seen === NOTHING;
  }

  /**
   * Continues with a column that has just become text. If its first or second value made it text, its values are counted from here
   * on. Otherwise the value that made it text is the odd one.
   */
  #afterTurn(column: number, seen: number): number {
    if (seen === NOTHING) return MIXED;
    return this.#rowCount - this.#firstValues[column]!.rowCount === 1 ? MIXED : OTHER;
  }

  /**
   * Counts a value.
   *
   * @returns whether it is the first of its group
   */
  #count(column: number, found: number): boolean {
    const oddValues = this.#oddValues[column]!;
    const isFirst = oddValues.count(found);
    if (oddValues.isText) this.#seen[column] = OTHER;
    return isFirst;
  }

  /**
   * Keeps a value, with its place, to show it in a later warning.
   *
   * @param seen the union of the classes before this value
   */
  #show(column: number, seen: number, found: number, value: string): void {
    const sighting = { row: this.#row, value };
    if (seen === MIXED) {
      this.#oddValues[column]!.show(found, sighting);
      return;
    }
    const firstValue = this.#firstValues[column];
    if (firstValue === undefined) this.#firstValues[column] = { sighting, rowCount: this.#rowCount };
    else this.#turns[column] = { first: sighting, type: typeOf(seen) };
    if (this.#seen[column] !== MIXED) return;
    const oddValues = new OddValues();
    this.#oddValues[column] = oddValues;
    if (firstValue !== undefined && oddValues.count(seen)) oddValues.show(seen, firstValue.sighting);
    if (oddValues.count(found)) oddValues.show(found, sighting);
  }

  #growTo(columns: number): void {
    const capacity = Math.max(columns, this.#seen.length * 2);
    this.#seen = withCapacity(this.#seen, capacity);
    this.#known = withCapacity(this.#known, capacity);
    this.#knownTexts = withCapacity(this.#knownTexts, capacity);
    const forms = new Int32Array(capacity).fill(ALL_FORMS);
    forms.set(this.#forms);
    this.#forms = forms;
  }
}
