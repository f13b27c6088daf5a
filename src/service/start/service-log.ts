/** Creates the log of the service: lines of JSON on the standard output. */
import { once } from 'node:events';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { destination, type Logger, pino } from 'pino';
import { loggedError } from '../../postgres/logged-error.ts';

/** The maximum length of the lines that wait to be written, in bytes. Further lines are lost, because a log that nothing reads must not fill the memory. */
const maxWaitingBytes = 64 * 1024 * 1024;
/** The longest time that the end of the process waits until the log is written. */
const lastWriteMs = 1_000;

type Output = ReturnType<typeof destination>;

/** The output of the process; undefined: there is no log yet. */
let output: Output | undefined;
let isWriting = false;

/** @param worker the number of the worker, which is added to each line; undefined: the service is one process */
export function createLog(level: string, worker?: number): Logger {
  output ??= openOutput();
  return pino(
    { level, base: worker === undefined ? null : { worker }, serializers: { err: loggedError } },
    output,
  );
}

/**
 * Ends the process when the log is written or cannot be written. `process.exit` alone would try forever to write the last lines if
 * nothing reads the log any more.
 */
export async function exitAfterLog(code: number): Promise<void> {
  // If nothing reads the log, a thread is still blocked in a write, and Node.js would wait for that thread before it ends. So the process kills itself.
  if (!(await isWrittenSoon())) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}

/** Returns false if the log is still not written after `lastWriteMs`. */
async function isWrittenSoon(): Promise<boolean> {
  if (output === undefined || !isWriting) return true;
  const done = () => true;
  // If the output fails, `once` rejects. That means, too, that nothing more will be written.
  return Promise.race([once(output, 'drain').then(done, done), sleep(lastWriteMs, false)]);
}

/** Opens the standard output. The service continues without a log if nobody reads it or its disk is full. */
function openOutput(): Output {
  const opened = destination({ dest: 1, sync: false, maxLength: maxWaitingBytes });
  const { write, flushSync } = opened;
  let hasFailed = false;
  // The listener that pino adds ends the process at every error except that of a closed pipe. The service should continue instead.
  opened.removeAllListeners('error');
  opened.on('error', () => {
    hasFailed = true;
    isWriting = false;
  });
  opened.on('drain', () => {
    hasFailed = false;
    isWriting = false;
  });
  return Object.assign(opened, {
    write: (line: string) => {
      isWriting = true;
      return write.call(opened, line);
    },
    // pino calls this at the end of the process. If writing has failed, it would repeat the write forever.
    flushSync: () => {
      if (!hasFailed) flushSync.call(opened);
    },
  });
}
