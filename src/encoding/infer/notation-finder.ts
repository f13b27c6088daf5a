/**
 * Finds the notations of columns whose types are known from a definition or an existing table (`values=natural`).
 *
 * The types are not available while the rows are read, so each text is tried as a value of each family of types. A text that no
 * notation of a family reads does not count: it will be a problem of its cell. If the other texts of a column have no notation in
 * common, or several that read them differently, the column is read as usual, and the problems of its cells name the parameters.
 */

import { NUMBER, ROUNDED_NUMBER, STRING, TEXT } from '../../core/cells/cell-kind.ts';
import {
  BOOLEAN_VALUE,
  type CellSink,
  DATE_VALUE,
  INTERVAL_VALUE,
  NUMBER_VALUE,
  TIME_VALUE,
} from '../../core/cells/cell-sink.ts';
import { textKind } from '../../core/cells/text-kind.ts';
import { EXACT, OTHER } from '../text-reading/seen.ts';
import { classify } from './cell-class.ts';
import * as bits from './form-bits.ts';
import type { ColumnReading, TypeChoices } from './infer-types.ts';
import { naturalReading } from './natural-type.ts';
import { TextForms } from './text-forms.ts';

/** For each type that a column may want (`CellSink.wants`): the forms that its texts may have. */
const families: { wanted: number; forms: number; facts?: number }[] = [
  { wanted: DATE_VALUE, forms: bits.DATE_FORMS | bits.PLAIN_DATE },
  { wanted: NUMBER_VALUE, forms: bits.NUMBER_FORMS | bits.PLAIN_NUMBER | bits.NUMBER_SHAPES },
  // Here one of the two words is enough, because the type is known.
  { wanted: BOOLEAN_VALUE, forms: bits.WORD_SHAPES, facts: bits.HAS_TRUE | bits.HAS_FALSE },
  { wanted: TIME_VALUE, forms: bits.TIME },
  { wanted: INTERVAL_VALUE, forms: bits.DURATION },
];

class Family {
  readonly wanted: number;
  readonly forms: number;
  readonly facts: number;
  readonly texts: TextForms;
  row = 0;
  /** For each column the forms that all of its values of the family have, and facts about them. */
  readonly states: number[] = [];

  constructor({ wanted, forms, facts = 0 }: (typeof families)[number], { words }: TypeChoices) {
    this.wanted = wanted;
    this.forms = forms;
    this.facts = facts;
    this.texts = new TextForms(words);
  }

  note(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const state = this.states[column] ?? this.forms | this.facts;
    const facts = state & bits.FACTS;
    const found = classify(kind === TEXT ? textKind(bytes, start, end) : kind, bytes, start, end);
    let value =
      found === OTHER
        ? this.texts.withText(this.forms | facts, kind, column, this.row, bytes, start, end)
        : this.texts.withClass(this.forms | facts, found, column);
    if ((value & this.forms) === 0) return;
    if (found === EXACT && kind === TEXT) {
      this.texts.facts.addExact(column, true, bytes, start, end);
      this.texts.row = this.row;
      value = this.texts.withPoint(value, column, bytes, start, end);
    }
    this.states[column] = (state & value & this.forms) | (value & bits.FACTS);
  }
}

/** The sink that finds the notations. */
export class NotationFinder implements CellSink {
  readonly #families: Family[];
  readonly #preferred: number;
  /** The columns by their names, because another pass over the rows may number them differently. */
  readonly #columns = new Map<string, number>();

  constructor(choices: TypeChoices) {
    this.#families = families.map((family) => new Family(family, choices));
    this.#preferred = choices.preferred;
  }

  /**
   * Returns how the texts of the column with this name are read.
   *
   * @param wanted what the column wants, as in `CellSink.wants`
   * @returns undefined: as usual
   */
  readingOf(name: string, wanted: number): ColumnReading | undefined {
    const family = this.#families.find((found) => found.wanted === wanted);
    const column = this.#columns.get(name);
    const state = column === undefined ? undefined : family?.states[column];
    if (family === undefined || column === undefined || state === undefined) return undefined;
    const reading = naturalReading(state, family.texts.facts.of(column), this.#preferred);
    const first = family.texts.firstNeeding(column);
    if (reading === undefined || first === undefined) return undefined;
    return { ...reading, first, shortYear: family.texts.shortYear(column, reading.notation) };
  }

  column(column: number, name: string): void {
    this.#columns.set(name, column);
  }

  beginRow(row: number): void {
    for (const family of this.#families) family.row = row;
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const isText = kind === TEXT || kind === STRING;
    if (isText && start === end) return;
    if (!isText && kind !== NUMBER && kind !== ROUNDED_NUMBER) return;
    for (const family of this.#families) {
      if (isText || family.wanted === NUMBER_VALUE) family.note(column, kind, bytes, start, end);
    }
  }

  moment(): void {}

  fault(): void {}

  endRow(): void {}

  drain(): undefined {
    return undefined;
  }
}
