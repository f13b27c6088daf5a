/**
 * Changes the errors of Citus so that they look as they would without Citus.
 *
 * A worker stores the rows of a table in shards, which are tables such as `orders_102043`. Its errors name the shard, and the coordinator
 * passes them on without the fields for the table, the column and the constraint. If a COPY fails, the coordinator also replaces the SQLSTATE
 * by that of an internal error. `hideWorker` finds the SQLSTATE and the fields in the message, and removes the names of shards and the
 * addresses of workers. It does not change the errors of PostgreSQL itself.
 *
 * The messages are found in English, which is the language of a worker with `lc_messages` = `C` or English. If a message is in another language
 * or comes from a function, `lacksSqlstate` is true. The caller then runs another statement, which causes the error again with its SQLSTATE.
 */
import { type ClientBase, DatabaseError } from 'pg';
import { maxIdentifierBytes } from '../../core/identifiers.ts';
import { workerUnavailable } from '../error-rules.ts';
import { isOfFunction, isRaisedAt, routineOfRaise } from '../server-internals.ts';
import { type Condition, conditionOf, fullDisk, sqlstateFor } from '../sqlstate.ts';

type Fields = Partial<Omit<DatabaseError, 'name'>> & {
  message: string;
  cause?: unknown;
  /** The hash that was part of the constraint's name, if Citus has shortened the name. */
  hashOfName?: string;
};

/** The source file of Citus in which a COPY fails. */
const fileOfCopy = 'multi_copy.c';

/** The source files of Citus in which it passes on the error of a worker, or raises an error about a worker. */
const filesOfCitus = new Set([
  'adaptive_executor.c',
  'connection_management.c',
  fileOfCopy,
  'placement_connection.c',
  'remote_commands.c',
  'remote_transaction.c',
  'worker_transaction.c',
]);

/** The context that Citus adds to the error of a worker. */
const contextOfWorker = /while executing command on (\S+:\d+)/g;

/** The messages for a worker that cannot be reached or that ends. Some are followed by an address or by words of the operating system. */
const awayMessages =
  /^(connection to the remote node|connection not open|server closed the connection|failure on connection marked as essential|failed to (complete )?COPY (to|on)|could not (send|receive) data|terminating connection|the database system is|SSL connection has been closed|no connection to the server|could not establish|lost synchronization|could not find an available connection)/;
/** A COMMIT was sent to the only worker that the transaction has changed, and the worker has not answered. */
const unknownMessage = /^could not commit transaction for shard/;
const unanswered = 'a worker did not answer the COMMIT';
const noLogin = /role "([^"]+)" is not permitted to log in/;

/** The pattern of a message of PostgreSQL about a row. Its groups find the names in the message. */
interface RowMessage {
  pattern: RegExp;
  condition: Condition;
  /** What the groups of the pattern are, in their order. */
  fields: readonly ('table' | 'column' | 'constraint')[];
  /** The name of the constraint is the same at every worker. */
  keepsName?: boolean;
}

const rowMessages: readonly RowMessage[] = [
  {
    pattern: /^duplicate key value violates unique constraint "(.+)"$/s,
    condition: 'unique_violation',
    fields: ['constraint'],
  },
  {
    pattern: /^could not create unique index "(.+)"$/s,
    condition: 'unique_violation',
    fields: ['constraint'],
  },
  {
    pattern: /^null value in column "(.+)" of relation "(.+)" violates not-null constraint$/s,
    condition: 'not_null_violation',
    fields: ['column', 'table'],
  },
  {
    pattern: /^column "(.+)" of relation "(.+)" contains null values$/s,
    condition: 'not_null_violation',
    fields: ['column', 'table'],
  },
  {
    pattern: /^new row for relation "(.+)" violates check constraint "(.+)"$/s,
    condition: 'check_violation',
    fields: ['table', 'constraint'],
    keepsName: true,
  },
  {
    pattern: /^insert or update on table "(.+)" violates foreign key constraint "(.+)"$/s,
    condition: 'foreign_key_violation',
    fields: ['table', 'constraint'],
  },
  {
    pattern: /^conflicting key value violates exclusion constraint "(.+)"$/s,
    condition: 'exclusion_violation',
    fields: ['constraint'],
  },
  {
    pattern: /^no partition of relation "(.+)" found for row$/s,
    condition: 'check_violation',
    fields: ['table'],
  },
  {
    pattern: /^update or delete on table "(.+)" violates foreign key constraint "(.+)" on table "(.+)"$/s,
    condition: 'foreign_key_violation',
    // The field `table` gets the table that has the foreign key, as without Citus.
    fields: ['table', 'constraint', 'table'],
  },
];

