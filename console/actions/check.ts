/** Step 3: the dry run, and changes after which it is done again. */
import { isCompared } from '../derived/changes.ts';
import type { OfferedChoice } from '../derived/choices.ts';
import { currentCorrections } from '../derived/corrections.ts';
import { type Fix, withFix } from '../derived/fixes.ts';
import { planFaults, requestText } from '../derived/request.ts';
import { isOpen } from '../derived/warnings.ts';
import { plural } from '../derived/words.ts';
import { noRules } from '../initial-state.ts';
import type { Checked, MissingRows, Reading } from '../state.ts';
import { showChanges } from './changes.ts';
import { changeRows, showStep } from './columns.ts';
import { dryRun } from './dry-run.ts';
import { inspect } from './file.ts';
import type { Page } from './page.ts';
import { changeCheck } from './problems.ts';

/** Does a dry run: everything is done and checked, and then rolled back. */
export async function check(page: Page): Promise<void> {
  await page.lookedUp;
  // A field may have changed how the file is read just before the button was pressed.
  await page.settled('inspection');
  if (page.state.inspection.is !== 'ready' || planFaults(page.state).length > 0) {
    showStep(page, 'columns');
    return;
  }
  page.set({ step: 'check', announcement: 'The file is being checked.' });
  await runCheck(page);
}

/** Does the check again after corrections of cells. The page keeps showing the present problems until the answer arrives. */
export async function checkCorrections(page: Page): Promise<void> {
  // This is drawn together with the corrections, so that no notice moves a button that the user is about to press.
  changeCheck(page, { isCheckedAgain: true });
  const { check: before } = page.state;
  if (before.is === 'ready') await runCheck(page, before.value);
  else await check(page);
}

/** Does the dry run without showing it. @param earlier the check that the page keeps showing; undefined: none */
export async function runCheck(page: Page, earlier?: Checked): Promise<void> {
  const asked = requestText(page.state);
  if (earlier === undefined)
    page.set({ checkedRequest: asked, shownProblem: undefined, correctionFault: undefined });
  const isChecked = await page.remote(
    'check',
    (signal, progress) => dryRun(page, signal, progress, earlier),
    {
      isQuiet: earlier !== undefined,
      also: (found) => ({
        checkedRequest: asked,
        ...(found && { announcement: foundWords(page, found) }),
      }),
    },
  );
  const { check: found } = page.state;
  if (!isChecked || found.is !== 'ready') return;
  const { load } = found.value.result ?? {};
  if (load?.id !== undefined && isCompared(load)) await showChanges(page, load.id, 0);
}

/** Does the check again. If the change concerns how the file is read, its columns are read again first. */
async function checkWith(page: Page, reading: Reading): Promise<void> {
  if (reading !== page.state.reading) {
    page.stop('check');
    page.set({ check: { is: 'busy', sentBytes: 0 }, shownProblem: undefined });
    const isRead = await inspect(page, reading);
    const { check, step } = page.state;
    // The user may have stopped the check while the file was read.
    if (check.is !== 'busy') return;
    if (!isRead || step !== 'check') {
      page.set({ check: { is: 'none' } });
      if (step === 'check') showStep(page, 'columns');
      return;
    }
  }
  await check(page);
}

export function stopCheck(page: Page): void {
  page.stop('check');
  page.set({ check: { is: 'none' } });
  showStep(page, 'columns');
}

/** Applies a choice that a warning offers, and reads the file again. If a check was done, it is repeated. */
export async function takeChoice(page: Page, { reading, columns }: OfferedChoice): Promise<void> {
  // After a load the table exists, so the user has to decide in step 2 what happens to its rows.
  if (page.state.step === 'load') showStep(page, 'columns');
  page.set({ columns });
  if (page.state.step === 'check') await checkWith(page, reading);
  else if (reading !== page.state.reading) await inspect(page, reading);
}

export function applyFix(page: Page, fix: Fix): void {
  const { reading, ...others } = withFix(page.state, fix);
  page.set(others);
  checkWith(page, reading);
}

/** Changes what happens to missing rows, and does the check again. */
export function checkMissing(page: Page, to: Partial<MissingRows>): void {
  changeRows(page, { missing: { ...page.state.rows.missing, ...to } });
  check(page);
}

export function keepFaultyRows(page: Page): void {
  changeRows(page, { leaveOutFaulty: false, maxFaulty: noRules.maxFaulty });
  check(page);
}

function foundWords({ state }: Page, { result, failure }: Pick<Checked, 'result' | 'failure'>): string {
  const count = currentCorrections(state).length;
  const corrected = count > 0 ? `${plural(count, 'cell')} corrected. ` : '';
  if (failure) return `${corrected}${plural(failure.errorCount, 'problem was', 'problems were')} found.`;
  const warnings = result!.load.warnings.filter(isOpen).length;
  return `${corrected}${warnings > 0 ? `The rows fit, with ${plural(warnings, 'warning')}.` : 'No problems were found.'}`;
}
