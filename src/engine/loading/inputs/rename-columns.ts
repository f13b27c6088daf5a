/**
 * Wraps an input so that its columns have other names than its header or keys.
 */

import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { ForwardingSink } from '../../../core/cells/forwarding-sink.ts';
import { type AppError, type Warning, wrongParameter } from '../../../core/errors.ts';
import { looseName } from '../../../encoding/columns/column-matching.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import type { ExpectedColumn, LoadInput } from './load-input.ts';
import { wrapInput } from './wrap-input.ts';

/**
 * Renames the columns of an input.
 *
 * @param names the new name for each header or key
 * @returns the input with the new names; the places in its problems keep the old names
 */
export function renameColumns(input: LoadInput, names: ReadonlyMap<string, string>): LoadInput {
  if (names.size === 0) return input;
  const oldNameOf = renamedNames(names, input.nameMatching);
  /** The headers or keys of `names` that the data has. */
  let used = new Set<string>();
  /** The old name for each new name. */
  let oldNames = new Map<string, string>();
  const newName = (name: string): string => {
    const from = oldNameOf(name);
    if (from === undefined) return name;
    used.add(from);
    return names.get(from)!;
  };
  const through = (sink: CellSink): CellSink => {
    used = new Set();
    oldNames = new Map();
    return new RenamingSink(sink, newName, oldNames);
  };
  const unused = (): string[] =>
    oldNames.size === 0 ? [] : [...names.keys()].filter((name) => !used.has(name));
  return wrapInput(input, {
    keepsCells: true,
    through,
    warnings: () => unused().map(nothingRenamed),
    locate: (row, column, name) => input.locate(row, column, oldNames.get(name) ?? name),
    ...(input.expectColumns && {
      expectColumns: (columns) => input.expectColumns!(withOldNames(columns, names)),
    }),
  });
}

/** Returns a function that finds the name in `names` for a header or key; undefined: it is not renamed. */
export function renamedNames(
  names: ReadonlyMap<string, string>,
  nameMatching: LoadInput['nameMatching'],
): (name: string) => string | undefined {
  const loosely = new Map([...names.keys()].map((name) => [looseName(name), name]));
  const isLoose = nameMatching === 'loose';
  return (name) => (names.has(name) ? name : isLoose ? loosely.get(looseName(name)) : undefined);
}

/** Returns each column with each name that is renamed to its name, or else as it is. */
function withOldNames(
  columns: readonly ExpectedColumn[],
  names: ReadonlyMap<string, string>,
): ExpectedColumn[] {
  const oldNames = Map.groupBy(names.keys(), (name) => names.get(name)!);
  return columns.flatMap((column) => {
    const renamed = oldNames.get(column.name);
    return renamed === undefined ? [column] : renamed.map((name) => ({ ...column, name }));
  });
}

function nothingRenamed(name: string): Warning {
  return {
    code: 'nothing-renamed',
    column: name,
    detail: `The data has no column "${shortenValue(name)}", which \`rename\` names.`,
  };
}

class RenamingSink extends ForwardingSink {
  readonly #newName: (name: string) => string;
  readonly #oldNames: Map<string, string>;

  /** @param oldNames a map that gets the old name for each new name of a column of the data */
  constructor(inner: CellSink, newName: (name: string) => string, oldNames: Map<string, string>) {
    super(inner);
    this.#newName = newName;
    this.#oldNames = oldNames;
  }

  /**
   * Passes a column on with its new name.
   *
   * @throws AppError `invalid-parameter` if two columns get the same name
   */
  override column(column: number, name: string, place?: number, type?: string): void {
    const newName = this.#newName(name);
    const other = this.#oldNames.get(newName);
    if (other !== undefined) throw sameName(newName, other, name);
    this.#oldNames.set(newName, name);
    super.column(column, newName, place, type);
  }

  longCell(column: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
    return this.passLong(column, kind, bytes, start, end);
  }
}

function sameName(newName: string, one: string, other: string): AppError {
  return wrongParameter(
    'rename',
    `With \`rename\`, the columns "${shortenValue(one)}" and "${shortenValue(other)}" are both named "${shortenValue(newName)}".`,
  );
}
