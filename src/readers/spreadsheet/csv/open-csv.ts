/** Opens a text file of delimited fields (.csv, .tsv). */

import { COMMA, CR, CTRL_Z, HASH, LF, SEMICOLON, SPACE, TAB } from '../../../core/bytes/ascii.ts';
import { rowTooLong } from '../../../core/cells/row-limit.ts';
import { AppError, type Warning, wrongParameter } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import {
  findNonUtf8,
  readTextStart,
  type TextEncoding,
  type TextStart,
  textDecoder,
} from '../../bytes/text-encoding.ts';
import { columnLetters, maxSheetColumn } from '../cell-address.ts';
import { type RandomAccessFile, readRange } from '../random-access-file.ts';
import type { OpenFormat, ScanResult } from '../sheet-format.ts';
import type { SheetRows } from '../sheet-rows.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import type { TextDialect } from '../spreadsheet-options.ts';
import { CsvScanner } from './csv-scanner.ts';
import { type DialectFound, findDialect } from './delimiter.ts';
import { fileChunks } from './file-chunks.ts';
import { OddRecords } from './record-counts.ts';

/** A text file is one sheet without a name. */
const theSheet = '';

/** The number of first bytes from which delimiter and encoding are found. */
const headBytes = 64 * 1024;

export const openCsv: OpenFormat = async (content, options, limits) => {
  if (content.kind !== 'csv') return undefined;
  const file = await withoutEndMark(content.file);
  const head = await readRange(file, 0, headBytes);
  const start = readTextStart(head);
  const stated = options.text.encoding;
  if (stated !== undefined) refuseOtherMark(start, stated);
  const { markBytes } = start;
  const encoding = stated ?? start.encoding;
  const text = textDecoder(encoding ?? 'utf-8', markBytes).decode(head.subarray(markBytes));
  refuseNul(text, head, encoding);
  const dialect = findDialect(text, head.length === file.size, options.text, options.trim);
  let found: TextEncoding | undefined = stated === 'utf-8' ? undefined : stated;
  return {
    format: 'csv',
    isText: true,
    sheets: [{ name: theSheet, visibility: 'visible', hasCells: true }],
    scanOf: () => async (rows, signal) => {
      found ??= await findEncoding(file, { encoding, markBytes }, signal);
      const isCommented = text[0] === HASH && options.text.comment === undefined;
      const { unassignedAt, ...result } = await scan(
        { file, markBytes, encoding: found, dialect, isCommented },
        rows,
        limits,
        signal,
      );
      return {
        ...result,
        text: { delimiter: String.fromCharCode(dialect.delimiter), encoding: found },
        warnings: [...detectionWarnings(options.text, dialect, found, unassignedAt), ...result.warnings],
      };
    },
  };
};

/**
 * Refuses a file that begins with the mark of another encoding than the stated one.
 *
 * @throws AppError `invalid-parameter`
 */
function refuseOtherMark({ encoding, markBytes }: TextStart, stated: TextEncoding): void {
  if (markBytes === 0 || encoding === stated) return;
  const detail = `The file begins with the byte order mark of ${encoding}: leave \`encoding\` out.`;
  throw wrongParameter('encoding', detail, { value: stated });
}

/**
 * Refuses a NUL in the first bytes. A later NUL is a problem of its cell, which has an address.
 *
 * @param text the first bytes of the file as UTF-8, without a byte order mark
 */
function refuseNul(text: Buffer, head: Buffer, encoding: TextEncoding | undefined): void {
  const at = text.indexOf(0);
  if (at < 0) return;
  const line = linesIn(text.subarray(0, at)) + 1;
  // In UTF-16 most characters have a byte that is 0.
  const place =
    encoding === 'utf-16le' || encoding === 'utf-16be'
      ? `NUL character in line ${line}`
      : `NUL byte in line ${line} (byte ${head.indexOf(0)})`;
  throw new AppError(
    'unsupported-file',
    `The file begins like a text file (CSV) but has a ${place}. A text file has none: remove the NUL, or send the file in the format that it has.`,
  );
}

/** Returns the number of line feeds. */
function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) lines++;
  return lines;
}

interface DelimitedText {
  file: RandomAccessFile;
  /** The length of the byte order mark. */
  markBytes: number;
  encoding: TextEncoding;
  dialect: DialectFound;
  /** The text begins with `#`, and this sign was not named as the beginning of comments. */
  isCommented: boolean;
}

