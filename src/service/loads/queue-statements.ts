/** The statements for asynchronous loads, which wait in a queue: rows of the table of loads with a folder for their bodies (`spool`). */
import { type CallersStatement, qualified, withLiterals } from '../../postgres/callers-statement.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { asciiLiteral, quoteLiteral, type Statement } from '../../postgres/sql.ts';
import type { KeptAnswer, LoadFacts, LoadSnapshot } from './load-record.ts';
import { type AbandonedLoad, commitLoad } from './load-statements.ts';
import { hasRenewed } from './process-statements.ts';

/** The parts of the request of an asynchronous load that are stored to run the load later. The access token is not stored. */
export interface StoredRequest {
  /** The parameters of the query. */
  query: Record<string, unknown>;
  /** The headers that describe the body and the answer. */
  headers: Record<string, string>;
  scopes: string[];
  schemas: string[] | undefined;
  /** Identifies the caller, for the limit of uploads that run at the same time. */
  caller: string;
  requestId: string;
  /** The JSON text of the definition of the load's profile. It is stored as a text, so that it stays as it is. */
  definition?: string | undefined;
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
): CallersStatement[] {
  return [
    withLiterals(commitLoad(schema, { ...snapshot, state: 'queued' })),
    qualified`UPDATE ${schema.quoted}.loads SET spool = ${quoteLiteral(spool)}::pg_catalog.uuid, spool_bytes = ${Math.trunc(bytes)},
      request = ${asciiLiteral(JSON.stringify(request, storable))}::pg_catalog.jsonb
    WHERE id OPERATOR(pg_catalog.=) '${snapshot.id}'::pg_catalog.uuid`,
  ];
}

/** Replaces what PostgreSQL cannot store in a text: NUL, and half of a surrogate pair. No name of a schema, a column or a sheet has such a character. */
function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd').toWellFormed() : value;
}

/** The number of loads in a folder that have not ended and the bytes of their bodies: of all subjects, and of one subject (the members that begin with `own`). */
export interface QueuedSize {
  loads: number;
  bytes: number;
  ownLoads: number;
  ownBytes: number;
}

