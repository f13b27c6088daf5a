/** Several tables in one load: the files, their parts, the check, and the load. */
import { ProblemError } from '../../client/client.ts';
import { type CellEdit, withEdits } from '../derived/corrections.ts';
import { firstReading, readingQuery, sentFile } from '../derived/file.ts';
import { inspectionOfSheet } from '../derived/inspection.ts';
import { isRunning } from '../derived/load.ts';
import {
  checksPlanItself,
  includedParts,
  jsonWords,
  obstructedPart,
  partsOf,
  partsOfZip,
  planInWords,
  plannedBytes,
  planText,
  readingOfPart,
  togetherFault,
  withFound,
  withUniqueNames,
} from '../derived/together.ts';
import { plural } from '../derived/words.ts';
import { failureFrom } from '../failure.ts';
import { namesInZip } from '../file/names-in-zip.ts';
import { tablesIn } from '../load-outcome.ts';
import type { ChosenFile, Part, TablesChecked } from '../state.ts';
import { changeTogether } from './change-together.ts';
import { lookUpTables, readProfiles, showStep } from './columns.ts';
import { sendDry } from './dry-run.ts';
import { forgetFile, inspect, openFile } from './file.ts';
import { findHomes } from './homes.ts';
import { sendAndFollow } from './load.ts';
import type { Page } from './page.ts';
import { wasStopped } from './requests.ts';
import { sendPlan } from './send-upload.ts';

/** Shows the tables of the files, or of the sheets of the chosen file. They are read if they are others than before. */
export async function openTogether(page: Page, files?: ChosenFile[]): Promise<void> {
  const { file, togetherFiles, together, target } = page.state;
  if (files === undefined && togetherFiles.length > 0 && together.is === 'ready')
    return showStep(page, 'together');
  if (files !== undefined) forgetFile(page);
  const chosen = files ?? (file ? [file] : []);
  page.set({ togetherFiles: chosen, step: 'together' });
  const isRead = await page.remote('together', async (signal, progress) => {
    await page.requireFile();
    const parts: Part[] = [];
    let before = 0;
    for (const [index, one] of chosen.entries()) {
      const onSent = (bytes: number): void => progress({ sentBytes: before + bytes });
      parts.push(...(await readParts(page, one, index, { signal, onSent })));
      before += one.size;
    }
    return { schema: target.schema, parts: withUniqueNames(parts), existing: undefined };
  });
  if (!isRead) return;
  page.say(`${plural(chosen.length, 'file was', 'files were')} read.`);
  readProfiles(page);
  await lookUpTables(page);
}

type Asked = { signal: AbortSignal; onSent: (bytes: number) => void };

type Progress = Parameters<typeof sendDry>[2];

async function readParts(page: Page, file: ChosenFile, index: number, asked: Asked): Promise<Part[]> {
  if (file.kind !== 'spreadsheet') return [obstructedPart(file, index, jsonWords)];
  const names = await namesInZip(file.content);
  if (names.length > 1) return partsOfZip(file, index, names);
  try {
    const query = readingQuery(firstReading('spreadsheet'), 'spreadsheet');
    const answer = await page.client.inspect({ ...query, ...sentFile(file), ...asked });
    const isOnly = page.state.togetherFiles.length === 1;
    return 'sheet' in answer ? partsOf(file, index, inspectionOfSheet(answer), isOnly) : [];
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status === 401 || error.status >= 500) throw error;
    return [obstructedPart(file, index, error.detail)];
  }
}

export function changePart(page: Page, index: number, to: Partial<Part>): void {
  changeTogether(page, ({ parts }) => ({
    parts: parts.map((part, at) => (at === index ? { ...part, ...to } : part)),
  }));
}

/** Gives cells of a part other values, and does the check again. The page keeps showing the present problems until the answer arrives. */
export function correctPart(page: Page, index: number, edits: CellEdit[]): void {
  changeTogether(page, ({ parts }) => ({
    parts: parts.map((part, at) =>
      at === index
        ? { ...part, corrections: withEdits({ corrections: part.corrections, columnsOf: undefined }, edits) }
        : part,
    ),
  }));
  const { togetherCheck: before } = page.state;
  checkTogether(page, before.is === 'ready' && before.value.result === undefined);
}

export function changeTogetherSchema(page: Page, schema: string): void {
  changeTogether(page, () => ({ schema }));
}

/** Checks the tables in the background, if `checksPlanItself` allows it. */
export async function checkTogetherAlone(page: Page): Promise<void> {
  if (checksPlanItself(page.state)) await checkTogether(page);
}

/** Does a dry run of all tables. @param isQuiet true: the page keeps showing the last check */
export async function checkTogether(page: Page, isQuiet = false): Promise<void> {
  page.set({ checkedPlan: planText(page.state) });
  const work = async (signal: AbortSignal, progress: Progress): Promise<TablesChecked> => {
    try {
      const answer = await sendDry(page, signal, progress, (options) => sendPlan(page, options));
      return { result: 'state' in answer ? tablesIn(answer) : answer, failure: undefined };
    } catch (error) {
      const failure = failureFrom(error);
      // Only a refusal of the plan says something about its tables.
      if (wasStopped(signal) || failure.code === undefined || (error as ProblemError).status === 401)
        throw error;
      return { result: undefined, failure };
    }
  };
  const isDone = await page.remote('togetherCheck', work, { isQuiet });
  const { togetherCheck: found } = page.state;
  if (!isDone || found.is !== 'ready') return;
  const { result } = found.value;
  if (result) changeTogether(page, (together) => ({ parts: withFound(together, result) }));
  if (result) findHomes(page);
  page.say(result ? 'No problems were found.' : 'The check has found problems.');
}

/** Loads one of the parts alone, where its columns can be changed and its cells corrected. The others stay chosen. */
export async function loadAlone(page: Page, { file: index, ...part }: Part): Promise<void> {
  const { file, togetherFiles, together, target } = page.state;
  const chosen = togetherFiles[index]!;
  const to = { ...target, table: part.table };
  page.stop('togetherCheck');
  const reading =
    part.obstacle === undefined ? readingOfPart({ file: index, ...part }) : firstReading(chosen.kind);
  if (file?.content === chosen.content) {
    page.set({ target: to });
    showStep(page, 'columns');
    await inspect(page, reading);
  } else
    await openFile(page, chosen.content, { togetherFiles, together, target: to, step: 'columns' }, reading);
}

/** Loads all included tables: all of them, or nothing. */
export async function loadTogether(page: Page): Promise<void> {
  const { togetherFiles, together, load } = page.state;
  if (together.is !== 'ready' || togetherFault(together.value) !== undefined || isRunning(load)) return;
  const parts = includedParts(together.value);
  const expected = parts.reduce((sum, { rows = Number.NaN }) => sum + rows, 0);
  const facts = {
    isOfParts: true,
    fileName: planInWords(togetherFiles, parts),
    fileBytes: plannedBytes(togetherFiles, together.value),
    expectedRows: Number.isNaN(expected) ? undefined : expected,
  };
  await sendAndFollow(page, facts, (options) => sendPlan(page, options));
}
