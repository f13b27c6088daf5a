/** Opens a text file of delimited fields (.csv, .tsv). */

import { COMMA, CR, CTRL_Z, HASH, LF, QUOTE, SEMICOLON, SPACE, TAB } from '../../../core/bytes/ascii.ts';
import { ReadAgain } from '../../../core/cells/row-source.ts';
import { AppError, type Warning, wrongParameter } from '../../../core/errors.ts';
import { guessEncoding } from '../../bytes/guess-encoding.ts';
import {
  findNonUtf8,
  readTextStart,
  type TextEncoding,
  type TextStart,
  textDecoder,
} from '../../bytes/text-encoding.ts';
import { maxSheetColumn } from '../cell-address.ts';
import { type RandomAccessFile, readRange } from '../random-access-file.ts';
import type { OpenFormat, OpenOptions, ScanResult } from '../sheet-format.ts';
import type { SheetWindow } from '../sheet-window.ts';
import { type DialectFound, findDialect } from './delimiter.ts';
import { fileChunks } from './file-chunks.ts';
import {
  joinedRecords,
  longRecords,
  repairedQuotes,
  shortRecords,
  spacedQuotes,
  textFormulas,
} from './record-warnings.ts';
import { headBytes, type ScannedText, scanText } from './scan-text.ts';

