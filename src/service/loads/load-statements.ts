/** The statements for the table of loads. */
import { storeEvents } from '../events/outbox.ts';
import { refuseUnless } from '../postgres/refuse-unless.ts';
import type { ServiceSchema } from '../postgres/service-schema.ts';
import { asciiLiteral, bytesLiteral, quoteLiteral, type Statement } from '../postgres/sql.ts';
import { eventOfEnd } from './load-events.ts';
import { type KeptAnswer, type LoadFacts, type LoadSnapshot, maxKeptAnswerBytes } from './load-record.ts';
import type { LoadState } from './load-state.ts';
import { hasRenewed } from './process-statements.ts';
import { firstUuidV7At } from './uuid-v7.ts';

/** The columns that are set when the row is inserted, with their types. */
const columns = {
  id: 'uuid',
  state: 'text',
  operation: 'text',
  table_schema: 'text',
  table_name: 'text',
  dry_run: 'bool',
  owner: 'bytea',
  subject: 'text',
  role: 'text',
  process: 'uuid',
  bytes_expected: 'int8',
  bytes_received: 'int8',
  rows_read: 'int8',
  problems_found: 'int8',
  created_at: 'timestamptz',
  started_at: 'timestamptz',
  ended_at: 'timestamptz',
  answer_status: 'int4',
  answer_headers: 'jsonb',
  problems_stored: 'int4',
  problem_bytes: 'int8',
  answer_body: 'bytea',
};

/** The columns that a later statement changes. */
const changing = [
  'state',
  'process',
  'bytes_expected',
  'bytes_received',
  'rows_read',
  'problems_found',
  'started_at',
  'ended_at',
  'answer_status',
  'answer_headers',
  'problems_stored',
  'problem_bytes',
  'answer_body',
];

const names = Object.keys(columns).join(', ');
const typed = Object.entries(columns)
  .map(([name, type]) => `${name} pg_catalog.${type}`)
  .join(', ');
const changes = changing.map((name) => `${name} = excluded.${name}`).join(', ');

/** Returns the row as an object for `jsonb_to_recordset`. */
function rowOf(snapshot: LoadSnapshot): Record<string, unknown> {
  const { facts, answer } = snapshot;
  const body = answer && answer.body.length <= maxKeptAnswerBytes ? answer.body : undefined;
  const ended = eventOfEnd(snapshot);
  return {
    event_id: ended?.id,
    event: ended?.event,
    id: snapshot.id,
    state: snapshot.state,
    operation: facts.operation,
    table_schema: facts.schema,
    table_name: facts.table,
    dry_run: facts.dryRun,
    owner: asBytea(facts.owner),
    // PostgreSQL stores neither NUL nor half of a surrogate pair.
    subject: facts.subject?.replaceAll('\0', '').toWellFormed(),
    role: facts.role,
    process: snapshot.process,
    bytes_expected: facts.bytesExpected,
    bytes_received: snapshot.bytesReceived,
    rows_read: snapshot.rowsRead,
    problems_found: snapshot.problemsFound,
    created_at: snapshot.createdAt,
    started_at: snapshot.startedAt,
    ended_at: snapshot.endedAt,
    answer_status: answer?.status,
    answer_headers: answer?.headers,
    problems_stored: snapshot.stored?.count,
    problem_bytes: snapshot.stored?.bytes,
    answer_body: body && asBytea(body),
  };
}

