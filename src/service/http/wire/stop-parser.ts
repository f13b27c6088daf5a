/**
 * Prevents Node's HTTP parser from calling JavaScript for bytes that it has already read.
 *
 * Node has no method for this. Its parser reads up to 64 KiB at once and calls JavaScript for each message, header and chunk in
 * them, but it skips a callback that is not a function.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

const messageCallbacks = new Set([
  'parserOnHeaders',
  'parserOnHeadersComplete',
  'parserOnBody',
  'parserOnMessageComplete',
]);

/**
 * Stops the parser of a connection. Node.js releases the parser after the connection has closed, after the phase of the event loop
 * in which `setImmediate` runs, and uses it again for another connection. So its callbacks are restored in that phase.
 *
 * @param onStopped runs in that phase; it must ensure that no further byte reaches the parser
 */
export function stopParser(socket: Socket, onStopped: () => void): void {
  const { parser } = socket as Socket & { parser?: Record<string, unknown> | null };
  if (!parser) return;
  const stopped = Object.entries(parser).filter(
    ([, callback]) => typeof callback === 'function' && messageCallbacks.has(callback.name),
  );
  for (const [index] of stopped) parser[index] = null;
  setImmediate(() => {
    for (const [index, callback] of stopped) parser[index] = callback;
    onStopped();
  });
}

/** Ends the stream of a body early, but not its connection, because an answer follows on it. */
export function endBody(request: IncomingMessage): void {
  request._destroy = (reason, done) => done(reason);
  request.destroy();
}
