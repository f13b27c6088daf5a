/**
 * The media types and the parameter `rows_at` of all endpoints for JSON rows. Both decide the form of the body.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { LimitsConfig } from '../config.ts';
import { wrongParameter } from '../errors.ts';
import type { JsonLimits } from '../sources/json/json-limits.ts';
import { parsePointer } from '../sources/json/json-pointer.ts';
import type { JsonForm } from '../sources/json/json-upload-scanner.ts';

/** One row object on each line. */
const lineMediaTypes = ['application/x-ndjson', 'application/jsonl'];

export const jsonMediaTypes = ['application/json', ...lineMediaTypes];

export const rowsAtParameter = Type.Optional(
  Type.String({
    description:
      'Where in a JSON document the array of rows is: a JSON Pointer (RFC 6901), such as `/response/items`. The rest of the document is checked and left out, except for a definition in its member `table`. Default: the rows are in `data`, or the document is the array.',
    examples: ['/response/items'],
  }),
);

/**
 * Returns the form of the rows in the body.
 *
 * @throws AppError `invalid-parameter` if `rows_at` is no JSON Pointer, or if the body cannot have one
 */
export function jsonFormOf(
  { headers }: Pick<FastifyRequest, 'headers'>,
  rowsAt: string | undefined,
): Exclude<JsonForm, 'definition'> {
  const mediaType = (headers['content-type'] ?? '').split(';', 1).join().trim().toLowerCase();
  const isLines = lineMediaTypes.includes(mediaType);
  if (rowsAt === undefined) return isLines ? 'lines' : 'upload';
  if (isLines) {
    throw refusedPointer(
      rowsAt,
      `rows_at names an array inside a JSON document; in ${mediaType} each line is a row. Leave it out.`,
    );
  }
  const steps = parsePointer(rowsAt);
  if (steps !== undefined) return steps;
  const rule = rowsAt.startsWith('/')
    ? 'in a JSON Pointer "~" occurs only in ~0 (for "~") and ~1 (for "/").'
    : 'a JSON Pointer (RFC 6901) begins with "/" and has "/" between names, as in /response/items.';
  throw refusedPointer(rowsAt, `The query parameter rows_at is no JSON Pointer: ${rule}`);
}

export function jsonLimitsOf(limits: LimitsConfig): JsonLimits {
  return {
    maxDepth: limits.maxJsonDepth,
    maxTableBytes: limits.maxDefinitionBytes,
    maxColumns: limits.maxColumns,
    maxCellBytes: limits.maxCellBytes,
    maxRowBytes: limits.maxRowBytes,
  };
}

function refusedPointer(value: string, detail: string): Error {
  return wrongParameter('rows_at', detail, { value });
}