/** Reads the `QueuedSize` of the folder `spool`, with the subject `owner`. */
export function readQueueSize({ quoted }: ServiceSchema, spool: string, owner: Buffer): Statement {
  const bytes = `sum(coalesce(spool_bytes, bytes_received))`;
  const isOwn = 'FILTER (WHERE owner = $2)';
  return {
    text: `SELECT count(*)::float8 AS loads, coalesce(${bytes}, 0)::float8 AS bytes,
        count(*) ${isOwn}::float8 AS "ownLoads", coalesce(${bytes} ${isOwn}, 0)::float8 AS "ownBytes"
      FROM ${quoted}.loads WHERE ended_at IS NULL AND spool = $1`,
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
  const isQueued = `state = 'queued'`;
  const count = (condition: string) => `count(*) FILTER (WHERE ${condition})::float8`;
  const bytes = (condition: string) =>
    `coalesce(sum(coalesce(spool_bytes, bytes_received)) FILTER (WHERE ${condition}), 0)::float8`;
  return {
    text: `SELECT ${count(isQueued)} AS queued, ${count(`NOT ${isQueued}`)} AS running,
        ${bytes(isQueued)} AS "queuedBytes", ${bytes(`NOT ${isQueued}`)} AS "runningBytes"
      FROM ${quoted}.loads WHERE ended_at IS NULL AND spool = $1`,
    values: [spool],
  };
}

/** The maximum number of times that an asynchronous load is started. A load that has started so often without an end may be what ends the process or the database. */
export const maxAttempts = 5;

const attempts = (load: string) => `coalesce((${load}.request ->> 'attempts')::int4, 0)`;

const epoch = `extract(epoch FROM clock_timestamp())::float8`;

/** Which load of the queue a process takes next. */
export interface TakeOptions {
  spool: string;
  process: string;
  /** false: a load that was started before is not taken, because it may have ended its process. */
  takesSuspects: boolean;
  /** The owners whose loads this process has taken, the last one at the end. */
  served: Buffer[];
}

/**
 * Assigns a waiting load of the folder to this process, and counts the attempt. It takes a load of the owner with the fewest running
 * loads; among these owners, the one who was served least recently; and of this owner the oldest load. It returns the row of the load.
 */
export function takeQueuedLoad(
  { quoted }: ServiceSchema,
  { spool, process, takesSuspects, served }: TakeOptions,
): Statement {
  return {
    text: `WITH running AS MATERIALIZED (
        SELECT owner, count(*) AS loads FROM ${quoted}.loads
        WHERE ended_at IS NULL AND spool = $1 AND state = 'running' GROUP BY owner)
      UPDATE ${quoted}.loads l SET state = 'running', process = $2, started_at = clock_timestamp(),
        request = jsonb_set(l.request, '{attempts}', to_jsonb(${attempts('l')} + 1))
      WHERE id = (SELECT q.id FROM ${quoted}.loads q LEFT JOIN running r ON r.owner = q.owner
        WHERE q.spool = $1 AND q.state = 'queued' AND ${attempts('q')} < CASE WHEN $3 THEN ${maxAttempts} ELSE 1 END
          AND coalesce((q.request ->> 'notBefore')::float8, 0) <= ${epoch}
        ORDER BY coalesce(r.loads, 0), coalesce(array_position($4::bytea[], q.owner), 0), q.id
        LIMIT 1 FOR UPDATE OF q SKIP LOCKED)
      RETURNING id, operation, table_schema AS schema, table_name AS "table", dry_run AS "dryRun", owner, subject, role, profile, parts,
        bytes_expected::float8 AS "bytesExpected", bytes_received::float8 AS "bytesReceived",
        spool_bytes::float8 AS "storedBytes", ${attempts('l')} AS attempts,
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
        ended_at = CASE WHEN cancel_requested THEN clock_timestamp() END,
        request = jsonb_set(request, '{attempts}', to_jsonb($3::int4))
      WHERE id = $1 AND process = $2 AND ended_at IS NULL`,
    values: [id, process, attempts],
  };
}

/** The condition that an asynchronous load `l` runs in another process whose lease has expired. `p` is the row of that process. */
const isAbandoned = `l.state = 'running' AND l.process <> $1 AND (${hasRenewed('p', 'secs => $2')}) IS NOT TRUE`;

/**
 * Puts the asynchronous loads of processes whose lease has expired back into the queue. A load that was started more than once
 * waits there for the time of a lease before it is taken again, and twice as long each further time. So a load that ends its
 * process does not end all processes one after the other, and there is time to cancel it.
 */
export function queueAbandonedLoads({ quoted }: ServiceSchema, own: string, leaseSeconds: number): Statement {
  const pause = `CASE WHEN ${attempts('l')} > 1 THEN $2::float8 * power(2, (${attempts('l')} - 2)::float8) ELSE 0 END`;
  return {
    text: `UPDATE ${quoted}.loads l SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
        ended_at = CASE WHEN cancel_requested THEN clock_timestamp() END,
        request = jsonb_set(l.request, '{notBefore}', to_jsonb(${epoch} + ${pause}))
      WHERE id = ANY (ARRAY(
        SELECT l.id FROM ${quoted}.loads l LEFT JOIN ${quoted}.processes p ON p.id = l.process
        WHERE l.ended_at IS NULL AND l.spool IS NOT NULL AND ${isAbandoned}
        ORDER BY l.id LIMIT 1000 FOR UPDATE OF l SKIP LOCKED))`,
    values: [own, leaseSeconds],
  };
}

/** An asynchronous load that was started `maxAttempts` times without an end. */
export interface GivenUpLoad extends AbandonedLoad {
  operation: LoadFacts['operation'];
  subject: string | null;
  role: string | null;
}

/**
 * Records asynchronous loads as failed that were started `maxAttempts` times and would otherwise wait or run again. It returns a
 * `GivenUpLoad` for each. Waiting loads are included because older versions of the service put such loads back into the queue.
 */
export function giveUpLoads(
  { quoted }: ServiceSchema,
  own: string,
  leaseSeconds: number,
  answer: KeptAnswer,
): Statement {
  return {
    text: `UPDATE ${quoted}.loads SET state = 'failed', ended_at = clock_timestamp(),
        answer_status = $3, answer_headers = $4, answer_body = $5
      WHERE id = ANY (ARRAY(
        SELECT l.id FROM ${quoted}.loads l LEFT JOIN ${quoted}.processes p ON p.id = l.process
        WHERE l.ended_at IS NULL AND l.spool IS NOT NULL AND NOT l.cancel_requested
          AND ${attempts('l')} >= ${maxAttempts} AND (l.state = 'queued' OR ${isAbandoned})
        ORDER BY l.id LIMIT 1000 FOR UPDATE OF l SKIP LOCKED))
      RETURNING id, table_schema AS schema, table_name AS table, parts, dry_run AS "dryRun", operation, subject, role`,
    values: [own, leaseSeconds, answer.status, JSON.stringify(answer.headers), answer.body],
  };
}

/** Records loads as failed whose bodies are in a folder that no process has served for a day. */
export function failUnservedLoads({ quoted }: ServiceSchema, answer: KeptAnswer): Statement {
  return {
    text: `UPDATE ${quoted}.loads l SET state = 'failed', ended_at = clock_timestamp(),
        answer_status = $1, answer_headers = $2, answer_body = $3
      WHERE l.spool IS NOT NULL AND l.state = 'queued' AND l.created_at < clock_timestamp() - make_interval(days => 1)
        AND NOT EXISTS (SELECT FROM ${quoted}.processes p
          WHERE p.spool = l.spool AND ${hasRenewed('p', 'days => 1')})
      RETURNING l.id, l.table_schema AS schema, l.table_name AS table, l.parts, l.dry_run AS "dryRun"`,
    values: [answer.status, JSON.stringify(answer.headers), answer.body],
  };
}

/** Reads which of these loads are recorded, and whether each has ended. It returns rows with `id` and `hasEnded`. */
export function readEnds({ quoted }: ServiceSchema, ids: string[]): Statement {
  return {
    text: `SELECT id, ended_at IS NOT NULL AS "hasEnded" FROM ${quoted}.loads WHERE id = ANY ($1::uuid[])`,
    values: [ids],
  };
}
