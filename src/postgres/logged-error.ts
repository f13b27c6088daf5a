/**
 * Selects the parts of an error that may be logged: enough to find the cause, and no values from a request. PostgreSQL's messages and
 * contexts can contain such values (`COPY orders, line 3, column name: "…"`), and so can the problems of an `AppError`.
 */
import { isDatabaseError, saysNamesOnly } from './sqlstate.ts';

export interface LoggedError {
  type: string;
  message?: string;
  stack?: string;
  cause?: LoggedError;
  [fact: string]: unknown;
}

/** Properties with names and codes in the errors of PostgreSQL, of Node.js and of this service. */
const facts = [
  'code',
  'severity',
  'schema',
  'table',
  'column',
  'dataType',
  'constraint',
  'routine',
  'file',
  'line',
  'syscall',
  'address',
  'port',
];

export function loggedError(thrown: unknown): LoggedError {
  if (!(thrown instanceof Error)) return { type: typeof thrown };
  const logged: LoggedError = { type: thrown.constructor.name };
  for (const fact of facts) {
    const value = (thrown as unknown as Record<string, unknown>)[fact];
    if (value !== undefined) logged[fact] = value;
  }
  if (!isDatabaseError(thrown) || saysNamesOnly(thrown)) logged.message = thrown.message;
  const calls = thrown.stack?.indexOf('\n    at ') ?? -1;
  if (calls >= 0) logged.stack = thrown.stack!.slice(calls + 1);
  if (thrown.cause !== undefined) logged.cause = loggedError(thrown.cause);
  return logged;
}
