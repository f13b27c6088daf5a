/**
 * What the page knows of how a load goes on. Only the service knows how a load has ended, so an `Ended` is made from the record of the load
 * or from the answer to its upload. Everything else that goes wrong on the way is `unknown`.
 */
import { type Load, type LoadedTable, ProblemError, resultOf } from '../client/client.ts';
import { type Failure, failureFrom } from './failure.ts';

export type LoadOutcome =
  /** The service has not answered the upload yet. */
  | { is: 'sending' }
  | { is: 'running'; record: Load }
  /** The page does not know how the load goes on. `record` is the last one that it has seen. */
  | { is: 'unknown'; reason: Failure; record: Load | undefined }
  /** The file could not be read, so the service has not got a whole file and loads nothing. */
  | { is: 'unsent'; failure: Failure }
  | Ended;

declare const isSaidByService: unique symbol;

/** Nothing outside this file can make a value of this type. */
interface SaidByService {
  readonly [isSaidByService]: true;
}

type EndFacts =
  | { is: 'loaded'; result: LoadResult }
  | { is: 'not-loaded'; failure: Failure; isCancelled: boolean };

/** The load has ended. */
export type Ended = EndFacts & SaidByService;

/** What the page shows of a load with success. */
export interface LoadResult {
  table: Pick<LoadedTable['table'], 'schema' | 'name' | 'columns'>;
  load: Omit<LoadedTable['load'], 'format'>;
}

/** @param record of a load that has ended */
export function endOf(record: Load): Ended {
  try {
    return ended({ is: 'loaded', result: resultIn(record) });
  } catch (error) {
    const isCancelled = record.state === 'cancelled';
    return ended({ is: 'not-loaded', failure: failureFrom(error), isCancelled });
  }
}

/** @param answer to the upload, of a service without records of loads */
export function endOfAnswer(answer: LoadedTable): Ended {
  return ended({ is: 'loaded', result: answer });
}

/**
 * Returns the end of an upload that the service has refused; undefined: the error does not say how the load has ended. A proxy may
 * have written an answer without a code, and after an answer of 500 or more the load may go on. After a lost answer the load may have been
 * committed.
 */
export function endOfRefusal(error: unknown): Ended | undefined {
  if (!(error instanceof ProblemError) || error.code === undefined || error.status >= 500) return undefined;
  if (error.followsLostAnswer) return undefined;
  const isCancelled = error.code === 'load-cancelled';
  return ended({ is: 'not-loaded', failure: failureFrom(error), isCancelled });
}

/** Returns the record of the load, as far as the page has seen it. */
export function recordOf(outcome: LoadOutcome): Load | undefined {
  return outcome.is === 'running' || outcome.is === 'unknown' ? outcome.record : undefined;
}

/**
 * Returns the result in the record of a load. The service keeps no answer of more than 1 MiB. Then the page shows what the record itself says.
 *
 * @throws ProblemError if the load was refused, failed or was cancelled
 */
export function resultIn(record: Load): LoadResult {
  const { table, rows_read: rows, created_at: from, ended_at: to } = record;
  const ms = to === null ? 0 : Date.parse(to) - Date.parse(from);
  return (
    resultOf(record) ?? {
      table: { schema: table.schema, name: table.name, columns: [] },
      load: { rows, skipped: 0, updated: 0, warnings: [], duration_ms: ms },
    }
  );
}

function ended(facts: EndFacts): Ended {
  return facts as Ended;
}
