/** Returns a number of bytes as messages show it: `64 MiB`, or `65,000 bytes` if it is not a whole number of a larger unit. */
export function bytesInWords(bytes: number): string {
  for (const [unit, size] of [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 1024],
  ] as const) {
    if (bytes >= size && bytes % size === 0) return `${(bytes / size).toLocaleString('en-US')} ${unit}`;
  }
  return `${bytes.toLocaleString('en-US')} bytes`;
}
