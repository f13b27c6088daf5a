/**
 * The last resort for an error that nothing has handled. It occurred outside of every request, connection and load that could
 * report it, so the state of the process is unknown. The process logs what was running, and stops in order.
 */
import process from 'node:process';

interface Stoppable {
  logUnhandled(error: unknown): void;
  stop(cause?: string): Promise<void>;
}

/** How long the service may take to end after the time for running requests. There must be a limit, because its state is unknown. */
const endMs = 10_000;

/**
 * Logs errors that nothing has handled, also rejected promises, for which Node.js emits the same event. After the first one it stops the service.
 *
 * @param exit is called when the service has stopped, or does not stop in time
 */
export function stopAfterUnhandledError(service: Stoppable, graceMs: number, exit: () => void): void {
  let isFirst = true;
  process.on('uncaughtException', (error: unknown) => {
    service.logUnhandled(error);
    if (!isFirst) return;
    isFirst = false;
    setTimeout(exit, graceMs + endMs);
    service.stop('an error that was not handled').then(exit, exit);
  });
}

/** Returns a function that stops a service only once, because an unhandled error may occur while the service is already stopping. */
export function onlyOnce(stop: Stoppable['stop']): Stoppable['stop'] {
  let stopped: Promise<void> | undefined;
  return (cause) => {
    stopped ??= stop(cause);
    return stopped;
  };
}
