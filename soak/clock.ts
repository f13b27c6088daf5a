/** A clock that the loop sets for one process of the service (libfaketime). Clocks that only measure durations are not changed. */
import { existsSync } from 'node:fs';
import { chmod, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Clock {
  /** The environment of the process whose clock it is. */
  environment: Record<string, string>;
  /** Sets the clock to this many seconds after the right time. The process sees it within a second. */
  jumpTo(seconds: number): Promise<void>;
}

const folders = ['x86_64-linux-gnu/', 'aarch64-linux-gnu/', ''];

/**
 * Returns the clock, which is right at first; undefined: libfaketime is not installed.
 *
 * @param folder a folder that the process can read
 */
export async function makeClock(folder: string): Promise<Clock | undefined> {
  const paths = folders.map((name) => `/usr/lib/${name}faketime/libfaketimeMT.so.1`);
  const library = paths.find((path) => existsSync(path));
  if (library === undefined) return undefined;
  const file = join(folder, 'clock');
  const jumpTo = async (seconds: number): Promise<void> => {
    // The process may read the file at any moment, and must never find it empty.
    await writeFile(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    await chmod(`${file}.new`, 0o644);
    await rename(`${file}.new`, file);
  };
  await jumpTo(0);
  return {
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    jumpTo,
  };
}
