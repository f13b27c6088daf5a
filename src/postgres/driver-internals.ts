/**
 * Declares the properties of pg that its documentation and its types do not mention. No other file uses them. A new version of pg
 * may change them. For each of them, a test with a real connection would then fail.
 */
import type { Socket } from 'node:net';
import pg from 'pg';
import { cutError } from './cut-errors.ts';
import { MessageGuard, type TakePart } from './server-messages.ts';

export interface DriverClient {
  /**
   * true: pg sends statements without waiting for answers (pipelining). The setting applies to a client as long as it exists.
   * The service needs it for some statements only, because a COPY cannot be pipelined.
   */
  pipeline: boolean;
  connection: DriverConnection;
  /** The server to which the client is connected. A cancel request must reach the same server. */
  host: string;
  port: number;
  ssl: unknown;
  sslNegotiation: string;
  /** The server process and the key that cancel requests need (PostgreSQL 54.2.8). */
  processID: number | null;
  secretKey: number | null;
}

/** The protocol of one connection. */
export interface DriverConnection extends pg.Connection {
  /** The names of the prepared statements, with their texts. */
  parsedStatements: Record<string, string>;
  /** Sends a text without waiting for an answer. */
  query(sql: string): void;
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number | null, secretKey: number | null): void;
  /** Makes pg read the messages of a socket. With TLS it is the encrypted socket. pg uses only `on` of the socket. */
  attachListeners(socket: Pick<Socket, 'on'>): void;
  /** Sends a message. pg sends all messages with it, except the first one of a connection and the rows of a COPY. */
  _send(message: Buffer): unknown;
}

export function internalsOf(client: pg.ClientBase): DriverClient {
  return client as unknown as DriverClient;
}

/** Returns a connection that is not open yet, with the same encryption as the client's. */
export function newConnection({ ssl, sslNegotiation }: DriverClient): DriverConnection {
  const connection = new pg.Connection({ ssl, sslNegotiation } as pg.ClientConfig) as DriverConnection;
  guardMessages(connection, new MessageGuard());
  return connection;
}

/** A client of pg that does not throw whatever message PostgreSQL sends. All connections of the service are such clients. */
export class GuardedClient extends pg.Client {
  readonly #received = new MessageGuard();
  #longestSentBytes = 0;
  /** An estimate of the memory that the server process keeps until the connection ends, without that of its longest value (in bytes). */
  keptBytes = 0;
  /** The time limit for an answer, after which the connection is closed; 0: none. */
  readonly answerMs: number = 0;

  /** Call this when the server has taken rows of a COPY. The time limit for its answer then begins again. */
  noteTaken(): void {}

  constructor(options: pg.ClientConfig) {
    super(options);
    const { connection } = internalsOf(this);
    guardMessages(connection, this.#received);
    // This listener is added first, so that no other listener gets the error before its texts are cut.
    connection.on('errorMessage', cutError);
    const send = connection._send;
    connection._send = (message) => {
      this.noteSent(message.length);
      return send.call(connection, message);
    };
  }

  /** Notes the bytes of a message, or of rows of a COPY. */
  noteSent(bytes: number): void {
    if (bytes > this.#longestSentBytes) this.#longestSentBytes = bytes;
  }

  /** Sets what takes the long rows of a COPY while they arrive; undefined: pg gets each one as a whole. */
  set takeLongRow(take: TakePart | undefined) {
    this.#received.takeRow = take;
  }

  /** The length in bytes of the longest message or row that was sent or received. */
  get longestBytes(): number {
    return Math.max(this.#longestSentBytes, this.#received.longestBytes);
  }
}

/** Passes each chunk to the guard before pg gets it. If the guard finds an error, the socket is closed, and pg reports it as an error of the socket. */
function guardMessages(connection: DriverConnection, guard: MessageGuard): void {
  const attach = connection.attachListeners;
  connection.attachListeners = (socket) => {
    const on = (event: string, listener: (chunk: Buffer) => void): unknown => {
      if (event !== 'data') return socket.on(event, listener);
      return socket.on(event, (chunk: Buffer) => {
        const failure = guard.receive(chunk, listener);
        if (failure) connection.stream.destroy(failure);
      });
    };
    attach.call(connection, { on } as Socket);
  };
}