/** Another session is moving shards of the tables with which a new table is colocated. Citus does not wait until that has ended. */
const movingShards = /^could not acquire the lock required to /;
/** Another session has moved or dropped the shard. */
const lostShard = /^relation "[^"]+_\d{6,}" does not exist/;

/** Other messages of failed COPYs, with PostgreSQL's names of their conditions. */
const copyMessages: readonly [RegExp, Condition][] = [
  [/^canceling statement due to lock timeout/, 'lock_not_available'],
  [/^canceling statement due to/, 'query_canceled'],
  [
    /^deadlock detected|^canceling the transaction since it was involved in a distributed deadlock/,
    'deadlock_detected',
  ],
  [/^could not serialize access/, 'serialization_failure'],
  [/^permission denied/, 'insufficient_privilege'],
  [/^cannot execute .+ in a read-only transaction/, 'read_only_sql_transaction'],
  [lostShard, 'serialization_failure'],
  [fullDisk, 'disk_full'],
  [/^out of (shared )?memory/, 'out_of_memory'],
  [/^(sorry, too many clients|remaining connection slots)/, 'too_many_connections'],
  [/^(index row|row is too big)/, 'program_limit_exceeded'],
];

/** How further messages about a row begin, whose condition is not known exactly. */
const messageOfRow =
  /^(null value in column|new row |value (for domain|too long|out of range|")|invalid input |division by zero|numeric field overflow|(small|big)?int(eger)? out of range)/;

/** Changes an error of Citus in place. It must be called once, before the error is used. */
export function hideWorker(error: DatabaseError): void {
  const { where = '', file = '' } = error as Fields;
  if (file === 'shard_rebalancer.c' && movingShards.test(error.message)) {
    error.code = sqlstateFor('lock_not_available');
    return;
  }
  const workers = Array.from(where.matchAll(contextOfWorker), ([, address]) => address!);
  if (!filesOfCitus.has(file) && workers.length === 0) return;
  const atWorker = workers.length === 0 ? '' : where.split(contextOfWorker, 1)[0]!;
  if (isOfFunction({ where: atWorker })) {
    // The error counts as one of RAISE, because a function may raise any message.
    if (isRaisedAt(atWorker)) error.routine = routineOfRaise;
  } else if (isAboutWorker(error)) return;
  nameTheRule(error as Fields, file === fileOfCopy);
  hideAddresses(error as Fields, workers);
}

/** Changes an error about the worker itself, or about a shard that is not there. Returns false for other errors. */
function isAboutWorker(error: DatabaseError): boolean {
  const { message } = error;
  const [, role] = noLogin.exec(message) ?? [];
  if (role !== undefined) replace(error, 'insufficient_privilege', loginNeeded(role));
  else if (awayMessages.test(message)) replace(error, 'cannot_connect_now', workerUnavailable);
  else if (unknownMessage.test(message)) replace(error, 'transaction_resolution_unknown', unanswered);
  else {
    // The statement of the service names the table, which exists. So only a shard is missing, because another session has moved or dropped it.
    if (error.code === sqlstateFor('undefined_table') && lostShard.test(message))
      error.code = sqlstateFor('serialization_failure');
    return false;
  }
  return true;
}

/**
 * Returns whether a COPY to shards failed and the message does not show the reason, for example because a function in a CHECK
 * raised the error. The error may be about a row. An INSERT with RETURNING causes it again, with its SQLSTATE.
 */
export function lacksSqlstate(error: unknown): error is DatabaseError {
  if (!(error instanceof DatabaseError) || error.file !== fileOfCopy) return false;
  const condition = conditionOf(error);
  return condition === 'internal_error' || condition === 'integrity_constraint_violation';
}

/** The fields of a notice (NOTICE or WARNING) of the server. */
export interface Notice {
  message?: string | undefined;
  file?: string | undefined;
}

/**
 * Returns whether a notice says that a worker has not confirmed the COMMIT of a transaction that is committed. The worker's part of
 * the rows becomes visible when the coordinator has recovered the transaction (`citus.recover_2pc_interval`).
 */
export function isLateCommit({ message = '', file = '' }: Notice): boolean {
  return file === 'remote_transaction.c' && message.startsWith('failed to commit transaction on');
}

/** Changes an error of a worker in place, if a function of PL/pgSQL has caught the error, so that it has no context. */
export function hideShards(error: DatabaseError): void {
  nameTheRule(error as Fields, true);
}

/**
 * Changes an error about a shard of the coordinator itself in place. The coordinator has a shard of each reference table, and may have shards
 * of other tables. Citus does not handle such an error, so PostgreSQL has set all fields, and the line of a COPY is counted within the shard.
 *
 * @param relation the table, quoted
 */
export function hideLocalShard(error: Error, relation: string): void {
  const fields = error as Fields;
  const { table, where } = fields;
  const own = table === undefined ? undefined : ownNameOfShard(table, relation);
  if (own === undefined) return;
  fields.table = own;
  nameTheRule(fields, false);
  if (fields.message.includes(`"${table}"`))
    fields.message = fields.message.replaceAll(`"${table}"`, `"${own}"`);
  if (fields.table?.endsWith(shortened)) fields.table = own;
  if (where !== undefined) fields.where = where.replace(/^COPY .*_\d{6,}, .*$/gm, '').trim();
}

/** Returns the name of the table if `name` is that of one of its shards; otherwise `name`. @param relation the table, quoted */
function ownNameOfShard(name: string, relation: string): string | undefined {
  const own = withoutShard(name);
  if (own === name) return undefined;
  const quoted = /"((?:[^"]|"")*)"$/.exec(relation)?.[1]?.replaceAll('""', '"');
  const isShard = own.endsWith(shortened)
    ? quoted?.startsWith(own.slice(0, -shortened.length))
    : quoted === own;
  return isShard ? quoted : undefined;
}

