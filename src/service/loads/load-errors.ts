/** The errors of loads that end before they are committed, because the service or their callers end them. */
import { AppError } from '../../core/errors.ts';
import { wasRefused } from '../../postgres/refuse-unless.ts';

/** Returns whether the record of the load has refused the COMMIT: the load has ended already, or was cancelled. */
export function isRefusedCommit(error: unknown): boolean {
  return wasRefused(error, 'the load has ended or is cancelled');
}

/** Returns the error of a load that its caller has cancelled. */
export function loadCancelled(): AppError {
  return new AppError('load-cancelled', 'The load was cancelled; nothing was changed.');
}

/** Returns the error of a request to cancel a load whose COMMIT was sent already. */
export function loadIsCommitting(): AppError {
  return new AppError(
    'database-busy',
    'The load is being committed, so it cannot be cancelled now. Try again later.',
    {
      headers: { 'retry-after': '1' },
    },
  );
}

/** Returns the error of a load that another process has recorded as failed, because this process did not renew its lease in time. */
export function leaseLost(): AppError {
  return new AppError(
    'database-unavailable',
    'The service could not reach its records for too long, so the load was ended; nothing was changed. Send the request again.',
    { headers: { 'retry-after': '5' } },
  );
}
