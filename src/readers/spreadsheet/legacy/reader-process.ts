/**
 * The process that reads one .xls workbook and then ends: `reader-process.ts <bytes>`.
 *
 * The library keeps the whole workbook in memory, and a crafted file may let it loop forever or use up memory. Therefore it
 * never runs inside the service. run-reader.ts limits this process. Standard input has the length of the password (4 bytes, little
 * endian; 0: no password was sent) and the password (UTF-8), because arguments can be read by other users of the machine. The file
 * follows, `<bytes>` long, and then the indices of the sheets to read (4 bytes each, little endian, no index twice). The process writes the frames of
 * cell-blocks.ts to standard output until the service ends it.
 */

import process from 'node:process';
import * as library from '@e965/xlsx';
import {
  type CellObject,
  CFB,
  type ParsingOptions,
  type Range,
  read,
  SSF,
  type WorkBook,
  type WorkSheet,
} from '@e965/xlsx';
import * as codepages from '@e965/xlsx/dist/cpexcel.full.mjs';
import { trimText } from '../../../core/bytes/white-space.ts';
import { cutText } from '../../../core/cut-text.ts';
import { passwordsToTry } from '../encryption/passwords.ts';
import { CoveredCells, MergedAreas, NONE, OVERLAP } from '../merged-areas.ts';
import { maxReferenceLength } from '../names/workbook-names.ts';
import * as frames from '../reader-process/frames.ts';
import { maxSheets } from '../sheet-names.ts';
import { errorTexts, unknownErrorText } from '../values/error-texts.ts';
import { builtInFormat, type NumberFormat, parseFormatCode } from '../values/number-formats.ts';
import * as blocks from './cell-blocks.ts';
import { decryptRecords } from './decrypt-records.ts';
import { type PreparedRecords, prepareRecords, UnknownCodePage } from './prepare-records.ts';
import { type ColumnRange, findSheets } from './stored-sheets.ts';

/** The library exports this function, but its types do not. */
const { parse_xlscfb } = library as unknown as {
  parse_xlscfb(container: unknown, options: ParsingOptions): WorkBook;
};

const OLE = 0xd0;

/**
 * The options of the library: numbers are read as the file has them, with the codes of their formats. Everything that only changes
 * the look of a cell is left out.
 */
const parsing: ParsingOptions = {
  type: 'buffer',
  dense: true,
  cellDates: false,
  cellNF: true,
  cellText: false,
  cellHTML: false,
  cellFormula: false,
};

async function run(): Promise<void> {
  await send(frames.STARTED, '');
  const size = Number(process.argv[2]);
  const input = process.stdin[Symbol.asyncIterator]();
  const length = await readBytes(input, 4, Buffer.alloc(0));
  const password = await readBytes(input, length.bytes.readUInt32LE(), length.rest);
  const { bytes: file, rest } = await readBytes(input, size, password.rest);
  const passwords = passwordsToTry(password.bytes.toString() || undefined);
  try {
    const workbook = openWorkbook(file, passwords);
    await send(blocks.SHEETS, JSON.stringify(workbook.sheets));
    for (let unread = rest; ; ) {
      const answer = await readBytes(input, 4, unread);
      unread = answer.rest;
      const asked = answer.bytes.readUInt32LE();
      if (asked === blocks.namesRequest) {
        await send(blocks.NAMES, JSON.stringify(workbook.readNames()));
        continue;
      }
      await sendSheet(workbook.readSheet(asked));
      await send(blocks.END, '');
    }
  } catch (error) {
    process.stderr.write(String(error));
    await send(frames.FAILED, faultOf(error));
  }
  // The process must exit explicitly, because standard input is still open and the library may have left timers or handles.
  process.exit(0);
}

function faultOf(error: unknown): blocks.ReaderFault {
  if (error instanceof UnknownCodePage) return `${blocks.codePageFault}${error.codePage}`;
  return error instanceof Fault ? error.message : 'broken';
}

/** Ends the reading because the file cannot be read. The message is a `ReaderFault`. */
class Fault extends Error {
  declare readonly message: blocks.ReaderFault;

  constructor(fault: blocks.ReaderFault) {
    super(fault);
  }
}

interface OpenedWorkbook {
  sheets: blocks.ReportedSheet[];
  readSheet(index: number): ReadSheet;
  readNames(): blocks.ReportedNames;
}

