/**
 * Keeps the bodies of asynchronous loads in a folder, from their acceptance to their end. A body that was accepted is on the disk, so it
 * survives the end of the process and of the machine. Several processes may share the folder.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, link, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../core/errors.ts';

const idFile = 'folder-id';
const suffix = '.body';
/** The name of a file with a body. Other files in the folder are ignored. */
const bodyName = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.body$/;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const readBytes = 64 * 1024;
/** A body without a load may belong to a load that is still being received. After this time it is left over. */
const remnantMs = 3_600_000;

export class StoredBodies {
  /** Identifies the folder. The records of loads contain this id. */
  readonly id: string;
  readonly #folder: string;

  private constructor(folder: string, id: string) {
    this.#folder = folder;
    this.id = id;
  }

  /** Checks the id of the folder, if it has one. @throws Error if the id is not a UUID */
  static async check(folder: string): Promise<void> {
    const path = join(folder, idFile);
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text !== undefined) checkedId(path, text);
  }

  /** Opens the folder. Creates it, and the file with its id, if they do not exist. @throws Error if that file contains no UUID */
  static async open(folder: string): Promise<StoredBodies> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new StoredBodies(folder, await readOrCreateId(folder));
  }

  /** Opens the folder if it exists. */
  static async openExisting(folder: string): Promise<StoredBodies | undefined> {
    const isThere = await stat(join(folder, idFile)).then(
      () => true,
      () => false,
    );
    return isThere ? StoredBodies.open(folder) : undefined;
  }

  /**
   * Stores a body. When this resolves, the body is on the disk.
   *
   * @param onArrived is called with the number of bytes that have arrived. If it throws, the body is not stored
   * @returns its length
   * @throws AppError `storage-full`; what the chunks throw. Then nothing is left of it
   */
  async store(
    load: string,
    chunks: AsyncIterable<Buffer>,
    onArrived: (bytes: number) => void,
  ): Promise<number> {
    let size = 0;
    let file: FileHandle | undefined;
    try {
      file = await this.#create(load);
      for await (const chunk of chunks) {
        size += chunk.length;
        onArrived(size);
        await file.appendFile(chunk);
      }
      await file.sync();
      await syncFolder(this.#folder);
      return size;
    } catch (error) {
      await this.remove(load).catch(() => {});
      throw isStorageFull(error) ? storageFull(error) : error;
    } finally {
      await file?.close();
    }
  }

  /**
   * Yields the chunks of a body.
   *
   * @param size the length of the body when it was stored; undefined: an older version of the service has stored it without its length
   * @throws AppError `internal-error` if the body is not there, or has another length
   */
  async *chunks(load: string, size: number | undefined): AsyncGenerator<Buffer> {
    const file = await open(this.#pathOf(load), 'r').catch((error) => {
      throw lostBody('is lost', error);
    });
    try {
      // The length is compared before anything is read, because the beginning of a body may be a valid upload with fewer rows.
      const found = await file.stat();
      if (size !== undefined && found.size !== size)
        throw lostBody(`has ${found.size} bytes instead of ${size}`);
      for (;;) {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(readBytes), 0, readBytes);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }

  async remove(load: string): Promise<void> {
    await rm(this.#pathOf(load), { force: true });
  }

  /**
   * Removes the bodies of loads that have ended, because they are not counted by the limits any more, and old bodies that belong to no load.
   *
   * @param readEnds returns for each of these loads that is recorded whether it has ended
   */
  async removeRemnants(readEnds: (loads: string[]) => Promise<Map<string, boolean>>): Promise<void> {
    const stored = await this.#stored();
    if (stored.length === 0) return;
    const ends = await readEnds(stored);
    for (const load of stored) {
      const hasEnded = ends.get(load) ?? (await this.#isOld(load));
      if (hasEnded) await this.remove(load);
    }
  }

  /** Returns the ids of the loads whose bodies are in the folder. If somebody has removed the folder, there are none. */
  async #stored(): Promise<string[]> {
    const names = await readdir(this.#folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names.flatMap((name) => bodyName.exec(name)?.[1] ?? []);
  }

  /** Returns whether a body without a record is too old to belong to a load that is still being received. */
  async #isOld(load: string): Promise<boolean> {
    const found = await stat(this.#pathOf(load)).catch(() => undefined);
    return found !== undefined && (await this.#nowMs()) - found.mtimeMs > remnantMs;
  }

  /** Returns the current time of the folder's file system, because the clock of this machine may differ by hours from that of the machine that receives the body. */
  async #nowMs(): Promise<number> {
    const path = join(this.#folder, `now-${randomUUID()}`);
    const file = await open(path, 'wx', 0o600);
    try {
      return (await file.stat()).mtimeMs;
    } finally {
      await file.close();
      await rm(path, { force: true });
    }
  }

  /** Creates the file of a body. If somebody has removed the folder, it is created again with the same id. */
  async #create(load: string): Promise<FileHandle> {
    try {
      return await open(this.#pathOf(load), 'wx', 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    if ((await readOrCreateId(this.#folder, this.id)) !== this.id)
      throw new Error('another service has created the folder of the stored bodies again');
    return open(this.#pathOf(load), 'wx', 0o600);
  }

  #pathOf(load: string): string {
    return join(this.#folder, `${load}${suffix}`);
  }
}

/** Returns the id of the folder. The file is written under another name and then linked, so that no process finds it without its content. */
async function readOrCreateId(folder: string, newId: string = randomUUID()): Promise<string> {
  const path = join(folder, idFile);
  const known = await readFile(path, 'utf8').catch(() => '');
  if (known !== '') return checkedId(path, known);
  const aside = `${path}.${randomUUID()}`;
  try {
    const file = await open(aside, 'wx', 0o600);
    try {
      await file.writeFile(`${newId}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(aside, path);
    await syncFolder(folder);
  } catch (error) {
    if (isStorageFull(error)) throw storageFull(error);
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true });
  }
  return checkedId(path, await readFile(path, 'utf8'));
}

/** Returns the id in the text of the file. It is checked because somebody may have changed the file, and the id becomes part of SQL. */
function checkedId(path: string, text: string): string {
  const id = text.trim();
  if (uuid.test(id)) return id;
  throw new Error(
    `the file ${path} must contain one UUID and nothing else. Restore the file, or remove it if no asynchronous upload waits.`,
  );
}

/** Writes the names in a folder to the disk. After a crash, a file whose name was not written is lost (fsync(2)). */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function lostBody(how: string, cause?: unknown): AppError {
  return new AppError('internal-error', `The stored body of the load ${how}; nothing was changed.`, {
    cause,
  });
}

function isStorageFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function storageFull(cause: unknown): AppError {
  const detail = 'There is no room left to keep the upload; try again later.';
  return new AppError('storage-full', detail, { cause, headers: { 'retry-after': '30' } });
}
