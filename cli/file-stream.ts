/** Reads a file, again for each attempt to send it, and notices if the file changes in the meantime. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { WrongUse } from './exit-codes.ts';

/**
 * The bytes of a file. A chunk is valid only until the next one is read, because all chunks use one buffer: with a new buffer for each chunk,
 * garbage collection takes half of the processor time of a large upload. So nothing between this stream and the connection may read ahead.
 */
export type ByteStream = ReadableStream<Uint8Array>;

/** 64 KiB takes more processor time for a large file, and 2 MiB saves none. */
const chunkBytes = 512 * 1024;

/** The size and times of a file when the command started. */
interface FileState {
  size: number;
  mtimeMs: number;
}

/** Returns the bytes of the file. If the file no longer has this state, the stream fails with WrongUse before its last bytes. */
export function fileStream(path: string, state: FileState): ByteStream {
  return ReadableStream.from(chunksOf(path, state));
}

/** Reads synchronously, because the threads of asynchronous reading take more processor time. While this process waits for the disk, the kernel continues sending. */
async function* chunksOf(path: string, state: FileState): AsyncGenerator<Uint8Array> {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.allocUnsafeSlow(Math.min(chunkBytes, state.size));
    for (let position = 0, isLast = false; !isLast; ) {
      const bytesRead = readSync(file, buffer);
      position += bytesRead;
      isLast = position >= state.size || bytesRead === 0;
      if (isLast && !isInState(file, state))
        throw new WrongUse(`"${path}" was changed while it was sent. Load it again when it is complete.`);
      if (bytesRead > 0) yield buffer.subarray(0, bytesRead);
    }
  } finally {
    closeSync(file);
  }
}

function isInState(file: number, { size, mtimeMs }: FileState): boolean {
  const now = fstatSync(file);
  return now.size === size && now.mtimeMs === mtimeMs;
}
