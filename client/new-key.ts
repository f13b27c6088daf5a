/** Returns a new random text of 32 hexadecimal digits. It does not use `crypto.randomUUID`, which is missing in pages that were not loaded over TLS. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
