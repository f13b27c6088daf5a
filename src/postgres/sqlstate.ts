/**
 * PostgreSQL's errors → the catalogue's, in one table (PostgreSQL appendix A).
 *
 * What is not in it is a fault of ours (a syntax error, say) and stays as it is: 500, with the detail in the log only.
 */

import pg from 'pg';
import { AppError, type ErrorCode } from '../errors.ts';

interface Rule {
  code: ErrorCode;
  /**
   * For the caller. Of the error only names of tables, columns and constraints are told, never SQL, never a value; and
   * the message where it is the words of the table's owner, or names nothing but privileges, objects and features.
   */
  detail: string | ((error: pg.DatabaseError) => string);
}

const unreachable: Rule = {
  code: 'database-unavailable',
  detail: 'The database cannot be reached; try again later.',
};

const takesNoChanges: Rule = {
  code: 'database-unavailable',
  detail: 'The database takes no changes at present.',
};

const refusedValue: Rule = {
  code: 'invalid-data',
  detail: (error) => `PostgreSQL refuses a value${inColumn(error)}.`,
};

/** What RAISE says is in the words of the table's owner, for whoever sends the rows. It may be in a rule, a CHECK or a default, too. */
const refusedByFunction: Rule = {
  code: 'invalid-data',
  detail: (error) => `A trigger or another function of the database refuses this: ${error.message}`,
};

const failedFunction: Rule = {
  code: 'invalid-data',
  detail: (error) => `A trigger or another function of the database fails: ${error.message}`,
};

/** Two sessions change or create the same object: PostgreSQL finds that out in its own catalogue. */
const changedMeanwhile: Rule = {
  code: 'write-conflict',
  detail:
    'Another session created, changed or dropped the table, or an object that belongs to it, at the same moment; send the request again.',
};

const invalidDefinition: Rule = {
  code: 'invalid-definition',
  detail: 'PostgreSQL refuses the table definition.',
};

/** By SQLSTATE or by its beginning (two characters: its class); the longest goes first. */
export const sqlstateRules: Record<string, Rule> = {
  // Connection, shutdown, start, credentials, missing database: of the service's own connection.
  '08': unreachable,
  '28': unreachable,
  '3D000': unreachable,
  '53': {
    code: 'database-unavailable',
    detail: 'The database is out of memory or another resource; try again later.',
  },
  '53100': { code: 'storage-full', detail: 'The database has no disk space left; try again later.' },
  '53300': { code: 'database-unavailable', detail: 'The database has no connection left; try again later.' },
  '57P': unreachable,
  '25006': takesNoChanges,

  '55P03': {
    code: 'database-busy',
    detail: 'Another transaction held the table for too long; try again later.',
  },
  '57014': {
    code: 'database-busy',
    detail: 'A statement took longer than the service allows, or an administrator cancelled it.',
  },
  '40': {
    code: 'write-conflict',
    detail: 'Another transaction changed the same table or rows; send the request again.',
  },

  '42501': { code: 'permission-denied', detail: lackOfPrivilege },
  '3F000': { code: 'schema-not-found', detail: 'The schema does not exist.' },
  '42P01': { code: 'table-not-found', detail: 'The table does not exist.' },
  '42P07': {
    code: 'table-exists',
    detail: (error) => `Something in the schema already has the name: ${error.message}.`,
  },
  '2BP01': { code: 'dependent-objects', detail: 'Other objects depend on the table.' },
  '42809': { code: 'invalid-parameter', detail: 'What has this name is no table, or none that takes rows.' },
  '0A': {
    code: 'invalid-parameter',
    detail: (error) => `PostgreSQL does not do this with such a table: ${error.message}.`,
  },
  '55': {
    code: 'invalid-parameter',
    detail: (error) => `PostgreSQL does not do this with the table as it is: ${error.message}.`,
  },

  '42P16': invalidDefinition,
  '42P17': invalidDefinition,
  '42611': invalidDefinition,
  '42622': { code: 'invalid-definition', detail: 'A name is longer than PostgreSQL allows.' },
  '42701': { code: 'invalid-definition', detail: 'A column name is there twice.' },
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
    detail: 'A default or a foreign key has another type than its column.',
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
      'One row of the table would be changed by two rows that were sent, or a query of it found several rows for one.',
  },
  '22': refusedValue,
  '23': {
    code: 'invalid-data',
    detail: (error) => `The data breaks a rule of the table${ofConstraint(error)}.`,
  },
  '23502': {
    code: 'invalid-data',
    detail: (error) => `A value is missing${inColumn(error)}: null is not allowed.`,
  },
  '23503': {
    code: 'invalid-data',
    detail: (error) => `A row refers to one that does not exist${ofConstraint(error)}.`,
  },
  '23505': { code: 'invalid-data', detail: (error) => `Two rows have the same key${ofConstraint(error)}.` },
  '23514': { code: 'invalid-data', detail: (error) => `A row does not pass a check${ofConstraint(error)}.` },
  '23P01': { code: 'invalid-data', detail: (error) => `Two rows exclude each other${ofConstraint(error)}.` },
  '428C9': {
    code: 'invalid-data',
    detail: (error) => `A column generates its values and takes none${inColumn(error)}.`,
  },
  '44000': { code: 'invalid-data', detail: 'A row is not allowed by the view that it is written through.' },
  '54': { code: 'invalid-data', detail: 'A row, a key or a value is larger than PostgreSQL allows.' },
  '54001': { code: 'invalid-data', detail: 'A value is nested more deeply than PostgreSQL allows.' },
  // Raised, or come upon, by a trigger or another function of the table.
  P0: failedFunction,
  P0001: refusedByFunction,
  '09': failedFunction,
  '20': failedFunction,
  '27': failedFunction,
  '2F': failedFunction,
  '38': failedFunction,
  '39': failedFunction,
};