/** Sets the fields of the error that its message contains. If the error may come from a COPY, also replaces the SQLSTATE of an internal error by that of the message. */
function nameTheRule(error: Fields, mayBeOfCopy: boolean): void {
  const { message } = error;
  const isOfCopy = mayBeOfCopy && error.code === sqlstateFor('internal_error');
  const setTo = (condition: Condition): void => {
    if (isOfCopy) error.code = sqlstateFor(condition);
  };
  for (const { pattern, condition, fields, keepsName } of rowMessages) {
    const found = pattern.exec(message);
    if (found === null) continue;
    setTo(condition);
    fields.forEach((field, index) => {
      const name = found[index + 1]!;
      const isOfShard = field === 'table' || (field === 'constraint' && !keepsName);
      const own = isOfShard ? withoutShard(name) : name;
      error[field] = own;
      // The hash is kept only if there is one, because this may be the second call for the error.
      const hash = hashSuffix.exec(name.replace(shardSuffix, ''))?.[1];
      if (field === 'constraint' && own.endsWith(shortened) && hash) error.hashOfName = hash;
      error.message = error.message.replace(`"${name}"`, () => `"${own}"`);
    });
    if (error.detail !== undefined)
      error.detail = error.detail.replace(
        tableAtTheEnd,
        (_, before, name) => `${before}"${withoutShard(name)}".`,
      );
    return;
  }
  const other = copyMessages.find(([pattern]) => pattern.test(message));
  if (other !== undefined) setTo(other[1]);
  // Any other error, such as one of a function, remains an internal error. It may have nothing to do with the rows.
  else if (messageOfRow.test(message) || isViolationInOtherLanguage(message))
    setTo('integrity_constraint_violation');
  if (messagesWithNames.test(message))
    error.message = message.replace(nameOfShard, (_, quoted, bare) =>
      quoted === undefined ? withoutShard(bare) : `"${withoutShard(quoted)}"`,
    );
}