interface ReadSheet extends Pick<PreparedRecords, 'hasStyles' | 'unstyled'> {
  sheet: WorkSheet | undefined;
  is1904: boolean;
  hiddenColumns: ColumnRange[];
}

function openWorkbook(file: Buffer, passwords: Buffer[]): OpenedWorkbook {
  library.set_cptable(codepages);
  markBuiltInFormats();
  const { workbook, stream, records } = withPasswordFault(() =>
    file[0] === OLE ? readCompoundFile(file, passwords) : readStream(file, () => read(file, parsing)),
  );
  // The service parses the list of sheets in one step, so the list must be short.
  if (workbook.SheetNames.length > maxSheets) throw new Fault('too-many-sheets');
  const stored = findSheets(stream);
  const tabs = tabsOf(workbook.SheetNames, stored.tabs);
  const names = tabs.map((tab) => workbook.SheetNames[tab]!);
  const hidden = new Map(workbook.Workbook?.Sheets?.map(({ name, Hidden }) => [name, Hidden ?? 0]));
  const typeOf = (name: string): string | undefined => workbook.Sheets[name]?.['!type'];
  return {
    sheets: names.map((name) => ({
      name,
      hidden: hidden.get(name) ?? 0,
      hasCells: typeOf(name) !== 'chart' && typeOf(name) !== 'dialog',
      size: sizeOf(workbook.Sheets[name]),
    })),
    readSheet: (index) => ({
      sheet: workbook.Sheets[names[index]!],
      is1904: workbook.Workbook?.WBProps?.date1904 === true,
      hiddenColumns: stored.hidden[tabs[index]!] ?? [],
      hasStyles: records.hasStyles,
      unstyled: records.unstyled.filter((cell) => cell.sheet === tabs[index]),
    }),
    readNames: () => namesOf(workbook, names),
  };
}

/** Returns the places of the sheets in the order of the tabs, if each tab has another one, otherwise in that in which they are stored. */
function tabsOf(names: string[], tabs: number[]): number[] {
  const isWhole = tabs.length === names.length && new Set(tabs).size === names.length;
  return isWhole ? tabs : [...names.keys()];
}

/** The maximum number of characters of all names together. They must fit into one frame. Further names are left out. */
const maxNameCharacters = 1_000_000;

/** @param sheets the names of the sheets in the order of the tabs, by which a name says its sheet */
function namesOf({ Workbook: properties }: WorkBook, sheets: string[]): blocks.ReportedNames {
  const names: blocks.ReportedNames['names'] = [];
  let characters = 0;
  for (const { Name: name, Ref: refersTo = '', Sheet: sheet } of properties?.Names ?? []) {
    const localTo = sheet === undefined ? undefined : sheets[sheet];
    const cut = cutText(String(refersTo), maxReferenceLength);
    characters += name.length + cut.length + (localTo?.length ?? 0);
    if (characters > maxNameCharacters) return { names, isComplete: false };
    names.push({ name, ...(localTo !== undefined && { localTo }), refersTo: cut });
  }
  return { names, isComplete: true };
}

function sizeOf(sheet: WorkSheet | undefined): blocks.ReportedSheet['size'] {
  let rows = 0;
  const columns = new Set<number>();
  for (const row of Object.values(sheet?.['!data'] ?? [])) {
    let hasRow = false;
    row.forEach((cell, column) => {
      if (!hasValue(cell)) return;
      hasRow = true;
      columns.add(column);
    });
    if (hasRow) rows++;
  }
  return { rows: Math.max(0, rows - 1), columns: columns.size };
}

interface ReadRecords {
  workbook: WorkBook;
  stream: Buffer;
  records: PreparedRecords;
}

function readCompoundFile(file: Buffer, passwords: Buffer[]): ReadRecords {
  const container = CFB.read(file, { type: 'buffer' });
  const has = (stream: string): boolean => CFB.find(container, stream) !== null;
  if (has('EncryptedPackage')) throw new Fault('unknown-method');
  // The library reads the same stream.
  const entry = CFB.find(container, '/Workbook') ?? CFB.find(container, '/Book');
  if (entry === null) {
    if (has('WordDocument')) throw new Fault('word-document');
    if (has('PowerPoint Document')) throw new Fault('presentation');
    throw new Fault('no-workbook');
  }
  // The library ignores a chain of sectors that ends too early.
  if (entry.content.length < entry.size) throw new Fault('broken');
  decryptStream(entry, passwords);
  return readStream(entry.content as Buffer, () => parse_xlscfb(container, parsing));
}

