/**
 * Encodes inet, cidr and macaddr (PostgreSQL 8.8, 8.9).
 *
 * The format is that of `inet_send`: family (2: IPv4, 3: IPv6), bits of the mask, 1 for a cidr, number of bytes of the address, the
 * address. A cidr may leave out the last bytes of an IPv4 network. A macaddr is read in the six notations of the documentation.
 */
import { COLON, hexValue, isDigit, MINUS, POINT, SLASH, ZERO } from '../../core/bytes/ascii.ts';
import { STRING } from '../../core/cells/cell-kind.ts';
import { HOST_BITS_SET, NOT_A_MAC_ADDRESS, NOT_AN_ADDRESS } from '../problems/cell-problems.ts';
import type { CopyBuffer } from './copy-buffer.ts';

const IPV4_FAMILY = 2;
const IPV6_FAMILY = 3;

/** The address being read. */
const address: Buffer = Buffer.alloc(16);

export function encodeAddress(
  out: CopyBuffer,
  isCidr: boolean,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  // The longest address has 45 bytes (IPv6 with its last 32 bits as IPv4), and a slash and three digits follow it.
  if (kind !== STRING || end - start > 49) return NOT_AN_ADDRESS;
  let slash = start;
  let isIpv6 = false;
  for (; slash < end && bytes[slash] !== SLASH; slash++) if (bytes[slash] === COLON) isIpv6 = true;
  address.fill(0);
  const size = isIpv6 ? 16 : 4;
  const count = isIpv6 ? readIpv6(bytes, start, slash) : readIpv4(bytes, start, slash);
  if (count < 0 || (count < size && !isCidr)) return NOT_AN_ADDRESS;
  let bits = count === size ? size * 8 : classBits(count);
  if (slash < end) {
    bits = readBits(bytes, slash + 1, end);
    if (bits < 0 || bits > size * 8) return NOT_AN_ADDRESS;
  }
  if (isCidr && hasHostBits(bits, size)) return HOST_BITS_SET;
  out.ensure(8 + size);
  out.int32(4 + size);
  out.int8(isIpv6 ? IPV6_FAMILY : IPV4_FAMILY);
  out.int8(bits);
  out.int8(isCidr ? 1 : 0);
  out.int8(size);
  out.appendRange(address, 0, size);
  return 0;
}

/** Reads at most four decimal bytes separated by dots. Returns how many there are; -1: anything else. */
function readIpv4(bytes: Buffer, start: number, end: number, offset = 0): number {
  let count = 0;
  let value = -1;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (isDigit(byte)) {
      value = (value < 0 ? 0 : value * 10) + byte - 0x30;
      if (value > 255) return -1;
    } else if (byte === POINT && value >= 0 && count < 3) {
      address[offset + count++] = value;
      value = -1;
    } else {
      return -1;
    }
  }
  if (value < 0) return -1;
  address[offset + count++] = value;
  return count;
}

/** Reads eight groups. `::` may replace one run of zeros, and the last two groups may be IPv4. Returns 16 or -1. */
function readIpv6(bytes: Buffer, start: number, end: number): number {
  let count = 0; // bytes read
  let gapAt = -1;
  let at = start;
  if (bytes[at] === COLON && (at + 1 >= end || bytes[at + 1] !== COLON)) return -1;
  while (at < end) {
    if (bytes[at] === COLON && at + 1 < end && bytes[at + 1] === COLON) {
      if (gapAt >= 0) return -1;
      gapAt = count;
      at += 2;
      continue;
    }
    // Groups are separated by one colon. After the gap (`::`) there is no further colon before the next group.
    if (count > 0 && gapAt !== count) {
      if (bytes[at] !== COLON) return -1;
      at++;
    } else if (bytes[at] === COLON) {
      return -1;
    }
    const groupStart = at;
    let value = 0;
    while (at < end && hexValue[bytes[at]!]! >= 0) value = (value << 4) | hexValue[bytes[at++]!]!;
    if (at === groupStart || at - groupStart > 4 || count > 14) return -1;
    if (at < end && bytes[at] === POINT) {
      if (count > 12 || readIpv4(bytes, groupStart, end, count) !== 4) return -1;
      count += 4;
      at = end;
    } else {
      address[count++] = value >> 8;
      address[count++] = value & 0xff;
    }
  }
  if (gapAt < 0) return count === 16 ? 16 : -1;
  if (count === 16) return -1;
  address.copyWithin(16 - (count - gapAt), gapAt, count);
  address.fill(0, gapAt, 16 - (count - gapAt));
  return 16;
}

function readBits(bytes: Buffer, start: number, end: number): number {
  if (start === end || end - start > 3) return -1;
  if (bytes[start] === ZERO && end - start > 1) return -1;
  let bits = 0;
  for (let at = start; at < end; at++) {
    if (!isDigit(bytes[at]!)) return -1;
    bits = bits * 10 + bytes[at]! - 0x30;
  }
  return bits;
}

/** Returns the mask of an IPv4 cidr without a mask: the mask of its class, or a longer one if its bytes need that (PostgreSQL 8.9.2). */
function classBits(count: number): number {
  const first = address[0]!;
  if (first >= 240) return 32;
  if (first >= 224) return count === 1 && first === 224 ? 4 : Math.max(8, count * 8);
  return Math.max(first >= 192 ? 24 : first >= 128 ? 16 : 8, count * 8);
}

function hasHostBits(bits: number, size: number): boolean {
  for (let at = bits >> 3; at < size; at++) {
    const mask = at === bits >> 3 ? 0xff >> (bits & 7) : 0xff;
    if ((address[at]! & mask) !== 0) return true;
  }
  return false;
}

/** Writes a macaddr: twelve hexadecimal digits in groups of 2 (`:` or `-`), 4 (`.` or `-`), 6 (`:` or `-`) or 12. */
export function encodeMacAddress(
  out: CopyBuffer,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind !== STRING) return NOT_A_MAC_ADDRESS;
  let group = 0;
  while (start + group < end && hexValue[bytes[start + group]!]! >= 0) group++;
  if (group !== 2 && group !== 4 && group !== 6 && group !== 12) return NOT_A_MAC_ADDRESS;
  if (end - start !== 12 + 12 / group - 1) return NOT_A_MAC_ADDRESS;
  const separator = bytes[start + group];
  const expected = group === 4 ? POINT : COLON;
  if (group < 12 && separator !== expected && separator !== MINUS) return NOT_A_MAC_ADDRESS;
  out.ensure(10);
  out.int32(6);
  let at = start;
  for (let byte = 0; byte < 6; byte++) {
    if (byte > 0 && (byte * 2) % group === 0 && bytes[at++] !== separator) return NOT_A_MAC_ADDRESS;
    const value = (hexValue[bytes[at]!]! << 4) | hexValue[bytes[at + 1]!]!;
    if (value < 0) return NOT_A_MAC_ADDRESS;
    out.int8(value);
    at += 2;
  }
  return 0;
}