async function scan(
  { file, markBytes, encoding, dialect, isCommented }: DelimitedText,
  rows: SheetRows,
  { maxCellBytes, maxRowBytes }: SpreadsheetLimits,
  signal: AbortSignal,
): Promise<ScanResult & { warnings: Warning[]; unassignedAt: number }> {
  const { lineBytes } = dialect;
  const { range, headerRow, hasHeader } = rows.window;
  const scanner = new CsvScanner(rows, dialect, { maxCellBytes, maxColumns: maxSheetColumn }, headerRow);
  const decoder = textDecoder(encoding, markBytes);
  let skipped = 0;
  for await (const chunk of fileChunks(file, markBytes, signal)) {
    const text = decoder.decode(chunk);
    const skip = Math.min(text.length, lineBytes - skipped);
    skipped += skip;
    for (let at = skip; at < text.length; ) {
      signal.throwIfAborted();
      const end = Math.min(text.length, at + sliceBytes(scanner.headerFields));
      scanner.push(text.subarray(at, end));
      at = end;
      // The record with the names is limited as a whole, because all names are in memory at the same time.
      if (hasHeader && rows.isHeaderAhead && scanner.recordBytes > maxCellBytes + headBytes) {
        throw limitExceeded('The record with the column names is too long', maxCellBytes, {
          setting: 'MAX_CELL_BYTES',
        });
      }
      if (scanner.recordBytes > maxRowBytes) throw rowTooLong(`Record ${scanner.records}`, maxRowBytes);
      const wait = rows.pause();
      if (wait !== undefined) await wait;
    }
  }
  decoder.finish();
  scanner.finish();
  const joined = joinedRecords(scanner, lineBytes > 0 ? 1 : 0);
  const warnings = [
    ...textFormulas(scanner),
    ...spacedQuotes(scanner),
    ...(joined?.warnings ?? []),
    ...shortRecords(scanner, hasHeader),
  ];
  // Values outside of the range are not read.
  if (range.lastColumn === maxSheetColumn) warnings.push(...longRecords(scanner, hasHeader, isCommented));
  const { unassignedAt = -1 } = decoder;
  return { warnings, unassignedAt, ...(joined && { joined: joined.joined }) };
}

/**
 * Returns how many bytes are scanned until the sink is asked whether it must drain. The sink keeps a row for each record, and a record of
 * two bytes below a header of 1,600 fields becomes a row of six kilobytes.
 *
 * @param headerFields 0: the header is not known yet
 */
function sliceBytes(headerFields: number): number {
  const bytes = headerFields === 0 ? minSliceBytes : Math.floor((2 * 1024 * 1024) / headerFields);
  return Math.min(Math.max(bytes, minSliceBytes), maxSliceBytes);
}

/** Shorter slices would cost more than they save. */
const minSliceBytes = 4 * 1024;
const maxSliceBytes = 64 * 1024;

/** Warns of a delimiter or an encoding that the caller did not state and may not expect. */
function detectionWarnings(
  stated: TextDialect,
  { delimiter }: DialectFound,
  encoding: TextEncoding,
  unassignedAt: number,
): Warning[] {
  const warnings: Warning[] = [];
  if (delimiter !== COMMA && stated.delimiter === undefined) {
    warnings.push({
      code: 'delimiter',
      detail: `The file was read with ${nameOf(delimiter)} between the fields.`,
    });
  }
  if (encoding !== 'utf-8' && stated.encoding === undefined) {
    const readAs = `The file was read as ${encodingNames[encoding] ?? encoding}`;
    const detail =
      unassignedAt < 0
        ? `${readAs}; if letters are wrong, send \`encoding\`.`
        : `${readAs}. But Windows-1252 has no character for the byte at position ${unassignedAt}, so the file is in another encoding and letters are wrong: send \`encoding\`, such as shift_jis, gbk, windows-1250 or macintosh.`;
    warnings.push({ code: 'encoding', detail });
  }
  return warnings;
}

/** Says that fields such as `="00042"` were read as texts. */
function textFormulas({ textFormulas: { count, record, column } }: CsvScanner): Warning[] {
  if (count === 0) return [];
  const first = `${columnLetters(column + 1)}${record}`;
  const detail =
    count === 1
      ? `The field ${first} is a formula ="…" and was read as the text between the quotes.`
      : `${count} fields are formulas ="…" and were read as the texts between the quotes. The first is ${first}.`;
  return [{ code: 'text-formulas', detail }];
}

