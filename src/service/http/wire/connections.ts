/**
 * Limits the connections that the service keeps open. Each takes a file descriptor and memory, even if its client sends
 * nothing.
 *
 * When the limit is reached, a new connection replaces the one that has been idle longest. If no connection is idle, the
 * request of the new one is refused. An answer that its client has not read for some seconds is given up before that. Requests for the health of the service are still answered.
 */
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { limitDetail } from '../../../core/limit-exceeded.ts';
import type { Config } from '../../../core/settings/config.ts';
import type { Log } from '../../../postgres/log.ts';
import { whenClosed } from './when-closed.ts';

/** A reserve for files other than connections and those of uploads: modules, logs, the event loop. */
const otherFiles = 64;
/** The files of one upload: its temporary files, and the pipes of a process that reads for it. */
const filesPerUpload = 5;

/** Returns the number of connections that the service allows. It logs a warning if that is fewer than MAX_CONNECTIONS. */
export function chooseMaxConnections(config: Config, log: Log): number {
  const openFiles = openFileLimit();
  const fitting = fittingConnections(config, openFiles);
  if (fitting < config.http.maxConnections) {
    log.warn(
      { openFiles, maxConnections: fitting },
      'The process may open too few files for MAX_CONNECTIONS, so the service allows fewer connections; raise the limit of files (ulimit -n, LimitNOFILE) or lower MAX_CONNECTIONS',
    );
  }
  return fitting;
}

/**
 * Returns the number of connections for which the process may open enough files.
 *
 * @param maxOpenFiles undefined: not known
 * @returns MAX_CONNECTIONS, or fewer if the process may not open enough files
 */
export function fittingConnections(
  { http, database, limits }: Pick<Config, 'http' | 'database' | 'limits'>,
  maxOpenFiles = Number.POSITIVE_INFINITY,
): number {
  const others = otherFiles + database.poolSize + filesPerUpload * limits.maxUploads;
  const left = Math.floor((maxOpenFiles - others) / (1 + refusedShare));
  return Math.max(1, Math.min(http.maxConnections, left));
}

/** Returns the number of files that the process may open; undefined: the platform does not provide it. */
function openFileLimit(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    // The first number is the soft limit. Node.js raises it to the second number, the hard limit, when it starts.
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1]) || undefined;
  } catch {
    return undefined;
  }
}

/**
 * The share of connections beyond the limit that may be refused or closed with an answer at the same time. Further connections
 * are closed without an answer.
 */
const refusedShare = 0.1;

/** @param giveUp closes a connection that is not idle, but whose client does not read its answer. Returns whether there is one */
export function limitConnections(
  app: FastifyInstance,
  maxConnections: number,
  giveUp: () => boolean = () => false,
): void {
  const { server } = app;
  const refused = new WeakSet<Socket>();
  const idle = watchIdleConnections(server);
  let open = 0;
  server.maxConnections = maxConnections + Math.ceil(maxConnections * refusedShare);
  // Without this option, workers (WORKERS) that are full pass a connection on to each other again and again. The types of Node.js lack it.
  Object.assign(server, { dropMaxConnection: true });
  server.on('connection', (socket) => {
    open++;
    socket.once('close', () => {
      open--;
    });
    if (open <= maxConnections) return;
    const [longest = socket] = idle;
    if (longest === socket && giveUp()) return;
    if (longest === socket || refused.has(longest)) refused.add(socket);
    if (longest !== socket) longest.destroy();
  });
  app.addHook('onRequest', async ({ raw, url }, reply) => {
    if (!refused.has(raw.socket)) return;
    reply.header('connection', 'close');
    if (url === '/healthz' || url === '/readyz') return;
    throw new AppError(
      'service-busy',
      `${limitDetail('Too many connections are open', maxConnections, { setting: 'MAX_CONNECTIONS' })} Try again after the seconds in Retry-After.`,
      { headers: { 'retry-after': '5' } },
    );
  });
}

/** Returns the connections without a request. The one that has been idle longest comes first. The set is kept up to date. */
function watchIdleConnections(server: Server): Set<Socket> {
  const idle = new Set<Socket>();
  const requests = new WeakMap<Socket, number>();
  server.on('connection', (socket) => {
    idle.add(socket);
    socket.once('close', () => idle.delete(socket));
  });
  server.on('request', ({ socket }, response) => {
    idle.delete(socket);
    requests.set(socket, (requests.get(socket) ?? 0) + 1);
    whenClosed(response, () => {
      const left = requests.get(socket)! - 1;
      requests.set(socket, left);
      if (left === 0 && !socket.destroyed) idle.add(socket);
    });
  });
  return idle;
}
