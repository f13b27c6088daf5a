/**
 * The access log: one line for each request, for operators. It never contains a token, a query string, a header or the value of
 * a cell.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** The facts that a log line has in addition to the request itself. Each part of the service adds what it knows. */
export interface RequestFacts {
  /** The claim `sub` of the token. */
  subject?: string | undefined;
  /** For a token without `sub`: the beginning of a hash of the token. */
  tokenDigest?: string;
  /** The PostgreSQL role of the token. */
  role?: string | undefined;
  /** The address of the client, if it has sent too many requests without a valid token. */
  address?: string;
  schema?: string;
  table?: string;
  /** The number of loaded rows. */
  rows?: number;
  /** The number of received bytes of the body. */
  bytes?: number;
  /** The host from which the service has fetched, or tried to fetch, a file. */
  fetchedFrom?: string;
  /** The code of the error in the answer. */
  code?: string;
}

const maxPathLength = 500;

const factsByRequest = new WeakMap<FastifyRequest, RequestFacts>();

/** Returns the facts of a request. The caller may add to them. */
export function factsOf(request: FastifyRequest): RequestFacts {
  const facts = factsByRequest.get(request) ?? {};
  factsByRequest.set(request, facts);
  return facts;
}

export function writeAccessLog(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => logAnswered(request, reply));
}

/** Writes the line of a request whose answer was not sent completely. */
export function logCut(request: FastifyRequest, reply: FastifyReply): void {
  request.log.info({ ...lineOf(request, reply), status: reply.raw.statusCode }, 'answer cut');
}

/** Writes the line of a request that was answered. */
export function logAnswered(request: FastifyRequest, reply: FastifyReply): void {
  request.log.info({ ...lineOf(request, reply), status: reply.statusCode }, 'request');
}

/** Writes the line of a request whose client closed the connection before it was answered. */
export function logDisconnected(request: FastifyRequest, reply: FastifyReply): void {
  request.log.info({ ...lineOf(request, reply), status: null }, 'client disconnected');
}

/** Returns the path of a URL as logs show it: without its query string, and shortened. */
export function pathOf(url: string): string {
  return url.split('?', 1)[0]!.slice(0, maxPathLength);
}

function lineOf(request: FastifyRequest, reply: FastifyReply): object {
  return {
    method: request.method,
    path: pathOf(request.url),
    route: request.routeOptions.url ?? null,
    ms: Math.round(reply.elapsedTime),
    ...factsOf(request),
  };
}
