/**
 * Reads loads for callers. The record of a load in the database has its state. But the process that runs the load knows newer
 * numbers, and a load of less than 200 milliseconds has no record before its end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Problem } from '../../core/errors.ts';
import type { RowChange } from '../../engine/loading/request/row-change.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { readRows, runStatement } from '../../postgres/transaction.ts';
import { type KeptAnswer, tablesOf } from './load-record.ts';
import type { LoadRun } from './load-run.ts';
import { type LoadFilter, listLoads, readLoad, type Visible, watchLoad } from './load-statements.ts';
import { type LoadView, viewOf } from './load-view.ts';
import { changeList } from './stored-changes.ts';
import { itemsFrom, readPage, type StoredList } from './stored-pages.ts';
import { faultyRowsList, problemList } from './stored-problems.ts';

/** How often a watched load is checked for changes, if this process runs it. */
const ownMs = 250;
/** How often the record of a watched load is read, and how often the process of the load writes it. */
export const watchedMs = 500;

/** How often it is looked whether the lists of a load are stored, and the longest wait, in which the database may be away. */
const storingMs = 50;
const maxStoringMs = 10_000;

/** The part of a stored list that is read. */
export interface ListPart {
  /** How many of the first items are left out. */
  after: number;
  limit: number;
}

export class LoadReader {
  readonly #schema: ServiceSchema;
  readonly #pool: Pool;
  readonly #findRun: (id: string) => LoadRun | undefined;

  /** @param findRun returns a load of this process that has not ended, or whose end is not recorded yet */
  constructor(schema: ServiceSchema, pool: Pool, findRun: (id: string) => LoadRun | undefined) {
    this.#schema = schema;
    this.#pool = pool;
    this.#findRun = findRun;
  }

  /** Waits until the lists of a load that has ended in this process are stored, but not for long. @throws the reason of the signal */
  async untilStored(id: string, signal: AbortSignal): Promise<void> {
    const endMs = performance.now() + maxStoringMs;
    while (this.#findRun(id)?.isAnswered && performance.now() < endMs) await waitFor(storingMs, signal);
  }

  /** Reads a load with its answer. @returns undefined if there is no such load, or the caller may not see it */
  async read(id: string, visible: Visible): Promise<LoadView | undefined> {
    // The load is looked up in this process first: its end may be recorded meanwhile, and the row that is then read may be older.
    const run = this.#findRun(id);
    const [row] = await readRows<Record<string, unknown>>(this.#pool, readLoad(this.#schema, id, visible));
    if (row === undefined) return run && isVisible(run, visible) ? viewOfUnrecorded(run) : undefined;
    const { answer_status: status, answer_headers: headers, answer_body: body, ...view } = row;
    const answer = status === null ? null : { status, headers, body: body ?? Buffer.alloc(0) };
    return withRun({ ...(view as unknown as LoadView), answer: answer as KeptAnswer | null }, run);
  }

  /** Yields the stored problems of a load in lists: at most `limit` problems, beginning after the number `after`. */
  problemsOf({ id, problemsStored }: LoadView, part: ListPart): AsyncGenerator<Problem[]> {
    return this.#itemsOf(problemList, id, problemsStored, part);
  }

  /** Yields the stored changes of a load, like `problemsOf`. */
  changesOf({ id, changesStored }: LoadView, part: ListPart): AsyncGenerator<RowChange[]> {
    return this.#itemsOf(changeList, id, changesStored, part);
  }

  #itemsOf<Item>(
    list: StoredList,
    id: string,
    stored: number,
    { after, limit }: ListPart,
  ): AsyncGenerator<Item[]> {
    return itemsFrom(after, Math.min(stored, after + limit), async (at) => {
      const page = readPage(this.#schema, list, id, at);
      return (await readRows<{ first: number; items: string }>(this.#pool, page))[0];
    });
  }

  /** Reads a piece of the stored rows of a load. Returns undefined if they have been removed, or if there are no more. */
  async readPiece(id: string, number: number): Promise<Buffer | undefined> {
    const page = readPage(this.#schema, faultyRowsList, id, number);
    return (await readRows<{ items: Buffer }>(this.#pool, page))[0]?.items;
  }

  /** Reads a page of loads without their answers, the newest first. */
  async list(filter: LoadFilter, visible: Visible): Promise<LoadView[]> {
    const rows = await readRows<LoadView>(this.#pool, listLoads(this.#schema, filter, visible));
    return rows.map((row) => withNumbers(row, this.#findRun(row.id)));
  }

  /**
   * Yields a load again and again until it has ended: at most four times a second if this process runs it, and otherwise at most
   * twice a second. The last one has the answer. It yields nothing if there is no such load, or the caller may not see it.
   *
   * @throws the reason of the signal
   */
  async *watch(id: string, visible: Visible, signal: AbortSignal): AsyncGenerator<LoadView, void, undefined> {
    for (;;) {
      const run = this.#findRun(id);
      const isOwn = run !== undefined && !run.hasEnded && isVisible(run, visible);
      const view = isOwn ? viewOf(run) : await this.read(id, visible);
      if (view === undefined) return;
      if (!isOwn && view.endedAt === null) await runStatement(this.#pool, watchLoad(this.#schema, id));
      yield view;
      if (view.endedAt !== null) return;
      await waitFor(isOwn ? ownMs : watchedMs, signal);
    }
  }
}

/** The lists of a load are stored with its record. */
const nothingStored = { problemsStored: 0, changesStored: 0, faultyRows: 0 };

function isVisible({ facts }: LoadRun, { owner, maySee }: Visible): boolean {
  const isOwn = owner === undefined || owner.equals(facts.owner);
  return isOwn && tablesOf(facts).every(({ schema }) => maySee(schema));
}

/** Returns a load of this process that has no record; undefined: it has ended, but it is not known how. */
function viewOfUnrecorded(run: LoadRun): LoadView | undefined {
  return run.hasEnded && !run.isAnswered ? undefined : { ...viewOf(run), ...nothingStored };
}

/** Adds to the record of a load what this process knows. If the load was answered, it has ended, even if its end is not recorded yet. */
function withRun(view: LoadView, run: LoadRun | undefined): LoadView {
  if (run === undefined || view.endedAt !== null) return view;
  if (!run.isAnswered) return withNumbers(view, run);
  return { ...viewOf(run), cancelRequested: view.cancelRequested, ...nothingStored };
}

/** Replaces the numbers of the record by those of the running load, because they are newer. */
function withNumbers(view: LoadView, run: LoadRun | undefined): LoadView {
  if (run === undefined || view.endedAt !== null) return view;
  const { bytesReceived, rowsRead, problemsFound } = run.snapshot();
  return { ...view, bytesReceived, rowsRead, problemsFound };
}

async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => signal.throwIfAborted());
}
