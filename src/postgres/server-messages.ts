/**
 * Guards a connection against the messages that PostgreSQL sends (PostgreSQL 54.7). Code of other users decides how long a message
 * is: RAISE in a trigger, the value of a default, the key in an error message. pg collects a message of any length, and throws an
 * exception if it cannot make a string of it. Nothing could catch that exception, so it would end the process.
 *
 * Therefore the length of each message is checked before pg receives it, and an exception of pg or of a listener only closes the
 * connection.
 */
import type { AppError } from '../core/errors.ts';
import { limitExceeded } from '../core/limit-exceeded.ts';

/**
 * The maximum number of bytes of one message. With the default limits, no message that the service needs has more than about 33 MiB: an error message
 * repeats a value of at most MAX_CELL_BYTES once or twice.
 */
export const maxMessageBytes = 64 * 1024 * 1024;

/** The length in bytes of a message's type and length. The length in a message includes itself, but not the type. */
const headerBytes = 5;
const minLength = 4;

/**
 * If this many bytes of a message are missing, it is collected here in a buffer of its length. pg would double its buffer again and again, and need up
 * to three times the bytes meanwhile. No other message shares the buffer, and pg does not write into it.
 */
const longBytes = 512 * 1024;

const errorResponse = 'E'.charCodeAt(0);

/** Reports that PostgreSQL sent a message over `maxMessageBytes`, so that the connection was closed. */
export class MessageTooLong extends Error {
  /** The message is an error message of PostgreSQL. The statement that waited for an answer has failed. */
  readonly isRefusal: boolean;
  /** The type of the message, such as `D` for a row. */
  readonly type: string;

  constructor(type: number, bytes: number) {
    super(`PostgreSQL sent a message of ${bytes} bytes and of the type ${String.fromCharCode(type)}`);
    this.isRefusal = type === errorResponse;
    this.type = String.fromCharCode(type);
  }
}

/** For each type of message (PostgreSQL 54.7), the words for it and what can be done about its length. The caller cannot see the message itself. */
const longMessages: Record<string, readonly [what: string, remedy: string]> = {
  E: [
    'An error message of PostgreSQL is too long',
    'It contains a key, a value, or the text of a trigger or of another function of the database.',
  ],
  N: ['A warning of PostgreSQL is too long', 'A trigger or another function of the database raised it.'],
};
const longRow = [
  'A row in an answer of PostgreSQL is too long',
  'It contains a value of the table or the default of a column, which must be shorter.',
] as const;

/** Returns the error for the caller. */
export function messageTooLong({ type }: MessageTooLong): AppError {
  const [what, remedy] = longMessages[type] ?? longRow;
  return limitExceeded(what, maxMessageBytes, 'bytes', remedy);
}

/** Reports that a message cannot be read or that a listener threw, so that the connection was closed. */
export class UnreadableMessage extends Error {}

/** Receives the chunks of a connection before pg does. */
export class MessageGuard {
  /** The length of the longest message so far, in bytes. */
  longestBytes = 0;
  /** The number of bytes of the current message that have not arrived yet. */
  #missingBytes = 0;
  /** The beginning of a header whose end has not arrived yet. */
  readonly #header = Buffer.alloc(headerBytes);
  #headerLength = 0;
  /** The place in the chunk where its last message begins, or the end of its header if that began in an earlier chunk. */
  #start = 0;
  /** A long message of which a part has arrived. */
  #long: { bytes: Buffer; length: number } | undefined;
  #failure: MessageTooLong | UnreadableMessage | undefined;

  /**
   * Passes a chunk on to pg, up to the first message that is too long.
   *
   * @returns the error that closes the connection; undefined: there is none
   */
  receive(chunk: Buffer, passOn: (chunk: Buffer) => void): Error | undefined {
    if (this.#failure !== undefined) return undefined;
    const end = this.#walk(chunk);
    try {
      // The messages before the bad one are passed on, because they answer statements that have ended.
      this.#collect(chunk.subarray(0, end), passOn);
    } catch (error) {
      this.#failure = new UnreadableMessage('A message of PostgreSQL cannot be processed', { cause: error });
    }
    return this.#failure;
  }

  /** Passes the bytes on, and those of a long message when all have arrived. */
  #collect(bytes: Buffer, passOn: (chunk: Buffer) => void): void {
    let from = 0;
    if (this.#long !== undefined) {
      const { bytes: whole, length } = this.#long;
      from = bytes.copy(whole, length);
      this.#long.length += from;
      if (this.#long.length < whole.length) return;
      this.#long = undefined;
      passOn(whole);
    }
    const isLong = this.#missingBytes >= longBytes && this.#failure === undefined;
    const to = isLong ? this.#start : bytes.length;
    if (to > from) passOn(bytes.subarray(from, to));
    if (!isLong) return;
    const length = bytes.length - to;
    this.#long = { bytes: Buffer.allocUnsafeSlow(length + this.#missingBytes), length };
    bytes.copy(this.#long.bytes, 0, to);
  }

  /** Reads the headers in a chunk. Returns the start of the first message whose length is wrong, or the end of the chunk. */
  #walk(chunk: Buffer): number {
    let at = 0;
    for (;;) {
      if (this.#missingBytes > chunk.length - at) {
        this.#missingBytes -= chunk.length - at;
        return chunk.length;
      }
      at += this.#missingBytes;
      this.#missingBytes = 0;
      const start = at;
      let header = chunk;
      let headerAt = at;
      if (this.#headerLength > 0 || chunk.length - at < headerBytes) {
        const taken = chunk.copy(this.#header, this.#headerLength, at);
        at += taken;
        this.#headerLength += taken;
        if (this.#headerLength < headerBytes) return chunk.length;
        this.#headerLength = 0;
        header = this.#header;
        headerAt = 0;
      } else {
        at += headerBytes;
      }
      const bytes = header.readUInt32BE(headerAt + 1);
      if (bytes < minLength) {
        this.#failure = new UnreadableMessage(`PostgreSQL sent a message with the length ${bytes}`);
        return start;
      }
      if (bytes > maxMessageBytes) {
        this.#failure = new MessageTooLong(header[headerAt]!, bytes);
        return start;
      }
      if (bytes > this.longestBytes) this.longestBytes = bytes;
      this.#missingBytes = bytes - minLength;
      this.#start = header === chunk ? start : at;
    }
  }
}
