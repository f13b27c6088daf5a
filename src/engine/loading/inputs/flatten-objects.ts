/** Wraps an input of JSON so that the members of nested objects are columns (`flatten=true`). */
import type { CellSink, LocateCell } from '../../../core/cells/cell-sink.ts';
import type { Warning } from '../../../core/errors.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import { FlatteningSink } from '../../../readers/json/flattening-sink.ts';
import type { JsonLimits } from '../../../readers/json/json-limits.ts';
import type { ExpectedColumn, LoadInput } from './load-input.ts';
import { wrapInput } from './wrap-input.ts';

export interface Flattening {
  /** The text between the names of the members in the name of a column: `_` in `address_city`. */
  separator: string;
}

/** @param isUpdate rows may update existing rows, so NULL in place of an object gives a warning */
export function flattenObjects(
  input: LoadInput,
  { separator }: Flattening,
  limits: JsonLimits,
  isUpdate: boolean,
): LoadInput {
  const flattener = new Flattener(separator, limits, input.locate);
  let nullObjects: Warning[] = [];
  return wrapInput(input, {
    keepsCells: true,
    isHeadEnough: () => flattener.isHeadEnough(),
    through: (sink) => flattener.through(sink),
    afterPass: () => {
      nullObjects = flattener.endPass();
    },
    warnings: () => (isUpdate ? nullObjects : []),
    locate: flattener.locate,
    expectColumns: (columns) => flattener.expect(columns),
  });
}

/** Makes the sink of each pass, and knows the places of the members. */
export class Flattener {
  readonly #separator: string;
  readonly #limits: JsonLimits;
  readonly #locateRow: LocateCell;
  #names: ReadonlySet<string> = new Set();
  #ofObjects: ReadonlySet<string> = new Set();
  #pass: FlatteningSink | undefined;

  constructor(separator: string, limits: JsonLimits, locateRow: LocateCell) {
    this.#separator = separator;
    this.#limits = limits;
    this.#locateRow = locateRow;
  }

  /** Decides which objects are not flattened: an object goes as a whole into a `json` column with its name, unless the table also has columns for its members. */
  expect(columns: readonly ExpectedColumn[]): void {
    const owners = new Set(columns.flatMap(({ name }) => this.#ownersOf(name)));
    this.#names = new Set(columns.map(({ name }) => name));
    const ofObjects = columns.filter(({ name, isJson }) => isJson && !owners.has(name));
    this.#ofObjects = new Set(ofObjects.map(({ name }) => name));
  }

  through(sink: CellSink): CellSink {
    const { maxColumns, maxCellBytes } = this.#limits;
    const [names, ofObjects] = [this.#names, this.#ofObjects];
    this.#pass = new FlatteningSink(sink, {
      separator: this.#separator,
      maxColumns,
      maxCellBytes,
      hasColumn: (name) => names.has(name),
      keepsObject: (name) => ofObjects.has(name),
    });
    return this.#pass;
  }

  /** Returns whether each member that the first rows have has a value in one of them. A member that is always NULL may be a value or an object in later rows. */
  isHeadEnough(): boolean {
    return !this.#pass!.hasUnknownMembers;
  }

  /** Call this after a whole pass. @returns a warning for each object that is NULL in some rows */
  endPass(): Warning[] {
    this.#pass!.finish();
    return this.#pass!.nullObjects().map(({ name, nulls }) => ({
      code: 'null-object',
      column: name,
      detail: `"${shortenValue(name)}" is null in ${nulls === 1 ? '1 row' : `${nulls} rows`} and an object in others. In ${nulls === 1 ? 'this row' : 'these rows'} the columns of its members have no value, so an update leaves them unchanged. To clear them, send null for each member.`,
    }));
  }

  readonly locate: LocateCell = (row, column, name) => {
    const place = this.#locateRow(row, -1, '');
    const ofMember = column < 0 ? undefined : this.#pass?.pointerOf(name);
    if (place.pointer === undefined || ofMember === undefined) return place;
    return { ...place, pointer: place.pointer + ofMember };
  };

  /** Returns the names of objects that may have the column as a member: `a` and `a_b` for `a_b_c`. */
  #ownersOf(name: string): string[] {
    const separator = this.#separator;
    const owners: string[] = [];
    for (let at = name.indexOf(separator); at >= 0; at = name.indexOf(separator, at + 1))
      owners.push(name.slice(0, at));
    return owners;
  }
}
