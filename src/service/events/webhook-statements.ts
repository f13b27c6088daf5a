/**
 * The statements about webhooks and their deliveries.
 *
 * Many deliveries are named by `ctid`: if PostgreSQL has no statistics of them, a join by their keys may compare each one with each.
 * A row that another transaction has changed meanwhile is left for the next round.
 */
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';
import { otherSchema, withoutOther } from './outbox.ts';
import type { Message, Outcome } from './send-webhook.ts';

export const deliveryStates = ['pending', 'delivered', 'dead'] as const;

export type DeliveryState = (typeof deliveryStates)[number];

/** A webhook as its caller sees it. */
export interface WebhookView {
  id: string;
  url: string;
  types: string[];
  /** Patterns of names with `*`; null: all schemas that the token allowed. */
  schemas: string[] | null;
  createdAt: Date;
  /** When the receiver has ended the webhook with 410; null: it is active. */
  disabledAt: Date | null;
}

/** A webhook in the list of its caller. */
export interface ListedWebhook extends WebhookView {
  /** The webhook is paused: too many of its deliveries wait, so further events stay in the outbox for now. */
  paused: boolean;
}

/** The fields of a new webhook. */
export interface NewWebhook extends Pick<WebhookView, 'id' | 'url' | 'types' | 'schemas'> {
  owner: Buffer;
  /** The subject of the caller's token, for the operator of the service. */
  subject: string | undefined;
  /** The schemas that the token of the caller allows; null: all. */
  tokenSchemas: string[] | null;
  secret: string;
  /** The events after this position are delivered. */
  position: number;
}

export interface DeliveryView {
  eventId: string;
  type: string;
  state: DeliveryState;
  attempts: number;
  status: number | null;
  error: string | null;
  createdAt: Date;
  nextAt: Date | null;
  endedAt: Date | null;
}

const webhookView = `id, url, types, schemas, created_at AS "createdAt", disabled_at AS "disabledAt"`;

/** How many webhooks and patterns a caller may have. */
export interface WebhookLimits {
  webhooks: number;
  patterns: number;
}

/**
 * Returns statements of one transaction. The second one returns the new webhook, or no row if the caller has too many or too many patterns, and the
 * last one the number of webhooks. The webhooks of a caller are created one after the other, so that each transaction counts those of the transactions
 * before it.
 */
export function insertWebhook(
  { quoted }: ServiceSchema,
  webhook: NewWebhook,
  max: WebhookLimits,
): Statement[] {
  const { id, owner, subject, url, types, schemas, tokenSchemas, secret, position } = webhook;
  const ofCaller = `FROM ${quoted}.webhooks WHERE owner = $2`;
  return [
    {
      text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))',
      values: [`tablewright webhooks of ${owner.toString('hex')} in ${quoted}`],
    },
    {
      text: `INSERT INTO ${quoted}.webhooks (id, owner, subject, url, types, schemas, token_schemas, secret, position)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9 WHERE (SELECT count(*) ${ofCaller}) < $10
          AND (SELECT coalesce(sum(cardinality(schemas)), 0) ${ofCaller}) + coalesce(cardinality($6::text[]), 0) <= $11
        RETURNING ${webhookView}`,
      values: [
        ...[id, owner, subject ?? null, url, types, schemas, tokenSchemas, secret, position],
        ...[max.webhooks, max.patterns],
      ],
    },
    { text: `SELECT count(*)::int4 AS count FROM ${quoted}.webhooks WHERE owner = $1`, values: [owner] },
  ];
}

/** @param maxPending if this many deliveries of a caller wait, all webhooks of the caller together are paused */
export function listWebhooks({ quoted }: ServiceSchema, owner: Buffer, maxPending: number): Statement {
  return {
    text: `SELECT ${webhookView}, disabled_at IS NULL AND ${pendingOf(quoted, '$2')} >= ${shareOf(quoted, '$2', '$1')} AS paused
      FROM ${quoted}.webhooks w WHERE owner = $1 ORDER BY created_at, id`,
    values: [owner, maxPending],
  };
}

export function findWebhook({ quoted }: ServiceSchema, id: string, owner: Buffer): Statement {
  return {
    text: `SELECT ${webhookView} FROM ${quoted}.webhooks WHERE id = $1 AND owner = $2`,
    values: [id, owner],
  };
}

/**
 * Returns statements of one transaction. The second one removes deliveries of a webhook, at most `limit`, and the last one removes the webhook if no
 * delivery is left. The first one disables the webhook, so that it gets no more deliveries.
 */
