/**
 * Fills empty cells with the value above them, in the columns that the caller names (`fill_down`). In many tables a group has its label only in
 * its first row.
 */

import { GrowableBytes } from '../../core/bytes/growable-bytes.ts';
import { isBlank } from '../../core/bytes/white-space.ts';
import { NULL, STRING, TEXT } from '../../core/cells/cell-kind.ts';
import type { CellSink } from '../../core/cells/cell-sink.ts';
import type { ExpandedBytes } from '../../core/cells/expanded-bytes.ts';
import { ForwardingSink } from '../../core/cells/forwarding-sink.ts';
import type { Warning } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import type { SheetRowsOptions } from './sheet-rows-options.ts';

/** The sink keeps the rows of a slice of the file, and two bytes of the file may be a row. So the values that rows repeat are short. */
const maxLabelBytes = 1000;

const tooManyBytes = 'The values that fill_down repeats have too many bytes for a file of this size';
const remedy = 'The limit is higher for a larger file, by MAX_UNPACK_RATIO.';

const CELL = 0;
const MOMENT = 1;
const FAULT = 2;

/** The last value of a column. */
class Label {
  readonly column: number;
  readonly name: string;
  /** The last row in which the column had a value. */
  row = 0;
  what = CELL;
  kind = NULL;
  days = 0;
  microseconds = 0;
  /** false: the value is too long to be repeated. */
  isShort = true;
  readonly bytes = new GrowableBytes({ maxBytes: maxLabelBytes, exceeded: () => this.tooLong() });

  constructor(column: number, name: string) {
    this.column = column;
    this.name = name;
  }

  keep(what: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.what = what;
    this.kind = kind;
    this.bytes.clear();
    this.isShort = end - start <= maxLabelBytes;
    if (this.isShort) this.bytes.append(bytes, start, end);
  }

  tooLong(): Error {
    const what = `A value of the column ${JSON.stringify(this.name)} is too long to be repeated by fill_down`;
    return limitExceeded(what, maxLabelBytes, 'bytes');
  }
}

type FillDownOptions = Pick<SheetRowsOptions, 'fillDown' | 'expanded' | 'areBlanksValues'>;

export class FillDownSink extends ForwardingSink {
  readonly #wanted: ReadonlyMap<string, string>;
  readonly #missing: Set<string>;
  readonly #expanded: ExpandedBytes;
  readonly #areBlanksValues: boolean;
  readonly #labels: Label[] = [];
  /** By column; undefined: the column is not filled. */
  readonly #byColumn: (Label | undefined)[] = [];
  #row = 0;

  /** @param options `fillDown`: the columns that are filled; case does not matter. `areBlanksValues`: a blank text is not an empty cell */
  constructor(inner: CellSink, { fillDown: names, expanded, areBlanksValues }: FillDownOptions) {
    super(inner);
    this.#areBlanksValues = areBlanksValues;
    this.#wanted = new Map(names.map((name) => [name.toLowerCase(), name]));
    this.#missing = new Set(names);
    this.#expanded = expanded;
  }

  override column(column: number, name: string, place?: number): void {
    const wanted = this.#wanted.get(name.toLowerCase());
    const label = wanted === undefined ? undefined : new Label(column, name);
    this.#byColumn[column] = label;
    if (label !== undefined) this.#labels.push(label);
    if (wanted !== undefined) this.#missing.delete(wanted);
    super.column(column, name, place);
  }

  override beginRow(row: number): void {
    this.#row = row;
    super.beginRow(row);
  }

  override cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const label = this.#byColumn[column];
    if (label !== undefined) {
      const isText = kind === TEXT || kind === STRING;
      if (isText && !this.#areBlanksValues && isBlank(bytes, start, end)) return;
      label.row = this.#row;
      label.keep(CELL, kind, bytes, start, end);
    }
    super.cell(column, kind, bytes, start, end);
  }

  override moment(column: number, kind: number, days: number, microseconds: number): void {
    const label = this.#byColumn[column];
    if (label !== undefined) {
      label.row = this.#row;
      label.what = MOMENT;
      label.kind = kind;
      label.days = days;
      label.microseconds = microseconds;
    }
    super.moment(column, kind, days, microseconds);
  }

  override fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    const label = column < 0 ? undefined : this.#byColumn[column];
    if (label !== undefined) {
      label.row = this.#row;
      label.keep(FAULT, fault, bytes, start, end);
    }
    super.fault(column, fault, bytes, start, end);
  }

  override endRow(): void {
    for (const label of this.#labels) if (label.row !== this.#row) this.#fill(label);
    super.endRow();
  }

  #fill(label: Label): void {
    if (label.row === 0) return;
    const { column, what, kind, bytes } = label;
    if (what === MOMENT) {
      super.moment(column, kind, label.days, label.microseconds);
      return;
    }
    if (!label.isShort) throw label.tooLong();
    this.#expanded.add(bytes.length, tooManyBytes, remedy);
    if (what === FAULT) super.fault(column, kind, bytes.bytes, 0, bytes.length);
    else super.cell(column, kind, bytes.bytes, 0, bytes.length);
  }

  /** Returns a warning for each name that the sheet does not have. */
  warnings(): Warning[] {
    return [...this.#missing].map((name) => ({
      code: 'nothing-filled',
      column: name,
      detail: `The file has no column ${JSON.stringify(name)}, which \`fill_down\` names.`,
    }));
  }
}
