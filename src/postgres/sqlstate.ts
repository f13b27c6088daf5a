/**
 * Defines what each SQLSTATE means for the service (PostgreSQL appendix A). No other file contains a SQLSTATE. Other files use
 * the functions below, or PostgreSQL's name of the condition.
 *
 * `toAppError` changes PostgreSQL's errors into errors of the catalogue. If the table below has no rule for an error, such as a
 * syntax error, the service has a bug: the answer is 500, and the log has the detail.
 */

import type { DatabaseError } from 'pg';
import { AppError, type ErrorCode } from '../core/errors.ts';
import { isConnectionError, isPoolExhausted } from './connection-errors.ts';
import * as rules from './error-rules.ts';
import {
  changesOfCatalogue,
  isChangeOfCatalogue,
  isOfForeignServer,
  isOfFunction,
  isRaised,
  namesByIdentifier,
} from './server-internals.ts';
import { MessageTooLong, messageTooLong } from './server-messages.ts';

/** The rules, by SQLSTATE or by its first two characters (its class). If both have a rule, the one for the whole SQLSTATE applies. */
export const sqlstateRules: Record<string, rules.Rule> = {
  // Errors about the service's own connection: connection, shutdown, start, credentials, missing database.
  '08': rules.unreachable,
  '28': rules.unreachable,
  '3D000': rules.unreachable,
  '53': {
    code: 'database-unavailable',
    detail: 'The database is out of memory or another resource. Try again later.',
  },
  '53100': { code: 'storage-full', detail: 'The database has no disk space left. Try again later.' },
  '53300': { code: 'database-unavailable', detail: 'The database has no connection left. Try again later.' },
  '57P': rules.unreachable,
  '25P03': rules.endedByTimeLimit,
  '25P04': rules.endedByTimeLimit,
  '57P05': rules.endedByTimeLimit,
  '58000': rules.failingDevice,
  '58030': rules.failingDevice,
  '25006': rules.isReadOnly,

  '55P03': {
    code: 'database-busy',
    detail:
      'Another transaction held a lock that the request needs, usually on the table, for too long (LOCK_TIMEOUT_MS). Try again later.',
  },
  '57014': {
    code: 'database-busy',
    detail:
      'A statement took longer than the service allows (STATEMENT_TIMEOUT_MS), or an administrator cancelled it.',
  },
  '40': {
    code: 'write-conflict',
    detail: 'Another transaction changed the same table or rows. Send the request again.',
  },

  '42501': { code: 'permission-denied', detail: rules.lackOfPrivilege },
  '3F000': { code: 'schema-not-found', detail: 'The schema does not exist.' },
  '42P01': { code: 'table-not-found', detail: 'The table does not exist.' },
  '42P07': {
    code: 'table-exists',
    detail: (error) => `The schema already has an object with this name: ${error.message}.`,
  },
  '2BP01': { code: 'dependent-objects', detail: 'Other objects depend on the table.' },
  '42809': {
    code: 'invalid-parameter',
    detail: 'The object with this name is not a table that can take rows.',
  },
  '0A': {
    code: 'invalid-parameter',
    detail: (error) => `PostgreSQL does not support this for the table: ${error.message}.`,
  },
  '55': {
    code: 'invalid-parameter',
    detail: (error) => `PostgreSQL does not allow this in the current state of the table: ${error.message}.`,
  },

  '42P16': rules.invalidDefinition,
  '42P17': rules.invalidDefinition,
  '42611': rules.invalidDefinition,
  '42622': { code: 'invalid-definition', detail: 'A name is longer than PostgreSQL allows.' },
  '42701': { code: 'invalid-definition', detail: 'A column name occurs twice.' },
  '42704': {
    code: 'invalid-definition',
    detail: (error) => `PostgreSQL does not find a type or another object: ${error.message}.`,
  },
  '42710': {
    code: 'invalid-definition',
    detail: (error) => `The name of a constraint or of another object is already used: ${error.message}.`,
  },
  '42804': {
    code: 'invalid-definition',
    detail: 'The type of a default or a foreign key does not match the type of its column.',
  },
  '42830': { code: 'invalid-definition', detail: 'A foreign key refers to columns that are not unique.' },
  '42939': { code: 'invalid-definition', detail: 'A name is reserved by PostgreSQL.' },
  '54011': {
    code: 'invalid-definition',
    detail: 'The table would have more columns than PostgreSQL allows.',
  },

  '21': {
    code: 'invalid-data',
    detail:
      'Two of the sent rows would change the same row of the table, or a query in a function of the table expected one row and found several.',
  },
  '22': rules.refusedValue,
  '23': {
    code: 'invalid-data',
    detail: (error) => `The data violates a rule of the table${rules.ofConstraint(error)}.`,
  },
  '23502': {
    code: 'invalid-data',
    detail: (error) => `A value is missing${rules.inColumn(error)}: null is not allowed.`,
  },
  '23503': {
    code: 'invalid-data',
    detail: (error) => `A row refers to a row that does not exist${rules.ofConstraint(error)}.`,
  },
  '23505': {
    code: 'invalid-data',
    detail: (error) => `Two rows have the same key${rules.ofConstraint(error)}.`,
  },
  '23514': {
    code: 'invalid-data',
    detail: (error) => `A row does not pass a check${rules.ofConstraint(error)}.`,
  },
  '23P01': {
    code: 'invalid-data',
    detail: (error) => `Two rows exclude each other${rules.ofConstraint(error)}.`,
  },
  '428C9': {
    code: 'invalid-data',
    detail: (error) =>
      `PostgreSQL generates the values of a column, so rows cannot set them${rules.inColumn(error)}.`,
  },
  '44000': {
    code: 'invalid-data',
    detail: 'The view through which a row is written does not allow the row.',
  },
  '54': { code: 'invalid-data', detail: 'A row, a key or a value is larger than PostgreSQL allows.' },
  '54001': { code: 'invalid-data', detail: 'A value is nested more deeply than PostgreSQL allows.' },
  // Errors that a trigger or another function of the table raises or causes.
  P0: rules.failedFunction,
  P0001: rules.refusedByFunction,
  '09': rules.failedFunction,
  '20': rules.failedFunction,
  // A function has removed a statement that the service had prepared in the session.
  '26': rules.failedFunction,
  '27': rules.failedFunction,
  '2F': rules.failedFunction,
  '38': rules.failedFunction,
  '39': rules.failedFunction,
  HV: rules.failedFunction,
  HV00N: rules.awayForeignServer,
};