/** The name of the only sheet: a text file is one sheet without a name. */
const theSheet = '';

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
  let found: EncodingFound | undefined =
    stated === undefined || stated === 'utf-8' ? undefined : { encoding: stated, candidates: [] };
  const mayRepair = dialect.quote !== 0 && options.text.quotes !== 'strict';
  let isRepaired = mayRepair && dialect.isFaulty;
  return {
    format: 'csv',
    isText: true,
    sheets: [{ name: theSheet, visibility: 'visible', hasCells: true }],
    scanOf: () => async (rows, signal) => {
      found ??= await findEncoding(file, { encoding, markBytes }, signal);
      const isCommented = text[0] === HASH && options.text.comment === undefined;
      const isWatched = mayRepair && !isRepaired;
      const all = { file, markBytes, encoding: found.encoding, dialect, isRepaired, isWatched };
      const scanned = await scanText(all, rows, limits, signal).catch((error: unknown) => {
        isRepaired ||= error instanceof ReadAgain;
        throw error;
      });
      const { joined, warnings } = resultOf(scanned, rows.window, {
        isCommented,
        linesAbove: dialect.lineBytes > 0 ? 1 : 0,
      });
      const { unassignedAt } = scanned;
      return {
        ...(joined && { joined }),
        text: {
          delimiter: String.fromCharCode(dialect.delimiter),
          encoding: found.encoding,
          quoted: options.text.quoted,
        },
        warnings: [...detectionWarnings(options, dialect, found, unassignedAt), ...warnings],
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
  // In UTF-16 every second byte may be 0, so the place is counted in units of two bytes.
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

/** Returns the warnings about the records, and the records that quotes may have joined. */
function resultOf(
  { scanner, repair }: ScannedText,
  { hasHeader, range }: SheetWindow,
  { isCommented, linesAbove }: { isCommented: boolean; linesAbove: number },
): { joined: ScanResult['joined'] | undefined; warnings: Warning[] } {
  const joined = joinedRecords(scanner, linesAbove);
  const warnings = [
    ...textFormulas(scanner),
    ...spacedQuotes(scanner),
    ...repairedQuotes(repair, linesAbove),
    ...(joined?.warnings ?? []),
    ...shortRecords(scanner, hasHeader),
  ];
  // If the caller chose a range, values outside of it are not read, so there is nothing to warn of.
  if (range.lastColumn === maxSheetColumn) warnings.push(...longRecords(scanner, hasHeader, isCommented));
  return { joined: joined?.joined, warnings };
}

/** Warns of a delimiter or an encoding that the caller did not state and may not expect. */
function detectionWarnings(
  { text: stated, trim: isTrimmed }: OpenOptions,
  { delimiter, quote, escape: escapeSign, skipsSpace }: DialectFound,
  { encoding, candidates }: EncodingFound,
  unassignedAt: number,
): Warning[] {
  const warnings: Warning[] = [];
  if (skipsSpace && !isTrimmed) {
    const detail = `The file was read with ${nameOf(delimiter)} and white space between the fields. To keep this white space, send delimiter=${signOf(delimiter)}.`;
    warnings.push({ code: 'delimiter', detail, choices: [{ parameters: { delimiter: signOf(delimiter) } }] });
  } else if (delimiter !== COMMA && stated.delimiter === undefined) {
    const detail = `The file was read with ${nameOf(delimiter)} between the fields.`;
    warnings.push({ code: 'delimiter', detail });
  }
  if (quote !== QUOTE && stated.quote === undefined) {
    const detail = `The file was read with ${String.fromCharCode(quote)} as the quotation mark around fields. If this mark is text, send quote=none.`;
    warnings.push({ code: 'quote', detail, choices: [{ parameters: { quote: 'none' } }] });
  }
  if (escapeSign !== 0 && stated.escape === undefined) {
    const detail =
      'A backslash before a quotation mark was left out, and the mark was read as text. If backslashes are text, send escape=none.';
    warnings.push({ code: 'escape', detail, choices: [{ parameters: { escape: 'none' } }] });
  }
  if (encoding !== 'utf-8' && stated.encoding === undefined) {
    const readAs = `The file was read as ${encodingNames[encoding] ?? encoding}`;
    const detail =
      candidates.length > 0
        ? `${readAs}. But its letters look like another alphabet, such as that of ${candidates.join(', ')}: send \`encoding\`.`
        : unassignedAt < 0
          ? `${readAs}; if letters are wrong, send \`encoding\`.`
          : `${readAs}. But Windows-1252 has no character for the byte at position ${unassignedAt}, so the file is in another encoding and letters are wrong: send \`encoding\`, such as shift_jis, gbk, windows-1250 or macintosh.`;
    const choices = candidates.map((name) => ({ parameters: { encoding: name } }));
    warnings.push({ code: 'encoding', detail, ...(choices.length > 0 && { choices }) });
  }
  return warnings;
}

const endMarkBytes = 16;

/** Returns the file without a Ctrl-Z at its end, which DOS programs write, and without line breaks around it. */
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

/** Returns the value of the parameter `delimiter`. */
function signOf(delimiter: number): string {
  if (delimiter === TAB) return 'tab';
  return delimiter === SPACE ? 'space' : String.fromCharCode(delimiter);
}

const encodingNames: Partial<Record<TextEncoding, string>> = {
  'utf-8': 'UTF-8',
  'windows-1252': 'Windows-1252 (Western European), since it is not valid UTF-8',
  'utf-16le': 'UTF-16',
  'utf-16be': 'UTF-16',
};

interface EncodingFound {
  encoding: TextEncoding;
  /** The encodings that the text may have if this one is wrong. */
  candidates: TextEncoding[];
}

/** The bytes of the text from which its encoding is guessed. */
const guessedBytes = 64 * 1024;

/** Checks the whole file if its beginning does not show the encoding. One byte may decide between UTF-8 and Windows-1252. */
async function findEncoding(
  file: RandomAccessFile,
  { encoding, markBytes }: TextStart,
  signal: AbortSignal,
): Promise<EncodingFound> {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return { encoding, candidates: [] };
  const fault = await findNonUtf8(fileChunks(file, markBytes, signal));
  if (fault === undefined) return { encoding: 'utf-8', candidates: [] };
  const position = markBytes + fault.position;
  if (encoding === undefined && !fault.followsUtf8) {
    const guess = guessEncoding(await readRange(file, Math.max(0, position - 1024), guessedBytes));
    if (guess?.encoding !== undefined) return { encoding: guess.encoding, candidates: [] };
    return { encoding: 'windows-1252', candidates: guess?.candidates ?? [] };
  }
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

/** Returns the number of the line at the position, counted as editors count lines. */
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