/** Prepares the records of the stream, which `readIt` then reads. */
function readStream(stream: Buffer, readIt: () => WorkBook): ReadRecords {
  const records = prepareRecords(stream, (codePage) => codePage in codepages.cptable);
  if (records.cells > blocks.maxCells) throw new Fault('too-many-cells');
  return { workbook: readIt(), stream, records };
}

/** Decrypts the records in place if they are encrypted. */
function decryptStream(entry: { content: Buffer }, passwords: Buffer[]): void {
  const fault = decryptRecords(entry.content, passwords);
  if (fault !== undefined) throw new Fault(fault);
}

const passwordMessage =
  /File is password-protected|Password is incorrect|Encryption scheme unsupported|Encryption Flags\/AlgID mismatch/;

function withPasswordFault<T>(readIt: () => T): T {
  try {
    return readIt();
  } catch (error) {
    if (passwordMessage.test(String(error))) throw new Fault('unknown-method');
    throw error;
  }
}

const builtInMark = 'built-in format ';

/**
 * Gives each format of an East Asian locale a code that contains its id, because these formats have an id but no code, and the
 * library drops them.
 */
function markBuiltInFormats(): void {
  const codes = SSF.get_table() as Record<number, string>;
  for (let id = 0; id < 100; id++) codes[id] ??= `${builtInMark}${id}`;
}

function numberFormat(code: string): NumberFormat {
  return code.startsWith(builtInMark)
    ? builtInFormat(Number(code.slice(builtInMark.length)))
    : parseFormatCode(code);
}

/**
 * Sends the cells of a sheet. If the library could not read a sheet, the sheet is missing, and the file is refused, because
 * otherwise the sheet would look empty.
 */
async function sendSheet(read: ReadSheet): Promise<void> {
  const { sheet } = read;
  const rows = sheet?.['!data'];
  if (rows === undefined) throw new Fault('broken');
  // Keys are used instead of indices, so that missing rows cost nothing, whatever row number a file claims.
  const rowIndices = Object.keys(rows).map(Number);
  const merges = sheet?.['!merges'] ?? [];
  markCovered(rows, rowIndices, merges);
  const formatIndices = await sendFormats(rows, rowIndices, read);
  const rowProperties = sheet?.['!rows'] ?? [];
  const writer = new blocks.BlockWriter();
  for (const { s: first, e: last } of merges) {
    writer.mergedArea(first.r + 1, first.c + 1, last.r + 1, last.c + 1);
    if (writer.isFull) await send(blocks.CELLS, writer.take());
  }
  for (const rowIndex of rowIndices) {
    let isBegun = false;
    rows[rowIndex]!.forEach((cell, column) => {
      if (cell !== coveredCell && !hasValue(cell)) return;
      if (!isBegun) writer.row(rowIndex + 1, rowProperties[rowIndex]?.hidden === true);
      isBegun = true;
      if (cell === coveredCell) writer.flag(column, blocks.COVERED_CELL);
      else writeCell(writer, cell, column, formatIndices);
    });
    // The row is not needed any more, so its memory is released.
    rows[rowIndex] = [];
    if (writer.isFull) await send(blocks.CELLS, writer.take());
  }
  await send(blocks.CELLS, writer.take());
}

/** Replaces a cell that has a value but is covered by merged cells. */
const coveredCell: CellObject = { t: 'z' };

/** Removes or marks the covered cells, because only the top-left cell of a merged area has a value. */
function markCovered(rows: CellObject[][], rowIndices: number[], merges: Range[]): void {
  if (merges.length === 0) return;
  const areas = new MergedAreas();
  for (const { s: first, e: last } of merges) {
    if (!areas.add(first.r + 1, first.c + 1, last.r + 1, last.c + 1))
      throw new Fault('too-many-merged-areas');
  }
  const covered = new CoveredCells(areas);
  for (const rowIndex of rowIndices) {
    const found = covered.toRow(rowIndex + 1);
    if (found === OVERLAP) throw new Fault('broken');
    if (found === NONE) continue;
    const row = rows[rowIndex]!;
    row.forEach((cell, column) => {
      if (!covered.has(column + 1)) return;
      if (hasValue(cell) && !isBlank(cell)) row[column] = coveredCell;
      else delete row[column];
    });
  }
}

