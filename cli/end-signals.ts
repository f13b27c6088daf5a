/**
 * The signals that end a process. The command line handles them all, because a signal that ends the process at once would leave the
 * embedded PostgreSQL running. The exit code is that of shells: 128 and the number of the signal.
 */
import process from 'node:process';

/** The numbers are those of POSIX. */
const numbers = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGTERM: 15 };
const names = Object.keys(numbers) as EndSignal[];

type EndSignal = keyof typeof numbers;

/** One Ctrl-C may arrive twice: from the terminal, and from npx or the older Node.js that started this process. */
const sameSignalMs = 500;

/** A signal has arrived. The process ends with its exit code, whatever the command returns. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

let first: { signal: EndSignal; atMs: number } | undefined;
/** undefined: nobody awaits a signal. */
let ended: AbortController | undefined;

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
  ended ??= new AbortController();
  return ended.signal;
}

/** Returns the exit code of the signal that has arrived; undefined: none has. */
export function exitCodeOfSignal(): number | undefined {
  return first && 128 + numbers[first.signal];
}

/** Returns the result of the work. @throws Interrupted as soon as a signal has arrived */
export async function unlessEnded<Result>(work: Promise<Result>): Promise<Result> {
  // The work may fail later, when nobody waits for it any more.
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
