/**
 * The signals that end a process. The command line handles them all, because a signal that ends the process at once would leave the
 * embedded PostgreSQL running. The exit code is that of shells: 128 and the number of the signal.
 */
import { constants } from 'node:os';
import process from 'node:process';

const names = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** One Ctrl-C may arrive twice: from the terminal, and from npx or the older Node.js that started this process. */
const sameSignalMs = 500;

/** A signal has arrived. The process ends with its exit code, whatever the command returns. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

const ended = new AbortController();
let first: { signal: NodeJS.Signals; atMs: number } | undefined;
let isAwaited = false;

export function handleEndSignals(): void {
  for (const name of names) process.on(name, handle);
}

/** The service has handlers of its own. */
export function leaveEndSignals(): void {
  for (const name of names) process.off(name, handle);
}

/**
 * From now on the first signal does not end the process. It aborts the returned `AbortSignal`, and the command must end soon. Only
 * a second Ctrl-C ends the process at once.
 */
export function awaitEndSignal(): AbortSignal {
  isAwaited = true;
  return ended.signal;
}

/** Returns the exit code of the signal that has arrived; undefined: none has. */
export function exitCodeOfSignal(): number | undefined {
  return first && 128 + constants.signals[first.signal];
}

/** Returns the result of the work. @throws Interrupted as soon as a signal has arrived */
export async function unlessEnded<Result>(work: Promise<Result>): Promise<Result> {
  // The work may fail later, when nobody waits for it any more.
  work.catch(() => {});
  if (ended.signal.aborted) throw new Interrupted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(new Interrupted());
  ended.signal.addEventListener('abort', stop);
  try {
    return await Promise.race([work, promise]);
  } finally {
    ended.signal.removeEventListener('abort', stop);
  }
}

function handle(signal: NodeJS.Signals): void {
  const nowMs = performance.now();
  const isAgain = first !== undefined;
  first ??= { signal, atMs: nowMs };
  if (!isAgain && isAwaited) ended.abort(new Interrupted());
  else if (!isAgain || (signal === 'SIGINT' && nowMs - first.atMs > sameSignalMs))
    process.exit(exitCodeOfSignal());
}
