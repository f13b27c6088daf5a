/** Rules that turn PostgreSQL's errors into errors for callers, if several SQLSTATEs share a rule, or if the errors are recognized otherwise (sqlstate.ts). */
import type { DatabaseError } from 'pg';
import type { ErrorCode } from '../core/errors.ts';

export interface Rule {
  code: ErrorCode;
  /**
   * The text for the caller. It may contain names of tables, columns and constraints, but no SQL and no values. It contains PostgreSQL's
   * message only if the table's owner wrote the message, or if the message names only privileges, objects and features.
   */
  detail: string | ((error: DatabaseError) => string);
}

export const unreachable: Rule = {
  code: 'database-unavailable',
  detail: 'The database cannot be reached. Try again later.',
};

/** The message of an error about a Citus worker that cannot be reached. */
export const workerUnavailable = 'a worker of the Citus cluster cannot be reached';

export const awayWorker: Rule = {
  code: 'database-unavailable',
  detail: 'A server of the database cluster cannot be reached, so nothing was changed. Try again later.',
};

export const awayForeignServer: Rule = {
  code: 'database-unavailable',
  detail:
    'A foreign server that the table uses cannot be reached, so nothing was changed. The database itself is available. Try again later.',
};

/** The rule for an input or output error of the server, for example because PostgreSQL is being stopped. */
export const failingDevice: Rule = {
  code: 'database-unavailable',
  detail: 'The database server cannot use one of its files or devices. Try again later.',
};

/** The rule for a transaction that was lost: it ended or failed, and no answer reported that. */
export const isLost: Rule = {
  code: 'database-unavailable',
  detail: 'The database lost the transaction of the request, so nothing was changed. Try again later.',
};

/** The rule for a connection that PostgreSQL ended because of one of its time limits. The service switches off those of transactions. */
export const endedByTimeLimit: Rule = {
  code: 'database-unavailable',
  detail:
    'PostgreSQL ended the connection because of idle_in_transaction_session_timeout, transaction_timeout or idle_session_timeout, so nothing was changed. Check whether a trigger or another function of the table sets it, or the settings of the role and the database.',
};

/** The rule for a standby, or a server that an administrator has made read-only. */
export const isReadOnly: Rule = {
  code: 'database-unavailable',
  detail: 'The database is currently read-only, so nothing can be changed.',
};

export const refusedValue: Rule = {
  code: 'invalid-data',
  detail: (error) => `PostgreSQL refuses a value${inColumn(error)}.`,
};

/** The rule for RAISE in a function. The table's owner wrote the message for the people who send rows. A CHECK or a default may call such a function, too. */
export const refusedByFunction: Rule = {
  code: 'invalid-data',
  detail: (error) => `A trigger or another function of the database refuses this: ${error.message}`,
};

export const failedFunction: Rule = {
  code: 'invalid-data',
  detail: (error) => `A trigger or another function of the database fails: ${error.message}`,
};

/** The rule for errors of PostgreSQL's own catalogue when two sessions change or create the same object. */
export const changedMeanwhile: Rule = {
  code: 'write-conflict',
  detail:
    'Another session created, changed or dropped the table, or an object that belongs to it, at the same moment. Send the request again.',
};

/** The rule for an ON CONFLICT whose index can no longer be used, because another session has dropped it with DROP INDEX CONCURRENTLY. */
export const keyDroppedMeanwhile: Rule = {
  code: 'write-conflict',
  detail: 'Another session dropped the unique index that on_conflict uses. Send the request again.',
};

export const invalidDefinition: Rule = {
  code: 'invalid-definition',
  detail: 'PostgreSQL refuses the table definition.',
};

/**
 * Describes a missing privilege. The text contains PostgreSQL's message, which names the object and not always the privilege
 * ("permission denied for table orders"). The error of a row-level security policy has the same SQLSTATE.
 */
export function lackOfPrivilege(error: DatabaseError): string {
  return `The role that this request runs under lacks a privilege in PostgreSQL: ${error.message}.`;
}

export function inColumn(error: DatabaseError): string {
  return error.column === undefined ? '' : ` in the column "${error.column}"`;
}

export function ofConstraint(error: DatabaseError): string {
  if (error.constraint === undefined) return inColumn(error);
  return error.table === undefined
    ? ` ("${error.constraint}")`
    : ` ("${error.constraint}" of the table "${error.table}")`;
}
