/**
 * The state of a load as far as the page knows it. Only the service can say that a load has ended. So a value of type `Ended` can
 * only be created from the record of the load or from the answer to its upload. After any other error the state is `unknown`.
 */
import type { Load, LoadedTable, LoadedTables } from '../client/client.ts';
import { ProblemError } from '../client/problem-error.ts';
import { resultOf } from '../client/watch-load.ts';
import { type Failure, failureFrom } from './failure.ts';

export type LoadOutcome =
  /** The upload has not been answered yet. */
  | { is: 'sending' }
  | { is: 'running'; record: Load }
  /** The page cannot find out the state of the load. `record` is the last record that it received. */
  | { is: 'unknown'; reason: Failure; record: Load | undefined }
  /** The file could not be read completely. The service did not receive it completely and loads nothing. */
  | { is: 'unsent'; failure: Failure }
  | Ended;

declare const isSaidByService: unique symbol;

/** This symbol is not exported, so that only this file can create a value of the type `Ended`. */
interface SaidByService {
  readonly [isSaidByService]: true;
}

type EndFacts =
  | { is: 'loaded'; result: LoadResult }
  | { is: 'tables-loaded'; result: TablesResult }
  | { is: 'not-loaded'; failure: Failure; isCancelled: boolean };

/** The load has ended. */
export type Ended = EndFacts & SaidByService;

/** What the page shows of a load that succeeded. */
export interface LoadResult {
  /** The service may have stored no answer. Then the keys are not known. */
  table: Pick<LoadedTable['table'], 'schema' | 'name' | 'columns'> & Partial<LoadedTable['table']>;
  load: Omit<LoadedTable['load'], 'format'>;
}

/** A table of a load of several tables, with its file, as the record has it. */
export type LoadedPart = NonNullable<Load['parts']>[number];

/** What the page shows of a load of several tables that succeeded. */
export interface TablesResult {
  tables: {
    table: LoadResult['table'];
    /** undefined: the service has not stored the answer. */
    change?: LoadedTables['tables'][number]['change'];
    load?: LoadedTables['tables'][number]['load'];
    /** From which file it was loaded; undefined: the service keeps no records. */
    origin?: LoadedPart | undefined;
  }[];
  load: Pick<LoadedTables['load'], 'rows' | 'duration_ms'>;
}

/** @param record the record of a load that has ended */
export function endOf(record: Load): Ended {
  try {
    if (record.parts) return ended({ is: 'tables-loaded', result: tablesIn(record) });
    return ended({ is: 'loaded', result: resultIn(record) });
  } catch (error) {
    const isCancelled = record.state === 'cancelled';
    return ended({ is: 'not-loaded', failure: failureFrom(error), isCancelled });
  }
}

/** @param answer the answer to an upload if the service stores no records of loads */
export function endOfAnswer(answer: LoadedTable | LoadedTables): Ended {
  if ('tables' in answer) return ended({ is: 'tables-loaded', result: answer });
  return ended({ is: 'loaded', result: answer });
}

/**
 * Returns the end of an upload that the service refused; undefined: the load may continue or may be committed. That is so if the
 * answer was lost, if it has status 500 or more, or if it has no code (a proxy may have written it).
 */
export function endOfRefusal(error: unknown): Ended | undefined {
  if (!(error instanceof ProblemError) || error.code === undefined || error.status >= 500) return undefined;
  if (error.followsLostAnswer) return undefined;
  const isCancelled = error.code === 'load-cancelled';
  return ended({ is: 'not-loaded', failure: failureFrom(error), isCancelled });
}

/** Returns the last record of the load that the page received. */
export function recordOf(outcome: LoadOutcome): Load | undefined {
  return outcome.is === 'running' || outcome.is === 'unknown' ? outcome.record : undefined;
}

/**
 * Returns the result from the record of a load. The service does not store answers above 1 MiB. Then the page shows the counts of the record.
 *
 * @throws ProblemError if the load was refused, failed or was cancelled
 */
export function resultIn(record: Load): LoadResult {
  const answer = resultOf(record);
  if (answer && 'table' in answer) return answer;
  const { table, rows_read: rows } = record;
  return {
    table: { schema: table.schema, name: table.name, columns: [] },
    load: {
      rows,
      skipped: 0,
      updated: 0,
      inserted: rows,
      changed: 0,
      unchanged: 0,
      warnings: [],
      duration_ms: durationOf(record),
    },
  };
}

/** Returns the result of a committed load of several tables, like `resultIn`. */
export function tablesIn(record: Load): TablesResult {
  const answer = resultOf(record);
  const { parts = [record.table], rows_read: rows } = record;
  if (answer && 'tables' in answer) {
    return { ...answer, tables: answer.tables.map((one, index) => ({ ...one, origin: parts[index] })) };
  }
  const tables = parts.map((origin) => {
    return { table: { schema: origin.schema, name: origin.name, columns: [] }, origin };
  });
  return { tables, load: { rows, duration_ms: durationOf(record) } };
}

function durationOf({ created_at: from, ended_at: to }: Load): number {
  return to === null ? 0 : Date.parse(to) - Date.parse(from);
}

function ended(facts: EndFacts): Ended {
  return facts as Ended;
}
