/**
 * The media types and the parameter `rows_at` of all endpoints for JSON rows. Both decide the form of the body.
 */
import type { FastifyRequest } from 'fastify';
import { wrongParameter } from '../../../core/errors.ts';
import { parsePointer } from '../../../core/json-pointer.ts';
import type { LimitsConfig } from '../../../core/settings/config.ts';
import type { Flattening } from '../../../engine/loading/inputs/flatten-objects.ts';
import type { jsonInput } from '../../../engine/loading/inputs/json-input.ts';
import type { LoadInput } from '../../../engine/loading/inputs/load-input.ts';
import { parsePatch } from '../../../engine/loading/patch/cell-patch.ts';
import { patchCells } from '../../../engine/loading/patch/patch-cells.ts';
import type { JsonLimits } from '../../../readers/json/json-limits.ts';
import type { JsonForm } from '../../../readers/json/json-upload-scanner.ts';
import type { QueryOn } from './parameters.ts';

/** Media types for one row object on each line. None is registered, so programs use several names. */
const lineMediaType = /^(?:application|text)\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-lines)\s*(?:;|$)/i;

/** Media types of JSON (RFC 8259), including an old name, and all types with JSON syntax (RFC 6839), such as `application/geo+json`. */
const jsonMediaType = /^(?:(?:application|text)\/json|[a-z]+\/[\w!#$&^.+-]+\+json)\s*(?:;|$)/i;

export const jsonMediaTypes = [jsonMediaType, lineMediaType];

/** Returns whether the content type is one of `jsonMediaTypes`. */
export function isJsonType(contentType: string): boolean {
  return jsonMediaTypes.some((type) => type.test(contentType));
}

/**
 * Returns the form of the rows in the body.
 *
 * @throws AppError `invalid-parameter` if `rows_at` is not a JSON Pointer, or if it was sent with a body that has one row on each line
 */
export function jsonFormOf(
  { headers }: Pick<FastifyRequest, 'headers'>,
  rowsAt: string | undefined,
): Exclude<JsonForm, 'definition'> {
  const contentType = (headers['content-type'] ?? '').trim();
  const isLines = lineMediaType.test(contentType);
  if (rowsAt === undefined) return isLines ? 'lines' : 'upload';
  if (isLines) {
    throw refusedPointer(
      rowsAt,
      `rows_at names an array inside a JSON document; in ${contentType.split(';', 1)[0]!.trim().toLowerCase()} each line is a row. Leave it out.`,
    );
  }
  const steps = parsePointer(rowsAt);
  if (steps !== undefined) return steps;
  const rule = rowsAt.startsWith('/')
    ? 'in a JSON Pointer "~" occurs only in ~0 (for "~") and ~1 (for "/").'
    : 'a JSON Pointer (RFC 6901) begins with "/" and has "/" between names, as in /response/items.';
  throw refusedPointer(rowsAt, `The query parameter rows_at is not a JSON Pointer: ${rule}`);
}

/** Returns how nested objects are flattened; undefined: they are values. @throws AppError `invalid-parameter` */
export function flatteningOf({
  flatten,
  flatten_separator: separator = '_',
}: Pick<QueryOn<'inspect-json'>, 'flatten' | 'flatten_separator'>): Flattening | undefined {
  if (flatten && /^\P{Cc}{1,8}$/u.test(separator)) return { separator };
  if (!flatten && separator === '_') return undefined;
  const detail = flatten
    ? 'flatten_separator must have 1 to 8 characters, and no control characters.'
    : 'flatten_separator needs flatten=true.';
  throw wrongParameter('flatten_separator', detail, { value: separator });
}

/** Returns the rows with the corrections in the member `patch`, which only a document in the form of an upload has. */
export function correctedRows(rows: ReturnType<typeof jsonInput>, form: JsonForm): LoadInput {
  return form === 'upload' ? patchCells(rows, () => (rows.patch ? parsePatch(rows.patch) : [])) : rows;
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
