/**
 * Cancels the statement that runs on a connection, with the protocol's own request (PostgreSQL 54.2.8) over a new connection.
 * `pg_cancel_backend` would need the number of the server process, which a pooler does not give to its clients.
 */
import type { ClientBase } from 'pg';
import { internalsOf, newConnection } from './driver-internals.ts';

/**
 * Sends a cancel request. Resolves when the server has closed the new connection, which it does after it has passed the request on,
 * and also if the request fails or after `timeoutMs`. It does not report whether a statement was cancelled.
 */
export async function sendCancelRequest(client: ClientBase, timeoutMs: number): Promise<void> {
  const driver = internalsOf(client);
  const { host, port, ssl, sslNegotiation, processID, secretKey } = driver;
  const connection = newConnection(driver);
  const ended = Promise.withResolvers<void>();
  const send = () => connection.cancel(processID, secretKey);
  connection.on('error', () => ended.resolve());
  connection.once('end', () => ended.resolve());
  if (!ssl) connection.once('connect', send);
  else connection.once('sslconnect', send);
  if (ssl && sslNegotiation !== 'direct') connection.once('connect', () => connection.requestSsl());
  const timer = setTimeout(() => ended.resolve(), timeoutMs);
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
  else connection.connect(port, host);
  await ended.promise;
  clearTimeout(timer);
  connection.stream.destroy();
}
