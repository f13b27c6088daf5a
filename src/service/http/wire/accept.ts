/** Reads the header `Accept` (RFC 9110 section 12.5.1). */

interface MediaRange {
  type: string;
  subtype: string;
  /** From 0, not acceptable, to 1. */
  weight: number;
}

const mediaRange = /^\s*([\w!#$&^.+*-]+)\/([\w!#$&^.+*-]+)\s*((?:;.*)?)$/;
const weightParameter = /;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)/i;

/** The maximum number of ranges that are read. Further ranges are ignored, because no client needs more. */
const maxRanges = 50;

function rangesOf(accept: string): MediaRange[] {
  return accept.split(',', maxRanges).flatMap((item) => {
    const [, type, subtype, parameters = ''] = mediaRange.exec(item) ?? [];
    if (type === undefined || subtype === undefined) return [];
    const weight = Number(weightParameter.exec(parameters)?.[1] ?? 1);
    return [{ type: type.toLowerCase(), subtype: subtype.toLowerCase(), weight }];
  });
}

/** How exactly a range names a media type: by its full name, only by its type (as in `text/*`), or not at all. The most exact range decides. */
const BY_NAME = 3;
const BY_TYPE = 2;
const BY_WILDCARD = 1;

interface Acceptance {
  exactness: number;
  weight: number;
}

const unacceptable: Acceptance = { exactness: 0, weight: 0 };

function acceptanceOf(
  ranges: MediaRange[],
  isName: (type: string, subtype: string) => boolean,
  type: string,
): Acceptance {
  let best = unacceptable;
  for (const range of ranges) {
    const exactness = isName(range.type, range.subtype)
      ? BY_NAME
      : range.subtype !== '*'
        ? 0
        : range.type === type
          ? BY_TYPE
          : range.type === '*'
            ? BY_WILDCARD
            : 0;
    if (exactness === 0 || exactness < best.exactness) continue;
    if (exactness > best.exactness || range.weight > best.weight) best = { exactness, weight: range.weight };
  }
  return best;
}

const isJson = (type: string, subtype: string): boolean =>
  type === 'application' && /^([\w.-]+\+)?json$/.test(subtype);
const isEvents = (type: string, subtype: string): boolean => type === 'text' && subtype === 'event-stream';
const isCsv = (type: string, subtype: string): boolean => type === 'text' && subtype === 'csv';

/** Returns whether the client accepts JSON. Without the header it accepts everything. */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  return acceptanceOf(rangesOf(accept), isJson, 'application').weight > 0;
}

/** Returns whether an answer can be CSV. The range of all media types also accepts CSV, but the answer is then JSON: see `prefersCsv`. */
export function acceptsCsv(accept: string | undefined): boolean {
  return acceptanceOf(rangesOf(accept ?? ''), isCsv, 'text').weight > 0;
}

/**
 * Returns which of these media types the client prefers; undefined: it names none of them, or prefers JSON. If it gives JSON the same weight, it
 * prefers JSON only if it names JSON, too.
 */
export function preferredType(accept: string | undefined, types: readonly string[]): string | undefined {
  const ranges = rangesOf(accept ?? '');
  let best: string | undefined;
  let weight = 0;
  for (const name of types) {
    const [type, subtype] = name.split('/') as [string, string];
    const is = (otherType: string, other: string) => otherType === type && other === subtype;
    const found = acceptanceOf(ranges, is, type);
    if (found.exactness !== BY_NAME || found.weight <= weight) continue;
    best = name;
    weight = found.weight;
  }
  const json = acceptanceOf(ranges, isJson, 'application');
  return json.weight > weight || (json.weight === weight && json.exactness === BY_NAME) ? undefined : best;
}

/** Returns whether the client accepts server-sent events. */
export function acceptsEvents(accept: string | undefined): boolean {
  return acceptanceOf(rangesOf(accept ?? ''), isEvents, 'text').weight > 0;
}

/**
 * Returns whether the client prefers CSV to JSON. The range of all media types prefers JSON unless the client refuses JSON. If both have
 * the same weight, the client prefers CSV only if its range for CSV is more exact, for example `text/csv` without `application/json`.
 */
export function prefersCsv(accept: string | undefined): boolean {
  const ranges = rangesOf(accept ?? '');
  const csv = acceptanceOf(ranges, isCsv, 'text');
  const json = acceptanceOf(ranges, isJson, 'application');
  if (csv.weight === 0 || json.weight === 0) return csv.weight > 0;
  if (csv.exactness === BY_WILDCARD) return false;
  return csv.weight === json.weight ? csv.exactness > json.exactness : csv.weight > json.weight;
}
