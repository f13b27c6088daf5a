/**
 * Cross-origin requests (CORS, Fetch standard section 3.2): web pages of the origins in `CORS_ORIGINS` may call the service.
 * Without this setting no page of another origin may, and no answer has a CORS header.
 */
import type { FastifyInstance } from 'fastify';

/** The setting's value for "every origin". */
const anyOrigin = '*';

const allowedMethods = 'GET, POST, PUT, PATCH, DELETE';
const allowedHeaders =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer';
/** The headers of an answer that a page may read, in addition to those that it may always read. */
const exposedHeaders =
  'Content-Disposition, ETag, Faulty-Rows-Complete, Idempotency-Replayed, Load-Id, Location, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id';
/** How long a browser may keep the answer to a preflight request: two hours, the maximum of Chromium. */
const preflightMaxAgeSeconds = 7200;

/**
 * Answers preflight requests, and lets pages of these origins read the answers.
 *
 * Cookies and HTTP authentication remain disabled: a page must know an access token, which it sends as a header.
 */
export function allowOrigins(app: FastifyInstance, origins: string[]): void {
  if (origins.length === 0) return;
  const isAny = origins.includes(anyOrigin);
  const allowed = new Set(origins);
  app.addHook('onRequest', async (request, reply) => {
    // The answer differs by origin, so a cache must not use it for another origin.
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
