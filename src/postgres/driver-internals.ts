/**
 * Declares the properties of pg that its documentation and its types do not mention. No other file uses them. A new version of
 * pg may change them. Each has a test with a real connection, which then fails.
 */
import pg from 'pg';

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
}

export function internalsOf(client: pg.ClientBase): DriverClient {
  return client as unknown as DriverClient;
}

/** Returns a connection that is not open yet, with the client's way of encryption. */
export function newConnection({ ssl, sslNegotiation }: DriverClient): DriverConnection {
  return new pg.Connection({ ssl, sslNegotiation } as pg.ClientConfig) as DriverConnection;
}
