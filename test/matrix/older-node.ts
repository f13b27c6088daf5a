/** Installs packages with npm into folders of their own, such as another Node.js. */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

/** The Node.js of users: the oldest that the packages support, the next one, and the one that runs the service. */
export const majors = [20, 22, 24];

/** Returns the program of a Node.js; undefined: npm cannot install it. */
export async function nodeOf(major: number, folder: string): Promise<string | undefined> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const place = await installPackage(`node-${process.platform}-${process.arch}@${major}`, folder);
  return place && join(place, 'bin', 'node');
}

/** Installs a package below a folder, and returns the folder of the package; undefined: this is not possible. */
export async function installPackage(
  wanted: string | undefined,
  folder: string,
): Promise<string | undefined> {
  if (wanted === undefined) return undefined;
  const target = await mkdtemp(join(folder, 'runtime-'));
  await chmod(target, 0o755);
  await writeFile(join(target, 'package.json'), '{ "private": true }');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--fetch-retries=0'];
  try {
    await promisify(execFile)('npm', ['install', ...options, wanted], { cwd: target, timeout: 60_000 });
  } catch {
    return undefined;
  }
  return join(target, 'node_modules', wanted.replace(/(?<=.)@.*$/, ''));
}
