/** The operations of the clients: each has a request, the expected answer, and its effect. */
import * as library from '@e965/xlsx';
import { wrongBatches, wrongExport } from './exports.ts';
import { indexedPrefix, type LedgerTable, sharedTable, type TableState } from './ledger.ts';
import type { Random } from './random.ts';
import type { Request } from './send.ts';

export interface Operation extends Request {
  kind: string;
  /** The status of the answer if nothing fails. */
  status: number;
  /** The expected member `load` of the answer. */
  load?: {
    rows: number;
    skipped: number;
    updated: number;
  };
  /** The type of the event about the table; undefined: the table is neither created nor emptied. */
  tableEvent?: string;
  /** The table and its state afterwards; undefined: nothing changes. */
  change?: TableChange;
  /** The rows for the shared table. */
  batch?: { name: string; rows: number };
  /** Returns what is wrong with the text of the expected answer. */
  check?: (text: string) => string | undefined;
  /** How the operation was answered, for the report of a violation. */
  answer?: string;
}

export interface TableChange {
  table: LedgerTable;
  /** undefined: the table is dropped. */
  after: TableState | undefined;
  /** The table with its new name. */
  renamed?: LedgerTable;
}

export interface Maker {
  random: Random;
  token: string;
  /** Returns ids of rows and names of batches that were never used before. */
  nextNumber(): number;
  /** The table of the operation. Its state is known. */
  table: LedgerTable;
  /** Returns a table that does not exist. */
  newTable(): LedgerTable;
  /** The operation must have so many rows that they need a temporary file. */
  isLarge: boolean;
}

type Cell = string | number | null;
type Format = 'json' | 'xlsx' | 'csv' | 'ods' | 'biff8';

const baseColumns = ['id', 'name', 'amount', 'day'];
/** A larger table is emptied or replaced next. */
const mostRows = 6000;
const mostColumns = 7;
const multipartBoundary = 'soak-part';

const definition = {
  columns: [
    { name: 'id', type: 'bigint' },
    { name: 'name', type: 'text', is_nullable: false },
    { name: 'amount', type: 'numeric(12,2)' },
    { name: 'day', type: 'date' },
  ],
  constraints: { primary_key: { name: '', columns: ['id'] } },
};

/** The definition of the shared table. */
export const sharedDefinition = {
  columns: [
    { name: 'batch', type: 'text' },
    { name: 'n', type: 'integer' },
  ],
  constraints: { primary_key: { name: '', columns: ['batch', 'n'] } },
};

/** The profile of uploads that have all rows of a table. */
export const wholeProfile = {
  name: 'whole',
  parameters: {
    if_exists: 'append',
    on_conflict: 'update',
    missing_rows: 'delete',
    max_missing_rows: '100%',
    faulty_rows: 'leave_out',
  },
};

/** Returns an operation of a kind that is possible in the table's state. */
export function makeOperation(maker: Maker): Operation {
  const { random, table, isLarge } = maker;
  const state = table.possible[0];
  if (isLarge) return upload(maker, state === undefined ? 'fail' : 'truncate', { format: 'json' });
  if (state === undefined) return random.pick(kindsWithoutTable)(maker);
  if (state.rows.size > mostRows) {
    return upload(maker, random.pick(['truncate', 'replace']), { format: 'json' });
  }
  const kinds = kindsWithTable.filter(
    ({ needs = () => true, forLarge = false }) => needs(state) && !(forLarge && state.rows.size > 1000),
  );
  return random.pick(kinds).make(maker);
}

const kindsWithoutTable: ((maker: Maker) => Operation)[] = [
  (maker) => create(maker, false),
  (maker) => create(maker, true),
  (maker) => upload(maker, 'fail', { format: 'json', isDefined: true }),
  (maker) => upload(maker, 'fail', { format: 'json' }),
  (maker) => upload(maker, 'append', { format: 'json', isDefined: true }),
  (maker) => upload(maker, 'fail', { format: 'xlsx' }),
  (maker) => upload(maker, 'fail', { format: 'xlsx', isDefined: true }),
  (maker) => upload(maker, 'fail', { format: 'csv', isDefined: true }),
  (maker) => upload(maker, 'fail', { format: 'ods' }),
  (maker) => upload(maker, 'fail', { format: 'biff8' }),
  (maker) => refusedRows(maker, 'fail', true),
];

