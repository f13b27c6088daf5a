/** Runs functions when an answer is closed, completely sent or not. */
import type { ServerResponse } from 'node:http';

const waiting = new WeakMap<ServerResponse, (() => void)[]>();

/**
 * All functions of an answer share one listener. They run in the order in which they were added. Node.js warns of more than ten listeners, and
 * an answer that is a stream has several of its own.
 */
export function whenClosed(response: ServerResponse, run: () => void): void {
  const known = waiting.get(response);
  if (known !== undefined) {
    known.push(run);
    return;
  }
  const all = [run];
  waiting.set(response, all);
  response.once('close', () => {
    for (const one of all) one();
  });
}
