/**
 * Scores the files of Pollock (Vitagliano et al., VLDB 2023): 2,290 polluted files and the files of its survey, without parameters and
 * with those that the benchmark gives to every system. A score is the sum of ten measures from 0 to 1: success, and precision, recall
 * and F1 of the header, the records and the cells.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { columnLetters } from '../../src/readers/spreadsheet/cell-address.ts';
import { openReader, type QualityRun, type Reader, type ReadTable } from './quality-run.ts';

interface Mode {
  query: Record<string, string>;
  /** What is sent of the parameters of the benchmark. `names`: also the names of the columns, as a definition. */
  given?: 'dialect' | 'names';
  /** Dates, times, amounts and numbers are compared as values, because the service stores them as such. Only the polluted files have one notation. */
  areValues?: boolean;
}

/** The ways in which the files are uploaded. */
const modes: Record<string, Mode> = {
  'no parameter': { query: {} },
  'header_row=auto, leave_out': { query: { header_row: 'auto', faulty_rows: 'leave_out' } },
  'header_row=auto, leave_out, natural': {
    query: { header_row: 'auto', faulty_rows: 'leave_out', values: 'natural' },
    areValues: true,
  },
  'parameters, leave_out': { query: { faulty_rows: 'leave_out' }, given: 'dialect' },
  // The databases of the benchmark get the names in CREATE TABLE, and skip the header.
  'parameters and names, leave_out': { query: { faulty_rows: 'leave_out' }, given: 'names' },
};

const sets = { polluted: 'polluted_files', survey: 'survey_sample' };

/** `QUALITY_VERBOSE=1` also prints each file that loses points. */
const isVerbose = process.env.QUALITY_VERBOSE === '1';

export async function scorePollock(run: QualityRun): Promise<string[][]> {
  const weights = JSON.parse(await readFile(join(run.data, 'pollock_weights.json'), 'utf8'));
  const lines = [['', 'files', 'refused', 'simple', 'weighted', 'survey files', 'refused', 'simple']];
  const reader = await openReader(run);
  for (const [name, mode] of Object.entries(modes)) {
    const line = [name];
    for (const [set, folder] of Object.entries(sets)) {
      if (mode.areValues && set === 'survey') {
        line.push('', '', '');
        continue;
      }
      const scores = await scoreFiles(reader, join(run.data, folder), mode);
      const refused = [...scores.values()].filter(({ score }) => score === 0).length;
      line.push(String(scores.size), String(refused), mean(scores, () => 1).toFixed(3));
      if (set === 'polluted') line.push(mean(scores, (file) => weights[file]).toFixed(3));
      if (isVerbose) process.stdout.write(lostPoints(`${name}, ${set}`, scores));
    }
    lines.push(line);
  }
  await reader.close();
  return lines;
}

interface FileScore {
  score: number;
  /** What lost points. */
  text: string;
}

async function scoreFiles(
  reader: Reader,
  folder: string,
  { query, given: sentParameters, areValues }: Mode,
): Promise<Map<string, FileScore>> {
  const scores = new Map<string, FileScore>();
  for (const file of (await readdir(join(folder, 'csv'))).sort()) {
    const given = JSON.parse(
      await readFile(join(folder, 'parameters', `${file}_parameters.json`), 'utf8'),
    ) as GivenParameters;
    const asCompared = (rows: string[][]) => (areValues ? rows.map((row) => row.map(storedValue)) : rows);
    const clean = asCompared(parseCsv(await readText(join(folder, 'clean', file))));
    const bytes = await readFile(join(folder, 'csv', file));
    const names = sentParameters === 'names' ? namesOf(given) : undefined;
    const own =
      names !== undefined ? queryOfNames(given) : sentParameters === undefined ? {} : queryOf(given);
    const sent = { ...query, ...own };
    const table = await reader.read(bytes, sent, names);
    scores.set(
      file,
      'refused' in table
        ? { score: 0, text: table.refused }
        : scoreOf(clean, asCompared(rowsOf(table, sent.rename !== undefined)), table.warnings),
    );
  }
  return scores;
}