function asBytea(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

export interface WrittenLoad {
  id: string;
  /** Whether a request to cancel the load was accepted, perhaps by another replica. */
  cancelRequested: boolean;
  /** Whether a client watches the load, perhaps at another replica. */
  isWatched: boolean;
}

/**
 * Writes the rows of loads of this process. For each load that ends it also stores the event about its end. It returns a `WrittenLoad` for
 * each load whose row was written. A row is not written if the table says that the load has ended, waits in the queue or belongs to
 * another process.
 */
export function writeLoads({ quoted }: ServiceSchema, snapshots: LoadSnapshot[]): Statement {
  return {
    text: `WITH given AS (
        SELECT * FROM pg_catalog.jsonb_to_recordset($1)
        AS given (${typed}, event_id pg_catalog.uuid, event pg_catalog.jsonb)),
      written AS (
        INSERT INTO ${quoted}.loads AS known (${names}) SELECT ${names} FROM given
        ON CONFLICT (id) DO UPDATE SET ${changes} WHERE known.ended_at IS NULL
          AND known.process OPERATOR(pg_catalog.=) excluded.process AND known.state OPERATOR(pg_catalog.<>) 'queued'
        RETURNING id, cancel_requested, watched_until),
      ${storeEvents({ quoted }, 'SELECT g.event_id, g.table_schema, g.event FROM given g JOIN written w ON w.id OPERATOR(pg_catalog.=) g.id WHERE g.event_id IS NOT NULL')}
      SELECT id, cancel_requested AS "cancelRequested",
        coalesce(watched_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp(), false) AS "isWatched"
      FROM written`,
    values: [JSON.stringify(snapshots.map(rowOf))],
  };
}

/** Reads which loads must be cancelled, and which loads clients watch. It returns a `WrittenLoad` for each load that has not ended. */
export function readRequestsAbout({ quoted }: ServiceSchema, ids: string[]): Statement {
  return {
    text: `SELECT id, cancel_requested AS "cancelRequested",
        coalesce(watched_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp(), false) AS "isWatched"
      FROM ${quoted}.loads WHERE id OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.uuid[]) AND ended_at IS NULL`,
    values: [ids],
  };
}

/**
 * Returns the statement that records a load as committed. It runs in the transaction that writes the rows of the load. If the load has ended
 * already or must be cancelled, the statement fails, and the transaction fails with it. The statement has no parameters and only ASCII
 * characters.
 */
export function commitLoad({ quoted }: ServiceSchema, snapshot: LoadSnapshot): string {
  const { answer_body: _, ...row } = rowOf(snapshot);
  const body = snapshot.answer?.body;
  const kept = body && body.length <= maxKeptAnswerBytes ? bytesLiteral(body) : 'NULL';
  const others = names.replace(', answer_body', '');
  return `WITH written AS (
    INSERT INTO ${quoted}.loads AS known (${others}, answer_body)
    SELECT ${others}, ${kept} FROM pg_catalog.jsonb_to_record(${asciiLiteral(JSON.stringify(row))}::pg_catalog.jsonb)
      AS given (${typed.replace(', answer_body pg_catalog.bytea', '')})
    ON CONFLICT (id) DO UPDATE SET ${changes} WHERE known.ended_at IS NULL AND NOT known.cancel_requested
      AND known.process OPERATOR(pg_catalog.=) excluded.process
    RETURNING id)
  ${refuseUnless('EXISTS (SELECT FROM written)', 'the load has ended or is cancelled')}`;
}

/** Replaces the body of the answer of a committed load. It has no effect if the record keeps no body, because it is too long. */
export function amendAnswer({ quoted }: ServiceSchema, id: string, body: Buffer): Statement {
  return {
    text: `UPDATE ${quoted}.loads SET answer_body = $2
      WHERE id OPERATOR(pg_catalog.=) $1 AND state OPERATOR(pg_catalog.=) 'committed' AND answer_body IS NOT NULL`,
    values: [id, body],
  };
}

/** Requests that a load is cancelled. A load that waits in the queue ends at once. It returns the id of the load if the load had not ended. */
export function requestCancel({ quoted }: ServiceSchema, id: string): Statement {
  return {
    text: `UPDATE ${quoted}.loads SET cancel_requested = true,
        state = CASE WHEN state OPERATOR(pg_catalog.=) 'queued' THEN 'cancelled' ELSE state END,
        ended_at = CASE WHEN state OPERATOR(pg_catalog.=) 'queued' THEN pg_catalog.clock_timestamp() END
      WHERE id OPERATOR(pg_catalog.=) $1 AND ended_at IS NULL RETURNING id`,
    values: [id],
  };
}

const viewColumns = `id, state, operation, table_schema AS schema, table_name AS table, dry_run AS "dryRun", subject,
  bytes_expected::pg_catalog.float8 AS "bytesExpected", bytes_received::pg_catalog.float8 AS "bytesReceived",
  rows_read::pg_catalog.float8 AS "rowsRead", problems_found::pg_catalog.float8 AS "problemsFound", coalesce(problems_stored, 0) AS "problemsStored",
  cancel_requested AS "cancelRequested", created_at AS "createdAt", started_at AS "startedAt", ended_at AS "endedAt"`;

/** Says which loads a caller may see. */
export interface Visible {
  /** undefined: the loads of all callers. */
  owner: Buffer | undefined;
  /** Patterns of LIKE for the schemas of the tables; undefined: all schemas. */
  schemas: string[] | undefined;
  /** Returns whether the caller may see loads into tables of this schema. It agrees with `schemas`. */
  maySee: (schema: string) => boolean;
}

const isVisible = (first: number) =>
  `($${first}::pg_catalog.bytea IS NULL OR owner OPERATOR(pg_catalog.=) $${first}::pg_catalog.bytea)
    AND ($${first + 1}::pg_catalog.text[] IS NULL OR table_schema OPERATOR(pg_catalog.~~) ANY ($${first + 1}::pg_catalog.text[]))`;

/** Reads one load with its answer. */
export function readLoad({ quoted }: ServiceSchema, id: string, { owner, schemas }: Visible): Statement {
  return {
    text: `SELECT ${viewColumns}, answer_status, answer_headers, answer_body FROM ${quoted}.loads
      WHERE id OPERATOR(pg_catalog.=) $1 AND ${isVisible(2)}`,
    values: [id, owner ?? null, schemas ?? null],
  };
}

export interface LoadFilter {
  state: LoadState | undefined;
  schema: string | undefined;
  table: string | undefined;
  /** The idempotency key of the load's request. */
  key: { owner: Buffer; key: string } | undefined;
  /** The id of the last load of the page before. */
  after: string | undefined;
  limit: number;
}

/** Reads a page of loads without their answers, the newest first. */
export function listLoads(
  { quoted }: ServiceSchema,
  filter: LoadFilter,
  { owner, schemas }: Visible,
): Statement {
  const { state = null, schema = null, table = null, key, after = null, limit } = filter;
  return {
    text: `SELECT ${viewColumns} FROM ${quoted}.loads
      WHERE ${isVisible(1)}
        AND ($3::pg_catalog.text IS NULL OR state OPERATOR(pg_catalog.=) $3)
        AND ($4::pg_catalog.text IS NULL OR table_schema OPERATOR(pg_catalog.=) $4)
        AND ($5::pg_catalog.text IS NULL OR table_name OPERATOR(pg_catalog.=) $5)
        AND ($6::pg_catalog.uuid IS NULL OR id OPERATOR(pg_catalog.<) $6)
        ${key === undefined ? '' : isOfKey(quoted)}
      ORDER BY id DESC LIMIT $7`,
    values: [
      owner ?? null,
      schemas ?? null,
      state,
      schema,
      table,
      after,
      limit,
      ...(key === undefined ? [] : [key.owner, key.key]),
    ],
  };
}

/** Returns a condition for the load of an idempotency key. A key belongs to one load at a time, so PostgreSQL finds the load by its primary key. */
function isOfKey(quoted: string): string {
  return `AND id OPERATOR(pg_catalog.=) (SELECT k.load FROM ${quoted}.idempotency_keys k
          WHERE k.owner OPERATOR(pg_catalog.=) $8 AND k.key OPERATOR(pg_catalog.=) $9)`;
}

/**
 * Records that a client watches a load, so that the process of the load writes its progress more often. It skips a row that is locked, because
 * that load is about to end.
 */
export function watchLoad({ quoted }: ServiceSchema, id: string): Statement {
  return {
    text: `UPDATE ${quoted}.loads SET watched_until = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => 6)
      WHERE id OPERATOR(pg_catalog.=) (SELECT id FROM ${quoted}.loads
        WHERE id OPERATOR(pg_catalog.=) $1 AND ended_at IS NULL
          AND (watched_until OPERATOR(pg_catalog.>) (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => 3))) IS NOT TRUE
        FOR UPDATE SKIP LOCKED)`,
    values: [id],
  };
}

export interface AbandonedLoad {
  id: string;
  schema: string;
  table: string;
  dryRun: boolean;
}

/**
 * Records the loads of processes whose lease has expired as failed. Their transactions can no longer be committed, because `commitLoad` fails
 * for a load that has ended. Rows that another session has locked are skipped until the next call, because that session may be committing the
 * load. It returns an `AbandonedLoad` for each.
 */
export function failAbandonedLoads(
  { quoted }: ServiceSchema,
  own: string,
  leaseSeconds: number,
  answer: KeptAnswer,
): Statement {
  return {
    text: `WITH dead AS (
        SELECT l.id FROM ${quoted}.loads l LEFT JOIN ${quoted}.processes p ON p.id OPERATOR(pg_catalog.=) l.process
        WHERE l.ended_at IS NULL AND l.spool IS NULL AND l.process OPERATOR(pg_catalog.<>) $1
          AND (${hasRenewed('p', 'secs => $2')}) IS NOT TRUE
        ORDER BY l.id LIMIT 1000 FOR UPDATE OF l SKIP LOCKED)
      UPDATE ${quoted}.loads l SET state = 'failed', ended_at = pg_catalog.clock_timestamp(),
        answer_status = $3, answer_headers = $4, answer_body = $5
      FROM dead WHERE l.id OPERATOR(pg_catalog.=) dead.id
      RETURNING l.id, l.table_schema AS schema, l.table_name AS table, l.dry_run AS "dryRun"`,
    values: [own, leaseSeconds, answer.status, JSON.stringify(answer.headers), answer.body],
  };
}

/**
 * Removes loads that ended more than `historyDays` ago, at most `atMost` of them. It returns `RemovedRows`, whose place is an id.
 *
 * An id begins with the time at which the load began, so PostgreSQL finds the oldest loads by the primary key, and reads no load that began
 * later than the limit. If the clock of a process is ahead of that of the database, its loads are removed later by the difference.
 */
export function removeOldLoads(
  { quoted }: ServiceSchema,
  historyDays: number,
  atMost: number,
  after: string,
): Statement {
  const beganBefore = firstUuidV7At(Date.now() - historyDays * dayMs);
  return {
    text: `WITH removed AS (DELETE FROM ${quoted}.loads WHERE id OPERATOR(pg_catalog.=) ANY (ARRAY(
      SELECT id FROM ${quoted}.loads WHERE id OPERATOR(pg_catalog.>) $4 AND id OPERATOR(pg_catalog.<) $2
        AND ended_at OPERATOR(pg_catalog.<) (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) pg_catalog.make_interval(days => $1))
      ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)) RETURNING id)
      SELECT pg_catalog.count(*)::pg_catalog.int4 AS count, (SELECT id FROM removed ORDER BY id DESC LIMIT 1) AS last FROM removed`,
    values: [historyDays, beganBefore, atMost, after],
  };
}

const dayMs = 86_400_000;

/** The parts of the request of an asynchronous load that are stored to run the load later. The access token is not stored. */
export interface StoredRequest {
  /** The parameters of the query. */
  query: Record<string, unknown>;
  /** The headers that describe the body and the answer. */
  headers: Record<string, string>;
  scopes: string[];
  schemas: string[] | undefined;
  /** Identifies the caller for the limits of running uploads. */
  caller: string;
  requestId: string;
}

/**
 * Returns the statements that record a load as stored and waiting in the queue. They have no parameters. They fail if the load has ended or must
 * be cancelled.
 */
export function queueLoad(
  schema: ServiceSchema,
  snapshot: LoadSnapshot,
  { spool, bytes }: { spool: string; bytes: number },
  request: StoredRequest,
): string[] {
  return [
    commitLoad(schema, { ...snapshot, state: 'queued' }),
    `UPDATE ${schema.quoted}.loads SET spool = ${quoteLiteral(spool)}::pg_catalog.uuid, spool_bytes = ${Math.trunc(bytes)},
      request = ${asciiLiteral(JSON.stringify(request, storable))}::pg_catalog.jsonb
    WHERE id OPERATOR(pg_catalog.=) '${snapshot.id}'::pg_catalog.uuid`,
  ];
}

/** Replaces what PostgreSQL cannot store in a text: NUL, and half of a surrogate pair. No name of a schema, a column or a sheet has such a character. */
function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd').toWellFormed() : value;
}

