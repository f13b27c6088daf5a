import { randomFillSync } from 'node:crypto';

const bytes = Buffer.alloc(16);
let lastMs = 0;
let sequence = 0;

/**
 * Returns a UUID of version 7 (RFC 9562 section 5.7). It begins with the time in milliseconds, and then has a counter, so a later one
 * of this process is always greater.
 */
export function uuidV7(nowMs = Date.now()): string {
  randomFillSync(bytes, 6);
  if (nowMs > lastMs) {
    lastMs = nowMs;
    // The counter begins in the lower half of its range of 12 bits, so that it does not overflow soon.
    sequence = bytes.readUInt16BE(6) & 0x7ff;
  } else if (++sequence > 0xfff) {
    lastMs++;
    sequence = 0;
  }
  bytes.writeUIntBE(lastMs, 0, 6);
  bytes.writeUInt16BE(0x7000 | sequence, 6);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Returns the least UUID of version 7 with this time. */
export function firstUuidV7At(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
