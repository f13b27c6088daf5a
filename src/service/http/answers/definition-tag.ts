/** The entity tag of a table: a text that changes whenever its definition changes (RFC 9110 section 8.8.3). */
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import type { TableDescription } from '../../tables/definition.ts';

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
  const { 'if-match': match, 'if-none-match': noneMatch } = request.headers;
  if (match === undefined && noneMatch === undefined) return undefined;
  return (table) => {
    const tag = table === undefined ? undefined : definitionTag(table);
    // The strong comparison: a weak tag, which a proxy may make of the one that it passes on, matches nothing.
    if (match !== undefined && !isListed(match, tag))
      throw new AppError('precondition-failed', tag === undefined ? missing : changed);
    if (noneMatch !== undefined && isListed(noneMatch.replaceAll('W/"', '"'), tag))
      throw new AppError('precondition-failed', exists);
  };
}

const missing = 'The table does not exist, and If-Match was sent.';
const changed =
  'The definition of the table has changed since the answer whose ETag was sent as If-Match. Describe the table again.';
const exists = 'The table exists with a definition that If-None-Match excludes.';

/** @param tag that of the table; undefined: there is no table */
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