/** The number of loads in a folder that have not ended, and the bytes of their bodies: for all subjects, and for one subject (`own…`). */
export interface QueuedSize {
  loads: number;
  bytes: number;
  ownLoads: number;
  ownBytes: number;
}

/** Reads the `QueuedSize` of the folder `spool`, with the subject `owner`. */
export function readQueueSize({ quoted }: ServiceSchema, spool: string, owner: Buffer): Statement {
  const bytes = `pg_catalog.sum(coalesce(spool_bytes, bytes_received))`;
  const isOwn = 'FILTER (WHERE owner OPERATOR(pg_catalog.=) $2)';
  return {
    text: `SELECT pg_catalog.count(*)::pg_catalog.float8 AS loads, coalesce(${bytes}, 0)::pg_catalog.float8 AS bytes,
        pg_catalog.count(*) ${isOwn}::pg_catalog.float8 AS "ownLoads", coalesce(${bytes} ${isOwn}, 0)::pg_catalog.float8 AS "ownBytes"
      FROM ${quoted}.loads WHERE ended_at IS NULL AND spool OPERATOR(pg_catalog.=) $1`,
    values: [spool, owner],
  };
}

/** The number of loads in a folder that have not ended, and the bytes of their bodies, by state. */
export interface QueueCounts {
  queued: number;
  running: number;
  queuedBytes: number;
  runningBytes: number;
}

