/** How a load ends: its state, its answer, and the error for its caller. */
import { AppError, type ErrorCode } from '../errors.ts';
import { isRefusedCommit, loadCancelled } from '../loads/load-errors.ts';
import type { KeptAnswer } from '../loads/load-record.ts';
import type { LoadRun } from '../loads/load-run.ts';
import { endOfStatus, type LoadState } from '../loads/load-state.ts';
import type { Loads } from '../loads/loads.ts';
import { asKeyError } from './idempotency.ts';
import { asAppError, keptProblem } from './problem-json.ts';
import { ClientGone } from './request-body.ts';

/** The header with the id of the load. */
export const loadIdHeader = 'load-id';

/** Returns the statements that keep the answer of a request with a key; none without a key. */
export type CommitStatements = (answer: KeptAnswer) => string[];

/** The result of the work of a load. */
export type LoadOutcome =
  | { answer: KeptAnswer; error?: undefined }
  | {
      answer?: undefined;
      /** The error for the caller. */
      error: unknown;
      /** undefined: the client has disconnected. */
      known: AppError | undefined;
      /** Its end was recorded. Otherwise the load has not begun. */
      hasEnded: boolean;
    };

/**
 * Does the work of a load and records how the load ends.
 *
 * @param unbegun the codes of errors after which the load has not begun. The caller decides what happens to it then
 */
export async function runToEnd(
  loads: Loads,
  run: LoadRun,
  requestId: string,
  unbegun: readonly ErrorCode[],
  work: () => Promise<KeptAnswer>,
): Promise<LoadOutcome> {
  try {
    const answer = await work();
    await loads.end(run, run.facts.dryRun ? 'checked' : 'committed', answer);
    return { answer };
  } catch (thrown) {
    return endWithError(loads, run, requestId, unbegun, thrown);
  }
}

/** Records the end of a load whose work threw. */
export async function endWithError(
  loads: Loads,
  run: LoadRun,
  requestId: string,
  unbegun: readonly ErrorCode[],
  thrown: unknown,
): Promise<LoadOutcome> {
  const error = asLoadError(thrown);
  const { state, answer, known } = endOfError(error, requestId);
  if (known && unbegun.includes(known.code)) return { error, known, hasEnded: false };
  // Some errors are made without the collector. They list all of their problems.
  if (run.found.count === 0) for (const problem of known?.errors ?? []) run.found.add(problem);
  await loads.end(run, state, answer, known?.isOutcomeUnknown !== true);
  return { error, known, hasEnded: true };
}

/** Returns the error for the caller if the transaction was refused because of its record, and every other error unchanged. */
function asLoadError(error: unknown): unknown {
  return isRefusedCommit(error) ? loadCancelled() : asKeyError(error);
}

/** Returns the state in which a load ends with an error, and its answer; undefined: the client has disconnected. */
function endOfError(
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
