/** Step 1: the service reads the chosen file. In step 2 the file may be read again with other parameters. */
import type { Client, InspectedSpreadsheet } from '../../client/client.ts';
import { withPlans } from '../derived/columns.ts';
import {
  chosenFile,
  firstReading,
  proposedReading,
  readingQuery,
  readingWith,
  sentFile,
} from '../derived/file.ts';
import { inspectionOfJson, inspectionOfSheet } from '../derived/inspection.ts';
import { placed } from '../derived/mapping.ts';
import { emptyWork } from '../initial-state.ts';
import type { Inspection } from '../inspection.ts';
import type { ChosenFile, Reading, State } from '../state.ts';
import { lookUpTarget, readProfiles, readTypes } from './columns.ts';
import { forgetKeptLoad } from './kept-load.ts';
import type { Page } from './page.ts';

/** Reads a file in place of the present one. @param kept the choices for it @returns the promise of `inspect` */
export function openFile(
  page: Page,
  content: File,
  kept: Partial<State>,
  reading: Reading,
  link?: string,
): Promise<boolean> {
  forgetFile(page);
  const file = chosenFile(content);
  page.set({ file: link === undefined ? file : { ...file, kind: 'spreadsheet', link }, ...kept });
  const inspected = inspect(page, reading);
  lookUpTarget(page);
  readTypes(page);
  readProfiles(page);
  return inspected;
}

export function forgetFile(page: Page): void {
  for (const key of [
    'inspection',
    'top',
    'check',
    'profiles',
    'usedProfile',
    'alike',
    'repaired',
    'together',
    'togetherCheck',
  ] as const)
    page.stop(key);
  forgetKeptLoad();
  page.set({ ...emptyWork(), load: undefined });
}

/** Forgets the file, and keeps the table that the user has chosen before it. */
export function chooseOtherFile(page: Page): void {
  const { target, isTargetChosen } = page.state;
  forgetFile(page);
  if (isTargetChosen) page.set({ target, isTargetChosen });
}

/** Reads the file again with other parameters. @returns whether the answer is shown; false: a later call has replaced this one */
export async function inspect(page: Page, reading: Reading): Promise<boolean> {
  const { file, inspection: before } = page.state;
  if (file === undefined) return false;
  const isReadAgain = before.is === 'ready';
  page.set({ reading, isReadAgain });
  let taken = reading;
  const isTaken = await page.remote(
    'inspection',
    async (signal, progress) => {
      await page.requireFile();
      const onSent = (sentBytes: number): void => progress({ sentBytes });
      const found = await inspectProposed(page.client, file, reading, { signal, onSent });
      taken = found.reading;
      return found.inspection;
    },
    {
      isQuiet: isReadAgain,
      also(inspection) {
        if (inspection === undefined) return { isReadAgain: false };
        const { sheet, headerRow } = taken;
        const { state } = page;
        return {
          // The user may have changed the other parameters in the meantime.
          reading: { ...state.reading, sheet, headerRow },
          isReadAgain: false,
          ...placedPlans(state, inspection),
          step: state.step === 'file' ? 'columns' : state.step,
          announcement: `${file.name} was read: ${inspection.header.length} columns.`,
        };
      },
    },
  );
  const { top, inspection } = page.state;
  const sheet = inspection.is === 'ready' && inspection.value.sheet;
  if (isTaken && top.is === 'ready' && top.value.sheet !== sheet) readTop(page);
  return isTaken;
}

/** Returns the columns of the file, each with its place in an existing table. */
function placedPlans(state: State, inspection: Inspection): Partial<State> {
  const found = withPlans(state, inspection);
  return { ...found, columns: placed({ ...state, ...found }) };
}

/** Reads an encrypted workbook with its password. */
export function openWith(page: Page, password: string): void {
  const { file, reading } = page.state;
  if (file === undefined) return;
  page.set({ file: { ...file, password } });
  inspect(page, reading);
}

/** Reads the first rows of the sheet without a header, so that the user can choose the header row. */
export async function readTop(page: Page): Promise<void> {
  const { file, inspection, reading } = page.state;
  if (file === undefined) return;
  const sheet = inspection.is === 'ready' ? inspection.value.sheet : reading.sheet;
  await page.remote('top', async (signal) => {
    await page.requireFile();
    const answer = await readCells(page, file, { sheet, range: 'A1:XFD60', signal });
    const { name, rows, row_numbers: rowNumbers = [], columns } = answer.sheet;
    return { sheet: name, letters: columns.map(({ letters = '' }) => letters), rows, rowNumbers };
  });
}

export function closeTop(page: Page): void {
  page.stop('top');
  page.set({ top: { is: 'none' } });
}

/** Reads the file again with a changed parameter. Earlier changes are kept, even those that the service has not answered yet. */
export function changeReading(page: Page, change: Partial<Reading>): void {
  inspect(page, readingWith(page.state.reading, change));
}

type Asked = { signal: AbortSignal; onSent: (bytes: number) => void };

/** Reads the file. If the user has chosen nothing and the service proposes another sheet or header row, the file is read with the proposal. */
async function inspectProposed(client: Client, file: ChosenFile, reading: Reading, asked: Asked) {
  const ask = (one: Reading) =>
    client.inspect({ ...readingQuery(one, file.kind), ...sentFile(file), ...asked });
  let answer = await ask(reading);
  let taken = reading;
  const proposed =
    'sheet' in answer && reading === firstReading(file.kind) && proposedReading(answer, reading);
  if (proposed) {
    taken = proposed;
    answer = await ask(proposed);
  }
  const inspection = 'sheet' in answer ? inspectionOfSheet(answer) : inspectionOfJson(answer);
  if (inspection.sheets.length > 1) taken = { ...taken, sheet: inspection.sheet };
  return { inspection, reading: taken };
}

/** Returns the cells of the sheet as text, without treating any row as a header. */
export async function readCells(
  { client }: Page,
  file: ChosenFile,
  { sheet, ...where }: { sheet: string | undefined; range: string; signal?: AbortSignal },
): Promise<InspectedSpreadsheet> {
  const query = { ...(sheet && { sheet }), header: false, ...where };
  return (await client.inspect({ ...query, ...sentFile(file) })) as InspectedSpreadsheet;
}
