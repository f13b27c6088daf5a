/** Identifies who sent a request, for limits and for the log: the token's subject, or without one a digest of the token. */
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { factsOf } from '../observing/access-log.ts';

/**
 * Returns the key under which the requests of a token's subject are counted, and adds the caller to the facts of the request. A token
 * without the claim `sub` is counted by itself.
 */
export function identifyCaller(
  request: FastifyRequest,
  { subject, role }: { subject: string | undefined; role: string | undefined },
): string {
  const facts = factsOf(request);
  if (role !== undefined) facts.role = role;
  if (subject !== undefined) {
    facts.subject = subject;
    return `subject ${subject}`;
  }
  facts.tokenDigest = digestOf(request.headers.authorization ?? '');
  return `token ${facts.tokenDigest}`;
}

/**
 * Returns 16 hexadecimal digits of the hash of the token's signed part. The signature is left out, because some signatures can be
 * changed and remain valid, which would give the same token several digests.
 */
function digestOf(authorization: string): string {
  const token = authorization.trimEnd().split(' ').at(-1)!;
  const signed = token.slice(0, token.lastIndexOf('.'));
  return createHash('sha256').update(signed).digest('hex').slice(0, 16);
}