interface Kind {
  make(maker: Maker): Operation;
  needs?: (state: TableState) => boolean;
  forLarge?: boolean;
}

const hasKey = (state: TableState): boolean => state.hasKey;
const hasKeyAndRows = (state: TableState): boolean => state.hasKey && state.rows.size > 0;

const kindsWithTable: Kind[] = [
  { make: (maker) => upload(maker, 'append', { format: 'json' }) },
  { make: (maker) => upload(maker, 'append', { format: 'csv' }) },
  { make: (maker) => upload(maker, 'append', { format: 'xlsx' }) },
  { make: (maker) => upload(maker, 'append', { format: 'ods' }) },
  { make: (maker) => upload(maker, 'truncate', { format: 'json' }) },
  { make: (maker) => upload(maker, 'truncate', { format: 'xlsx' }) },
  { make: (maker) => upload(maker, 'replace', { format: 'json', isDefined: true }) },
  { make: (maker) => upload(maker, 'replace', { format: 'csv' }) },
  { make: (maker) => upsert(maker, 'update', 'json'), needs: hasKey },
  { make: (maker) => upsert(maker, 'update', 'csv'), needs: hasKey },
  { make: (maker) => upsert(maker, 'skip', 'json'), needs: hasKey },
  { make: (maker) => upsert(maker, 'skip', 'xlsx'), needs: hasKey },
  { make: (maker) => alignRows(maker, 'json'), needs: hasKey },
  { make: (maker) => alignRows(maker, 'csv'), needs: hasKey },
  { make: addColumn, needs: ({ columns }) => columns.length < mostColumns },
  { make: appendToShared },
  { make: appendToShared },
  { make: dryRun },
  { make: (maker) => create(maker, true) },
  { make: describe },
  { make: inspect },
  { make: (maker) => refusedRows(maker, 'append', false), needs: hasKey },
  { make: (maker) => refusedRows(maker, 'replace', true) },
  { make: repeatedKey, needs: hasKeyAndRows },
  { make: brokenJson },
  { make: brokenWorkbook },
  { make: existingTable },
  { make: drop },
  { make: rename },
  { make: alter, needs: ({ columns }) => columns.length < mostColumns },
  { make: exportTable },
  { make: exportShared },
];

function create(maker: Maker, ifNotExists: boolean): Operation {
  const { table } = maker;
  const state = table.possible[0];
  return {
    ...jsonRequest(maker, `${table.name}?if_not_exists=${ifNotExists}`, { table: definition }),
    kind: ifNotExists ? 'create with if_not_exists' : 'create',
    status: state === undefined ? 201 : 200,
    ...(state === undefined && {
      change: { table, after: { columns: baseColumns, hasKey: true, rows: new Map() } },
    }),
  };
}

type IfExists = 'fail' | 'append' | 'truncate' | 'replace';

interface UploadOptions {
  format: Format;
  isDefined?: boolean;
}

function upload(maker: Maker, ifExists: IfExists, { format, isDefined }: UploadOptions): Operation {
  const { table } = maker;
  const state = table.possible[0];
  const isNew = state === undefined || ifExists === 'replace';
  const rows = newRows(maker, format);
  const columns = isNew ? baseColumns : state.columns;
  const kept = isNew || ifExists === 'truncate' ? [] : state.rows;
  const change = ifExists === 'replace' ? 'replaced' : isNew ? 'created' : 'emptied';
  return {
    ...rowsRequest(maker, `if_exists=${ifExists}`, format, baseColumns, rows, isDefined),
    kind: `${nameOf(format)} ${isNew && ifExists !== 'replace' ? 'new' : ifExists}`,
    status: isNew ? 201 : 200,
    load: { rows: rows.length, skipped: 0, updated: 0 },
    ...((isNew || ifExists === 'truncate') && { tableEvent: `table.${change}` }),
    change: {
      table,
      after: {
        columns,
        hasKey: isNew ? isDefined === true : state.hasKey,
        rows: new Map([...kept, ...rows.map(asTexts)]),
      },
    },
  };
}

