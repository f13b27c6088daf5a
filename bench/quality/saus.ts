/**
 * Scores the headers that inspections propose in SAUS: sheets of the Statistical Abstract of the United States, in which Ghasemi-Gol et
 * al. (ICDM 2019) labelled each cell. The sheets are made again as .xlsx from the labelled cells, without merged areas and formats, because
 * the labels do not have them.
 *
 * A header is right if its last row is the last row with a header above the first row with data. Odd and even sheets are scored apart,
 * because the rules were written with the odd ones only.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type CellSpec, sheetOf } from '../../test/support/workbook.ts';
import type { QualityRun } from './quality-run.ts';

/** `QUALITY_VERBOSE=1` also prints each sheet whose header is wrong. */
const isVerbose = process.env.QUALITY_VERBOSE === '1';

const outcomes = ['right', 'right with all rows', 'wrong', 'none'] as const;
type Outcome = (typeof outcomes)[number];

export async function scoreSaus(run: QualityRun): Promise<string[][]> {
  const lines = gunzipSync(await readFile(join(run.data, 'annotations/saus.jl.gz'))).toString();
  const halves = [new Map<Outcome, number>(), new Map<Outcome, number>()];
  const sheets = sheetsOf(lines);
  for (const [index, sheet] of sheets.entries()) {
    const found = await proposedHeader(run, sheetOf(sheet.rows.map((row) => row.map(cellOf))));
    const counts = halves[index % 2]!;
    for (const outcome of outcomesOf(sheet, found)) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  const sizes = [Math.ceil(sheets.length / 2), Math.floor(sheets.length / 2)];
  const shown = halves.map((counts, half) => [
    half === 0 ? 'odd' : 'even, not seen before',
    String(sizes[half]),
    ...outcomes.map((outcome) => `${((100 * (counts.get(outcome) ?? 0)) / sizes[half]!).toFixed(1)} %`),
  ]);
  return [['sheets', 'count', ...outcomes], ...shown];
}

interface LabelledSheet {
  file: string;
  rows: string[][];
  /** The first and the last row of the header, from 1. */
  first: number;
  last: number;
}

interface Annotation {
  file_name: string;
  table_array: string[][];
  annotations: (string | null)[][];
}

/** Returns the different sheets that have a header and data. */
function sheetsOf(lines: string): LabelledSheet[] {
  const sheets = new Map<string, LabelledSheet>();
  for (const line of lines.trim().split('\n')) {
    const { file_name: file, table_array, annotations } = JSON.parse(line) as Annotation;
    // The authors' program wrote None for the empty cells of .xlsx files.
    const isNone = (text: string): boolean => file.endsWith('.xlsx') && text === 'None';
    const rows = table_array.map((row) => row.map((text) => (isNone(text) ? '' : text)));
    const rowsWith = (...labels: string[]): number[] =>
      rows.flatMap((row, index) => {
        const isLabelled = row.some(
          (text, column) => text !== '' && labels.includes(annotations[index]![column] ?? ''),
        );
        return isLabelled ? [index + 1] : [];
      });
    const [firstData] = rowsWith('data', 'derived');
    const header = rowsWith('header');
    if (firstData === undefined || header.length === 0) continue;
    const above = header.filter((row) => row < firstData);
    const own = above.length > 0 ? above : header;
    sheets.set(JSON.stringify(rows), { file, rows, first: own[0]!, last: own.at(-1)! });
  }
  return [...sheets.values()];
}

function cellOf(text: string): CellSpec {
  if (text === '') return null;
  return /^-?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(text) ? Number(text) : text;
}

interface ProposedHeader {
  header_row?: number;
  header_rows?: number;
}

async function proposedHeader({ url, token }: QualityRun, file: Buffer): Promise<ProposedHeader> {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(file)]), 'sheet.xlsx');
  const answer = await fetch(`${url}/api/v1/inspect/excel`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: form,
  });
  const body = (await answer.json()) as { proposal?: ProposedHeader };
  if (body.proposal === undefined) throw new Error(JSON.stringify(body));
  return body.proposal;
}

function outcomesOf(
  { file, first, last }: LabelledSheet,
  { header_row, header_rows = 1 }: ProposedHeader,
): Outcome[] {
  if (header_row === undefined) return ['none'];
  const lastFound = header_row + header_rows - 1;
  if (lastFound === last) return header_row === first ? ['right', 'right with all rows'] : ['right'];
  if (isVerbose)
    process.stdout.write(`${file}: rows ${first} to ${last}, found ${header_row} to ${lastFound}\n`);
  return ['wrong'];
}
