/**
 * The table of events in the service's own schema. An event is inserted in the transaction that it reports, so it exists exactly if the
 * change was committed.
 *
 * Events get their positions later, one transaction after the other. The order of a sequence would not be enough: a transaction that
 * took a lower number may be committed after one with a higher number, and a reader that has seen the higher one would miss it.
 *
 * Events that have positions are then announced with NOTIFY, in one more transaction. PostgreSQL takes a lock of the whole server before it
 * commits a transaction with NOTIFY, and holds it until the commit has ended: with Citus until all workers have answered, and with synchronous
 * replication until the standby has. So no transaction with the work of a caller may contain NOTIFY.
 *
 * `insertEvents` is a part of transactions in which code of other people may have run. All other statements about events and webhooks run in
 * transactions of their own, in the service's own search path (search-path.ts).
 */
import { randomUUID } from 'node:crypto';
import { type OwnStatement, qualified } from '../../postgres/callers-statement.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';
import { type EventFacts, toCloudEvent } from './event.ts';

/** The channel on which PostgreSQL tells its clients the id of each event (NOTIFY). */
const channel = 'tablewright';

/** Returns the statement that inserts events, if there are any. */
export function insertEvents(schema: ServiceSchema, facts: EventFacts[]): OwnStatement[] {
  const { quoted } = schema;
  const time = new Date();
  const rows = facts.map((one) => {
    const id = randomUUID();
    return { id, table_schema: one.schema, event: toCloudEvent(one, id, time) };
  });
  if (rows.length === 0) return [];
  const insert: OwnStatement = {
    schema,
    preparedName: 'tablewright insert events',
    values: [Buffer.from(JSON.stringify(rows))],
    write: (given) => qualified`INSERT INTO ${quoted}.events (id, table_schema, event)
      SELECT id, table_schema, event
      FROM pg_catalog.jsonb_to_recordset(pg_catalog.convert_from(${given!}, 'UTF8')::pg_catalog.jsonb)
        AS given (id pg_catalog.uuid, table_schema pg_catalog.text, event pg_catalog.jsonb)`,
  };
  return [insert];
}

/**
 * Returns a query with the name `stored` for a WITH clause, which inserts the events.
 *
 * @param query a SELECT with a row for each event: its id, the schema of its table, and the event as JSON
 */
export function storeEvents({ quoted }: Pick<ServiceSchema, 'quoted'>, query: string): string {
  return `stored AS (
        INSERT INTO ${quoted}.events (id, table_schema, event) ${query})`;
}

export interface StoredEvent {
  position: number;
  schema: string;
  type: string;
  /** The event as JSON, in one line. */
  json: string;
  /** The schema of the other name of a renamed table; null: the event has no such name. */
  otherSchema: string | null;
  /** The event without that name, for readers who may not see its schema. */
  jsonWithoutOther: string;
}

export interface OutboxState {
  /** Whether there are events without a position. */
  isNew: boolean;
  /** The last position. */
  last: number;
  /** Events up to this position may have been removed. */
  removedTo: number;
  /** Whether there are events with positions that were not announced yet. */
  isUnannounced: boolean;
}

/** Reads the `OutboxState`. */
export function readState({ quoted }: ServiceSchema): Statement {
  return {
    text: `SELECT EXISTS (SELECT FROM ${quoted}.events WHERE position IS NULL) AS "isNew",
      coalesce(e.last, s.removed_to)::float8 AS last, s.removed_to::float8 AS "removedTo",
      coalesce(e.last > a.announced_to, false) AS "isUnannounced"
      FROM ${quoted}.event_state s, ${quoted}.event_announcements a, (SELECT max(position) AS last FROM ${quoted}.events) e`,
    values: [],
  };
}

/** How long a process waits for another one that is numbering or removing events. The transactions of callers never take this lock. */
const numberingLockMs = 8000;

/** The maximum number of events that one transaction numbers or announces. */
export const maxNumbered = 10_000;

/**
 * Returns statements of one transaction that give positions to events that have none, in the order of their times. The second one returns the
 * number of these events (`rowCount`), and the last one reads the `OutboxState`. Two processes must not do it at the same time, so the row of the
 * state is locked until the end of the transaction.
 */
