/** How a load ends: its state, its answer, and the error for its caller. */
import { AppError, type ErrorCode } from '../../../core/errors.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import type { LoadRun } from '../../loads/load-run.ts';
import { endOfStatus, type LoadState } from '../../loads/load-state.ts';
import { maxAttempts } from '../../loads/queue-statements.ts';
import type { UploadLoads } from '../../loads/records.ts';
import { asAppError, keptProblem } from '../answers/problem-json.ts';
import { ClientGone } from '../wire/request-body.ts';
import { asKeyError } from './idempotency.ts';

/** The header with the id of the load. */
export const loadIdHeader = 'load-id';

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
 * Does the work of a load, which records how the load ends. If the work throws, that is recorded here.
 *
 * @param unbegun the codes of errors after which the load has not begun. The caller decides what happens to it then
 */
export async function runToEnd(
  loads: UploadLoads,
  { run, requestId }: { run: LoadRun; requestId: string },
  unbegun: readonly ErrorCode[],
  work: () => Promise<KeptAnswer>,
): Promise<LoadOutcome> {
  try {
    return { answer: await work() };
  } catch (thrown) {
    const error = asKeyError(await loads.errorOf(run, thrown));
    // If the answer cannot be made, the load ends nevertheless.
    let end: EndOfError = { state: 'failed', answer: failedAnswer, known: undefined };
    let hasEnded = true;
    try {
      end = endOfError(error, requestId);
      hasEnded = end.known === undefined || !unbegun.includes(end.known.code);
      // Some errors are made without the collector. They list all of their problems.
      if (hasEnded && run.found.count === 0)
        for (const problem of end.known?.errors ?? []) run.found.add(problem);
    } finally {
      if (hasEnded && !run.hasEnded)
        await loads.end(run, end.state, end.answer, !end.known?.isOutcomeUnknown);
    }
    return { error, known: end.known, hasEnded };
  }
}

interface EndOfError {
  state: LoadState;
  answer: KeptAnswer | undefined;
  /** undefined: the client has disconnected. */
  known: AppError | undefined;
}

/** Returns the state in which a load ends with an error, and its answer; undefined: the client has disconnected. */
function endOfError(error: unknown, requestId: string): EndOfError {
  if (error instanceof ClientGone) return { state: 'cancelled', answer: undefined, known: undefined };
  const known = asAppError(error);
  const state = known.code === 'load-cancelled' ? 'cancelled' : endOfStatus(known.status);
  return { state, answer: keptProblem(known, requestId), known };
}

/** Stands for the id of a request that is not known any more. */
const noRequest = '00000000-0000-0000-0000-000000000000';

/** The answer of a load that failed in a way that nobody expected. It is made before, so that the end of a load cannot fail with it. */
export const failedAnswer: KeptAnswer = keptProblem(
  new AppError('internal-error', 'The load could not be completed; nothing was changed.'),
  noRequest,
);

/** The answer of a load whose process ended. */
export function abandonedAnswer(): KeptAnswer {
  const detail =
    'The process of the service that ran the load ended before the load did; nothing was changed. Send the request again.';
  return keptProblem(new AppError('shutting-down', detail), noRequest);
}

/** The error of an asynchronous load that was begun `maxAttempts` times without an end. */
export function loadGivenUp(): AppError {
  const detail = `The load was begun ${maxAttempts} times, and each time the process of the service or the database ended before the load did; nothing was changed. Its rows may be the cause, so do not send them again unchanged.`;
  return new AppError('internal-error', detail);
}

/** The answer of a load that was given up. */
export function givenUpAnswer(): KeptAnswer {
  return keptProblem(loadGivenUp(), noRequest);
}
