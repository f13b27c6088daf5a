/**
 * Wraps an input so that its columns have other names than its header or keys.
 */
import { type AppError, wrongParameter } from '../errors.ts';
import { ANY_VALUE, type CellSink } from '../sources/cell-sink.ts';
import type { SourceWarning } from '../sources/row-source.ts';
import { looseName } from './column-matching.ts';
import type { LoadInput } from './load-input.ts';
import { shortenValue } from './problems.ts';

/**
 * @param names the new name for each header or key
 * @returns the input with the new names; the places in its problems keep the old names
 */
export function renameColumns(input: LoadInput, names: ReadonlyMap<string, string>): LoadInput {
  if (names.size === 0) return input;
  const loosely = new Map([...names.keys()].map((name) => [looseName(name), name]));
  const isLoose = input.nameMatching === 'loose';
  /** The headers or keys of `names` that the data has. */
  let used = new Set<string>();
  /** The old names, by new name. */
  let oldNames = new Map<string, string>();
  const newName = (name: string): string => {
    const from = names.has(name) ? name : isLoose ? loosely.get(looseName(name)) : undefined;
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
  return {
    nameMatching: input.nameMatching,
    locate: (row, column, name) => input.locate(row, column, oldNames.get(name) ?? name),
    get warnings() {
      return [...input.warnings, ...unused().map(nothingRenamed)];
    },
    get headerFaults() {
      return input.headerFaults ?? [];
    },
    get reading() {
      return input.reading ?? { format: 'json' };
    },
    get definition() {
      return input.definition;
    },
    open: () => input.open(),
    read: (sink, signal) => input.read(through(sink), signal),
    readAndKeep: (sink, signal) => input.readAndKeep(through(sink), signal),
    keep: (signal) => input.keep(signal),
    close: () => input.close(),
  };
}

function nothingRenamed(name: string): SourceWarning {
  return {
    code: 'nothing-renamed',
    column: name,
    detail: `The data has no column "${shortenValue(name)}", which \`rename\` names.`,
  };
}

class RenamingSink implements CellSink {
  readonly #inner: CellSink;
  readonly #newName: (name: string) => string;
  readonly #oldNames: Map<string, string>;

  /** @param oldNames is filled as columns come: the old name by new name */
  constructor(inner: CellSink, newName: (name: string) => string, oldNames: Map<string, string>) {
    this.#inner = inner;
    this.#newName = newName;
    this.#oldNames = oldNames;
  }

  /** @throws AppError `invalid-parameter` if two columns get the same name */
  column(column: number, name: string, place?: number): void {
    const newName = this.#newName(name);
    const other = this.#oldNames.get(newName);
    if (other !== undefined) throw sameName(newName, other, name);
    this.#oldNames.set(newName, name);
    this.#inner.column(column, newName, place);
  }

  wants(column: number): number {
    return this.#inner.wants?.(column) ?? ANY_VALUE;
  }

  original(rewritten: Buffer, bytes: Buffer, start: number, end: number): void {
    this.#inner.original?.(rewritten, bytes, start, end);
  }

  beginRow(row: number): void {
    this.#inner.beginRow(row);
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#inner.cell(column, kind, bytes, start, end);
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    this.#inner.moment(column, kind, days, microseconds);
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    this.#inner.fault(column, fault, bytes, start, end);
  }

  endRow(): void {
    this.#inner.endRow();
  }

  drain(): Promise<void> | undefined {
    return this.#inner.drain();
  }
}

function sameName(newName: string, one: string, other: string): AppError {
  return wrongParameter(
    'rename',
    `With \`rename\`, the columns "${shortenValue(one)}" and "${shortenValue(other)}" are both named "${shortenValue(newName)}".`,
  );
}
