/**
 * Handles the signals that end a process. Without a handler they would end it at once, and the embedded PostgreSQL would keep
 * running. The exit code is that of shells: 128 plus the number of the signal.
 */
import process from 'node:process';

/** The signal numbers of POSIX. */
const numbers = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGTERM: 15 };
const names = Object.keys(numbers) as EndSignal[];

type EndSignal = keyof typeof numbers;

/** One Ctrl-C may arrive twice: from the terminal, and passed on by npx or by the older Node.js that started this process. */
const sameSignalMs = 500;

/** Thrown after a signal has arrived. The process then ends with the exit code of the signal, whatever the command returns. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

let first: { signal: EndSignal; atMs: number } | undefined;
/** Aborted by the first signal; undefined: no caller waits for a signal. */
let ended: AbortController | undefined;

export function handleEndSignals(): void {
  for (const name of names) process.on(name, handle);
}

/** Removes the handlers, because the service installs its own. */
export function leaveEndSignals(): void {
  for (const name of names) process.off(name, handle);
}

/**
 * After this call the first signal does not end the process. It only aborts the returned `AbortSignal`, and the command must then
 * end soon. A second Ctrl-C ends the process at once.
 */
export function awaitEndSignal(): AbortSignal {
  ended ??= new AbortController();
  return ended.signal;
}

/** Returns the exit code for the signal that has arrived; undefined: no signal has arrived. */
export function exitCodeOfSignal(): number | undefined {
  return first && 128 + numbers[first.signal];
}

/** Returns the result of the work. @throws Interrupted as soon as a signal has arrived */
export async function unlessEnded<Result>(work: Promise<Result>): Promise<Result> {
  // After a signal nobody waits for the work any more. Its later failure must not be an unhandled rejection.
  work.catch(() => {});
  const signal = awaitEndSignal();
  if (signal.aborted) throw new Interrupted();
  let stop = (): void => {};
  const interrupted = new Promise<never>((_, reject) => {
    stop = () => reject(new Interrupted());
  });
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([work, interrupted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function handle(name: NodeJS.Signals): void {
  const signal = name as EndSignal;
  const nowMs = performance.now();
  const isAgain = first !== undefined;
  first ??= { signal, atMs: nowMs };
  if (!isAgain && ended) ended.abort(new Interrupted());
  else if (!isAgain || (signal === 'SIGINT' && nowMs - first.atMs > sameSignalMs))
    process.exit(exitCodeOfSignal());
}
