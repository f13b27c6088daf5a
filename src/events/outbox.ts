/**
 * The table of events in the service's own schema. An event is inserted in the transaction that it reports, so it exists exactly if the
 * change was committed.
 *
 * Events get their positions later, one transaction after the other. The order of a sequence would not be enough: a transaction that
 * took a lower number may be committed after one with a higher number, and a reader that has seen the higher one would miss it.
 *
 * `insertEvents` and `storeEvents` are parts of transactions in which code of other people may have run, so they qualify all names. All
 * other statements about events and webhooks run in transactions of their own, in the service's own search path (search-path.ts).
 */
import { randomUUID } from 'node:crypto';
import type { ServiceSchema } from '../postgres/service-schema.ts';
import { asciiLiteral, type Statement } from '../postgres/sql.ts';
import { type EventFacts, toCloudEvent } from './event.ts';

/** The channel on which PostgreSQL tells its clients the id of each event (NOTIFY). */
const channel = 'tablewright';

/**
 * Returns the statements that insert events. They contain only ASCII characters and qualified names (`beforeCommit` of
 * `inTransaction`).
 */
export function insertEvents({ quoted }: ServiceSchema, facts: EventFacts[]): string[] {
  const ids = facts.map(() => randomUUID());
  const time = new Date();
  const rows = facts.map((one, index) => {
    const id = ids[index]!;
    const event = JSON.stringify(toCloudEvent(one, id, time));
    return `('${id}'::pg_catalog.uuid, ${asciiLiteral(one.schema)}, ${asciiLiteral(event)}::pg_catalog.jsonb)`;
  });
  if (rows.length === 0) return [];
  const notices = ids.map((id) => `pg_catalog.pg_notify('${channel}', '${id}')`);
  return [
    `INSERT INTO ${quoted}.events (id, table_schema, event) VALUES ${rows.join(', ')}`,
    `SELECT ${notices.join(', ')}`,
  ];
}

/**
 * Returns two queries for a WITH clause: `stored` inserts the events, and `announced` sends their ids with NOTIFY. The statement must read
 * from `announced`, because PostgreSQL skips a SELECT in a WITH clause if nothing reads from it.
 *
 * @param query a SELECT with a row for each event: its id, the schema of its table, and the event as JSON
 */
export function storeEvents({ quoted }: Pick<ServiceSchema, 'quoted'>, query: string): string {
  return `stored AS (
        INSERT INTO ${quoted}.events (id, table_schema, event) ${query} RETURNING id),
      announced AS MATERIALIZED (
        SELECT pg_catalog.count(pg_catalog.pg_notify('${channel}', id::pg_catalog.text)) FROM stored)`;
}

export interface StoredEvent {
  position: number;
  schema: string;
  type: string;
  /** The event as JSON, in one line. */
  json: string;
}

/** Returns one row: whether there are events without a position, and the last position. */
export function readState({ quoted }: ServiceSchema): Statement {
  return {
    text: `SELECT EXISTS (SELECT FROM ${quoted}.events WHERE position IS NULL) AS "isNew",
      coalesce((SELECT max(position) FROM ${quoted}.events), s.removed_to)::float8 AS last,
      s.removed_to::float8 AS "removedTo" FROM ${quoted}.event_state s`,
    values: [],
  };
}

/** How many events get a position in one transaction. */
const maxNumbered = 10_000;

/**
 * Gives positions to events that have none, in the order of their times. Two processes must not do it at the same time, so the row of the
 * state is locked until the end of the transaction.
 */
export function numberEvents({ quoted }: ServiceSchema): string[] {
  return [
    `SELECT FROM ${quoted}.event_state FOR UPDATE`,
    `UPDATE ${quoted}.events e SET position = n.position
     FROM (SELECT id, nextval('${quoted}.event_positions') AS position
       FROM (SELECT id FROM ${quoted}.events WHERE position IS NULL ORDER BY created_at, id LIMIT ${maxNumbered}) o) n
     WHERE e.id = n.id`,
  ];
}

/** Reads the events after a position, in their order. */
export function readEvents({ quoted }: ServiceSchema, after: number, limit: number): Statement {
  return {
    text: `SELECT position::float8 AS position, table_schema AS schema, event->>'type' AS type, event::text AS json
      FROM ${quoted}.events WHERE position > $1 ORDER BY position LIMIT $2`,
    values: [after, limit],
  };
}

/**
 * Returns statements of one transaction that remove the first events if they are older than this, and remember how far. The last one
 * returns how many events were removed, or no row.
 *
 * Events are removed in their order: an event whose transaction took days has a high position, and it stays until the newer events before it
 * are old. Otherwise a reader of these would miss it.
 *
 * @param limit the most events
 */
export function removeEvents({ quoted }: ServiceSchema, days: number, limit: number): Statement[] {
  return [
    { text: `SELECT FROM ${quoted}.event_state FOR UPDATE` },
    {
      text: `WITH first AS (
          SELECT position, created_at < clock_timestamp() - make_interval(days => $1) AS is_old
          FROM ${quoted}.events WHERE position IS NOT NULL ORDER BY position LIMIT $2),
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
