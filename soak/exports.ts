/** Compares what exports contain with the state of their table. No value of the loop needs quotes in CSV. */
import type { TableState } from './ledger.ts';

/** Returns what is wrong with the export of a table that nobody changed at the same time. */
export function wrongExport(csv: string, { columns, rows }: TableState): string | undefined {
  const [header, ...found] = linesOf(csv);
  if (header !== columns.join()) return `the header of the export is ${header}, and not ${columns.join()}`;
  const expected = new Set(
    [...rows.values()].map((row) => columns.map((_, column) => row[column] ?? '').join()),
  );
  const surplus = found.filter((line) => !expected.delete(line));
  if (surplus.length + expected.size === 0) return undefined;
  return `in the export ${expected.size} rows are missing and ${surplus.length} are too many, such as ${[...expected, ...surplus][0]}`;
}

/** Returns the batches that an export of the shared table contains in part: it is the state at one moment, so each is whole or missing. */
export function wrongBatches(csv: string): string | undefined {
  const batches = Map.groupBy(linesOf(csv).slice(1), (line) => line.split(',')[0]!);
  const parts = [...batches].filter(([name, lines]) => lines.length !== Number(name.split(' of ')[1]));
  if (parts.length === 0) return undefined;
  return `the export has a part of these batches: ${parts.map(([name, { length }]) => `${length} rows of ${name}`)}`;
}

function linesOf(csv: string): string[] {
  return csv.split('\n').slice(0, -1);
}