/** Every class that PostgreSQL itself knows (appendix A); a code of another one is somebody's own. */
const knownClasses = new Set(
  '00 01 02 03 08 09 0A 0B 0F 0L 0P 0Z 10 20 21 22 23 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F 40 42 44 53 54 55 57 58 72 F0 HV P0 XX'.split(
    ' ',
  ),
);

/** Node's errors of the connection's socket, and pg's own, which have a message alone. */
const socketCodes = new Set(
  'ECONNREFUSED ECONNRESET ETIMEDOUT EPIPE ENOENT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH'.split(' '),
);
const driverMessages =
  /^(Connection terminated|timeout expired$|Client (was closed|has encountered a connection error)|The server does not support SSL|Cannot use a pool after)/;
const poolExhausted = 'timeout exceeded when trying to connect';

const retryAfterSeconds = 5;

/** PostgreSQL's and its connection's errors as `AppError`s; everything else as it is. */
export function toAppError(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  if (error instanceof pg.DatabaseError) {
    const rule = ruleFor(error);
    if (rule === undefined) return error;
    return appError(rule.code, typeof rule.detail === 'string' ? rule.detail : rule.detail(error), error);
  }
  if (error.message === poolExhausted) {
    return appError('database-busy', 'All connections to the database are in use; try again later.', error);
  }
  if (isConnectionError(error)) return appError(unreachable.code, unreachable.detail as string, error);
  return error;
}

/** Whether PostgreSQL refused rows for what is in them; then it is worth looking for the cell at fault. */
export function isRefusalOfData(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && ruleFor(error)?.code === 'invalid-data';
}

/**
 * The same of statements that turn text into values: besides, there the input function of a type may find no such object
 * (`regclass`), a syntax error (`tsquery`, `jsonpath`), or itself not made for it (`pg_node_tree`).
 */
export function isRefusalOfInput(error: unknown): error is pg.DatabaseError {
  if (isRefusalOfData(error)) return true;
  if (!(error instanceof pg.DatabaseError)) return false;
  if (error.code === 'XX000') return hstoreParsers.has(error.routine ?? '');
  return /^(42|3F|0A|54)/.test(error.code ?? '') && !isLackOfPrivilege(error);
}

/** Before PostgreSQL 16, hstore reports malformed text as an internal error. */
const hstoreParsers = new Set(['parse_hstore', 'get_val']);

/**
 * Whether an expression that PostgreSQL evaluates for a row, such as a default, may have raised the error. Not among these:
 * errors that call for a retry or for a privilege, and internal ones.
 */
export function isFailureOfExpression(error: unknown): error is pg.DatabaseError {
  if (!(error instanceof pg.DatabaseError) || error.code?.startsWith('XX')) return false;
  const rule = ruleFor(error);
  return rule !== undefined && !meansTheSame.has(rule.code);
}

/** Whether a foreign key has no match, or still has one. */
export function isBrokenReference(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23503';
}

/** Whether PostgreSQL ended one of several transactions that waited for each other. */
export function isDeadlock(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '40P01';
}

/** Whether a table that the statement itself names does not exist: in contrast to one that a trigger misses. */
export function isUndefinedTable(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code === '42P01' && !isOfFunction(error);
}