/** PostgreSQL's names for the conditions on which decisions of the service depend. */
const conditions = {
  '08007': 'transaction_resolution_unknown',
  '08P01': 'protocol_violation',
  '0A000': 'feature_not_supported',
  '0LP01': 'invalid_grant_operation',
  '21000': 'cardinality_violation',
  '22001': 'string_data_right_truncation',
  '22003': 'numeric_value_out_of_range',
  '22008': 'datetime_field_overflow',
  '22023': 'invalid_parameter_value',
  '22026': 'string_data_length_mismatch',
  '22P02': 'invalid_text_representation',
  '23000': 'integrity_constraint_violation',
  '23502': 'not_null_violation',
  '428C9': 'generated_always',
  '23503': 'foreign_key_violation',
  '23505': 'unique_violation',
  '23514': 'check_violation',
  '23P01': 'exclusion_violation',
  '25006': 'read_only_sql_transaction',
  '25P01': 'no_active_sql_transaction',
  '25P02': 'in_failed_sql_transaction',
  '28000': 'invalid_authorization_specification',
  '28P01': 'invalid_password',
  '2BP01': 'dependent_objects_still_exist',
  '3B001': 'invalid_savepoint_specification',
  '3D000': 'invalid_catalog_name',
  '40001': 'serialization_failure',
  '40P01': 'deadlock_detected',
  '3F000': 'invalid_schema_name',
  '42501': 'insufficient_privilege',
  '42703': 'undefined_column',
  '42704': 'undefined_object',
  '42710': 'duplicate_object',
  '42804': 'datatype_mismatch',
  '42809': 'wrong_object_type',
  '42846': 'cannot_coerce',
  '42883': 'undefined_function',
  '42P01': 'undefined_table',
  '42P07': 'duplicate_table',
  '42P10': 'invalid_column_reference',
  '42P16': 'invalid_table_definition',
  '53100': 'disk_full',
  '53200': 'out_of_memory',
  '53300': 'too_many_connections',
  '54000': 'program_limit_exceeded',
  '54001': 'statement_too_complex',
  '55P03': 'lock_not_available',
  '57014': 'query_canceled',
  '57P01': 'admin_shutdown',
  '57P02': 'crash_shutdown',
  '57P03': 'cannot_connect_now',
  P0001: 'raise_exception',
  XX000: 'internal_error',
} as const;