/** Returns whether the message is a violation in another language than English. It names the table or the index of a shard, and has letters or quotes that are not ASCII. */
function isViolationInOtherLanguage(message: string): boolean {
  return /_\d{6,}(?!\w)/.test(message) && /[^\p{ASCII}]/u.test(message.replace(/"[^"]*"/g, ''));
}

/** The table of a foreign key: `Key (a)=(1) is not present in table "p_102050".` */
const tableAtTheEnd = /((?:is not present in|is still referenced from) table )"([^"]+)"\.$/;
/** Citus numbers shards from 102008. */
const shardSuffix = /_\d{6,}$/;
/** Other messages of PostgreSQL that name a table or an index of a worker. A number at the end of a name is removed only in these messages, because elsewhere it may belong to the name. */
const messagesWithNames =
  /^(permission denied for (table|relation) |must be owner of (table|relation|index) |relation "|column "[^"]+" of relation "|new row violates row-level security policy |index row size |could not create unique index )/;
const nameOfShard = /(?<=\b(?:table|relation|index) )(?:"([^"]+)"|([^"]+)$)/g;

/** The hash that Citus adds to a name if the name with the number of its shard is too long. */
const hashSuffix = /_([0-9a-f]{8})$/;
/** The length in bytes up to which Citus never shortens a name. The number of a shard has at most 20 digits. */
const maxUnshortenedBytes = maxIdentifierBytes - '_'.length - 20;

/** Returns the name of the table, index or constraint that a shard belongs to. A name that Citus has shortened ends with `…`. */
function withoutShard(name: string): string {
  if (!shardSuffix.test(name)) return name;
  const own = name.replace(shardSuffix, '');
  // Citus cuts a name between two characters, so it may be a few bytes shorter.
  const isShortened = Buffer.byteLength(name) > maxIdentifierBytes - 4 && hashSuffix.test(own);
  return isShortened ? `${own.replace(hashSuffix, '')}${shortened}` : own;
}

const shortened = '…';

/** Names of constraints by the hash that Citus adds to a name that it shortens. */
export type NamesByHash = ReadonlyMap<string, string>;

/** Returns the names that Citus shortens for shards. @param names the names of the constraints of the table */
export async function namesByHash(client: ClientBase, names: readonly string[]): Promise<NamesByHash> {
  const long = names.filter((name) => Buffer.byteLength(name) > maxUnshortenedBytes);
  if (long.length === 0) return new Map();
  const { rows } = await client.query<{ name: string; hash: string }>(
    `SELECT name, pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.hashname(name::pg_catalog.name)), 8, '0') AS hash
    FROM pg_catalog.unnest($1::pg_catalog.text[]) AS name`,
    [long],
  );
  return new Map(rows.map(({ name, hash }) => [hash, name]));
}

/** Replaces a name that Citus has shortened by the whole name, if it is one of these. */
export function completeName(error: Error, names: NamesByHash): void {
  const fields = error as Fields;
  const { constraint, hashOfName = '' } = fields;
  const name = names.get(hashOfName);
  if (name === undefined || !constraint?.endsWith(shortened)) return;
  if (!name.startsWith(constraint.slice(0, -shortened.length))) return;
  fields.constraint = name;
  fields.message = fields.message.replace(constraint, () => name);
}

/** Hides the addresses of the workers that the context names, and addresses in Citus' own wording. Other text is not changed, because a time, for example, may look like an address. */
function hideAddresses(error: Fields, workers: readonly string[]): void {
  const hide = (text: string): string => {
    const known = workers.reduce((rest, worker) => rest.replaceAll(worker, 'a worker'), text);
    return known.replace(addressOfNode, 'a worker').replace(/\bshard \d{6,}\b/g, 'a shard');
  };
  error.message = hide(error.message);
  if (error.detail !== undefined) error.detail = hide(error.detail);
  if (error.where !== undefined) error.where = hide(error.where);
}

/** Examples: `the node 10.1.2.3:5432`, `node "worker-1:5432"`. */
const addressOfNode = /(?:\bthe )?\b(?:remote )?node "?(?:[\w.-]+|\[[0-9a-f:]+\]):\d{3,5}\b"?/g;

/** Replaces the error by one about a worker that cannot be reached. The original error becomes its cause, for the log. */
function replace(error: DatabaseError, condition: Condition, message: string): void {
  const fields = error as Fields;
  const original = Object.assign(new DatabaseError(error.message, error.length, 'error'), { ...error });
  fields.cause = original;
  error.code = sqlstateFor(condition);
  fields.message = message;
  for (const field of ['detail', 'hint', 'where', 'internalQuery'] as const) delete fields[field];
}

function loginNeeded(role: string): string {
  return `the role "${role}" needs LOGIN, because Citus connects to its workers as this role`;
}
