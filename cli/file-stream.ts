/** Reads a file for each attempt to send it, and notices if it changes meanwhile. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { WrongUse } from './exit-codes.ts';

/**
 * The bytes of a file. A chunk is valid only until the next one is read, because one buffer holds them all: with a new buffer for each chunk the
 * garbage collector takes half of the processor time of a large upload. So nothing between this stream and the connection may read ahead.
 */
export type ByteStream = ReadableStream<Uint8Array>;

/** With 64 KiB a large file takes more processor time, and with 2 MiB it takes as much as with this size. */
const chunkBytes = 512 * 1024;

/** The state of a file when the command began. */
interface FileState {
  size: number;
  mtimeMs: number;
}

/** Returns the bytes of the file. The stream fails with WrongUse before its last bytes if the file is not in this state. */
export function fileStream(path: string, state: FileState): ByteStream {
  return ReadableStream.from(chunksOf(path, state));
}

/** Reads without a thread, which would take more processor time. The kernel reads ahead, and sends what it has while this process waits for a disk. */
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
