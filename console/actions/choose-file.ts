/** Step 1: the user chooses a file: from the machine, from the clipboard, from a link, or the example. */
import { keptCorrections } from '../derived/corrections.ts';
import { chosenFile, firstReading, kindOf, linkIn, nameOfLink } from '../derived/file.ts';
import { isAllLoaded } from '../derived/load.ts';
import { shownStep } from '../derived/steps.ts';
import { targetOf } from '../derived/target.ts';
import { namesInZip } from '../file/names-in-zip.ts';
import { exampleUrl } from '../service-url.ts';
import { forgetFile, openFile } from './file.ts';
import type { Page } from './page.ts';
import { openTogether } from './together.ts';

/** Takes what the user has dropped or chosen. Several files, or a zip file with several tables, become several tables. */
export async function chooseFiles(page: Page, files: File[]): Promise<void> {
  const [first, ...others] = files;
  if (first === undefined) return;
  // The user has chosen one table for the rows.
  if (page.state.isTargetChosen)
    return chooseFile(page, first, { otherFiles: others.map(({ name }) => name) });
  const isTogether = others.length > 0 || (await namesInZip(first)).length > 1;
  if (isTogether) await openTogether(page, files.map(chosenFile));
  else chooseFile(page, first);
}

/** Takes what the user has chosen before the page could read it. */
export async function takeWaiting(page: Page): Promise<void> {
  const { waitingFiles, session } = page.state;
  if (session.token === undefined) return;
  page.set({ waitingFiles: [] });
  await chooseFiles(page, waitingFiles);
}

/** Begins with a new file in place of the result of a load that has loaded all rows. */
export function leaveLoaded(page: Page): void {
  const { load } = page.state;
  if (load !== undefined && isAllLoaded(load) && shownStep(page.state) === 'load') forgetFile(page);
}

/** Takes files that the user drops beside the place for them: on the first step, or after a load that has loaded all rows. */
export async function dropFiles(page: Page, files: File[]): Promise<void> {
  const { route, session } = page.state;
  if (session.token === undefined || route.page !== 'load' || files.length === 0) return;
  leaveLoaded(page);
  if (shownStep(page.state) === 'file') await chooseFiles(page, files);
}

/** @param otherFiles the names of the files that came with it and are not taken */
export function chooseFile(
  page: Page,
  content: File,
  { otherFiles = [], link }: { otherFiles?: string[]; link?: string } = {},
): void {
  const { reading, columns, target, rows, file, isTargetChosen } = page.state;
  // A user who chooses a file of the same name again has corrected it, so the choices are kept.
  const isAgain = file?.name === content.name;
  const kept = {
    target: isTargetChosen ? target : { ...targetOf(content.name), schema: target.schema },
    isTargetChosen,
    otherFiles,
    mayUseProfile: !isAgain,
    ...(isAgain && { columns, target, rows, ...keptCorrections(page.state, content) }),
  };
  openFile(page, content, kept, isAgain ? reading : firstReading(kindOf(content.name)), link);
}

/** Chooses the file of a link, which the service fetches. The service reads no JSON from links. */
export function chooseLink(page: Page, text: string): void {
  const link = linkIn(text, page.state.session.scopes);
  if (link !== undefined) chooseFile(page, new File([], nameOfLink(link)), { link });
}

/** Takes what the user pastes on the first step: a link, a file, or the text of one. @param content the file that the text or the clipboard is */
export function paste(page: Page, text: string, content: File | undefined): void {
  const { route, session } = page.state;
  if (session.token === undefined || route.page !== 'load' || shownStep(page.state) !== 'file') return;
  const link = linkIn(text, session.scopes);
  if (link !== undefined) chooseLink(page, link);
  else if (content !== undefined) chooseFile(page, content);
}

/** Reads the example, which comes with the page. */
export async function tryExample(page: Page): Promise<void> {
  if (page.state.session.token === undefined) return;
  const answer = await fetch(exampleUrl).catch(() => undefined);
  if (answer?.ok) chooseFile(page, new File([await answer.blob()], 'visits.xlsx'));
  else page.say('The example cannot be read. Load the page again.');
}
