/** Writes the file with the kept rows of a load. */
import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { Pace } from '../../../core/pause-for-others.ts';
import { Chunks } from '../../tables/export/chunks.ts';
import { maxCellLength, maxSheetColumns } from '../../tables/export/workbook/sheet-limits.ts';
import { workbook } from '../../tables/export/workbook/workbook.ts';
import { csvRows } from './csv-rows.ts';
import { type RowsFileFormat, requireFit } from './format-fit.ts';
import { jsonLineRows } from './json-line-rows.ts';
import type { RowsWriter } from './rows-writer.ts';
import { SentRowReader, type SentTable, type WrittenTable } from './sent-rows.ts';
import { sheetOfRows } from './sheet-of-rows.ts';

const inflate = promisify(inflateRaw);

/** Returns the format in which the rows were sent, or the nearest one that is written. */
export function formatOfRows({ format, delimiter }: SentTable): RowsFileFormat {
  if (delimiter !== undefined) return 'csv';
  return format === 'json' || format === 'ndjson' ? 'ndjson' : 'xlsx';
}

/**
 * Returns the bytes of the file.
 *
 * @param pieces the pieces of `KeptRows` after the first one
 * @throws AppError `limit-exceeded` if a workbook cannot have the rows; `invalid-parameter` if the format cannot give back a value
 */
export function rowsFile(
  table: SentTable,
  pieces: AsyncIterable<Buffer>,
  format: RowsFileFormat,
): AsyncGenerator<Buffer> {
  requireFit(table.misfits ?? {}, format);
  const rows = inflated(pieces);
  if (format !== 'xlsx') return textFile(table, rows, format);
  const advice = 'Send format=csv or ndjson.';
  if (table.longestValue > maxCellLength)
    throw limitExceeded('A value is too long for a cell', maxCellLength, 'characters', advice);
  if (table.names.length >= maxSheetColumns)
    throw limitExceeded('The rows have too many columns for a workbook', maxSheetColumns, 'columns', advice);
  const name = table.isComplete ? 'faulty rows' : `${table.rows} faulty rows of more`;
  return workbook(bytesOf(sheetOfRows(table), rows), name);
}

/** Returns the bytes of a text file. @param pieces rows in the form of sent-rows.ts */
export function textFile(
  table: WrittenTable,
  pieces: AsyncIterable<Buffer>,
  format: 'csv' | 'ndjson',
): AsyncGenerator<Buffer> {
  return bytesOf(format === 'csv' ? csvRows(table) : jsonLineRows(table), pieces);
}

async function* inflated(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield await inflate(piece);
}

async function* bytesOf(file: RowsWriter, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const out = new Chunks();
  const pace = new Pace();
  file.begin(out);
  for await (const piece of pieces) {
    const rows = new SentRowReader(piece);
    while (rows.next()) {
      file.row(rows, out);
      const pause = pace.pause();
      if (pause) await pause;
      for (let chunk = out.take(); chunk !== undefined; chunk = out.take()) yield chunk;
    }
  }
  file.end(out);
  out.flush();
  for (let chunk = out.take(); chunk !== undefined; chunk = out.take()) yield chunk;
}
