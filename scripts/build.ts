/**
 * `npm run build [package | bundle]`: compiles the TypeScript into `dist/`. Without a word it makes both:
 *
 * - package: `dist/packages/`, the two npm packages
 * - bundle: `dist/bundle/`, the program of the container image, with everything that it needs in few files
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { bundle } from './build/bundle.ts';
import { buildPackages } from './build/packages.ts';

const project = join(import.meta.dirname, '..');
const [wanted, ...others] = process.argv.slice(2);
if (others.length > 0 || !['package', 'bundle', undefined].includes(wanted)) {
  process.stderr.write('Usage: npm run build [package | bundle]\n');
  process.exitCode = 2;
} else {
  if (wanted !== 'bundle') await buildPackages(project, await without('packages'));
  if (wanted !== 'package') await bundle(project, await without('bundle'));
}

/** Removes a folder of an earlier build, and returns its path. */
async function without(name: string): Promise<string> {
  const folder = join(project, 'dist', name);
  await rm(folder, { recursive: true, force: true });
  return folder;
}
