/**
 * The last resort for an error that nobody has handled. It arose outside of every request, connection and load that could end with it, so the state
 * of the process is unknown: the process says what was running, and stops in order.
 */
import process from 'node:process';

interface Stoppable {
  logUnhandled(error: unknown): void;
  stop(cause?: string): Promise<void>;
}

/** The time that the end of the service may take after the time for running requests. It may never end, because its state is unknown. */
const endMs = 10_000;

/**
 * Logs errors that nobody has handled. After the first one it stops the service. A rejected promise counts, too: Node.js emits the same event.
 *
 * @param exit is called when the service has stopped, and if it does not stop in time
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

/** Returns a function that stops a service once. A service that is already stopping may have an error that was not handled, too. */
export function onlyOnce(stop: Stoppable['stop']): Stoppable['stop'] {
  let stopped: Promise<void> | undefined;
  return (cause) => {
    stopped ??= stop(cause);
    return stopped;
  };
}
