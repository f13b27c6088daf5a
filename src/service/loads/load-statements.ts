/** The statements for the table of loads. queue-statements.ts has those for asynchronous loads. */

import { type OwnStatement, qualified } from '../../postgres/callers-statement.ts';
import { refuseUnless } from '../../postgres/refuse-unless.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';
import { storeEvents } from '../events/outbox.ts';
import { eventsOfEnd } from './load-events.ts';
import {
  type KeptAnswer,
  type LoadedPart,
  type LoadFacts,
  type LoadSnapshot,
  maxKeptAnswerBytes,
} from './load-record.ts';
import type { LoadState } from './load-state.ts';
import { hasRenewed } from './process-statements.ts';
import { firstUuidV7At } from './uuid-v7.ts';

/** The columns of a new row, with their types. */
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
  change_counts: 'jsonb',
  change_table: 'oid',
  emptied: 'oid[]',
  changes_stored: 'int4',
  change_bytes: 'int8',
  digest: 'bytea',
  file_name: 'text',
  faulty_rows: 'int4',
  faulty_row_bytes: 'int8',
  profile: 'jsonb',
  parameters: 'jsonb',
  parts: 'jsonb',
  answer_body: 'bytea',
};

/** The columns that are written only once. */
const fixed =
  'id operation table_schema table_name dry_run owner subject role profile parameters created_at'.split(' ');

const names = Object.keys(columns).join(', ');
const typed = Object.entries(columns)
  // The types are qualified, because `commitLoad` may run in the callers' search path.
  .map(([name, type]) => `${name} pg_catalog.${type}`)
  .join(', ');
const changes = Object.keys(columns)
  .filter((name) => !fixed.includes(name))
  .map((name) => `${name} = excluded.${name}`)
  .join(', ');

/** The columns of `commitLoad`. The body of the answer is sent separately. */
const namesOfCommit = names.replace(', answer_body', '');
const typesOfCommit = typed.replace(', answer_body pg_catalog.bytea', '');

/** Returns the row as an object for `jsonb_to_recordset`. */
function rowOf(snapshot: LoadSnapshot): Record<string, unknown> {
  const { facts, answer } = snapshot;
  const body = answer && answer.body.length <= maxKeptAnswerBytes ? answer.body : undefined;
  return {
    events: eventsOfEnd(snapshot),
    id: snapshot.id,
    state: snapshot.state,
    operation: facts.operation,
    table_schema: facts.schema,
    table_name: facts.table,
    dry_run: facts.dryRun,
    owner: asBytea(facts.owner),
    subject: storable(facts.subject),
    role: facts.role,
    profile: facts.profile,
    parameters: hasNul(facts.parameters) ? undefined : facts.parameters,
    parts: facts.parts?.map(storablePart),
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
    change_counts: snapshot.changes?.counts,
    change_table: snapshot.tableOid,
    emptied: snapshot.emptied,
    changes_stored: snapshot.changes?.count,
    change_bytes: snapshot.changes?.bytes,
    digest: snapshot.digest && asBytea(snapshot.digest),
    file_name: nameOf(snapshot.fileName),
    faulty_rows: snapshot.stored?.rows,
    faulty_row_bytes: snapshot.stored?.rowBytes,
    answer_body: body && asBytea(body),
  };
}

function storablePart({ file, sheet, fileInZip, ...table }: LoadedPart): LoadedPart {
  return { ...table, file: nameOf(file), sheet: nameOf(sheet), fileInZip: nameOf(fileInZip) };
}

function hasNul(value: unknown): boolean {
  return JSON.stringify(value)?.includes('\\u0000') === true;
}

/** The most characters of the name of a file or a sheet that are stored. */
const maxName = 500;

function nameOf(text: string | undefined): string | undefined {
  return storable(text?.slice(0, maxName));
}

/** PostgreSQL stores neither NUL nor half of a surrogate pair. */
function storable(text: string | undefined): string | undefined {
  return text?.replaceAll('\0', '').toWellFormed();
}

