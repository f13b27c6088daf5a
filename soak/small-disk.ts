/** A separate file system that can be filled, if the machine allows to mount one. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, statfs } from 'node:fs/promises';
import { promisify } from 'node:util';

export interface SmallDisk {
  folder: string;
  /** Fills the file system and leaves this many bytes free. */
  fill(roomBytes: number): Promise<void>;
  empty(): Promise<void>;
  unmount(): Promise<void>;
}

const run = promisify(execFile);
/** A size that is never reached. Only used space takes memory. */
const emptySize = '4g';

const mostAttempts = 20;

/** Creates the folder; undefined: nothing can be mounted, and the folder is an ordinary one. */
export async function mountSmallDisk(folder: string): Promise<SmallDisk | undefined> {
  await mkdir(folder);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${emptySize}`, 'tmpfs', folder]);
  } catch {
    // PostgreSQL may run as another user, who must be able to enter the folder.
    await chmod(folder, 0o711);
    return undefined;
  }
  await chmod(folder, 0o711);
  const resize = (size: string) => run('mount', ['-o', `remount,size=${size}`, folder]);
  return {
    folder,
    fill: async (roomBytes) => {
      for (let attempt = 1; ; attempt += 1) {
        const { blocks, bfree, bsize } = await statfs(folder);
        try {
          await resize(String((blocks - bfree) * bsize + roomBytes));
          return;
        } catch (error) {
          // The size cannot become less than what was written meanwhile.
          if (attempt === mostAttempts) throw error;
        }
      }
    },
    empty: async () => {
      await resize(emptySize);
    },
    unmount: async () => {
      await run('umount', [folder]);
    },
  };
}
