/**
 * Runs pipelined requests one after the other: requests that a client sends on one connection before it has the answers to
 * earlier ones (RFC 9112 section 9.3.2).
 *
 * Node passes on every request that its parser finds in the bytes of one read, which may be some thousands. Here each request
 * of a connection runs in a separate turn of the event loop, so that a client with many requests does not delay others, and a
 * request sees the effects of the request before it. The number of waiting requests of a connection is limited. The last one is
 * answered with `Connection: close`, and bytes after it are not read as requests.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { stopParser } from '../../../core/stop-parser.ts';
import { whenClosed } from './when-closed.ts';

/** The maximum number of requests of one connection that wait for the running one. If more arrive, the connection is closed after the answers. */
const maxPipelined = 100;

/**
 * How many bytes of a client that was answered are still read, and for how long. If a socket with unread bytes is closed, the
 * connection is reset, and the client may not get the answer.
 */
export const lingerBytes = 16 * 1024 * 1024;
export const lingerMs = 3_000;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

interface Pipeline {
  running: Exchange;
  waiting: Exchange[];
  isClosed: boolean;
}

const pipelines = new WeakMap<Socket, Pipeline>();

/** Returns a handler that runs the requests of a connection one by one. */
export function inTurn(handle: Handler): Handler {
  const run = (pipeline: Pipeline, socket: Socket): void => {
    const { request, response } = pipeline.running;
    whenClosed(response, () => {
      const next = pipeline.waiting.shift();
      if (next === undefined || socket.destroyed) {
        pipelines.delete(socket);
        return;
      }
      pipeline.running = next;
      setImmediate(run, pipeline, socket);
    });
    handle(request, response);
  };
  return (request, response) => {
    const { socket } = request;
    const pipeline = pipelines.get(socket);
    if (pipeline === undefined) {
      const begun = { running: { request, response }, waiting: [], isClosed: false };
      pipelines.set(socket, begun);
      run(begun, socket);
    } else if (pipeline.waiting.length < maxPipelined) {
      pipeline.waiting.push({ request, response });
    } else {
      closeAfterAnswers(socket);
    }
  };
}

/** Returns the response of the running request of a connection; undefined: none is running. */
export function runningResponse(socket: Socket): ServerResponse | undefined {
  return pipelines.get(socket)?.running.response;
}

/**
 * Closes the connection after the answers to the requests that were read. Bytes that the client sends from now on are ignored.
 *
 * @returns false if no complete request of this connection waits for an answer; nothing was done then
 */
export function closeAfterAnswers(socket: Socket): boolean {
  const pipeline = pipelines.get(socket);
  if (pipeline === undefined || !pipeline.running.request.complete) return false;
  if (pipeline.isClosed) return true;
  pipeline.isClosed = true;
  const { response } = pipeline.waiting.at(-1) ?? pipeline.running;
  if (response.headersSent) response.once('close', () => socket.destroySoon());
  else response.setHeader('connection', 'close');
  ignoreUntilClosed(socket);
  return true;
}

/** Ignores what the client of a connection sends from now on. The connection is closed after the last answer, in a way that lets the client read that answer. */
export function ignoreUntilClosed(socket: Socket): void {
  stopParser(socket, () => discard(socket));
  socket.destroySoon = () => linger(socket);
}

function discard(socket: Socket): void {
  let left = lingerBytes;
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.pause();
  });
}

function linger(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('end', () => socket.destroy());
  socket.once('close', () => clearTimeout(timer));
}