function upsert(maker: Maker, onConflict: 'update' | 'skip', format: Format) {
  const { table, random } = maker;
  const state = table.possible[0]!;
  const fresh = newRows(maker, format);
  const ids = random.shuffled([...state.rows.keys()]).slice(0, fresh.length);
  const repeated = fresh.splice(0, ids.length).map((row, index) => [ids[index]!, ...row.slice(1)]);
  const rows = random.shuffled([...fresh, ...repeated]);
  const after = new Map(state.rows);
  for (const row of rows) {
    const [id, texts] = asTexts(row);
    const old = after.get(id);
    if (old === undefined) after.set(id, texts);
    else if (onConflict === 'update') {
      // An empty cell of a spreadsheet changes nothing; null in JSON is a value.
      const kept = texts.map((text, column) => (text === null && format !== 'json' ? old[column]! : text));
      after.set(id, [...kept, ...old.slice(kept.length)]);
    }
  }
  const count = repeated.length;
  return {
    ...rowsRequest(maker, `if_exists=append&on_conflict=${onConflict}`, format, baseColumns, rows),
    kind: `${nameOf(format)} ${onConflict}`,
    status: 200,
    load: {
      rows: fresh.length,
      skipped: onConflict === 'skip' ? count : 0,
      updated: onConflict === 'update' ? count : 0,
    },
    change: { table, after: { ...state, rows: after } },
    rows,
  };
}

/** Updates the table and deletes the rows that the upload does not have. A row with a problem is left out. */
function alignRows(maker: Maker, format: Format): Operation {
  const { change, load, rows } = upsert(maker, 'update', format);
  const sent = new Set(rows.map(([id]) => Number(id)));
  const after = new Map([...change.after.rows].filter(([id]) => sent.has(id)));
  const faulty = [maker.nextNumber(), 'wrong', 'no number', '2026-02-30'];
  return {
    ...rowsRequest(maker, `profile=${wholeProfile.name}`, format, baseColumns, [...rows, faulty]),
    kind: `${nameOf(format)} update with a profile that deletes missing rows and leaves out faulty ones`,
    status: 200,
    load,
    change: { ...change, after: { ...change.after, rows: after } },
  };
}

function addColumn(maker: Maker): Operation {
  const { table } = maker;
  const state = table.possible[0]!;
  const column = `extra_${maker.nextNumber()}`;
  const rows = newRows(maker, 'json');
  const nulls = state.columns.slice(baseColumns.length).map(() => null);
  const texts = rows.map((row): [number, (string | null)[]] => {
    const [id, base] = asTexts(row);
    return [id, [...base, ...nulls, `x${id}`]];
  });
  const columns = [...baseColumns, column];
  const sent = rows.map((row) => [...row, `x${row[0]}`]);
  return {
    ...rowsRequest(maker, 'if_exists=append&extra_columns=add', 'json', columns, sent),
    kind: 'json append with extra_columns=add',
    status: 200,
    load: { rows: rows.length, skipped: 0, updated: 0 },
    change: {
      table,
      after: { ...state, columns: [...state.columns, column], rows: new Map([...state.rows, ...texts]) },
    },
  };
}

function appendToShared(maker: Maker): Operation {
  const rows = maker.random.integer(1, 300);
  const batch = { name: `batch ${maker.nextNumber()} of ${rows}`, rows };
  const data = Array.from({ length: batch.rows }, (_, n) => ({ batch: batch.name, n }));
  return {
    ...jsonRequest(maker, `${sharedTable}/upload/json?if_exists=append`, { data }),
    kind: 'json append to a table that all clients load',
    status: 200,
    load: { rows: batch.rows, skipped: 0, updated: 0 },
    batch,
  };
}