export function numberEvents(schema: ServiceSchema): (string | Statement)[] {
  const { quoted } = schema;
  return [
    `SET LOCAL lock_timeout TO ${numberingLockMs}; SELECT FROM ${quoted}.event_state FOR UPDATE`,
    `UPDATE ${quoted}.events e SET position = n.position
     FROM (SELECT id, nextval('${quoted}.event_positions') AS position
       FROM (SELECT id FROM ${quoted}.events WHERE position IS NULL ORDER BY created_at, id LIMIT ${maxNumbered}) o) n
     WHERE e.id = n.id`,
    readState(schema),
  ];
}

/** How long an announcement waits for other transactions with NOTIFY. After that it is tried again later. */
const announcementLockMs = 250;

/**
 * Returns statements of one transaction that send the ids of events that were not announced yet with NOTIFY. The last one returns the number of
 * these events in one row.
 *
 * The transaction is separate from `numberEvents`, so readers do not wait if another program of the server holds the lock of NOTIFY. Its commit waits
 * neither for the disk nor for a standby. If PostgreSQL crashes and loses it, the events are announced again.
 */
export function announceEvents({ quoted }: ServiceSchema): string[] {
  return [
    `SET LOCAL lock_timeout TO ${announcementLockMs}`,
    'SET LOCAL synchronous_commit TO off',
    `SELECT FROM ${quoted}.event_announcements FOR UPDATE`,
    `UPDATE ${quoted}.event_announcements SET announced_to = n.last
     FROM (SELECT max(position) AS last, count(pg_notify('${channel}', id::text))::int4 AS count
       FROM (SELECT position, id FROM ${quoted}.events
         WHERE position > (SELECT announced_to FROM ${quoted}.event_announcements)
         ORDER BY position LIMIT ${maxNumbered}) o) n
     WHERE n.count > 0 RETURNING n.count`,
  ];
}

/** SQL for the schema of the other name that a renamed table had or got, and for the event without that name. */
export const otherSchema = `coalesce(event #>> '{data,renamed_from,schema}', event #>> '{data,renamed_to,schema}')`;
export const withoutOther = `event #- '{data,renamed_from}' #- '{data,renamed_to}'`;

/** Reads the events after a position, in their order. */
export function readEvents({ quoted }: ServiceSchema, after: number, limit: number): Statement {
  return {
    text: `SELECT position::float8 AS position, table_schema AS schema, event->>'type' AS type, event::text AS json,
        ${otherSchema} AS "otherSchema", (${withoutOther})::text AS "jsonWithoutOther"
      FROM ${quoted}.events WHERE position > $1 ORDER BY position LIMIT $2`,
    values: [after, limit],
  };
}

/**
 * Returns statements of one transaction that remove events older than `days`, and store the position of the last one. The last
 * statement returns how many events were removed, or no row.
 *
 * Only the first events in the order of positions are removed: an event whose transaction took days has a high position although it
 * is old. It stays until the newer events before it are old, too. Otherwise a reader of these would miss it.
 *
 * @param limit the maximum number of events
 */
export function removeEvents({ quoted }: ServiceSchema, days: number, limit: number): Statement[] {
  return [
    { text: `SELECT FROM ${quoted}.event_state FOR UPDATE` },
    {
      text: `WITH first AS (
          SELECT position, created_at < clock_timestamp() - make_interval(days => $1) AS is_old
          FROM ${quoted}.events WHERE position > (SELECT removed_to FROM ${quoted}.event_state) ORDER BY position LIMIT $2),
        removed AS (
          DELETE FROM ${quoted}.events WHERE position IN (SELECT position FROM first)
            AND position < coalesce((SELECT min(position) FROM first WHERE NOT is_old), 9223372036854775807)
          RETURNING position)
        UPDATE ${quoted}.event_state SET removed_to = greatest(removed_to, (SELECT max(position) FROM removed))
        WHERE EXISTS (SELECT FROM removed) RETURNING (SELECT count(*) FROM removed)::int4 AS count`,
      values: [days, limit],
    },
  ];
}
