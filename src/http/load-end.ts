/** How a load ends: its state, its answer, and the error for its caller. */
import { AppError } from '../errors.ts';
import type { KeptAnswer } from '../loads/load-record.ts';
import { endOfStatus, type LoadState } from '../loads/load-state.ts';
import { isRefusedCommit, loadCancelled } from '../loads/loads.ts';
import { asKeyError } from './idempotency.ts';
import { asAppError, keptProblem } from './problem-json.ts';
import { ClientGone } from './request-body.ts';

/** The header with the id of the load. */
export const loadIdHeader = 'load-id';

/** Returns the statements that keep the answer of a request with a key; none without a key. */
export type CommitStatements = (answer: KeptAnswer) => string[];

/** Returns the error for the caller if the transaction was refused because of its record, and every other error unchanged. */
export function asLoadError(error: unknown): unknown {
  return isRefusedCommit(error) ? loadCancelled() : asKeyError(error);
}

/** Returns the state in which a load ends with an error, and its answer; undefined: the client went away. */
export function endOfError(
  error: unknown,
  requestId: string,
): { state: LoadState; answer: KeptAnswer | undefined; known: AppError | undefined } {
  if (error instanceof ClientGone) return { state: 'cancelled', answer: undefined, known: undefined };
  const known = asAppError(error);
  const state = known.code === 'load-cancelled' ? 'cancelled' : endOfStatus(known.status);
  return { state, answer: keptProblem(known, requestId), known };
}

/** The answer of a load whose process ended. */
export function abandonedAnswer(): KeptAnswer {
  const detail =
    'The process of the service that ran the load ended before the load did; nothing was changed. Send the request again.';
  return keptProblem(new AppError('shutting-down', detail), '00000000-0000-0000-0000-000000000000');
}

/**
 * Combines two signals without `AbortSignal.any`, because that removes its listeners only when the garbage collector runs.
 *
 * @param first lives longer than the work. `release` removes the listener from it
 */
export function eitherSignal(
  first: AbortSignal,
  second: AbortSignal,
): { signal: AbortSignal; release: () => void } {
  const either = new AbortController();
  const abortBy = (signal: AbortSignal) => () => either.abort(signal.reason);
  const onFirst = abortBy(first);
  if (first.aborted) onFirst();
  first.addEventListener('abort', onFirst, { once: true });
  if (second.aborted) either.abort(second.reason);
  second.addEventListener('abort', abortBy(second), { once: true });
  return { signal: either.signal, release: () => first.removeEventListener('abort', onFirst) };
}
