/**
 * Joins small chunks of bodies with `Transfer-Encoding: chunked` (RFC 9112 section 7.1) before they are read.
 *
 * Node's HTTP parser calls JavaScript once for each chunk, so a client decides how much work each byte causes. Here small
 * chunks are joined, so that a reader gets them at most once in a turn of the event loop. A client that sends too many tiny
 * chunks at once is refused. This applies to every request, even if nothing reads its body.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { AppError } from '../../../core/errors.ts';
import { ignoreUntilClosed, lingerMs } from './pipelined-requests.ts';
import { endBody, stopParser } from './stop-parser.ts';

/** Chunks below this length are joined. */
const smallChunkBytes = 1024;
const gatheredBytes = 64 * 1024;

/** The number of small chunks in one turn of the event loop after which the connection is not read further in that turn. */
const pauseAfterChunks = 1000;

/**
 * A request is refused if it sends more chunks than this in one turn and they have on average fewer than `minMeanBytes`. A slow
 * client that sends line by line never has so many chunks in one turn.
 */
const maxTinyChunks = 2000;
const minMeanBytes = 32;

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
    const body = new ChunkedBody(request, request.push.bind(request), refuse);
    request.push = (chunk: Buffer | null) => body.push(chunk);
  });
}

/** Returns the error if the request was refused because of its chunks. */
export function refusalOf(request: IncomingMessage): AppError | undefined {
  return refusals.get(request);
}

const refusals = new WeakMap<IncomingMessage, AppError>();

/** The bodies with small chunks that wait to continue. Each continues in its own turn of the event loop, so that many bodies together do not make a long turn. */
const inLine: (() => void)[] = [];

function takeTurn(goOn: () => void): void {
  if (inLine.push(goOn) === 1) setImmediate(serveNext);
}

function serveNext(): void {
  inLine.shift()!();
  if (inLine.length > 0) setImmediate(serveNext);
}

/** Receives the chunks of a body from the parser and passes them to the stream of the body. */
class ChunkedBody {
  readonly #request: IncomingMessage;
  readonly #deliver: (chunk: Buffer | null) => boolean;
  readonly #refuse: () => void;
  #gathered: Buffer | undefined;
  #gatheredBytes = 0;
  /** The number of small chunks in this turn of the event loop, and the sum of their bytes. */
  #chunks = 0;
  #bytes = 0;
  #endsTurn = false;

  constructor(request: IncomingMessage, deliver: (chunk: Buffer | null) => boolean, refuse: () => void) {
    this.#request = request;
    this.#deliver = deliver;
    this.#refuse = refuse;
  }

  /**
   * Takes a chunk.
   *
   * @returns false if the parser should stop reading from the connection
   */
  push(chunk: Buffer | null): boolean {
    if (this.#request.destroyed) return false;
    if (chunk === null || chunk.length >= smallChunkBytes) {
      this.#flush();
      return this.#deliver(chunk);
    }
    this.#chunks++;
    this.#bytes += chunk.length;
    if (this.#chunks > maxTinyChunks && this.#bytes < this.#chunks * minMeanBytes) {
      this.#refuse();
      return false;
    }
    if (!this.#endsTurn) {
      this.#endsTurn = true;
      setImmediate(this.#endTurn);
    }
    if (this.#gatheredBytes + chunk.length > gatheredBytes) this.#flush();
    this.#gather(chunk);
    const waiting = this.#gatheredBytes + this.#request.readableLength;
    return this.#chunks < pauseAfterChunks && waiting < this.#request.readableHighWaterMark;
  }

  readonly #endTurn = (): void => {
    if (this.#chunks < pauseAfterChunks) this.#goOn();
    else takeTurn(this.#goOn);
  };

  readonly #goOn = (): void => {
    this.#endsTurn = false;
    this.#chunks = 0;
    this.#bytes = 0;
    this.#flush();
  };

  #gather(chunk: Buffer): void {
    const needed = this.#gatheredBytes + chunk.length;
    if (this.#gathered === undefined || needed > this.#gathered.length) {
      const grown = Buffer.allocUnsafeSlow(
        Math.min(gatheredBytes, Math.max(needed, 2 * (this.#gathered?.length ?? smallChunkBytes))),
      );
      this.#gathered?.copy(grown, 0, 0, this.#gatheredBytes);
      this.#gathered = grown;
    }
    chunk.copy(this.#gathered, this.#gatheredBytes);
    this.#gatheredBytes = needed;
  }

  /** Passes on the joined chunks. When a reader takes them, the stream asks the parser for more. */
  #flush(): void {
    if (this.#gathered === undefined || this.#request.destroyed) return;
    const gathered = this.#gathered.subarray(0, this.#gatheredBytes);
    this.#gathered = undefined;
    this.#gatheredBytes = 0;
    this.#deliver(gathered);
  }
}
