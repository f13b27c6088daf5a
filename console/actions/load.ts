/** Step 4: sends the file to be loaded, and cancels the load. */
import { type Load, ProblemError } from '../../client/client.ts';
import { newKey } from '../../client/new-key.ts';
import { sleep } from '../../client/sleep.ts';
import { isRunning, newLoad } from '../derived/load.ts';
import type { Failure } from '../failure.ts';
import { ChangedFileError } from '../file/chosen-file.ts';
import { endOfAnswer, endOfRefusal, recordOf } from '../load-outcome.ts';
import { changeLoad, endLoad, findRecord, follow, loseLoad, stopWaiting } from './follow-load.ts';
import { keepLoad } from './kept-load.ts';
import type { Page } from './page.ts';
import { type Sent, sendUpload, type UploadOptions } from './send-upload.ts';

/** How long to wait before the record of a load is looked for again. */
const recordPauseMs = 250;

/** Sends the file and loads it. */
export async function load(page: Page): Promise<void> {
  const { file, inspection } = page.state;
  if (file === undefined || isRunning(page.state.load)) return;
  const facts = {
    isOfParts: false,
    fileName: file.name,
    fileBytes: file.size,
    expectedRows: inspection.is === 'ready' ? inspection.value.rowCount : undefined,
  };
  await sendAndFollow(page, facts, (options) => sendUpload(page, options));
}

/** Sends what is to be loaded, and follows the load until it has ended. @param send may be called a second time */
export async function sendAndFollow(
  page: Page,
  facts: Omit<Parameters<typeof newLoad>[0], 'key'>,
  send: (options: UploadOptions) => Promise<Sent>,
): Promise<void> {
  const signal = page.begin('load');
  const begun = newLoad({ ...facts, key: newKey() });
  page.set({ step: 'load', load: begun, announcement: `${facts.fileName} is being sent.` });
  try {
    await page.requireFile();
  } catch (error) {
    notSent(page, page.failureOf(error));
    return;
  }
  keepLoad({ key: begun.key, fileName: facts.fileName });
  try {
    const answer = await sendLoad(page, signal, send);
    if ('state' in answer) await follow(page, answer);
    else await endLoad(page, endOfAnswer(answer));
  } catch (error) {
    // If the state has changed, the load was cancelled during sending and the page already follows it.
    if (page.state.load?.outcome.is === 'sending') await findEnd(page, error);
  }
}

async function sendLoad(
  page: Page,
  signal: AbortSignal,
  send: (options: UploadOptions) => Promise<Sent>,
): Promise<Sent> {
  const onSent = (sentBytes: number): void => changeLoad(page, { sentBytes });
  const idempotencyKey = page.state.load?.key;
  try {
    return await send({ dry_run: false, signal, onSent, idempotencyKey });
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== 'not-enabled') throw error;
    // A service that stores no records of loads accepts no idempotency key, and answers with the created table.
    changeLoad(page, { key: undefined });
    return send({ dry_run: false, signal, onSent });
  }
}

function notSent(page: Page, failure: Failure): void {
  stopWaiting(page, { is: 'unsent', failure }, failure.detail);
}

/** Finds the result of a load whose upload did not get a successful answer. */
async function findEnd(page: Page, error: unknown): Promise<void> {
  const refused = endOfRefusal(error);
  // Shows the sign-in form if the token was not accepted.
  const reason = page.failureOf(error);
  if (refused !== undefined) return endLoad(page, refused);
  const id = error instanceof ProblemError ? error.loadId : undefined;
  const record = await (id === undefined ? findRecord(page) : page.client.describeLoad(id)).catch(
    () => undefined,
  );
  if (record !== undefined) return follow(page, record);
  // The file changed while it was sent, so the request was incomplete. If there is no record either, the service has not begun a load.
  if (error instanceof ChangedFileError) notSent(page, reason);
  else loseLoad(page, reason);
}

/** Cancels the load through its record. Ending only the request would not be enough: the service might still commit the load. */
export async function cancelLoad(page: Page): Promise<void> {
  if (page.state.load === undefined) return;
  changeLoad(page, { isCancelling: true });
  try {
    const record = await awaitRecord(page);
    if (record === undefined) return;
    await page.client.cancel(record.id).catch((error: unknown) => {
      // The load had already ended. Its record has the result.
      if (!(error instanceof ProblemError) || error.code !== 'load-ended') throw error;
    });
    if (page.state.load?.outcome.is !== 'sending') return;
    const ended = follow(page, record);
    page.stop('load', new Error('The load was cancelled.'));
    await ended;
  } catch (error) {
    // Cancelling failed. The load continues and is still followed.
    changeLoad(page, { isCancelling: false });
    page.say(page.failureOf(error).detail);
  }
}

/** Waits for the record of the load. undefined: the upload was answered without a record, or there will be none. */
async function awaitRecord(page: Page): Promise<Load | undefined> {
  for (;;) {
    const { outcome, key } = page.state.load!;
    if (outcome.is !== 'sending') return recordOf(outcome);
    if (key === undefined) {
      // Without records, only ending the request can stop the load, and the page cannot find out whether the load was already committed.
      page.stop('load', new Error('The load was given up before the service had answered.'));
      return undefined;
    }
    const record = await findRecord(page);
    if (record !== undefined) return record;
    await sleep(recordPauseMs);
  }
}