/** Sends the formats. @returns their indices; `undefined`, the format of a cell that has none, is `General` in a workbook without styles */
async function sendFormats(
  rows: CellObject[][],
  rowIndices: number[],
  { is1904, hiddenColumns, hasStyles, unstyled }: ReadSheet,
): Promise<FormatIndices> {
  const indices = new Map<string, number>([['General', 0]]);
  for (const rowIndex of rowIndices) {
    rows[rowIndex]!.forEach((cell) => {
      const code = cell?.z as string | undefined;
      if (code === undefined || indices.has(code)) return;
      // Without its format a date would be read as a number, so the file is refused. No program writes NUL into a format.
      if (indices.size > maxFormats || code.includes('\0')) throw new Fault('broken');
      indices.set(code, indices.size);
    });
  }
  const report: blocks.ReportedFormats = {
    is1904,
    hiddenColumns,
    formats: [...indices.keys()].map(numberFormat),
  };
  await send(blocks.FORMATS, JSON.stringify(report));
  for (const { row, column } of unstyled) {
    const cell = rows[row]?.[column];
    if (cell?.t === 'n') cell.z = missingStyle;
  }
  return hasStyles ? indices : new Map<string | undefined, number>(indices).set(undefined, 0);
}

type FormatIndices = ReadonlyMap<string | undefined, number>;

/** Is the format of a number whose style does not exist. It has no index, like the format of a style whose format does not exist. */
const missingStyle = 'missing style';

/** The maximum number of number formats. A file with more is refused. Excel allows 65,490 styles, and the index of a format has 16 bits. */
const maxFormats = 65_000;

function hasValue(cell: CellObject | undefined): cell is CellObject {
  return cell !== undefined && cell !== null && cell.t !== 'z' && cell.v !== '';
}

function isBlank({ v: value }: CellObject): boolean {
  return typeof value === 'string' && trimText(value) === '';
}

function writeCell(
  writer: blocks.BlockWriter,
  cell: CellObject,
  column: number,
  formatIndices: FormatIndices,
): void {
  const { t: type, v: value } = cell;
  if (type === 'n' && typeof value === 'number') {
    writer.number(column, formatIndices.get(cell.z as string | undefined) ?? blocks.NO_FORMAT, value);
  } else if (type === 's' && value !== undefined) {
    // No program writes NUL. So the library has taken other bytes for text, and the file is refused.
    if (String(value).includes('\0')) throw new Fault('broken');
    writer.text(column, blocks.STRING_CELL, String(value));
  } else if (type === 'b') {
    writer.flag(column, value ? blocks.TRUE_CELL : blocks.FALSE_CELL);
  } else if (type === 'e') {
    writer.text(column, blocks.ERROR_TEXT_CELL, errorTexts[Number(value)] ?? unknownErrorText);
  } else {
    writer.flag(column, blocks.NO_RESULT_CELL);
  }
}

async function send(kind: number, content: Buffer | string): Promise<void> {
  const bytes = Buffer.from(content as string);
  const head = Buffer.alloc(frames.frameHeadBytes);
  head[0] = kind;
  head.writeUInt32LE(bytes.length, 1);
  await write(head);
  await write(bytes);
}

/** Writes bytes and waits until the service has read them, so that no more output is created than the service wants. */
function write(bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

/**
 * Returns the next `length` bytes of the input.
 *
 * @param rest the bytes that were read already
 */
async function readBytes(
  input: AsyncIterator<Buffer>,
  length: number,
  rest: Buffer,
): Promise<{ bytes: Buffer; rest: Buffer }> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  let chunk = rest;
  for (;;) {
    const taken = chunk.copy(bytes, filled);
    filled += taken;
    if (filled === length) return { bytes, rest: chunk.subarray(taken) };
    const next = await input.next();
    // The input has ended, so the service has ended, too.
    if (next.done) process.exit(1);
    chunk = next.value;
  }
}

await run();
