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

/** Returns a function that checks the table of a request with the header `If-Match`; undefined: the request has none. */
export function matchOf(
  request: FastifyRequest,
): ((table: TableDescription | undefined) => void) | undefined {
  const header = request.headers['if-match'];
  if (header === undefined) return undefined;
  const tags = header.split(',').map((tag) => tag.trim());
  return (table) => {
    if (table !== undefined && (tags.includes('*') || tags.includes(definitionTag(table)))) return;
    const detail =
      table === undefined
        ? 'The table does not exist, and If-Match was sent.'
        : 'The definition of the table has changed since the answer whose ETag was sent as If-Match. Describe the table again.';
    throw new AppError('precondition-failed', detail);
  };
}
