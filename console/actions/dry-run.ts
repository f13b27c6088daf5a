/** Step 3: one dry run of the file, and the problems that it finds. */
import { hasEnded, type Load, type Problem } from '../../client/client.ts';
import { groupProblems } from '../derived/problems.ts';
import { type Failure, failureFrom } from '../failure.ts';
import { resultIn } from '../load-outcome.ts';
import type { Checked } from '../state.ts';
import { lookUpTarget } from './columns.ts';
import type { Page } from './page.ts';
import { listProblems } from './problems.ts';
import { wasStopped } from './requests.ts';
import { type Sent, sendUpload, type UploadOptions } from './send-upload.ts';

type Progress = (change: { sentBytes?: number; load?: Load }) => void;

/**
 * Sends the file for a dry run, and waits until it has ended.
 *
 * @param earlier the check whose problems the page still shows; undefined: none
 * @throws the error of a check that has found no problems because it was not done
 */
export async function dryRun(
  page: Page,
  signal: AbortSignal,
  progress: Progress,
  earlier: Checked | undefined,
): Promise<Checked> {
  try {
    const answer = await sendDry(page, signal, progress, (options) => sendUpload(page, options));
    return checked({ result: 'state' in answer ? resultIn(answer) : answer });
  } catch (error) {
    if (wasStopped(signal)) throw error;
    const failure = failureFrom(error);
    if (failure.code === 'table-exists') lookUpTarget(page);
    if (failure.errorCount === 0) throw error;
    const all = await allProblems(page, failure, earlier);
    return checked({ failure, all }, earlier);
  }
}

/**
 * Sends a dry run, and follows it until it has ended. If it is stopped, it is cancelled.
 *
 * @returns the record of the load that has ended, or the answer of a service that keeps no records
 */
export async function sendDry<Answer extends Sent>(
  page: Page,
  signal: AbortSignal,
  progress: Progress,
  send: (options: UploadOptions) => Promise<Answer>,
): Promise<Answer | Load> {
  let id: string | undefined;
  signal.addEventListener('abort', () => {
    if (id !== undefined) page.client.cancel(id).catch(() => {});
  });
  const onLoad = (load: Load): void => {
    // A check that has ended cannot be cancelled, so its id is not kept.
    id = hasEnded(load) ? undefined : load.id;
    progress({ load });
  };
  await page.requireFile();
  const begun = await send({ dry_run: true, signal, onSent: (sentBytes) => progress({ sentBytes }) });
  if (!('state' in begun)) return begun;
  onLoad(begun);
  let last: Load = begun;
  for await (const load of page.client.watch(begun.id, { signal })) {
    last = load;
    page.connection.hear();
    onLoad(load);
  }
  return last;
}

function checked(
  { result, failure, all }: Partial<Pick<Checked, 'result' | 'failure' | 'all'>>,
  earlier?: Checked,
): Checked {
  const groups = failure === undefined ? [] : groupProblems(all ?? failure.errors, failure.groups);
  return {
    result,
    failure,
    all,
    isReadingAll: false,
    isCheckedAgain: false,
    openGroup: earlier && (earlier.openGroup ?? earlier.order[0]),
    order: [...new Set([...(earlier?.order ?? []), ...groups.map(({ key }) => key)])],
  };
}

/** Lists the problems completely if they were before, or if they are few enough to say of each correction whether it was accepted. */
async function allProblems(
  page: Page,
  failure: Failure,
  earlier: Checked | undefined,
): Promise<Problem[] | undefined> {
  const { errors, errorCount, loadId } = failure;
  if (loadId === undefined || earlier === undefined || errorCount <= errors.length) return undefined;
  if (earlier.all === undefined && errorCount > maxListedAgain) return undefined;
  return listProblems(page, loadId);
}

const maxListedAgain = 10_000;
