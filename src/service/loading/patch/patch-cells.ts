/**
 * Corrects cells of an input before anything else reads them. The corrections count as the values of the file: types are inferred from
 * them, and they are checked like all others.
 */

import { FALSE, NULL, NUMBER, STRING, TEXT, TRUE } from '../../../core/cells/cell-kind.ts';
import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { ForwardingSink } from '../../../core/cells/forwarding-sink.ts';
import { formatMoment, momentText } from '../../../core/cells/moment-text.ts';
import { AppError, type Problem } from '../../../core/errors.ts';
import { looseName } from '../../../encoding/columns/column-matching.ts';
import { shortenBytes, shortenValue } from '../../../encoding/problems/problems.ts';
import type { CorrectedCell, LoadInput } from '../inputs/load-input.ts';
import { wrapInput } from '../inputs/wrap-input.ts';
import { type CellPatch, faultAt, JsonNumber, type PatchValue } from './cell-patch.ts';

/**
 * Returns the input with the corrections. It tells them as `corrected`, in the order in which the cells were read.
 *
 * @param patchOf returns the corrections. Called when the rows are read, because those of a JSON body come with it
 */
export function patchCells(input: LoadInput, patchOf: () => readonly CellPatch[]): LoadInput {
  let patch: readonly CellPatch[] | undefined;
  let pass: PatchSink | undefined;
  let corrected: readonly CorrectedCell[] = [];
  const through = (sink: CellSink): CellSink => {
    patch ??= patchOf();
    if (patch.length === 0) return sink;
    pass = new PatchSink(sink, input, patch);
    return pass;
  };
  const wrapped = wrapInput(input, {
    through,
    warnings: () => [],
    afterPass: () => {
      pass?.requireAll();
      corrected = pass?.corrected ?? [];
    },
    corrected: () => corrected,
  });
  const readHead: LoadInput['readHead'] = async (sink, size, signal) =>
    through(sink) === sink ? input.readHead!(sink, size, signal) : undefined;
  // The corrections belong to the rows as they were sent.
  return Object.assign(wrapped, { sent: undefined }, input.readHead && { readHead });
}

interface Correction extends CellPatch {
  /** The place in the list of corrections. */
  index: number;
  isDone: boolean;
}

class PatchSink extends ForwardingSink {
  readonly corrected: CorrectedCell[] = [];
  readonly #input: Pick<LoadInput, 'locate' | 'nameMatching'>;
  readonly #corrections: readonly Correction[];
  /** By the number of the data row; undefined: no row has begun. */
  #byRow: Map<number, Correction[]> | undefined;
  readonly #names: string[] = [];
  readonly #letters: (string | undefined)[] = [];
  #row = 0;
  /** The corrections of the current row; undefined: it has none. */
  #ofRow: Correction[] | undefined;

  constructor(inner: CellSink, input: LoadInput, patches: readonly CellPatch[]) {
    super(inner);
    this.#input = input;
    this.#corrections = patches.map((patch, index) => ({ ...patch, index, isDone: false }));
  }

  override column(column: number, name: string, place?: number, type?: string): void {
    this.#names[column] = name;
    super.column(column, name, place, type);
  }

  override beginRow(row: number): void {
    this.#row = row;
    this.#byRow ??= this.#groupByRow(row);
    this.#ofRow = this.#byRow.get(row);
    super.beginRow(row);
  }

