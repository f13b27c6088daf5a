/**
 * Writes the rows of a table as a file: CSV, NDJSON, JSON or a workbook. PostgreSQL's COPY writes the values, and a writer of the format arranges them.
 *
 * A transaction that only reads committed rows is enough, because the rows come from one statement. With the isolation level REPEATABLE READ the
 * snapshot would be older than the lock of `chooseColumns`, and an export after a TRUNCATE would be empty.
 */
import type { ClientBase } from 'pg';
import { wrongParameter } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { wasRefused } from '../../../postgres/refuse-unless.ts';
import { inCallersPath, queryInCallersPath } from '../../../postgres/search-path.ts';
import { conditionOf } from '../../../postgres/sqlstate.ts';
import { setStatementTimeout } from '../../../postgres/transaction-settings.ts';
import { ofVirtualColumns, type RowColumn } from '../row-columns.ts';
import { chooseColumns, type OrderBy } from './export-columns.ts';
import { copyOut, type ExportedRows, maxExportedRowBytes, measureRows } from './export-statements.ts';
import { jsonDocument, jsonLines } from './json-rows.ts';
import { RowStream, type RowWatch, type RowWriter } from './row-stream.ts';
import { maxCellLength, maxSheetColumns, maxSheetRows } from './workbook/sheet-limits.ts';
import { SheetRows } from './workbook/sheet-rows.ts';
import { workbook } from './workbook/workbook.ts';

export const exportFormats = ['csv', 'ndjson', 'json', 'xlsx'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface ExportRequest {
  schema: string;
  name: string;
  format: ExportFormat;
  /** The columns in their order; undefined: all. */
  columns: string[] | undefined;
  order: OrderBy[];
  /** undefined: all rows. */
  limit: number | undefined;
}

export interface ExportWatch extends RowWatch {
  /** Cancels the running statement, because the file cannot be finished. */
  cancel: (error: unknown) => void;
}

/**
 * Passes the bytes of the file to `send`. It must not run another statement until `send` has ended.
 *
 * @param send reads the bytes, and has cancelled the statement if it ends before the last one. The first ones arrive when PostgreSQL has sent rows
 * @returns the number of rows
 * @throws AppError the errors of `chooseColumns`; `limit-exceeded`; PostgreSQL's errors. Many of them only while `send` reads
 */
export async function exportTable(
  client: ClientBase,
  request: ExportRequest,
  { cancel, ...watch }: ExportWatch,
  send: (bytes: AsyncIterable<Buffer>) => Promise<void>,
): Promise<number> {
  const { schema, name, format, limit } = request;
  const chosen = await chooseColumns(client, request, { wanted: request.columns, order: request.order });
  const rows: ExportedRows = { schema, name, limit, ...chosen };
  if (format === 'xlsx') await refuseTooLarge(client, rows);
  const copy = copyOut(rows, format === 'csv' ? 'csv' : format === 'xlsx' ? 'text' : 'json');
  // The reader decides how long the statement takes. `RowWatch` limits the time in which PostgreSQL sends nothing.
  const sql = `${setStatementTimeout(0)};\n${readInOrder};\n${inCallersPath(copy)}`;
  const stream = new RowStream(client, sql, writerOf(format, rows.columns), watch);
  try {
    const chunks = stream.chunks();
    await send(format === 'xlsx' ? workbook(chunks, name) : chunks);
    return stream.rowCount;
  } catch (error) {
    const known = knownError(error, rows);
    if (!stream.hasEnded) cancel(known);
    throw known;
  } finally {
    await stream.close();
  }
}

function writerOf(format: ExportFormat, columns: RowColumn[]): RowWriter {
  if (format === 'csv') return { row: (part, out) => out.append(part) };
  if (format === 'xlsx') return new SheetRows(columns);
  return format === 'ndjson' ? jsonLines() : jsonDocument();
}

/** Refuses rows that a sheet cannot have, as far as counting shows it. `SheetRows` checks the rest. */
async function refuseTooLarge(client: ClientBase, rows: ExportedRows): Promise<void> {
  const tooMany = rows.columns.length > maxSheetColumns;
  if (tooMany)
    throw limitExceeded('The table has too many columns for a workbook', maxSheetColumns, 'columns');
  const measure = measureRows(rows, maxSheetRows + 1, maxCellLength);
  const { rows: measured } = await queryInCallersPath<{ rows: number; long: string[] }>(
    client,
    measure,
  ).catch((error) => {
    throw knownError(error, rows);
  });
  const [{ rows: count, long } = { rows: 0, long: [] }] = measured;
  const advice = 'Export CSV, or send limit or columns.';
  if (count > maxSheetRows)
    throw limitExceeded('The table has too many rows for a workbook', maxSheetRows, 'rows', advice);
  if (long.length > 0)
    throw limitExceeded(
      `The column "${long[0]}" has a text that is too long for a cell`,
      maxCellLength,
      'characters',
      advice,
    );
}

/** Rows come in the order in which PostgreSQL stores them, as those of `readFirstRows`, and not from several processes. */
const readInOrder = 'SET LOCAL synchronize_seqscans TO off; SET LOCAL max_parallel_workers_per_gather TO 0';

/** Returns the error for the caller. */
function knownError(error: unknown, { columns, order }: ExportedRows): unknown {
  if (wasRefused(error, 'a row is too long to be exported') || isTooLong(error))
    return limitExceeded(
      'A row is too long to be exported',
      maxExportedRowBytes,
      'bytes',
      'Leave out the column with the long value.',
    );
  if (order.length > 0 && conditionOf(error) === 'undefined_function') {
    const detail = 'The rows cannot be ordered by a column whose type has no order.';
    return wrongParameter('order', detail, { value: order.map(({ column }) => column).join(',') });
  }
  return ofVirtualColumns(error, columns);
}

function isTooLong(error: unknown): boolean {
  return conditionOf(error) === 'program_limit_exceeded';
}