function dryRun(maker: Maker): Operation {
  const { change: _, ...operation } = upload(maker, maker.random.pick(['append', 'truncate', 'replace']), {
    format: 'json',
    isDefined: false,
  });
  const path = `${operation.path}&dry_run=true`;
  return { ...operation, path, kind: 'dry run', status: 200 };
}

function describe(maker: Maker): Operation {
  return { ...plainRequest(maker, 'GET', maker.table.name), kind: 'describe', status: 200 };
}

function inspect(maker: Maker): Operation {
  const format = maker.random.pick<Format>(['xlsx', 'csv', 'ods']);
  const file = workbook(format, baseColumns, newRows(maker, format));
  return {
    ...multipartRequest(maker, '/api/v1/inspect/excel', file),
    kind: `inspect ${nameOf(format)}`,
    status: 200,
  };
}

/** The last row of many has a problem. */
function refusedRows(maker: Maker, ifExists: IfExists, isDefined: boolean): Operation {
  const format = maker.random.pick<Format>(['json', 'csv']);
  const rows: Cell[][] = newRows(maker, format);
  rows.push([maker.nextNumber(), 'wrong', 'no number', '2026-02-30']);
  return {
    ...rowsRequest(maker, `if_exists=${ifExists}`, format, baseColumns, rows, isDefined),
    kind: `${nameOf(format)} ${ifExists === 'fail' ? 'new' : ifExists} with a faulty row`,
    status: 422,
  };
}

function repeatedKey(maker: Maker): Operation {
  const rows = newRows(maker, 'json');
  const [id] = maker.table.possible[0]!.rows.keys();
  rows.push([id!, 'repeated', 1.25, '2026-01-01']);
  return {
    ...rowsRequest(maker, 'if_exists=append', 'json', baseColumns, rows),
    kind: 'json append with a repeated key',
    status: 422,
  };
}

function brokenJson(maker: Maker): Operation {
  const operation = rowsRequest(maker, 'if_exists=append', 'json', baseColumns, newRows(maker, 'json'));
  const body = operation.body!.subarray(0, -1);
  return { ...operation, body, kind: 'json append without its end', status: 400 };
}

function brokenWorkbook(maker: Maker): Operation {
  const file = workbook('xlsx', baseColumns, newRows(maker, 'xlsx'));
  const path = `/api/v1/table/${maker.table.name}/upload/excel?if_exists=append`;
  return {
    ...multipartRequest(maker, path, file.subarray(0, -100)),
    kind: 'xlsx append without its end',
    status: 400,
  };
}

function existingTable(maker: Maker): Operation {
  return {
    ...rowsRequest(maker, 'if_exists=fail', 'json', baseColumns, newRows(maker, 'json')),
    kind: 'json new with the name of another table',
    status: 409,
  };
}

function drop(maker: Maker): Operation {
  const { table } = maker;
  return {
    ...plainRequest(maker, 'DELETE', table.name),
    kind: 'drop',
    status: 204,
    change: { table, after: undefined },
  };
}

function rename(maker: Maker): Operation {
  const { table } = maker;
  const renamed = maker.newTable();
  return {
    ...jsonRequest(maker, table.name, { name: renamed.name }),
    method: 'PATCH',
    kind: 'rename',
    status: 200,
    change: { table, after: table.possible[0], renamed },
  };
}

/** Adds a column with an index, and changes the type of another column, so that all rows are written anew. */
function alter(maker: Maker): Operation {
  const { table, random } = maker;
  const state = table.possible[0]!;
  const column = `${indexedPrefix}${maker.nextNumber()}`;
  const kept = state.columns.map((name) => ({
    name,
    ...(name === 'amount' && { type: random.pick(['numeric(12,2)', 'numeric(13,2)', 'numeric']) }),
  }));
  const columns = [...kept, { name: column, type: 'text' }];
  const indexes = [...state.columns, column]
    .filter((name) => name.startsWith(indexedPrefix))
    .map((name) => ({ name: '', columns: [{ column: name }] }));
  return {
    ...jsonRequest(maker, table.name, { table: { columns, indexes } }),
    method: 'PUT',
    kind: 'alter',
    status: 200,
    change: { table, after: { ...state, columns: [...state.columns, column] } },
  };
}