/** Warns of quotes that are text because white space comes before them. */
function spacedQuotes({ spacedQuotes: { count, record, column } }: CsvScanner): Warning[] {
  if (count === 0) return [];
  const first = `${columnLetters(column + 1)}${record}`;
  const found =
    count === 1
      ? `The field ${first} begins with white space and a quotation mark`
      : `${count} fields begin with white space and a quotation mark, the first is ${first}`;
  const detail = `${found}. Such quotes were read as text. To read them as quotes around the value, send trim=true.`;
  return [{ code: 'spaced-quotes', detail, choices: [{ parameters: { trim: 'true' } }] }];
}

/**
 * Describes the records in which quotes may have joined lines that are records of their own.
 *
 * @param linesAbove the lines of the file before the first record
 */
function joinedRecords(
  { damaged, joined, joinedRecords: records }: CsvScanner,
  linesAbove: number,
): (Required<Pick<ScanResult, 'joined'>> & { warnings: Warning[] }) | undefined {
  if (damaged.count + joined.count === 0) return undefined;
  const found = damaged.count > 0 ? damaged : joined;
  const cell = `${columnLetters(found.column + 1)}${found.record}`;
  const lines = `lines ${found.firstLine + linesAbove} to ${found.lastLine + linesAbove}`;
  const place =
    found.count === 1
      ? `Row ${found.record} consists of the ${lines} of the file`
      : `${found.count} rows consist of several lines of the file, ${found.lines} in all, and the first of them, row ${found.record}, of the ${lines}`;
  const reasons =
    damaged.count > 0
      ? `${place}, and text follows the closing quote in ${cell}. Its quotes may have joined lines that are rows of their own.`
      : `${place}, because the field ${cell} is in quotes, and its lines look like rows of their own.`;
  const remedy = 'If the quotes are text, send quote=none.';
  const reason = `${reasons} Leaving out this row could leave out good rows, too. Correct the quotes in the file. ${remedy}`;
  return {
    joined: { reason, damage: damaged.count > 0 ? damaged : undefined, records },
    warnings: [
      {
        code: 'lines-in-a-field',
        detail: `${reasons} ${remedy}`,
        choices: [{ parameters: { quote: 'none' } }],
      },
    ],
  };
}

/**
 * Warns of records with too few fields. They are read with empty last columns. Most such records are intended, but sometimes the file
 * was cut off. If no record has a field for the delimiter after the last name of the header, only the header ends with a delimiter.
 */
function shortRecords(
  { short, lean, headerFields, allHeaderFields, records, valued }: CsvScanner,
  hasHeader: boolean,
): Warning[] {
  const isUsual = lean.count + short.count === valued && lean.areAlike;
  const odd = isUsual ? short : both(short, lean);
  if (odd.count === 0) return [];
  const remedy =
    'The missing fields are empty. If a value contains a line break, put the value in double quotes.';
  const cutOff = odd.last === records ? ' The last row is one of them: is the file complete?' : '';
  const most = isUsual ? headerFields : allHeaderFields;
  const detail = `${describeOdd(odd, 'fewer', most, hasHeader)} ${remedy}${cutOff}`;
  return [{ code: 'short-rows', detail }];
}

/**
 * Warns of records with more fields than the header. A value after the last column of the header gets a column without a name. An empty
 * last field may mean that an extra delimiter has moved the values before it.
 */
function longRecords(
  { long, surplus, allHeaderFields, valued }: CsvScanner,
  hasHeader: boolean,
  isCommented: boolean,
): Warning[] {
  const odd = both(long, surplus);
  if (odd.count === 0) return [];
  if (surplus.count === valued && surplus.areAlike)
    return [usualSurplus(surplus.fields, allHeaderFields, hasHeader)];
  const quotes =
    'If a value contains the delimiter, put the value in double quotes, or name the quotation mark of the file with `quote`.';
  const empty =
    long.count > 0
      ? ''
      : ' The last fields of these rows are empty, and their other values may be in wrong columns.';
  const remedy = hasHeader ? `${quotes} If the header lacks a name, add it.` : quotes;
  const comments = isCommented ? ' If lines that begin with # are comments, send comment=%23.' : '';
  const detail = `${describeOdd(odd, 'more', allHeaderFields, hasHeader)}${empty} ${remedy}${comments}`;
  return [{ code: 'long-rows', detail, ...(isCommented && { choices: [{ parameters: { comment: '#' } }] }) }];
}