/** Reads the `QueueCounts` of a folder. */
export function readQueueCounts({ quoted }: ServiceSchema, spool: string): Statement {
  const isQueued = `state OPERATOR(pg_catalog.=) 'queued'`;
  const count = (condition: string) => `pg_catalog.count(*) FILTER (WHERE ${condition})::pg_catalog.float8`;
  const bytes = (condition: string) =>
    `coalesce(pg_catalog.sum(coalesce(spool_bytes, bytes_received)) FILTER (WHERE ${condition}), 0)::pg_catalog.float8`;
  return {
    text: `SELECT ${count(isQueued)} AS queued, ${count(`NOT ${isQueued}`)} AS running,
        ${bytes(isQueued)} AS "queuedBytes", ${bytes(`NOT ${isQueued}`)} AS "runningBytes"
      FROM ${quoted}.loads WHERE ended_at IS NULL AND spool OPERATOR(pg_catalog.=) $1`,
    values: [spool],
  };
}

/** How often an asynchronous load is begun at most. What is begun so often without an end may be what ends the process or the database. */
export const maxAttempts = 5;

const attempts = (load: string) =>
  `coalesce((${load}.request OPERATOR(pg_catalog.->>) 'attempts')::pg_catalog.int4, 0)`;

const epoch = `extract(epoch FROM pg_catalog.clock_timestamp())::pg_catalog.float8`;

