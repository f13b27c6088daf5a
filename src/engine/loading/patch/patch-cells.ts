/**
 * Corrects cells of an input before anything else reads them. The corrections count as the values of the file: types are inferred from
 * them, and they are checked like all others.
 */

import { FALSE, NULL, NUMBER, STRING, TEXT, TRUE } from '../../../core/cells/cell-kind.ts';
import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { ForwardingSink } from '../../../core/cells/forwarding-sink.ts';
import { formatMoment, momentText } from '../../../core/cells/moment-text.ts';
import { partsOfAddress } from '../../../core/cells/parts-of-address.ts';
import { AppError, type Problem } from '../../../core/errors.ts';
import { looseName } from '../../../encoding/columns/column-matching.ts';
import { shortenBytes, shortenValue } from '../../../encoding/problems/problems.ts';
import { maxColumns } from '../../tables/definition.ts';
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
  // A corrected value is also the value with which `fill_down` fills the cells below.
  input.passBeforeFilling?.(through);
  const wrapped = wrapInput(input, {
    through: input.passBeforeFilling ? (sink) => sink : through,
    warnings: () => [],
    afterPass: () => {
      pass?.requireAll();
      corrected = pass?.corrected ?? [];
    },
    corrected: () => corrected,
  });
  const readHead: LoadInput['readHead'] = async (sink, size, signal) => {
    patch ??= patchOf();
    return patch.length === 0 ? input.readHead!(sink, size, signal) : undefined;
  };
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
  readonly #input: Pick<LoadInput, 'locate' | 'nameMatching' | 'areBlanksValues'>;
  readonly #corrections: readonly Correction[];
  /** By the number of the data row; undefined: no row has begun. */
  #byRow: Map<number, RowCorrections> | undefined;
  /** By the column of the inner sink, as all columns here. */
  readonly #names: string[] = [];
  /** The columns of the inner sink, by those of the source; undefined: they are the same. */
  #targets: number[] | undefined;
  /** The columns that a correction has brought, and that the source has not named yet. JSON names a column with its first key. */
  readonly #brought = new Map<string, number>();
  readonly #columnsByName = new Map<string, number>();
  /** The first column with each name. Unused if names are exact. */
  readonly #columnsByLooseName = new Map<string, number>();
  /** The letters of the columns; unused if the cells have no addresses. */
  readonly #letters: string[] = [];
  readonly #columnsByLetters = new Map<string, number>();
  #row = 0;
  /** The corrections of the current row; undefined: it has none. */
  #ofRow: RowCorrections | undefined;

  constructor(inner: CellSink, input: LoadInput, patches: readonly CellPatch[]) {
    super(inner);
    this.#input = input;
    this.#corrections = patches.map((patch, index) => ({ ...patch, index, isDone: false }));
  }

  override column(source: number, name: string, place?: number, type?: string): void {
    const brought = this.#brought.get(name);
    const column = brought ?? this.#names.length;
    if (this.#targets !== undefined) this.#targets[source] = column;
    if (brought !== undefined) {
      this.#brought.delete(name);
      return;
    }
    this.#names.push(name);
    this.#columnsByName.set(name, column);
    if (this.#isLoose) setFirst(this.#columnsByLooseName, looseName(name), column);
    super.column(column, name, place, type);
    if (this.#ofRow !== undefined && this.#ofRow.byLetters.size > 0) this.#readLetters();
  }

  override beginRow(row: number): void {
    this.#row = row;
    this.#byRow ??= this.#groupByRow(row);
    this.#ofRow = this.#byRow.get(row);
    if (this.#ofRow !== undefined && this.#ofRow.byLetters.size > 0) this.#readLetters();
    super.beginRow(row);
  }

  override cell(source: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const column = this.#target(source);
    const correction = this.#ofRow && this.#find(column);
    if (correction === undefined) super.cell(column, kind, bytes, start, end);
    else this.#correct(column, correction, kind === NULL ? null : textOf(kind, bytes, start, end));
  }

  async longCell(source: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
    const column = this.#target(source);
    if (this.#ofRow && this.#find(column) !== undefined) this.cell(source, kind, bytes, start, end);
    else await this.passLong(column, kind, bytes, start, end);
  }

  override moment(source: number, kind: number, days: number, microseconds: number): void {
    const column = this.#target(source);
    const correction = this.#ofRow && this.#find(column);
    if (correction === undefined) super.moment(column, kind, days, microseconds);
    else this.#correct(column, correction, momentOf(kind, days, microseconds));
  }

  override fault(source: number, fault: number, bytes: Buffer, start: number, end: number): void {
    const column = source < 0 ? source : this.#target(source);
    const correction = this.#ofRow && column >= 0 ? this.#find(column) : undefined;
    if (correction === undefined) super.fault(column, fault, bytes, start, end);
    // A repeated key has another value of the cell, which is corrected already.
    else if (!correction.isDone) this.#correct(column, correction, shortenBytes(bytes, start, end));
  }

  override endRow(): void {
    for (const correction of this.#ofRow?.all ?? []) {
      if (correction.isDone) continue;
      const column = this.#columnOf(correction) ?? this.#bring(correction);
      if (column !== undefined && this.#find(column) === correction) this.#correct(column, correction, null);
    }
    super.endRow();
  }

  #target(source: number): number {
    return this.#targets === undefined ? source : this.#targets[source]!;
  }

  /** Names the column of a correction before the source does. `requireAll` refuses the correction if the source never does. */
  #bring({ cell, column: name }: Correction): number | undefined {
    if (this.#isLoose || cell !== undefined || this.#names.length >= maxColumns) return undefined;
    const column = this.#names.length;
    this.#targets ??= Array.from(this.#names, (_, index) => index);
    this.#brought.set(name!, column);
    this.#names.push(name!);
    this.#columnsByName.set(name!, column);
    super.column(column, name!);
    return column;
  }

  /** @throws AppError `invalid-parameter` if a correction is of a cell that the data does not have */
  requireAll(): void {
    const missing = this.#corrections.filter(
      ({ isDone, column = '' }) => !isDone || this.#brought.has(column),
    );
    if (missing.length === 0) return;
    const errors = missing.slice(0, maxListed).map((correction) => this.#missingCell(correction));
    throw new AppError('invalid-parameter', errors[0]!.detail, { errors, errorCount: missing.length });
  }

  #missingCell({ index, row, cell, column }: Correction): Problem {
    const place = cell === undefined ? `row ${row}, column "${shortenValue(column!)}"` : addressText(cell);
    const detail = `Correction ${index + 1} names a cell that the data does not have: ${place}. Row 1 is the first row below the header. A blank row has no cells.`;
    return { parameter: 'patch', pointer: `/${index}`, code: 'no-such-cell', detail };
  }

  /** @param first the number of the first data row, from which the rows of the sheet are counted */
  #groupByRow(first: number): Map<number, RowCorrections> {
    const found = new Map<number, RowCorrections>();
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
      const ofRow = found.get(row!) ?? new RowCorrections();
      ofRow.add(correction, this.#isLoose);
      found.set(row!, ofRow);
    }
    return found;
  }

  /** Returns the correction of a cell of the current row. @throws AppError `invalid-parameter` if two corrections are of the cell, or if `cell` and `column` disagree */
  #find(column: number): Correction | undefined {
    const { byLetters, byName, byLooseName } = this.#ofRow!;
    const name = this.#names[column]!;
    const addressed = byLetters.size > 0 ? byLetters.get(this.#letters[column] ?? '') : undefined;
    if (addressed !== undefined) this.#requireName(addressed, name);
    const exact = byName.get(name);
    if (exact !== undefined && addressed === undefined) return exact;
    const similar = byLooseName.size > 0 ? byLooseName.get(looseName(name)) : undefined;
    const named = exact ?? similar?.find((one) => !this.#columnsByName.has(one.column!));
    if (addressed !== undefined && named !== undefined) throw repeatedCell(addressed, named);
    const second = exact ?? similar?.findLast((one) => !this.#columnsByName.has(one.column!));
    if (named !== undefined && named !== second) throw repeatedCell(named, second!);
    return addressed ?? named;
  }

  /** @throws AppError `invalid-parameter` if a correction with an address names another column than the one of its cell */
  #requireName({ cell, column: name, index }: Correction, actual: string): void {
    if (name === undefined || name === actual) return;
    if (this.#isLoose && looseName(name) === looseName(actual) && !this.#columnsByName.has(name)) return;
    const detail = `The cell ${addressText(cell!)} is in the column "${shortenValue(actual)}", not in "${shortenValue(name)}".`;
    throw faultAt(index, '/column', 'no-such-cell', detail);
  }

  #columnOf({ cell, column }: Correction): number | undefined {
    if (cell !== undefined) return this.#columnsByLetters.get(cell.letters);
    return this.#columnsByName.get(column!) ?? this.#columnsByLooseName.get(looseName(column!));
  }

  get #isLoose(): boolean {
    return this.#input.nameMatching === 'loose';
  }

  /** Reads the letters of the columns that came since the last call. */
  #readLetters(): void {
    for (let column = this.#letters.length; column < this.#names.length; column++) {
      const { cell } = this.#input.locate(this.#row, column, this.#names[column]!);
      const letters = partsOfAddress(cell)?.letters ?? '';
      this.#letters.push(letters);
      this.#columnsByLetters.set(letters, column);
    }
  }

  #correct(column: number, correction: Correction, from: string | null): void {
    const value = this.#isField ? fieldValue(correction.value) : correction.value;
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
      to: value === undefined ? null : shownValue(value),
    });
    if (value === undefined) return;
    const bytes = Buffer.from(value instanceof JsonNumber ? value.text : String(value ?? ''));
    super.cell(column, value === correction.value ? this.#kindOf(value) : STRING, bytes, 0, bytes.length);
  }

  /** Returns whether a text is read as a field of a text file, in which an empty field is no cell. */
  get #isField(): boolean {
    return this.#isLoose && this.#input.areBlanksValues !== true;
  }

  #kindOf(value: PatchValue): number {
    if (value === null) return NULL;
    if (typeof value === 'boolean') return value ? TRUE : FALSE;
    if (value instanceof JsonNumber) return NUMBER;
    // A person writes a value of a file as text, and the type of the column decides how it is read.
    return this.#isLoose ? TEXT : STRING;
  }
}

