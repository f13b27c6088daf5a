/**
 * `npm run build [package | bundle]`: compiles the TypeScript into `dist/`, which is made anew. Without a word it makes both:
 *
 * - package: `dist/src/`, the modules of the npm package, with types and source maps
 * - bundle: `dist/bundle/`, the program of the container image, with everything that it needs in few files
 */
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { bundle } from './build/bundle.ts';

const project = join(import.meta.dirname, '..');
const [wanted, ...others] = process.argv.slice(2);
if (others.length > 0 || !['package', 'bundle', undefined].includes(wanted)) {
  process.stderr.write('Usage: npm run build [package | bundle]\n');
  process.exitCode = 2;
} else {
  await rm(join(project, 'dist'), { recursive: true, force: true });
  if (wanted !== 'bundle') await compile();
  if (wanted !== 'package') await bundle(project, join(project, 'dist', 'bundle'));
}

async function compile(): Promise<void> {
  const compiler = join(project, 'node_modules', 'typescript', 'bin', 'tsc');
  await promisify(execFile)(process.execPath, [compiler, '--project', join(project, 'tsconfig.build.json')]);
}