/** Says which load of the queue a process takes. */
export interface TakeOptions {
  spool: string;
  process: string;
  /** false: only loads that were never begun are taken. */
  takesSuspects: boolean;
  /** The owners whose loads this process has taken, the last one at the end. */
  served: Buffer[];
}

/**
 * Assigns a load that waits in a folder to this process, and counts the attempt. It takes a load of the owner with the fewest running loads, then of
 * the owner who was served least recently, and of these the oldest one. It returns the row of the load.
 */
export function takeQueuedLoad(
  { quoted }: ServiceSchema,
  { spool, process, takesSuspects, served }: TakeOptions,
): Statement {
  return {
    text: `WITH running AS MATERIALIZED (
        SELECT owner, pg_catalog.count(*) AS loads FROM ${quoted}.loads
        WHERE ended_at IS NULL AND spool OPERATOR(pg_catalog.=) $1 AND state OPERATOR(pg_catalog.=) 'running' GROUP BY owner)
      UPDATE ${quoted}.loads l SET state = 'running', process = $2, started_at = pg_catalog.clock_timestamp(),
        request = pg_catalog.jsonb_set(l.request, '{attempts}', pg_catalog.to_jsonb(${attempts('l')} OPERATOR(pg_catalog.+) 1))
      WHERE id OPERATOR(pg_catalog.=) (SELECT q.id FROM ${quoted}.loads q LEFT JOIN running r ON r.owner OPERATOR(pg_catalog.=) q.owner
        WHERE q.spool OPERATOR(pg_catalog.=) $1 AND q.state OPERATOR(pg_catalog.=) 'queued'
          AND ${attempts('q')} OPERATOR(pg_catalog.<) CASE WHEN $3 THEN ${maxAttempts} ELSE 1 END
          AND coalesce((q.request OPERATOR(pg_catalog.->>) 'notBefore')::pg_catalog.float8, 0) OPERATOR(pg_catalog.<=) ${epoch}
        ORDER BY coalesce(r.loads, 0), coalesce(pg_catalog.array_position($4::pg_catalog.bytea[], q.owner), 0), q.id
        LIMIT 1 FOR UPDATE OF q SKIP LOCKED)
      RETURNING id, operation, table_schema AS schema, table_name AS "table", dry_run AS "dryRun", owner, subject, role,
        bytes_expected::pg_catalog.float8 AS "bytesExpected", bytes_received::pg_catalog.float8 AS "bytesReceived",
        spool_bytes::pg_catalog.float8 AS "storedBytes", ${attempts('l')} AS attempts,
        created_at AS "createdAt", request`,
    values: [spool, process, takesSuspects, served],
  };
}