export function deleteWebhook(schema: ServiceSchema, id: string, limit: number): Statement[] {
  const { quoted } = schema;
  return [
    // This locks the webhook before its deliveries, as when the receiver ends the webhook. In another order the two could wait for each other.
    disableWebhook(schema, id),
    {
      text: `DELETE FROM ${quoted}.deliveries
        WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${quoted}.deliveries WHERE webhook = $1 LIMIT $2 FOR UPDATE))`,
      values: [id, limit],
    },
    {
      text: `DELETE FROM ${quoted}.webhooks
        WHERE id = $1 AND NOT EXISTS (SELECT FROM ${quoted}.deliveries WHERE webhook = $1)`,
      values: [id],
    },
  ];
}

export function listDeliveries(
  { quoted }: ServiceSchema,
  webhook: string,
  { state, limit }: { state: DeliveryState | undefined; limit: number },
): Statement {
  return {
    text: `SELECT event_id AS "eventId", event->>'type' AS type, state, attempts, status, error, created_at AS "createdAt",
        CASE state WHEN 'pending' THEN next_at END AS "nextAt", ended_at AS "endedAt"
      FROM ${quoted}.deliveries WHERE webhook = $1 AND ($2::text IS NULL OR state = $2)
      ORDER BY created_at DESC, event_id LIMIT $3`,
    values: [webhook, state ?? null, limit],
  };
}

/** Adds a delivery of an event that is not in the outbox (a test event), unless the webhook is paused (`listWebhooks`) or disabled. */
export function insertDelivery(
  { quoted }: ServiceSchema,
  webhook: string,
  { id, event }: { id: string; event: Record<string, unknown> },
  maxPending: number,
): Statement {
  return {
    text: `INSERT INTO ${quoted}.deliveries (webhook, event_id, event)
      SELECT id, $2, $3 FROM ${quoted}.webhooks w WHERE id = $1 AND disabled_at IS NULL
        AND ${pendingOf(quoted, '$4')} < ${shareOf(quoted, '$4', 'w.owner')} RETURNING event_id`,
    values: [webhook, id, JSON.stringify(event), maxPending],
  };
}

/** A caller with active webhooks. */
export interface CallerProgress {
  owner: Buffer;
  webhooks: number;
  /** The number of patterns of all these webhooks and of their tokens. */
  patterns: number;
  /** The deliveries of all these webhooks exist up to this position. */
  position: number;
}

/** Returns a `CallerProgress` for each caller, in a random order. */
export function readProgress({ quoted }: ServiceSchema): Statement {
  return {
    text: `SELECT owner, count(*)::int4 AS webhooks, min(position)::float8 AS position,
        sum(coalesce(cardinality(schemas), 0) + coalesce(cardinality(token_schemas), 0))::int4 AS patterns
      FROM ${quoted}.webhooks WHERE disabled_at IS NULL GROUP BY owner ORDER BY random()`,
    values: [],
  };
}

/** The limits of the deliveries that one transaction makes for one caller. */
export interface DeliveryRound {
  owner: Buffer;
  /** The position of the last event, which must have been committed. */
  last: number;
  /** The maximum number of events. */
  events: number;
  /** A webhook with so many deliveries that wait gets no more. */
  maxPending: number;
  /** How many deliveries are kept. See `removeSurplus`. */
  maxKept: number;
}

/** Returns SQL that turns the patterns of a webhook into patterns of LIKE, with an exclamation mark as the escape character. */
const asLike = (patterns: string) => `CASE WHEN ${patterns} IS NOT NULL THEN ARRAY(
    SELECT replace(replace(replace(replace(p, '!', '!!'), '%', '!%'), '_', '!_'), '*', '%') FROM unnest(${patterns}) p) END`;

/**
 * Returns statements of one transaction that make deliveries of the next events for the webhooks of one caller. The first one returns a row with
 * the new position for each webhook that has come forward, and no row if there is nothing to do.
 *
 * Only the webhooks of the caller are locked, so that two processes do not do it at the same time. A webhook is skipped while another session has
 * locked it or too many of its deliveries wait: its events wait for it in the outbox. The name of each schema is compared once, not with each event.
 * The other name of a renamed table is left out if its schema is not allowed.
 */