export type Condition = (typeof conditions)[keyof typeof conditions];

/** Every class that PostgreSQL itself uses (appendix A). A code of another class comes from a function of a user. */
const knownClasses = new Set(
  '00 01 02 03 08 09 0A 0B 0F 0L 0P 0Z 10 20 21 22 23 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F 40 42 44 53 54 55 57 58 72 F0 HV P0 XX'.split(
    ' ',
  ),
);

/** Classes of errors that a value or a name in a statement can cause: data, integrity, syntax, access, and limits such as the depth of JSON. */
const classesOfStatements = /^(0A|22|23|38|39|42|44|54|P0)/;

/** Classes whose messages name objects, states and resources, and contain no values of rows. */
const classesOfNames = /^(08|0A|25|26|28|3[BDF]|40|42|5[3-8]|XX)/;

const retryAfterSeconds = 5;

/** The words of the operating system for a full disk (ENOSPC) and for a disk quota that is used up (EDQUOT). */
export const fullDisk = /No space left on device|Disk quota exceeded/;

/** Turns errors of PostgreSQL and of the connection to it into `AppError`s, and returns everything else unchanged. */
export function toAppError(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  if (isDatabaseError(error)) {
    const rule = ruleFor(error);
    return rule === undefined ? error : appErrorOf(rule, error);
  }
  if (isPoolExhausted(error)) {
    return appError(
      'database-busy',
      'All connections to the database are in use (DATABASE_POOL_SIZE). Try again later.',
      error,
    );
  }
  if (error instanceof MessageTooLong) return messageTooLong(error);
  if (isConnectionError(error)) return appErrorOf(rules.unreachable, error as DatabaseError);
  return error;
}

/**
 * Returns whether an error comes from PostgreSQL. Such errors have a severity and a SQLSTATE. Errors of Node.js have codes,
 * too, and some of these have five letters.
 */
export function isDatabaseError(error: unknown): error is DatabaseError {
  return error instanceof Error && 'severity' in error;
}

/**
 * Returns whether the connection broke, so that it is not known whether PostgreSQL has run the statement. A pooler reports with a SQLSTATE of the class
 * 08 that its own connection to the server broke. If the connection was closed because an error message was too long, the statement has failed.
 */
export function isBrokenConnection(error: unknown): boolean {
  if (error instanceof MessageTooLong) return !error.isRefusal;
  return !isDatabaseError(error) || error.code?.startsWith('08') === true;
}

/**
 * Returns the SQLSTATE of an error of PostgreSQL, to compare it with that of another error; undefined: another kind of error.
 */
export function sqlstateOf(error: unknown): string | undefined {
  return isDatabaseError(error) ? error.code : undefined;
}

/** Returns PostgreSQL's name of the error's condition; undefined: no decision depends on it, or it is another kind of error. */
export function conditionOf(error: unknown): Condition | undefined {
  return (conditions as Record<string, Condition>)[sqlstateOf(error) ?? ''];
}

/** Returns the SQLSTATE of a condition. */
export function sqlstateFor(condition: Condition): string {
  return Object.entries(conditions).find(([, name]) => name === condition)![0];
}

/** Returns whether PostgreSQL refused rows because of their content. Then the service searches for the cells with problems. */
export function isRefusalOfData(error: unknown): error is DatabaseError {
  return isDatabaseError(error) && ruleFor(error)?.code === 'invalid-data';
}

/**
 * Returns whether a statement that turns text into values was refused because of a text. Besides refusing a value, the input function of a type may find no
 * object with a name (`regclass`), find a syntax error (`tsquery`, `jsonpath`), accept no input at all (`pg_node_tree`), or fail with an internal error.
 */
export function isRefusalOfInput(error: unknown): error is DatabaseError {
  if (isRefusalOfData(error)) return true;
  if (!isDatabaseError(error)) return false;
  if (isUnknownInternalError(error)) return true;
  return /^(42|3F|0A|54)/.test(error.code ?? '') && !isLackOfPrivilege(error) && !isDroppedKey(error);
}

