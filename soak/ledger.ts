/**
 * The expected contents of the database: for each table, the states that are possible after all answers. An acknowledged
 * operation leaves one possible state. An operation without an answer leaves two: before it and after it. Any other state is a
 * violation.
 */
import type { ExpectedLoad } from './event-ledger.ts';

export interface TableState {
  columns: string[];
  hasKey: boolean;
  /** The rows by id. The values are texts in the order of the columns. Missing values at the end are NULL. */
  rows: Map<number, (string | null)[]>;
}

export interface LedgerTable {
  name: string;
  /** The possible states of the table; undefined: it does not exist. */
  possible: (TableState | undefined)[];
  /** An operation on the table may still run, and its end will be noted. */
  isOpen: boolean;
  /** The last operation, for the report of a violation. */
  lastOperation: string;
  /** The event of the operation that may have ended the table. No other table gets its name. */
  end?: 'table.dropped' | 'table.changed';
  /** The name is the new one of another table. No table is created with it. */
  isRenamed?: boolean;
  /** The table that may have got this name: exactly one of the two exists. undefined: it is known which one. */
  renamedFrom?: LedgerTable | undefined;
}

/** The rows that one operation adds to the table that all clients share. */
export interface Batch {
  name: string;
  rows: number;
  /** Undefined: not known, because the operation was not answered. */
  isThere: boolean | undefined;
  /** The operation may still run, and its end will be noted. */
  isOpen: boolean;
}

export interface Ledger {
  tables: Map<string, LedgerTable>;
  batches: Map<string, Batch>;
  /** The names of all tables that were created. */
  existed: Set<string>;
  /** The names of all tables that were dropped or renamed, with the type of the event. */
  ended: Map<string, string>;
  /** The loads whose end is known, by their ids. */
  loads: Map<string, ExpectedLoad>;
}

export function emptyLedger(): Ledger {
  const existed = new Set([sharedTable]);
  return { tables: new Map(), batches: new Map(), existed, ended: new Map(), loads: new Map() };
}

/** The table to which all clients add rows. */
export const sharedTable = 'soak_shared';
/** The table whose trigger writes down what is in the session that loads it. */
export const sessionsTable = 'soak_sessions';

/** Columns with this prefix have an index, which was made with the column. */
export const indexedPrefix = 'indexed_';

/** Runs a query and returns its rows as arrays of texts. */
export type ReadTexts = (sql: string, values?: unknown[]) => Promise<(string | null)[][]>;

/** Returns the tables and batches whose operations may still run. They are compared later. */
export function openParts({ tables, batches }: Ledger): Set<LedgerTable | Batch> {
  return new Set([...tables.values(), ...batches.values()].filter(({ isOpen }) => isOpen));
}

/** Compares all tables except the open ones with the ledger, writes down the state of each, and returns the violations. */
export async function compareWithLedger(
  ledger: Ledger,
  open: Set<LedgerTable | Batch>,
  read: ReadTexts,
): Promise<string[]> {
  const wrong: string[] = [];
  const found = await read(
    `SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`,
  );
  const names = new Set(found.map(([name]) => name!));
  for (const table of ledger.tables.values()) {
    if (open.has(table)) {
      names.delete(table.name);
      continue;
    }
    const state = names.has(table.name) ? await readTable(table.name, read) : undefined;
    const index = table.possible.findIndex((possible) => differenceBetween(possible, state) === undefined);
    if (index < 0) {
      const differences = table.possible.map((possible) => differenceBetween(possible, state));
      wrong.push(`${table.name} after ${table.lastOperation}: ${differences.join('; or ')}`);
    }
    table.possible = [index < 0 ? state : table.possible[index]];
    noteTable(ledger, table);
    names.delete(table.name);
  }
  wrong.push(...compareNames(ledger, open));
  wrong.push(...(await compareBatches(ledger, open, read)));
  names.delete(sharedTable);
  names.delete(sessionsTable);
  for (const name of names) wrong.push(`${name} was left behind: no operation made it`);
  return wrong;
}

