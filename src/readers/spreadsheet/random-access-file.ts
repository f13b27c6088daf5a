/** An uploaded file whose bytes can be read in any order. */
export interface RandomAccessFile {
  readonly size: number;
  /** Reads bytes from `position` into `target`. Resolves to the number of bytes. It is smaller than `target` only at the end of the file. */
  read(target: Buffer, position: number): Promise<number>;
}

/** Reads `length` bytes at `position`, or fewer if the file ends before. */
export async function readRange(file: RandomAccessFile, position: number, length: number): Promise<Buffer> {
  const target = Buffer.allocUnsafe(Math.max(0, Math.min(length, file.size - position)));
  let filled = 0;
  while (filled < target.length) {
    const count = await file.read(target.subarray(filled), position + filled);
    if (count === 0) break;
    filled += count;
  }
  return target.subarray(0, filled);
}
