/** Step 3: the problems that the check has found, and the rows that have them. */
import type { Problem } from '../../client/client.ts';
import { placeOfCell } from '../derived/corrections.ts';
import { fileParameterQuery } from '../derived/file-parameters.ts';
import { cellOf, rowOfSheet } from '../derived/problems.ts';
import { shownValue } from '../derived/words.ts';
import { rowOfJson } from '../file/row-of-json.ts';
import { saveFile } from '../save-file.ts';
import type { Checked, Remote, ShownRow } from '../state.ts';
import { readCells } from './file.ts';
import type { Page } from './page.ts';
import { firstOf } from './requests.ts';

export function changeCheck(page: Page, to: Partial<Checked>): void {
  page.set(({ check }) =>
    check.is === 'ready' ? { check: { ...check, value: { ...check.value, ...to } } } : {},
  );
}

/** Returns the id of the load of the check. The page offers more problems only if the service has a record of this load. */
function checkedLoadId(page: Page): string {
  const { check } = page.state;
  return (check.is === 'ready' && check.value.failure?.loadId) || '';
}

/** Requests all problems of a check. The service stores at most 100,000. */
export function listProblems({ client }: Page, load: string): Promise<Problem[]> {
  return firstOf(client.problems(load, { limit: 10_000 }), Number.POSITIVE_INFINITY);
}

export async function readAllProblems(page: Page): Promise<void> {
  changeCheck(page, { isReadingAll: true });
  try {
    changeCheck(page, { all: await listProblems(page, checkedLoadId(page)) });
  } catch (error) {
    page.say(page.failureOf(error).detail);
  }
  changeCheck(page, { isReadingAll: false });
}

export function saveAllProblems(page: Page): Promise<void> {
  return saveProblemsOf(page, checkedLoadId(page), page.state.target.table || 'problems');
}

export async function saveProblemsOf(page: Page, load: string, table: string): Promise<void> {
  try {
    const text = await page.client.problemsCsv(load);
    const name = `${table}-problems.csv`;
    saveFile(new Blob([text], { type: 'text/csv' }), name);
  } catch (error) {
    page.say(page.failureOf(error).detail);
  }
}

/** Reads the row of a problem from the file and shows it. */
export async function showProblem(page: Page, problem: Problem | undefined): Promise<void> {
  page.set({ shownProblem: problem && { problem, row: { is: 'busy', sentBytes: 0 } } });
  if (problem === undefined) return;
  const row = await readRow(page, problem).then(
    (value): Remote<ShownRow> => (value ? { is: 'ready', value } : { is: 'none' }),
    (error): Remote<ShownRow> => ({ is: 'failed', failure: page.failureOf(error) }),
  );
  if (page.state.shownProblem?.problem === problem) page.set({ shownProblem: { problem, row } });
}

/** @returns undefined if the row cannot be shown */
async function readRow(page: Page, problem: Problem): Promise<ShownRow | undefined> {
  const { file, reading, inspection, columns } = page.state;
  if (file === undefined || inspection.is !== 'ready') return undefined;
  await page.requireFile();
  const cell = problem.cell === undefined ? undefined : cellOf(problem.cell);
  if (cell !== undefined) {
    const place = {
      ...fileParameterQuery(reading, file.kind),
      sheet: problem.sheet ?? reading.sheet,
      range: `A${cell.row}:XFD${cell.row}`,
    };
    return rowOfSheet(await readCells(page, file, place), columns, { row: cell.row, marked: cell.column });
  }
  if (file.kind === 'spreadsheet') return undefined;
  const object = await rowOfJson(file.content, file.kind, problem);
  if (object === undefined) return undefined;
  const names = columns.map(({ name }) => name);
  const values = columns.map(({ header }) => shownValue(object[header]));
  const places = columns.map(({ header }) =>
    placeOfCell(page.state, { cell: undefined, row: problem.row, header }),
  );
  return { names, values, places, marked: names.indexOf(problem.column ?? '') };
}

export function openGroup(page: Page, openGroup: string | undefined): void {
  changeCheck(page, { openGroup });
}
