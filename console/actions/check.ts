/** Step 3: the dry run, and changes after which it is done again. */
import { hasEnded, type Load } from '../../client/client.ts';
import { isCompared } from '../derived/changes.ts';
import type { OfferedChoice } from '../derived/choices.ts';
import { type Fix, withFix } from '../derived/fixes.ts';
import { planFaults, requestText } from '../derived/request.ts';
import { plural } from '../derived/words.ts';
import { type Failure, failureFrom } from '../failure.ts';
import { type LoadResult, resultIn } from '../load-outcome.ts';
import { type Checked, type MissingRows, noRules, type Reading } from '../state.ts';
import { showChanges } from './changes.ts';
import { changeRows, lookUpTarget, showStep } from './columns.ts';
import { inspect } from './file.ts';
import type { Page } from './page.ts';
import { wasStopped } from './requests.ts';
import { sendUpload } from './send-upload.ts';

/** Sends the file for a dry run and follows it until it has ended. @param onLoad called with each change */
async function runDry(
  page: Page,
  signal: AbortSignal,
  onSent: (bytes: number) => void,
  onLoad: (load: Load) => void,
): Promise<LoadResult> {
  const begun = await sendUpload(page, { dry_run: true, signal, onSent });
  // A service that stores no records of loads answers with the created table instead of a load.
  if (!('state' in begun)) return begun;
  onLoad(begun);
  let last = begun;
  for await (const load of page.client.watch(begun.id, { signal })) {
    last = load;
    page.connection.hear();
    onLoad(load);
  }
  return resultIn(last);
}

/** Does a dry run: everything is done and checked, and then rolled back. */
export async function check(page: Page): Promise<void> {
  await page.lookedUp;
  if (planFaults(page.state).length > 0) {
    showStep(page, 'columns');
    return;
  }
  page.set((state) => ({
    step: 'check',
    checkedRequest: requestText(state),
    shownProblem: undefined,
    announcement: 'The file is being checked.',
  }));
  const isChecked = await page.remote(
    'check',
    async (signal, progress) => {
      let id: string | undefined;
      signal.addEventListener('abort', () => {
        if (id !== undefined) page.client.cancel(id).catch(() => {});
      });
      const onLoad = (load: Load): void => {
        // A check that has ended cannot be cancelled, so its id is not kept.
        id = hasEnded(load) ? undefined : load.id;
        progress({ load });
      };
      try {
        await page.requireFile();
        return checked({
          result: await runDry(page, signal, (sentBytes) => progress({ sentBytes }), onLoad),
        });
      } catch (error) {
        if (wasStopped(signal)) throw error;
        const failure = failureFrom(error);
        if (failure.code === 'table-exists') lookUpTarget(page);
        if (failure.errorCount === 0) throw error;
        return checked({ failure });
      }
    },
    { also: (found) => (found ? { announcement: foundWords(found.failure) } : {}) },
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

function checked({ result, failure }: { result?: LoadResult; failure?: Failure }): Checked {
  return { result, failure, all: undefined, isReadingAll: false, openGroup: undefined };
}

function foundWords(failure: Failure | undefined): string {
  return failure
    ? `${plural(failure.errorCount, 'problem was', 'problems were')} found.`
    : 'No problems were found.';
}