export function makeDeliveries(
  { quoted }: Pick<ServiceSchema, 'quoted'>,
  { owner, last, events, maxPending, maxKept }: DeliveryRound,
): Statement[] {
  const matches = (patterns: string) => `(${patterns} IS NULL OR EXISTS (
    SELECT FROM unnest(${patterns}) p WHERE s.name LIKE p ESCAPE '!'))`;
  return [
    {
      text: `WITH locked AS MATERIALIZED (
          SELECT id, types, position, schemas, token_schemas FROM ${quoted}.webhooks w
          WHERE owner = $1 AND disabled_at IS NULL AND position < $2 AND ${pendingOf(quoted, '$4')} < $4
          ORDER BY id FOR NO KEY UPDATE SKIP LOCKED),
        own AS MATERIALIZED (
          SELECT id, types, position, ${asLike('schemas')} AS wanted, ${asLike('token_schemas')} AS allowed FROM locked),
        next AS MATERIALIZED (
          SELECT id, position, table_schema, event->>'type' AS type, event, ${otherSchema} AS other FROM ${quoted}.events
          WHERE position > (SELECT min(position) FROM own) AND position <= $2 ORDER BY position LIMIT $3),
        reached AS MATERIALIZED (
          SELECT CASE WHEN count(*) < $3 THEN $2 ELSE max(position) END AS position FROM next),
        names AS MATERIALIZED (
          SELECT o.id, s.name, ${matches('o.wanted')} AS is_wanted
          FROM own o, (SELECT table_schema AS name FROM next UNION SELECT other FROM next) s
          WHERE ${matches('o.allowed')}),
        made AS (
          INSERT INTO ${quoted}.deliveries (webhook, event_id, event)
          SELECT o.id, n.id, CASE WHEN n.other IS NULL OR b.id IS NOT NULL THEN event ELSE ${withoutOther} END
          FROM own o JOIN next n ON n.position > o.position AND n.type = ANY (o.types)
            JOIN names a ON a.id = o.id AND a.name = n.table_schema AND a.is_wanted
            LEFT JOIN names b ON b.id = o.id AND b.name = n.other
          ORDER BY n.position ON CONFLICT DO NOTHING)
      UPDATE ${quoted}.webhooks w SET position = reached.position FROM own, reached
      WHERE w.id = own.id AND own.position < reached.position RETURNING w.position::float8 AS position`,
      values: [owner, last, events, maxPending],
    },
    removeSurplus({ quoted }, owner, maxKept),
  ];
}

/** Removes deliveries that have ended, except those among the newest `maxKept` deliveries of the caller, which its webhooks share equally. */
export function removeSurplus(
  { quoted }: Pick<ServiceSchema, 'quoted'>,
  owner: Buffer,
  maxKept: number,
): Statement {
  return {
    text: `DELETE FROM ${quoted}.deliveries WHERE ctid = ANY (ARRAY(
        SELECT o.ctid FROM ${quoted}.webhooks w
        CROSS JOIN LATERAL (SELECT created_at FROM ${quoted}.deliveries WHERE webhook = w.id
          ORDER BY created_at DESC OFFSET ${shareOf(quoted, '$2', '$1', 'all')} LIMIT 1) edge
        JOIN ${quoted}.deliveries o ON o.webhook = w.id AND o.created_at <= edge.created_at
        WHERE w.owner = $1 AND o.state <> 'pending' LIMIT 10000 FOR UPDATE OF o SKIP LOCKED))`,
    values: [owner, maxKept],
  };
}

/** Returns SQL for the share of each webhook of a caller in a number. Disabled webhooks keep deliveries, but get no new ones. */
function shareOf(quoted: string, number: string, owner: string, among: 'all' | 'active' = 'active'): string {
  const isCounted = among === 'all' ? '' : 'AND a.disabled_at IS NULL';
  return `greatest(1, ${number}::int8 / greatest(1, (
    SELECT count(*) FROM ${quoted}.webhooks a WHERE a.owner = ${owner} ${isCounted})))`;
}

/** Returns SQL for the number of deliveries of the webhook `w` that wait, counted up to `max`. */
function pendingOf(quoted: string, max: string): string {
  return `(SELECT count(*) FROM (
    SELECT FROM ${quoted}.deliveries d WHERE d.webhook = w.id AND d.state = 'pending' LIMIT ${max}) waiting)`;
}

export interface ClaimedDelivery extends Message {
  webhook: string;
  attempts: number;
  /** The number of seconds since the delivery was made. */
  age: number;
}

export interface Claim {
  /** The maximum number of deliveries. */
  limit: number;
  /** The maximum number of attempts at the same time for one webhook, and for all webhooks of one caller. */
  perWebhook: number;
  perCaller: number;
  /** How many attempts run in this process, by webhook. */
  running: Record<string, number>;
  leaseSeconds: number;
}

/**
 * Claims deliveries for an attempt. If the process ends during the attempt, another process claims them after the lease.
 *
 * The webhooks are taken in a random order, so that none is always the last one.
 */
