/**
 * Limits the requests in a minute: of each token subject, and, for requests without a valid token, of each address.
 *
 * A request with a valid token is never refused because of its address, because many clients may share an address, and one of them
 * could otherwise stop all others. Each process counts its own requests. The counts of at most `maxCounted` subjects and as many
 * addresses are kept; beyond this the count that was not needed for the longest time is forgotten.
 */
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { limitDetail } from '../../../core/limit-exceeded.ts';
import type { Config } from '../../../core/settings/config.ts';
import { factsOf } from '../observing/access-log.ts';
import { clientAddressFinder } from '../wire/client-address.ts';

export interface RequestQuotas {
  /**
   * Counts a request whose token is valid.
   *
   * @param caller the key of the token's subject
   * @throws AppError `too-many-requests`
   */
  admit(request: FastifyRequest, reply: FastifyReply, caller: string): Promise<void>;
  /**
   * Counts a request with this error if it was refused before its token was verified.
   *
   * @returns `too-many-requests`, which is answered instead of the error; undefined: the address has requests left
   */
  countRefused(error: AppError, request: FastifyRequest, reply: FastifyReply): Promise<AppError | undefined>;
}

const windowMs = 60_000;
/** The maximum number of counts of each kind. A count takes about 200 bytes. */
const maxCounted = 10_000;

type Limiter = ReturnType<FastifyInstance['createRateLimit']>;

interface Quota {
  name: 'requests' | 'anonymous-requests';
  setting: 'MAX_REQUESTS_PER_MINUTE' | 'MAX_ANONYMOUS_REQUESTS_PER_MINUTE';
  max: number;
  what: string;
  limiter: Limiter;
}

/** Adds the hook that counts requests without a token. The returned functions count all other requests. */
export async function limitRequests(
  app: FastifyInstance,
  { http, limits }: Pick<Config, 'http' | 'limits'>,
): Promise<RequestQuotas> {
  await app.register(rateLimit, { global: false });
  const callers = new WeakMap<FastifyRequest, string>();
  const findAddress = clientAddressFinder(http.trustProxy);
  const addressOf = (request: FastifyRequest) => normalizeIP(findAddress(request.raw));
  const bySubject: Quota = {
    name: 'requests',
    setting: 'MAX_REQUESTS_PER_MINUTE',
    max: limits.maxRequestsPerMinute,
    what: "The access token's subject has sent too many requests in a minute",
    limiter: limiterOf(app, limits.maxRequestsPerMinute, (request) => callers.get(request)!),
  };
  const byAddress: Quota = {
    name: 'anonymous-requests',
    setting: 'MAX_ANONYMOUS_REQUESTS_PER_MINUTE',
    max: limits.maxAnonymousRequestsPerMinute,
    what: 'This address has sent too many requests without a valid access token in a minute',
    limiter: limiterOf(app, limits.maxAnonymousRequestsPerMinute, addressOf),
  };
  const counted = new WeakSet<FastifyRequest>();
  const countByAddress = async (request: FastifyRequest, reply: FastifyReply) => {
    counted.add(request);
    const tooMany = await count(byAddress, request, reply);
    if (tooMany !== undefined) factsOf(request).address = addressOf(request);
    return tooMany;
  };
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers.authorization !== undefined || isFree(request)) return;
    const tooMany = await countByAddress(request, reply);
    if (tooMany !== undefined) throw tooMany;
  });
  return {
    admit: async (request, reply, caller) => {
      counted.add(request);
      callers.set(request, caller);
      const tooMany = await count(bySubject, request, reply);
      if (tooMany !== undefined) throw tooMany;
    },
    countRefused: async ({ status, code }, request, reply) => {
      if (counted.has(request) || isFree(request)) return undefined;
      // Errors of the service (5xx) are not counted, except this one, with which the token could not be verified.
      if (status >= 500 && code !== 'token-keys-unavailable') return undefined;
      return countByAddress(request, reply);
    },
  };
}

function limiterOf(
  app: FastifyInstance,
  max: number,
  keyGenerator: (request: FastifyRequest) => string,
): Limiter {
  const options = { max, timeWindow: windowMs, keyGenerator, cache: maxCounted };
  return app.createRateLimit(options);
}

/**
 * Counts a request, and sets the header fields of draft-ietf-httpapi-ratelimit-headers.
 *
 * @returns the error if the quota is used up
 */
async function count(
  { name, setting, max, what, limiter }: Quota,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<AppError | undefined> {
  if (max === 0) return undefined;
  const counted = await limiter(request);
  if (counted.isAllowed) return undefined;
  const seconds = Math.max(1, counted.ttlInSeconds);
  reply.header('ratelimit-policy', `"${name}";q=${max};w=${windowMs / 1000}`);
  reply.header('ratelimit', `"${name}";r=${counted.remaining};t=${seconds}`);
  if (!counted.isExceeded) return undefined;
  return new AppError(
    'too-many-requests',
    `${limitDetail(what, max, { setting })} Try again after the seconds in Retry-After.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}

/**
 * Returns whether the request is never counted: a health check, or a file of the console. A browser requests all of these files at
 * once, and an office may share one address. The files are in memory, so sending one costs no more than refusing it.
 */
function isFree({ url }: FastifyRequest): boolean {
  return url === '/healthz' || url === '/readyz' || url.startsWith('/console/');
}
