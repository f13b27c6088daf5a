/**
 * PostgreSQL's errors → the catalogue's, in one table (PostgreSQL appendix A).
 *
 * What is not in it is a fault of ours (a syntax error, say) and stays as it is: 500, with the detail in the log only.
 */

import pg from 'pg';
import { AppError, type ErrorCode } from '../errors.ts';

interface Rule {
  code: ErrorCode;
  /** For the caller. Only names of tables, columns and constraints are taken from the error: never SQL, never a value. */
  detail: string | ((error: pg.DatabaseError) => string);
}

const unreachable: Rule = {
  code: 'database-unavailable',
  detail: 'The database cannot be reached; try again later.',
};

const refusedValue: Rule = {
  code: 'invalid-data',
  detail: (error) => `PostgreSQL refuses a value${inColumn(error)}.`,
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
  '53100': { code: 'database-unavailable', detail: 'The database has no disk space left.' },
  '53300': { code: 'database-unavailable', detail: 'The database has no connection left; try again later.' },
  '57P': unreachable,
  '25006': { code: 'database-unavailable', detail: 'The database takes no changes at present.' },

  '55P03': {
    code: 'database-busy',
    detail: 'Another transaction held the table for too long; try again later.',
  },
  '57014': { code: 'database-busy', detail: 'A statement took longer than the service allows.' },
  '40': {
    code: 'write-conflict',
    detail: 'Another transaction changed the same table or rows; send the request again.',
  },

  '42501': {
    code: 'permission-denied',
    detail: 'The role that this request runs under lacks a privilege in PostgreSQL.',
  },
  '3F000': { code: 'schema-not-found', detail: 'The schema does not exist.' },
  '42P01': { code: 'table-not-found', detail: 'The table does not exist.' },
  '42P07': { code: 'table-exists', detail: 'A table or another relation with this name exists.' },
  '2BP01': { code: 'dependent-objects', detail: 'Other objects depend on the table.' },
  '42809': { code: 'invalid-parameter', detail: 'What has this name is no table, or none that takes rows.' },

  '42P16': invalidDefinition,
  '42P17': invalidDefinition,
  '42611': invalidDefinition,
  '42622': { code: 'invalid-definition', detail: 'A name is longer than PostgreSQL allows.' },
  '42701': { code: 'invalid-definition', detail: 'A column name is there twice.' },
  '42704': {
    code: 'invalid-definition',
    detail: 'The definition names a type or another object that does not exist.',
  },
  '42710': { code: 'invalid-definition', detail: 'A constraint name is there twice, or taken.' },
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
  '54000': { code: 'invalid-data', detail: 'A row or a key is larger than PostgreSQL allows.' },
  // Raised by a trigger, in the words of the table's owner.
  P0001: {
    code: 'invalid-data',
    detail: (error) => `A trigger of the table refuses the data: ${error.message}`,
  },
};

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
    const rule = ruleFor(error.code);
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
  return error instanceof pg.DatabaseError && ruleFor(error.code)?.code === 'invalid-data';
}

function ruleFor(sqlstate: string | undefined): Rule | undefined {
  if (sqlstate === undefined) return undefined;
  return (
    sqlstateRules[sqlstate] ?? sqlstateRules[sqlstate.slice(0, 3)] ?? sqlstateRules[sqlstate.slice(0, 2)]
  );
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
  const isPassing = code === 'database-busy' || code === 'database-unavailable';
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
