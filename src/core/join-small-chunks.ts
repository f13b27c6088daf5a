/**
 * Joins small chunks of bodies with `Transfer-Encoding: chunked` (RFC 9112 section 7.1) before they are read.
 *
 * Node's HTTP parser calls JavaScript once for each chunk, so the sender decides how much work each byte causes. Here small
 * chunks are joined, so that a reader gets them at most once in a turn of the event loop.
 */
import type { IncomingMessage } from 'node:http';

/** Chunks below this length are joined. */
const smallChunkBytes = 1024;
const gatheredBytes = 64 * 1024;

/** The number of small chunks in one turn of the event loop after which the connection is not read further in that turn. */
const pauseAfterChunks = 1000;

/**
 * A body has too many tiny chunks if more of them than this arrive in one turn and they have on average fewer than `minMeanBytes`. The parser
 * would need more than a turn for the bytes that it reads at once. Lines that were sent one by one are longer.
 */
export const maxTinyChunks = 2000;
export const minMeanBytes = 4;

/** If all bodies together have more small chunks than this in one turn, a body with so many tiny ones is refused. */
const maxChunksInTurn = 10_000;
const fewTinyChunks = 200;

/** Bodies with shorter chunks, on average, rest after each turn for this time per chunk. A chunk takes about 3 µs, so all of them together use about a seventh of the processor. */
const minUnpacedBytes = 32;
const restMsPerChunk = 0.02;

/** @param refuse called if the body has too many tiny chunks; it must end the body */
export function joinSmallChunks(message: IncomingMessage, refuse: () => void): void {
  if (message.headers['transfer-encoding'] === undefined) return;
  const body = new ChunkedBody(message, message.push.bind(message), refuse);
  message.push = (chunk: Buffer | null) => body.push(chunk);
}

/** A body that waits to continue, and how long the bodies rest before that. */
interface Turn {
  body: ChunkedBody;
  goOn: () => void;
  restMs: number;
}

/**
 * The bodies with small chunks, and those with tiny ones, that wait to continue. Each continues in its own turn of the event loop, so that many
 * bodies together do not make a long turn.
 */
const inLine: Turn[] = [];
const tinyInLine: Turn[] = [];

function takeTurn(line: Turn[], turn: Turn): void {
  if (line.push(turn) === 1) serveLater(line);
}

function serveLater(line: Turn[]): void {
  const serve = (): void => {
    line[0]!.goOn();
    line.shift();
    if (line.length > 0) serveLater(line);
  };
  const { restMs } = line[0]!;
  if (restMs > 0) setTimeout(serve, restMs);
  else setImmediate(serve);
}

/** Takes a body that has ended out of a line, so that nobody waits for it. The first one stays, because its turn has begun. */
function leaveLine(line: Turn[], body: ChunkedBody): void {
  const at = line.findIndex((turn) => turn.body === body);
  if (at > 0) line.splice(at, 1);
}

/** The bodies that have not ended. */
const open = new Set<ChunkedBody>();

/** The number of small chunks of all bodies in this turn of the event loop. */
let chunksInTurn = 0;

/**
 * Counts a small chunk. After `pauseAfterChunks` of them in one turn, no other chunked body is read in that turn: the bytes of all
 * connections that wait would otherwise be parsed in it.
 */
function countChunk(body: ChunkedBody): void {
  if (chunksInTurn === 0) {
    setImmediate(() => {
      chunksInTurn = 0;
    });
  }
  if (++chunksInTurn !== pauseAfterChunks) return;
  for (const other of open) if (other !== body) other.stopReading();
}

/** Receives the chunks of a body from the parser and passes them to the stream of the body. */
class ChunkedBody {
  readonly #message: IncomingMessage;
  readonly #deliver: (chunk: Buffer | null) => boolean;
  readonly #refuse: () => void;
  #gathered: Buffer | undefined;
  #gatheredBytes = 0;
  /** The number of small chunks in this turn of the event loop, and the sum of their bytes. */
  #chunks = 0;
  #bytes = 0;
  #endsTurn = false;

  constructor(message: IncomingMessage, deliver: (chunk: Buffer | null) => boolean, refuse: () => void) {
    this.#message = message;
    this.#deliver = deliver;
    this.#refuse = refuse;
    open.add(this);
    message.once('close', () => this.#leave());
  }

  /**
   * Takes a chunk.
   *
   * @returns false if the parser should stop reading from the connection
   */
  push(chunk: Buffer | null): boolean {
    if (this.#message.destroyed) return false;
    if (chunk === null) open.delete(this);
    if (chunk === null || chunk.length >= smallChunkBytes) {
      this.#flush();
      return this.#deliver(chunk);
    }
    countChunk(this);
    this.#chunks++;
    this.#bytes += chunk.length;
    const most = chunksInTurn > maxChunksInTurn ? fewTinyChunks : maxTinyChunks;
    if (this.#chunks > most && this.#bytes < this.#chunks * minMeanBytes) {
      this.#refuse();
      return false;
    }
    if (!this.#endsTurn) {
      this.#endsTurn = true;
      setImmediate(this.#endTurn);
    }
    if (this.#gatheredBytes + chunk.length > gatheredBytes) this.#flush();
    this.#gather(chunk);
    const waiting = this.#gatheredBytes + this.#message.readableLength;
    return this.#chunks < pauseAfterChunks && waiting < this.#message.readableHighWaterMark;
  }

  /** Does not read the connection until this body has its turn. If it is not read already, its reader reads it later. */
  stopReading(): void {
    const { socket } = this.#message;
    if (socket.isPaused()) return;
    socket.pause();
    takeTurn(inLine, { body: this, goOn: () => socket.resume(), restMs: 0 });
  }

  #leave(): void {
    open.delete(this);
    this.#gathered = undefined;
    this.#gatheredBytes = 0;
    leaveLine(inLine, this);
    leaveLine(tinyInLine, this);
  }

  readonly #endTurn = (): void => {
    if (this.#message.destroyed) return;
    if (this.#chunks < pauseAfterChunks) this.#goOn();
    else if (this.#bytes >= this.#chunks * minUnpacedBytes) takeTurn(inLine, this.#turn(0));
    else takeTurn(tinyInLine, this.#turn(this.#chunks * restMsPerChunk));
  };

  #turn(restMs: number): Turn {
    return { body: this, goOn: this.#goOn, restMs };
  }

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
    if (this.#gathered === undefined || this.#message.destroyed) return;
    const gathered = this.#gathered.subarray(0, this.#gatheredBytes);
    this.#gathered = undefined;
    this.#gatheredBytes = 0;
    this.#deliver(gathered);
  }
}