/**
 * Returns whether this is an internal error of PostgreSQL itself, not of a function of the database, whose cause is not known. Some
 * functions raise one for text that they cannot read ("tsquery stack too small"), so it may be about a value. The service then
 * searches for the row or the default that causes it. If it finds neither, the request fails with 500.
 */
export function isUnknownInternalError(error: DatabaseError): boolean {
  return conditionOf(error) === 'internal_error' && ruleFor(error) === undefined && !isOfFunction(error);
}

/** Returns whether ON CONFLICT failed because the table no longer has a unique index over the columns. */
function isDroppedKey(error: DatabaseError): boolean {
  return conditionOf(error) === 'invalid_column_reference' && !isOfFunction(error);
}

/**
 * Returns whether an expression that PostgreSQL evaluates for a row, such as a default, may have raised the error. It is false for
 * errors that need a retry or a privilege.
 */
export function isFailureOfExpression(error: unknown): error is DatabaseError {
  if (!isDatabaseError(error)) return false;
  if (error.code?.startsWith('XX')) return isUnknownInternalError(error);
  const rule = ruleFor(error);
  return rule !== undefined && !meansTheSame.has(rule.code);
}

/**
 * The errors that are never about a row, as a regular expression for PostgreSQL over the SQLSTATE, a space and the message: the
 * connection, privileges, deadlocks, locks, resources, damage, and internal errors whose cause is known (`isUnknownInternalError`). All
 * other errors of a statement that moves rows may be about one of the rows, and so may an error that RAISE makes with one of these
 * SQLSTATEs. In `errorsNotOfRows` a missing privilege may be about a row, because a policy of row-level security has the same SQLSTATE.
 */
export const errorsNotOfRows = notOfRows('');
export const errorsNotOfRowsOrPrivileges = notOfRows('42501|');

function notOfRows(more: string): string {
  return `^(08|25|28|3D|40|${more}53|55|57|58|F0|HV00N|XX(?!000)|XX000 (${changesOfCatalogue}|.*(${fullDisk.source})))`;
}

/** Returns whether a value or a name in the statement may have caused the error. It is false for timeouts, a broken connection and a shutdown. */
export function isStatementError(error: unknown): error is DatabaseError {
  return (
    classesOfStatements.test(sqlstateOf(error) ?? '') ||
    (isDatabaseError(error) && isUnknownInternalError(error))
  );
}

/** Returns whether the error is about a foreign key: a row refers to no row, or another row still refers to a removed row. */
export function isBrokenReference(error: unknown): boolean {
  return conditionOf(error) === 'foreign_key_violation';
}

/** Returns whether PostgreSQL ended one of several transactions that waited for each other. */
export function isDeadlock(error: unknown): boolean {
  return conditionOf(error) === 'deadlock_detected';
}

const conditionsOfLostObject = new Set<Condition | undefined>([
  'undefined_table',
  'undefined_column',
  'undefined_object',
  'invalid_schema_name',
]);

/**
 * Returns whether the error comes from a change of the catalogue by another session: a second row for the same object, or an object that no
 * longer exists.
 */
export function isCatalogueRace(error: unknown): error is DatabaseError {
  if (!isDatabaseError(error) || isRaised(error)) return false;
  const condition = conditionOf(error);
  if (condition === 'unique_violation') return error.schema === 'pg_catalog';
  if (conditionsOfLostObject.has(condition)) return namesByIdentifier(error) && !isOfFunction(error);
  return condition === 'internal_error' && isChangeOfCatalogue(error);
}

/** Returns whether the role may not do or see something. */
export function isLackOfPrivilege(error: unknown): boolean {
  return conditionOf(error) === 'insufficient_privilege';
}

/** Returns whether SET ROLE was refused: the role does not exist, or the service is not a member of it. */
export function isUnusableRole(error: unknown): boolean {
  return isLackOfPrivilege(error) || conditionOf(error) === 'invalid_parameter_value';
}

/** Returns whether the error's message names only objects and contains no values. The message of a function may contain anything. */
export function saysNamesOnly(error: DatabaseError): boolean {
  return classesOfNames.test(error.code ?? '') && !isRaised(error);
}

