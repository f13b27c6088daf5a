/**
 * `npm run build [package | bundle]`: compiles the TypeScript into `dist/`. Without a word it makes both:
 *
 * - package: `dist/src/`, `dist/client/` and `dist/cli/`, the modules of the npm package, with types and source maps
 * - bundle: `dist/bundle/`, the program of the container image, with everything that it needs in few files
 */
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { packConsole, toText } from '../src/service/http/console/pack-console.ts';
import { bundle } from './build/bundle.ts';

const project = join(import.meta.dirname, '..');
const [wanted, ...others] = process.argv.slice(2);
if (others.length > 0 || !['package', 'bundle', undefined].includes(wanted)) {
  process.stderr.write('Usage: npm run build [package | bundle]\n');
  process.exitCode = 2;
} else {
  if (wanted !== 'bundle') await compile();
  if (wanted !== 'package') await bundle(project, await without('bundle'));
}

/** Removes a folder of an earlier build, and returns its path. */
async function without(name: string): Promise<string> {
  const folder = join(project, 'dist', name);
  await rm(folder, { recursive: true, force: true });
  return folder;
}

async function compile(): Promise<void> {
  for (const name of ['src', 'client', 'cli']) await without(name);
  const compiler = join(project, 'node_modules', 'typescript', 'bin', 'tsc');
  await promisify(execFile)(process.execPath, [compiler, '--project', join(project, 'tsconfig.build.json')]);
  await writeFile(join(project, 'dist', 'src', 'console.json'), toText(await packConsole(project)));
}
