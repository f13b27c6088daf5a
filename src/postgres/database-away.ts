import { AppError } from '../core/errors.ts';
import { isConnectionError, isPoolExhausted, isTlsError } from './connection-errors.ts';
import { type Condition, conditionOf, isBrokenConnection, isDatabaseError } from './sqlstate.ts';

/** Conditions in which a server cannot be used now, but perhaps later. */
const temporaryConditions = new Set<Condition | undefined>([
  'admin_shutdown',
  'crash_shutdown',
  'cannot_connect_now',
  'too_many_connections',
]);
/** PgBouncer sends all its errors with the SQLSTATE of a protocol violation. With these words the error means a wrong setting. */
const wrongForPooler = /no such|authentication|password|unsupported startup|not allowed|config error/i;

/**
 * Returns whether a connection failed because the server or the network could not be reached, so that waiting may help. It may also
 * help if the server is a standby. It does not help if the server refuses the password, the role, the database or the certificate.
 */
export function isDatabaseAway(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  // This is the error if the connection broke at the COMMIT of a migration, or if the server is read-only.
  if (error instanceof AppError) return error.code === 'database-unavailable';
  if (isDatabaseError(error)) {
    const condition = conditionOf(error);
    if (condition === 'protocol_violation') return !wrongForPooler.test(error.message);
    return temporaryConditions.has(condition) || isBrokenConnection(error);
  }
  if (isPoolExhausted(error) || /^Connection terminated|^timeout expired$/.test(error.message)) return true;
  const hasCode = (error as NodeJS.ErrnoException).code !== undefined;
  return isConnectionError(error) && !isTlsError(error) && (hasCode || error instanceof AggregateError);
}
