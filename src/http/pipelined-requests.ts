/**
 * Requests that a client sends on one connection before it has the answers to earlier ones (RFC 9112 section 9.3.2).
 *
 * Node hands over every request that its parser finds in the bytes read at once, which are some thousands. Here the requests of a
 * connection run one after the other, each in a turn of the event loop of its own. So a client that pipelines does not hold up
 * others, and a request sees what the request before it has done. A connection has a limited number of requests that wait;
 * the last of them is answered with `Connection: close`, and what follows it is not read as requests.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { stopParser } from './stop-parser.ts';

/** The requests of one connection that may wait for the one that runs. */
export const maxPipelined = 100;

/**
 * How much of what an answered client still sends is read, and for how long. A socket that is closed over unread bytes is reset,
 * and the client may lose the answer.
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

/** @returns a handler that passes the requests of a connection on one by one */
export function inTurn(handle: Handler): Handler {
  const run = (pipeline: Pipeline, socket: Socket): void => {
    const { request, response } = pipeline.running;
    response.once('close', () => {
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

/**
 * Lets the connection end after the answers to the requests that were read. What the client sends from now on is thrown away.
 *
 * @returns false: no complete request of this connection is still to be answered, and nothing was done
 */
export function closeAfterAnswers(socket: Socket): boolean {
  const pipeline = pipelines.get(socket);
  if (pipeline === undefined || !pipeline.running.request.complete) return false;
  if (pipeline.isClosed) return true;
  pipeline.isClosed = true;
  const { response } = pipeline.waiting.at(-1) ?? pipeline.running;
  if (response.headersSent) response.once('close', () => socket.destroySoon());
  else response.setHeader('connection', 'close');
  stopParser(socket, () => discard(socket));
  socket.destroySoon = () => linger(socket);
  return true;
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