/** Writes down what is certain about the name of a table, for the comparison with the events. */
export function noteTable({ existed, ended }: Ledger, { name, possible, end, isRenamed }: LedgerTable): void {
  if (possible.length > 1) return;
  if (possible[0] !== undefined) {
    if (!isRenamed) existed.add(name);
  } else if (end !== undefined) ended.set(name, end);
}

/** A table whose renaming was not answered has its old name or its new one. */
function compareNames({ tables }: Ledger, open: Set<LedgerTable | Batch>): string[] {
  const wrong: string[] = [];
  for (const table of tables.values()) {
    const { renamedFrom: old } = table;
    if (old === undefined || open.has(table) || open.has(old)) continue;
    const count = [old, table].filter(({ possible }) => possible[0] !== undefined).length;
    if (count !== 1) wrong.push(`${old.name}, which was renamed to ${table.name}, exists ${count} times`);
    table.renamedFrom = undefined;
  }
  return wrong;
}

async function readTable(name: string, read: ReadTexts): Promise<TableState> {
  const columns = await read(
    `SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [`public.${name}`],
  );
  const indexes = await read(
    `SELECT count(*) FROM pg_index WHERE indrelid = $1::regclass AND NOT indisprimary`,
    [`public.${name}`],
  );
  const key = await read(`SELECT 1 FROM pg_constraint WHERE conrelid = $1::regclass AND contype = 'p'`, [
    `public.${name}`,
  ]);
  const texts = columns.map(([column]) => `"${column}"::text`);
  const rows = await read(`SELECT ${texts.join(', ')} FROM public.${name}`);
  const byId = new Map(rows.map((row) => [Number(row[0]), row]));
  // If a table without a key has a row twice, each must be counted.
  if (byId.size !== rows.length) byId.set(Number.NaN, [`${rows.length - byId.size} repeated rows`]);
  const names = columns.map(([column]) => column!);
  const indexed = names.filter((column) => column.startsWith(indexedPrefix));
  if (Number(indexes[0]![0]) !== indexed.length) names.push(`and ${indexes} indexes`);
  return { columns: names, hasKey: key.length > 0, rows: byId };
}

function differenceBetween(
  expected: TableState | undefined,
  state: TableState | undefined,
): string | undefined {
  if (expected === undefined || state === undefined) {
    if (expected === state) return undefined;
    return state === undefined
      ? `the table with ${expected!.rows.size} rows is lost`
      : 'the table should not exist';
  }
  if (expected.columns.join() !== state.columns.join()) {
    return `columns ${state.columns.join()} instead of ${expected.columns.join()}`;
  }
  if (expected.hasKey !== state.hasKey) return `the primary key is ${state.hasKey ? 'there' : 'missing'}`;
  let missing = 0;
  let different = 0;
  for (const [id, row] of expected.rows) {
    const found = state.rows.get(id);
    if (found === undefined) missing += 1;
    else if (expected.columns.some((_, column) => (row[column] ?? null) !== found[column])) different += 1;
  }
  const surplus = state.rows.size - expected.rows.size + missing;
  if (missing + different + surplus === 0) return undefined;
  return `of ${expected.rows.size} expected rows ${missing} are missing and ${different} are different, ${surplus} rows are too many`;
}

async function compareBatches(
  ledger: Ledger,
  open: Set<LedgerTable | Batch>,
  read: ReadTexts,
): Promise<string[]> {
  const rows = await read(`SELECT batch, count(*) FROM public.${sharedTable} GROUP BY batch`);
  const counts = new Map(rows.map(([batch, count]) => [batch!, Number(count)]));
  const wrong: string[] = [];
  for (const batch of ledger.batches.values()) {
    const count = counts.get(batch.name) ?? 0;
    counts.delete(batch.name);
    const mayBe =
      open.has(batch) || batch.isThere === undefined ? [0, batch.rows] : [batch.isThere ? batch.rows : 0];
    if (!mayBe.includes(count)) {
      wrong.push(`${sharedTable}: ${count} rows of ${batch.name}, and not ${mayBe.join(' or ')}`);
    }
    if (!open.has(batch)) batch.isThere = count > 0;
  }
  for (const [name, count] of counts) {
    wrong.push(`${sharedTable}: ${count} rows of ${name}, which no operation sent`);
  }
  return wrong;
}
