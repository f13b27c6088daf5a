/** The entity tag of a table: a text that changes whenever its definition changes (RFC 9110 section 8.8.3). */
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import type { TableDescription } from '../../../engine/tables/definition.ts';

/** Returns the tag for the header `ETag`. The size of a distributed table is no part of its definition. */
export function definitionTag({ distribution, ...table }: TableDescription): string {
  const { bytes: _, ...placed } = distribution ?? {};
  const digest = createHash('sha256').update(JSON.stringify([table, placed]));
  return `"${digest.digest('base64url').slice(0, 22)}"`;
}

/**
 * Returns a function that checks the table of a request with the headers `If-Match` and `If-None-Match` (RFC 9110 section 13.1); undefined: the
 * request has neither.
 */
export function matchOf(
  request: FastifyRequest,
): ((table: TableDescription | undefined) => void) | undefined {
  const check = tagCheckOf(request, 'table');
  return check && ((table) => check(table && definitionTag(table)));
}

/** Returns a function that checks a tag, or that there is none, with the two headers; undefined: the request has neither. @param what the thing that has the tag */
export function tagCheckOf(
  request: FastifyRequest,
  what: 'table' | 'profile',
): ((tag: string | undefined) => void) | undefined {
  const { 'if-match': match, 'if-none-match': noneMatch } = request.headers;
  if (match === undefined && noneMatch === undefined) return undefined;
  return (tag) => {
    // The strong comparison: a weak tag, which a proxy may make of the one that it passes on, matches nothing.
    if (match !== undefined && !isListed(match, tag)) {
      const detail = tag === undefined ? `The ${what} does not exist, and If-Match was sent.` : changed[what];
      throw new AppError('precondition-failed', detail);
    }
    if (noneMatch !== undefined && isListed(noneMatch.replaceAll('W/"', '"'), tag))
      throw new AppError('precondition-failed', exists[what]);
  };
}

const changed = {
  table:
    'The definition of the table has changed since the answer whose ETag was sent as If-Match. Describe the table again.',
  profile:
    'The profile has another version than the answer whose ETag was sent as If-Match. Read the profile again.',
};
const exists = {
  table: 'The table exists with a definition that If-None-Match excludes.',
  profile: 'The profile exists, and If-None-Match excludes it.',
};

/** @param tag undefined: there is no such thing */
function isListed(header: string, tag: string | undefined): boolean {
  if (tag === undefined) return false;
  return (
    header.trim() === '*' ||
    header
      .split(',')
      .map((one) => one.trim())
      .includes(tag)
  );
}
