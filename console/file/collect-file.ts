/** Collects a file that the service sends, in parts that the browser keeps outside the memory of the page. */
import { sizeInWords } from '../derived/words.ts';

/** So many bytes are collected before they become a part. */
const partBytes = 8_000_000;

export interface CollectOptions {
  maxBytes: number;
  signal: AbortSignal;
  /** Called with the number of all bytes so far. */
  onBytes: (bytes: number) => void;
}

/** @throws Error if the file breaks off before its end, or has more than `maxBytes` */
export async function collectFile(
  rows: ReadableStream<Uint8Array>,
  { maxBytes, signal, onBytes }: CollectOptions,
): Promise<Blob> {
  const parts: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  let bytesOfParts = 0;
  const reader = rows.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      if (signal.aborted) throw cause;
      throw new Error('The file broke off before its end. Nothing was saved.', { cause });
    });
    if (value !== undefined) {
      chunks.push(value as Uint8Array<ArrayBuffer>);
      bytes += value.byteLength;
      onBytes(bytes);
    }
    if (bytes > maxBytes) {
      await reader.cancel();
      const limit = sizeInWords(maxBytes);
      throw new Error(`The file has more than ${limit}, which is too much for a page. Use curl instead.`);
    }
    if (done || bytes - bytesOfParts > partBytes) {
      parts.push(new Blob(chunks));
      chunks = [];
      bytesOfParts = bytes;
    }
    if (done) return new Blob(parts);
  }
}
