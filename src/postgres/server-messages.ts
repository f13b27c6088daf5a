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
 * If this many bytes of a message are missing, it is collected here in a buffer of its length, or its parts are taken. pg would double its buffer again
 * and again, and need up to three times the bytes meanwhile.
 */
const longBytes = 512 * 1024;

const errorResponse = 'E'.charCodeAt(0);
const copyData = 'd'.charCodeAt(0);

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

/** Takes a part of a message. */
export type TakePart = (part: Buffer, isLast: boolean) => void;

const noBytes = Buffer.alloc(0);

/** Receives the chunks of a connection before pg does. */
export class MessageGuard {
  /** Takes the long rows of a COPY while they arrive, so that nothing holds a whole one; undefined: pg gets them. */
  takeRow: TakePart | undefined;
  /** The length of the longest message so far, in bytes. */
  longestBytes = 0;
  /** The number of bytes of the current message that have not arrived yet. */
  #missingBytes = 0;
  /** The beginning of a header whose end has not arrived yet. */
  #header: Buffer = noBytes;
  /** The place in the chunk where its last message begins. */
  #start = 0;
  /** Takes the rest of a long message of which a part has arrived. */
  #takeLong: TakePart | undefined;
  #failure: MessageTooLong | UnreadableMessage | undefined;

  /**
   * Passes a chunk on to pg, up to the first message that is too long.
   *
   * @returns the error that closes the connection; undefined: there is none
   */
  receive(chunk: Buffer, passOn: (chunk: Buffer) => void): Error | undefined {
    if (this.#failure !== undefined) return undefined;
    const bytes = this.#header.length === 0 ? chunk : Buffer.concat([this.#header, chunk]);
    this.#header = noBytes;
    try {
      const from = this.#continueLong(bytes);
      // The messages before a bad one are passed on, because they answer statements that have ended.
      const end = this.#walk(bytes, from);
      const isLong = this.#missingBytes >= longBytes && this.#takeLong === undefined;
      const to = isLong ? this.#start : end;
      if (to > from) passOn(bytes.subarray(from, to));
      if (isLong) this.#beginLong(bytes.subarray(to), passOn);
    } catch (error) {
      this.#failure = new UnreadableMessage('A message of PostgreSQL cannot be processed', { cause: error });
    }
    return this.#failure;
  }

  #beginLong(part: Buffer, passOn: (chunk: Buffer) => void): void {
    if (this.takeRow !== undefined && part[0] === copyData) {
      this.#takeLong = this.takeRow;
      this.takeRow(part.subarray(headerBytes), false);
      return;
    }
    const whole = Buffer.allocUnsafeSlow(part.length + this.#missingBytes);
    let length = part.copy(whole);
    this.#takeLong = (next, isLast) => {
      length += next.copy(whole, length);
      if (isLast) passOn(whole);
    };
  }

  /** Returns the place where the long message ends; 0: there is none. */
  #continueLong(bytes: Buffer): number {
    const take = this.#takeLong;
    if (take === undefined) return 0;
    const end = Math.min(this.#missingBytes, bytes.length);
    this.#missingBytes -= end;
    const isLast = this.#missingBytes === 0;
    if (isLast) this.#takeLong = undefined;
    take(bytes.subarray(0, end), isLast);
    return end;
  }

  /** Reads the headers in a chunk. Returns the start of the first message whose length is wrong or unknown, or the end of the chunk. */
  #walk(bytes: Buffer, from: number): number {
    let at = from;
    for (;;) {
      if (this.#missingBytes > bytes.length - at) {
        this.#missingBytes -= bytes.length - at;
        return bytes.length;
      }
      at += this.#missingBytes;
      this.#missingBytes = 0;
      if (bytes.length - at < headerBytes) {
        this.#header = Buffer.from(bytes.subarray(at));
        return at;
      }
      const length = bytes.readUInt32BE(at + 1);
      if (length < minLength) {
        this.#failure = new UnreadableMessage(`PostgreSQL sent a message with the length ${length}`);
        return at;
      }
      if (length > maxMessageBytes) {
        this.#failure = new MessageTooLong(bytes[at]!, length);
        return at;
      }
      if (length > this.longestBytes) this.longestBytes = length;
      this.#missingBytes = length - minLength;
      this.#start = at;
      at += headerBytes;
    }
  }
}
