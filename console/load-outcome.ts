/**
 * What the page knows of how a load goes on. Only the service knows how a load has ended, so an `Ended` is made from the record of the load
 * or from the answer to its upload. Everything else that goes wrong on the way is `unknown`.
 */
import { type Load, type LoadedTable, ProblemError, resultOf } from '../client/client.ts';
import { failureFrom } from './failure.ts';
import type { Failure, LoadOutcome } from './state.ts';

declare const isSaidByService: unique symbol;

/** The load has ended. Either `result` or `failure` is set. */
export interface Ended {
  is: 'ended';
  result: LoadedTable | undefined;
  failure: Failure | undefined;
  isCancelled: boolean;
  readonly [isSaidByService]: true;
}

/** @param record of a load that has ended */
export function endOf(record: Load): Ended {
  const isCancelled = record.state === 'cancelled';
  try {
    return ended({ result: resultOf(record) ?? shortResult(record), failure: undefined, isCancelled });
  } catch (error) {
    return ended({ result: undefined, failure: failureFrom(error), isCancelled });
  }
}

/** @param answer to the upload, of a service without records of loads */
export function endOfAnswer(answer: LoadedTable): Ended {
  return ended({ result: answer, failure: undefined, isCancelled: false });
}

/**
 * Returns the end of an upload that the service has refused; undefined: the error does not say how the load has ended. A proxy may
 * have written an answer without a code, and after an answer of 500 or more the load may go on.
 */
export function endOfRefusal(error: unknown): Ended | undefined {
  if (!(error instanceof ProblemError) || error.code === undefined || error.status >= 500) return undefined;
  const isCancelled = error.code === 'load-cancelled';
  return ended({ result: undefined, failure: failureFrom(error), isCancelled });
}

/** Returns the end of a load of which the service has not got a whole file, because the file could not be read. */
export function endOfUnsent(failure: Failure): Ended {
  return ended({ result: undefined, failure, isCancelled: false });
}

/** Returns the record of the load, as far as the page has seen it. */
export function recordOf(outcome: LoadOutcome): Load | undefined {
  return outcome.is === 'running' || outcome.is === 'unknown' ? outcome.record : undefined;
}

function ended(facts: Omit<Ended, 'is' | typeof isSaidByService>): Ended {
  return { is: 'ended', ...facts } as Ended;
}

/** The service keeps no answer of more than 1 MiB. Then the page shows what the load itself says. */
export function shortResult({ table, rows_read: rows, created_at: from, ended_at: to }: Load): LoadedTable {
  const { schema, name } = table;
  return {
    table: { schema, name, columns: [], constraints: { unique: [], primary_key: null, foreign_keys: [] } },
    load: {
      rows,
      skipped: 0,
      updated: 0,
      format: '',
      warnings: [],
      duration_ms: to === null ? 0 : Date.parse(to) - Date.parse(from),
    },
  } as unknown as LoadedTable;
}