/** Returns the table as the rows of a file. A file without a header gets a line of names only if the request has them. */
function rowsOf({ hasHeader, names, rows }: ReadTable, areNamed: boolean): string[][] {
  return hasHeader || areNamed ? [names, ...rows] : rows;
}

/** The parameters of a file; the survey writes numbers as texts. */
interface GivenParameters {
  encoding: string;
  delimiter: string;
  quotechar: string;
  escapechar: string;
  column_names: string[];
  header_lines: number | string;
  preamble_lines: number | string;
}

const signNames: Record<string, string> = { '\t': 'tab', ' ': 'space' };

const escapeName = (name: string): string => name.replace(/[\\,:]/g, '\\$&');

function queryOf(given: GivenParameters): Record<string, string> {
  const { encoding, delimiter, quotechar, escapechar, column_names: names } = given;
  const query: Record<string, string> = {};
  if (delimiter !== '') query.delimiter = signNames[delimiter[0]!] ?? delimiter[0]!;
  if (delimiter.length > 1) query.trim = 'true';
  if (quotechar !== '') query.quote = quotechar;
  if (escapechar === '\\') query.escape = escapechar;
  if (encoding !== 'ascii') query.encoding = encoding;
  const headerLines = Number(given.header_lines);
  if (headerLines === 0) {
    query.header = 'false';
    if (names.length > 0) query.rename = renameTo(names);
  } else {
    query.header_row = String(Number(given.preamble_lines) + 1);
    if (headerLines > 1) query.header_rows = String(headerLines);
  }
  return query;
}

/** Returns the names of the columns; undefined: the file has none, or a table cannot have them. */
function namesOf({ column_names: names }: GivenParameters): string[] | undefined {
  const fit = names.every((name) => name !== '' && Buffer.byteLength(name) <= 63);
  return names.length > 0 && fit && new Set(names).size === names.length ? names : undefined;
}

/** Returns the parameters that read the rows below the header under the given names. */
function queryOfNames(given: GivenParameters): Record<string, string> {
  const { header_row: _, header_rows: __, ...query } = queryOf(given);
  const first = Number(given.preamble_lines) + Number(given.header_lines) + 1;
  const names = { header: 'false', rename: renameTo(given.column_names), extra_columns: 'ignore' };
  return { ...query, ...names, ...(first > 1 && { range: `A${first}:XFD` }) };
}

function renameTo(names: string[]): string {
  return names.map((name, at) => `column_${columnLetters(at + 1)}:${escapeName(name)}`).join(',');
}

/** Scores the rows that were read. Both files have the header in the first row. */
export function scoreOf(clean: string[][], loaded: string[][], warnings: string[] = []): FileScore {
  if (clean.length === 0) return { score: 10, text: '' };
  const header = measure((clean[0] ?? []).map(normalize), (loaded[0] ?? []).map(normalize));
  const recordsOf = (rows: string[][]) => rows.slice(1).map((row) => row.map(normalize).join(''));
  const records = measure(recordsOf(clean), recordsOf(loaded));
  const cells = measure(clean.flat(), loaded.flat());
  const score = 1 + header + records + cells;
  const text = `header ${header.toFixed(3)} records ${records.toFixed(3)} cells ${cells.toFixed(3)} ${warnings}`;
  return { score, text };
}

/** Returns the sum of precision, recall and F1 of two multisets. Nothing is missed if nothing is expected. */
function measure(expected: string[], found: string[]): number {
  if (expected.length === 0) return 3;
  const counts = new Map<string, number>();
  for (const value of expected) counts.set(value, (counts.get(value) ?? 0) + 1);
  let common = 0;
  for (const value of found) {
    const left = counts.get(value) ?? 0;
    if (left === 0) continue;
    common += 1;
    counts.set(value, left - 1);
  }
  if (common === 0) return 0;
  const one = common / expected.length;
  const other = common / found.length;
  return one + other + (2 * one * other) / (one + other);
}

