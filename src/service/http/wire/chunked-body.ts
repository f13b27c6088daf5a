/** Refuses requests that send too many tiny chunks at once, even if nothing reads their bodies, and joins other small chunks. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { AppError } from '../../../core/errors.ts';
import { joinSmallChunks, maxTinyChunks, minMeanBytes } from '../../../core/join-small-chunks.ts';
import { endBody, stopParser } from '../../../core/stop-parser.ts';
import { ignoreUntilClosed, lingerMs } from './pipelined-requests.ts';

/**
 * Joins the small chunks of all chunked bodies of a server, and refuses requests that send too many tiny chunks at once. Whoever
 * reads the body of a refused request gets the error. If nobody reads the body, the connection is closed soon.
 */
export function guardChunkedBodies(server: Server): void {
  // `prependListener`: the guard must be in place before the request is handled.
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers['transfer-encoding'] === undefined) return;
    const refuse = (): void => {
      const error = new AppError(
        'invalid-request',
        `The body comes in too many tiny chunks: more than ${maxTinyChunks} at once, of fewer than ${minMeanBytes} bytes on average. Send larger chunks, or the body with Content-Length.`,
      );
      refusals.set(request, error);
      if (response.headersSent) {
        stopParser(request.socket, () => {});
        request.destroy();
        return;
      }
      const { socket } = request;
      ignoreUntilClosed(socket);
      endBody(request);
      const timer = setTimeout(() => {
        if (!response.headersSent) socket.destroy();
      }, lingerMs);
      response.once('close', () => clearTimeout(timer));
    };
    // After the answer Node.js reads the rest of the body and ignores it, which would cost one call for each chunk. So the body is ended here.
    response.once('finish', () => {
      if (request.complete) return;
      stopParser(request.socket, () => {});
      request.destroy();
    });
    joinSmallChunks(request, refuse);
  });
}

/** Returns the error if the request was refused because of its chunks. */
export function refusalOf(request: IncomingMessage): AppError | undefined {
  return refusals.get(request);
}

const refusals = new WeakMap<IncomingMessage, AppError>();
