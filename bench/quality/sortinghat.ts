/**
 * Scores the types that the service infers of SortingHat (Shah et al., SIGMOD 2021): 1,985 labelled columns of real files with five sample
 * values each. Each column is uploaded as a text file with `values=natural`, as a dry run.
 *
 * A date is found if the column gets the type of a date or time, or if a warning offers a parameter that gives it one. Precision counts
 * the columns that became dates and have another label.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QualityRun } from './quality-run.ts';

interface Column {
  name: string;
  label: string;
  values: string[];
}

type Outcome = 'typed' | 'offered' | 'silent';

const file = 'MLFeatureTypeInference/Benchmark-Labeled-Data/data_test.csv';
const samples = 5;

/** Returns a line for each kind of labels; the first line is the header. */
export async function scoreSortingHat(run: QualityRun): Promise<string[][]> {
  const lines = [['values', 'label', 'columns', 'typed', 'offered', 'silent', 'found', 'precision']];
  const columns = columnsOf(readFileSync(join(run.data, file)));
  for (const values of ['strict', 'natural']) {
    const answers = await readAll(run, columns, values);
    for (const label of ['datetime', 'numeric']) {
      const types = label === 'datetime' ? dateTypes : numberTypes;
      const counts: Record<Outcome, number> = { typed: 0, offered: 0, silent: 0 };
      let others = 0;
      for (const [index, column] of columns.entries()) {
        const { type, isOffered } = answers[index]!;
        const isTyped = types.test(type);
        if (column.label !== label) others += isTyped ? 1 : 0;
        else counts[isTyped ? 'typed' : isOffered ? 'offered' : 'silent'] += 1;
      }
      const all = counts.typed + counts.offered + counts.silent;
      const share = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
      const found = share(counts.typed + counts.offered, all);
      // Many whole numbers of the set have a label of categories.
      const precision = label === 'datetime' ? share(counts.typed, counts.typed + others) : '–';
      const shown = [all, counts.typed, counts.offered, counts.silent].map(String);
      lines.push([values, label, ...shown, found, precision]);
    }
  }
  return lines;
}

const dateTypes = /^(date|timestamp|time|interval)/;
const numberTypes = /^(bigint|numeric|double)/;

interface Answer {
  type: string;
  isOffered: boolean;
}

/** Several columns are read at once, because the service waits for the database most of the time. */
async function readAll(run: QualityRun, columns: Column[], values: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  let next = 0;
  const worker = async () => {
    while (next < columns.length) {
      const index = next++;
      answers[index] = await read(run, columns[index]!, values, index);
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return answers;
}

async function read(
  { url, token }: QualityRun,
  column: Column,
  values: string,
  index: number,
): Promise<Answer> {
  const lines = ['v', ...column.values].map((value) => `"${value.replaceAll('"', '""')}"`);
  const form = new FormData();
  form.append('file', new Blob([lines.join('\n')]), 'column.csv');
  const path = `/api/v1/table/hat_${values}_${index}/upload/excel?delimiter=,&dry_run=true&values=${values}`;
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: form,
  });
  const body = (await answer.json()) as {
    table?: { columns: { type: string }[] };
    load?: { warnings: { code: string; choices?: unknown[] }[] };
  };
  if (body.table === undefined || body.load === undefined) return { type: 'refused', isOffered: false };
  const isOffered = body.load.warnings.some(
    ({ code, choices = [] }) => (code === 'other-notation' || code === 'mixed-column') && choices.length > 0,
  );
  return { type: body.table.columns[0]!.type, isOffered };
}

/** Returns the columns with their samples. The file is CSV in Windows-1252. */
function columnsOf(bytes: Buffer): Column[] {
  const [header, ...records] = recordsOf(new TextDecoder('windows-1252').decode(bytes));
  const place = (name: string) => header!.indexOf(name);
  return records
    .filter((record) => record.length === header!.length)
    .map((record) => ({
      name: record[place('Attribute_name')]!,
      label: record[place('y_act')]!,
      values: Array.from({ length: samples }, (_, at) => record[place(`sample_${at + 1}`)]!),
    }));
}

function recordsOf(text: string): string[][] {
  const records: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    records.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end !== ',') records.push([]);
  }
  return records;
}
