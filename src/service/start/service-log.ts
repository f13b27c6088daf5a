/** Creates the log of the service: lines of JSON on the standard output. */
import { once } from 'node:events';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { destination, type Logger, pino } from 'pino';
import { loggedError } from '../postgres/logged-error.ts';

/** The maximum number of bytes of lines that wait until they are written. Further lines are lost, because a reader that has stopped must not fill the memory. */
const maxWaitingBytes = 64 * 1024 * 1024;
/** The longest time that the end of the process waits until the log is written. */
const lastWriteMs = 1_000;

type Output = ReturnType<typeof destination>;

/** That of the process; undefined: the process has no log yet. */
let output: Output | undefined;
let isWriting = false;

/** @param worker the number of the worker, which each line then has; undefined: the service is one process */
export function createLog(level: string, worker?: number): Logger {
  output ??= openOutput();
  return pino(
    { level, base: worker === undefined ? null : { worker }, serializers: { err: loggedError } },
    output,
  );
}

/**
 * Ends the process when the log is written or cannot be written. `process.exit` alone would try without end to write the last lines if
 * their reader has gone.
 */
export async function exitAfterLog(code: number): Promise<void> {
  // If the reader of the log has stopped, a thread still waits to write, and Node.js would wait for this thread before it ends.
  if (!(await isWrittenSoon())) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}

/** Returns false if the log is still not written after `lastWriteMs`. */
async function isWrittenSoon(): Promise<boolean> {
  if (output === undefined || !isWriting) return true;
  const done = () => true;
  // An error of the output rejects, and shows as well that nothing more will be written.
  return Promise.race([once(output, 'drain').then(done, done), sleep(lastWriteMs, false)]);
}

/** Opens the standard output. The service continues without a log if nobody reads it or its disk is full. */
function openOutput(): Output {
  const opened = destination({ dest: 1, sync: false, maxLength: maxWaitingBytes });
  const { write, flushSync } = opened;
  let hasFailed = false;
  // The listener of pino ends the process at every error but that of a closed pipe.
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
    // Called at the end of the process. It would repeat a write that fails, without end.
    flushSync: () => {
      if (!hasFailed) flushSync.call(opened);
    },
  });
}
