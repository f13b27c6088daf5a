/** A simple implementation of an upload to an existing table: which rows it changes, deletes, marks and leaves out, and what it counts. */
import type { RowChange } from '../../src/engine/loading/request/row-change.ts';

export interface Row {
  a: number | string | null;
  b: string | null;
  region: string | null;
  /** undefined: the row does not have the column. */
  n?: number | string | null;
}

export interface Stored extends Row {
  n: number | string | null;
  gone: boolean;
  /** `provenance`: the load and the number of the row in it. */
  load_no: string | null;
  row_no: number | null;
}

/** The keys of the tables. With `nulls`, NULL equals NULL. */
export const keys = {
  one: { sql: 'PRIMARY KEY (a)', columns: ['a'], nulls: false },
  two: { sql: 'UNIQUE (a, b)', columns: ['a', 'b'], nulls: false },
  nulls: { sql: 'UNIQUE NULLS NOT DISTINCT (a, b)', columns: ['a', 'b'], nulls: true },
} as const;
export type Key = (typeof keys)[keyof typeof keys];

export interface Upload {
  sent: Row[];
  action: 'keep' | 'delete' | 'mark';
  conflict: 'update' | 'skip';
  faulty: 'fail' | 'leave_out';
  within: (keyof Row)[];
  /** `max_missing_rows` */
  max: string;
  hasProvenance: boolean;
}

export interface Outcome {
  status: number;
  table: Stored[];
  /** The counts in the answer; undefined: the answer does not have the count. */
  counts?: Record<string, number | undefined>;
  /** The rows that come back as a file. */
  leftOut?: Row[];
  /** Those of missing rows come first, in any order. undefined: the rows were not compared. */
  changes?: RowChange[] | undefined;
}

/** The value of `load_no` in the rows that the upload has written. */
export const thisLoad = 'this load';

export const keyOf = (row: Row, columns: readonly string[]): string =>
  JSON.stringify(columns.map((name) => row[name as keyof Row] ?? null));
export const isComparable = (row: Row, { nulls, columns }: Key): boolean =>
  nulls || !columns.some((name) => row[name] === null);
/** The table has the check `n < 50`. */
export const isCheckFault = ({ n }: Row): boolean => n === 60;
const isKeyFault = ({ a }: Row) => a === 'zz';
const isEncodingFault = (row: Row) => row.n === 'x' || isKeyFault(row);
export const isFault = (row: Row): boolean => isEncodingFault(row) || isCheckFault(row);

/** Returns what the upload does with the rows of the table. */
export function predict(old: readonly Stored[], upload: Upload, key: Key): Outcome {
  const { sent, action, faulty, conflict } = upload;
  const changesMissing = action !== 'keep';
  const refused = (status: number): Outcome => ({ status, table: [...old] });
  const encodable = sent.filter((row) => !isEncodingFault(row));
  const good = encodable.filter((row) => !isCheckFault(row));
  if (faulty === 'fail' && encodable.length < sent.length) return refused(422);
  if (encodable.length === 0 && (changesMissing || sent.length > 0)) return refused(422);
  const areKeysRead = !sent.some(isKeyFault);
  if (changesMissing && !(areKeysRead && sent.some((row) => isComparable(row, key)))) return refused(422);
  const missing = missingRows(old, upload, key);
  if (changesMissing && missing.length > allowedRows(upload.max, comparedRows(old, upload).length))
    return refused(409);
  if (faulty === 'fail' && good.length < encodable.length) return refused(422);
  if (good.length === 0 && sent.length > 0) return refused(422);

  const table = settleMissing(old, missing, upload, key);
  const moved = conflict === 'update' ? update(table, good, upload, key) : skip(table, good, upload, key);
  const isCounted = sent.length > 0 && areKeysRead;
  const { changes, ...counts } = moved;
  const listed = [...(isCounted ? missing.map((row) => missingChange(row, upload, key)) : []), ...changes];
  return {
    status: 200,
    table,
    counts: {
      ...counts,
      inserted: counts.rows,
      updated: counts.changed + counts.unchanged,
      missing: isCounted ? missing.length : undefined,
      deleted: action === 'delete' ? missing.length : undefined,
      marked: action === 'mark' ? missing.length : undefined,
      unmarked: (action === 'mark' && returningRows(old, sent, key).length) || undefined,
      rows_left_out: faulty === 'leave_out' ? sent.length - good.length : undefined,
    },
    leftOut: sent.filter(isFault),
    changes: conflict === 'update' || isCounted ? listed : undefined,
  };
}

