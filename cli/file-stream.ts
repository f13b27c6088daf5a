/** Reads a file for each attempt to send it, and notices if it changes meanwhile. */
import { type FileHandle, open } from 'node:fs/promises';
import { WrongUse } from './exit-codes.ts';

/**
 * The bytes of a file. A chunk is valid only until the next one is read, because two buffers hold them all: with a new buffer for each chunk the
 * garbage collector takes half of the processor time of a large upload. So nothing between this stream and the connection may read ahead.
 */
export type ByteStream = ReadableStream<Uint8Array>;

/** With 64 KiB a large file takes twice the processor time. */
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

/** Reads the next chunk while the caller sends this one. */
async function* chunksOf(path: string, state: FileState): AsyncGenerator<Uint8Array> {
  const file = await open(path);
  const newBuffer = (): Buffer => Buffer.allocUnsafeSlow(Math.min(chunkBytes, state.size));
  let [buffer, other] = [newBuffer(), newBuffer()];
  let reading = file.read(buffer, 0, buffer.length);
  try {
    for (let position = 0, isLast = false; !isLast; ) {
      const { bytesRead } = await reading;
      position += bytesRead;
      isLast = position >= state.size || bytesRead === 0;
      if (!isLast) reading = file.read(other, 0, other.length);
      else if (!(await isInState(file, state)))
        throw new WrongUse(`"${path}" was changed while it was sent. Load it again when it is complete.`);
      if (bytesRead > 0) yield buffer.subarray(0, bytesRead);
      [buffer, other] = [other, buffer];
    }
  } finally {
    // A caller that wants no more leaves a read that has begun.
    await reading.catch(() => {});
    await file.close();
  }
}

async function isInState(file: FileHandle, { size, mtimeMs }: FileState): Promise<boolean> {
  const now = await file.stat();
  return now.size === size && now.mtimeMs === mtimeMs;
}
