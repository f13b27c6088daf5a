/** The events that a load causes. Dry runs cause none. */
import { randomUUID } from 'node:crypto';
import type { LoadResult } from '../../engine/loading/request/load-request.ts';
import { type EventFacts, toCloudEvent } from '../events/event.ts';
import { type LoadedInto, type LoadSnapshot, tablesOf } from './load-record.ts';

/** Returns the events of a load that is being committed. */
export function eventsOfCommit(id: string, { schema, table }: LoadedInto, result: LoadResult): EventFacts[] {
  const { tableChange, counts, updated, skipped, leftOut, widened } = result;
  const { inserted, deleted = 0, marked = 0, unmarked = 0 } = counts;
  const about = { schema, table, load: id, distribution: result.table.distribution };
  const numbers = {
    rows: inserted,
    updated,
    skipped,
    ...counts,
    rows_left_out: leftOut?.rows ?? 0,
    ...(widened.length > 0 && { widened }),
  };
  return [
    ...(tableChange === undefined ? [] : [{ ...about, type: `table.${tableChange}` as const }]),
    ...(inserted + updated + deleted + marked + unmarked === 0 && widened.length === 0
      ? []
      : [{ ...about, type: 'rows.loaded' as const, rows: numbers }]),
  ];
}

/** Returns the events of a load that has ended without changing anything, one for each of its tables, with their ids. */
export function eventsOfEnd({ id: load, state, facts, answer, endedAt }: LoadSnapshot) {
  if (facts.dryRun || (state !== 'refused' && state !== 'failed')) return [];
  const refusal = answer && { status: answer.status, code: answer.code };
  return tablesOf(facts).map(({ schema, table }) => {
    const id = randomUUID();
    const event = { type: `load.${state}` as const, schema, table, load, ...(refusal && { refusal }) };
    return { id, schema, event: toCloudEvent(event, id, endedAt ?? new Date()) };
  });
}
