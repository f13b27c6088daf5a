import { NUMBER, OBJECT, STRING } from '../../sources/cell-kind.ts';
import { NESTED_VALUE, NOT_A_LABEL } from '../cell-problems.ts';
import { encodeBool } from './booleans.ts';
import { encodeBytea } from './bytea.ts';
import type { ColumnEncoder } from './column-encoder.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import { encodeDate, encodeTime, encodeTimestamp } from './dates.ts';
import { encodeEnum } from './enum-labels.ts';
import { encodeFloat4, encodeFloat8 } from './floats.ts';
import { encodeInt2, encodeInt4, encodeInt8, encodeOid } from './integers.ts';
import { encodeInterval } from './intervals.ts';
import { encodeJson } from './json.ts';
import { encodeAddress, encodeMacAddress } from './network.ts';
import { encodeNumeric } from './numeric.ts';
import { encodeName, encodeText } from './text.ts';
import * as codes from './type-codes.ts';
import { encodeUuid } from './uuid.ts';

/** Writes one value that is neither NULL nor of an array type; else as `encodeCell`. */
export function encodeScalar(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind >= OBJECT && !takesNested(encoder.code)) return NESTED_VALUE;
  switch (encoder.code) {
    case codes.BOOL:
      return encodeBool(out, kind, bytes, start, end);
    case codes.INT2:
      return encodeInt2(out, kind, bytes, start, end);
    case codes.INT4:
      return encodeInt4(out, kind, bytes, start, end);
    case codes.INT8:
      return encodeInt8(out, kind, bytes, start, end);
    case codes.OID:
      return encodeOid(out, kind, bytes, start, end);
    case codes.FLOAT4:
      return encodeFloat4(out, kind, bytes, start, end);
    case codes.FLOAT8:
      return encodeFloat8(out, kind, bytes, start, end);
    case codes.NUMERIC:
      return encodeNumeric(out, encoder, kind, bytes, start, end);
    case codes.TEXT:
      return encodeText(out, encoder.maxLength, kind, bytes, start, end);
    case codes.NAME:
      return encodeName(out, kind, bytes, start, end);
    case codes.DATE:
      return encodeDate(out, kind, bytes, start, end);
    case codes.TIME:
      return encodeTime(out, false, kind, bytes, start, end);
    case codes.TIMETZ:
      return encodeTime(out, true, kind, bytes, start, end);
    case codes.TIMESTAMP:
      return encodeTimestamp(out, false, kind, bytes, start, end);
    case codes.TIMESTAMPTZ:
      return encodeTimestamp(out, true, kind, bytes, start, end);
    case codes.INTERVAL:
      return encodeInterval(out, encoder.precision, kind, bytes, start, end);
    case codes.UUID:
      return encodeUuid(out, kind, bytes, start, end);
    case codes.BYTEA:
      return encodeBytea(out, kind, bytes, start, end);
    case codes.PLAIN_JSON:
    case codes.JSONB:
      return encodeJson(out, encoder, kind, bytes, start, end);
    case codes.INET:
      return encodeAddress(out, false, kind, bytes, start, end);
    case codes.CIDR:
      return encodeAddress(out, true, kind, bytes, start, end);
    case codes.MACADDR:
      return encodeMacAddress(out, kind, bytes, start, end);
    case codes.ENUM:
      if (kind !== STRING && kind !== NUMBER) return NOT_A_LABEL;
      return encodeEnum(out, encoder.labels!, bytes, start, end);
    default:
      throw new Error(`no scalar type has the code ${encoder.code}`);
  }
}

function takesNested(code: number): boolean {
  return code === codes.PLAIN_JSON || code === codes.JSONB || code === codes.TEXT || code === codes.NAME;
}