/** Puts a load of this process back into the queue. @param attempts how often the load has been started */
export function queueAgain(
  { quoted }: ServiceSchema,
  id: string,
  process: string,
  attempts: number,
): Statement {
  return {
    text: `UPDATE ${quoted}.loads SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
        ended_at = CASE WHEN cancel_requested THEN pg_catalog.clock_timestamp() END,
        request = pg_catalog.jsonb_set(request, '{attempts}', pg_catalog.to_jsonb($3::pg_catalog.int4))
      WHERE id OPERATOR(pg_catalog.=) $1 AND process OPERATOR(pg_catalog.=) $2 AND ended_at IS NULL`,
    values: [id, process, attempts],
  };
}

/** Returns the condition that an asynchronous load `l` runs in another process, whose lease, in the row `p`, has expired. */
const isAbandoned = `l.state OPERATOR(pg_catalog.=) 'running' AND l.process OPERATOR(pg_catalog.<>) $1
          AND (${hasRenewed('p', 'secs => $2')}) IS NOT TRUE`;

/**
 * Puts the asynchronous loads of processes whose lease has expired back into the queue. A load that was begun more than once waits there before it
 * is taken again: for the time of a lease, and each time twice as long. So a load that ends its process does not end all processes in a row, and
 * there is time to cancel it.
 */
export function queueAbandonedLoads({ quoted }: ServiceSchema, own: string, leaseSeconds: number): Statement {
  const pause = `CASE WHEN ${attempts('l')} OPERATOR(pg_catalog.>) 1
    THEN $2::pg_catalog.float8 OPERATOR(pg_catalog.*) pg_catalog.power(2, (${attempts('l')} OPERATOR(pg_catalog.-) 2)::pg_catalog.float8) ELSE 0 END`;
  return {
    text: `UPDATE ${quoted}.loads l SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
        ended_at = CASE WHEN cancel_requested THEN pg_catalog.clock_timestamp() END,
        request = pg_catalog.jsonb_set(l.request, '{notBefore}', pg_catalog.to_jsonb(${epoch} OPERATOR(pg_catalog.+) ${pause}))
      WHERE id OPERATOR(pg_catalog.=) ANY (ARRAY(
        SELECT l.id FROM ${quoted}.loads l LEFT JOIN ${quoted}.processes p ON p.id OPERATOR(pg_catalog.=) l.process
        WHERE l.ended_at IS NULL AND l.spool IS NOT NULL AND ${isAbandoned}
        ORDER BY l.id LIMIT 1000 FOR UPDATE OF l SKIP LOCKED))`,
    values: [own, leaseSeconds],
  };
}

/** An asynchronous load that was begun `maxAttempts` times without an end. */
export interface GivenUpLoad extends AbandonedLoad {
  operation: LoadFacts['operation'];
  subject: string | null;
  role: string | null;
}

/**
 * Records asynchronous loads as failed that would wait or run again although they were begun `maxAttempts` times. Older versions of the
 * service also put such loads back into the queue. It returns a `GivenUpLoad` for each.
 */
