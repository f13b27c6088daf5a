/**
 * `node bench/compare-workbooks.ts FOLDER`: reads every sheet of every workbook under the folder through our sources
 * and through `@e965/xlsx`, and prints every cell that differs, by class. docs/spreadsheets.md explains the classes.
 */
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import process from 'node:process';
import * as library from '@e965/xlsx';
import * as codepages from '@e965/xlsx/dist/cpexcel.full.mjs';
import type { CellSink } from '../src/core/cells/cell-sink.ts';
import { withSecondReading } from '../src/core/cells/row-source.ts';
import { AppError } from '../src/core/errors.ts';
import { openSpreadsheet } from '../src/readers/spreadsheet/open-spreadsheet.ts';
import type { RandomAccessFile } from '../src/readers/spreadsheet/random-access-file.ts';
import type { SheetSource } from '../src/readers/spreadsheet/sheet-source.ts';
import { cellText, faultText, momentText } from '../test/support/recorded-cells.ts';
import { describeOracleCell, namesHeader } from './support/oracle-cells.ts';

const extensions = new Set(['.xlsx', '.xlsm', '.xls', '.xlsb', '.ods']);
const limits = {
  maxUnpackedBytes: 2 ** 31,
  maxRatio: 1000,
  maxRows: 2_000_000,
  maxColumns: 16_384,
  maxCellBytes: 2 ** 24,
  maxRowBytes: 2 ** 26,
  maxSharedStringBytes: 2 ** 28,
  maxLegacyFileBytes: 2 ** 28,
};

/** The cells by their address without the sheet: `C5`. */
interface Cells {
  texts: Map<string, string>;
  /** The column names by the address of their header. */
  headers: Map<string, string>;
}

interface Outcome<T> {
  value?: T;
  error?: string;
}

const counts = new Map<string, number>();
let compared = 0;
let sheetCount = 0;

const folder = process.argv[2];
if (folder === undefined) {
  process.stderr.write('Usage: node bench/compare-workbooks.ts FOLDER\n');
  process.exit(1);
}
library.set_cptable(codepages);
// The library reports records that it does not know. They are not compared.
console.error = () => {};
const files = await listWorkbooks(folder);
for (const file of files) await compareFile(file);
printCounts();

async function listWorkbooks(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true });
  return entries.filter((name) => extensions.has(extname(name).toLowerCase())).sort();
}

async function compareFile(name: string): Promise<void> {
  const bytes = await readFile(join(folder!, name));
  const ours = await attempt(async () => {
    const source = await openSheet(bytes, undefined);
    await readCells(source);
    return source;
  });
  const theirs = await attempt(async () => readOracle(bytes));
  const label = relative('.', name);
  if (ours.value === undefined || theirs.value === undefined) {
    const isBoth = ours.value === undefined && theirs.value === undefined;
    report(
      isBoth ? 'refused by both' : 'refused by one',
      label,
      '',
      '',
      ours.error ?? 'read',
      theirs.error ?? 'read',
    );
    return;
  }
  compareSheetLists(label, ours.value, theirs.value);
  for (const { name: sheet, hasCells } of ours.value.sheets) {
    if (hasCells) await compareSheet(label, bytes, sheet, theirs.value);
  }
}

function compareSheetLists(label: string, ours: SheetSource, theirs: library.WorkBook): void {
  const hidden = new Map(theirs.Workbook?.Sheets?.map(({ name, Hidden }) => [name, Hidden ?? 0]));
  const visibilities = ['visible', 'hidden', 'veryHidden'];
  const list = ours.sheets.map(({ name, visibility }) => `${name} (${visibility})`).join(', ');
  const other = theirs.SheetNames.map((name) => `${name} (${visibilities[hidden.get(name) ?? 0]})`).join(
    ', ',
  );
  if (list !== other) report('list of sheets', label, '', '', list, other);
}