const conditionsOfLostTransaction = new Set<Condition | undefined>([
  'no_active_sql_transaction',
  'in_failed_sql_transaction',
  'invalid_savepoint_specification',
]);

/** Returns whether a statement of a savepoint failed because the savepoint or its transaction does not exist any more. */
export function isLostTransaction(error: unknown): boolean {
  return conditionsOfLostTransaction.has(conditionOf(error));
}

/** Returns the error for a transaction that was lost. @param cause is logged */
export function lostTransaction(cause: unknown): AppError {
  return appErrorOf(rules.isLost, cause as DatabaseError);
}

/** Returns the error for a database that is read-only. */
export function readOnlyDatabase(cause?: DatabaseError): AppError {
  return appErrorOf(rules.isReadOnly, cause);
}

/** Returns whether this is the error of `readOnlyDatabase`. */
export function isReadOnlyDatabase(error: unknown): boolean {
  return error instanceof AppError && error.detail === rules.isReadOnly.detail;
}

/** Returns whether this is the error for a foreign server that cannot be reached. */
export function isForeignServerAway({ detail }: AppError): boolean {
  return detail === rules.awayForeignServer.detail;
}

function ruleFor(error: DatabaseError): rules.Rule | undefined {
  const { code } = error;
  if (code === undefined) return undefined;
  if (error.message === rules.workerUnavailable) return rules.awayWorker;
  if (isCatalogueRace(error)) return rules.changedMeanwhile;
  if (isDroppedKey(error)) return rules.keyDroppedMeanwhile;
  if (isFullDisk(error)) return sqlstateRules['53100'];
  const listed = sqlstateRules[code] ?? sqlstateRules[code.slice(0, 3)] ?? sqlstateRules[code.slice(0, 2)];
  const stated = listed === rules.unreachable && isOfForeignServer(error) ? rules.awayForeignServer : listed;
  // An internal error (XX) is a bug of the service or of PostgreSQL, even if it arose in a function. It gets no rule of functions, except if RAISE made it.
  // RAISE can also report damaged data (XX001, XX002), which only an administrator can repair.
  const isInternal = code.startsWith('XX') && !(isRaised(error) && conditionOf(error) === 'internal_error');
  if (isOfFunction(error) && !isInternal) {
    const isRefusal = isRaised(error) && !isLackOfPrivilege(error) && !isDeadlock(error);
    if (isRefusal) return rules.refusedByFunction;
    if (stated !== undefined && meansTheSame.has(stated.code)) return stated;
    // An error in a function is not about the objects that the request names, for example if the function does not find a table.
    return stated?.code === 'invalid-data' ? stated : rules.failedFunction;
  }
  return stated ?? (knownClasses.has(code.slice(0, 2)) ? undefined : rules.refusedByFunction);
}

/**
 * Returns whether the error is about a full disk. PostgreSQL sends most of these errors with the SQLSTATE 53100, in every language. It has no SQLSTATE for
 * a disk quota that is used up (EDQUOT), which it reports as an internal error, and some places report a full disk as an input or output error. No field
 * has the error number of the operating system, so only the words of the message show it. They are English if the server's `lc_messages` is `C`, `POSIX` or
 * English, and only a superuser can set it for a session. With another language such an error is answered with 500 or 503, without the hint about the disk.
 */
function isFullDisk(error: DatabaseError): boolean {
  return /^(58|XX|53)/.test(error.code ?? '') && fullDisk.test(error.message);
}

/**
 * The codes that need the same action from the caller if a statement of a function caused the error: retry, or ask for a privilege. An error that a
 * function raised with RAISE is a decision of the function, and sending the request again does not change it, except if the function passes on a deadlock.
 */
const meansTheSame = new Set<ErrorCode>([
  'permission-denied',
  'write-conflict',
  'database-busy',
  'database-unavailable',
  'storage-full',
]);

function appErrorOf({ code, detail }: rules.Rule, cause: DatabaseError | undefined): AppError {
  return appError(code, typeof detail === 'string' ? detail : detail(cause!), cause);
}

function appError(code: ErrorCode, detail: string, cause: Error | undefined): AppError {
  const isTemporary = code === 'database-busy' || code === 'database-unavailable' || code === 'storage-full';
  return new AppError(code, detail, {
    cause,
    ...(isTemporary && { headers: { 'retry-after': String(retryAfterSeconds) } }),
  });
}
