/** Step 3: new values for cells. The file itself is not changed. */
import type { Problem } from '../../client/client.ts';
import {
  type CellEdit,
  correctionsFault,
  currentCorrections,
  editsLike,
  patchOf,
  placesOfProblems,
  problemsLike,
  withEdits,
} from '../derived/corrections.ts';
import { readingQuery, sentFile } from '../derived/file.ts';
import { collectFile } from '../file/collect-file.ts';
import { jsonWithMembers } from '../file/json-with-members.ts';
import { saveFile } from '../save-file.ts';
import type { CellCorrection } from '../state.ts';
import { checkCorrections } from './check.ts';
import type { Page } from './page.ts';
import { listProblems } from './problems.ts';
import { wasStopped } from './requests.ts';

/** Gives cells other values, and does the check again. If the service would refuse the corrections (too many, for example), none is made, and the page says why. */
export function correct(page: Page, edits: CellEdit[]): void {
  const corrections = withEdits(page.state, edits);
  const correctionFault = correctionsFault({ ...page.state, corrections });
  if (correctionFault !== undefined) {
    page.set({ correctionFault, announcement: correctionFault });
    return;
  }
  page.stop('repaired');
  page.set({ corrections, correctionFault, repaired: { is: 'none' } });
  checkCorrections(page);
}

/** Gives all cells with the same problem the value of a correction, if they had the same value. @param listed the problems of the group that the page lists, of `count` */
export async function correctLike(
  page: Page,
  correction: CellCorrection,
  listed: Problem[],
  count: number,
): Promise<void> {
  const { check: found } = page.state;
  const load = found.is === 'ready' ? found.value.failure?.loadId : undefined;
  let problems = listed;
  try {
    if (count > listed.length && load !== undefined) {
      const [{ column, code } = { column: undefined, code: undefined }] = listed;
      const all = await listProblems(page, load);
      problems = all.filter((one) => one.column === column && one.code === code);
    }
  } catch (error) {
    page.say(page.failureOf(error).detail);
    return;
  }
  const placeOf = placesOfProblems(page.state);
  const like = problemsLike(page.state, problems, correction, placeOf);
  correct(page, editsLike(correction, like, placeOf));
}

export function undoCorrections(page: Page, undone: CellCorrection[]): void {
  correct(
    page,
    undone.map((one) => ({ ...one, to: one.from })),
  );
}

/** Saves the list of the corrections for the author of the file. */
export function saveCorrections(page: Page): void {
  const lines = currentCorrections(page.state).map(({ cell, row, header, from, to }) =>
    [cell ?? `row ${row}`, header, from ?? '', to ?? ''].map(csvField).join(','),
  );
  const text = ['cell,column,old value,new value', ...lines, ''].join('\r\n');
  saveFile(new Blob(['\ufeff', text], { type: 'text/csv' }), `${page.state.target.table}-corrections.csv`);
}

/** A longer file is for a program. */
const maxBytes = 1_000_000_000;

/** Saves all rows of the file, as the service reads them, with the corrections. */
export async function saveRepaired(page: Page): Promise<void> {
  const { file, reading } = page.state;
  if (file === undefined) return;
  const { kind, content } = file;
  const patch = patchOf(page.state);
  const hear = (): void => page.connection.hear();
  await page.remote('repaired', async (signal) => {
    await page.requireFile();
    const sent =
      kind === 'spreadsheet'
        ? { ...sentFile(file), patch }
        : { file: await jsonWithMembers(content, kind, { patch }), kind: 'json' as const };
    const query = { ...readingQuery(reading, kind), ...sent };
    const rows = await page.client.repairedRows({ ...query, signal, onSent: hear });
    const whole = await collectFile(rows, { maxBytes, signal, onBytes: hear });
    const name = `${file.name.replace(/\.[^.]*$/, '')}-repaired.${kind === 'spreadsheet' ? 'csv' : 'ndjson'}`;
    if (!wasStopped(signal)) saveFile(whole, name);
    return name;
  });
}

/** A spreadsheet program would run a field that looks like a formula. */
function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
