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
      /** The error as an `AppError`; undefined: the client has disconnected. */
      known: AppError | undefined;
      /** Whether the end of the load was recorded. Otherwise the load counts as not begun. */
      hasEnded: boolean;
    };

/**
 * Does the work of a load. If the work succeeds, it has recorded the end of the load itself. If it throws, the end is recorded here.
 *
 * @param unbegun the codes of errors after which the load counts as not begun. The caller then decides what happens to it
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
    // This end is used if making the answer to the error fails, too.
    let end: EndOfError = { state: 'failed', answer: failedAnswer, known: undefined };
    let hasEnded = true;
    try {
      end = endOfError(error, requestId);
      hasEnded = end.known === undefined || !unbegun.includes(end.known.code);
      // Some errors were made without the collector of problems. They list all of their problems themselves.
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
  /** The error as an `AppError`; undefined: the client has disconnected. */
  known: AppError | undefined;
}

/** Returns the state in which a load ends with an error, and its answer; undefined: the client has disconnected. */
function endOfError(error: unknown, requestId: string): EndOfError {
  if (error instanceof ClientGone) return { state: 'cancelled', answer: undefined, known: undefined };
  const known = asAppError(error);
  const state = known.code === 'load-cancelled' ? 'cancelled' : endOfStatus(known.status);
  return { state, answer: keptProblem(known, requestId), known };
}

/** Stands for the request id in the answer of a load whose request is not known any more. */
const noRequest = '00000000-0000-0000-0000-000000000000';

/** The answer of a load that failed unexpectedly. It is made in advance, so that ending the load cannot fail for the same reason. */
export const failedAnswer: KeptAnswer = keptProblem(
  new AppError('internal-error', 'The load could not be completed; nothing was changed.'),
  noRequest,
);

/** Returns the answer of a load whose process ended. */
export function abandonedAnswer(): KeptAnswer {
  const detail =
    'The process of the service that ran the load ended before the load did; nothing was changed. Send the request again.';
  return keptProblem(new AppError('shutting-down', detail), noRequest);
}

/** Returns the error of an asynchronous load that was started `maxAttempts` times without reaching an end. */
export function loadGivenUp(): AppError {
  const detail = `The load was begun ${maxAttempts} times, and each time the process of the service or the database ended before the load did; nothing was changed. Its rows may be the cause, so do not send them again unchanged.`;
  return new AppError('internal-error', detail);
}

/** Returns the answer of a load that was given up. */
export function givenUpAnswer(): KeptAnswer {
  return keptProblem(loadGivenUp(), noRequest);
}
