/**
 * Prevents Node's HTTP parser from calling JavaScript for bytes that it has already read.
 *
 * Node has no method for this. Its parser reads up to 64 KiB at once and calls JavaScript for each message, header and chunk in
 * them, but it skips a callback that is not a function.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import process from 'node:process';

const messageCallbacks = new Set([
  'parserOnHeaders',
  'parserOnHeadersComplete',
  'parserOnBody',
  'parserOnMessageComplete',
]);

/**
 * Stops the parser of a connection to the service. Node.js releases the parser after the connection has closed, after the phase of the event loop
 * in which `setImmediate` runs, and uses it again for another connection. So its callbacks are restored in that phase.
 *
 * @param onStopped runs in that phase; it must ensure that no further byte reaches the parser
 */
export function stopParser(socket: Socket, onStopped: () => void): void {
  const restore = silence(socket);
  setImmediate(() => {
    restore();
    onStopped();
  });
}

/**
 * Lets the parser of an outgoing connection skip the rest of what it has read. Node.js may use the parser for another connection as soon as the
 * answer is complete, so its callbacks are restored right after the present bytes. The caller must destroy the connection unless the answer is complete.
 */
export function skipRead(socket: Socket | null): void {
  if (socket !== null) process.nextTick(silence(socket));
}

/** Removes the callbacks of the parser, and returns a function that restores them. */
function silence(socket: Socket): () => void {
  const { parser } = socket as Socket & { parser?: Record<string, unknown> | null };
  if (!parser) return () => {};
  const stopped = Object.entries(parser).filter(
    ([, callback]) => typeof callback === 'function' && messageCallbacks.has(callback.name),
  );
  for (const [index] of stopped) parser[index] = null;
  return () => {
    for (const [index, callback] of stopped) parser[index] = callback;
  };
}

/** Ends the stream of a body early, but not its connection, because an answer follows on it. */
export function endBody(request: IncomingMessage): void {
  request._destroy = (reason, done) => done(reason);
  request.destroy();
}
