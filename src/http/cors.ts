/**
 * Cross-origin requests (CORS, Fetch standard section 3.2): which web pages of other origins may call the service. Without
 * `CORS_ORIGINS` none may, and no answer has a header for it.
 */
import type { FastifyInstance } from 'fastify';

/** The setting's value for "every origin". */
export const anyOrigin = '*';

const allowedMethods = 'GET, POST';
const allowedHeaders = 'Authorization, Content-Type';
/** Headers of an answer that a page may read beside the ones that it always may. */
const exposedHeaders = 'Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id';
/** How long a browser may remember the answer to a preflight request: two hours, the most that Chromium does. */
const preflightMaxAgeSeconds = 7200;

/**
 * Answers preflight requests, and lets pages of these origins read the answers.
 *
 * Credentials (cookies, HTTP authentication) stay off: a page must know an access token, which is sent as a header.
 */
export function allowOrigins(app: FastifyInstance, origins: string[]): void {
  if (origins.length === 0) return;
  const isAny = origins.includes(anyOrigin);
  const allowed = new Set(origins);
  app.addHook('onRequest', async (request, reply) => {
    // A cache must not hand the answer for one origin to another.
    if (!isAny) reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !(isAny || allowed.has(origin))) return;
    reply.header('access-control-allow-origin', isAny ? anyOrigin : origin);
    reply.header('access-control-expose-headers', exposedHeaders);
    if (request.method !== 'OPTIONS' || !request.headers['access-control-request-method']) return;
    reply.headers({
      'access-control-allow-methods': allowedMethods,
      'access-control-allow-headers': allowedHeaders,
      'access-control-max-age': preflightMaxAgeSeconds,
    });
    return reply.code(204).send();
  });
}