/** Warns that all records have the same number of empty fields more than the header. */
function usualSurplus(fields: number, headerFields: number, hasHeader: boolean): Warning {
  const more = fields - headerFields;
  const [surplus, are] = more === 1 ? ['one field', 'it is empty'] : [`${more} fields`, 'they are empty'];
  const header = hasHeader ? 'the header' : 'the first row';
  const remedy = hasHeader
    ? ' If the header lacks a name, the values are in wrong columns: add the name.'
    : '';
  const detail = `Each row has ${surplus} more than ${header}, and ${are} at the end of the row.${remedy}`;
  return { code: 'long-rows', detail };
}

/** Counts two kinds of records together. */
function both(one: OddRecords, other: OddRecords): OddRecords {
  if (one.count === 0) return other;
  if (other.count === 0) return one;
  const { first, fields } = one.first < other.first ? one : other;
  const sum = new OddRecords();
  return Object.assign(sum, {
    count: one.count + other.count,
    first,
    fields,
    last: Math.max(one.last, other.last),
    areAlike: false,
  });
}

function describeOdd(
  { count, first, fields }: OddRecords,
  which: string,
  headerFields: number,
  hasHeader: boolean,
): string {
  const header = hasHeader ? 'the header' : 'the first row';
  const has = fields === 1 ? '1 field' : `${fields} fields`;
  if (count === 1) return `Row ${first} has ${has}, ${header} has ${headerFields}.`;
  return `${count} rows have ${which} fields than ${header}, which has ${headerFields}. The first is row ${first}, which has ${has}.`;
}

const endMarkBytes = 16;

/** Returns the file without Ctrl-Z at its end, which DOS programs write there, and without line breaks around it. */
async function withoutEndMark(file: RandomAccessFile): Promise<RandomAccessFile> {
  const tail = await readRange(file, Math.max(0, file.size - endMarkBytes), endMarkBytes);
  let at = tail.length;
  while (at > 0 && (tail[at - 1] === CTRL_Z || tail[at - 1] === LF || tail[at - 1] === CR)) at--;
  const mark = tail.indexOf(CTRL_Z, at);
  if (mark < 0) return file;
  const size = file.size - tail.length + mark;
  return {
    size,
    read: async (target, position) =>
      position >= size
        ? 0
        : await file.read(target.subarray(0, Math.min(target.length, size - position)), position),
  };
}

function nameOf(delimiter: number): string {
  if (delimiter === SEMICOLON) return 'semicolons';
  if (delimiter === TAB) return 'tabs';
  return delimiter === SPACE ? 'spaces' : `"${String.fromCharCode(delimiter)}"`;
}

const encodingNames: Partial<Record<TextEncoding, string>> = {
  'utf-8': 'UTF-8',
  'windows-1252': 'Windows-1252 (Western European), since it is not valid UTF-8',
  'utf-16le': 'UTF-16',
  'utf-16be': 'UTF-16',
};

/** Checks the whole file if its beginning does not show the encoding. One byte may decide between UTF-8 and Windows-1252. */
async function findEncoding(
  file: RandomAccessFile,
  { encoding, markBytes }: TextStart,
  signal: AbortSignal,
): Promise<TextEncoding> {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return encoding;
  const fault = await findNonUtf8(fileChunks(file, markBytes, signal));
  if (fault === undefined) return 'utf-8';
  if (encoding === undefined && !fault.followsUtf8) return 'windows-1252';
  const position = markBytes + fault.position;
  const line = await lineOf(file, position, signal);
  if (encoding === undefined) {
    throw new AppError(
      'invalid-file',
      `Line ${line} of the file (byte ${position}) is not UTF-8, and letters before it are. Save all of it as UTF-8.`,
    );
  }
  throw new AppError(
    'invalid-file',
    `The file ${markBytes > 0 ? 'begins with the mark of UTF-8 and ' : ''}is not UTF-8 in line ${line} (byte ${position}).`,
  );
}

/** Returns the number of the line as editors count lines. */
async function lineOf(file: RandomAccessFile, position: number, signal: AbortSignal): Promise<number> {
  let line = 1;
  let left = position;
  for await (const chunk of fileChunks(file, 0, signal)) {
    const end = Math.min(left, chunk.length);
    line += linesIn(chunk.subarray(0, end));
    left -= end;
    if (left === 0) break;
  }
  return line;
}