/** Returns the same text for values that the benchmark compares as equal in headers and records: numbers, booleans and dates. */
function normalize(cell: string): string {
  const text = cell.trim();
  if (text === '') return cell;
  if (/^(?:true|1)$/i.test(text)) return '1';
  if (/^(?:false|0)$/i.test(text)) return '0';
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return String(Number(text));
  const time = /^(\d\d?):(\d\d)(?::(\d\d))?$/.exec(text);
  if (time !== null)
    return time
      .slice(1)
      .map((part) => (part ?? '').padStart(2, '0'))
      .join(':');
  const date = /^(\d\d?)[/.-](\d\d?)[/.-](\d{4})$/.exec(text);
  // The library that the benchmark uses reads the month first if it can.
  if (date !== null) {
    const [, one = '', other = '', year] = date;
    const [month, day] = Number(one) > 12 ? [other, one] : [one, other];
    return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')} 00:00:00`;
  }
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${text} 00:00:00`;
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(text)) return text.replace('T', ' ');
  // A text with a price is compared as the price.
  const price = /([$£€])\s*(\d[\d,]*(?:\.\d+)?)/.exec(text);
  if (price !== null) return `${price[1]}${Number(price[2]!.replaceAll(',', ''))}`;
  return cell.toLowerCase();
}

/** Returns the value of a text of the polluted files as PostgreSQL writes it. */
function storedValue(cell: string): string {
  const text = cell.trim();
  const date = /^(\d\d?)\/(\d\d?)\/(\d{4})$/.exec(text);
  if (date !== null) return `${date[3]}-${date[2]!.padStart(2, '0')}-${date[1]!.padStart(2, '0')}`;
  if (/^\d\d:\d\d$/.test(text)) return `${text}:00`;
  const number = /^[$£€]?\s*(-?\d+(?:\.\d+)?)$/.exec(text.replaceAll(',', ''));
  return number === null ? cell : String(Number(number[1]));
}

/** Reads a file as Python's module `csv` does, which the benchmark uses. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = '';
  let isQuoted = false;
  let isEmpty = true;
  const endField = () => {
    row.push(field);
    field = '';
    isQuoted = false;
  };
  for (let at = 0; at <= text.length; at++) {
    const character = text[at] ?? '\n';
    if (at === text.length && isEmpty && row.length === 0) break;
    if (isQuoted && at < text.length) {
      if (character !== '"') field += character;
      else if (text[at + 1] === '"') field += text[++at];
      else isQuoted = false;
    } else if (character === '\n') {
      if (isEmpty && row.length === 0) rows.push([]);
      else {
        endField();
        rows.push(row);
      }
      row = [];
      isEmpty = true;
    } else if (character === ',') {
      endField();
      isEmpty = false;
    } else if (character === '"' && field === '') {
      isQuoted = true;
      isEmpty = false;
    } else {
      field += character;
      isEmpty = false;
    }
  }
  return rows;
}

/** Returns the text of a file with the line ends that Python gives to a program. */
async function readText(file: string): Promise<string> {
  const text = await readFile(file, 'utf8');
  return text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
}

function mean(scores: Map<string, FileScore>, weightOf: (file: string) => number): number {
  let sum = 0;
  let weights = 0;
  for (const [file, { score }] of scores) {
    sum += score * weightOf(file);
    weights += weightOf(file);
  }
  return sum / weights;
}

function lostPoints(title: string, scores: Map<string, FileScore>): string {
  const lost = [...scores]
    .filter(([, { score }]) => score < 9.9995)
    .toSorted(([, a], [, b]) => a.score - b.score);
  return `\n${title}\n${lost.map(([file, { score, text }]) => `${score.toFixed(3)}  ${file}  ${text}\n`).join('')}`;
}