function exportTable(maker: Maker): Operation {
  const { name, possible } = maker.table;
  return {
    ...plainRequest(maker, 'GET', `${name}/rows?format=csv`),
    kind: 'export',
    status: 200,
    check: (text) => wrongExport(text, possible[0]!),
  };
}

function exportShared(maker: Maker): Operation {
  return {
    ...plainRequest(maker, 'GET', `${sharedTable}/rows?format=csv`),
    kind: 'export of the table that all clients load',
    status: 200,
    check: wrongBatches,
  };
}

function newRows({ random, nextNumber, isLarge }: Maker, format: Format): Cell[][] {
  const isMany = format === 'json' && random.chance(0.15);
  const isSome = random.chance(0.5);
  const most = isMany ? 3000 : isSome ? 300 : 20;
  const count = isLarge ? 9000 : random.integer(1, most);
  return Array.from({ length: count }, (_, row) => [
    nextNumber(),
    `Café ${random.integer(1, 1000)} ${isLarge ? 'x'.repeat(100) : ''}n`,
    // The first row does not decide alone, but a column without a single number would be text.
    row > 0 && random.chance(0.1) ? null : random.integer(0, 99_999) + 0.25,
    `2026-${random.pick(['01', '06', '12'])}-${random.integer(10, 28)}`,
  ]);
}

function asTexts(row: Cell[]): [number, (string | null)[]] {
  return [Number(row[0]), row.map((cell) => (cell === null ? null : String(cell)))];
}

function nameOf(format: Format): string {
  return format === 'biff8' ? 'xls' : format;
}

function rowsRequest(
  maker: Maker,
  query: string,
  format: Format,
  columns: string[],
  rows: Cell[][],
  isDefined?: boolean,
): Request {
  const { name } = maker.table;
  const table = isDefined ? definition : undefined;
  if (format !== 'json') {
    const path = `/api/v1/table/${name}/upload/excel?${query}`;
    return multipartRequest(maker, path, workbook(format, columns, rows), table);
  }
  const data = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])));
  return jsonRequest(maker, `${name}/upload/json?${query}`, { ...(table && { table }), data });
}

function plainRequest({ token }: Maker, method: string, path: string): Request {
  const headers = { authorization: `Bearer ${token}` };
  return { method, path: `/api/v1/table/${path}`, headers, body: undefined };
}

function jsonRequest({ token }: Maker, path: string, body: unknown): Request {
  return {
    method: 'POST',
    path: `/api/v1/table/${path}`,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  };
}

function multipartRequest({ token }: Maker, path: string, file: Buffer, table?: unknown): Request {
  const part = (name: string, more = ''): string =>
    `--${multipartBoundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
  const definitionPart = table === undefined ? '' : `${part('body')}${JSON.stringify({ table })}\r\n`;
  return {
    method: 'POST',
    path,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
    },
    body: Buffer.concat([
      Buffer.from(definitionPart + part('file', '; filename="soak"')),
      file,
      Buffer.from(`\r\n--${multipartBoundary}--\r\n`),
    ]),
  };
}

function workbook(format: Format, columns: string[], rows: Cell[][]): Buffer {
  const cells = [columns, ...rows];
  if (format === 'csv') return Buffer.from(cells.map((row) => row.join(',')).join('\n'));
  const sheet = library.utils.aoa_to_sheet(cells);
  const options = { type: 'buffer', bookType: format as library.BookType } as const;
  return library.write({ SheetNames: ['Soak'], Sheets: { Soak: sheet } }, options) as Buffer;
}
