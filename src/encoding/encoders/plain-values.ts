/**
 * Encodes values whose text proves their class (seen.ts), because they are written exactly as inference requires for the column's
 * type. Inference then need not read them again. Every other value is left to `encodeCell`.
 */
import { FALSE, NUMBER, ROUNDED_NUMBER, STRING, TEXT, TRUE } from '../../core/cells/cell-kind.ts';
import { textKind } from '../../core/cells/text-kind.ts';
import * as seen from '../text-reading/seen.ts';
import { encodeBool } from './booleans.ts';
import type { ColumnEncoder } from './column-encoder.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import { found, NOT_USUAL, readUsual, USUAL_DATE, USUAL_TIMESTAMP_IN_UTC } from './date-time-text.ts';
import { writeDate, writeTimestamp } from './dates.ts';
import { encodePlainInt8 } from './integers.ts';
import { encodePlainNumeric } from './numeric.ts';
import { encodeText } from './text.ts';
import * as codes from './type-codes.ts';
import { encodePlainUuid } from './uuid.ts';

/** `bigint` stores every number of this length. */
const ALWAYS_WHOLE_BYTES = 18;

/**
 * Writes one field as `encodeCell` does, but only if the text proves that the value has one of the classes. Such a value has no
 * problem and loses nothing.
 *
 * @param classes a union of classes of seen.ts, or `ANY_CLASS`
 * @returns false if the text does not prove it; then the caller must rewind, because some bytes may have been written
 */
export function encodePlain(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  classes: number,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): boolean {
  switch (encoder.code) {
    case codes.TEXT:
      if (classes !== seen.ANY_CLASS || kind === ROUNDED_NUMBER) return false;
      return encodeText(out, encoder.maxLength, kind, bytes, start, end) === 0;
    case codes.INT8:
      if (kind !== NUMBER && kind !== TEXT) return false;
      return (classes & seen.WHOLE) !== 0 && encodePlainInt8(out, bytes, start, end);
    case codes.NUMERIC:
      if ((kind !== NUMBER && kind !== TEXT) || encoder.precision >= 0) return false;
      return (classes & classOfNumeric(out, encoder, bytes, start, end)) !== 0;
    case codes.TIMESTAMPTZ:
    case codes.TIMESTAMP:
    case codes.DATE:
      if (kind !== STRING && kind !== TEXT) return false;
      return (classes & classOfMoment(out, encoder.code, bytes, start, end)) !== 0;
    case codes.BOOL: {
      const valueKind = kind === TEXT ? textKind(bytes, start, end) : kind;
      if (valueKind !== TRUE && valueKind !== FALSE) return false;
      return (classes & seen.BOOLEAN) !== 0 && encodeBool(out, valueKind, bytes, start, end) === 0;
    }
    case codes.UUID:
      if (kind !== STRING && kind !== TEXT) return false;
      return (classes & seen.UUID_STRING) !== 0 && encodePlainUuid(out, bytes, start, end);
    default:
      return false;
  }
}

/** Writes a numeric and returns its class, or `NOTHING` if it is not known. */
function classOfNumeric(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  const tail = encodePlainNumeric(out, encoder, bytes, start, end);
  if (tail > 0) return seen.EXACT;
  return tail === 0 && end - start <= ALWAYS_WHOLE_BYTES ? seen.WHOLE : seen.NOTHING;
}

/** Writes a date or a timestamp and returns its class, or `NOTHING` if it is not known. */
function classOfMoment(out: CopyBuffer, code: number, bytes: Buffer, start: number, end: number): number {
  const usual = readUsual(bytes, start, end);
  if (usual === NOT_USUAL) return seen.NOTHING;
  if (usual === USUAL_DATE) {
    if (code !== codes.DATE) return seen.NOTHING;
    writeDate(out, found.days);
    return seen.DATE_STRING;
  }
  const isInUtc = usual === USUAL_TIMESTAMP_IN_UTC;
  if (code !== (isInUtc ? codes.TIMESTAMPTZ : codes.TIMESTAMP)) return seen.NOTHING;
  writeTimestamp(out, found.days, found.microseconds);
  return isInUtc ? seen.TIMESTAMPTZ_STRING : seen.TIMESTAMP_STRING;
}
