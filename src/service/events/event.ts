/** The events that the service reports, as CloudEvents 1.0. */

import type { ErrorCode } from '../../core/errors.ts';

export const eventTypes = [
  'table.created',
  'table.replaced',
  'table.emptied',
  'table.changed',
  'table.dropped',
  'rows.loaded',
  'load.refused',
  'load.failed',
] as const;

export type EventType = (typeof eventTypes)[number];

interface TableName {
  schema: string;
  table: string;
}

interface WidenedColumn {
  column: string;
  from: string;
  to: string;
}

/** The facts of an event. They have no value of a cell. */
export interface EventFacts {
  type: EventType;
  schema: string;
  table: string;
  /** The id of the load; undefined: the table was created without rows. */
  load?: string | undefined;
  /** How Citus distributes the table; undefined: the database has no Citus, or nothing was changed. */
  distribution?: { kind: string; column?: string; shards?: number } | undefined;
  /** The numbers of a load that was committed, and the columns whose types it has widened. */
  rows?: {
    rows: number;
    inserted: number;
    updated: number;
    changed: number;
    unchanged: number;
    skipped: number;
    missing?: number | undefined;
    deleted?: number | undefined;
    marked?: number | undefined;
    unmarked?: number | undefined;
    rows_left_out: number;
    widened?: WidenedColumn[];
  };
  /** The table's other name, before or after this change. */
  renamed?: { renamed_from: TableName } | { renamed_to: TableName };
  /** Why a load has ended without an effect: the status and the error code of its answer. Each such answer has a code; the type allows undefined as `KeptAnswer` does. */
  refusal?: { status: number; code: ErrorCode | undefined };
}

/** The version of the specification (CloudEvents 1.0.2, section "specversion"). */
const specversion = '1.0';

/**
 * Returns the event in the JSON format of CloudEvents 1.0.
 *
 * @param id a UUID, which must be the same whenever the same event is written
 */
export function toCloudEvent(facts: EventFacts, id: string, time: Date): Record<string, unknown> {
  const { type, schema, table, load, distribution, rows, renamed, refusal } = facts;
  // The thing that the event is about: the URL of the table, relative to the service (CloudEvents, "source").
  const source = `/api/v1/table/${encodeURIComponent(table)}?schema=${encodeURIComponent(schema)}`;
  const data = {
    schema,
    table,
    ...(load !== undefined && { load }),
    ...(distribution && { distribution }),
    ...rows,
    ...renamed,
    ...refusal,
  };
  return envelope(id, source, type, time, data);
}

/** The type of the event with which a caller tests a webhook. The feed never has it. */
export const pingType = 'webhook.ping';

/** Returns the event with which a caller tests a webhook. */
export function pingEvent(webhook: string, id: string, time: Date): Record<string, unknown> {
  return envelope(id, `/api/v1/webhooks/${webhook}`, pingType, time, { webhook });
}

function envelope(
  id: string,
  source: string,
  type: string,
  time: Date,
  data: Record<string, unknown>,
): Record<string, unknown> {
  return {
    specversion,
    id,
    source,
    type,
    time: time.toISOString(),
    datacontenttype: 'application/json',
    data,
  };
}