export function claimDeliveries(
  { quoted }: ServiceSchema,
  { limit, perWebhook, perCaller, running, leaseSeconds }: Claim,
): Statement {
  return {
    text: `WITH running AS (SELECT key::uuid AS webhook, value::int4 AS count FROM jsonb_each_text($3)),
      callers AS (
        SELECT w.owner, sum(r.count)::int4 AS count FROM running r JOIN ${quoted}.webhooks w ON w.id = r.webhook
        GROUP BY w.owner),
      due AS (
        SELECT d.webhook, d.event_id, w.owner, row_number() OVER (PARTITION BY w.owner) AS number
        FROM (
          SELECT id, owner, coalesce(r.count, 0) AS running
          FROM ${quoted}.webhooks LEFT JOIN running r ON r.webhook = id
          WHERE disabled_at IS NULL ORDER BY random()) w
        CROSS JOIN LATERAL (
          SELECT webhook, event_id FROM ${quoted}.deliveries
          WHERE webhook = w.id AND state = 'pending' AND next_at <= clock_timestamp()
          ORDER BY next_at LIMIT greatest(0, $2::int4 - w.running)
          FOR UPDATE SKIP LOCKED) d),
      chosen AS (
        SELECT webhook, event_id FROM due LEFT JOIN callers USING (owner)
        WHERE number <= $5::int4 - coalesce(callers.count, 0) ORDER BY number LIMIT $1)
      UPDATE ${quoted}.deliveries d
      SET attempts = d.attempts + 1, next_at = clock_timestamp() + make_interval(secs => $4)
      FROM chosen, ${quoted}.webhooks w
      WHERE d.webhook = chosen.webhook AND d.event_id = chosen.event_id AND w.id = d.webhook
      RETURNING d.webhook, d.event_id AS "eventId", d.event::text AS json, d.attempts, w.url, w.secret,
        extract(epoch FROM clock_timestamp() - d.created_at)::float8 AS age`,
    values: [limit, perWebhook, JSON.stringify(running), leaseSeconds, perCaller],
  };
}

/** Records that an attempt has delivered the event, or that there will be no further one. */
export function endDelivery(
  { quoted }: ServiceSchema,
  { webhook, eventId }: ClaimedDelivery,
  state: 'delivered' | 'dead',
  { status, error }: Outcome,
): Statement {
  return {
    text: `UPDATE ${quoted}.deliveries SET state = $3, status = $4, error = $5, ended_at = clock_timestamp()
      WHERE webhook = $1 AND event_id = $2 AND state = 'pending'`,
    values: [webhook, eventId, state, status ?? null, error ?? null],
  };
}

/** Records that an attempt has failed, and when the next one is. */
export function delayDelivery(
  { quoted }: ServiceSchema,
  { webhook, eventId, attempts }: ClaimedDelivery,
  pauseSeconds: number,
  { status, error }: Outcome,
): Statement {
  return {
    text: `UPDATE ${quoted}.deliveries
      SET next_at = clock_timestamp() + make_interval(secs => $4), status = $5, error = $6
      WHERE webhook = $1 AND event_id = $2 AND state = 'pending' AND attempts = $3`,
    values: [webhook, eventId, attempts, pauseSeconds, status ?? null, error ?? null],
  };
}

/** Gives back a delivery whose attempt was interrupted because the process stops. The attempt is not counted. */
export function returnDelivery(
  { quoted }: ServiceSchema,
  { webhook, eventId, attempts }: ClaimedDelivery,
): Statement {
  return {
    text: `UPDATE ${quoted}.deliveries SET next_at = clock_timestamp(), attempts = attempts - 1
      WHERE webhook = $1 AND event_id = $2 AND state = 'pending' AND attempts = $3`,
    values: [webhook, eventId, attempts],
  };
}

/** Disables a webhook. */
export function disableWebhook({ quoted }: ServiceSchema, webhook: string): Statement {
  return {
    text: `UPDATE ${quoted}.webhooks SET disabled_at = clock_timestamp() WHERE id = $1 AND disabled_at IS NULL`,
    values: [webhook],
  };
}

/** Ends deliveries of disabled webhooks, at most `limit` of them, because a webhook may have many. */
export function endDeliveries({ quoted }: ServiceSchema, limit: number): Statement {
  return {
    text: `UPDATE ${quoted}.deliveries
      SET state = 'dead', error = 'the receiver has ended the webhook (410)', ended_at = clock_timestamp()
      WHERE ctid = ANY (ARRAY(SELECT o.ctid FROM ${quoted}.webhooks w JOIN ${quoted}.deliveries o ON o.webhook = w.id
        WHERE w.disabled_at IS NOT NULL AND o.state = 'pending' LIMIT $1 FOR UPDATE OF o SKIP LOCKED))`,
    values: [limit],
  };
}

/** Removes deliveries that ended long ago, at most a limited number. It returns `RemovedRows`, whose `last` is a time. */
export function removeDeliveries(
  { quoted }: ServiceSchema,
  days: number,
  limit: number,
  from: string,
): Statement {
  return {
    text: `WITH removed AS (DELETE FROM ${quoted}.deliveries
      WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${quoted}.deliveries
        WHERE ended_at >= $3 AND ended_at < clock_timestamp() - make_interval(days => $1) ORDER BY ended_at LIMIT $2
        FOR UPDATE SKIP LOCKED)) RETURNING ended_at)
      SELECT count(*)::int4 AS count, max(ended_at)::text AS last FROM removed`,
    values: [days, limit, from],
  };
}