/** Whether the role may not do or see something. */
export function isLackOfPrivilege(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '42501';
}

function ruleFor(error: pg.DatabaseError): Rule | undefined {
  const { code } = error;
  if (code === undefined) return undefined;
  if (isCatalogueRace(error)) return changedMeanwhile;
  if (isOfStandby(error)) return takesNoChanges;
  const stated = sqlstateRules[code] ?? sqlstateRules[code.slice(0, 3)] ?? sqlstateRules[code.slice(0, 2)];
  // XX is a fault, raised or not.
  if (isOfFunction(error) && !code.startsWith('XX')) {
    if (stated !== undefined && meansTheSame.has(stated.code)) return stated;
    if (isRaised(error)) return refusedByFunction;
    // A table that a function does not find, say, is not the one of the request.
    return stated?.code === 'invalid-data' ? stated : failedFunction;
  }
  return stated ?? (knownClasses.has(code.slice(0, 2)) ? undefined : refusedByFunction);
}

/** Internal messages of PostgreSQL are never translated. */
const raceMessages =
  /^(cache lookup failed for|could not open relation with OID|could not find tuple for|tuple (concurrently|already) |relation \d+ (has been )?deleted)/;

/**
 * Whether PostgreSQL came upon a change of its catalogue by another session: a second row for the same object, or an object
 * that is no longer there (XX000, internal_error).
 */
function isCatalogueRace(error: pg.DatabaseError): boolean {
  if (isRaised(error)) return false;
  if (error.code === '23505') return error.schema === 'pg_catalog';
  return error.code === 'XX000' && raceMessages.test(error.message);
}

/** BEGIN READ WRITE on a standby: feature_not_supported, and not read_only_sql_transaction as of other statements. */
function isOfStandby({ code, routine }: pg.DatabaseError): boolean {
  return code === '0A000' && routine === 'call_bool_check_hook';
}

/** Whoever raises them: try again, or ask for a privilege. */
const meansTheSame = new Set<ErrorCode>([
  'permission-denied',
  'write-conflict',
  'database-busy',
  'database-unavailable',
]);

/** RAISE, in the source of PL/pgSQL. */
function isRaised(error: pg.DatabaseError): boolean {
  return error.routine === 'exec_stmt_raise';
}

/**
 * Whether the error arose within a function. The context then has a line with the function's language, somewhere in it:
 * "PL/pgSQL function f() line 1 at RAISE", "función PL/pgSQL …", "SQL-Funktion …". What is in quotes is text of queries.
 */
function isOfFunction(error: pg.DatabaseError): boolean {
  if (isRaised(error)) return true;
  const lines = (error.where ?? '').replace(/"[^"]*"/g, '').split('\n');
  return lines.some((line) => !line.startsWith('COPY ') && /\bPL\/|\bSQL\b/.test(line));
}

/**
 * PostgreSQL's message names the object and not always the privilege ("permission denied for table orders"). Row-level
 * security has the same SQLSTATE.
 */
function lackOfPrivilege({ message, routine }: pg.DatabaseError): string {
  if (routine === 'InitTempTableNamespace') {
    return 'The role that this request runs under lacks the privilege TEMPORARY on the database. It is needed for on_conflict, for types that PostgreSQL reads from text, and for comparing a definition with a table that stands.';
  }
  return `The role that this request runs under lacks a privilege in PostgreSQL: ${message}.`;
}

function isConnectionError(error: Error): boolean {
  const { code, syscall, errors } = error as Error & { code?: string; syscall?: string; errors?: unknown[] };
  // Several addresses of one host were tried.
  if (error instanceof AggregateError)
    return errors!.some((one) => one instanceof Error && isConnectionError(one));
  // Without a system call it is a caller's request that was cut off, which has the same code.
  if (code !== undefined) return syscall !== undefined && socketCodes.has(code);
  return driverMessages.test(error.message);
}

function appError(code: ErrorCode, detail: string, cause: Error): AppError {
  const isPassing = code === 'database-busy' || code === 'database-unavailable' || code === 'storage-full';
  return new AppError(code, detail, {
    cause,
    ...(isPassing && { headers: { 'retry-after': String(retryAfterSeconds) } }),
  });
}

function inColumn(error: pg.DatabaseError): string {
  return error.column === undefined ? '' : ` in the column "${error.column}"`;
}

function ofConstraint(error: pg.DatabaseError): string {
  if (error.constraint === undefined) return inColumn(error);
  return error.table === undefined
    ? ` ("${error.constraint}")`
    : ` ("${error.constraint}" of the table "${error.table}")`;
}