/** The corrections of one row, found in the same time however many they are. */
class RowCorrections {
  readonly all: Correction[] = [];
  /** The corrections that name their cell by its address, by the letters of the column. */
  readonly byLetters = new Map<string, Correction>();
  /** The other corrections, by the name of the column. */
  readonly byName = new Map<string, Correction>();
  /** The corrections of `byName`, by `looseName`; empty if names are exact. */
  readonly byLooseName = new Map<string, Correction[]>();

  /** @throws AppError `invalid-parameter` if the row has a correction with the same address or name */
  add(correction: Correction, isLoose: boolean): void {
    const { cell, column } = correction;
    const same = cell === undefined ? this.byName.get(column!) : this.byLetters.get(cell.letters);
    if (same !== undefined) throw repeatedCell(same, correction);
    this.all.push(correction);
    if (cell !== undefined) {
      this.byLetters.set(cell.letters, correction);
      return;
    }
    this.byName.set(column!, correction);
    if (!isLoose) return;
    const loose = looseName(column!);
    const similar = this.byLooseName.get(loose);
    if (similar === undefined) this.byLooseName.set(loose, [correction]);
    else similar.push(correction);
  }
}

/** Returns the value of a field; undefined: it is no cell. A formula of one text (`="00042"`) is this text. */
function fieldValue(value: PatchValue): PatchValue | undefined {
  if (typeof value !== 'string') return value;
  const inner = value.slice(2, -1);
  const isFormula = value.length > 2 && value.startsWith('="') && value.endsWith('"');
  const text = isFormula && !inner.replaceAll('""', '').includes('"') ? inner.replaceAll('""', '"') : value;
  return text === '' ? undefined : text;
}

function repeatedCell(one: Correction, other: Correction): AppError {
  const [first, second] = one.index < other.index ? [one, other] : [other, one];
  const detail = `The corrections ${first.index + 1} and ${second.index + 1} are of the same cell.`;
  return faultAt(second.index, '', 'repeated-cell', detail);
}

function setFirst(columns: Map<string, number>, name: string, column: number): void {
  if (!columns.has(name)) columns.set(name, column);
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
