/** Recognizes the errors of Node.js and of the driver for a connection to PostgreSQL. They have no SQLSTATE. */
import { isErrorOfSocket } from './broken-connection.ts';

/** Codes of Node.js for the connection's socket. */
const socketCodes = new Set(
  'ECONNREFUSED ECONNRESET ETIMEDOUT EPIPE ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH'.split(' '),
);
/** Codes for a process or a machine that has no file descriptor left for a connection. */
const noFilesLeft = new Set(['EMFILE', 'ENFILE']);
/** Codes of Node.js and OpenSSL for TLS, such as that of a certificate that has expired. */
const tlsCodes = /^(ERR_(TLS|SSL|OSSL)_|CERT_|UNABLE_TO_(VERIFY|GET)|SELF_SIGNED_|DEPTH_ZERO_)/;
/** The driver's own errors have no code, so they are recognized by their messages. */
const driverMessages =
  /^(Connection terminated|timeout expired$|Client (was closed|has encountered a connection error)|The server does not support SSL|Cannot use a pool after)/;
const poolExhausted = 'timeout exceeded when trying to connect';

/** Returns whether a connection to PostgreSQL broke or was not made. */
export function isConnectionError(error: Error): boolean {
  const { code, syscall, errors } = error as Error & { code?: string; syscall?: string; errors?: unknown[] };
  if (isErrorOfSocket(error)) return !noFilesLeft.has(code ?? '');
  // Node.js throws an AggregateError if it tried several addresses of one host.
  if (error instanceof AggregateError)
    return errors!.some((one) => one instanceof Error && isConnectionError(one));
  // ENOENT is also the code of a missing file. For the missing socket of a server, the system call is `connect`.
  if (code === 'ENOENT') return syscall === 'connect';
  // Without a system call, the code is that of an HTTP request whose client closed the connection.
  if (code !== undefined) return tlsCodes.test(code) || (syscall !== undefined && socketCodes.has(code));
  return driverMessages.test(error.message);
}

/** Returns whether the error is about TLS. */
export function isTlsError(error: Error): boolean {
  return tlsCodes.test((error as NodeJS.ErrnoException).code ?? '');
}

/** Returns whether no connection of the pool became free in time. */
export function isPoolExhausted(error: unknown): boolean {
  return error instanceof Error && error.message === poolExhausted;
}
