/** Step 4: follows a load until it has ended, even a load that this browser tab started before the page was reloaded. */
import { type Load, ProblemError } from '../../client/client.ts';
import { settingsOfParts } from '../derived/homes.ts';
import { appendedTo, type KeptLoad, newLoad, sortOfAppended } from '../derived/load.ts';
import { remembered, withNewer } from '../derived/profiles.ts';
import { orderOf } from '../derived/table.ts';
import { plural } from '../derived/words.ts';
import { type Failure, failureFrom } from '../failure.ts';
import { type Ended, endOf, type LoadOutcome, type LoadResult, recordOf } from '../load-outcome.ts';
import type { LoadProgress } from '../state.ts';
import { lookUpTarget } from './columns.ts';
import { forgetKeptLoad, keepLoad, keptLoad } from './kept-load.ts';
import type { Page } from './page.ts';

export function changeLoad(page: Page, to: Partial<LoadProgress>): void {
  page.set(({ load }) => (load ? { load: { ...load, ...to } } : {}));
}

/** Finds the record of the load by its idempotency key; undefined: the service has no record, or none yet. */
export async function findRecord(page: Page, key = page.state.load?.key): Promise<Load | undefined> {
  if (key === undefined) return undefined;
  for await (const { id } of page.client.loads({ idempotency_key: key, limit: 1 }))
    return page.client.describeLoad(id);
  return undefined;
}

/** Shows each change of the load until the load has ended. */
export async function follow(page: Page, first: Load): Promise<void> {
  const { id } = first;
  const isShown = (): boolean => {
    const { outcome } = page.state.load ?? {};
    return outcome !== undefined && recordOf(outcome)?.id === id;
  };
  let last = first;
  noteLoad(page, first);
  try {
    for await (const load of page.client.watch(id)) {
      if (!isShown()) return;
      page.connection.hear();
      last = load;
      noteLoad(page, load);
    }
  } catch (error) {
    if (isShown()) loseLoad(page, page.failureOf(error));
    return;
  }
  await endLoad(page, endOf(last));
}

function noteLoad(page: Page, record: Load): void {
  const { rowsSince, fileName } = page.state.load ?? {};
  keepLoad({ id: record.id, ...(fileName !== undefined && { fileName }) });
  const isReading = record.rows_read > 0 && rowsSince === undefined;
  changeLoad(page, {
    outcome: { is: 'running', record },
    ...(isReading && { rowsSince: performance.now() }),
  });
}

/** Records that the page could not follow the load because of an error, so its result is unknown. */
export function loseLoad(page: Page, reason: Failure): void {
  const { outcome } = page.state.load ?? {};
  stopWaiting(page, { is: 'unknown', reason, record: outcome && recordOf(outcome) }, reason.detail);
}

export function stopWaiting(page: Page, outcome: LoadOutcome, words: string): void {
  changeLoad(page, { outcome, isCancelling: false });
  page.say(words);
}

export async function endLoad(page: Page, end: Ended): Promise<void> {
  if (end.is === 'not-loaded') return stopWaiting(page, end, end.failure.detail);
  // The check was made before this load changed the table. Another load of the file needs a new check.
  page.set({ check: { is: 'none' }, checkedRequest: undefined, shownProblem: undefined });
  page.set({ togetherCheck: { is: 'none' }, checkedPlan: undefined, tables: { is: 'none' } });
  if (end.is === 'tables-loaded') {
    page.set(({ remembered, together }) =>
      together.is === 'ready' ? { remembered: withNewer(remembered, settingsOfParts(together.value)) } : {},
    );
    return stopWaiting(page, end, `The rows are in ${plural(end.result.tables.length, 'table')}.`);
  }
  if (page.state.file !== undefined) page.set((state) => ({ remembered: remembered(state) }));
  const { schema, name } = end.result.table;
  stopWaiting(page, end, `The rows are in the table ${schema}.${name}.`);
  await showRows(page, end.result);
}

async function showRows(page: Page, { table: { schema, name } }: LoadResult): Promise<void> {
  const before = appendedTo(page.state);
  const sort = sortOfAppended(before);
  if (page.state.file !== undefined) lookUpTarget(page);
  try {
    const query = { schema, limit: 20, ...(sort && { order: orderOf(sort) }) };
    const rows = await page.client.rows(name, query);
    changeLoad(page, { rows: { ...rows, isAppended: before !== undefined, sort } });
  } catch (error) {
    changeLoad(page, { rowsFailure: failureFrom(error) });
  }
}

/** Asks for the state of the load again after the connection failed or the token expired. */
export async function lookAgain(page: Page): Promise<void> {
  const { outcome } = page.state.load ?? {};
  if (outcome?.is !== 'unknown') return;
  try {
    const record = outcome.record ?? (await findRecord(page));
    if (record !== undefined) await follow(page, record);
    else page.say('The service still knows nothing of the load.');
  } catch (error) {
    loseLoad(page, page.failureOf(error));
  }
}

/** Finds the load of this tab again after the page was reloaded. */
export async function findLoad(page: Page): Promise<void> {
  const kept = keptLoad();
  const isBusy = (): boolean => page.state.load !== undefined || page.state.file !== undefined;
  if (kept === undefined || isBusy()) return;
  try {
    const { id, key } = kept;
    const found = await (id === undefined ? findRecord(page, key) : page.client.describeLoad(id));
    if (isBusy()) return;
    if (found === undefined) return forgetKeptLoad();
    page.set({ step: 'load', load: foundLoad(found, kept) });
    await follow(page, found);
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'load-not-found') forgetKeptLoad();
    else page.say(page.failureOf(error).detail);
  }
}

function foundLoad(record: Load, { key, fileName }: KeptLoad): LoadProgress {
  const { table, parts, bytes_received: sentBytes, bytes_expected: expected } = record;
  const begun = newLoad({
    key,
    isOfParts: parts !== undefined,
    fileName: fileName ?? (parts ? plural(parts.length, 'table') : `${table.schema}.${table.name}`),
    fileBytes: expected ?? sentBytes,
    expectedRows: undefined,
  });
  return { ...begun, sentBytes, isCancelling: record.cancel_requested };
}
