/** Reads a file for each attempt to send it, and notices if it changes meanwhile. */
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { WrongUse } from './exit-codes.ts';

export type ByteStream = ReadableStream<Uint8Array>;

/** With the usual 64 KiB a large file takes twice the processor time. */
const chunkBytes = 512 * 1024;

/** The state of a file when the command began. */
interface FileState {
  size: number;
  mtimeMs: number;
}

/** Returns the bytes of the file. The stream fails with WrongUse before its last bytes if the file is not in this state. */
export function fileStream(path: string, state: FileState): ByteStream {
  return Readable.toWeb(Readable.from(chunksOf(path, state), { objectMode: false })) as ByteStream;
}

async function* chunksOf(path: string, state: FileState): AsyncGenerator<Buffer> {
  const file = await open(path);
  try {
    let last: Buffer | undefined;
    for await (const chunk of file.createReadStream({ highWaterMark: chunkBytes, autoClose: false })) {
      if (last) yield last;
      last = chunk as Buffer;
    }
    if (!(await isInState(file, state))) {
      throw new WrongUse(`"${path}" was changed while it was sent. Load it again when it is complete.`);
    }
    if (last) yield last;
  } finally {
    await file.close();
  }
}

async function isInState(file: FileHandle, { size, mtimeMs }: FileState): Promise<boolean> {
  const now = await file.stat();
  return now.size === size && now.mtimeMs === mtimeMs;
}