async function compareSheet(
  label: string,
  bytes: Buffer,
  sheet: string,
  oracle: library.WorkBook,
): Promise<void> {
  sheetCount++;
  const ours = await attempt(async () => readCells(await openSheet(bytes, sheet)));
  if (ours.value === undefined) {
    report('sheet refused', label, sheet, '', ours.error!, 'read');
    return;
  }
  const { texts, headers } = ours.value;
  const worksheet = oracle.Sheets[sheet];
  const is1904 = oracle.Workbook?.WBProps?.date1904 === true;
  const seen = new Set<string>();
  (worksheet?.['!data'] ?? []).forEach((row, rowIndex) => {
    row?.forEach((cell, columnIndex) => {
      const expected = describeOracleCell(cell, is1904);
      if (expected === undefined) return;
      const address = library.utils.encode_cell({ r: rowIndex, c: columnIndex });
      seen.add(address);
      compared++;
      const header = headers.get(address);
      if (header !== undefined) {
        if (!namesHeader(header, expected.text))
          report('header', label, sheet, address, header, expected.text);
        return;
      }
      const text = texts.get(address) ?? 'nothing';
      if (text !== expected.text) {
        report(
          `${text.split(' ', 1)[0]}, not ${expected.text.split(' ', 1)[0]}`,
          label,
          sheet,
          address,
          text,
          expected.text,
        );
      } else if (expected.note !== undefined) {
        count(`the same, ${expected.note}`);
      }
    });
  });
  for (const [address, text] of texts) {
    if (!seen.has(address))
      report(`${text.split(' ', 1)[0]}, not nothing`, label, sheet, address, text, 'nothing');
  }
}

function readOracle(bytes: Buffer): library.WorkBook {
  return library.read(bytes, {
    type: 'buffer',
    dense: true,
    cellNF: true,
    cellText: false,
    cellHTML: false,
    cellFormula: true,
    cellDates: false,
    WTF: false,
  });
}

function openSheet(bytes: Buffer, sheet: string | undefined): Promise<SheetSource> {
  const file: RandomAccessFile = {
    size: bytes.length,
    read: async (target, position) => bytes.copy(target, 0, position),
  };
  const options = { columnNames: 'exact', cellErrors: 'problem' } as const;
  return openSpreadsheet(file, sheet === undefined ? options : { ...options, sheet }, limits);
}

async function readCells(source: SheetSource): Promise<Cells> {
  const texts = new Map<string, string>();
  const names: string[] = [];
  let row = 0;
  const address = (column: number, sheetRow = row): string =>
    source.locate(sheetRow, column, '').cell!.replace(/^.*!/s, '');
  const sink: CellSink = {
    column: (_, name) => names.push(name),
    beginRow: (number) => {
      row = number;
    },
    cell: (column, kind, bytes, start, end) => texts.set(address(column), cellText(kind, bytes, start, end)),
    moment: (column, kind, days, microseconds) =>
      texts.set(address(column), momentText(kind, days, microseconds)),
    fault: (column, fault, bytes, start, end) =>
      texts.set(address(column), faultText(fault, bytes, start, end)),
    endRow: () => {},
    drain: () => undefined,
  };
  await withSecondReading(async () => {
    texts.clear();
    names.length = 0;
    await source.read(sink, new AbortController().signal);
  });
  const headers = new Map(names.map((name, column) => [address(column, 0), name]));
  return { texts, headers };
}

async function attempt<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    const text = error instanceof AppError ? `${error.code}: ${error.detail}` : String(error);
    return { error: text };
  }
}

function report(
  difference: string,
  file: string,
  sheet: string,
  address: string,
  ours: string,
  theirs: string,
): void {
  count(difference);
  const place = [file, sheet, address].filter((part) => part !== '').join(' · ');
  console.log(`[${difference}] ${place}: ${shorten(ours)} | ${shorten(theirs)}`);
}

function count(difference: string): void {
  counts.set(difference, (counts.get(difference) ?? 0) + 1);
}

function shorten(text: string): string {
  const line = JSON.stringify(text).slice(1, -1);
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

function printCounts(): void {
  console.log(`\n${files.length} files, ${sheetCount} sheets, ${compared} cells compared`);
  for (const [difference, number] of [...counts].sort(([, a], [, b]) => b - a)) {
    console.log(`${String(number).padStart(8)}  ${difference}`);
  }
}