  override cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const correction = this.#ofRow && this.#find(column);
    if (correction === undefined) super.cell(column, kind, bytes, start, end);
    else this.#correct(column, correction, kind === NULL ? null : textOf(kind, bytes, start, end));
  }

  override moment(column: number, kind: number, days: number, microseconds: number): void {
    const correction = this.#ofRow && this.#find(column);
    if (correction === undefined) super.moment(column, kind, days, microseconds);
    else this.#correct(column, correction, momentOf(kind, days, microseconds));
  }

  override fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    const correction = this.#ofRow && column >= 0 ? this.#find(column) : undefined;
    if (correction === undefined) super.fault(column, fault, bytes, start, end);
    else this.#correct(column, correction, shortenBytes(bytes, start, end));
  }

  override endRow(): void {
    for (const correction of this.#ofRow ?? []) {
      if (correction.isDone) continue;
      const column = this.#names.findIndex((_, index) => this.#find(index) === correction);
      if (column >= 0) this.#correct(column, correction, null);
    }
    super.endRow();
  }

  /** @throws AppError `invalid-parameter` if a correction is of a cell that the data does not have */
  requireAll(): void {
    const missing = this.#corrections.filter(({ isDone }) => !isDone);
    if (missing.length === 0) return;
    const errors = missing.slice(0, maxListed).map((correction) => this.#missingCell(correction));
    throw new AppError('invalid-parameter', errors[0]!.detail, { errors, errorCount: missing.length });
  }

  #missingCell({ index, row, cell, column }: Correction): Problem {
    const place = cell === undefined ? `row ${row}, column "${shortenValue(column!)}"` : addressText(cell);
    const detail = `The correction ${index + 1} names a cell that the data does not have: ${place}. Rows count from the first row below the header; blank rows are none.`;
    return { parameter: 'patch', pointer: `/${index}`, code: 'no-such-cell', detail };
  }

  /** @param first the number of the first data row, from which the rows of the sheet are counted */
  #groupByRow(first: number): Map<number, Correction[]> {
    const found = new Map<number, Correction[]>();
    const { cell = '', sheet } = this.#input.locate(first, -1, '');
    const firstSheetRow = Number(/(\d+):\d+$/.exec(cell)?.[1]);
    for (const correction of this.#corrections) {
      const { cell: address, index } = correction;
      let { row } = correction;
      if (address !== undefined) {
        if (Number.isNaN(firstSheetRow))
          throw faultAt(
            index,
            '/cell',
            'no-such-cell',
            'The data has no cells with addresses: send `row` and `column`.',
          );
        if (address.sheet !== undefined && address.sheet.toLowerCase() !== sheet?.toLowerCase()) continue;
        row = address.sheetRow - firstSheetRow + first;
      }
      const ofRow = found.get(row!);
      if (ofRow === undefined) found.set(row!, [correction]);
      else ofRow.push(correction);
    }
    return found;
  }

  /** Returns the correction of a cell of the current row. @throws AppError `invalid-parameter` if two corrections are of the cell, or if `cell` and `column` disagree */
  #find(column: number): Correction | undefined {
    const found = this.#ofRow!.filter((correction) => this.#isOf(correction, column));
    if (found.length < 2) return found[0];
    const exact = found.filter((correction) => correction.column === this.#names[column]);
    if (exact.length === 1 && found.every(({ cell }) => cell === undefined)) return exact[0];
    const { index } = found[1]!;
    throw faultAt(
      index,
      '',
      'repeated-cell',
      `The corrections ${found[0]!.index + 1} and ${index + 1} are of the same cell.`,
    );
  }

  #isOf({ cell, column: name, index }: Correction, column: number): boolean {
    const actual = this.#names[column]!;
    if (cell === undefined) return this.#isNamed(name!, actual);
    if (cell.letters !== this.#lettersOf(column)) return false;
    if (name === undefined || this.#isNamed(name, actual)) return true;
    const detail = `The cell ${addressText(cell)} is in the column "${shortenValue(actual)}", not in "${shortenValue(name)}".`;
    throw faultAt(index, '/column', 'no-such-cell', detail);
  }

  #isNamed(name: string, actual: string): boolean {
    if (name === actual) return true;
    return (
      this.#input.nameMatching === 'loose' &&
      looseName(name) === looseName(actual) &&
      !this.#names.includes(name)
    );
  }

  #lettersOf(column: number): string {
    this.#letters[column] ??=
      /([A-Z]+)\d+$/.exec(this.#input.locate(this.#row, column, this.#names[column]!).cell ?? '')?.[1] ?? '';
    return this.#letters[column]!;
  }

  #correct(column: number, correction: Correction, from: string | null): void {
    const { value } = correction;
    correction.isDone = true;
    const { pointer, line, cell } = this.#input.locate(this.#row, column, this.#names[column]!);
    const place = {
      ...(pointer !== undefined && { pointer }),
      ...(line !== undefined && { line }),
      ...(cell !== undefined && { cell }),
    };
    this.corrected.push({
      ...place,
      row: this.#row,
      column: this.#names[column]!,
      from,
      to: shownValue(value),
    });
    const bytes = Buffer.from(value instanceof JsonNumber ? value.text : String(value ?? ''));
    super.cell(column, this.#kindOf(value), bytes, 0, bytes.length);
  }

  #kindOf(value: PatchValue): number {
    if (value === null) return NULL;
    if (typeof value === 'boolean') return value ? TRUE : FALSE;
    if (value instanceof JsonNumber) return NUMBER;
    // A person writes a value of a file as text, and the type of the column decides how it is read.
    return this.#input.nameMatching === 'loose' ? TEXT : STRING;
  }
}

const maxListed = 100;

function textOf(kind: number, bytes: Buffer, start: number, end: number): string {
  if (kind === TRUE || kind === FALSE) return String(kind === TRUE);
  return shortenBytes(bytes, start, end);
}

function momentOf(kind: number, days: number, microseconds: number): string {
  return momentText.toString('latin1', 0, formatMoment(kind, days, microseconds));
}

function shownValue(value: PatchValue): string | null {
  if (value === null) return null;
  return shortenValue(value instanceof JsonNumber ? value.text : String(value));
}

function addressText({ sheet, letters, sheetRow }: NonNullable<CellPatch['cell']>): string {
  return `${sheet === undefined ? '' : `${sheet}!`}${letters}${sheetRow}`;
}