function missingRows(old: readonly Stored[], upload: Upload, key: Key): Stored[] {
  const { sent, action } = upload;
  const present = presentKeys(sent, key);
  return comparedRows(old, upload).filter(
    (row) =>
      isComparable(row, key) && !present.has(keyOf(row, key.columns)) && !(action === 'mark' && row.gone),
  );
}

function returningRows(old: readonly Stored[], sent: Row[], key: Key): Stored[] {
  const present = presentKeys(sent, key);
  return old.filter((row) => row.gone && isComparable(row, key) && present.has(keyOf(row, key.columns)));
}

function comparedRows(old: readonly Stored[], { sent, within }: Upload): Stored[] {
  const combinations = new Set(sent.map((row) => keyOf(row, within)));
  return old.filter((row) => combinations.has(keyOf(row, within)));
}

function presentKeys(sent: Row[], key: Key): Set<string> {
  return new Set(sent.filter((row) => isComparable(row, key)).map((row) => keyOf(row, key.columns)));
}

function allowedRows(max: string, all: number): number {
  return max.endsWith('%') ? (all * Number.parseInt(max, 10)) / 100 : Number(max);
}

function settleMissing(
  old: readonly Stored[],
  missing: Stored[],
  { action, sent }: Upload,
  key: Key,
): Stored[] {
  if (action === 'delete') return old.filter((row) => !missing.includes(row)).map((row) => ({ ...row }));
  const present = presentKeys(sent, key);
  const isPresent = (row: Row) => isComparable(row, key) && present.has(keyOf(row, key.columns));
  return old.map((row) => {
    if (action === 'keep') return { ...row };
    return { ...row, gone: missing.includes(row) || (row.gone && !isPresent(row)) };
  });
}

interface Moved {
  rows: number;
  changed: number;
  unchanged: number;
  skipped: number;
  changes: RowChange[];
}

function update(table: Stored[], good: Row[], upload: Upload, key: Key): Moved {
  const moved: Moved = { rows: 0, changed: 0, unchanged: 0, skipped: 0, changes: [] };
  for (const [at, row] of good.entries()) {
    if (matchOf(good.slice(at + 1), row, key)) {
      moved.unchanged += 1;
      continue;
    }
    const match = matchOf(table, row, key);
    const cells = otherColumns(row, key).filter((name) => match === undefined || row[name] !== match[name]);
    if (match && cells.length === 0) {
      moved.unchanged += 1;
      continue;
    }
    moved[match ? 'changed' : 'rows'] += 1;
    moved.changes.push({
      kind: match ? 'changed' : 'inserted',
      row: upload.sent.indexOf(row) + 1,
      key: keyTexts(row, key),
      cells: cells.map((column) => ({
        column,
        ...(match && { old: textOf(match[column]) }),
        new: textOf(row[column]),
      })),
    });
    if (match) Object.assign(match, row, originOf(row, upload));
    else insert(table, row, upload);
  }
  return moved;
}

function skip(table: Stored[], good: Row[], upload: Upload, key: Key): Moved {
  let rows = 0;
  for (const row of good) {
    if (matchOf(table, row, key)) continue;
    insert(table, row, upload);
    rows += 1;
  }
  return { rows, changed: 0, unchanged: 0, skipped: good.length - rows, changes: [] };
}

function insert(table: Stored[], row: Row, upload: Upload): void {
  table.push({ n: null, gone: false, load_no: null, row_no: null, ...row, ...originOf(row, upload) });
}

function originOf(row: Row, { hasProvenance, sent }: Upload): Partial<Stored> {
  return hasProvenance ? { load_no: thisLoad, row_no: sent.indexOf(row) + 1 } : {};
}

function matchOf<Item extends Row>(rows: Item[], row: Row, key: Key): Item | undefined {
  if (!isComparable(row, key)) return undefined;
  const value = keyOf(row, key.columns);
  return rows.find((other) => isComparable(other, key) && keyOf(other, key.columns) === value);
}

function missingChange(row: Stored, { action }: Upload, key: Key): RowChange {
  const kind = ({ keep: 'missing', delete: 'deleted', mark: 'marked' } as const)[action];
  const names = [...otherColumns(row, key), 'gone', 'load_no', 'row_no'] as const;
  const cells = names.map((column) => ({ column, old: textOf(row[column]) }));
  return { kind, key: keyTexts(row, key), cells };
}

const otherColumns = (row: Row, key: Key) =>
  (['a', 'b', 'region', 'n'] as const).filter(
    (name) => !(key.columns as readonly string[]).includes(name) && row[name] !== undefined,
  );
const keyTexts = (row: Row, key: Key) =>
  Object.fromEntries(key.columns.map((name) => [name, textOf(row[name])]));
const textOf = (value: Stored[keyof Stored] | undefined) =>
  value === null || value === undefined ? null : String(value);
