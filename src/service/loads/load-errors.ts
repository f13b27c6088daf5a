/** The errors with which loads end that the service or their callers end. */
import { AppError } from '../../core/errors.ts';
import { wasRefused } from '../postgres/refuse-unless.ts';

/** Returns whether a transaction was refused because its load has ended or is to be cancelled. */
export function isRefusedCommit(error: unknown): boolean {
  return wasRefused(error, 'the load has ended or is cancelled');
}

/** The error of a load that its caller has cancelled. */
export function loadCancelled(): AppError {
  return new AppError('load-cancelled', 'The load was cancelled; nothing was changed.');
}

/** The error of a request to cancel a load whose COMMIT has been sent. */
export function loadIsCommitting(): AppError {
  return new AppError(
    'database-busy',
    'The load is being committed, so it cannot be cancelled now. Try again later.',
    {
      headers: { 'retry-after': '1' },
    },
  );
}

/** The error of a load that another process has recorded as failed, because this process did not renew its lease in time. */
export function leaseLost(): AppError {
  return new AppError(
    'database-unavailable',
    'The service could not reach its records for too long, so the load was ended; nothing was changed. Send the request again.',
    { headers: { 'retry-after': '5' } },
  );
}
