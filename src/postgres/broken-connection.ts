/**
 * Remembers which errors came from the socket of a connection to PostgreSQL. An error of Node.js does not say whose socket broke: the
 * connection of an HTTP client has errors with the same codes, and some errors have neither a SQLSTATE nor the name of a system call.
 */
import type { ClientBase } from 'pg';
import { internalsOf } from './driver-internals.ts';

const errorsOfSockets = new WeakSet<Error>();

/** Remembers every error of the client's socket. Call it before the client connects. pg passes the same error objects on to the statements. */
export function noteErrorsOfSocket(client: ClientBase): void {
  internalsOf(client).connection.on('error', (error: Error) => errorsOfSockets.add(error));
}

/** Returns whether the error came from the socket of a connection to PostgreSQL. */
export function isErrorOfSocket(error: Error): boolean {
  return errorsOfSockets.has(error);
}
