/**
 * Keeps Node's HTTP parser from calling JavaScript for the bytes that it has already read.
 *
 * Node has no method for this. Its parser reads up to 64 KiB at once and calls JavaScript for each message, header and chunk in
 * them, but it skips a callback that is no function.
 */
import type { Socket } from 'node:net';

const messageCallbacks = new Set([
  'parserOnHeaders',
  'parserOnHeadersComplete',
  'parserOnBody',
  'parserOnMessageComplete',
]);

/**
 * The parser serves another connection later, so it gets its callbacks back. It is given free after the phase of the event
 * loop in which `setImmediate` runs, when the connection has closed.
 *
 * @param onStopped runs in that phase; it must see to it that no further byte reaches the parser
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