function asBytea(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

/** The events of the written rows. */
const eventsOfWritten = `SELECT e.id, e.schema, e.event FROM given g JOIN written w ON w.id = g.id,
        jsonb_to_recordset(g.events) AS e (id uuid, schema text, event jsonb)`;

export interface WrittenLoad {
  id: string;
  /** Whether a request to cancel the load was accepted by any process. */
  cancelRequested: boolean;
  /** Whether a client watches the load, at any process. */
  isWatched: boolean;
}

/**
 * Writes the rows of loads of this process. For each load that has ended it also stores the event about its end. It returns a
 * `WrittenLoad` for each written row. A row is not written if, according to the table, the load has ended, waits in the queue or
 * belongs to another process. Only a run that was taken from the queue may write a load that was in the queue: the run that has received it does not
 * always know that, because the answer to its COMMIT may be lost.
 */
export function writeLoads({ quoted }: ServiceSchema, snapshots: LoadSnapshot[]): Statement {
  const taken = snapshots.filter(({ isTaken }) => isTaken).map(({ id }) => id);
  return {
    text: `WITH given AS (
        SELECT * FROM jsonb_to_recordset($1)
        AS given (${typed}, events jsonb)),
      written AS (
        INSERT INTO ${quoted}.loads AS known (${names}) SELECT ${names} FROM given
        ON CONFLICT (id) DO UPDATE SET ${changes} WHERE known.ended_at IS NULL
          AND known.process = excluded.process AND known.state <> 'queued'
          AND (known.spool IS NULL OR known.id = ANY ($2::uuid[]))
        RETURNING id, cancel_requested, watched_until),
      ${storeEvents({ quoted }, eventsOfWritten)}
      SELECT id, cancel_requested AS "cancelRequested",
        coalesce(watched_until > clock_timestamp(), false) AS "isWatched"
      FROM written`,
    values: [JSON.stringify(snapshots.map(rowOf)), taken],
  };
}

/** Reads which loads must be cancelled, and which loads clients watch. It returns a `WrittenLoad` for each load that has not ended. */
export function readRequestsAbout({ quoted }: ServiceSchema, ids: string[]): Statement {
  return {
    text: `SELECT id, cancel_requested AS "cancelRequested",
        coalesce(watched_until > clock_timestamp(), false) AS "isWatched"
      FROM ${quoted}.loads WHERE id = ANY ($1::uuid[]) AND ended_at IS NULL`,
    values: [ids],
  };
}

/**
 * Returns the statement that records a load as committed. It runs in the transaction that writes the rows of the load. If the load has ended
 * already or must be cancelled, the statement fails, and the transaction fails with it.
 */
export function commitLoad(schema: ServiceSchema, snapshot: LoadSnapshot): OwnStatement {
  const { quoted } = schema;
  const { answer_body: _, ...row } = rowOf(snapshot);
  const body = snapshot.answer?.body;
  return {
    schema,
    preparedName: 'tablewright commit load',
    values: [Buffer.from(JSON.stringify(row)), body && body.length <= maxKeptAnswerBytes ? body : null],
    write: (given, kept) => qualified`WITH written AS (
    INSERT INTO ${quoted}.loads AS known (${namesOfCommit}, answer_body)
    SELECT ${namesOfCommit}, ${kept!} FROM pg_catalog.jsonb_to_record(pg_catalog.convert_from(${given!}, 'UTF8')::pg_catalog.jsonb)
      AS given (${typesOfCommit})
    ON CONFLICT (id) DO UPDATE SET ${changes} WHERE known.ended_at IS NULL AND NOT known.cancel_requested
      AND known.process OPERATOR(pg_catalog.=) excluded.process RETURNING id)
  ${refuseUnless('EXISTS (SELECT FROM written)', 'the load has ended or is cancelled')}`,
  };
}

/** Replaces the body of the answer of a committed load. It has no effect if the body was too long to be stored. */
export function amendAnswer({ quoted }: ServiceSchema, id: string, body: Buffer): Statement {
  return {
    text: `UPDATE ${quoted}.loads SET answer_body = $2
      WHERE id = $1 AND state = 'committed' AND answer_body IS NOT NULL`,
    values: [id, body],
  };
}

/**
 * Requests that a load is cancelled. A load that waits in the queue ends at once. It returns the id of the load if the request was
 * stored. It skips a locked row, because the load may be being committed, and a COMMIT may take long if the table has slow triggers.
 */
export function requestCancel({ quoted }: ServiceSchema, id: string): Statement {
  return {
    text: `UPDATE ${quoted}.loads SET cancel_requested = true,
        state = CASE WHEN state = 'queued' THEN 'cancelled' ELSE state END,
        ended_at = CASE WHEN state = 'queued' THEN clock_timestamp() END
      WHERE id = (SELECT id FROM ${quoted}.loads WHERE id = $1 AND ended_at IS NULL FOR UPDATE SKIP LOCKED) RETURNING id`,
    values: [id],
  };
}

const viewColumns = `id, state, operation, table_schema AS schema, table_name AS table, dry_run AS "dryRun", subject, profile, parts, file_name AS "fileName",
  bytes_expected::float8 AS "bytesExpected", bytes_received::float8 AS "bytesReceived",
  rows_read::float8 AS "rowsRead", problems_found::float8 AS "problemsFound", coalesce(problems_stored, 0) AS "problemsStored",
  change_counts AS "changeCounts", change_table::int8::float8 AS "changeTable", coalesce(changes_stored, 0) AS "changesStored", owner, role,
  coalesce(faulty_rows, 0) AS "faultyRows",
  cancel_requested AS "cancelRequested", created_at AS "createdAt", started_at AS "startedAt", ended_at AS "endedAt"`;

/** The loads that a caller may see. */
export interface Visible {
  /** undefined: the loads of all callers. */
  owner: Buffer | undefined;
  /** Patterns of LIKE for the schemas of the tables; undefined: all schemas. */
  schemas: string[] | undefined;
  /** Returns whether the caller may see loads into tables of this schema. It must give the same result as `schemas`. */
  maySee: (schema: string) => boolean;
}

/** Returns a condition for loads. @param first the number of the parameter `owner`. The next parameter is `schemas` */
export const isVisible = (first: number) =>
  `($${first}::bytea IS NULL OR owner = $${first}::bytea)
    AND ($${first + 1}::text[] IS NULL OR table_schema LIKE ANY ($${first + 1}::text[])
      AND NOT EXISTS (SELECT FROM jsonb_to_recordset(parts) AS p (schema text) WHERE NOT p.schema LIKE ANY ($${first + 1}::text[])))`;

/** Reads one load with its answer. */
export function readLoad({ quoted }: ServiceSchema, id: string, { owner, schemas }: Visible): Statement {
  return {
    text: `SELECT ${viewColumns}, parameters, answer_status, answer_headers, answer_body FROM ${quoted}.loads
      WHERE id = $1 AND ${isVisible(2)}`,
    values: [id, owner ?? null, schemas ?? null],
  };
}

export interface LoadFilter {
  state: LoadState | undefined;
  schema: string | undefined;
  table: string | undefined;
  /** true: only dry runs; false: none; undefined: all loads. */
  dryRun: boolean | undefined;
  /** The idempotency key of the load's request. */
  key: { owner: Buffer; key: string } | undefined;
  /** The id of the last load of the previous page. */
  after: string | undefined;
  limit: number;
}

/** Reads a page of loads without their answers, the newest first. */
export function listLoads(
  { quoted }: ServiceSchema,
  filter: LoadFilter,
  { owner, schemas }: Visible,
): Statement {
  const { state = null, schema = null, table = null, dryRun = null, key, after = null, limit } = filter;
  const keyed = key === undefined ? [] : [key.owner, key.key];
  return {
    text: `SELECT ${viewColumns} FROM ${quoted}.loads
      WHERE ${isVisible(1)} AND ($3::text IS NULL OR state = $3) AND ($4::text IS NULL OR table_schema = $4 OR ${hasPart})
        AND ($5::text IS NULL OR table_name = $5 OR ${hasPart}) AND ($6::uuid IS NULL OR id < $6)
        AND ($8::bool IS NULL OR dry_run = $8)
        ${key === undefined ? '' : isOfKey(quoted)}
      ORDER BY id DESC LIMIT $7`,
    values: [owner ?? null, schemas ?? null, state, schema, table, after, limit, dryRun, ...keyed],
  };
}

/** The condition that one of several tables has the schema and the name of the filter. */
const hasPart = `EXISTS (SELECT FROM jsonb_to_recordset(parts) AS p (schema text, "table" text)
          WHERE ($4::text IS NULL OR p.schema = $4) AND ($5::text IS NULL OR p."table" = $5))`;

/** Returns a condition for the load of an idempotency key. It is a subquery, so that PostgreSQL finds the load by its primary key. A key belongs to one load at a time. */
function isOfKey(quoted: string): string {
  return `AND id = (SELECT k.load FROM ${quoted}.idempotency_keys k WHERE k.owner = $9 AND k.key = $10)`;
}

/**
 * Records that a client watches a load, so that its process writes its progress more often. It skips a locked row, because that
 * load is about to end.
 */
export function watchLoad({ quoted }: ServiceSchema, id: string): Statement {
  return {
    text: `UPDATE ${quoted}.loads SET watched_until = clock_timestamp() + make_interval(secs => 6)
      WHERE id = (SELECT id FROM ${quoted}.loads
        WHERE id = $1 AND ended_at IS NULL
          AND (watched_until > clock_timestamp() + make_interval(secs => 3)) IS NOT TRUE
        FOR UPDATE SKIP LOCKED)`,
    values: [id],
  };
}

export interface AbandonedLoad {
  id: string;
  schema: string;
  table: string;
  parts: LoadFacts['parts'] | null;
  dryRun: boolean;
}

/**
 * Records the loads of processes whose lease has expired as failed, and returns an `AbandonedLoad` for each. Their transactions
 * cannot be committed any more, because `commitLoad` fails for a load that has ended. Locked rows are skipped until the next call,
 * because their loads may be being committed.
 */
export function failAbandonedLoads(
  { quoted }: ServiceSchema,
  own: string,
  leaseSeconds: number,
  answer: KeptAnswer,
): Statement {
  return {
    text: `WITH dead AS (
        SELECT l.id FROM ${quoted}.loads l LEFT JOIN ${quoted}.processes p ON p.id = l.process
        WHERE l.ended_at IS NULL AND l.spool IS NULL AND l.process <> $1
          AND (${hasRenewed('p', 'secs => $2')}) IS NOT TRUE ORDER BY l.id LIMIT 1000 FOR UPDATE OF l SKIP LOCKED)
      UPDATE ${quoted}.loads l SET state = 'failed', ended_at = clock_timestamp(),
        answer_status = $3, answer_headers = $4, answer_body = $5
      FROM dead WHERE l.id = dead.id
      RETURNING l.id, l.table_schema AS schema, l.table_name AS table, l.parts, l.dry_run AS "dryRun"`,
    values: [own, leaseSeconds, answer.status, JSON.stringify(answer.headers), answer.body],
  };
}

/**
 * Removes loads that ended more than `historyDays` ago, at most `atMost` of them. It returns `RemovedRows`, whose `last` is an id.
 *
 * An id begins with the time at which the load began, so PostgreSQL finds the oldest loads by the primary key, and reads no load that
 * began later than the limit. If the clock of a process is ahead of the database's, its loads are removed later by the difference.
 */
export function removeOldLoads(
  { quoted }: ServiceSchema,
  historyDays: number,
  atMost: number,
  after: string,
): Statement {
  const beganBefore = firstUuidV7At(Date.now() - historyDays * dayMs);
  return {
    text: `WITH removed AS (DELETE FROM ${quoted}.loads WHERE id = ANY (ARRAY(
      SELECT id FROM ${quoted}.loads WHERE id > $4 AND id < $2
        AND ended_at < clock_timestamp() - make_interval(days => $1)
      ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)) RETURNING id)
      SELECT count(*)::int4 AS count, (SELECT id FROM removed ORDER BY id DESC LIMIT 1) AS last FROM removed`,
    values: [historyDays, beganBefore, atMost, after],
  };
}

const dayMs = 86_400_000;

/** Removes the record of a load that did not begin. */
export function removeLoad({ quoted }: ServiceSchema, id: string): Statement {
  return {
    text: `DELETE FROM ${quoted}.loads WHERE id = $1 AND ended_at IS NULL`,
    values: [id],
  };
}

/** Reads the ids of the loads that, according to the table, run in a process. */
export function readUnendedOf({ quoted }: ServiceSchema, process: string): Statement {
  return {
    text: `SELECT id FROM ${quoted}.loads WHERE process = $1 AND ended_at IS NULL AND state <> 'queued'`,
    values: [process],
  };
}

/** Assigns loads to a process that does not exist, so that `failAbandonedLoads` and `queueAbandonedLoads` find them. */
export function disownLoads({ quoted }: ServiceSchema, process: string, ids: string[]): Statement {
  return {
    text: `UPDATE ${quoted}.loads SET process = '00000000-0000-0000-0000-000000000000'
      WHERE id = ANY ($2::uuid[]) AND process = $1 AND ended_at IS NULL`,
    values: [process, ids],
  };
}