export function giveUpLoads(
  { quoted }: ServiceSchema,
  own: string,
  leaseSeconds: number,
  answer: KeptAnswer,
): Statement {
  return {
    text: `UPDATE ${quoted}.loads SET state = 'failed', ended_at = pg_catalog.clock_timestamp(),
        answer_status = $3, answer_headers = $4, answer_body = $5
      WHERE id OPERATOR(pg_catalog.=) ANY (ARRAY(
        SELECT l.id FROM ${quoted}.loads l LEFT JOIN ${quoted}.processes p ON p.id OPERATOR(pg_catalog.=) l.process
        WHERE l.ended_at IS NULL AND l.spool IS NOT NULL AND NOT l.cancel_requested
          AND ${attempts('l')} OPERATOR(pg_catalog.>=) ${maxAttempts} AND (l.state OPERATOR(pg_catalog.=) 'queued' OR ${isAbandoned})
        ORDER BY l.id LIMIT 1000 FOR UPDATE OF l SKIP LOCKED))
      RETURNING id, table_schema AS schema, table_name AS table, dry_run AS "dryRun", operation, subject, role`,
    values: [own, leaseSeconds, answer.status, JSON.stringify(answer.headers), answer.body],
  };
}

/** Records loads as failed that wait in a folder which no process has served for a day. */
export function failUnservedLoads({ quoted }: ServiceSchema, answer: KeptAnswer): Statement {
  return {
    text: `UPDATE ${quoted}.loads l SET state = 'failed', ended_at = pg_catalog.clock_timestamp(),
        answer_status = $1, answer_headers = $2, answer_body = $3
      WHERE l.spool IS NOT NULL AND l.state OPERATOR(pg_catalog.=) 'queued'
        AND l.created_at OPERATOR(pg_catalog.<) (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) pg_catalog.make_interval(days => 1))
        AND NOT EXISTS (SELECT FROM ${quoted}.processes p
          WHERE p.spool OPERATOR(pg_catalog.=) l.spool AND ${hasRenewed('p', 'days => 1')})
      RETURNING l.id, l.table_schema AS schema, l.table_name AS table, l.dry_run AS "dryRun"`,
    values: [answer.status, JSON.stringify(answer.headers), answer.body],
  };
}

/** Removes the record of a load that did not begin. */
export function removeLoad({ quoted }: ServiceSchema, id: string): Statement {
  return {
    text: `DELETE FROM ${quoted}.loads WHERE id OPERATOR(pg_catalog.=) $1 AND ended_at IS NULL`,
    values: [id],
  };
}

/** Reads the ids of the loads that run in a process, as the table of loads says. */
export function readUnendedOf({ quoted }: ServiceSchema, process: string): Statement {
  return {
    text: `SELECT id FROM ${quoted}.loads WHERE process OPERATOR(pg_catalog.=) $1 AND ended_at IS NULL
      AND state OPERATOR(pg_catalog.<>) 'queued'`,
    values: [process],
  };
}

/** Assigns loads to a process that does not exist, so that `failAbandonedLoads` and `queueAbandonedLoads` find them. */
export function disownLoads({ quoted }: ServiceSchema, process: string, ids: string[]): Statement {
  return {
    text: `UPDATE ${quoted}.loads SET process = '00000000-0000-0000-0000-000000000000'
      WHERE id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.uuid[]) AND process OPERATOR(pg_catalog.=) $1 AND ended_at IS NULL`,
    values: [process, ids],
  };
}

/** Reads whether an asynchronous load waits or runs. It returns a row if so. */
export function readQueued({ quoted }: ServiceSchema, id: string): Statement {
  return {
    text: `SELECT id FROM ${quoted}.loads WHERE id OPERATOR(pg_catalog.=) $1 AND ended_at IS NULL AND spool IS NOT NULL`,
    values: [id],
  };
}

/** Reads which of these loads are recorded, and whether each has ended. It returns rows with `id` and `hasEnded`. */
export function readEnds({ quoted }: ServiceSchema, ids: string[]): Statement {
  return {
    text: `SELECT id, ended_at IS NOT NULL AS "hasEnded" FROM ${quoted}.loads
      WHERE id OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.uuid[])`,
    values: [ids],
  };
}
